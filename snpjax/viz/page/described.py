"""Systems and their networks as values of JSON, for the page."""

import re
from typing import Any, TypeAlias

import numpy as np

from ...spiking import Astrocytes, Channels, Network, SpikingSystem, SynapseDelays, SynapseRules
from ...spiking.view.picture import given_positions
from ...spiking.view.run_text import label_rules


Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

#: Integers up to here are exact in the numbers of a browser; larger ones are texts.
_EXACT = 2**53 - 1


def exact(count: int) -> int | str:
    """A count that a browser does not round."""
    return count if abs(count) <= _EXACT else str(count)


def system_json(system: SpikingSystem) -> dict[str, Any]:
    """A system as the page draws it: what stays as it is while it runs, or how it begins.

    Neurons are numbered; `rules` are the texts of a label's rules, which are those of a neuron of
    that name unless neurons divide or bud. Rules on synapses stand at their synapse.
    """
    places = {neuron.name: index for index, neuron in enumerate(system.neurons)}
    (rules, on_synapses), positions = _rules(system), given_positions(system)
    return {
        "kind": "system",
        "name": system.name,
        "neurons": [
            {"name": neuron.name, "label": neuron.label, "spikes": exact(neuron.spikes)}
            for neuron in system.neurons
        ],
        "rules": rules,
        "synapses": [
            [places[s], places[t], exact(weight), on_synapses.get((s, t), [])]
            for s, t, weight in system.synapses
        ],
        "environment": [[places[s], texts] for (s, t), texts in on_synapses.items() if t is None],
        "delays": _delays(system),
        "input": {name: [exact(x) for x in train] for name, train in system.input.items()},
        "output": list(system.output),
        "astrocytes": _astrocytes(system),
        "positions": None if positions is None else positions.tolist(),
        "remarks": _remarks(system),
        "hasSynapseRules": isinstance(system.variant, SynapseRules),
        "grows": system.is_growing,
        "changes": system.changes_network,
    }


def network_json(network: Network) -> dict[str, Any]:
    """The neurons and synapses of one moment."""
    return {
        "names": list(network.names),
        "labels": list(network.labels),
        "synapses": [[s, t, exact(weight), []] for s, t, weight in network.synapses],
    }


def listed(values: np.ndarray) -> list[list[int | str]]:
    """What is 0 in most neurons, by neuron: `[neuron, value]`."""
    return [[i, exact(x)] for i, x in enumerate(values.tolist()) if x]


def _rules(
    system: SpikingSystem,
) -> tuple[dict[str, list[str]], dict[tuple[str, str | None], list[str]]]:
    """The texts of the rules of every label, and of what stands on synapses by their ends: rules or
    channels."""
    if isinstance(system.variant, SynapseRules):
        return {}, {ends: [str(rule) for rule in rules] for ends, rules in system.variant.rules}
    own = {
        neuron.label: [system.rule_text(i, r) for r in range(len(neuron.rules))]
        for i, neuron in enumerate(system.neurons)
    }
    labels: dict[tuple[str, str | None], list[str]] = {}
    if isinstance(system.variant, Channels):
        labels |= {
            ends: [f"({', '.join(own)})"]
            for ends, own in system.variant.channels_of_synapse.items()
        }
    return {**own, **(label_rules(system) if system.is_growing else {})}, labels


def _delays(system: SpikingSystem) -> list[list[int | str]] | None:
    """The synapses with a delay, `[source, target, delay]`; `None` where the variant has no place
    for any."""
    if system.variant is None:
        return []
    if not isinstance(system.variant, SynapseDelays):
        return None
    places = {name: index for index, name in enumerate(system.names)}
    return [[places[s], places[t], exact(delay)] for (s, t), delay in system.variant.delays]


def _astrocytes(system: SpikingSystem) -> list[dict[str, Any]]:
    if not isinstance(system.variant, Astrocytes):
        return []
    return [
        {"synapses": [list(ends) for ends in own.synapses], "threshold": exact(own.threshold)}
        for own in system.variant.astrocytes
    ]


#: Variants whose names do not say it.
_WORDS = {"SynapseRules": "rules on synapses", "Exhaustive": "exhaustive use of rules"}


def _words(variant: object) -> str:
    """The name of a variant in words: `SynapseDelays` as "synapse delays"."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(variant).__name__).lower()


def _remarks(system: SpikingSystem) -> list[str]:
    """What a reader of the picture has to know besides."""
    remarks: list[str] = []
    if system.variant is not None:
        remarks.append(_WORDS.get(type(system.variant).__name__, _words(system.variant)))
    if not system.compatibility.is_textbook:
        remarks.append(f"{system.compatibility}")
    if system.level == "strict":
        remarks.append("strict")
    return remarks
