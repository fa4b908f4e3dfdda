"""Deterministic parity automata for generalised Büchi automata, made as far as they are needed."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from .automaton import MAX_STATES, Automaton, TooLarge
from .kripke import States, Structure
from .labels import Labelling


#: A state of the Büchi automaton, and which mark is awaited there.
_Awaiting: TypeAlias = tuple[int, int]
#: From the root of a Safra tree down to the last node that has a state. Nodes are numbered by age,
#: the oldest first.
_Nodes: TypeAlias = tuple[int, ...]
#: The states that the Büchi automaton may be in.
_Tree: TypeAlias = tuple[tuple[_Awaiting, _Nodes], ...]

#: The tree from which all is accepted, and that from which nothing is.
_ACCEPTED: _Tree = (((-1, 0), ()),)
_REJECTED: _Tree = ()
#: The colour of a step in which nothing happens: an even number above all others.
_NO_EVENT = 2**30


class ParityProduct(NamedTuple):
    """States of a structure, each paired with a state of a deterministic automaton that reads it. A
    path is accepted if the least colour that it has infinitely often is odd.

    - `first`: where the pairs of each state of the automaton begin. They are sorted.
    - `state`, `own`: of each pair.
    - `following`: the state of the automaton after it.
    - `colour`: of all steps that leave a pair.
    - `is_accepted`, `is_rejected`: whether that is so whatever follows the state.
    """

    first: Int[np.ndarray, " automaton_states_and_one"]
    state: Int[np.ndarray, " pairs"]
    own: Int[np.ndarray, " pairs"]
    following: Int[np.ndarray, " pairs"]
    colour: Int[np.ndarray, " pairs"]
    is_accepted: States
    is_rejected: States

    def number(
        self, own: Int[np.ndarray, " some"], states: Int[np.ndarray, " some"]
    ) -> Int[np.ndarray, " some"]:
        """The numbers of some pairs."""
        size = int(max(self.state.max(), states.max(initial=0))) + 1
        return np.searchsorted(self.own * size + self.state, own * size + states)


def parity_product(
    structure: Structure, automaton: Automaton, labels: Labelling, *, may: bool
) -> ParityProduct:
    """The pairs that can come after the initial state, which is in the first state of the
    automaton.

    - `may`: conditions that may hold do; otherwise those that surely hold.

    **Raises:** `TooLarge` if the deterministic automaton has too many states.

    ??? cite "Source"
        Safra 1988, On the complexity of omega-automata; Piterman 2007, From nondeterministic Büchi
        and Streett automata to deterministic parity automata. Differs from it in: conditions and
        marks are those of transitions, so that nodes are made by steps that end a round of marks.
    """
    determinised = _Determinised(automaton)
    some = [labels.where(condition, may=may) for condition in determinised.conditions]
    table = np.asarray(some, bool).reshape(len(some), structure.num_states).T
    letters, letter = np.unique(table, axis=0, return_inverse=True)
    letter = letter.reshape(-1)
    trees = [determinised.initial]
    numbers = {determinised.initial: 0}
    paired = [np.arange(structure.num_states) == structure.initial]
    steps: dict[tuple[int, int], tuple[int, int]] = {}
    changed = {0}
    while changed:
        number = changed.pop()
        if trees[number] in (_ACCEPTED, _REJECTED):
            continue
        for one in np.unique(letter[paired[number]]).tolist():
            if (number, one) not in steps:
                tree, colour = determinised.step(trees[number], letters[one])
                if tree not in numbers:
                    numbers[tree] = len(trees)
                    trees.append(tree)
                    paired.append(np.zeros(structure.num_states, bool))
                if len(trees) > MAX_STATES:
                    raise TooLarge
                steps[number, one] = numbers[tree], colour
            target = steps[number, one][0]
            more = structure.after(paired[number] & (letter == one))
            if np.any(more & ~paired[target]):
                paired[target] = paired[target] | more
                changed.add(target)
    states = [np.flatnonzero(where) for where in paired]
    first = np.cumsum([0, *map(len, states)])
    state, own = np.concatenate(states), np.repeat(np.arange(len(trees)), np.diff(first))
    found = [
        steps.get(key, (key[0], _NO_EVENT))
        for key in zip(own.tolist(), letter[state].tolist(), strict=True)
    ]
    following, colour = np.asarray(found, np.int64).T
    accepted, rejected = (
        np.asarray([tree == other for tree in trees])[following] for other in (_ACCEPTED, _REJECTED)
    )
    return ParityProduct(first, state, own, following, colour, accepted, rejected)


class _Determinised:
    """The steps of the deterministic automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        some = (x for own in automaton.transitions for step in own for x in step.conditions)
        self.conditions = tuple(dict.fromkeys((*some, *automaton.recurring)))
        self.number = {condition: i for i, condition in enumerate(self.conditions)}
        self.initial: _Tree = _ACCEPTED if automaton.done == 0 else (((0, 0), (0,)),)

    def step(self, tree: _Tree, letter: np.ndarray) -> tuple[_Tree, int]:
        """The next tree, and the colour of the step: 2 n if the node n ends and nothing happens to
        an older one, 2 n + 1 if all states of node n have come to a mark since the last time."""
        num_old = 1 + max(node for _, nodes in tree for node in nodes)
        children: dict[_Nodes, _Nodes] = {}
        found: dict[_Awaiting, _Nodes] = {}
        for own, nodes in tree:
            for target, ends_round in self._after(own, letter):
                if target[0] == self.automaton.done:
                    return _ACCEPTED, _NO_EVENT
                after = nodes
                if ends_round:
                    after = children.setdefault(nodes, (*nodes, num_old + len(children)))
                known = found.get(target)
                if known is None or _precedence(after) < _precedence(known):
                    found[target] = after
        left = {node for nodes in found.values() for node in nodes}
        complete = left - {nodes[-1] for nodes in found.values()}
        colours = [2 * node + 1 for node in complete]
        colours += [2 * node for node in range(num_old) if node not in left]
        found = {target: _up_to(nodes, complete) for target, nodes in found.items()}
        rank = {
            node: i for i, node in enumerate(sorted({x for own in found.values() for x in own}))
        }
        renumbered = ((x, tuple(rank[node] for node in nodes)) for x, nodes in found.items())
        return tuple(sorted(renumbered)), min(colours, default=_NO_EVENT)

    def _after(self, own: _Awaiting, letter: np.ndarray) -> Iterator[tuple[_Awaiting, bool]]:
        """What follows a state, and whether all marks have come one after the other."""
        automaton, (state, awaited) = self.automaton, own
        recurring = {
            mark
            for mark, condition in enumerate(automaton.recurring, automaton.num_promises)
            if letter[self.number[condition]]
        }
        for transition in automaton.transitions[state]:
            if all(letter[self.number[condition]] for condition in transition.conditions):
                marks = transition.marks | recurring
                come = self._come(awaited, marks)
                ends_round = come == automaton.num_marks
                if ends_round:
                    come = self._come(0, marks) % max(automaton.num_marks, 1)
                yield (transition.target, come), ends_round

    def _come(self, awaited: int, marks: frozenset[int]) -> int:
        while awaited in marks:
            awaited += 1
        return awaited


def _precedence(nodes: _Nodes) -> tuple[float, ...]:
    """Older nodes come first, and those further down."""
    return *nodes, np.inf


def _up_to(nodes: _Nodes, complete: set[int]) -> _Nodes:
    """The nodes up to the first complete one."""
    ends = [i for i, node in enumerate(nodes) if node in complete]
    return nodes[: ends[0] + 1] if ends else nodes
