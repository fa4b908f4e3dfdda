"""The answers to questions for numbers, from a configuration graph."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Concatenate, Literal, ParamSpec

import numpy as np

from ..._text.nearest import nearest
from ...explore import Graph
from ...explore.text import names_of
from ...spiking.model.population import AnySystem
from ..query.errors import QueryError
from ..query.formula import (
    TRUE,
    And,
    Formula,
    InOrder,
    Not,
    Temporal,
    Within,
    is_about_one,
    parts_of,
)
from ..query.number_query import Best, NumberQuery, Threshold
from ..temporal.automaton import TooLarge
from ..temporal.kripke import States
from ..temporal.kripke_of_graph import View, sums_of, view_of
from ..verdict import LIMITS, Status, Verdict
from . import enclosure, exact
from .enclosure import GAP, Enclosure
from .exact import Number
from .linear_time import reached
from .long_run import long_run
from .mdp import Decisions


_Arguments = ParamSpec("_Arguments")
_LARGEST = float(np.finfo(float).max)


def check_choices(question: NumberQuery, chosen: Sequence[str] | Literal["all"]) -> None:
    """**Raises:** `QueryError` for a question that says nothing of choices that are open, or asks
    for the least or largest number where none is."""
    problem, kind = "", question.text[question.at :].split()[0]
    if isinstance(chosen, str) and chosen != "all":
        raise ValueError(f'`chosen` is {chosen!r}. Give names of neurons in a list, or "all".')
    if question.best is not None and not len(chosen):
        problem = "all choices are random, so that least and largest are the same (give `chosen`)"
    elif len(chosen) and question.best is None and question.threshold is None:
        fix = (
            "write min or max"
            if kind[0] in "PES" and not kind.isalpha()
            else "ask for the least or largest"
        )
        problem = f"with `chosen` the number depends on the choices ({fix})"
    if problem:
        raise QueryError(question.text, question.at, problem)


def check_choosers(model: object, chosen: Sequence[str] | Literal["all"]) -> None:
    """**Raises:** `ValueError` for names that are not those of neurons."""
    if chosen == "all" or not len(chosen):
        return
    if not isinstance(model, AnySystem):
        raise ValueError(
            f"`chosen` names {', '.join(map(repr, chosen))}, but {model!r} has no neurons. In a "
            "net one choice among all fireable transitions is made in a step, and it cannot be "
            'open for some of them only. Pass chosen="all", or leave it out for random choices.'
        )
    for name in chosen:
        if not model.has(name):
            near = nearest(name, names_of(model.schema()), "neurons")
            raise ValueError(f"`chosen`: there is no neuron {name!r} ({near})")


def answer(graph: Graph, question: NumberQuery, chosen: Sequence[str] | None) -> Verdict:
    """The verdict on a question, with the interval that its number lies in.

    Where choices are open a number that is compared has to be so for all of them. Configurations
    that were not expanded may do anything.

    **Raises:** `QueryError` for a formula with too many operators.
    """
    try:
        return _answer(graph, question, chosen)
    except TooLarge as error:
        raise QueryError(question.text, question.formula.start, str(error)) from None
    except MemoryError:
        reason = "the question needs more memory than there is"
        return Verdict(Status.UNKNOWN, question.text, graph, depth=graph.whole_depth, reason=reason)


def _answer(graph: Graph, question: NumberQuery, chosen: Sequence[str] | None) -> Verdict:
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
    value = _outside(*asked.bounds(question))
    status = _status(value, threshold)
    if status is None:
        try:
            bounds = _Asked(view, decisions, best, exactly=True).bounds(question)
        except exact.TooLong:
            pass
        else:
            value, status = _outside(*bounds), _status(bounds, threshold)
    reason = ""
    if status is None:
        status = Status.UNKNOWN
        if not view.labels.are_exact:
            reason = "a number was cut off where it is compared, by `saturate` or `clock`"
        elif not graph.is_complete:
            status = Status.BOUNDED if graph.stop in LIMITS else status
            reason = graph.reason
        elif not asked.is_settled:
            reason = (
                "policy iteration did not settle because of rounding, and fractions would take "
                "too long"
            )
        elif threshold is not None:
            reason = (
                "the threshold lies between the bounds of the number, and fractions would take too "
                "long"
            )
        else:
            reason = "the bounds do not come closer (rounding, or the limit of iterations)"
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


def _outside(low: Number, high: Number) -> tuple[float, float]:
    """The same interval between two numbers in double precision, or a larger one."""
    below = float(low) if low == np.inf else float(min(low, _LARGEST))
    above = float(high) if high <= _LARGEST else np.inf
    if np.isfinite(below) and Fraction(below) > low:
        below = float(np.nextafter(below, -np.inf))
    if np.isfinite(above) and Fraction(above) < high:
        above = float(np.nextafter(above, np.inf))
    return below, above


def _status(value: tuple[Number, Number], threshold: Threshold | None) -> Status | None:
    """What is known by an interval, if that is enough."""
    low, high = value
    if threshold is None:
        is_near = low == high or high - low <= GAP * max(1.0, low)
        return Status.PROVED if is_near else None
    relation, number = threshold

    def holds(x: Number) -> bool:
        match relation:
            case "<":
                return x < number
            case "<=":
                return x <= number
            case ">":
                return x > number
        return x >= number

    if holds(low) != holds(high):
        return None
    return Status.PROVED if holds(low) else Status.REFUTED


class _Asked:
    """The number of a question, between two bounds: in double precision, or exactly as far as the
    graph is known.

    - `is_settled`: whether that took no policy iteration that did not settle.
    """

    def __init__(
        self, view: View, decisions: Decisions, best: Best, *, exactly: bool = False
    ) -> None:
        self.view, self.decisions = view, decisions
        self.best: Best = best
        self.labels, self.is_open = view.labels, view.structure.is_open
        self.is_exact = view.labels.are_exact and not self.is_open.any()
        self.exactly, self.is_settled = exactly, True

    def bounds(self, question: NumberQuery) -> tuple[Number, Number]:
        match question.kind:
            case "probability":
                return self._path(question.formula, self.best)
            case "expected":
                return self._sum(question)
        return self._share(question.formula)

    def _of(
        self,
        rounded: Callable[_Arguments, Enclosure],
        exactly: Callable[Concatenate[int, _Arguments], Number],
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> tuple[Number, Number]:
        """Bounds of a number of the initial state."""
        return self._at(self.view.structure.initial, rounded, exactly, *arguments, **named)

    def _at(
        self,
        state: int,
        rounded: Callable[_Arguments, Enclosure],
        exactly: Callable[Concatenate[int, _Arguments], Number],
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> tuple[Number, Number]:
        """Bounds of a number of a state."""
        if self.exactly:
            number = exactly(state, *arguments, **named)
            return number, number
        low, high, is_settled = rounded(*arguments, **named)
        self.is_settled &= is_settled
        return float(low[state]), float(high[state])

    def _where(self, formula: Formula) -> tuple[States, States]:
        surely, may = (self.labels.where(formula, may=may) for may in (False, True))
        return surely, may

    def _path(self, formula: Formula, best: Best) -> tuple[Number, Number]:
        """Of a formula about a path."""
        if is_about_one(formula):
            start = self.view.structure.initial
            surely, may = self._where(formula)
            return Fraction(bool(surely[start])), Fraction(bool(may[start]))
        steps, inner = None, formula
        if isinstance(formula, Within):
            steps, inner = formula.steps, formula.part
        if not all(map(is_about_one, parts_of(inner))):
            return self._linear(formula, best)
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
        return self._linear(formula, best)

    def _linear(self, formula: Formula, best: Best) -> tuple[Number, Number]:
        """Of any formula about a path: the least probability is that of the negation."""
        if best == "min":
            low, high = self._linear(Not(formula), "max")
            return _minus(high, -np.inf), _minus(low, np.inf)
        bounds = []
        for may in (False,) if self.is_exact else (False, True):
            own = self.decisions, self.view.structure, self.labels, formula
            decisions, target, start = reached(*own, may=may)
            asked = decisions, target, np.ones(len(target), bool), best
            bounds.append(self._at(start, enclosure.probability, exact.probability, *asked))
        return bounds[0][0], bounds[-1][1]

    def _not(
        self, left: Formula, right: Formula, steps: int | None, best: Best
    ) -> tuple[Number, Number]:
        """One minus the probability of left until right."""
        low, high = self._until(left, right, steps, "max" if best == "min" else "min")
        return _minus(high, -np.inf), _minus(low, np.inf)

    def _until(
        self, left: Formula, right: Formula, steps: int | None, best: Best
    ) -> tuple[Number, Number]:
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
    ) -> tuple[Number, Number]:
        def bounds(target: States, through: States) -> tuple[Number, Number]:
            if steps is not None:
                own = self.decisions, target, through, steps, best
                return self._of(enclosure.within, exact.within, *own)
            own = self.decisions, target, through, best
            return self._of(enclosure.probability, exact.probability, *own)

        low, high = bounds(surely, surely_through)
        if not self.is_exact:
            _, high = bounds(may, may_through)
        return low, high

    def _next(self, part: Formula) -> tuple[Number, Number]:
        surely, may = self._where(part)

        def bounds(target: States, remains: States) -> tuple[Number, Number]:
            own = self.decisions, target, remains, self.best
            return self._of(enclosure.after_a_step, exact.after_a_step, *own)

        low, _ = bounds(surely, surely & ~self.is_open)
        _, high = bounds(may, may | self.is_open)
        return low, high

    def _share(self, formula: Formula) -> tuple[Number, Number]:
        """Of the steps, in the long run."""
        surely, may = self._where(formula)
        if not self.exactly:
            own = self.decisions, surely, may, self.is_open, self.best
            start = self.view.structure.initial
            low, high, self.is_settled = long_run(*own)
            return float(low[start]), float(high[start])
        start = self.view.structure.initial
        low = exact.long_run(start, self.decisions, surely & ~self.is_open)
        high = exact.long_run(start, self.decisions, may | self.is_open)
        return low, high

    def _sum(self, question: NumberQuery) -> tuple[Number, Number]:
        assert question.reward is not None
        terms, constant = question.reward
        (surely, may), has_negative = self._where(question.formula), constant < 0
        has_negative |= any(coefficient < 0 for _, coefficient in terms.terms)
        values = sums_of(self.view, terms)
        rewards = (values.values + constant).astype(float)
        if np.any((rewards < 0) & ~surely & ~self.is_open):
            problem = "this is below 0 in a configuration (rewards must be 0 or more)"
            raise QueryError(question.text, terms.start, problem)
        if has_negative and np.any(values.or_less & ~surely & ~self.is_open):
            problem = "this may be below 0 where a number is cut (leave out `saturate` for it)"
            raise QueryError(question.text, terms.start, problem)
        end = may | self.is_open
        low_rewards = np.where(values.or_less | (rewards < 0), 0.0, rewards)

        def bounds(decisions: Decisions, rewards: np.ndarray, end: States) -> tuple[Number, Number]:
            own = decisions, rewards, end, self.best
            return self._of(enclosure.expected, exact.expected, *own)

        low, high = bounds(self.decisions, low_rewards, end)
        if not self.is_exact:
            # A cut number may be any larger one: where it counts there is no upper bound.
            cut = values.or_more & ~surely
            decisions = self.decisions.only(~cut[self.decisions.owner])
            _, high = bounds(decisions, np.maximum(rewards, 0.0), surely)
            if has_negative and high == np.inf:
                low = -np.inf
        return low, high


def _minus(x: Number, side: float) -> Number:
    """1 - x, at most 1 and at least 0; rounded to a side, unless it is a fraction."""
    if isinstance(x, Fraction) or x in (0, 1):
        return 1 - x
    return min(max(float(np.nextafter(1 - x, side)), 0.0), 1.0)
