"""What several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer


if TYPE_CHECKING:
    from snpjax_formats import AbstractLayout

    from ..spiking import Transition

File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The model file.")]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Refuse what the definition of 2006 does not have.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def layouts() -> "dict[str, type[AbstractLayout] | Transition]":
    """The forms in which a system can be stored, by the names they have on the command line."""
    from snpjax_formats import CSR, ELL, Compressed, Dense, Float32Dense, Int8Dense

    from ..spiking import Transition

    return {
        "ell": ELL,
        "compressed": Compressed,
        "csr": CSR,
        "dense": Dense,
        "int8-dense": Int8Dense,
        "float32-dense": Float32Dense,
        "transition-ell": Transition(Compressed),
        "transition-csr": Transition(CSR),
        "transition-dense": Transition(Dense),
    }


def layout_named(name: str) -> "type[AbstractLayout] | Transition":
    """The layout of that name. Any other name is a usage error that lists them."""
    known = layouts()
    if name not in known:
        raise typer.BadParameter(
            f"there is no layout {name!r} (write one of {', '.join(known)})", param_hint="--layout"
        )
    return known[name]
