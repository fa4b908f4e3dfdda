"""Markov chains with fractions: probabilities, expected sums and shares of the steps, by Gaussian
elimination.

A chain lists the successors of every configuration, all equally likely; one that has none stays.
"""

from fractions import Fraction


def solved(rows, right):
    """The solution of linear equations, by Gaussian elimination."""
    rows = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k, row in enumerate(rows):
            if k != i and row[i]:
                rows[k] = [x - row[i] * y for x, y in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


def reaching(chain, goal, allowed):
    found, size = set(goal), -1
    while size < (size := len(found)):
        found |= {i for i in allowed if found & set(chain[i])}
    return found


def with_known(chain, known, cost):
    """x = cost + P x where it is not known."""
    inner = [i for i in range(len(chain)) if i not in known]
    rows, right = [], []
    for i in inner:
        share = Fraction(1, len(chain[i]))
        rows.append([Fraction(i == j) - share * chain[i].count(j) for j in inner])
        right.append(cost[i] + sum((share * known[j] for j in chain[i] if j in known), Fraction(0)))
    found = {**known, **dict(zip(inner, solved(rows, right), strict=True))}
    return [found[i] for i in range(len(chain))]


def exact_probability(chain, target, through):
    goal = {i for i, x in enumerate(target) if x}
    allowed = {i for i, x in enumerate(through) if x} - goal
    hopeful = reaching(chain, goal, allowed)
    known = {i: Fraction(i in goal) for i in range(len(chain)) if i in goal or i not in hopeful}
    return with_known(chain, known, [Fraction(0)] * len(chain))


def exact_expected(chain, target, rewards):
    every = [True] * len(chain)
    chance = exact_probability(chain, target, every)
    known = {i: Fraction(0) if target[i] else float("inf") for i in range(len(chain))}
    known = {i: x for i, x in known.items() if target[i] or chance[i] < 1}
    finite = {i: x for i, x in known.items() if target[i]}
    # What does not surely reach the target does not follow what surely does.
    stays = [own if i not in known else [i] for i, own in enumerate(chain)]
    rest = {i: Fraction(0) for i in known if i not in finite}
    found = with_known(stays, {**finite, **rest}, rewards)
    return [known.get(i, x) for i, x in enumerate(found)]


def exact_long_run(chain, holds):
    size, after = len(chain), []
    for i in range(size):
        after.append({j for j in range(size) if i in reaching(chain, {j}, range(size))})
    known = {}
    for i in range(size):
        if any(i not in after[j] for j in after[i]):
            continue
        own = sorted(after[i])
        if not chain[i]:
            known[i] = Fraction(holds[i])
            continue
        rows = [
            [Fraction(chain[j].count(k), len(chain[j])) - (j == k) for j in own] for k in own[1:]
        ]
        stationary = solved([*rows, [Fraction(1)] * len(own)], [0] * len(rows) + [Fraction(1)])
        known[i] = sum(x for j, x in zip(own, stationary, strict=True) if holds[j])
    return with_known(chain, known, [Fraction(0)] * size)
