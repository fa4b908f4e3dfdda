"""Report findings at their places, whatever a reader locates things with."""

from typing import Protocol, TypeVar, runtime_checkable

from .source import Report


P_contra = TypeVar("P_contra", contravariant=True)

MAX_FINDINGS = 10_000  # a hostile file could have a million, each a text


@runtime_checkable
class Tell(Protocol[P_contra]):
    """Takes findings; one with a `first` place is a repetition of what stands there.

    `json_checks.Findings` is one for paths, `AtOffsets` one for offsets.
    """

    def error(
        self, path: P_contra, message: str, first: P_contra | None = None, /
    ) -> None: ...  # pragma: no cover

    def warning(
        self, path: P_contra, message: str, first: P_contra | None = None, /
    ) -> None: ...  # pragma: no cover


class AtOffsets:
    """`Tell` for places that are offsets in the text of a report.

    The first `MAX_FINDINGS` errors are told, and as many warnings.
    """

    def __init__(self, report: Report):
        self.report = report
        self._num_errors = self._num_warnings = 0

    @property
    def is_full(self) -> bool:
        """Whether errors are no longer told."""
        return self._num_errors > MAX_FINDINGS

    def error(self, offset: int, message: str, first: int | None = None, /) -> None:
        self._num_errors += 1
        if self._num_errors <= MAX_FINDINGS:
            self.report.error(offset, message + self._first(first))

    def warning(self, offset: int, message: str, first: int | None = None, /) -> None:
        self._num_warnings += 1
        if self._num_warnings <= MAX_FINDINGS:
            self.report.warning(offset, message + self._first(first))

    def _first(self, first: int | None) -> str:
        if first is None:
            return ""
        line, column = self.report.source.position(first)
        return f"; first at {line}:{column}"
