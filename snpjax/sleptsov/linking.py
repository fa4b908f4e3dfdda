"""High-level nets: transitions that stand for whole sub-nets, and their linking to one flat net.

Linking is vectorised: the instances of one sub-net are made together, so that half a million
transitions take a second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from .._text.rule_text import rule_text
from .model.arcs import Arcs
from .model.names import Names, Numbered
from .model.net import SleptsovNet
from .model.validity import KINDS
from .sizes import (
    MAX_FLAT_SIZE,
    NEW_PLACES_OF_COPY,
    NEW_PLACES_OF_MOVE,
    NEW_TRANSITIONS_OF_COPY,
    NEW_TRANSITIONS_OF_MOVE,
    SPLIT_AND_JOIN,
    flat_size,
)
from .subnets import clean_move, copy


NetPart: TypeAlias = tuple[
    Literal["transition", "subnet", "input", "output", "start", "finish"], int
]

_SHARED_BY_COPY = 2  # places of a copy that are those of others; the rest is new


@dataclass(frozen=True)
class Substitution:
    """A transition that stands for a sub-net. Pairs are (place of the net, place of the sub-net).

    **Arguments:**

    - `transition`: of the net.
    - `subnet`: what is put in its place.
    - `inputs`: data that is copied in; the copies are made in this order.
    - `output`: the place that is cleared and takes the result.
    - `start`, `finish`: control places: emptying `start` starts the sub-net, which refills it and
      empties `finish` when it is done.
    - `name`: what files call the sub-net.
    """

    transition: int
    subnet: "SleptsovNet | HighNet"
    inputs: tuple[tuple[int, int], ...]
    output: tuple[int, int]
    start: tuple[int, int]
    finish: tuple[int, int]
    name: str = ""

    def roles(self) -> Iterator[tuple[NetPart, tuple[int, int]]]:
        """Each pair of places and what it is for."""
        for number, pair in enumerate(self.inputs):
            yield ("input", number), pair
        yield ("output", 0), self.output
        yield ("start", 0), self.start
        yield ("finish", 0), self.finish


@dataclass(frozen=True)
class HighNet:
    """A net some of whose transitions stand for sub-nets.

    Of a transition that does, the arcs are a picture of the data flow: linking drops them.

    **Raises:** `ValueError` with every problem.
    """

    net: SleptsovNet
    substitutions: tuple[Substitution, ...]

    def __post_init__(self) -> None:
        net = self.net
        sizes = net.num_places, net.num_transitions
        problems = [p.message for p in substitution_problems(self.substitutions, *sizes)]
        problems += [m for _, m in pair_problems(self.substitutions, net.priorities)]
        for one in self.substitutions:
            inner = one.subnet.net if isinstance(one.subnet, HighNet) else one.subnet
            if inner.rule.name != net.rule.name:
                name = one.name or f"the sub-net of transition {one.transition + 1}"
                problems.append(
                    f"{name} is under {rule_text(inner.rule.name)}, and the net under "
                    f"{rule_text(net.rule.name)} (use `with_rule` on one of them)"
                )
        if net.order is not None:
            problems.append("a net with a given order cannot be linked (give priorities)")
        if problems:
            raise ValueError("\n".join(problems))


class SubstitutionProblem(NamedTuple):
    """What is wrong with a part of a substitution; `first` is the one that it repeats."""

    number: int
    part: NetPart
    message: str
    first: int | None = None


def substitution_problems(
    substitutions: Sequence[Substitution], num_places: int, num_transitions: int
) -> Iterator[SubstitutionProblem]:
    """What is wrong with the substitutions in a net of that size."""
    seen: dict[int, int] = {}
    for number, one in enumerate(substitutions):
        here: NetPart = ("transition", 0)
        named = f"transition {one.transition + 1}"
        first = seen.setdefault(one.transition, number)
        if not 0 <= one.transition < num_transitions:
            message = f"there is no {named} to substitute (there are {num_transitions})"
            yield SubstitutionProblem(number, here, message)
        elif first != number:
            message = f"{named} is substituted twice (remove one)"
            yield SubstitutionProblem(number, here, message, first)
        inner = one.subnet.net if isinstance(one.subnet, HighNet) else one.subnet
        name = one.name or "the sub-net"
        if inner.num_transitions == 0:
            message = f"{name} has no transition, so nothing can start it"
            yield SubstitutionProblem(number, ("subnet", 0), message)
        if inner.order is not None:
            message = f"{name} has a given order (give it priorities)"
            yield SubstitutionProblem(number, ("subnet", 0), message)
        if not one.inputs:
            message = f"the substitution by {name} has no input (give at least one)"
            yield SubstitutionProblem(number, here, message)
        for part, (hp, lp) in one.roles():
            if not 0 <= hp < num_places:
                message = f"{part[0]}: place {hp + 1} is out of range (there are {num_places})"
                yield SubstitutionProblem(number, part, message)
            if not 0 <= lp < inner.num_places:
                message = (
                    f"{part[0]}: place {lp + 1} is outside of {name}, "
                    f"which has {inner.num_places} places"
                )
                yield SubstitutionProblem(number, part, message)


def pair_problems(
    substitutions: Sequence[Substitution], pairs: Int[np.ndarray, "pairs 2"]
) -> Iterator[tuple[int, str]]:
    """Priorities that name a transition which is substituted: they have no defined meaning. The
    number of each, and a message."""
    if not len(pairs) or not len(substitutions):
        return
    substituted = np.array([one.transition for one in substitutions])
    inside = np.isin(pairs, substituted)
    for pair in np.flatnonzero(np.any(inside, axis=1)).tolist():
        number = int(pairs[pair][inside[pair]][0]) + 1
        message = (
            f"a priority names transition {number}, which is substituted (remove the priority)"
        )
        yield pair, message


def link(high: HighNet, *, max_flat_size: int = MAX_FLAT_SIZE) -> SleptsovNet:
    """Flatten a high-level net, with the numbering of the published linker.

    Places and transitions of the net keep their numbers. For each substitution, in order, the
    sub-net follows, whose first transition takes the number of the substituted one; then a copy of
    each input, two transitions that split and join them, and a clean-and-move of the output.

    **Arguments:**

    - `high`: a net with substitutions.
    - `max_flat_size`: the largest total number of places, transitions, arcs and priorities of the
      flat net.

    **Returns:** the flat net.

    **Raises:** `ValueError` with the size of a net that is larger, before anything is linked.

    ??? cite "Source"
        The linker of Zhao, Liu, Hou 2022, "Compiler and linker of Sleptsov net program".
    """
    refusal = flat_size(high).refusal(max_flat_size)
    if refusal is not None:
        raise ValueError(refusal)
    return _link(high)


def _link(high: HighNet) -> SleptsovNet:
    return _Linker(high).linked()


class _Linker:
    def __init__(self, high: HighNet):
        self.high = high
        flat: dict[int, SleptsovNet] = {}  # a sub-net that is a high-level net is linked once
        self.inner = []
        for one in high.substitutions:
            inner = one.subnet
            if isinstance(inner, HighNet):
                inner = flat.setdefault(id(inner), flat.get(id(inner)) or _link(inner))
            self.inner.append(inner)
        self.arcs: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
        self.pairs: list[np.ndarray] = []
        num_inputs = np.array([len(one.inputs) for one in high.substitutions], np.int64)
        places = np.array([inner.num_places for inner in self.inner], np.int64)
        transitions = np.array([inner.num_transitions for inner in self.inner], np.int64)
        new_places = places + NEW_PLACES_OF_COPY * num_inputs + NEW_PLACES_OF_MOVE
        copies = NEW_TRANSITIONS_OF_COPY * num_inputs
        new_transitions = transitions - 1 + copies + SPLIT_AND_JOIN + NEW_TRANSITIONS_OF_MOVE
        # The first new place and transition of each substitution.
        self.first_place = high.net.num_places + np.cumsum(new_places) - new_places
        before = np.cumsum(new_transitions) - new_transitions
        self.first_transition = high.net.num_transitions + before
        self.num_places = high.net.num_places + int(np.sum(new_places))
        self.num_transitions = high.net.num_transitions + int(np.sum(new_transitions))
        self.marking = np.zeros(self.num_places, np.int64)

    def linked(self) -> SleptsovNet:
        net = self.high.net
        self.marking[: net.num_places] = net.marking
        groups: dict[tuple[int, int], list[int]] = {}
        for number, one in enumerate(self.high.substitutions):
            groups.setdefault((id(self.inner[number]), len(one.inputs)), []).append(number)
        for members in groups.values():
            self._take_group(np.array(members, np.int64))
        self._take_own()
        place_names, transition_names = self._names()
        return SleptsovNet(
            self.marking,
            inputs=self._joined("inputs"),
            outputs=self._joined("outputs"),
            inhibitors=self._joined("inhibitors"),
            tests=self._joined("tests"),
            priorities=np.concatenate([np.zeros((0, 2), np.int64), *self.pairs]),
            num_transitions=self.num_transitions,
            place_names=place_names,
            transition_names=transition_names,
            name=net.name,
            rule=net.rule,
        )

    def _joined(self, kind: str) -> Arcs:
        return Arcs(*np.concatenate([_NO_ARCS, *self.arcs[kind]], axis=1))

    def _take_own(self) -> None:
        """What belongs to transitions that are not substituted."""
        net = self.high.net
        is_plain = np.ones(net.num_transitions, bool)
        is_plain[[one.transition for one in self.high.substitutions]] = False
        for kind in KINDS:
            arcs: Arcs = getattr(net, kind)
            keep = is_plain[arcs.transition]
            columns = (arcs.place, arcs.transition, arcs.weight)
            self.arcs[kind].append(np.stack(columns)[:, keep])
        self.pairs.append(net.priorities)

    def _take_group(self, members: Int[np.ndarray, " instances"]) -> None:
        """The instances of one sub-net that have as many inputs."""
        inner = self.inner[members[0]]
        some = [self.high.substitutions[member] for member in members]
        num_inputs = len(some[0].inputs)
        inputs = np.array([one.inputs for one in some], np.int64)  # (instances, inputs, 2)
        roles = np.array([(one.output, one.start, one.finish) for one in some], np.int64)
        output, start, finish = np.moveaxis(roles, 1, 0)  # each (instances, 2)
        next_place = self.first_place[members][:, None]
        next_transition = self.first_transition[members][:, None]

        places = next_place + np.arange(inner.num_places)
        transitions = next_transition + np.arange(inner.num_transitions) - 1
        transitions[:, 0] = [one.transition for one in some]
        self._put(inner, places, transitions)
        self.marking[places] = inner.marking
        next_place = next_place + inner.num_places
        next_transition = next_transition + inner.num_transitions - 1
        rows = np.arange(len(members))

        copier = copy()
        starts, finishes = [], []  # of the copies
        for number in range(num_inputs):
            ends = inputs[:, number, 0], places[rows, inputs[:, number, 1]]
            own = next_place + np.arange(NEW_PLACES_OF_COPY)
            of_copy = np.concatenate([np.stack(ends, axis=1), own], axis=1)
            self._put(copier.net, of_copy, next_transition + np.arange(NEW_TRANSITIONS_OF_COPY))
            self.marking[own] = copier.net.marking[_SHARED_BY_COPY:]
            starts.append(of_copy[:, copier.start])
            finishes.append(of_copy[:, copier.finish])
            next_place = next_place + NEW_PLACES_OF_COPY
            next_transition = next_transition + NEW_TRANSITIONS_OF_COPY

        split, join = next_transition[:, 0], next_transition[:, 0] + 1
        for at_start in starts:
            self._add("inputs", at_start, split)
        self._add("outputs", start[:, 0], split)
        self._add("inhibitors", start[:, 0], split)
        self._add("inputs", places[rows, start[:, 1]], join)
        for at_finish in finishes:
            self._add("outputs", at_finish, join)
            self._add("inhibitors", at_finish, join)

        mover = clean_move()
        of_move = (
            places[rows, output[:, 1]],
            output[:, 0],
            places[rows, finish[:, 1]],
            next_place[:, 0],
            finish[:, 0],
        )
        mover_transitions = next_transition + SPLIT_AND_JOIN + np.arange(NEW_TRANSITIONS_OF_MOVE)
        self._put(mover.net, np.stack(of_move, axis=1), mover_transitions)
        self.marking[next_place[:, 0]] = mover.net.marking[3]

    def _put(
        self,
        inner: SleptsovNet,
        places: Int[np.ndarray, "instances places"],
        transitions: Int[np.ndarray, "instances transitions"],
    ) -> None:
        """All arcs and priorities of instances of one net, at their places and transitions."""
        for kind in KINDS:
            arcs: Arcs = getattr(inner, kind)
            weights = np.broadcast_to(arcs.weight, (len(places), len(arcs)))
            columns = (places[:, arcs.place], transitions[:, arcs.transition], weights)
            self.arcs[kind].append(np.stack([np.ravel(column) for column in columns]))
        self.pairs.append(transitions[:, inner.priorities].reshape(-1, 2))

    def _add(self, kind: str, places: np.ndarray, transitions: np.ndarray) -> None:
        self.arcs[kind].append(np.stack([places, transitions, np.ones_like(places)]))

    def _names(self) -> tuple[Names, Names]:
        """Names like t2.copy1.p3 where the net has names of its own."""
        net = self.high.net
        some: Sequence[Names] = (net.place_names, net.transition_names)
        if all(isinstance(names, Numbered) for names in some):
            places = Numbered(some[0].prefix, self.num_places, some[0].first)  # type: ignore
            return places, Numbered(some[1].prefix, self.num_transitions, some[1].first)  # type: ignore
        places, transitions = list(some[0]), list(some[1])
        for one, inner in zip(self.high.substitutions, self.inner, strict=True):
            here = net.transition_name(one.transition)
            places += [f"{here}.{name}" for name in inner.place_names]
            transitions += [f"{here}.{name}" for name in tuple(inner.transition_names)[1:]]
            for number in range(1, len(one.inputs) + 1):
                places += [f"{here}.copy{number}.p{place}" for place in range(3, 7)]
                transitions += [f"{here}.copy{number}.t{t}" for t in range(1, 5)]
            places.append(f"{here}.move.p4")
            transitions += [f"{here}.split", f"{here}.join"]
            transitions += [f"{here}.move.t{t}" for t in range(1, 5)]
        return _distinct(places), _distinct(transitions)


_NO_ARCS = np.zeros((3, 0), np.int64)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with primes where one is there before."""
    seen: dict[str, None] = {}
    for name in names:
        while name in seen:
            name += "'"
        seen[name] = None
    return tuple(seen)
