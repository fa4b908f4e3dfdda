"""What of an invariant is needed."""

from collections.abc import Sequence

from ..query.formula import Formula
from .conditions import negated
from .solver import OutOfTime, StepSolver, needed


def minimised(
    solver: StepSolver, wanted: Sequence[Formula], invariant: Sequence[Formula], share: float = 0.4
) -> list[Formula]:
    """A part of an inductive invariant that is inductive by itself and holds the wanted conditions.
    The last ones of the others are dropped first; when time is short, more are kept.

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
    before = [solver.literal(x, 0) for x in all_conditions]
    found, todo = list(some), list(some)
    while todo:
        condition = todo.pop()
        broken = solver.literal(negated(condition), 1)
        if solver.is_satisfiable(*before, broken):
            raise AssertionError("This is a bug of snpjax, please report it.")
        for at in needed(before, solver.core()):
            if all_conditions[at] not in found:
                found.append(all_conditions[at])
                todo.append(all_conditions[at])
    return [x for x in all_conditions if x in found]


def is_kept(
    solver: StepSolver, some: Sequence[Formula], before: Sequence[Formula] | None = None
) -> bool:
    """Whether conditions hold after a step if they do before it, or others do.

    **Raises:** `OutOfTime`.
    """
    held = [solver.literal(x, 0) for x in (some if before is None else before)]
    return not solver.is_satisfiable(*held, solver.one_broken(some, 1))
