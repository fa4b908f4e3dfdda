"""What a network that changes was like, by the names of its neurons."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool

from ..._text.counts import plural
from ..._text.lines import distinct_names
from ..model.population import AnySystem
from ..model.system import SpikingSystem
from ..step.division import GrownState
from ..step.plasticity import PlasticState


_MAX_SHOWN = 12  # neurons, and synapses, of a network as text


class Network(NamedTuple):
    """A network at one moment.

    - `labels`: of every neuron, by its number: where none divides, the names.
    - `synapses`: source, target and weight, neurons by their numbers, ascending.
    """

    labels: tuple[str, ...]
    synapses: tuple[tuple[int, int, int], ...]

    def __str__(self) -> str:
        if len(self.labels) <= _MAX_SHOWN and len(self.synapses) <= _MAX_SHOWN:
            return repr(self)
        first = ", ".join(map(repr, self.labels[:_MAX_SHOWN]))
        more = len(self.labels) - _MAX_SHOWN
        others = f", ... and {plural(more, 'more neuron')}" if more > 0 else ""
        return f"Network({first}{others}; {plural(len(self.synapses), 'synapse')})"

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every neuron: its label, with its number where several bear it."""
        return distinct_names(self.labels)


def name_of(system: AnySystem, state: Any, neuron: int) -> str:
    """The name of a neuron of one state."""
    if isinstance(state, GrownState):
        return network_of(system, state).names[neuron]
    return system.name_of(neuron)


def network_of(system: AnySystem, state: Any) -> Network:
    """The network of one state on the host, `state` being `None` where it stays as it is.

    **Raises:** `ValueError` for populations without plasticity, whose synapses are not listed.
    """
    if isinstance(state, GrownState):
        assert isinstance(system, SpikingSystem)
        labels = tuple(system.label_numbers)
        num = int(state.num)
        # A history may have more room than there was in this row: what is there ends here.
        own = slice(int(state.starts[num]))
        weights = np.ones_like(state.source) if state.weights is None else state.weights
        columns = (state.source[own], state.target[own], weights[own])
        return Network(
            tuple(labels[label] for label in np.asarray(state.labels)[:num].tolist()),
            tuple(sorted(zip(*(np.asarray(x).tolist() for x in columns), strict=True))),
        )
    if not (isinstance(system, SpikingSystem) or isinstance(state, PlasticState)):
        raise ValueError("The synapses of populations are not listed. Expand the system.")
    if isinstance(system, SpikingSystem):
        names = system.names
        synapses = [(names[s], names[t], weight) for s, t, weight in system.synapses]
    else:
        edges = system.edges.canonical()
        names = [system.name_of(i) for i in range(system.num_neurons)]
        weights = [1] * len(edges) if edges.value is None else edges.value.tolist()
        synapses = list(zip(edges.source.tolist(), edges.target.tolist(), weights, strict=True))
    if isinstance(state, PlasticState):
        plastic = system.plastic_columns
        assert plastic is not None
        synapses = [synapse for synapse in synapses if not plastic.is_plastic[synapse[0]]]
        place, number = np.nonzero(np.asarray(state.exists)[: len(plastic.targets)])
        sources, targets = plastic.neurons[number], plastic.targets[place, number]
        weights = np.ones_like(targets)
        if plastic.weights is not None:
            weights = plastic.weights[place, number]
        columns = (sources.tolist(), targets.tolist(), weights.tolist())
        synapses += list(zip(*columns, strict=True))
    return Network(tuple(names), tuple(sorted(synapses)))


def names_of_labels(system: SpikingSystem, labels: Any) -> np.ndarray:
    """The labels of the neurons of many configurations, which are last, in words and turned around;
    empty where there is no neuron."""
    names = np.asarray([*system.label_numbers, ""])
    return names[np.minimum(np.asarray(labels), len(names) - 1)].T


def has_synapse(
    system: AnySystem, state: Any, source: str, target: str, size: int
) -> Bool[np.ndarray, " configurations"]:
    """Whether there is a synapse between neurons of these names, or labels, in the networks of
    `size` states, configurations last; `state` is `None` where the network stays as it is."""
    if isinstance(state, GrownState):
        assert isinstance(system, SpikingSystem)
        labels = system.label_numbers
        numbers = np.append(np.asarray(state.labels), np.full((1, size), -1), axis=0)
        ends = (np.take_along_axis(numbers, np.asarray(x), 0) for x in (state.source, state.target))
        own = zip(ends, (source, target), strict=True)
        return np.all([end == labels.get(name, -2) for end, name in own], axis=0).any(axis=0)
    if not (isinstance(system, SpikingSystem) or isinstance(state, PlasticState)):
        raise ValueError("The synapses of populations are not listed. Expand the system.")
    edges, position = system.edges, np.arange(system.num_neurons)
    sources, targets = (np.atleast_1d(position[system.position_of(x)]) for x in (source, target))
    is_one = np.isin(edges.source, sources) & np.isin(edges.target, targets)
    if not isinstance(state, PlasticState):
        return np.full(size, is_one.any())
    plastic = system.plastic_columns
    assert plastic is not None
    place, number = np.nonzero(
        np.isin(plastic.neurons, sources) & np.isin(plastic.targets, targets)
    )
    stays = np.any(is_one & ~plastic.carries(edges))
    return stays | np.any(np.asarray(state.exists)[place, number], axis=0)


def network_history(system: AnySystem, rows: Any, num_neurons: int) -> Any:
    """All networks of the history of a batch as `Configurations.state` has them, a row of all paths
    after the other; `None` where the network stays as it is. In the end there are `num_neurons`.
    """
    if rows is None:
        return None
    state = jax.tree.map(lambda x: np.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1), rows)
    return _cut(state, system, num_neurons) if isinstance(state, GrownState) else state


def _cut(state: GrownState, system: AnySystem, num_neurons: int) -> GrownState:
    """Of this many neurons, and without what a history says where there was no room."""
    assert isinstance(system, SpikingSystem)
    slot, place = np.arange(num_neurons)[:, None], np.arange(len(state.source))[:, None]
    is_one = place < np.take_along_axis(np.asarray(state.starts), np.asarray(state.num)[None], 0)
    labels = np.where(slot < state.num, state.labels[:num_neurons], len(system.label_numbers))
    ends = (np.where(is_one, x, num_neurons) for x in (state.source, state.target))
    source, target = ends
    return GrownState(labels, source, target, state.weights, state.starts, state.num)  # pyright: ignore


def num_in_use(system: AnySystem, network: Any) -> int:
    """How many neurons there are at most, of all paths."""
    if isinstance(network, GrownState):
        return int(np.max(network.num))
    return system.num_neurons
