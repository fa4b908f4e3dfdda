"""Formulas over all paths: the structures they speak of, and how they are decided."""
