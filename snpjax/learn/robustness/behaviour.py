"""What the rules of one neuron do at every count of spikes, and at all counts of an interval."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from ...spiking.model.rule import Rule


#: The largest count that is tabulated.
MAX_COUNT = 1 << 17


class Behaviour:
    """The first applicable rule at each count from 0 to `most`: what it consumes and sends.

    Below 1 no rule is applicable.
    """

    def __init__(self, rules: Sequence[Rule], most: int):
        self.consumed = np.zeros(most + 1, np.int64)
        self.sent = np.zeros(most + 1, np.int64)
        is_free = np.ones(most + 1, bool)
        for rule in rules:
            applies = np.zeros(most + 1, bool)
            for low, high, period in rule.guard.terms(max(rule.consume, 1)):
                last = most if high is None else min(high, most)
                applies[low : last + 1 : period] = True
            applies &= is_free
            self.consumed[applies], self.sent[applies] = rule.consume, rule.produce
            is_free &= ~applies
        left = np.arange(most + 1) - self.consumed
        self._least_left, self._most_left = _Extremes(left, np.minimum), _Extremes(left, np.maximum)
        self._least_sent = _Extremes(self.sent, np.minimum)
        self._most_sent = _Extremes(self.sent, np.maximum)
        spiking = {(rule.consume, rule.produce) for rule in rules}
        #: The spikes consumed and sent by every rule, if they are the same for all.
        self.ratio = next(iter(spiking)) if len(spiking) == 1 else None

    def over(
        self, low: Int[np.ndarray, "*shape"], high: Int[np.ndarray, "*shape"]
    ) -> tuple[Int[np.ndarray, "*shape"], ...]:
        """The least and most spikes left in the neuron, and sent, from any count in an interval."""
        first, last = np.maximum(low, 0), np.maximum(high, 0)
        return (
            np.minimum(self._least_left(first, last), low),
            np.where(high < 0, high, self._most_left(first, last)),
            self._least_sent(first, last),
            self._most_sent(first, last),
        )

    def pieces(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """The counts of an interval in runs of one rule: where each starts, and what is consumed
        and sent there."""
        first, last = max(low, 0), max(high, 0)
        consumed, sent = self.consumed[first : last + 1], self.sent[first : last + 1]
        starts = 1 + np.flatnonzero(np.diff(consumed) | np.diff(sent))
        return [
            (low if at == 0 else first + at, int(consumed[at]), int(sent[at]))
            for at in (0, *starts.tolist())
        ]


class _Extremes:
    """The least or greatest value of any stretch of a table, from those of lengths 2^n."""

    def __init__(self, values: Int[np.ndarray, " counts"], better: np.ufunc):
        self.better, self.levels = better, [values]
        while 2 * (width := 1 << (len(self.levels) - 1)) <= len(values):
            last = self.levels[-1]
            self.levels.append(better(last[:-width], last[width:]))

    def __call__(
        self, first: Int[np.ndarray, "*shape"], last: Int[np.ndarray, "*shape"]
    ) -> Int[np.ndarray, "*shape"]:
        found = np.empty(first.shape, np.int64)
        level = np.frexp(last - first + 1)[1] - 1
        for number in np.unique(level).tolist():
            own, values = level == number, self.levels[number]
            found[own] = self.better(values[first[own]], values[last[own] + 1 - (1 << number)])
        return found
