"""`snpjax convert IN OUT`: a model in another format, and what that cannot hold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..io.formats import names_text
from .ending import orderly
from .lossy import format_from, format_to, print_saved, save, write_failure
from .options import AsJson, Strict


if TYPE_CHECKING:
    from ..spiking import PopulationSystem, SpikingSystem

HELP = f"""Write a model file in another format.

If that cannot hold the model, all that it lacks is listed, nothing is written and the exit status
is 1. Formats: {names_text("system")}. A .json file is written as native, unless --to websnapse is
given.
"""


@orderly("snpjax sleptsov convert", format_option="--from")
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The model file to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The model file to write.")],
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="The format of IN, when its name does not say it."
        ),
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORMAT", help="The format of OUT, when its name does not say it."
        ),
    ] = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Leave out what OUT cannot hold, and say what.")
    ] = False,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With cuSNP: write the names of the neurons there."),
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """See `HELP`."""
    import snpjax as snp

    from . import data
    from .text import headline

    reads = format_from(source_format, "system")
    writes = format_to(target, target_format, "system")
    if names is not None and writes.name != "cusnp":
        raise typer.BadParameter("only cuSNP files have no names", param_hint="--names")
    system = snp.read(source, format=reads, level="strict" if strict else "extended")
    losses, refusal = save(system, target, writes, lossy=lossy)
    if names is not None and refusal is None:
        _write_names(system, names)
    if as_json:
        data.print_json(
            {
                "file": f"{source}",
                "output": f"{target}",
                "format": writes.name,
                "neurons": system.num_neurons,
                "rules": system.num_rules,
                "synapses": system.num_synapses,
                "losses": list(losses),
                "written": refusal is None,
            }
        )
    said = None if as_json else headline(system, f"{source}")
    print_saved(target, writes, losses, refusal, said)


def _write_names(system: "SpikingSystem | PopulationSystem", target: Path) -> None:
    from .._text.atomic import atomic_write
    from ..io.cusnp import name_table

    try:
        atomic_write(target, name_table(system))
    except OSError as error:
        raise write_failure(target, error) from None
