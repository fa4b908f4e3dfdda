"""Whether a system ever leaves a choice."""

from ..spiking import PopulationSystem, Rule, SpikingSystem
from ..spiking.overlap import rules_overlap


def offers_choice(system: SpikingSystem | PopulationSystem) -> bool:
    """Whether some neuron has two rules that apply at one number of spikes, reachable or not."""
    several = {neuron.rules for neuron in system.neurons if len(neuron.rules) > 1}
    return any(
        rules_overlap((rule for rule in rules if isinstance(rule, Rule)), system.compatibility)
        for rules in several
    )
