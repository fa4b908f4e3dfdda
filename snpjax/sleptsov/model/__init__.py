"""The model: nets, their rules and what nets are built from."""
