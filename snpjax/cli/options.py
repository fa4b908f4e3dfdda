"""What several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer


if TYPE_CHECKING:
    from snpjax_formats import AbstractLayout

File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The model file.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Refuse what the definition of 2006 does not have.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def layouts() -> "dict[str, type[AbstractLayout]]":
    """The layouts by the names they have on the command line."""
    from snpjax_formats import ELL, Dense

    return {"ell": ELL, "dense": Dense}


def layout_named(name: str) -> "type[AbstractLayout]":
    """The layout of that name. Any other name is a usage error that lists them."""
    known = layouts()
    if name not in known:
        raise typer.BadParameter(
            f"there is no layout {name!r} (write one of {', '.join(known)})", param_hint="--layout"
        )
    return known[name]
