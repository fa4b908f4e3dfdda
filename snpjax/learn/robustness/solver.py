"""Whether an input of a box has another answer, asked of an SMT solver."""

from typing import Any

import numpy as np
from jaxtyping import Int

from ..._text.optional import z3
from ...check.satisfiability import is_satisfiable
from .bounds import NetworkBounds


_MAX_PIECES = 64  # of what one neuron does in one step


class TooManyPieces(ValueError):
    """A neuron does too many different things for an encoding."""


def other_input(
    bounds: NetworkBounds, answer: int, lead: Int[np.ndarray, " outputs"], seconds: float
) -> Int[np.ndarray, " inputs"] | None:
    """The spikes of an input of the box with another answer, or `None` if there is none.

    Numbers that the bounds determine are constants; the solver sees what is left.

    **Arguments:**

    - `bounds`: of one case.
    - `lead`: `bounds.lead`; only outputs where it is negative are considered.

    **Raises:** `TimeoutError` if the solver does not decide it in `seconds`, `TooManyPieces` if it
    is not asked, `ImportError` without z3.
    """
    solver_library = z3()
    if seconds <= 0:
        raise TimeoutError("the solver had no time left")
    context = solver_library.Context()
    solver = solver_library.SolverFor("QF_LIA", ctx=context)
    solver.set(random_seed=0)
    encoding = _Encoding(bounds, solver_library, context, solver)
    can_differ = encoding.can_differ(answer, lead) and is_satisfiable(solver, seconds)
    if can_differ is False:
        return None
    if can_differ:
        model = solver.model()
        return np.array([_value(model, term) for term in encoding.spikes], np.int64)
    raise TimeoutError(f"the solver did not decide it within {seconds:.2g} s")


def _value(model: Any, term: Any) -> int:
    return term if isinstance(term, int) else model.eval(term, model_completion=True).as_long()


class _Encoding:
    """The steps of one case as constraints; terms are integers of Python where they are known."""

    def __init__(self, bounds: NetworkBounds, library: Any, context: Any, solver: Any):
        self.bounds, self.library, self.context, self.solver = bounds, library, context, solver
        box, classifier = bounds.box, bounds.classifier
        self.spikes = [
            self._between(f"x{row}", int(low), int(high))
            for row, (low, high) in enumerate(zip(box.low[:, 0], box.high[:, 0], strict=True))
        ]
        if box.changes is not None:
            self._limit_changes(box.changes)
        self.row_of = {int(at): row for row, at in enumerate(classifier.inputs)}
        self.source_of = {int(at): row for row, at in enumerate(bounds.sources)}
        self.incoming = classifier.weights  # columns: what arrives at a neuron
        self._sent: dict[tuple[int, int], Any] = {}
        self._counts: dict[tuple[int, int], Any] = {}

    def can_differ(self, answer: int, lead: Int[np.ndarray, " outputs"]) -> bool:
        """Require another answer; false if no output can give one."""
        classifier = self.bounds.classifier
        own = int(classifier.outputs[answer])
        required = classifier.required(answer)
        others = []
        for output in np.flatnonzero(lead < 0).tolist():
            ahead = self._number(own) - self._number(int(classifier.outputs[output]))
            others.append(ahead < int(required[output]))
        if any(isinstance(other, bool) and other for other in others):
            return True
        terms = [other for other in others if not isinstance(other, bool)]
        if not terms:
            return False
        self.solver.add(self.library.Or(terms))
        return True

    def _number(self, neuron: int) -> Any:
        """What counts of an output."""
        classifier = self.bounds.classifier
        if classifier.decoder.name == "SPIKES_LEFT":
            return self.count(neuron, classifier.steps)
        return self._sum([(1, self.sent(neuron, step)) for step in range(classifier.steps)])

    def count(self, neuron: int, step: int) -> Any:
        """The spikes of a neuron before a step, counted from 0."""
        if (neuron, step) not in self._counts:
            interval = self.bounds.counts[step]
            low, high = int(interval.low[neuron, 0]), int(interval.high[neuron, 0])
            if low == high:
                term = low
            elif step == 0:
                term = self.spikes[self.row_of[neuron]]
            else:
                term = self._after(neuron, step - 1)
            self._counts[neuron, step] = term
        return self._counts[neuron, step]

    def sent(self, neuron: int, step: int) -> Any:
        """What a neuron sends in a step."""
        if (neuron, step) not in self._sent:
            interval = self.bounds.sent[step]
            low, high = int(interval.low[neuron, 0]), int(interval.high[neuron, 0])
            if low == high:
                term = low
            elif neuron in self.source_of:
                term = self._sent_by_source(neuron, step)
            else:
                term = self._by_pieces(neuron, step, 2)
            self._sent[neuron, step] = term
        return self._sent[neuron, step]

    def _after(self, neuron: int, step: int) -> Any:
        """What is left, and what arrives."""
        start, end = self.incoming.indptr[neuron : neuron + 2]
        parts = [
            (int(weight), self.sent(int(source), step))
            for source, weight in zip(
                self.incoming.indices[start:end], self.incoming.data[start:end], strict=True
            )
        ]
        known = int(self.bounds.classifier.arrivals[step, neuron])
        consumed = self._by_pieces(neuron, step, 1)
        term = self._sum([(1, self.count(neuron, step)), (-1, consumed), (1, known), *parts])
        interval = self.bounds.counts[step + 1]
        name = f"k{neuron}_{step + 1}"
        return self._named(name, term, int(interval.low[neuron, 0]), int(interval.high[neuron, 0]))

    def _by_pieces(self, neuron: int, step: int, field: int) -> Any:
        """What the rule consumes (1) or sends (2)."""
        interval = self.bounds.counts[step]
        rules = self.bounds.classifier.rules[neuron]
        pieces = self.bounds.behaviours[rules].pieces(
            int(interval.low[neuron, 0]), int(interval.high[neuron, 0])
        )
        if len(pieces) > _MAX_PIECES:
            raise TooManyPieces(f"a neuron does {len(pieces)} different things in one step")
        term: Any = pieces[0][field]
        for piece in pieces[1:]:
            term = self._if(self.count(neuron, step) >= piece[0], piece[field], term)
        return term

    def _sent_by_source(self, neuron: int, step: int) -> Any:
        """By the table of its own number; where it sends all of its spikes, that number."""
        source, row = self.source_of[neuron], self.row_of[neuron]
        box, offsets = self.bounds.box, self.bounds.offsets
        low, high, centre = (int(x[row, 0]) for x in (box.low, box.high, box.centre))
        table = self.bounds.sent_by_sources[step][source, :, 0]
        own = {int(centre + offset): int(n) for offset, n in zip(offsets, table, strict=True)}
        own = {spikes: n for spikes, n in own.items() if low <= spikes <= high}
        shift = own[low] - low
        if all(n - spikes == shift for spikes, n in own.items()):
            return self._sum([(1, self.spikes[row]), (1, shift)])
        term: Any = own[low]
        for spikes in range(low + 1, high + 1):
            if own[spikes] != own[spikes - 1]:
                term = self._if(self.spikes[row] >= spikes, own[spikes], term)
        return term

    def _if(self, condition: Any, yes: Any, no: Any) -> Any:
        value = lambda x: self.library.IntVal(x, self.context) if isinstance(x, int) else x  # noqa: E731
        return self.library.If(condition, value(yes), value(no), self.context)

    def _between(self, name: str, low: int, high: int) -> Any:
        if low == high:
            return low
        term = self.library.Int(name, self.context)
        self.solver.add(term >= low, term <= high)
        return term

    def _named(self, name: str, term: Any, low: int, high: int) -> Any:
        named = self._between(name, low, high)
        self.solver.add(named == term)
        return named

    def _limit_changes(self, changes: int) -> None:
        distances = []
        for row, term in enumerate(self.spikes):
            if not isinstance(term, int):
                centre = int(self.bounds.box.centre[row, 0])
                distance = self.library.Int(f"d{row}", self.context)
                self.solver.add(distance >= term - centre, distance >= centre - term)
                distances.append(distance)
        if distances:
            self.solver.add(self.library.Sum(distances) <= changes)

    def _sum(self, parts: list[tuple[int, Any]]) -> Any:
        known = sum(factor * term for factor, term in parts if isinstance(term, int))
        terms = [
            term if factor == 1 else factor * term
            for factor, term in parts
            if factor and not isinstance(term, int)
        ]
        if not terms:
            return known
        return self.library.Sum([*terms, self.library.IntVal(known, self.context)])
