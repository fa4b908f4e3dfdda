"""Whether a system ever leaves a choice."""

from ..spiking import PlasticityRule, PopulationSystem, Rule, SpikingSystem
from ..spiking.model.compatibility import rules_overlap
from ..spiking.model.population import AnySystem


def offers_choice(system: AnySystem) -> bool:
    """Whether some neuron has two rules that apply at one number of spikes, reachable or not, or
    may have to choose synapses."""
    if isinstance(system, PopulationSystem) and system.changes_network:
        return True
    several = {neuron.rules for neuron in system.neurons if len(neuron.rules) > 1}
    if isinstance(system, SpikingSystem) and not system.is_static:
        every = {neuron.rules for neuron in system.neurons} | set(system.rules_by_label.values())
        return any(_may_choose(rules) for rules in every)
    return any(
        rules_overlap((rule for rule in rules if isinstance(rule, Rule)), system.compatibility)
        for rules in several
    )


def _may_choose(rules: tuple) -> bool:
    guards = [rule.guard for rule in rules]
    return any(isinstance(rule, PlasticityRule) for rule in rules) or any(
        not guard.isdisjoint(other) for i, guard in enumerate(guards) for other in guards[:i]
    )
