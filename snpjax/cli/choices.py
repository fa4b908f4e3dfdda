"""Whether a system ever leaves a choice."""

from collections.abc import Iterable

from ..spiking import Compatibility, Guard, PopulationSystem, Rule, SpikingSystem


def offers_choice(system: SpikingSystem | PopulationSystem) -> bool:
    """Whether some neuron has two rules that apply at one number of spikes, reachable or not."""
    several = {neuron.rules for neuron in system.neurons if len(neuron.rules) > 1}
    return any(
        _overlap((rule for rule in rules if isinstance(rule, Rule)), system.compatibility)
        for rules in several
    )


def _overlap(rules: Iterable[Rule], compatibility: Compatibility) -> bool:
    earlier = Guard.from_lengths(())
    try:
        for rule in rules:
            guard, least = compatibility.counts(rule)
            counts = guard & Guard.interval(least)
            if not counts.isdisjoint(earlier):
                return True
            earlier |= counts
    except ValueError:  # the union of the guards is too large to be computed
        return True
    return False
