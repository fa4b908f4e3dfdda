"""Forgetting rules that make neurons leak."""

from fractions import Fraction

from ...spiking.model.rule import Rule


def leaky(
    threshold: int,
    *,
    decay: float | None = None,
    leak: int | None = None,
    consume: int | None = None,
) -> tuple[Rule, ...]:
    """The rules of a leaky neuron: one that fires, and forgetting rules that are the leak.

    With k spikes, a neuron fires from `threshold` upwards. Below it the neuron forgets in every
    step, and the spikes that remain are

    - floor(`decay` k) with `decay`. The continuous counterpart is the leaky integrator
      tau dv/dt = -v + input with decay = exp(-step / tau). As floor rounds down, each step loses at
      least one spike, and v is at most 1 / (1 - decay) above what remains;
    - max(k - `leak`, 0) with `leak`: the integrator dv/dt = -leak + input with a floor at 0, the
      linear leak of Fusi and Mattia 1999.

    What arrives in the same step is added to that. `decay=0` forgets everything: the neuron detects
    coincidences. There are at most `threshold` rules, one for each number of spikes that is
    forgotten. A neuron uses one rule in a step, so one that fires does not leak in that step, and
    negative counts, to which no rule applies, do not leak.

    **Arguments:**

    - `threshold`: the least number of spikes that fires.
    - `decay`: the share of the spikes that remains, from 0 to less than 1.
    - `leak`: the number of spikes that is forgotten, 1 or more. Give either it or `decay`.
    - `consume`: what firing consumes; by default `threshold`.

    **Returns:** the rules, as `guard` of a layer or as those of a population.

    **Raises:** `ValueError` for numbers out of these ranges.
    """
    consume = threshold if consume is None else consume
    if not 1 <= consume <= threshold:
        raise ValueError(
            f"`threshold` is {threshold} and `consume` {consume}. Give 1 <= consume <= threshold."
        )
    if (decay is None) == (leak is None):
        raise ValueError("Give either `decay` or `leak`.")
    if decay is not None and not 0 <= decay < 1:
        raise ValueError(f"`decay` is {decay}. Give a number from 0 to less than 1.")
    if leak is not None and leak < 1:
        raise ValueError(f"`leak` is {leak}. Give a number of 1 or more.")
    rules = [Rule((threshold, None), consume, 1)]
    if decay is None:
        lost = [min(k, leak or 0) for k in range(1, threshold)]
    else:
        share = Fraction(decay).limit_denominator(10**6)  # 0.29 of 100 is 29
        lost = [k - int(share * k) for k in range(1, threshold)]
    for number in sorted(set(lost)):
        first = lost.index(number) + 1
        rules.append(Rule((first, first + lost.count(number) - 1), number, 0))
    return tuple(rules)
