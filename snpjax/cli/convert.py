"""`snpjax convert IN OUT`: a model in another format, and what that cannot hold."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ending import BAD_INPUT, FAILED, ended, orderly
from .lossy import losses_of
from .options import AsJson, Strict


if TYPE_CHECKING:
    from ..io import Format
    from ..spiking import PopulationSystem, SpikingSystem


@orderly()
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
    """Write a model file in another format.

    If that cannot hold the model, all that it lacks is listed, nothing is written and the exit
    status is 1. Formats that are read and written: plingua, websnapse, factory-yaml, cusnp, native;
    only read: esnp, xmp, factory-xml; only written: dot, graphml. A .json file is written as
    native, unless --to websnapse is given.
    """
    import snpjax as snp

    from ..io.formats import FORMATS
    from . import data
    from .text import headline, printable

    readable: list[Format] = [name for name, record in FORMATS.items() if record.reader]
    writable: list[Format] = [name for name, record in FORMATS.items() if record.writer]
    reads = _format_named(source_format, "--from", "read", readable)
    writes = _format_named(target_format, "--to", "written", writable)
    writes = writes or _format_of_suffix(target)
    if names is not None and writes != "cusnp":
        raise typer.BadParameter("only cuSNP files have no names", param_hint="--names")
    system = snp.read(source, format=reads, level="strict" if strict else "extended")
    refusal, path = None, target
    try:
        losses = losses_of(partial(snp.write, system, target, format=writes), lossy=lossy)
        if names is not None:
            path = names
            _write_names(system, names)
    except snp.WriteError as error:
        losses, refusal = error.items, f"{error}"
    except OSError as error:
        reason = f"{path}: {error.strerror} (check the name and the permissions)"
        raise ended(f"error: {reason}", BAD_INPUT) from None
    except ImportError as error:
        raise ended(f"error: {error}", BAD_INPUT) from None
    if as_json:
        data.print_json(
            {
                "file": f"{source}",
                "output": f"{target}",
                "format": writes,
                "neurons": system.num_neurons,
                "rules": system.num_rules,
                "synapses": system.num_synapses,
                "losses": list(losses),
                "written": refusal is None,
            }
        )
    if refusal is not None:
        raise ended(f"error: {target}: {refusal}", FAILED)
    for loss in losses:
        typer.echo(f"warning: {target}: lost in {FORMATS[writes].title}: {loss}", err=True)
    if not as_json:
        typer.echo(headline(system, f"{source}"))
        typer.echo(printable(f"{target}: written as {FORMATS[writes].title}"))


def _write_names(system: "SpikingSystem | PopulationSystem", target: Path) -> None:
    from ..io.cusnp import name_table
    from ..whole import write_whole

    write_whole(target, name_table(system))


def _format_named(
    name: str | None, option: str, done: str, formats: "list[Format]"
) -> "Format | None":
    """The format of that name. One that cannot be `done` is a usage error that lists the others."""
    if name is None:
        return None
    known: dict[str, Format] = {format: format for format in formats}
    if name in known:
        return known[name]
    raise typer.BadParameter(
        f"there is no format {name!r} that is {done} (write one of {', '.join(known)})",
        param_hint=option,
    )


def _format_of_suffix(target: Path) -> "Format":
    from ..io.formats import FORMATS, format_to_write

    try:
        format = format_to_write(target)
    except ValueError as error:
        raise typer.BadParameter(f"{error}".replace("format=", "--to"), param_hint="OUT") from None
    if FORMATS[format].writer is None:
        message = f"{FORMATS[format].title} is read, not written (give --to, or another suffix)"
        raise typer.BadParameter(message, param_hint="OUT")
    return format
