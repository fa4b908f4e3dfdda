"""Whether rules of one neuron can ever apply together."""

from collections.abc import Iterable

from .compatibility import TEXTBOOK, Compatibility
from .guard import Guard
from .rule import Rule


def rules_overlap(rules: Iterable[Rule], compatibility: Compatibility = TEXTBOOK) -> bool:
    """Whether two rules apply at one number of spikes, reachable or not; also `True` where the
    guards are too large to say."""
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
