"""A net that is being read from a format with names: nodes, arcs and priorities with places, and
times, rates and weights, which are refused or dropped on request.

There may be millions of arcs, so that they are kept as plain numbers until all are there.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from jaxtyping import Int

from ...sleptsov import Arcs
from ..source import Report
from .numbers import MAX_NODES, MOST
from .priorities import tell_cycles


Kind: TypeAlias = Literal["input", "output", "inhibitor", "test"]

MAX_PAIRS = 2**22  # of priorities; a line of 5,000 names against 5,000 others makes millions
_REGULAR = ("input", "output")


@dataclass(frozen=True)
class Dropping:
    """Tells what is about time: as an error or, where it is to be dropped, as a warning."""

    report: Report
    drop_time: bool

    def __call__(self, offset: int, what: str, neutral: str = "") -> None:
        """Tell of something that could be written as `neutral`, or not at all."""
        if self.drop_time:
            self.report.warning(offset, f"{what} is dropped")
            return
        write = f"write {neutral}" if neutral else "remove it"
        message = (
            f"{what}: times, rates and weights are not read ({write}, or drop them: "
            "drop_time=True, --drop-time)"
        )
        self.report.error(offset, message)


@dataclass
class NetDraft:
    """Nodes by name in order of first mention, and what joins them.

    Regular arcs that are listed twice add up; inhibitor and test arcs must agree.
    """

    report: Report
    places: dict[str, int] = field(default_factory=dict)
    transitions: dict[str, int] = field(default_factory=dict)
    _tokens: dict[int, tuple[int, int]] = field(default_factory=dict)  # by place; with the offset
    _pairs: array = field(default_factory=lambda: array("q"))  # rows of 3
    _arcs: dict[Kind, array] = field(
        default_factory=lambda: {kind: array("q") for kind in get_args(Kind)}  # rows of 4
    )

    def place(self, name: str) -> int:
        """The number of a place, new if it was not mentioned before."""
        return self.places.setdefault(name, len(self.places))

    def transition(self, name: str) -> int:
        return self.transitions.setdefault(name, len(self.transitions))

    def mark(self, place: int, tokens: int, offset: int) -> None:
        """Note the tokens of a place; a second time is reported."""
        _, first = self._tokens.setdefault(place, (tokens, offset))
        if first != offset:
            name = list(self.places)[place]
            self.report.error(offset, f"place {name!r} is marked twice (remove one)", first)

    def arc(self, kind: Kind, place: int, transition: int, weight: int, offset: int) -> None:
        self._arcs[kind].extend((place, transition, weight, offset))

    def priority(self, beats: int, beaten: int, offset: int) -> None:
        self._pairs.extend((beats, beaten, offset))

    def levels(self, levels: Mapping[int, tuple[int, int]]) -> None:
        """Priorities of each transition over those of lower levels.

        - `levels`: of each transition the level, the larger the stronger, and where it stands.
        """
        members: dict[int, list[int]] = {}
        for transition, (level, _) in levels.items():
            members.setdefault(level, []).append(transition)
        # The relation is transitive: of each level over the next one is enough.
        ordered = [members[level] for level in sorted(members, reverse=True)]
        for above, below in zip(ordered, ordered[1:], strict=False):
            offset = levels[above[0]][1]
            if self.num_pairs + len(above) * len(below) > MAX_PAIRS:
                message = f"there are more than {MAX_PAIRS} priorities between transitions"
                self.report.error(offset, f"{message} (use fewer levels of priority)")
                return
            for beats in above:
                for beaten in below:
                    self.priority(beats, beaten, levels[beats][1])

    @property
    def num_pairs(self) -> int:
        return len(self._pairs) // 3

    def pair_offset(self, pair: int) -> int:
        """Where a priority stands."""
        return self._pairs[3 * pair + 2]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the net; what is wrong with arcs and priorities is reported."""
        for what, nodes in (("places", self.places), ("transitions", self.transitions)):
            if len(nodes) > MAX_NODES:
                self.report.error(
                    0, f"{len(nodes)} {what} are more than the {MAX_NODES} of one file"
                )
        marking = np.zeros(len(self.places), np.int64)
        for place, (tokens, _) in self._tokens.items():
            marking[place] = tokens
        pairs = np.array(self._pairs, np.int64).reshape(-1, 3)[:, :2]
        names = list(self.transitions)
        tell_cycles(pairs, len(names), self.report, self.pair_offset, names.__getitem__)
        return {
            "marking": marking,
            **{f"{kind}s": self._joined(kind) for kind in self._arcs},
            "priorities": pairs,
            "num_transitions": len(names),
            "place_names": tuple(self.places),
            "transition_names": tuple(names),
        }

    def _joined(self, kind: Kind) -> Arcs:
        """The arcs of a kind, those between the same nodes as one."""
        rows = np.array(self._arcs[kind], np.int64).reshape(-1, 4)
        rows = rows[np.lexsort((rows[:, 0], rows[:, 1]))]  # stable: in order of the file
        is_new = np.ones(len(rows), bool)
        is_new[1:] = np.any(rows[1:, :2] != rows[:-1, :2], axis=1)
        firsts = np.flatnonzero(is_new)
        counts = np.diff(np.append(firsts, len(rows)))
        for first, count in zip(firsts[counts > 1], counts[counts > 1], strict=True):
            rows[first, 2] = self._weight(kind, rows[first : first + count])
        place, transition, weight, _ = rows[firsts].T
        return Arcs(place, transition, weight)

    def _weight(self, kind: Kind, rows: Int[np.ndarray, "arcs 4"]) -> int:
        """The weight of several arcs between the same nodes."""
        place, transition, weight, first = rows[0].tolist()
        ends = f"{list(self.places)[place]} and {list(self.transitions)[transition]}"
        total = sum(rows[:, 2].tolist())
        if kind not in _REGULAR:
            for other, offset in rows[1:, 2:].tolist():
                if other != weight:
                    message = (
                        f"the {kind} arc between {ends} has two thresholds, {weight} and {other} "
                        "(remove one)"
                    )
                    self.report.error(offset, message, first)
            return weight
        if total > MOST:
            message = f"the weights of the arcs between {ends} do not fit in int64 ({total})"
            self.report.error(int(rows[-1, 3]), message)
        return min(total, MOST)
