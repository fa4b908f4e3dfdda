"""How a command ends: a user's mistake is a few lines on stderr and an exit status."""

import contextlib
import errno
import gc
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .._text.os_errors import advice_on
from .options import advised
from .signals import ending, stop_orderly
from .streams import OutputLost, drop_output


if TYPE_CHECKING:
    from ..io import ReadError
    from ..io.kinds import Kind


FAILED = 1
BAD_INPUT = 2
NOT_DECIDED = 3
#: After Ctrl-C, also where what was found until then is shown: 128 + SIGINT.
INTERRUPTED = 130
#: What a shell reports for a program that nobody reads any more: 128 + SIGPIPE.
NOT_READ = 141


def ended(message: str, status: int) -> typer.Exit:
    """Say why on stderr; the result is to be raised."""
    typer.echo(message, err=True)
    return typer.Exit(status)


#: The command that reads each kind of file, where `{}` is the file.
_COMMANDS: "dict[Kind, str]" = {
    "system": "snpjax run {}",
    "net": "snpjax sleptsov run {}",
    "numerical": "snpjax run {}",
    "proliferation": "snpjax proliferation expected HISTOGRAM --model {}",
    "cell types": "snpjax proliferation expected HISTOGRAM --model {}",
    "histogram": "snpjax proliferation expected {} --model MODEL",
}


@contextlib.contextmanager
def orderly(other: str | None = None) -> Iterator[None]:
    """Around a command: what users can cause becomes a message, and warnings about models lines.

    **Arguments:**

    - `other`: the command for files of the other of systems and nets, where `{}` is the file.

    What is left, and shows its traceback, is our own bug or the machine's limit.
    """
    with interruptible():
        from ..compilation import use_compilation_cache
        from ..io import ReadError
        from ..spiking import InvalidSystem

        stop_orderly()
        with _warnings_as_lines():
            try:
                use_compilation_cache()
                collect_garbage()
                yield
            except ReadError as error:
                raise ended(_advised(error, other), BAD_INPUT) from None
            except InvalidSystem as error:
                raise ended(f"error: {error}", BAD_INPUT) from None


def collect_garbage() -> None:
    """Let Python look for garbage if `main` has stopped it, but not among what was imported, and
    seldom."""
    if gc.isenabled():
        return
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Around a command that needs no model: Ctrl-C and other signals end it without a traceback,
    and so do an output that is closed or full, and too little memory."""
    try:
        yield
        sys.stdout.flush()
    except (MemoryError, RuntimeError, ValueError) as error:
        from ..memory import is_of_memory

        if not is_of_memory(error):
            raise
        raise ended(f"error: {_shortage(error)}", FAILED) from None
    except KeyboardInterrupt as stopped:
        raise ended(*ending(stopped)) from None
    except OutputLost as lost:
        drop_output()
        if lost.error.errno == errno.EPIPE:
            raise typer.Exit(NOT_READ) from None
        reason = f"{lost.error.strerror} (write it to another file)"
        raise ended(f"error: the output cannot be written: {reason}", BAD_INPUT) from None


@contextlib.contextmanager
def refusals(
    target: Path | None = None, *, failures: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """End the command with one line for what the user can fix.

    **Arguments:**

    - `target`: the file that is written, where errors may name another one.
    - `failures`: exceptions that end with `FAILED` rather than `BAD_INPUT`.
    """
    from ..io import ReadError

    try:
        yield
    except ReadError:
        raise
    except failures as error:
        raise ended(f"error: {error}", FAILED) from None
    except (ImportError, NotImplementedError, ValueError) as error:
        raise ended(f"error: {advised(f'{error}')}", BAD_INPUT) from None
    except OSError as error:
        path = target or error.filename
        if path is None or error.strerror is None:  # of no file: our own bug
            raise
        raise write_failure(path, error) from None


def _shortage(error: Exception) -> str:
    """Why memory does not suffice."""
    if isinstance(error, ValueError):  # refused before it was taken
        return advised(f"{error}")
    found = re.search(r"allocat\D*(\d+) ?bytes", f"{error}")
    what = f", where {int(found[1]):,} bytes were needed at once" if found else ""
    return f"memory ran out{what} (try a smaller model, or fewer steps, paths or configurations)"


def write_failure(path: Path | str, error: OSError) -> typer.Exit:
    """Why a file cannot be opened or written; to be raised."""
    folder = Path(path).parent
    if isinstance(error, FileNotFoundError) and not folder.exists():
        return ended(f"error: {path}: there is no folder {folder} (create it first)", BAD_INPUT)
    return ended(f"error: {path}: {error.strerror} ({advice_on(error.errno)})", BAD_INPUT)


def _advised(error: "ReadError", other: str | None) -> str:
    """What a reader reports, with the advice of the command instead of that of Python."""
    from ..io.kinds import WrongKind, wrong_kind_text

    if isinstance(error, WrongKind) and error.kind in _COMMANDS:
        known = _COMMANDS[error.kind]
        command = other or known if error.kind in ("system", "net") else known
        by_name = "" if error.format is None else f" --from {error.format}"
        advice = f"use: {command.format(shlex.quote(error.path))}{by_name}"
        return f"{error.path}: {wrong_kind_text(error.kind, advice)}"
    by_option = re.compile(r'([;,] or give) format=(?:"(\w+)")?')
    text = by_option.sub(lambda found: f"{found[1]} --from {found[2] or ''}".rstrip(), f"{error}")
    return re.sub(r"\(give parameters=\{(.*?)\}\)", _by_set, text)


def _by_set(found: re.Match[str]) -> str:
    """The advice on parameters for the command: `"n": 8` is --set n=8."""
    options = re.sub(r'"(\w+)": (\w+),?', r"--set \1=\2", found[1])
    return f"(give {options})"


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show the warnings that are meant for the user as lines, and leave all others as they are."""
    from ..io.errors import MAX_SHOWN, ReadWarning
    from ..scale.checkpoint import CheckpointWarning
    from ..spiking import ModelWarning
    from ..trajectory import HistoryDropped

    with warnings.catch_warnings():
        show_other = warnings.showwarning

        def show(message, category, filename, lineno, file=None, line=None):
            if isinstance(message, ReadWarning):
                found = message.diagnostics
                for d in found[:MAX_SHOWN]:
                    place = d.path if d.line is None else f"{d.path}:{d.line}:{d.column}"
                    typer.echo(f"{place}: warning: {d.message}", err=True)
                if len(found) > MAX_SHOWN:
                    typer.echo(f"and {len(found) - MAX_SHOWN} more warnings", err=True)
            elif issubclass(category, HistoryDropped):  # whose message is about Python
                kept = message.kept if isinstance(message, HistoryDropped) else ""
                typer.echo(
                    f"warning: the history is too large to be kept; kept: {kept} "
                    "(try fewer --steps or --paths)",
                    err=True,
                )
            elif category.__module__.partition(".")[0] in ("snpjax", "snpjax_formats"):
                typer.echo(f"warning: {message}", err=True)
            else:
                show_other(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        for category in (ModelWarning, HistoryDropped, CheckpointWarning):
            warnings.simplefilter("always", category)
        yield
