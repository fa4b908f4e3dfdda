"""Parsers of the grammars that are files of this package."""

from importlib.resources import files
from typing import Any

from lark import Lark


def lalr_parser(package: str, *names: str, **options: Any) -> Lark:
    """The parser of `grammar.lark` in a package, or of other files there, one after the other.

    Its tables are built each time, in 50 ms (of 1.3 s of CPU time for `snpjax run`, 2026-11). Lark
    can keep them only as pickles, which run code when they are read.
    """
    names = names or ("grammar.lark",)
    grammar = "\n".join(files(package).joinpath(name).read_text("utf-8") for name in names)
    return Lark(grammar, parser="lalr", maybe_placeholders=False, **options)
