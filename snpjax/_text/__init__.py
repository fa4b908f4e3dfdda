"""Texts and files: atomic writing, quoting, tables, names that are near, optional imports."""
