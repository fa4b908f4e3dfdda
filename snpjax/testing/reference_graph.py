"""The configuration graph by the reference interpreter: a queue and a dictionary."""

from dataclasses import dataclass

from snpjax_formats.arguments import explain_arguments

from ..spiking.model.system import SpikingSystem
from .reference import Choice, Configuration, choices, initial, is_halting, step


@dataclass(frozen=True)
class ReferenceGraph:
    """Configurations in breadth-first order, successors in the order of `choices`.

    `edges` lists `(source, choice, emissions, target)`; halting configurations have none. Only the
    first `num_expanded` configurations were expanded.
    """

    configurations: tuple[Configuration, ...]
    depths: tuple[int, ...]
    edges: tuple[tuple[int, Choice, tuple[int, ...], int], ...]
    num_expanded: int


def explore(
    system: SpikingSystem, *, max_configurations: int, max_depth: int | None = None
) -> ReferenceGraph:
    """Find every reachable configuration, breadth-first.

    **Arguments:**

    - `system`: a system.
    - `max_configurations`: stop before the first configuration whose successors would exceed this
      number.
    - `max_depth`: expand only configurations at a smaller distance from the initial one; `None` for
      no limit.

    **Returns:** the graph.
    """
    found = {initial(system): 0}
    configurations, depths, edges = list(found), [0], []
    num_expanded = 0
    for number, configuration in enumerate(configurations):  # which grows meanwhile
        if max_depth is not None and depths[number] >= max_depth:
            break
        own = []
        if not is_halting(system, configuration):
            for choice in choices(system, configuration):
                after, emitted = step(system, configuration, choice)
                if after not in found:
                    found[after] = len(configurations)
                    configurations.append(after)
                    depths.append(depths[number] + 1)
                own.append((number, choice, emitted, found[after]))
                if len(configurations) > max_configurations:
                    break
        if len(configurations) > max_configurations:
            configurations.pop()
            depths.pop()
            break
        edges += own
        num_expanded = number + 1
    return ReferenceGraph(tuple(configurations), tuple(depths), tuple(edges), num_expanded)


explain_arguments(__name__)
