"""Which models have a transition relation, and why others have none."""

from typing import Any

from ...sleptsov import Execution
from ...spiking.model.population import PopulationSystem
from ...spiking.model.rule import Rule, rule_text
from ...spiking.model.system import SpikingSystem
from ..certificate.model_digest import proved_model
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
    if isinstance(model, PopulationSystem) and model.num_neurons > _MAX_NEURONS:
        raise NotImplementedError(
            f"A proof by induction looks at single neurons, of which there are "
            f"{model.num_neurons:,} (at most {_MAX_NEURONS:,}). Prove a smaller system."
        )
    if isinstance(model, SpikingSystem) and model.changes_network:
        raise NotImplementedError(_needs_bound(model))
    model = proved_model(model)
    if isinstance(model, Execution):
        return NetRelation(model, clock=clock)
    return SpikingRelation(model, clock=clock)


def _needs_bound(system: SpikingSystem) -> str:
    """Why a network that changes is refused."""
    rules = [(label, rule) for label, own in system.rules_of_labels.items() for rule in own]
    changing = [(label, rule) for label, rule in rules if not isinstance(rule, Rule)]
    shown = ""
    if changing:
        label, rule = changing[0]
        shown = f", but neuron {label!r} has the rule {rule_text(rule, label)}"
    return (
        "A proof by induction needs a bounded number of neurons, and synapses that do not change"
        f"{shown}. Explore the system with `snpjax.check`."
    )
