"""What makes a Sleptsov net valid: all problems are found in one pass, each with its fix."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from ..._text.nearest import misspelt_positions
from ..._text.pickling import PickledError
from .names import Numbered
from .rules import Petri


if TYPE_CHECKING:
    from .arcs import Arcs
    from .net import SleptsovNet

MAX_PROBLEMS = 10_000  # those of a broken file with millions of lines would take gigabytes

#: The kinds of arcs, by the field that holds them, and what their weights are.
KINDS = {
    "inputs": ("input arc", "multiplicity"),
    "outputs": ("output arc", "multiplicity"),
    "inhibitors": ("inhibitor arc", "threshold"),
    "tests": ("test arc", "threshold"),
}


class InvalidNet(PickledError, ValueError):
    """A net that is none; `problems` are all that was found, in words."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        more = len(problems) - len(self.problems)
        lines = [*self.problems, *([f"and {more} more"] if more else [])]
        super().__init__("\n".join(lines))


def problems_of(net: "SleptsovNet") -> Iterator[str]:
    """Why a net cannot be run; priorities are examined by the net itself."""
    for place in np.flatnonzero(net.marking < 0)[:MAX_PROBLEMS]:
        yield (
            f"place {net.place_name(place)} holds {net.marking[place]} tokens initially "
            "(give 0 or more)"
        )
    for number, place in np.argwhere(net.final_markings < 0)[:MAX_PROBLEMS].tolist():
        yield (
            f"place {net.place_name(place)} holds {net.final_markings[number, place]} tokens in "
            f"final marking {number} (give 0 or more)"
        )
    for kind in KINDS:
        yield from _arc_problems(net, kind)
    sizes = {"place": net.num_places, "transition": net.num_transitions}
    for what, size in sizes.items():
        yield from _name_problems(what, getattr(net, f"{what}_names"), size)


def _arc_problems(net: "SleptsovNet", kind: str) -> Iterator[str]:
    arcs: Arcs = getattr(net, kind)
    name, weight = KINDS[kind]
    ends = (
        ("place", arcs.place, net.num_places),
        ("transition", arcs.transition, net.num_transitions),
    )
    outside = np.zeros(len(arcs), bool)
    for what, numbers, size in ends:
        wrong = (numbers < 0) | (numbers >= size)
        outside |= wrong
        for arc in np.flatnonzero(wrong)[:MAX_PROBLEMS]:
            yield (
                f"{name} {arcs.triples()[arc]} names {what} {numbers[arc]} "
                f"(there are {size}, numbered from 0)"
            )
    for arc in np.flatnonzero((arcs.weight < 1) & ~outside)[:MAX_PROBLEMS]:
        yield f"{_arc_text(net, kind, arc)} has {weight} {arcs.weight[arc]} (give 1 or more)"
    same = (np.diff(arcs.place) == 0) & (np.diff(arcs.transition) == 0) & ~outside[1:]
    for arc in np.flatnonzero(same)[:MAX_PROBLEMS]:
        yield f"{_arc_text(net, kind, arc + 1)} is there twice (add their weights up, or drop one)"


def _arc_text(net: "SleptsovNet", kind: str, arc: int) -> str:
    arcs: Arcs = getattr(net, kind)
    place = f"place {net.place_name(arcs.place[arc])}"
    transition = f"transition {net.transition_name(arcs.transition[arc])}"
    ends = (transition, place) if kind == "outputs" else (place, transition)
    return f"{KINDS[kind][0]} from {ends[0]} to {ends[1]}"


def _name_problems(what: str, names: Sequence[str], size: int) -> Iterator[str]:
    if len(names) != size:
        yield f"{len(names)} names are given for {size} {what}s (give one each)"
    if isinstance(names, Numbered):
        return
    if len(set(names)) == len(names) and all(isinstance(n, str) and n for n in names):
        return
    times: Counter[str] = Counter()
    for number, name in enumerate(names):
        if not isinstance(name, str) or not name:
            yield f"{what} {number} has the name {name!r} (give a text)"
        else:
            times[name] += 1
    for name, count in times.items():
        if count > 1:
            yield f"{count} {what}s are named {name!r} (give each its own name)"


def priority_problems(net: "SleptsovNet") -> Iterator[str]:
    """What is wrong with the pairs themselves: numbers that are not transitions."""
    pairs, size = net.priorities, net.num_transitions
    for pair in np.unique(np.nonzero((pairs < 0) | (pairs >= size))[0])[:MAX_PROBLEMS]:
        yield (
            f"priority {tuple(pairs[pair].tolist())} names an unknown transition "
            f"(there are {size}, numbered from 0)"
        )


def cycle_problems(net: "SleptsovNet", members: list[list[int]]) -> Iterator[str]:
    """The cycles of the priorities, in words."""
    for cycle in members:
        names = ", ".join(net.transition_name(t) for t in cycle)
        if len(cycle) == 1:
            yield f"transition {names} has priority over itself (drop the pair)"
        else:
            yield f"transitions {names} form a cycle of priorities (drop one of its pairs)"


def order_problems(net: "SleptsovNet", order: Int[np.ndarray, " transitions"]) -> Iterator[str]:
    """Why an order that was given is not a total order that extends the priorities."""
    size = net.num_transitions
    if len(order) != size or not np.array_equal(np.sort(order), np.arange(size)):
        yield f"`order` does not list each of the {size} transitions once"
        return
    position = np.empty(size, np.int64)
    position[order] = np.arange(size)
    before = position[net.priorities]
    for pair in np.flatnonzero(before[:, 0] >= before[:, 1])[:MAX_PROBLEMS]:
        beats, beaten = (net.transition_name(t) for t in net.priorities[pair])
        yield (
            f"`order` has {beaten} before {beats}, which has priority over it (change the "
            "order, or drop the priority)"
        )


def warnings_of(net: "SleptsovNet") -> Iterator[str]:
    """What is accepted but hardly meant: transitions that can never fire, or without end."""
    dead = np.flatnonzero(is_dead(net))
    if len(dead):
        yield f"{_listed(net, dead)} can never fire: a place must hold many and few tokens at once"
    unbounded = np.flatnonzero(is_unbounded(net))
    if len(unbounded) and not isinstance(net.rule, Petri):
        yield (
            f"{_listed(net, unbounded)} consume{'s' if len(unbounded) == 1 else ''} nothing, so "
            "that its multiplicity has no bound: a run under the rule of Sleptsov ends where it is "
            "chosen"
        )
    if "positions" in net.notes:
        names = (*net.place_names, *net.transition_names)
        for _, text in misspelt_positions(net.notes["positions"], names, "place or transition"):
            yield text


def is_unbounded(net: "SleptsovNet") -> Bool[np.ndarray, " transitions"]:
    """Which transitions have no regular input arc."""
    return np.bincount(net.inputs.transition, minlength=net.num_transitions) == 0


def is_dead(net: "SleptsovNet") -> Bool[np.ndarray, " transitions"]:
    """Which transitions need a place to hold no less than one number and less than another that is
    no larger."""
    dead = np.zeros(net.num_transitions, bool)
    if len(net.inhibitors) == 0:
        return dead
    upper = net.inhibitors
    keys = upper.transition * net.num_places + upper.place
    for lower in (net.inputs, net.tests):
        own = lower.transition * net.num_places + lower.place
        at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        dead[lower.transition[(keys[at] == own) & (upper.weight[at] <= lower.weight)]] = True
    return dead


def _listed(net: "SleptsovNet", transitions: Int[np.ndarray, " some"]) -> str:
    shown = ", ".join(net.transition_name(t) for t in transitions[:10])
    more = f" and {len(transitions) - 10:,} more" if len(transitions) > 10 else ""
    return f"transition{'s' if len(transitions) > 1 else ''} {shown}{more}"
