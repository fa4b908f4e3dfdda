"""`snpjax convert IN OUT`: a model in another format, and what that cannot hold."""

from pathlib import Path
from typing import Annotated

import typer

from ..io.formats import names_text
from .ending import orderly
from .lossy import Out, WriteOptions, check_folder
from .models import SystemOptions
from .options import From, format_from, grouped, value


HELP = f"""Write a model file in another format.

If that format cannot hold the model, everything that would be lost is listed, nothing is written
and the exit status is 1. Names that the format does not keep are listed as notes. Formats:
{names_text("system")}. A .json file is written as native, unless --to websnapse is given.
"""


@orderly("snpjax sleptsov convert {} OUT")
@grouped
def convert(
    *,
    source: Annotated[Path, typer.Argument(metavar="IN", help="The model file to read.")],
    target: Out,
    source_format: From = None,
    output: WriteOptions,
    names: Annotated[
        Path | None,
        value("--names", "FILE", "With cuSNP: write the names of the neurons there."),
    ] = None,
    systems: SystemOptions,
) -> None:
    """See `HELP`."""
    from ..io.cusnp import name_table
    from ..io.plingua.includes import is_plingua, load_joined
    from .text import headline

    reads = format_from(source_format, "system")
    writes = output.format_of(target, "system")
    if names is not None and writes.name != "cusnp":
        raise typer.BadParameter("only cuSNP files have no names", param_hint="--names")
    if names is not None:
        check_folder(names)
    system = systems.read(source, reads)
    said = headline(system, f"{source}")
    beside = {} if names is None else {names: name_table(system)}
    included: list[str] = []
    known = reads and reads.name
    if is_plingua(source, known) and f"{source}" != "-":  # the standard input includes nothing
        is_allowed = systems.allow_includes_outside
        _, included = load_joined(source, known, may_be_outside=is_allowed)
    output.save(system, target, writes, {"file": f"{source}"}, said, beside=beside)
    for name in included:
        typer.echo(f"note: {target} holds the content of {name}, which {source} includes", err=True)
