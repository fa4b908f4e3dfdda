"""`snpjax cache ...`: the compiled programs on disk."""

import json
import os
from pathlib import Path

import typer

from .. import compilation
from .._text.counts import bytes_text, plural
from .ending import interruptible
from .options import AsJson


cache = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compiled programs that are kept on disk for later commands.\n\n"
    f"Set {compilation.VARIABLE} to a folder to keep them there, to `off` to keep none.",
)


@cache.command()
@interruptible()
def info(as_json: AsJson = False) -> None:
    """Say where compiled programs are kept, how many there are, and whether they are used."""
    found = compilation.setting()
    programs = [] if found.folder is None else list(compilation.entries(found.folder))
    size, reason = sum(program.bytes for program in programs), found.reason
    if found.is_on and found.folder is not None and not _is_writable(found.folder):
        reason += ", but the folder is not writable, so nothing is added"
    if as_json:
        value = {
            "folder": None if found.folder is None else f"{found.folder}",
            "on": found.is_on,
            "reason": reason,
            "programs": len(programs),
            "bytes": size,
            "max_bytes": compilation.MAX_BYTES,
        }
        typer.echo(json.dumps(value))
        return
    typer.echo(f"folder: {'none' if found.folder is None else found.folder}")
    typer.echo(f"state: {'on' if found.is_on else 'off'} ({reason})")
    typer.echo(f"programs: {len(programs):,}")
    typer.echo(f"size: {bytes_text(size)} of at most {bytes_text(compilation.MAX_BYTES)}")


@cache.command()
@interruptible()
def clear() -> None:
    """Remove all compiled programs. This is always safe; later commands compile them again."""
    folder = compilation.setting().folder
    removed = [] if folder is None else compilation.clear(folder)
    size = sum(program.bytes for program in removed)
    typer.echo(f"removed {plural(len(removed), 'program')}, {bytes_text(size)}")


def _is_writable(folder: Path) -> bool:
    """Whether programs can be added to a folder, or the folder be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
