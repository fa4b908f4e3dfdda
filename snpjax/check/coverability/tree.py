"""The tree of Karp and Miller, for any model that makes steps between vectors of counts."""

import abc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool


#: A count that can be made as large as one likes.
OMEGA = int(np.iinfo(np.int64).max)

Counts: TypeAlias = tuple[int, ...]


class AbstractSteps(abc.ABC):
    """A model whose larger configurations can do whatever smaller ones can.

    - `initial`: the counts, then whatever else a configuration has.
    - `may_grow`: the columns in which a configuration may be larger than one that it covers; the
      others must be equal.
    """

    initial: Counts
    may_grow: Bool[np.ndarray, " columns"]

    @abc.abstractmethod
    def successors(self, counts: Counts) -> Iterator[tuple[Any, Counts]]:
        """Every action and what it leads to; `OMEGA` in a column stays there."""

    @abc.abstractmethod
    def taken(self, counts: Counts, action: Any) -> dict[int, int]:
        """By column, how many of the `OMEGA` counts an action needs; it takes no more than that."""

    @abc.abstractmethod
    def can_repeat(self, path: list[Counts], actions: list[Any], grows: list[int]) -> bool:
        """Whether the actions from the first configuration of a path to the last can be repeated
        for ever, and make the columns `grows` as large as one likes."""


@dataclass(eq=False)
class Node:
    """A configuration with `OMEGA`s.

    - `parent`, `action`: how it is reached; `None` for the root.
    - `accelerated`: the ancestors whose paths to here can be repeated, and which columns grow by
      how much each time.
    """

    counts: Counts
    parent: "Node | None" = None
    action: Any = None
    accelerated: list[tuple["Node", dict[int, int]]] = field(default_factory=list)

    def ancestors(self) -> Iterator["Node"]:
        """From the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


class Tree:
    """The expanded nodes. If `is_complete`, one of them covers each reachable configuration.

    A node is not expanded if an expanded one covers it: that does all that this one can do.

    ??? cite "Source"
        Karp, Miller 1969. Pruning by expanded nodes only, and none is removed, so that the
        incompleteness of the minimal coverability tree (Geeraerts, Raskin, Van Begin 2010) does not
        arise.
    """

    def __init__(self, steps: AbstractSteps, max_nodes: int, seconds: float | None):
        self.steps = steps
        self.nodes: list[Node] = []
        self._table = np.zeros((1024, len(steps.initial)), np.int64)
        self.is_complete = True
        self.reason = ""
        until = None if seconds is None else time.monotonic() + seconds
        waiting = [Node(steps.initial)]
        try:
            while waiting:
                if len(self.nodes) >= max_nodes:
                    self._stop(f"max_nodes={max_nodes} were expanded")
                    break
                if until is not None and self.nodes and time.monotonic() > until:
                    self._stop(f"{seconds:g} seconds have passed")
                    break
                self._expand(waiting.pop(), waiting)
        except KeyboardInterrupt:
            self._stop("it was interrupted")

    def _stop(self, reason: str) -> None:
        self.is_complete, self.reason = False, reason

    def covering(self, counts: Counts) -> Node | None:
        """An expanded node that covers a configuration."""
        own, seen = np.array(counts), self._table[: len(self.nodes)]
        may_grow = self.steps.may_grow
        is_one = (seen[:, may_grow] >= own[may_grow]).all(axis=1)
        is_one &= (seen[:, ~may_grow] == own[~may_grow]).all(axis=1)
        return self.nodes[int(is_one.argmax())] if is_one.any() else None

    def _expand(self, node: Node, waiting: list[Node]) -> None:
        if self.covering(node.counts) is not None:
            return
        if len(self.nodes) == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[len(self.nodes)] = node.counts
        self.nodes.append(node)
        for action, counts in self.steps.successors(node.counts):
            child = Node(counts, node, action)
            self._accelerate(child)
            waiting.append(child)

    def _accelerate(self, node: Node) -> None:
        """Write `OMEGA` where the way from an ancestor can be repeated and adds to the counts."""
        may_grow = self.steps.may_grow
        path, actions = [node.counts], []
        step = node
        for ancestor in node.ancestors():
            actions.insert(0, step.action)
            path.insert(0, ancestor.counts)
            step = ancestor
            triples = list(zip(ancestor.counts, node.counts, may_grow, strict=True))
            if any(a > b or (a != b and not grows) for a, b, grows in triples):
                continue
            more = {i: b - a for i, (a, b, _) in enumerate(triples) if a < b != OMEGA}
            if more and self.steps.can_repeat([*path[:-1], node.counts], actions, list(more)):
                node.accelerated.append((ancestor, more))
                node.counts = tuple(
                    OMEGA if column in more else count for column, count in enumerate(node.counts)
                )
