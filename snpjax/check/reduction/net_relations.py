"""Which transitions of a net disturb each other, as tables on the host."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Int

from ...sleptsov.model.net import SleptsovNet


@dataclass(frozen=True, eq=False)
class NetRelations:
    """What transitions need, what they change, and whom they disturb.

    - `effect`: the tokens that a firing adds to each place.
    - `disturbs`: pairs of transitions of which one may disable the other.
    - `place`, `flip`, `bound`: the conditions of each transition, in slots: the place has
      `tokens ^ flip >= bound`. Slots that few transitions can satisfy come first; padding is
      satisfied by anything.
    - `repairs`: which transitions can make a condition true that is false.
    """

    effect: Int[np.ndarray, "transitions places"]
    disturbs: Bool[np.ndarray, "transitions transitions"]
    place: Int[np.ndarray, "slots transitions"]
    flip: Int[np.ndarray, "slots transitions"]
    bound: Int[np.ndarray, "slots transitions"]
    repairs: Bool[np.ndarray, "slots transitions transitions"]

    @classmethod
    def of(cls, net: SleptsovNet) -> "NetRelations":
        """Of a net of which transitions fire once."""
        shape = (net.num_transitions, net.num_places)
        effect, low, high = (np.zeros(shape, np.int64) for _ in range(3))
        np.add.at(effect, (net.outputs.transition, net.outputs.place), net.outputs.weight)
        np.subtract.at(effect, (net.inputs.transition, net.inputs.place), net.inputs.weight)
        for arcs in (net.inputs, net.tests):
            np.maximum.at(low, (arcs.transition, arcs.place), arcs.weight)
        for arcs in (net.inhibitors,):
            np.maximum.at(high, (arcs.transition, arcs.place), 1)
        adds, takes = effect > 0, effect < 0
        disables = takes @ (low > 0).T | adds @ (high > 0).T
        disturbs = disables | disables.T
        np.fill_diagonal(disturbs, False)
        some: list[list[tuple[int, int, int]]] = [[] for _ in range(net.num_transitions)]
        for arcs, sign in ((net.inputs, 1), (net.tests, 1), (net.inhibitors, -1)):
            for place, transition, weight in arcs.triples():
                some[transition].append((place, 0 if sign > 0 else -1, sign * weight))
        slots = max([1, *map(len, some)])
        place, flip, bound = (np.zeros((slots, len(some)), np.int64) for _ in range(3))
        bound[:] = np.iinfo(np.int32).min
        repairs = np.zeros((slots, len(some), len(some)), bool)
        for transition, conditions in enumerate(some):
            conditions.sort(key=lambda x: np.sum((adds if x[1] == 0 else takes)[:, x[0]]))
            for slot, (at, turned, least) in enumerate(conditions):
                place[slot, transition] = at
                flip[slot, transition] = turned
                bound[slot, transition] = least
                repairs[slot, transition] = (adds if turned == 0 else takes)[:, at]
        return cls(effect, disturbs, place, flip, bound, repairs)


def breakers_of_cycles(
    effect: Int[np.ndarray, "transitions places"], free: Bool[np.ndarray, " transitions"]
) -> Bool[np.ndarray, " transitions"]:
    """Transitions of which every cycle of markings fires one: those of `free`, and as many more as
    are needed.

    What is left has a linear function of the markings that each firing increases, so that no cycle
    consists of it alone. The function comes from a linear program and is checked with integers; a
    transition of which that fails is added.
    """
    chosen = free.copy()
    while not chosen.all():
        left = np.flatnonzero(~chosen)
        potential, cycle = _potential(effect[left])
        if potential is not None:
            increases = [
                sum(int(x) * y for x, y in zip(row, potential, strict=True)) >= 1
                for row in effect[left].tolist()
            ]
            if all(increases):
                break
            chosen[left[np.flatnonzero(~np.asarray(increases))]] = True
        elif cycle is not None and cycle.any():
            chosen[left[np.argmax(cycle)]] = True
        else:
            chosen[:] = True
    return chosen


def _potential(
    effect: Int[np.ndarray, "transitions places"],
) -> tuple[list[Fraction] | None, Int[np.ndarray, " transitions"] | None]:
    """Weights of places whose sum each transition increases by 1 or more, or else how often each
    transition fires in a cycle. Neither is exact."""
    from scipy.optimize import linprog  # takes long to import

    num, places = effect.shape
    ones = np.ones(num)
    found = linprog(np.zeros(places), -effect, -ones, bounds=(None, None)) if places else None
    if found is not None and found.success:
        return [Fraction(float(x)).limit_denominator(10**6) for x in found.x], None
    # By Gordan's theorem there are firings that change nothing.
    total = np.vstack([effect.T, np.ones((1, num))])
    cycle = linprog(np.zeros(num), A_eq=total, b_eq=[*np.zeros(places), 1.0], bounds=(0, None))
    return None, np.asarray(cycle.x > 1e-9, np.int64) if cycle.success else None
