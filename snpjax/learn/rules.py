"""The rules of populations, as networks and layers take them."""

from collections.abc import Sequence
from typing import TypeAlias

from ..spiking.model.guard import Guard
from ..spiking.model.rule import Rule
from ..spiking.model.system import Neuron


#: The rules of a population: one or several.
Rules: TypeAlias = str | Rule | Sequence[str | Rule]

#: Sends its spikes one by one.
SENDER = "a+/a -> a"


def relay(most: int) -> tuple[Rule, ...]:
    """The rules of a neuron that sends all of its spikes at once.

    **Arguments:**

    - `most`: the largest number of spikes that the neuron can send.

    **Returns:** one rule `a^k -> a^k` for each k from 1 to `most`.
    """
    return tuple(Rule(k, k, k) for k in range(1, most + 1))


def rules_of_guard(guard: int | Rules) -> tuple[Rule | str, ...]:
    """The rules that a guard of a layer stands for."""
    if isinstance(guard, float):
        raise TypeError(f"`guard` is {guard}. Give an integer, the least spikes that fire.")
    if isinstance(guard, int):
        if guard < 1:
            raise ValueError(f"`guard` is {guard}. Give the least number of spikes that fires.")
        return (Rule((guard, None), guard, 1),)
    if isinstance(guard, str) and "->" not in guard:
        expression = Guard(guard)
        least = (expression & Guard.interval(1)).minimum
        if least is None:
            raise ValueError(f"`guard` {guard!r} accepts no spikes. Give one that does.")
        return (Rule(expression, least, 1),)
    return (guard,) if isinstance(guard, str | Rule) else tuple(guard)


def most_sent(rules: Sequence[Rule | str]) -> int:
    """The most spikes that a rule sends."""
    found = Neuron("neuron", 0, list(rules)).rules
    return max((rule.produce for rule in found if isinstance(rule, Rule)), default=0)
