"""The exact system of layers."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Array, Int, Integer

from snpjax_formats.articles import kind_of

from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem
from ..arguments import check_system, whole_counts
from ..synapses.abstract import SynapseList, matches
from .abstract import LayerParts, group_of
from .sequential import Sequential


def assembled(network: Sequential) -> SpikingSystem:
    """The exact system that a network computes, see `to_system`. Parameters are rounded."""
    if any(not norm.inference for norm in network.norms):
        raise ValueError(
            "A normalisation uses the statistics of each batch, so the model is not one exact "
            "system. Update the running ones by `observed`, then export "
            "`equinox.nn.inference_mode(model)`."
        )
    parts = [layer.parts() for layer in network.layers]
    groups = {0: group_of(network.source)}
    wirings: list[tuple[int, int, SynapseList]] = []
    for number, own in enumerate(parts, 1):
        if own.neurons is None:
            continue
        groups[number] = own.neurons
        wirings.append((number - 1, number, own.synapses))
        if own.recurrent is not None:
            wirings.append((number, number, own.recurrent))
    for (start, end), skip in zip(network.places, network.skips, strict=True):
        wirings.append((start, end, skip.exact().wiring()))
    wirings = [_without_sums(parts, *wiring) for wiring in wirings]
    for start, end, _ in wirings:
        layer, most = network.layers[end - 1], groups[start].most_sent
        if problem := layer.problem(most):
            raise ValueError(
                f"Layer {end} is {kind_of(layer)}, and neurons that it reads send {most} "
                f"spikes in a step after training, but {problem} Or train without `produce`."
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
            if not weight:
                continue
            for step in range(1, delay + 1):
                relays[start, source, step] = None
            synapses.append((_name(start, source, delay), f"{end}{{{target}}}", weight))
    for p, i, step in sorted(relays):
        sent = sorted({rule.produce for rule in groups[p].rules_of(i)} - {0})
        neurons.append(Neuron(_name(p, i, step), 0, [Rule(k, k, k) for k in sent]))
        synapses.append((_name(p, i, step - 1), _name(p, i, step), 1))
    synapses = [synapse for synapse in _added(synapses) if synapse[2]]
    numbers = [neuron.spikes for neuron in neurons] + [weight for *_, weight in synapses]
    last = len(network.layers)
    return SpikingSystem(
        neurons,
        synapses,
        output=[f"{last}{{{i}}}" for i in range(groups[last].size)],
        signed=min(numbers) < 0,
    )


def initial_configuration(
    system: SpikingSystem, counts: Integer[Array | np.ndarray, "inputs *paths"]
) -> Int[np.ndarray, "neurons *paths"]:
    """The initial configuration of an exported network with other inputs, as `replay` takes it.

    **Arguments:**

    - `system`: `to_system` of a network.
    - `counts`: `(inputs,)` or `(inputs, paths)` initial spikes of the first neurons, the inputs.

    **Returns:** `(neurons, *paths)` spikes; neurons other than the inputs have those of the system.

    **Raises:** `ValueError` for more inputs than there are neurons, and for counts that are not
    whole numbers of 0 or more.
    """
    check_system(system)
    given = whole_counts(counts, "counts")
    if not 1 <= given.ndim <= 2 or len(given) > system.num_neurons:
        raise ValueError(
            f"`counts` has the shape {given.shape}, and the system {system.num_neurons} neurons. "
            "Give (inputs,) or (inputs, paths)."
        )
    own = np.asarray([neuron.spikes for neuron in system.neurons], int)
    own = np.broadcast_to(own.reshape(-1, *(1,) * (given.ndim - 1)), (len(own), *given.shape[1:]))
    return np.concatenate([given, own[len(given) :]])


def _without_sums(
    parts: list[LayerParts], start: int, end: int, wiring: SynapseList
) -> tuple[int, int, SynapseList]:
    """The synapses from the neurons that a sum adds, instead of those from the sum."""
    while start > 0 and parts[start - 1].neurons is None:
        source, window, *_ = parts[start - 1].synapses
        number, pair = matches(window, wiring.source)
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
