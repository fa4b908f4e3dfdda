"""Systems and the moments of a computation as values of JSON, for the page."""

from typing import Any, TypeAlias

import numpy as np

from ...choice import NO_RULE
from ...spiking import Network, Solution, SpikingSystem, SynapseRules
from ...spiking.view.picture import given_positions
from ...spiking.view.run_text import label_rules
from .stepping import Moment


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
        "input": {name: [exact(x) for x in train] for name, train in system.input.items()},
        "output": list(system.output),
        "positions": None if positions is None else positions.tolist(),
        "remarks": _remarks(system),
        "grows": system.is_growing,
    }


def moment_json(
    system: SpikingSystem, moment: Moment[Solution], before: Moment[Solution] | None
) -> dict[str, Any]:
    """A configuration and the step that led to it; what is 0 or nothing in most neurons is listed
    by neuron: `[neuron, value]`."""
    solution = moment.solution
    value: dict[str, Any] = {
        "step": solution.steps,
        "spikes": [exact(x) for x in solution.spikes.tolist()],
        "timers": _listed(solution.timers),
        "pending": _listed(solution.pending),
        "options": [[neuron, list(rules)] for neuron, rules in moment.options.items()],
        "halted": moment.is_halted,
        "fired": [],
        "emitted": [],
        "outputs": None,
    }
    if isinstance(system.variant, SynapseRules):
        value["texts"] = [
            [neuron, [system.rule_text(neuron, rule) for rule in rules]]
            for neuron, rules in moment.options.items()
        ]
    if before is not None:
        fired = [(i, r) for i, r in enumerate(solution.rules[0].tolist()) if r != NO_RULE]
        of_labels, labels = {}, None
        if before.network is not None and system.is_growing:
            of_labels, labels = label_rules(system), before.network.labels
        for i, r in fired:
            text = system.rule_text(i, r) if labels is None else of_labels[labels[i]][r]
            value["fired"].append([i, r, text])
        value["emitted"] = _listed(solution.emissions[0])
        value["outputs"] = [exact(x) for x in solution.spike_trains[0].tolist()]
    if moment.network is not None and (before is None or moment.network != before.network):
        value["network"] = network_json(moment.network)
    return value


def network_json(network: Network) -> dict[str, Any]:
    """The neurons and synapses of one moment."""
    return {
        "names": list(network.names),
        "labels": list(network.labels),
        "synapses": [[s, t, exact(weight), []] for s, t, weight in network.synapses],
    }


def _listed(values: np.ndarray) -> list[list[int | str]]:
    return [[i, exact(x)] for i, x in enumerate(values.tolist()) if x]


def _rules(
    system: SpikingSystem,
) -> tuple[dict[str, list[str]], dict[tuple[str, str | None], list[str]]]:
    """The texts of the rules of every label, and of those on synapses by their ends."""
    if isinstance(system.variant, SynapseRules):
        return {}, {ends: [str(rule) for rule in rules] for ends, rules in system.variant.rules}
    own = {
        neuron.label: [system.rule_text(i, r) for r in range(len(neuron.rules))]
        for i, neuron in enumerate(system.neurons)
    }
    return {**own, **(label_rules(system) if system.is_growing else {})}, {}


def _remarks(system: SpikingSystem) -> list[str]:
    """What a reader of the picture has to know besides."""
    remarks: list[str] = []
    if system.variant is not None:
        remarks.append(f"variant {type(system.variant).__name__}")
    if not system.compatibility.is_textbook:
        remarks.append(f"{system.compatibility}")
    if system.level == "strict":
        remarks.append("strict")
    return remarks
