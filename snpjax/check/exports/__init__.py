"""Configuration graphs in the files of other tools: model checkers, graph libraries, drawings."""
