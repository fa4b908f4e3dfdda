"""Linear time by its definition: formulas on one infinite path, and all paths of a small structure
up to some length. Slow, and obviously right."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from snpjax.check.query.formula import (
    And,
    Comparison,
    Formula,
    Implies,
    InOrder,
    Not,
    Or,
    Quantified,
    Temporal,
    Within,
    parts_of,
)


#: Whether a comparison, or what is quantified, holds in a state.
Holds: TypeAlias = Callable[[Any, int], bool]


@dataclass(frozen=True)
class Lasso:
    """Positions 0, 1, ... of which the last is followed by `loop`."""

    states: tuple[int, ...]
    loop: int

    def after(self, position: int) -> int:
        return position + 1 if position + 1 < len(self.states) else self.loop

    def from_on(self, position: int) -> list[int]:
        """All positions that come, the given one first, each once."""
        found = []
        while position not in found:
            found.append(position)
            position = self.after(position)
        return found


def is_true(formula: Formula, lasso: Lasso, holds: Holds) -> bool:
    """Whether a formula holds of the path. `holds` tells it of comparisons, and of what is
    quantified, in a state."""
    return truths(formula, lasso, holds)[0]


def truths(formula: Formula, lasso: Lasso, holds: Holds) -> list[bool]:
    """Whether a formula holds of what is left of the path, at each of its positions."""
    below = () if isinstance(formula, Quantified) else parts_of(formula)
    own = [truths(part, lasso, holds) for part in below]
    return [_at(formula, lasso, position, own, holds) for position in range(len(lasso.states))]


def _at(
    formula: Formula,
    lasso: Lasso,
    position: int,
    own: list[list[bool]],
    holds: Holds,
) -> bool:
    """One position, when the parts of the formula are known at all."""
    future = lasso.from_on(position)
    if isinstance(formula, Within):
        inner = [truths(part, lasso, holds) for part in parts_of(formula.part)]
        return _within(formula.part, formula.steps, lasso, position, inner)
    match formula:
        case Comparison() | Quantified():
            return holds(formula, lasso.states[position])
        case Not():
            return not own[0][position]
        case And():
            return all(part[position] for part in own)
        case Or():
            return any(part[position] for part in own)
        case Implies():
            return not own[0][position] or own[1][position]
        case Temporal("next"):
            return own[0][lasso.after(position)]
        case Temporal("always"):
            return all(own[0][at] for at in future)
        case Temporal("never"):
            return not any(own[0][at] for at in future)
        case Temporal("eventually"):
            return any(own[0][at] for at in future)
        case Temporal("infinitely often"):
            return all(any(own[0][at] for at in lasso.from_on(x)) for x in future)
        case Temporal("steady"):
            return any(all(own[0][at] for at in lasso.from_on(x)) for x in future)
        case InOrder(_, "until"):
            return _until(future, own[0], own[1], False)
        case InOrder(_, "weak until"):
            return _until(future, own[0], own[1], True)
        case InOrder(_, "preceded by"):
            return _until(future, [not x for x in own[0]], own[1], True)
        case InOrder(_, "followed by"):
            return all(not own[0][x] or any(own[1][y] for y in lasso.from_on(x)) for x in future)
    raise AssertionError(formula)


def _within(
    formula: Temporal | InOrder, steps: int, lasso: Lasso, position: int, own: list[list[bool]]
) -> bool:
    """An operator that looks a number of steps ahead, those of a loop each time round."""
    ahead = [position]
    for _ in range(steps):
        ahead.append(lasso.after(ahead[-1]))
    match formula:
        case Temporal("always"):
            return all(own[0][at] for at in ahead)
        case Temporal("never"):
            return not any(own[0][at] for at in ahead)
        case Temporal("eventually"):
            return any(own[0][at] for at in ahead)
        case InOrder(_, "until"):
            return _until(ahead, own[0], own[1], False)
        case InOrder(_, "weak until"):
            return _until(ahead, own[0], own[1], True)
        case InOrder(_, "preceded by"):
            return _until(ahead, [not x for x in own[0]], own[1], True)
        case InOrder(_, "followed by", right):
            later, every = Temporal("eventually", right), range(len(lasso.states))
            answered = [_within(later, steps, lasso, at, own[1:]) for at in every]
            return all(not own[0][at] or answered[at] for at in lasso.from_on(position))
    raise AssertionError(formula)


def _until(future: list[int], stays: list[bool], ends: list[bool], otherwise: bool) -> bool:
    for at in future:
        if ends[at]:
            return True
        if not stays[at]:
            return False
    return otherwise


def lassos(successors: list[list[int]], initial: int, max_length: int) -> Iterator[Lasso]:
    """Every path from a state that repeats itself within this many positions."""
    paths: list[tuple[int, ...]] = [(initial,)]
    while paths:
        path = paths.pop()
        for state in successors[path[-1]]:
            for position, before in enumerate(path):
                if before == state:
                    yield Lasso(path, position)
            if len(path) < max_length:
                paths.append((*path, state))
