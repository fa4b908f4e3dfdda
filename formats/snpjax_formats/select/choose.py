"""The one function that chooses a layout where none is named."""

from functools import cache

from ..edges import Edges
from ..ell import ELL
from ..free_memory import free_bytes
from ..stored import SMALL
from .decision import AbstractChooser, Decision, Question
from .device import device_of
from .heuristic import SMALL_ON_CPU, StartingTree, small_on_cpu
from .workload import Workload


def choose(
    edges: Edges,
    *,
    max_input: int | None = None,
    device: str | None = None,
    many_paths: bool = False,
    workload: Workload | None = None,
    chooser: AbstractChooser | None = None,
) -> Decision:
    """Choose the layout for products with a graph: the same for the same graph, workload and
    device.

    **Arguments:**

    - `edges`: the edges of the graph.
    - `max_input`: the largest value that will be delivered, if it is known; 1 allows layouts of
      bits. Ignored if `workload` is given, which contains it.
    - `device`: `"cpu"` or `"gpu"`; by default JAX's own.
    - `many_paths`: whether many vectors will be multiplied at once.
    - `workload`: what is multiplied; by default one vector of integers.
    - `chooser`: who decides. By default rules decide on small graphs, of up to 512 nodes a side on
      CPUs and 256 on GPUs, without reading a model; larger ones are left to `Learned`, or to
      `StartingTree` beyond what its model was trained on. Nothing is measured except by `Measured`.

    **Returns:** a `Decision`: the layout and the reasons for it.

    **Raises:** `NotEnoughMemory` if no layout fits, with the bytes that each would need.
    """
    edges = edges.canonical()
    workload = workload or Workload(max_input=max_input)
    of, kind = device_of(device)
    question = Question(edges, workload, of, kind, free_bytes())
    if chooser is not None:
        return chooser.decide(question)
    size = max(edges.num_sources, edges.num_targets)
    if size <= SMALL_ON_CPU and of == "cpu":
        return Decision(*small_on_cpu(question, many_paths=many_paths), question)
    if size <= SMALL and not many_paths:
        return Decision(ELL, "a small graph", question)
    if many_paths:
        return StartingTree(many_paths=True).decide(question)
    return _learned().decide(question)


@cache
def _learned() -> AbstractChooser:
    """Imported when it is needed: systems of a few neurons should not read a model."""
    from .learned import Learned

    return Learned()
