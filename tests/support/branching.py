"""CTL* by its definition on small structures, in pure Python: whether a path of which a formula
holds begins in a state is found among all assignments of truth to the formula's parts.

Source: Lichtenstein, Pnueli 1985, Checking that finite state concurrent programs satisfy their
linear specification. Nothing is shared with the automata of the package but the formulas.
"""

from collections.abc import Callable, Sequence

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
)


MAX_ELEMENTS = 6  # parts about the next configuration, each true or false

#: A formula of linear time: a set of states, `not`, `and`, `next`, `until`.
Core = tuple


class TooManyElements(ValueError):
    """A formula that takes too long by this method."""


def holds_in(
    formula: Formula,
    successors: Sequence[Sequence[int]],
    holds: Callable[[Comparison, int], bool],
    fair: Sequence[Formula] = (),
) -> list[bool]:
    """In which states a formula about single states holds, where paths are `fair` ones only."""
    states = range(len(successors))

    def where(formula: Formula) -> frozenset[int]:
        """The states in which a condition holds."""
        match formula:
            case Comparison():
                return frozenset(state for state in states if holds(formula, state))
            case Not(part):
                return frozenset(states) - where(part)
            case And(parts):
                return frozenset(states).intersection(*map(where, parts))
            case Or(parts):
                return frozenset().union(*map(where, parts))
            case Implies(left, right):
                return frozenset(states) - where(left) | where(right)
            case Quantified(True, part):
                return frozenset(states) - some(negated(core(part)))
            case Quantified(False, part):
                return some(core(part))
        raise AssertionError(formula)

    def some(path: Core) -> frozenset[int]:
        for condition in fair:
            path = ("and", path, core(condition))
        return begins(path, successors)

    def core(formula: Formula, within: int | None = None) -> Core:
        always = ("set", frozenset(states))
        match formula:
            case Comparison() | Quantified():
                return ("set", where(formula))
            case Not(part):
                return negated(core(part))
            case And(parts):
                found = always
                for part in parts:
                    found = ("and", found, core(part))
                return found
            case Or(parts):
                return negated(core(And(tuple(Not(part) for part in parts))))
            case Implies(left, right):
                return core(Or((Not(left), right)))
            case Within(steps, part):
                return core(part, steps)
            case Temporal("next", part):
                return ("next", core(part))
            case Temporal("eventually", part):
                return until(always, core(part), within)
            case Temporal("never", part):
                return negated(until(always, core(part), within))
            case Temporal("always", part):
                return negated(until(always, negated(core(part)), within))
            case Temporal("infinitely often", part):
                return core(Temporal("always", Temporal("eventually", part)))
            case Temporal("steady", part):
                return core(Temporal("eventually", Temporal("always", part)))
            case InOrder(left, "until", right):
                return until(core(left), core(right), within)
            case InOrder(left, "weak until", right):
                # Not: not right, until neither.
                neither = And((Not(left), Not(right)))
                return negated(until(core(Not(right)), core(neither), within))
            case InOrder(left, "preceded by", right):
                return core(InOrder(Not(left), "weak until", right), within)
            case InOrder(left, "followed by", right):
                later = until(always, core(right), within)
                return negated(until(always, ("and", core(left), negated(later)), None))
        raise AssertionError(formula)

    found = where(formula)
    return [state in found for state in states]


def negated(path: Core) -> Core:
    return path[1] if path[0] == "not" else ("not", path)


def until(left: Core, right: Core, within: int | None) -> Core:
    if within is None:
        return ("until", left, right)
    found = right
    for _ in range(within):
        found = negated(("and", negated(right), negated(("and", left, ("next", found)))))
    return found


def begins(path: Core, successors: Sequence[Sequence[int]]) -> frozenset[int]:
    """The states in which a path of which a formula holds begins."""
    elements: dict[Core, int] = {}
    order: list[Core] = []  # all parts, each after its own

    def collect(part: Core) -> None:
        if part not in order:
            for own in part[1:] if part[0] != "set" else ():
                collect(own)
            order.append(part)
            if part[0] in ("next", "until"):
                elements[part] = len(elements)

    collect(path)
    if len(elements) > MAX_ELEMENTS:
        raise TooManyElements

    promises = [part for part in elements if part[0] == "until"]
    nexts = [part for part in elements if part[0] == "next"]
    assignments = range(2 ** len(elements))
    every = (1 << len(assignments)) - 1
    # A set of assignments is a number with a bit for each: those in which an element is true.
    true_in = {
        part: sum(1 << bits for bits in assignments if bits >> element & 1)
        for part, element in elements.items()
    }
    # Of each node, a state and an assignment: what it asks of the elements of the next one, what
    # that has to say to the `next`s of this one, which promises are not open, and the formula.
    nodes: dict[tuple[int, int], tuple[int, int, int, int, int, bool]] = {}
    for state in range(len(successors)):
        value: dict[Core, int] = {}
        for part in order:
            match part:
                case "set", own:
                    value[part] = every if state in own else 0
                case "not", own:
                    value[part] = every & ~value[own]
                case "and", left, right:
                    value[part] = value[left] & value[right]
                case _:
                    value[part] = true_in[part]
        possible, masks, kept = every, [], []
        for part in promises:
            _, left, right = part
            is_passed_on = value[left] & ~value[right]
            possible &= is_passed_on | ~(value[part] ^ value[right])
            masks.append((is_passed_on, 1 << elements[part]))
            kept.append(value[right] | (every & ~value[part]))
        asked = [value[part] for part in nexts]
        said = [value[part[1]] for part in nexts]
        for bits in assignments:
            if possible >> bits & 1:
                mask = sum(bit for own, bit in masks if own >> bits & 1)
                one, two, three = (_number(some, bits) for some in (asked, said, kept))
                holds = bool(value[path] >> bits & 1)
                nodes[state, bits] = (mask, bits & mask, one, two, three, holds)
    by_said: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for node in nodes:
        by_said.setdefault((node[0], nodes[node][3]), []).append(node)
    before: dict[tuple[int, int], list[tuple[int, int]]] = {node: [] for node in nodes}
    for node, (mask, wanted, asked, *_) in nodes.items():
        for target in {*successors[node[0]]}:
            for after in by_said.get((target, asked), ()):
                if after[1] & mask == wanted:
                    before[after].append(node)

    alive = set(nodes)
    while True:
        size = len(alive)
        for number in range(max(len(promises), 1)):
            found = {node for node in alive if not promises or nodes[node][4] >> number & 1}
            todo = list(found)
            while todo:
                more = [node for node in before[todo.pop()] if node in alive and node not in found]
                found.update(more)
                todo += more
            alive &= {node for after in found for node in before[after]}
        if len(alive) == size:
            return frozenset(state for state, bits in alive if nodes[state, bits][5])


def _number(sets: list[int], bits: int) -> int:
    """The sets that have an assignment, as bits."""
    return sum((own >> bits & 1) << number for number, own in enumerate(sets))
