"""The language of queries: from text to formulas, their names and their errors."""
