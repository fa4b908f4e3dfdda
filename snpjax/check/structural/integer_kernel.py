"""Integer solutions of sparse homogeneous linear equations, exactly.

Rows and vectors are dictionaries from columns to integers that are not 0; Python's integers never
overflow.
"""

from collections.abc import Iterable
from math import gcd, lcm


def null_space(rows: Iterable[dict[int, int]], size: int) -> list[dict[int, int]]:
    """A basis of all rational solutions of A y = 0, in reduced form.

    Elimination is without fractions, and leftmost columns are pivots: so each vector has one free
    column of its own, in which it is positive. The numbers of each have no common divisor.
    """
    pivots: dict[int, dict[int, int]] = {}  # reduced: no row has an entry at another one's pivot
    for row in rows:
        for column in sorted(row.keys() & pivots.keys()):
            row = _eliminated(row, pivots[column], column)
        if not row:
            continue
        pivot = min(row)
        for column, other in pivots.items():
            if pivot in other:
                pivots[column] = _eliminated(other, row, pivot)
        pivots[pivot] = row
    using: dict[int, list[int]] = {}
    for pivot, row in pivots.items():
        for column in row.keys() - {pivot}:
            using.setdefault(column, []).append(pivot)
    return [_solution(pivots, using.get(j, []), j) for j in range(size) if j not in pivots]


def _solution(pivots: dict[int, dict[int, int]], using: list[int], free: int) -> dict[int, int]:
    """The solution that is 0 in all other free columns."""
    common = lcm(*(pivots[pivot][pivot] for pivot in using))
    y = {free: common}
    for pivot in using:
        y[pivot] = -common * pivots[pivot][free] // pivots[pivot][pivot]
    return _primitive(y)


def minimal_solutions(
    rows: Iterable[dict[int, int]], size: int, *, limit: int
) -> list[dict[int, int]] | None:
    """All solutions y >= 0 of A y = 0 of least support, without common divisors, ordered by their
    columns; `None` if more than `limit` vectors are needed on the way.

    ??? cite "Source"
        Farkas' algorithm as in Martinez, Silva 1982; Colom, Silva 1991. A combination is dropped
        when its support holds that of another vector.
    """
    equations = [dict(row) for row in sorted({tuple(sorted(row.items())) for row in rows if row})]
    vectors = [{j: 1} for j in range(size)]
    if size > limit:
        return None
    # What is left of each equation, by vector.
    left: list[dict[int, int]] = [{} for _ in range(size)]
    for number, row in enumerate(equations):
        for column, value in row.items():
            left[column][number] = value
    todo = set(range(len(equations)))
    while todo:
        positive: dict[int, list[int]] = {i: [] for i in todo}
        negative: dict[int, list[int]] = {i: [] for i in todo}
        for index, rest in enumerate(left):
            for number, value in rest.items():
                (positive if value > 0 else negative)[number].append(index)
        growth = {i: len(positive[i]) * len(negative[i]) for i in todo}
        growth = {i: n - len(positive[i]) - len(negative[i]) for i, n in growth.items()}
        chosen = min(todo, key=lambda i: (growth[i], i))
        todo.remove(chosen)
        kept = [i for i in range(len(vectors)) if chosen not in left[i]]
        if len(kept) + len(positive[chosen]) * len(negative[chosen]) > limit:
            return None
        new = [
            _combined(vectors, left, i, j, chosen)
            for i in positive[chosen]
            for j in negative[chosen]
        ]
        pairs = _minimal([*((vectors[i], left[i]) for i in kept), *new])
        vectors, left = [y for y, _ in pairs], [rest for _, rest in pairs]
    return sorted(vectors, key=sorted)


_Pair = tuple[dict[int, int], dict[int, int]]


def _combined(
    vectors: list[dict[int, int]], left: list[dict[int, int]], i: int, j: int, equation: int
) -> _Pair:
    first, second = -left[j][equation], left[i][equation]
    y = _sum(vectors[i], first, vectors[j], second)
    rest = _sum(left[i], first, left[j], second)
    divisor = gcd(*y.values())
    return (
        {column: value // divisor for column, value in y.items()},
        {number: value // divisor for number, value in rest.items()},
    )


def _minimal(pairs: list[_Pair]) -> list[_Pair]:
    """Those whose support holds no other one's; one of each support."""
    bits = [sum(1 << column for column in y) for y, _ in pairs]
    found: list[int] = []
    for index in sorted(range(len(pairs)), key=lambda i: bits[i].bit_count()):
        if not any(bits[other] & ~bits[index] == 0 for other in found):
            found.append(index)
    return [pairs[index] for index in sorted(found)]


def _eliminated(row: dict[int, int], other: dict[int, int], column: int) -> dict[int, int]:
    """A combination without an entry in the column."""
    return _primitive(_sum(row, other[column], other, -row[column]))


def _sum(
    first: dict[int, int], times: int, second: dict[int, int], times_second: int
) -> dict[int, int]:
    total = {column: times * value for column, value in first.items()}
    for column, value in second.items():
        total[column] = total.get(column, 0) + times_second * value
    return {column: value for column, value in total.items() if value}


def _primitive(row: dict[int, int]) -> dict[int, int]:
    divisor = gcd(*row.values())
    return {column: value // divisor for column, value in row.items()} if divisor > 1 else row
