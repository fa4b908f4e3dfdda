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
)


MAX_ELEMENTS = 8  # parts about the next configuration, each true or false

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

    def core(formula: Formula) -> Core:
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
            case Temporal("next", part):
                return ("next", core(part))
            case Temporal("eventually", part, within):
                return until(always, core(part), within)
            case Temporal("never", part, within):
                return negated(until(always, core(part), within))
            case Temporal("always", part, within):
                return negated(until(always, negated(core(part)), within))
            case Temporal("infinitely often", part):
                return core(Temporal("always", Temporal("eventually", part)))
            case Temporal("steady", part):
                return core(Temporal("eventually", Temporal("always", part)))
            case InOrder(left, "until", right, within):
                return until(core(left), core(right), within)
            case InOrder(left, "weak until", right, within):
                # Not: not right, until neither.
                neither = And((Not(left), Not(right)))
                return negated(until(core(Not(right)), core(neither), within))
            case InOrder(left, "preceded by", right, within):
                return core(InOrder(Not(left), "weak until", right, within))
            case InOrder(left, "followed by", right, within):
                later = Temporal("eventually", right, within)
                return core(Temporal("always", Implies(left, later)))
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
    # Of each node: what it asks of the elements of the next one, what that has to say to the
    # `next`s of this one, and which promises are not open.
    nodes: dict[tuple[int, int], tuple[int, int, int, int, int, bool]] = {}
    for state in range(len(successors)):
        for bits in range(2 ** len(elements)):
            value: dict[Core, bool] = {}
            for part in order:
                match part:
                    case "set", own:
                        value[part] = state in own
                    case "not", own:
                        value[part] = not value[own]
                    case "and", left, right:
                        value[part] = value[left] and value[right]
                    case _:
                        value[part] = bool(bits >> elements[part] & 1)
            mask = wanted = kept = 0
            for number, part in enumerate(promises):
                _, left, right = part
                if value[right] or not value[left]:
                    if value[part] != value[right]:
                        break
                else:
                    mask |= 1 << elements[part]
                    wanted |= value[part] << elements[part]
                kept |= (value[right] or not value[part]) << number
            else:
                asked = sum(value[part] << number for number, part in enumerate(nexts))
                said = sum(value[part[1]] << number for number, part in enumerate(nexts))
                nodes[state, bits] = (mask, wanted, asked, said, kept, value[path])
    before: dict[tuple[int, int], list[tuple[int, int]]] = {node: [] for node in nodes}
    for node, (mask, wanted, asked, *_) in nodes.items():
        for after in nodes:
            if after[0] in successors[node[0]]:
                if after[1] & mask == wanted and nodes[after][3] == asked:
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
