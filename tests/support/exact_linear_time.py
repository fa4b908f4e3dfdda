"""Probabilities of formulas of linear time with fractions, without automata: one operator after the
other becomes a label of the states of a finer chain (Courcoubetis, Yannakakis 1995)."""

from fractions import Fraction

from snpjax.check.query.formula import (
    TRUE,
    And,
    Comparison,
    Implies,
    InOrder,
    Not,
    Or,
    Temporal,
    Within,
)
from tests.support.exact_chains import solved


def simple(formula):
    """The same formula with no other operators than not, or, next and until."""
    match formula:
        case Comparison():
            return formula
        case Not(part):
            return Not(simple(part))
        case And(parts):
            return Not(Or(tuple(Not(simple(part)) for part in parts)))
        case Or(parts):
            return Or(tuple(map(simple, parts)))
        case Implies(left, right):
            return Or((Not(simple(left)), simple(right)))
        case Within(steps, part):
            return within(part, steps)
        case Temporal("next", part):
            return Temporal("next", simple(part))
        case Temporal("eventually", part):
            return InOrder(simple(TRUE), "until", simple(part))
        case Temporal("always", part):
            return Not(simple(Temporal("eventually", Not(part))))
        case Temporal("never", part):
            return Not(simple(Temporal("eventually", part)))
        case Temporal("infinitely often", part):
            return simple(Temporal("always", Temporal("eventually", part)))
        case Temporal("steady", part):
            return simple(Temporal("eventually", Temporal("always", part)))
        case InOrder(left, "until", right):
            return InOrder(simple(left), "until", simple(right))
        case InOrder(left, "weak until", right):
            return simple(Or((InOrder(left, "until", right), Temporal("always", left))))
        case InOrder(left, "preceded by", right):
            return simple(InOrder(Not(left), "weak until", right))
        case InOrder(left, "followed by", right):
            later = Temporal("eventually", right)
            return simple(Temporal("always", Implies(left, later)))
    raise AssertionError(formula)


def within(formula, steps):
    """An operator that looks some steps ahead."""
    match formula:
        case Temporal("eventually", part):
            now, rest = simple(part), None
        case Temporal("always" | "never" as operator, part):
            part = part if operator == "never" else Not(part)
            return Not(within(Temporal("eventually", part), steps))
        case InOrder(left, "until", right):
            now, rest = simple(right), simple(left)
        case InOrder(left, "weak until", right):
            fails = And((Not(left), Not(right)))
            return Not(within(InOrder(Not(right), "until", fails), steps))
        case InOrder(left, "preceded by", right):
            return within(InOrder(Not(left), "weak until", right), steps)
        case InOrder(left, "followed by", right):
            later = Within(steps, Temporal("eventually", right))
            return simple(Temporal("always", Implies(left, later)))
        case _:
            raise AssertionError(formula)
    found = now
    for _ in range(steps):
        later = Temporal("next", found)
        if rest is not None:
            later = Not(Or((Not(rest), Not(later))))
        found = Or((now, later))
    return found


class Refined:
    """A chain whose states have labels, and how probable each is from each state of the first."""

    def __init__(self, chain, truth):
        self.rows = [
            {j: Fraction(own.count(j), len(own)) for j in own} if own else {i: Fraction(1)}
            for i, own in enumerate(chain)
        ]
        self.labels = {formula: list(values) for formula, values in truth.items()}
        self.origin = [(i, Fraction(1)) for i in range(len(chain))]

    def label(self, formula):
        """The truth of a formula in each state."""
        if formula in self.labels:
            return self.labels[formula]
        match formula:
            case Not(part):
                return [not x for x in self.label(part)]
            case Or(parts):
                # What is labelled refines the chain: all of it comes before what is read.
                for part in parts:
                    self.label(part)
                some = [self.label(part) for part in parts]
                return [any(x) for x in zip(*some, strict=True)] if some else [False] * self.size
            case Temporal("next", part):
                goal = self.label(part)
                chance = [sum(p for j, p in row.items() if goal[j]) for row in self.rows]
                self.split(formula, chance, lambda i, b, j: goal[j] == b, lambda i: False)
            case InOrder(left, "until", right):
                self.label(left)
                goal = self.label(right)
                through = self.label(left)
                chance = self.until(through, goal)
                decided = [y or not x for x, y in zip(through, goal, strict=True)]
                self.split(formula, chance, lambda i, b, j: True, lambda i: not decided[i])
        return self.labels[formula]

    @property
    def size(self):
        return len(self.rows)

    def until(self, through, goal):
        found, size = {i for i in range(self.size) if goal[i]}, -1
        while size < len(found):
            size = len(found)
            found |= {i for i in range(self.size) if through[i] and found & set(self.rows[i])}
        inner = [i for i in found if not goal[i]]
        rows = [[(i == j) - self.rows[i].get(j, Fraction(0)) for j in inner] for i in inner]
        right = [sum((p for j, p in self.rows[i].items() if goal[j]), Fraction(0)) for i in inner]
        chance = [Fraction(int(x)) for x in goal]
        for i, value in zip(inner, solved(rows, right), strict=True):
            chance[i] = value
        return chance

    def split(self, formula, chance, follows, carries):
        """States of which a formula is true, and states of which it is false.

        - `follows`: whether a state leads to another if the formula is true, or false, of it.
        - `carries`: whether it then is so of the next state too.
        """
        shares = [{True: x, False: 1 - x} for x in chance]
        both = [(i, b) for i, own in enumerate(shares) for b, x in own.items() if x]
        number = {own: at for at, own in enumerate(both)}
        rows = []
        for i, b in both:
            row = {}
            for j, p in self.rows[i].items():
                for c, share in shares[j].items():
                    if share and follows(i, b, j) and (not carries(i) or b == c):
                        row[number[j, c]] = p * share
            total = sum(row.values())
            rows.append({j: p / total for j, p in row.items()})
        self.rows = rows
        self.labels = {x: [own[i] for i, _ in both] for x, own in self.labels.items()}
        self.labels[formula] = [b for _, b in both]
        self.origin = [(self.origin[i][0], self.origin[i][1] * shares[i][b]) for i, b in both]


def exact_linear_time(chain, truth, formula):
    """The probability of a formula from each state; `truth` has the values of its comparisons."""
    refined = Refined(chain, truth)
    holds = refined.label(simple(formula))
    found = [Fraction(0)] * len(chain)
    for (i, weight), x in zip(refined.origin, holds, strict=True):
        found[i] += weight * x
    return found
