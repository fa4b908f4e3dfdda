"""Building a system from what was read: its problems are reported at their places in the file."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Generic, Protocol, TypeVar, runtime_checkable

from snpjax_formats import host_free_bytes

from ..spiking.model.guard import Guard
from ..spiking.model.population import AnySystem
from ..spiking.model.validity import (
    InvalidSystem,
    ModelWarning,
    Place,
    Problem,
    unknown_neuron,
)
from .source import Report, Source, Unreadable


P = TypeVar("P")  # a place in a file
P_contra = TypeVar("P_contra", contravariant=True)
System = TypeVar("System", bound=AnySystem)

#: Stands in for a guard that does not parse; problems of these codes say nothing of its rule then.
NO_GUARD = Guard.from_lengths(())
ABOUT_GUARD = ("forgetting_guard", "forgetting_overlap", "dead_rule", "duplicate_rule")

_BYTES = 420  # of an explicit synapse, half of those of a neuron (CPython 3.11, 2026-11)
#: Neurons, synapses and rules of a system that is not built where errors are known already: that
#: would take seconds, for some more of them.
LARGE = 2**18
_MAX_HINTS = 20  # unknown names whose nearest names are searched
_MAX_UNKNOWN = 1_000  # that are reported


@runtime_checkable
class Tell(Protocol[P_contra]):
    """Takes findings, as `Report` does those at offsets and `json_checks.Findings` those at paths;
    one with a `first` place is a repetition of what is there."""

    def error(
        self, place: P_contra, message: str, first: P_contra | None = None, /
    ) -> None: ...  # pragma: no cover

    def warning(
        self, place: P_contra, message: str, first: P_contra | None = None, /
    ) -> None: ...  # pragma: no cover


def try_to_build(
    make: Callable[[], System],
) -> tuple[System | None, tuple[Problem, ...]]:
    """The system that `make` builds, `None` if it is invalid, and its problems, not reported
    yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            system = make()
            return system, system.problems
        except InvalidSystem as error:
            return None, error.problems


def read_reported(
    source: Source, read: Callable[[Report], System | None], *, last: int | None = None
) -> System:
    """The system that `read` makes of a source, all its findings reported; see `Report` of `last`.

    **Raises:** `ReadError` with all errors of the file, of its form as well as of the system.
    """
    report, system = Report(source, last=last), None
    with suppress(Unreadable):
        system = read(report)
    report.finish()
    if system is None:
        raise AssertionError("an invalid system without errors; please report a bug of snpjax")
    return system


def located_problems(
    problems: Iterable[Problem],
    place_of: Callable[[Place, str], P],
    has_no_guard: Callable[[Place], bool] = lambda place: False,
) -> Iterator[tuple[Problem, P, P | None]]:
    """Each problem of a system with its place in the file, and that of its `first` one.

    **Arguments:**

    - `place_of`: where in the file a place of the system is, for a problem with that code.
    - `has_no_guard`: whether the guard of the rule there did not parse, so that what is said about
      it is left out.
    """
    for problem in problems:
        places = [place for place in (problem.place, problem.first) if place is not None]
        if problem.code in ABOUT_GUARD and any(map(has_no_guard, places)):
            continue
        first = None if problem.first is None else place_of(problem.first, problem.code)
        yield problem, place_of(problem.place, problem.code), first


def tell_problems(
    tell: Tell[P],
    problems: Iterable[Problem],
    place_of: Callable[[Place, str], P],
    has_no_guard: Callable[[Place], bool] = lambda place: False,
) -> None:
    """Tell each problem at its place, see `located_problems`."""
    for problem, place, first in located_problems(problems, place_of, has_no_guard):
        of_severity = tell.error if problem.severity == "error" else tell.warning
        of_severity(place, problem.message, first)


def most_listed() -> int:
    """How large 2 * neurons + synapses may be where each is listed: what fits in memory."""
    free = host_free_bytes()
    return 2**31 - 1 if free is None else min(2**31 - 1, free // _BYTES)


def size_message(num_neurons: int, synapses: str, most: int) -> str:
    """Why a file that lists more than `most_listed()` is refused."""
    return (
        f"there are {num_neurons:,} neurons{synapses}, and memory is left for 2 * neurons + "
        f"synapses up to {most:,} (describe large systems with populations)"
    )


class UnknownNames:
    """Says that a neuron or label is not there; of the first ones with the nearest names."""

    def __init__(self, what: str = "neuron") -> None:
        self.what = what
        self._num_told = 0

    def message(self, name: str, with_nearest: Callable[[], str]) -> str:
        self._num_told += 1
        is_hinted = self._num_told <= _MAX_HINTS
        return with_nearest() if is_hinted else f"there is no {self.what} {name!r}"


class KnownNames(Generic[P]):
    """The names that neurons have, or the labels. Others are reported where they stand first, if
    these `are_complete`: no neuron was left out."""

    def __init__(
        self,
        names: Mapping[str, object],
        error: Callable[[P, str], object],
        what: str = "neuron",
        *,
        are_complete: bool = True,
    ):
        self.names, self.are_complete = names, are_complete
        self._error = error
        self._hints = UnknownNames(what)
        self._unknown: set[str] = set()

    def has(self, name: str, place: P, here: str) -> bool:
        """Whether a neuron has this name; if not, it is an error there."""
        if name in self.names:
            return True
        if self.are_complete and name not in self._unknown and not self.are_enough:
            self._unknown.add(name)
            what = self._hints.what
            message = self._hints.message(name, lambda: unknown_neuron(name, self.names, what))
            self._error(place, f"{here}: {message}")
        return False

    @property
    def are_enough(self) -> bool:
        """Whether the limit of reported problems is reached."""
        return len(self._unknown) >= _MAX_UNKNOWN
