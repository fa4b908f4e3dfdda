"""Bounds on what every neuron does in each step, for all inputs of a box, many boxes at once."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from scipy import sparse

from .behaviour import MAX_COUNT, Behaviour
from .box import SpikeBox
from .classifier import Classifier, Decoder, Rules


_MAX_OFFSETS = 256  # of one input from its own count, for which what it sends is tabulated


class Span(NamedTuple):
    """The least and greatest values, of neurons and cases."""

    low: Int[np.ndarray, "neurons cases"]
    high: Int[np.ndarray, "neurons cases"]

    def plus(self, other: "Span") -> "Span":
        """The bounds of the sum."""
        return Span(self.low + other.low, self.high + other.high)

    def meet(self, other: "Span") -> "Span":
        """What is within both."""
        return Span(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    def through(self, weights: sparse.csc_array) -> "Span":
        """The bounds of `weights.T @ values`."""
        plus, minus = weights.maximum(0).T, weights.minimum(0).T
        return Span(plus @ self.low + minus @ self.high, plus @ self.high + minus @ self.low)


class TooManySpikes(ValueError):
    """A count may exceed what is tabulated."""


@dataclass(frozen=True, eq=False)
class NetworkBounds:
    """What a box allows, of all neurons: in step t each has `counts[t]` spikes before the step and
    sends `sent[t]`; `counts[steps]` are left. Inputs that nothing reaches are `sources`, whose
    spikes are functions of their own number: `sent_by_sources[t]` at `centre + offsets`.
    `arriving[t]` is what the step brings each neuron.
    """

    classifier: Classifier
    box: SpikeBox
    behaviours: dict[Rules, Behaviour]
    counts: list[Span]
    sent: list[Span]
    arriving: list[Span]
    sources: Int[np.ndarray, " sources"]
    offsets: Int[np.ndarray, " offsets"]
    sent_by_sources: list[Int[np.ndarray, "sources offsets cases"]]

    @staticmethod
    def of(classifier: Classifier, box: SpikeBox) -> "NetworkBounds":
        """**Raises:** `TooManySpikes` if a count may be too large to tabulate."""
        system, steps = classifier.system, classifier.steps
        own = np.array([neuron.spikes for neuron in system.neurons], np.int64)
        low = np.repeat(own[:, None], box.num_cases, axis=1)
        high = low.copy()
        low[classifier.inputs], high[classifier.inputs] = box.low, box.high
        behaviours = _Behaviours(classifier)
        first, last = int((box.low - box.centre).min()), int((box.high - box.centre).max())
        is_source = classifier.is_source & (last - first < _MAX_OFFSETS)
        rows = np.flatnonzero(is_source)
        sources, offsets = classifier.inputs[rows], np.arange(first, last + 1)
        members = box.centre[rows, None] + offsets[:, None]
        members = np.clip(members, box.low[rows, None], box.high[rows, None])
        others = np.setdiff1d(np.arange(system.num_neurons), sources)
        to_others = classifier.weights[others]
        found = NetworkBounds(
            classifier, box, behaviours.tables, [Span(low, high)], [], [], sources, offsets, []
        )
        for step in range(steps):
            left, sent = behaviours.over(found.counts[-1])
            members, by_sources = behaviours.at(sources, members)
            found.sent_by_sources.append(by_sources)
            sent.low[sources], sent.high[sources] = by_sources.min(axis=1), by_sources.max(axis=1)
            left.low[sources], left.high[sources] = members.min(axis=1), members.max(axis=1)
            arriving = Span(sent.low[others], sent.high[others]).through(to_others)
            arriving = arriving.plus(found.delivered(by_sources, classifier.weights[sources]))
            known = classifier.arrivals[step][:, None]
            arriving = arriving.plus(Span(known, known))
            found.sent.append(sent)
            found.arriving.append(arriving)
            found.counts.append(left.plus(arriving))
        return found

    def delivered(
        self, sent: Int[np.ndarray, "sources offsets cases"], weights: sparse.csc_array
    ) -> Span:
        """The bounds of `weights.T @ sent`, for numbers that the sources have at each offset."""
        within = Span(sent.min(axis=1), sent.max(axis=1)).through(weights)
        if self.box.changes is None:
            return within
        # Each spike that is added or removed changes the sum by the steepest slope at most.
        is_moved = self.offsets != 0
        centre = sent[:, ~is_moved][:, 0]
        change = sent[:, is_moved] - centre[:, None]
        distance = np.abs(self.offsets[is_moved])[:, None]
        up = -(-change // distance).min(axis=1, initial=0)
        down = -(change // distance).min(axis=1, initial=0)
        rise = np.zeros_like(within.low)
        fall = np.zeros_like(within.low)
        rows = weights.tocsr()
        for source in range(rows.shape[0]):  # pyright: ignore[reportOptionalSubscript]
            targets = rows.indices[rows.indptr[source] : rows.indptr[source + 1]]
            weight = rows.data[rows.indptr[source] : rows.indptr[source + 1], None]
            by_more, by_less = weight * up[source], weight * down[source]
            rise[targets] = np.maximum(rise[targets], np.maximum(by_more, -by_less))
            fall[targets] = np.maximum(fall[targets], np.maximum(by_less, -by_more))
        middle = weights.T @ centre
        changes = self.box.changes
        return within.meet(Span(middle - changes * fall, middle + changes * rise))

    def total_sent(self) -> Span:
        """What each neuron sends in all steps together."""
        (low, high), arrived = _sum(self.sent), _sum(self.arriving)
        # Where all rules consume c and send p, what has come and is not left was consumed.
        first, last = self.counts[0], self.counts[-1]
        for at, rules in enumerate(self.classifier.rules):
            ratio = self.behaviours[rules].ratio
            if ratio is not None:
                consumed, produced = ratio
                least = first.low[at] + arrived.low[at] - last.high[at]
                most = first.high[at] + arrived.high[at] - last.low[at]
                low[at] = np.maximum(low[at], produced * -(-least // consumed))
                high[at] = np.minimum(high[at], produced * (most // consumed))
        return Span(low, high)

    def lead(self, answers: Int[np.ndarray, " cases"]) -> Int[np.ndarray, "outputs cases"]:
        """At least how far the number of the answer is above each other one, less what is required;
        0 for the answer itself. Where no number is negative the answer is the same for all inputs.
        """
        classifier, box = self.classifier, self.box
        outputs = classifier.outputs
        sent = self.total_sent()
        found = np.zeros((len(outputs), box.num_cases), np.int64)
        system = classifier.system
        only_counts = classifier.decoder is Decoder.SPIKES_LEFT and not any(
            system.neurons[at].rules for at in outputs.tolist()
        )
        last = sent if classifier.decoder is Decoder.SPIKES_SENT else self.counts[-1]
        is_source = np.isin(np.arange(system.num_neurons), self.sources)
        by_sources = sum(self.sent_by_sources, np.zeros_like(self.sent_by_sources[0]))
        for answer in np.unique(answers).tolist():
            cases = np.flatnonzero(answers == answer)
            own = outputs[answer]
            lead = last.low[own, cases] - last.high[outputs][:, cases]
            if only_counts:
                # What reaches two outputs from one neuron is subtracted before it is bounded.
                weights = classifier.weights
                to_outputs = weights[:, outputs].toarray()
                apart = sparse.csc_array(to_outputs[:, [answer]] - to_outputs)
                part = Span(sent.low[~is_source][:, cases], sent.high[~is_source][:, cases])
                bound = part.through(apart[~is_source]).low
                bound = bound + self.delivered(by_sources[..., cases], apart[self.sources]).low
                initial = self.counts[0]
                known = classifier.arrivals.sum(axis=0)[:, None]
                fixed = initial.low[own, cases] - initial.high[outputs][:, cases]
                lead = np.maximum(lead, bound + fixed + known[own] - known[outputs])
            lead = lead - classifier.required(answer)[:, None]
            lead[answer] = 0
            found[:, cases] = lead
        return found


def _sum(spans: list[Span]) -> Span:
    low, high = (np.sum(bounds, axis=0) for bounds in zip(*spans, strict=True))
    return Span(low, high)


class _Behaviours:
    """What the rules of all neurons do; neurons with the same rules share a table."""

    def __init__(self, classifier: Classifier):
        self.rules = classifier.rules
        self.groups: dict[Rules, list[int]] = {}
        for at, rules in enumerate(self.rules):
            self.groups.setdefault(rules, []).append(at)
        self.tables: dict[Rules, Behaviour] = {}

    def table(self, rules: Rules, most: int) -> Behaviour:
        if most > MAX_COUNT:
            raise TooManySpikes(f"a neuron may have {most} spikes, more than {MAX_COUNT}")
        known = self.tables.get(rules)
        if known is None or len(known.sent) <= most:
            known = self.tables[rules] = Behaviour(rules, 2 * max(most, 8))
        return known

    def over(self, counts: Span) -> tuple[Span, Span]:
        """What may be left in each neuron, and what it may send."""
        left = Span(*(np.empty_like(bound) for bound in counts))
        sent = Span(*(np.empty_like(bound) for bound in counts))
        for rules, rows in self.groups.items():
            low, high = counts.low[rows], counts.high[rows]
            found = self.table(rules, int(high.max(initial=0))).over(low, high)
            left.low[rows], left.high[rows], sent.low[rows], sent.high[rows] = found
        return left, sent

    def at(
        self, neurons: Int[np.ndarray, " some"], counts: Int[np.ndarray, "some offsets cases"]
    ) -> tuple[Int[np.ndarray, "some offsets cases"], Int[np.ndarray, "some offsets cases"]]:
        """What is left of these counts, which are not negative, and what is sent."""
        left, sent = np.empty_like(counts), np.empty_like(counts)
        for row, neuron in enumerate(neurons.tolist()):
            table = self.table(self.rules[neuron], int(counts[row].max(initial=0)))
            left[row] = counts[row] - table.consumed[counts[row]]
            sent[row] = table.sent[counts[row]]
        return left, sent
