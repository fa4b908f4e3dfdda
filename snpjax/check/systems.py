"""Graphs of systems of neurons, for what has a meaning for these only."""

from typing import Any, TypeAlias

from ..explore import Graph
from ..spiking.model.population import PopulationSystem
from ..spiking.model.system import SpikingSystem
from ..spiking.view.configurations import Configurations, Transitions


System: TypeAlias = SpikingSystem | PopulationSystem
SpikingGraph: TypeAlias = Graph[Configurations, Transitions]


def system_of(graph: Graph[Any, Any]) -> System:
    """The system that was explored. **Raises:** `NotImplementedError` for another model."""
    system = graph.system
    if not isinstance(system, SpikingSystem | PopulationSystem):
        raise NotImplementedError(f"{system!r} is no system of neurons. Explore a system.")
    return system
