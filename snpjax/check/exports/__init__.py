"""Configuration graphs in the files of other tools: model checkers, graph libraries, drawings."""

from .write import (
    EXPORTS as EXPORTS,
    ExportFormat as ExportFormat,
    ExportName as ExportName,
    write_graph as write_graph,
)
