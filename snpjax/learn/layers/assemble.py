"""The exact system of layers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int, Integer

from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..exact_rules import rules_of_neurons
from ..layer import SpikingLayer
from ..relaxed import constants_of
from .pooling import MaxPool, SumPool
from .population import SpikingPopulation
from .sequential import Layer, Sequential, population_of
from .spiking import AbstractSpikingLayer
from .synapses import SynapseList


class _Group(NamedTuple):
    """The neurons of a population: initial spikes and rules of each channel, in order."""

    spikes: list[int]
    rules: list[list[Rule]]
    copies: int

    @property
    def size(self) -> int:
        return len(self.spikes) * self.copies

    def rules_of(self, neuron: int) -> list[Rule]:
        return self.rules[neuron // self.copies]


def assembled(network: Sequential) -> SpikingSystem:
    """The exact system that a network computes, see `to_system`. Parameters are rounded."""
    if any(not norm.inference for norm in network.norms):
        raise ValueError(
            "A normalisation uses the statistics of each batch, so the model is not one exact "
            "system. Update the running ones by `observed`, then export "
            "`equinox.nn.inference_mode(model)`."
        )
    groups: dict[int, _Group] = {0: _group(network.source)}
    wirings: list[tuple[int, int, SynapseList]] = []
    for number, layer in enumerate(network.layers, 1):
        if isinstance(layer, SumPool):
            continue
        groups[number], found = _parts(layer)
        wirings += [(number if own else number - 1, number, wiring) for own, wiring in found]
    for (start, end), skip in zip(network.places, network.skips, strict=True):
        wirings.append((start, end, skip.exact().wiring()))
    wirings = [_without_sums(network, *wiring) for wiring in wirings]
    for start, end, _ in wirings:
        layer = network.layers[end - 1]
        most = max((r.produce for rules in groups[start].rules for r in rules), default=0)
        if isinstance(layer, MaxPool) and most > 1:
            raise ValueError(
                f"Layer {end} is a MaxPool, but neurons that it reads send {most} spikes in a "
                "step. Train the model without `produce`."
            )
    neurons = [
        Neuron(f"{p}{{{i}}}", group.spikes[i // group.copies], group.rules_of(i))
        for p, group in groups.items()
        for i in range(group.size)
    ]
    relays: dict[tuple[int, int, int], None] = {}
    synapses: list[tuple[str, str, int]] = []
    for start, end, wiring in wirings:
        for source, target, weight, delay in zip(*map(np.ndarray.tolist, wiring), strict=True):
            for step in range(1, delay + 1):
                relays[start, source, step] = None
            synapses.append((_name(start, source, delay), f"{end}{{{target}}}", weight))
    for p, i, step in sorted(relays):
        sent = sorted({rule.produce for rule in groups[p].rules_of(i)} - {0})
        neurons.append(Neuron(_name(p, i, step), 0, [Rule(k, k, k) for k in sent]))
        synapses.append((_name(p, i, step - 1), _name(p, i, step), 1))
    last = len(network.layers)
    return SpikingSystem(
        neurons,
        [synapse for synapse in _added(synapses) if synapse[2]],
        output=[f"{last}{{{i}}}" for i in range(groups[last].size)],
        signed=True,
    )


def initial_spikes(
    system: SpikingSystem, counts: Integer[Array | np.ndarray, "inputs *paths"]
) -> Int[np.ndarray, "neurons *paths"]:
    """The initial configuration of an exported network with other inputs, as `replay` takes it.

    **Arguments:**

    - `system`: `to_system` of a network.
    - `counts`: `(inputs,)` or `(inputs, paths)` initial spikes of the first neurons, the inputs.

    **Returns:** `(neurons, *paths)` spikes; neurons other than the inputs have those of the system.

    **Raises:** `ValueError` for more inputs than there are neurons.
    """
    given = np.asarray(counts)
    if not 1 <= given.ndim <= 2 or len(given) > system.num_neurons:
        raise ValueError(
            f"`counts` has the shape {given.shape}, and the system {system.num_neurons} neurons. "
            "Give (inputs,) or (inputs, paths)."
        )
    own = np.asarray([neuron.spikes for neuron in system.neurons], int)
    own = np.broadcast_to(own.reshape(-1, *(1,) * (given.ndim - 1)), (len(own), *given.shape[1:]))
    return np.concatenate([given.astype(int), own[len(given) :]])


def inexact_parts(network: Sequential) -> Iterator[tuple[str, Array]]:
    """The parameters that an export rounds beside those of populations, and which they are."""
    for number, layer in enumerate(network.layers, 1):
        if not isinstance(layer, AbstractSpikingLayer):
            continue
        synapses, offset = layer.synapses, None
        if layer.norm is not None:
            synapses, offset = layer.norm.folded(synapses, layer.norm.running)
            yield f"the initial spikes of layer {number} from its norm", offset
        yield f"the weights of layer {number}", synapses.weight
        if layer.recurrent is not None:
            yield f"the recurrent weights of layer {number}", layer.recurrent.weight
    for place, synapses in zip(network.places, network.skips, strict=True):
        yield f"the weights of the skip {place}", synapses.weight


def populations(network: Sequential) -> Iterator[tuple[str, SpikingPopulation]]:
    """Each population with parameters of its own, and which layer it is of."""
    yield "the inputs", network.source
    for number, layer in enumerate(network.layers, 1):
        match layer:
            case AbstractSpikingLayer():
                yield f"layer {number}", layer.neurons
            case SpikingLayer():
                yield f"layer {number}", population_of(layer)
            case _:
                pass


def _parts(layer: Layer) -> tuple[_Group, list[tuple[bool, SynapseList]]]:
    """The neurons of a layer and the synapses to them, each with whether they are recurrent."""
    match layer:
        case AbstractSpikingLayer():
            drive = None if layer.norm is None else layer.norm.running
            synapses, offset, recurrent = layer.exact(drive)
            found = [(False, synapses.wiring())]
            if recurrent is not None:
                found.append((True, recurrent.wiring()))
            return _group(layer.neurons, offset), found
        case MaxPool():
            source, target = layer.windows.pairs()
            wiring = SynapseList(source, target, np.ones_like(source), np.zeros_like(source))
            size = layer.windows.out_size
            return _Group([0], [list(layer.rules)], size), [(False, wiring)]
        case SpikingLayer():
            place = layer.place
            edges = constants_of(layer.model).synapses.edges()
            weight = np.ones(len(edges)) if edges.value is None else np.asarray(edges.value)
            none = np.zeros(len(edges), int)
            wiring = SynapseList(edges.source, edges.target - place.start, weight.astype(int), none)
            return _group(population_of(layer)), [(False, wiring)]
        case _:
            raise AssertionError("a sum has no neurons")


def _group(population: SpikingPopulation, offset: Array | None = None) -> _Group:
    constants, initial = population.constants(offset)
    own = slice(population.start, population.start + population.channels)
    rules = rules_of_neurons(population.model, constants)[own]
    return _Group(np.asarray(initial).astype(int).tolist(), rules, population.copies)


def _without_sums(
    network: Sequential, start: int, end: int, wiring: SynapseList
) -> tuple[int, int, SynapseList]:
    """The synapses from the neurons that a sum adds, instead of those from the sum."""
    while start > 0 and isinstance(layer := network.layers[start - 1], SumPool):
        source, window = layer.windows.pairs()
        order = np.argsort(window, kind="stable")
        count = np.bincount(window, minlength=layer.windows.out_size)
        begin = np.cumsum(count) - count
        number = np.repeat(np.arange(len(wiring.source)), count[wiring.source])
        within = np.arange(len(number)) - np.repeat(
            np.cumsum(count[wiring.source]) - count[wiring.source], count[wiring.source]
        )
        pair = order[begin[wiring.source[number]] + within]
        wiring = SynapseList(
            source[pair], wiring.target[number], wiring.weight[number], wiring.delay[number]
        )
        start -= 1
    return start, end, wiring


def _name(population: int, neuron: int, step: int) -> str:
    """The neuron whose spikes are those that a neuron sent some steps ago."""
    return f"{population}d{{{neuron},{step}}}" if step else f"{population}{{{neuron}}}"


def _added(synapses: list[tuple[str, str, int]]) -> Iterator[tuple[str, str, int]]:
    """Parallel synapses as one."""
    total: dict[tuple[str, str], int] = {}
    for source, target, weight in synapses:
        total[source, target] = total.get((source, target), 0) + weight
    for (source, target), weight in total.items():
        yield source, target, weight
