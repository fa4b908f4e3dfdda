"""What of an invariant is needed."""

from collections.abc import Sequence

from ..query.formula import Formula
from .conditions import negated
from .relation import Term
from .solver import OutOfTime, StepSolver, needed


def minimised(
    solver: StepSolver, wanted: Sequence[Formula], invariant: Sequence[Formula], share: float = 0.4
) -> list[Formula]:
    """A part of an invariant that is inductive by itself and holds the wanted conditions; for a
    solver that holds k steps, k-inductive. The last ones of the others are dropped first; when time
    is short, more are kept.

    **Arguments:**

    - `share`: of the time that is left.
    """
    num, kept = len(wanted), [*wanted, *(x for x in invariant if x not in wanted)]
    whole, own = solver.clock, solver.clock.part(share)
    try:
        solver.clock = own
        kept = _closed(solver, kept, wanted)
        size = len(kept) - num
        while size := size // 2 or min(size, 1):
            for end in range(len(kept), num, -size):
                smaller = kept[: max(end - size, num)] + kept[end:]
                if is_kept(solver, smaller):
                    kept = smaller
            if size == 1:
                break
    except OutOfTime:
        pass
    finally:
        solver.clock = whole
    return kept


def _closed(
    solver: StepSolver, all_conditions: Sequence[Formula], some: Sequence[Formula]
) -> list[Formula]:
    """The conditions that the first ones need, and what these need, as cores say."""
    before, length = _before(solver, all_conditions), len(solver.marks)
    found, todo = list(some), list(some)
    while todo:
        condition = todo.pop()
        broken = solver.literal(negated(condition), length)
        if solver.is_satisfiable(*before, broken):
            raise AssertionError("This is a bug of snpjax, please report it.")
        for at in needed(before, solver.core()):
            needs = all_conditions[at // length]
            if needs not in found:
                found.append(needs)
                todo.append(needs)
    return [x for x in all_conditions if x in found]


def is_kept(
    solver: StepSolver, some: Sequence[Formula], before: Sequence[Formula] | None = None
) -> bool:
    """Whether conditions hold after the last step if they do in all configurations before it, or
    others do.

    **Raises:** `OutOfTime`.
    """
    held = _before(solver, some if before is None else before)
    return not solver.is_satisfiable(*held, solver.one_broken(some, len(solver.marks)))


def k_inductive(
    solver: StepSolver, wanted: Sequence[Formula], facts: Sequence[Formula], most: int
) -> bool:
    """Whether the wanted conditions hold after k configurations in which they and the facts do, for
    some k up to `most`: the steps that the solver then holds.

    **Raises:** `OutOfTime`.

    ??? cite "Source"
        Sheeran, Singh, Stalmarck 2000.
    """
    while len(solver.marks) < most:
        solver.extend()
        if is_kept(solver, wanted, [*wanted, *facts]):
            return True
    return False


def _before(solver: StepSolver, conditions: Sequence[Formula]) -> list[Term]:
    """The conditions in all configurations but the last."""
    return [solver.literal(x, frame) for x in conditions for frame in range(len(solver.marks))]
