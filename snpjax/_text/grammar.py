"""Parsers of the grammars that are files of this package."""

from importlib.resources import files
from typing import Any

from lark import Lark

from ..compilation import kept_in


def lalr_parser(package: str, *names: str, **options: Any) -> Lark:
    """The parser of `grammar.lark` in a package, or of other files there, one after the other.

    Where compiled programs are kept on disk, so are its tables, which take ten times as long to
    build as to read. Lark builds them again for another grammar, version or broken file.
    """
    folder = kept_in()
    names = names or ("grammar.lark",)
    cache = (
        False if folder is None else str(folder / f"{package}.{names[0].removeprefix('grammar.')}")
    )
    grammar = "\n".join(files(package).joinpath(name).read_text("utf-8") for name in names)
    return Lark(grammar, parser="lalr", maybe_placeholders=False, cache=cache, **options)
