"""Finite structures of states and steps, and the two questions all of checking is made of: from
where can something be reached, and what lies on a cycle."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from ...explore.strongly_connected import strong_parts


#: A set of states.
States: TypeAlias = Bool[np.ndarray, " states"]

_NOWHERE = -9999  # scipy's word for a state without a predecessor


@dataclass(frozen=True, eq=False)
class Way:
    """From where some states can be reached.

    - `found`: the states from which they can, and they themselves.
    - `following`: the next state on a shortest path there; negative for themselves.
    """

    found: States
    following: Int[np.ndarray, " states"]

    def path(self, state: int) -> list[int]:
        """A shortest path from a state, both ends included."""
        path = [state]
        while self.following[path[-1]] >= 0:
            path.append(int(self.following[path[-1]]))
        return path


@dataclass(frozen=True, eq=False)
class Structure:
    """States, each with a successor at least, but for those whose successors are not known.

    - `first_edge`, `targets`: the successors of state i are `targets[first_edge[i]:first_edge[i +
      1]]`.
    - `is_open`: the states whose successors are not known; they have none here.
    - `initial`: where all paths begin.
    """

    first_edge: Int[np.ndarray, " states_and_one"]
    targets: Int[np.ndarray, " edges"]
    is_open: States
    initial: int = 0

    @property
    def num_states(self) -> int:
        return len(self.is_open)

    @cached_property
    def steps(self) -> csr_array:
        """Which states follow which, each pair once: of several edges between two states scipy's
        search for components may never come back (1.17)."""
        size = self.num_states
        ones = np.ones(len(self.targets), bool)
        matrix = csr_array((ones, self.targets, self.first_edge), shape=(size, size), copy=True)
        matrix.sum_duplicates()  # in place
        return matrix

    @cached_property
    def sources(self) -> Int[np.ndarray, " steps"]:
        """The state that each of `steps` leaves."""
        counts = np.diff(np.asarray(self.steps.indptr))
        return np.repeat(np.arange(self.num_states, dtype=np.int32), counts)

    @cached_property
    def _reversed(self) -> tuple[Int[np.ndarray, " steps"], Int[np.ndarray, " states_and_one"]]:
        """The sources of all steps by their targets, and where those of each target begin."""
        matrix = self.steps.tocsc()
        return np.asarray(matrix.indices, np.int32), np.asarray(matrix.indptr, np.int64)

    def successors(self, state: int) -> Int[np.ndarray, " successors"]:
        return self.targets[self.first_edge[state] : self.first_edge[state + 1]]

    def way_to(self, goal: States, through: States | None = None) -> Way:
        """From where the goal can be reached, by a path through some states; all, if not given."""
        sources, begins = self._reversed
        if through is not None:
            kept = through[sources]
            counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
            sources, begins = sources[kept], counts[begins]
        found, before = search(sources, begins, goal)
        return Way(found, before)

    def path_to(self, goal: States, state: int) -> list[int] | None:
        """A shortest path from a state to the goal, both ends included; of several one whose steps
        come first. `None` if there is none."""
        order, before = breadth_first_order(self.steps, state, return_predecessors=True)
        ends = np.flatnonzero(goal[order])
        if not len(ends):
            return None
        path = [int(order[ends[0]])]
        while path[-1] != state:
            path.append(int(before[path[-1]]))
        return path[::-1]

    def after(self, states: States) -> States:
        """What can come one step after some states."""
        found = np.zeros(self.num_states, bool)
        found[self.steps.indices[states[self.sources]]] = True
        return found

    def from_on(self, states: States) -> States:
        """Some states and all that can follow. After the initial one every state can."""
        if states[self.initial]:
            return np.ones(self.num_states, bool)
        return search(self.steps.indices, self.steps.indptr, states)[0]

    def on_cycles(self, inside: States | None = None) -> States:
        """The states that lie on a cycle of some states; of all, if not given."""
        sources = self.sources
        targets = np.asarray(self.steps.indices, np.int32)
        first = np.asarray(self.steps.indptr, np.int64)
        if inside is not None:
            kept = inside[sources] & inside[targets]
            counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
            sources, targets, first = sources[kept], targets[kept], counts[first]
        size = self.num_states
        matrix = csr_array((np.ones(len(targets)), targets, first), shape=(size, size))
        _, part = strong_parts(matrix)
        on_cycle = np.bincount(part, minlength=1)[part] > 1
        on_cycle[sources[sources == targets]] = True
        return on_cycle

    def cycle(self, state: int, inside: States | None = None) -> list[int]:
        """A shortest cycle through a state that lies on one; it begins and ends with it."""
        goal = np.zeros(self.num_states, bool)
        goal[state] = True
        way = self.way_to(goal, inside)
        # The nearest successors come first: their paths are compared, each successor once.
        after = [int(s) for s in np.unique(self.successors(state)) if way.found[s]]
        if inside is not None:
            after = [s for s in after if inside[s]]
        return [state, *min((way.path(s) for s in after), key=len)]


def search(
    targets: Int[np.ndarray, " steps"], begins: Int[np.ndarray, " states_and_one"], starts: States
) -> tuple[States, Int[np.ndarray, " states"]]:
    """One search in breadth, from a state before all of the starts: what it finds, and from where
    it came; negative for the starts themselves."""
    size = len(starts)
    columns = np.concatenate([targets, np.flatnonzero(starts)])
    rows = np.append(begins, len(columns))
    steps = csr_array((np.ones(len(columns)), columns, rows), shape=(size + 1, size + 1))
    order, before = breadth_first_order(steps, size, return_predecessors=True)
    found = np.zeros(size + 1, bool)
    found[order] = True
    before[before == size] = _NOWHERE
    return found[:size], before[:size]
