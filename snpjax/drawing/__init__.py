"""Drawing without a plotting library: scenes, layered and force layouts, and edges."""
