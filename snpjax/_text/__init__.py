"""Texts and files: atomic writing, quoting, counts, tables, near names, optional imports."""
