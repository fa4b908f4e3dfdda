"""The standard streams of a command: what happens where they are full or closed."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


class OutputLost(Exception):
    """The standard output cannot be written; `error` says why."""

    def __init__(self, error: OSError):
        Exception.__init__(self, f"{error}")
        self.error = error


class _Output(io.TextIOWrapper):
    replaced: TextIO | None  # to live as long: it closes the descriptor in its end

    def write(self, text: str, /) -> int:
        try:
            return io.TextIOWrapper.write(self, text)
        except OSError as error:
            raise OutputLost(error) from None

    def flush(self) -> None:
        try:
            io.TextIOWrapper.flush(self)
        except OSError as error:
            raise OutputLost(error) from None


class _Messages(io.TextIOWrapper):
    """What nobody can be told is dropped: the exit status says that there is an error."""

    replaced: TextIO | None

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            io.TextIOWrapper.write(self, text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            io.TextIOWrapper.flush(self)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within it, the standard output raises `OutputLost` and no other exception, and messages never
    raise. Characters that a stream cannot show are escaped."""
    before = sys.stdout, sys.stderr
    # No file that is opened later is to take the place of a stream that is closed.
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(descriptor)
    replace_streams()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def replace_streams() -> None:
    """Replace the streams that are files, and those that are closed."""
    sys.stdout = _replaced(_Output, 1, sys.stdout)
    sys.stderr = _replaced(_Messages, 2, sys.stderr)


def drop_output() -> None:
    """Let what is written to the standard output disappear, and what is still buffered."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _replaced(
    kind: type[_Output] | type[_Messages], descriptor: int, stream: TextIO | None
) -> TextIO:
    encoding = None
    if stream is not None:
        try:
            descriptor, encoding = stream.fileno(), stream.encoding
        except io.UnsupportedOperation:
            return stream
        stream.flush()
    found = kind(
        io.BufferedWriter(io.FileIO(descriptor, "wb", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=kind is _Messages or os.isatty(descriptor),
    )
    found.replaced = stream
    return found
