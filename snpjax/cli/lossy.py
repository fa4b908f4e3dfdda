"""Formats that are named on the command line, and writing a file that may not hold everything."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ..io.formats import Format, Holds, format_to_write, formats_of
from .ending import FAILED, ended, refusals, write_failure
from .options import AsJson, flag, one_of, value


if TYPE_CHECKING:
    from ..sleptsov import HighNet
    from .models import AnyModel

Out: TypeAlias = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


def _written(holds: Holds) -> str:
    """The names of the formats that can be written, in a help text."""
    return ", ".join(format.name for format in formats_of(holds).values() if format.writer)


@dataclass(frozen=True)
class WriteOptions:
    """Options of commands that write a model."""

    target_format: Annotated[
        str | None,
        value(
            "--to",
            "FORMAT",
            "The format of OUT, if its suffix does not determine it: of a system "
            f"{_written('system')}; of a net {_written('net')}.",
        ),
    ] = None
    lossy: Annotated[bool, flag("--lossy", "Leave out what OUT cannot hold, and list it.")] = False
    as_json: AsJson = False

    def format_of(self, target: Path, holds: Holds) -> Format:
        """The format that `--to` names, or the suffix. One that is not written is a usage error."""
        if self.target_format is not None:
            writable = {x.name: x for x in formats_of(holds).values() if x.writer}
            that = " that is written"
            return one_of(writable, self.target_format, "format", "--to", that=that)
        try:
            format = format_to_write(target, holds)
        except ValueError as error:
            message = f"{error}".replace("format=", "--to")
            raise typer.BadParameter(message, param_hint="OUT") from None
        if format.writer is None:
            message = f"{format.title} is read, not written (give --to, or another suffix)"
            raise typer.BadParameter(message, param_hint="OUT")
        return format

    def save(
        self,
        model: "AnyModel | HighNet",
        target: Path,
        format: Format,
        report: Mapping[str, object],
        said: str,
        *,
        beside: Mapping[Path, str] | None = None,
    ) -> None:
        """Write a model, and report what was written, what was lost and which names the format
        does not keep: in JSON after the `report` and sizes, or else after the text `said`. Errors
        that a user can cause end the command.

        - `beside`: the texts of files that are replaced together with `target`.
        """
        from snpjax_formats.atomic import atomic_write_all

        from ..io import WriteError
        from ..io.read import model_text
        from ..sleptsov import HighNet
        from .data import print_json
        from .text import printable, sizes

        with writing(target):
            text, losses = model_text(model, format)
        is_written = self.lossy or not losses.items
        if is_written:
            texts = {target: text, **(beside or {})}
            with refusals():
                atomic_write_all({path: (its.encode(),) for path, its in texts.items()})
        if self.as_json:
            files = {"output": f"{target}", "format": format.name}
            flat = model.net if isinstance(model, HighNet) else model
            found = {"losses": losses.items, "renamed": losses.renamed}
            ending = {**found, "written": is_written}
            print_json({**report, **files, **sizes(flat), **ending})
        if not is_written:
            raise ended(f"error: {target}: {WriteError(losses)}", FAILED)
        for loss in losses.items:
            typer.echo(f"warning: {target}: lost in {format.title}: {loss}", err=True)
        for note in losses.notes:
            typer.echo(f"note: {target}: {note}", err=True)
        if not self.as_json:
            typer.echo(said)
            typer.echo(printable(f"{target}: written as {format.title}"))


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """What cannot be written to a file ends the command."""
    with refusals(target):
        try:
            yield
        except ValueError as error:
            raise ended(f"error: {target}: {error}", FAILED) from None


def check_folder(target: Path) -> None:
    """End the command before its work is done if a file cannot be written there."""
    if not target.parent.is_dir():
        missing = errno.ENOENT
        raise write_failure(target, FileNotFoundError(missing, os.strerror(missing)))
