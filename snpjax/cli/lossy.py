"""Formats that are named on the command line, and writing a file that may not hold everything."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..io.formats import Format, Holds, format_to_write, formats_of
from .ending import BAD_INPUT, FAILED, ended


if TYPE_CHECKING:
    from ..sleptsov import HighNet, SleptsovNet
    from ..spiking import PopulationSystem, SpikingSystem


def format_from(name: str | None, holds: Holds) -> Format | None:
    """The format that `--from` names. One that is not read is a usage error."""
    readable = {x.name: x for x in formats_of(holds).values() if x.reader}
    return None if name is None else _named(name, "--from", "read", readable)


def format_to(target: Path, name: str | None, holds: Holds) -> Format:
    """The format that `--to` names, or the suffix. One that is not written is a usage error."""
    writable = {x.name: x for x in formats_of(holds).values() if x.writer}
    if name is not None:
        return _named(name, "--to", "written", writable)
    try:
        format = format_to_write(target, holds)
    except ValueError as error:
        raise typer.BadParameter(f"{error}".replace("format=", "--to"), param_hint="OUT") from None
    if format.writer is None:
        message = f"{format.title} is read, not written (give --to, or another suffix)"
        raise typer.BadParameter(message, param_hint="OUT")
    return format


def save(
    model: "SpikingSystem | PopulationSystem | SleptsovNet | HighNet",
    target: Path,
    format: Format,
    *,
    lossy: bool,
) -> tuple[tuple[str, ...], str | None]:
    """Write a model; what was lost, and why nothing was written, if so.

    What a user can cause besides ends the command.
    """
    from .._text.atomic import atomic_write
    from ..io import WriteError
    from ..io.read import model_text

    try:
        text, losses = model_text(model, format)
        if losses.items and not lossy:
            return tuple(losses.items), f"{WriteError(losses.format_name, losses.items)}"
        atomic_write(target, text)
    except OSError as error:
        raise write_failure(target, error) from None
    except ImportError as error:
        raise ended(f"error: {error}", BAD_INPUT) from None
    except ValueError as error:
        raise ended(f"error: {target}: {error}", FAILED) from None
    return tuple(losses.items), None


def write_failure(path: Path, error: OSError) -> typer.Exit:
    """Why a file cannot be written; to be raised."""
    return ended(f"error: {path}: {error.strerror} (check the name and the permissions)", BAD_INPUT)


def check_folder(target: Path) -> None:
    """End the command before its work is done if a file cannot be written there."""
    if not target.parent.is_dir():
        missing = errno.ENOENT
        raise write_failure(target, FileNotFoundError(missing, os.strerror(missing)))


def print_saved(
    target: Path, format: Format, losses: tuple[str, ...], refusal: str | None, said: str | None
) -> None:
    """What was lost, and what was written unless nothing was or `said`, what comes first, is
    `None`."""
    from .text import printable

    if refusal is not None:
        raise ended(f"error: {target}: {refusal}", FAILED)
    for loss in losses:
        typer.echo(f"warning: {target}: lost in {format.title}: {loss}", err=True)
    if said is not None:
        typer.echo(said)
        typer.echo(printable(f"{target}: written as {format.title}"))


def _named(name: str, option: str, done: str, known: dict[str, Format]) -> Format:
    if name in known:
        return known[name]
    raise typer.BadParameter(
        f"there is no format {name!r} that is {done} (write one of {', '.join(known)})",
        param_hint=option,
    )
