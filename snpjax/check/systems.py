"""Graphs of systems of neurons, for what has a meaning for these only."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int

from ..explore import Graph
from ..sleptsov.model.net import AbstractRunnableNet
from ..spiking.model.lookup import position_of
from ..spiking.model.population import AnySystem
from ..spiking.view.configurations import Configurations, Transitions


SpikingGraph: TypeAlias = Graph[Configurations, Transitions]


def system_of(graph: Graph[Any, Any]) -> AnySystem:
    """The system that was explored. **Raises:** `NotImplementedError` for another model."""
    system = graph.system
    if not isinstance(system, AnySystem):
        raise NotImplementedError(f"{system!r} is no system of neurons. Explore a system.")
    return system


def refuse_nets(call: str, subject: object, instead: str = "") -> None:
    """**Raises:** `TypeError` for a net, or the graph of one, that says what to use for it."""
    model = subject.system if isinstance(subject, Graph) else subject
    if isinstance(model, AbstractRunnableNet):
        use = f"{instead} `snpjax.check.coverability`, which finds what is bounded, and what not"
        raise TypeError(f"`{call}` is for systems of neurons, not for nets. Use {use.strip()}.")


def positions(system: AnySystem, names: Sequence[str]) -> Int[np.ndarray, " neurons"]:
    """Where the neurons of these names stand, all of a population's."""
    numbers = np.arange(system.num_neurons)
    some = [np.atleast_1d(numbers[position_of(system, name)]) for name in names]
    return np.concatenate([np.zeros(0, np.int64), *some])
