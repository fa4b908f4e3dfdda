"""Which models have a transition relation, and why others have none."""

from typing import Any

from ...sleptsov import Disjoint, Execution, Sleptsov, SleptsovNet
from ...spiking.model.population import PopulationSystem
from ...spiking.model.rule import Rule, rule_text
from ...spiking.model.system import SpikingSystem
from .nets import NetRelation
from .relation import AbstractRelation
from .spiking import SpikingRelation


_MAX_NEURONS = 20_000  # of a system of populations, of which every neuron is written out


def relation_of(model: Any, *, clock: int = 0) -> AbstractRelation:
    """The transition relation of a model.

    **Arguments:**

    - `clock`: up to this step configurations of different steps are told apart.

    **Raises:** `NotImplementedError` for a model without one: the reason, and what to do instead.
    """
    if isinstance(model, PopulationSystem):
        if model.num_neurons > _MAX_NEURONS:
            raise NotImplementedError(
                f"A proof by induction looks at single neurons, of which there are "
                f"{model.num_neurons:,} (at most {_MAX_NEURONS:,}). Prove a smaller system."
            )
        model = model.expand()
    if isinstance(model, SpikingSystem):
        _check_system(model)
        return SpikingRelation(model, clock=clock)
    if isinstance(model, SleptsovNet):
        model = Execution(model)
    if isinstance(model, Execution):
        _check_net(model)
        return NetRelation(model, clock=clock)
    raise NotImplementedError(
        f"{model!r} has no transition relation. Give a system of neurons, or a net."
    )


def _check_system(system: SpikingSystem) -> None:
    what = "A proof by induction"
    if system.variant is not None:
        kind = type(system.variant).__name__
        raise NotImplementedError(
            f"{what} needs steps of the definition, but the system has the variant {kind}. Explore "
            "it with `snpjax.check`."
        )
    if system.changes_network:
        rules = [(label, rule) for label, own in system.rules_of_labels.items() for rule in own]
        changing = [(label, rule) for label, rule in rules if not isinstance(rule, Rule)] or rules
        shown = ""
        if changing:
            label, rule = changing[0]
            shown = f", but neuron {label!r} has the rule {rule_text(rule, label)}"
        raise NotImplementedError(
            f"{what} needs a bounded number of neurons, and synapses that do not change{shown}. "
            "Explore it with `snpjax.check`."
        )
    if not system.compatibility.is_textbook:
        raise NotImplementedError(
            f"{what} needs steps of the definition, but the system runs with "
            f"{system.compatibility}. Explore it with `snpjax.check`."
        )


def _check_net(execution: Execution) -> None:
    net = execution.net
    if isinstance(execution.rule, Disjoint):
        raise NotImplementedError("Nets are proved under Sleptsov() or Petri(), not Disjoint().")
    if net.order is not None:
        raise NotImplementedError(
            "The net comes with a total order of its transitions, which does not say between "
            "which of them there is a choice. Take a net with priorities."
        )
    if isinstance(execution.rule, Sleptsov):
        fed = {*net.inputs.transition.tolist()}
        for t in range(net.num_transitions):
            if t not in fed:
                raise NotImplementedError(
                    f"Transition {net.transition_name(t)!r} consumes nothing, so that it fires "
                    "without bound. Prove the net under Petri()."
                )
