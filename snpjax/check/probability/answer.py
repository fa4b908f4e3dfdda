"""The answers to questions for numbers, from a configuration graph."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from ...explore import Graph
from ..query.errors import QueryError
from ..query.formula import TRUE, And, Formula, InOrder, Not, Temporal, Within
from ..query.number_query import Best, NumberQuery, Threshold
from ..temporal.kripke import States
from ..temporal.kripke_of_graph import View, sums_of, view_of
from ..verdict import LIMITS, Status, Verdict
from .enclosure import GAP, after_a_step, expected, probability, within
from .long_run import long_run
from .mdp import Decisions


def check_choices(question: NumberQuery, chosen: Sequence[str] | Literal["all"]) -> None:
    """**Raises:** `QueryError` for a question that says nothing of choices that are open, or asks
    for the least or largest number where none is."""
    problem, kind = "", question.text[question.at :].split()[0]
    if isinstance(chosen, str) and chosen != "all":
        raise ValueError(f'`chosen` is {chosen!r}. Give names of neurons in a list, or "all".')
    if question.kind == "steady" and (len(chosen) or question.best is not None):
        problem = "steady probabilities are those of random choices (leave out `chosen`, min, max)"
    elif question.best is not None and not len(chosen):
        problem = "all choices are random, so that least and largest are the same (give `chosen`)"
    elif len(chosen) and question.best is None and question.threshold is None:
        fix = (
            "write min or max"
            if kind[0] in "PE" and not kind.isalpha()
            else "ask for the least or largest"
        )
        problem = f"with `chosen` the number depends on the choices ({fix})"
    if problem:
        raise QueryError(question.text, question.at, problem)


def answer(graph: Graph, question: NumberQuery, chosen: Sequence[str] | None) -> Verdict:
    """The verdict on a question, with the interval that its number lies in.

    Where choices are open a number that is compared has to be so for all of them. Configurations
    that were not expanded may do anything.
    """
    threshold = question.threshold
    best: Best = question.best or "min"
    if threshold is not None and threshold.relation in ("<", "<="):
        best = "max"
    comparisons = question.query.comparisons
    view = view_of(graph, comparisons)
    decisions = Decisions.on_states(*_states_of(view), chosen)
    if any(comparison.is_of_step for comparison in comparisons):
        # Nothing leaves a neuron after a halt: the next state is another one.
        halted = np.flatnonzero(graph.is_halting[view.configuration])
        after = view.structure.targets[view.structure.first_edge[halted]]
        decisions = decisions.with_steps(halted, after)
    asked = _Asked(view, decisions, best)
    low, high = asked.bounds(question)
    value = float(low[view.structure.initial]), float(high[view.structure.initial])
    if threshold is None:
        is_near = value[0] == value[1] or value[1] - value[0] <= GAP * max(1.0, value[0])
        status = Status.PROVED if is_near else None
    else:
        status = _compared(value, threshold)
    reason = ""
    if status is None:
        status = Status.UNKNOWN
        if not view.labels.are_exact:
            reason = "a number was cut off where it is compared, by `saturate` or `clock`"
        elif not graph.is_complete:
            status = Status.BOUNDED if graph.stop in LIMITS else status
            reason = graph.reason
        elif threshold is not None:
            reason = "the threshold lies between the bounds of the number"
        else:
            reason = "the bounds do not come closer, because of rounding"
    return Verdict(
        status,
        question.text,
        graph,
        depth=graph.whole_depth,
        reason=reason,
        value=value,
        choices_are=_choices(question, chosen, best),
    )


def _choices(question: NumberQuery, chosen: Sequence[str] | None, best: Best) -> str:
    if chosen is not None and not len(chosen):
        return "all choices uniform"
    if chosen is None:
        who = "all choices open"
    else:
        who = f"choices of {', '.join(chosen)} open, all others uniform"
    return f"{'least' if best == 'min' else 'largest'} with {who}"


def _states_of(view: View) -> tuple[Graph, np.ndarray, np.ndarray]:
    """The graph, configurations and edges of a view, without steps of what has halted."""
    structure, graph = view.structure, view.graph
    is_halting = graph.is_halting[view.configuration]
    is_edge = np.repeat(~is_halting, np.diff(structure.first_edge))
    return graph, view.configuration, structure.targets[is_edge]


def _compared(value: tuple[float, float], threshold: Threshold) -> Status | None:
    """Whether all numbers of an interval are as a threshold says, or none."""
    relation, number = threshold

    def holds(x: float) -> bool:
        own = x if np.isinf(x) else Fraction(x)
        match relation:
            case "<":
                return own < number
            case "<=":
                return own <= number
            case ">":
                return own > number
        return own >= number

    low, high = map(holds, value)
    if low != high:
        return None
    return Status.PROVED if low else Status.REFUTED


class _Asked:
    """The numbers of all states, between two bounds."""

    def __init__(self, view: View, decisions: Decisions, best: Best) -> None:
        self.view, self.decisions = view, decisions
        self.best: Best = best
        self.labels, self.is_open = view.labels, view.structure.is_open
        self.is_exact = view.labels.are_exact and not self.is_open.any()

    def bounds(self, question: NumberQuery) -> tuple[np.ndarray, np.ndarray]:
        match question.kind:
            case "probability":
                return self._path(question.formula, self.best)
            case "expected":
                return self._sum(question)
        surely, may = self._where(question.formula)
        return long_run(self.decisions, surely, may | self.is_open, self.is_open)

    def _where(self, formula: Formula) -> tuple[States, States]:
        surely, may = (self.labels.where(formula, may=may) for may in (False, True))
        return surely, may

    def _path(self, formula: Formula, best: Best) -> tuple[np.ndarray, np.ndarray]:
        """Of a formula about a path."""
        steps, inner = None, formula
        if isinstance(formula, Within):
            steps, inner = formula.steps, formula.part
        match inner:
            case Temporal("always", part):
                return self._not(TRUE, Not(part), steps, best)
            case Temporal("never", part):
                return self._not(TRUE, part, steps, best)
            case Temporal("eventually", part):
                return self._until(TRUE, part, steps, best)
            case Temporal("next", part):
                return self._next(part)
            case InOrder(left, "until", right):
                return self._until(left, right, steps, best)
            case InOrder(left, "weak until", right):
                # It fails where neither holds, before the right one has held.
                neither = And((Not(right), Not(left)))
                return self._not(Not(right), neither, steps, best)
        surely, may = self._where(formula)
        return surely.astype(float), may.astype(float)

    def _not(
        self, left: Formula, right: Formula, steps: int | None, best: Best
    ) -> tuple[np.ndarray, np.ndarray]:
        """One minus the probability of left until right."""
        low, high = self._until(left, right, steps, "max" if best == "min" else "min")
        return np.maximum(_minus(high, -np.inf), 0.0), np.minimum(_minus(low, np.inf), 1.0)

    def _until(
        self, left: Formula, right: Formula, steps: int | None, best: Best
    ) -> tuple[np.ndarray, np.ndarray]:
        (surely_left, may_left), (surely, may) = self._where(left), self._where(right)
        return self._reach(surely_left, surely, may_left, may | self.is_open, steps, best)

    def _reach(
        self,
        surely_through: States,
        surely: States,
        may_through: States,
        may: States,
        steps: int | None,
        best: Best,
    ) -> tuple[np.ndarray, np.ndarray]:
        def bounds(target: States, through: States) -> tuple[np.ndarray, np.ndarray]:
            if steps is not None:
                return within(self.decisions, target, through, steps, best)
            return probability(self.decisions, target, through, best)

        low, high = bounds(surely, surely_through)
        if not self.is_exact:
            _, high = bounds(may, may_through)
        return low, high

    def _next(self, part: Formula) -> tuple[np.ndarray, np.ndarray]:
        surely, may = self._where(part)
        low, _ = after_a_step(self.decisions, surely, surely & ~self.is_open, self.best)
        _, high = after_a_step(self.decisions, may, may | self.is_open, self.best)
        return low, high

    def _sum(self, question: NumberQuery) -> tuple[np.ndarray, np.ndarray]:
        assert question.reward is not None
        terms, constant = question.reward
        (surely, may), has_negative = self._where(question.formula), constant < 0
        has_negative |= any(coefficient < 0 for _, coefficient in terms.terms)
        values = sums_of(self.view, terms)
        rewards = (values.values + constant).astype(float)
        if np.any((rewards < 0) & ~surely & ~self.is_open):
            problem = "this is below 0 in a configuration (only sums of what is not are computed)"
            raise QueryError(question.text, terms.start, problem)
        if has_negative and np.any(values.or_less & ~surely & ~self.is_open):
            problem = "this may be below 0 where a number is cut (leave out `saturate` for it)"
            raise QueryError(question.text, terms.start, problem)
        end = may | self.is_open
        low_rewards = np.where(values.or_less | (rewards < 0), 0.0, rewards)
        low, high = expected(self.decisions, low_rewards, end, self.best)
        if not self.is_exact:
            # A cut number may be any larger one: where it counts there is no upper bound.
            cut = values.or_more & ~surely
            decisions = self.decisions.only(~cut[self.decisions.owner])
            _, high = expected(decisions, np.maximum(rewards, 0.0), surely, self.best)
            if has_negative:
                low = np.where(np.isinf(high), -np.inf, low)
        return low, high


def _minus(x: np.ndarray, side: float) -> np.ndarray:
    """1 - x, rounded to a side."""
    return np.where((x == 0) | (x == 1), 1 - x, np.nextafter(1 - x, side))
