"""What readers report: diagnostics with a place in the file, all of them at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .._text.pickling import PickledError
from ..spiking.model.validity import ModelWarning, Severity


MAX_SHOWN = 20  # a file of another kind gives thousands of errors; nobody reads more than a screen


class Position(NamedTuple):
    """A place in a text file. Both are 1-based, columns count characters and a tab is one."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of a reader. `line` and `column` are `None` when the file as a whole is meant."""

    path: str
    line: int | None
    column: int | None
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}:{self.column}"
        return f"{place}: {self.message}"


class ReadError(PickledError, ValueError):
    """A model file that cannot be read, with every independent error in `diagnostics`.

    As text: one `path:line:column: problem (fix)` a line, at most 20, then "and n more".
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        super().__init__(_listing(self.diagnostics))


class ReadWarning(PickledError, ModelWarning):
    """Warnings of one model file that was read, in the form of `ReadError`."""

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        super().__init__(_listing(self.diagnostics))


def file_error(path: object, message: str) -> ReadError:
    """The error about a file as a whole: missing, a folder, too large."""
    return ReadError([Diagnostic(str(path), None, None, message)])


def _listing(diagnostics: tuple[Diagnostic, ...]) -> str:
    lines = [str(diagnostic) for diagnostic in diagnostics[:MAX_SHOWN]]
    if len(diagnostics) > MAX_SHOWN:
        lines.append(f"and {len(diagnostics) - MAX_SHOWN} more")
    return "\n".join(lines)
