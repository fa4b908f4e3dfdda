"""Digests of models, by which a certificate names the model that it belongs to."""

import hashlib
import json
from typing import Any

from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...sleptsov.model.rules import RULES, Disjoint, Petri
from ...spiking.model.compatibility import TEXTBOOK
from ...spiking.model.population import PopulationSystem
from ...spiking.model.rule import Rule, rule_text
from ...spiking.model.system import SpikingSystem


def model_digest(model: object) -> str:
    """Compute a digest of all that the steps of a model depend on: names, spikes, rules, synapses
    and inputs, or places, tokens, arcs and priorities with the rule of the steps. Titles, notes and
    outputs do not matter, nor does the order of synapses.

    **Arguments:**

    - `model`: a system or a net, as `snpjax.certify` takes it.

    **Returns:** the digest as a text, `sha256:` and 64 hexadecimal digits.

    **Raises:** `NotImplementedError` for a model that certificates are not written for, with the
    reason.
    """
    return _digest(proved_model(model))


def _digest(model: SpikingSystem | Execution) -> str:
    parts = json.dumps(_parts(model), separators=(",", ":"))
    return "sha256:" + hashlib.sha256(parts.encode()).hexdigest()


def rule_of_digest(model: SpikingSystem | Execution, digest: str) -> str:
    """Return the name of the rule under which a net has this digest; empty where there is none."""
    if not isinstance(model, Execution):
        return ""
    names = (x for x, rule in RULES.items() if _digest(Execution(model.net, rule)) == digest)
    return next(names, "")


def proved_model(model: object) -> SpikingSystem | Execution:
    """The model as its definition is written: neuron by neuron, or a net with the rule of its
    steps.

    **Raises:** `NotImplementedError` for a model whose steps are not those of the definition of SN
    P systems with delays, weights and inputs, or of nets under `Sleptsov` or `Petri`.
    """
    if isinstance(model, PopulationSystem):
        model = model.expand()
    if isinstance(model, SleptsovNet):
        model = Execution(model)
    problem = _unsupported(model)
    if problem:
        raise NotImplementedError(f"Proofs by induction do not support {problem}.")
    assert isinstance(model, SpikingSystem | Execution)
    return model


def _unsupported(model: object) -> str:
    match model:
        case Execution():
            net = model.net
            if isinstance(model.rule, Disjoint):
                return "nets under `Disjoint` (use `Sleptsov` or `Petri`)"
            if net.order is not None:
                return "nets with a total order of transitions (give priorities)"
            bounded = set(net.inputs.transition.tolist())
            free = [t for t in range(net.num_transitions) if t not in bounded]
            if free and not isinstance(model.rule, Petri):
                name = net.transition_name(free[0])
                return f"transition {name!r}, which consumes nothing and fires without bound"
        case SpikingSystem():
            if model.variant is not None:
                return f"the variant `{type(model.variant).__name__}`"
            if model.compatibility != TEXTBOOK:
                return "`compatibility` with other simulators"
            for neuron in model.neurons:
                for rule in neuron.rules:
                    if not isinstance(rule, Rule):
                        kind = type(rule).__name__
                        return f"{kind}s (neuron {neuron.name!r}: the network changes)"
        case _:
            return f"models of type {type(model).__name__} (give a system or a net)"
    return ""


def _parts(model: SpikingSystem | Execution) -> Any:
    if isinstance(model, Execution):
        net = model.net
        arcs = (net.inputs, net.outputs, net.inhibitors, net.tests)
        return [
            *("net", type(model.rule).__name__, list(net.place_names), list(net.transition_names)),
            *(net.marking.tolist(), [some.triples() for some in arcs], net.priorities.tolist()),
            sorted(net.final_markings.tolist()),
        ]
    neurons = [
        [x.name, int(x.spikes), [rule_text(rule) for rule in x.rules if isinstance(rule, Rule)]]
        for x in model.neurons
    ]
    trains = sorted((name, list(map(int, train))) for name, train in model.input.items())
    synapses = sorted((source, target, int(weight)) for source, target, weight in model.synapses)
    return ["system", model.signed, neurons, synapses, trains]
