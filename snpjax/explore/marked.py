"""Paths of a configuration graph that pictures mark."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int


if TYPE_CHECKING:
    from .graph import Graph


@runtime_checkable
class ShownByPath(Protocol):
    """What a path of a graph shows, as a `Verdict` of `snpjax.check`."""

    @property
    def graph(self) -> Any: ...
    @property
    def witness(self) -> tuple[int, ...] | None: ...
    @property
    def loop(self) -> int | None: ...
    @property
    def edges(self) -> tuple[int, ...]: ...
    @property
    def computation(self) -> Any: ...


class Marked(NamedTuple):
    """A path, and the loop that it ends with.

    - `configurations`: all of both; `last`: where the path ends.
    - `edges`: those before the loop; `loop`: those of the loop.
    - `start`: where the loop begins, or -1.
    """

    configurations: list[int]
    edges: Int[np.ndarray, " before"]
    loop: Int[np.ndarray, " around"]
    start: int

    @property
    def last(self) -> int:
        return self.configurations[-1]


def marked(graph: "Graph", witness: int | ShownByPath | None) -> Marked | None:
    """The shortest path to a configuration, or the path that a verdict shows.

    **Raises:** `ValueError` for a configuration or verdict that the graph does not have, and for a
    verdict without a witness.
    """
    if witness is None:
        return None
    if isinstance(witness, int | np.integer):
        if not 0 <= witness < graph.num_configurations:
            last = graph.num_configurations - 1
            raise ValueError(f"There is no configuration {witness}: they are 0 to {last}.")
        number = int(witness)
        return Marked(graph.path_to(number), graph.edges_to(number), np.zeros(0, np.int64), -1)
    if witness.witness is None:
        raise ValueError(f"{witness!r} has no witness to draw.")
    if witness.graph is not graph or witness.computation is not None:
        raise ValueError(f"{witness!r} is not about this graph. Draw the graph that was checked.")
    edges = np.asarray(witness.edges, np.int64)
    at = len(edges) if witness.loop is None else witness.loop
    before, around = (some[some >= 0] for some in (edges[:at], edges[at:]))
    start = witness.witness[at] if len(around) else -1
    return Marked(list(witness.witness), before, around, start)
