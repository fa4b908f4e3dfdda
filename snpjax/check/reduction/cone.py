"""What a query reads, and what influences it: a smaller model."""

import warnings

import numpy as np
from jaxtyping import Bool

from ..._text.model_warning import ModelWarning
from ...sleptsov.model.arcs import Arcs
from ...sleptsov.model.net import SleptsovNet
from ...spiking.model.system import SpikingSystem
from .net_relations import NetRelations


def neurons_in_cone(system: SpikingSystem, names: set[str]) -> Bool[np.ndarray, " neurons"]:
    """The neurons of these names, and those with a path of synapses to one of them."""
    before: dict[str, list[str]] = {neuron.name: [] for neuron in system.neurons}
    for synapse in system.synapses:
        before[synapse.target].append(synapse.source)
    found, waiting = set(names), list(names)
    while waiting:
        new = set(before[waiting.pop()]) - found
        found |= new
        waiting.extend(new)
    return np.asarray([neuron.name in found for neuron in system.neurons])


def system_of_cone(system: SpikingSystem, kept: Bool[np.ndarray, " neurons"]) -> SpikingSystem:
    """The system without other neurons."""
    neurons = [neuron for neuron, is_kept in zip(system.neurons, kept, strict=True) if is_kept]
    names = {neuron.name for neuron in neurons}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said of the system itself
        return system.replace(
            neurons=neurons,
            synapses=[s for s in system.synapses if s.source in names and s.target in names],
            input={name: train for name, train in system.input.items() if name in names},
            output=[name for name in system.output if name in names],
            notes={},
        )


def places_in_cone(net: SleptsovNet, names: set[str]) -> Bool[np.ndarray, " places"]:
    """The places of these names, and those that a transition needs that changes one of them."""
    kept = np.isin(np.arange(net.num_places), [net.place(name) for name in names])
    relations = NetRelations.of(net)
    needs = np.zeros((net.num_transitions, net.num_places), bool)
    for arcs in (net.inputs, net.tests, net.inhibitors):
        needs[arcs.transition, arcs.place] = True
    while True:
        changing = np.any(relations.effect[:, kept] != 0, axis=1)
        more = kept | np.any(needs[changing], axis=0)
        if np.array_equal(more, kept):
            return kept
        kept = more


def net_of_cone(net: SleptsovNet, kept: Bool[np.ndarray, " places"]) -> SleptsovNet:
    """The net of these places and the transitions that change them."""
    changing = np.any(NetRelations.of(net).effect[:, kept] != 0, axis=1)
    of_place, of_transition = np.cumsum(kept) - 1, np.cumsum(changing) - 1

    def within(arcs: Arcs) -> Arcs:
        own = kept[arcs.place] & changing[arcs.transition]
        place, transition = of_place[arcs.place[own]], of_transition[arcs.transition[own]]
        return Arcs(place, transition, arcs.weight[own])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said of the net itself
        return SleptsovNet(
            net.marking[kept],
            inputs=within(net.inputs),
            outputs=within(net.outputs),
            inhibitors=within(net.inhibitors),
            tests=within(net.tests),
            num_transitions=int(changing.sum()),
            place_names=[net.place_name(p) for p in np.flatnonzero(kept).tolist()],
            transition_names=[net.transition_name(t) for t in np.flatnonzero(changing).tolist()],
            name=net.name,
            rule=net.rule,
        )
