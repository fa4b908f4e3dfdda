"""From the text of a query to its formula."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from .errors import QueryError
from .formula import (
    And,
    Comparison,
    Formula,
    Implies,
    InOrder,
    Not,
    Observed,
    Or,
    Query,
    Temporal,
    Variable,
)
from .messages import syntax_error


MAX_LENGTH = 2**16  # characters
MAX_DEPTH = 60  # operators and parentheses inside each other
MAX_NUMBER = 2**31 - 1
# Sums with such coefficients stay within 64 bits for all spikes of 32 bits.
_MAX_COEFFICIENTS = 2**30


def parse_query(text: str) -> Query:
    """A query of the language of `docs/checking.md`. Whether it can be checked, and whether its
    neurons exist, is told later.

    **Raises:** `QueryError` with the place where the text is no query.
    """
    if len(text) > MAX_LENGTH:
        problem = f"the query has {len(text):,} characters (at most {MAX_LENGTH:,} are read)"
        raise QueryError("", 0, problem)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    _check_depth(text, tree)
    *quantifier, formula = tree.children
    kinds = [node.type for node in quantifier if isinstance(node, Token)]
    return Query(text, "SOME" not in kinds, _Builder(text).condition(formula))


@cache
def _parser() -> Lark:
    grammar = files("snpjax.check").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        start="query",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        propagate_positions=True,
    )


def _check_depth(text: str, tree: Tree) -> None:
    depths: dict[int, int] = {}
    for node in tree.iter_subtrees():  # children first
        below = [depths.get(id(child), 0) for child in node.children]
        depths[id(node)] = depth = 1 + max(below, default=0)
        if depth > MAX_DEPTH:
            problem = f"the query is nested more than {MAX_DEPTH} deep (split it)"
            raise QueryError(text, _start(node), problem)


@dataclass(frozen=True)
class _Sum:
    """A linear expression."""

    coefficients: dict[Variable, int]
    constant: int
    start: int
    end: int

    def plus(self, other: "_Sum", factor: int, end: int) -> "_Sum":
        total = dict(self.coefficients)
        for variable, coefficient in other.coefficients.items():
            total[variable] = total.get(variable, 0) + factor * coefficient
        return _Sum(total, self.constant + factor * other.constant, self.start, end)

    def times(self, factor: int, start: int, end: int) -> "_Sum":
        scaled = {variable: factor * x for variable, x in self.coefficients.items()}
        return _Sum(scaled, factor * self.constant, start, end)


_UNARY: dict[str, Callable[[Formula, int, int], Formula]] = {
    "NOT": Not,
    "ALWAYS": lambda part, start, end: Temporal("always", part, start, end),
    "NEVER": lambda part, start, end: Temporal("never", part, start, end),
    "EVENTUALLY": lambda part, start, end: Temporal("eventually", part, start, end),
    "NEXT": lambda part, start, end: Temporal("next", part, start, end),
    "STEADY": lambda part, start, end: Temporal("steady", part, start, end),
    "INFINITELY": lambda part, start, end: Temporal("infinitely often", part, start, end),
}


class _Builder:
    """Formulas and sums of the nodes of a tree; each knows which of the two it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def condition(self, node: Tree | Token) -> Formula:
        """The formula of a node. A number is none, but `emits(n)` alone means any spikes."""
        built = self.build(node)
        if not isinstance(built, _Sum):
            return built
        match list(built.coefficients.items()):
            case [(Variable(Observed.EMITS) as emits, 1)] if built.constant == 0:
                return Comparison(((emits, 1),), ">=", 1, built.start, built.end)
        source = self.text[built.start : built.end]
        raise QueryError(
            self.text,
            built.start,
            f"this is a number, where a condition is needed (compare it: {source} > 0)",
        )

    def number(self, node: Tree | Token) -> _Sum:
        built = self.build(node)
        if isinstance(built, _Sum):
            return built
        problem = "this is a condition, where a number is needed (only numbers are compared)"
        raise QueryError(self.text, built.start, problem)

    def build(self, node: Tree | Token) -> Formula | _Sum:
        start, end = _start(node), _end(node)
        if isinstance(node, Token):
            return self._leaf(node, start, end)
        match node.data:
            case "parentheses":
                return self.build(node.children[1])
            case "name":
                return _of(Variable(Observed.SPIKES, self._name(node), 0, start), start, end)
            case "observation":
                return self._observation(node, start, end)
            case "sum":
                return self._sum(node, end)
            case "product":
                return self._product(node, start, end)
            case "negative":
                return self.number(node.children[1]).times(-1, start, end)
            case "comparison":
                return self._comparison(node, start, end)
            case "operation":
                operator = node.children[0]
                assert isinstance(operator, Token)
                part = self.condition(node.children[-1])
                return _UNARY[operator.type](part, start, end)
            case "conjunction":
                return And(self._conditions(node), start, end)
            case "disjunction":
                return Or(self._conditions(node), start, end)
            case "sequence":
                return self._sequence(node, start, end)
        left, _, right = node.children
        return Implies(self.condition(left), self.condition(right), start, end)

    def _leaf(self, token: Token, start: int, end: int) -> Formula | _Sum:
        if token.type == "NUMBER":
            return _Sum({}, self._value(token), start, end)
        if token.type == "STEP":
            return _of(Variable(Observed.STEP, at=start), start, end)
        observed = Observed.FINAL if token.type == "FINAL" else Observed.HALTED
        return Comparison(((Variable(observed, at=start), 1),), ">=", 1, start, end)

    def _observation(self, node: Tree, start: int, end: int) -> Formula | _Sum:
        kind, _, named, *rest = node.children
        assert isinstance(kind, Token) and isinstance(named, Tree)
        name, at = self._name(named), _start(named)
        match kind.type:
            case "EMITS":
                return _of(Variable(Observed.EMITS, name, 0, at), start, end)
            case "TIMER":
                return _of(Variable(Observed.TIMER, name, 0, at), start, end)
            case "OPEN":
                timer = Variable(Observed.TIMER, name, 0, at)
                return Comparison(((timer, 1),), "=", 0, start, end)
        _, rule, _ = rest
        assert isinstance(rule, Token)
        fires = Variable(Observed.FIRES, name, self._value(rule), at)
        return Comparison(((fires, 1),), ">=", 1, start, end)

    def _sum(self, node: Tree, end: int) -> _Sum:
        first, *rest = node.children
        total = self.number(first)
        for sign, part in zip(rest[::2], rest[1::2], strict=True):
            assert isinstance(sign, Token)
            factor = 1 if sign.type == "PLUS" else -1
            total = total.plus(self.number(part), factor, end)
        return total

    def _product(self, node: Tree, start: int, end: int) -> _Sum:
        total = _Sum({}, 1, start, end)
        for part in node.children[::2]:
            factor = self.number(part)
            if not any(factor.coefficients.values()):
                total = total.times(factor.constant, start, end)
            elif not any(total.coefficients.values()):
                total = factor.times(total.constant, start, end)
            else:
                problem = "two numbers that vary are multiplied (one of them has to be constant)"
                raise QueryError(self.text, factor.start, problem)
        return total

    def _comparison(self, node: Tree, start: int, end: int) -> Formula:
        left, relation, right = node.children
        assert isinstance(relation, Token)
        difference = self.number(left).plus(self.number(right), -1, end)
        terms = tuple((v, x) for v, x in difference.coefficients.items() if x)
        constant = -difference.constant
        if sum(abs(x) for _, x in terms) + abs(constant) // 2**31 > _MAX_COEFFICIENTS:
            problem = "the numbers of this comparison are too large (at most 2^30 in all)"
            raise QueryError(self.text, start, problem)
        match relation.type:
            case "EQUAL":
                return Comparison(terms, "=", constant, start, end)
            case "UNEQUAL":
                return Not(Comparison(terms, "=", constant, start, end), start, end)
            case "AT_MOST":
                return Comparison(terms, "<=", constant, start, end)
            case "LESS":
                return Comparison(terms, "<=", constant - 1, start, end)
            case "AT_LEAST":
                return Comparison(terms, ">=", constant, start, end)
        return Comparison(terms, ">=", constant + 1, start, end)

    def _conditions(self, node: Tree) -> tuple[Formula, ...]:
        return tuple(self.condition(part) for part in node.children[::2])

    def _sequence(self, node: Tree, start: int, end: int) -> Formula:
        left, operator, *_, right = node.children
        assert isinstance(operator, Token)
        first, second = self.condition(left), self.condition(right)
        match operator.type:
            case "UNTIL":
                return InOrder(first, "until", second, start, end)
            case "WEAK":
                return InOrder(first, "weak until", second, start, end)
            case "FOLLOWED":
                return InOrder(first, "followed by", second, start, end)
        return InOrder(first, "preceded by", second, start, end)

    def _name(self, node: Tree) -> str:
        (token,) = node.children
        assert isinstance(token, Token)
        if token.type == "NAME":
            return token.value
        return re.sub(r"\\(.)", r"\1", token.value[1:-1], flags=re.DOTALL)

    def _value(self, token: Token) -> int:
        digits = token.value.lstrip("0") or "0"
        if len(digits) <= 10 and int(digits) <= MAX_NUMBER:
            return int(digits)
        problem = f"the number is too large (at most {MAX_NUMBER})"
        raise QueryError(self.text, token.start_pos or 0, problem)


def _of(variable: Variable, start: int, end: int) -> _Sum:
    return _Sum({variable: 1}, 0, start, end)


def _start(node: Tree | Token) -> int:
    return (node.start_pos if isinstance(node, Token) else node.meta.start_pos) or 0


def _end(node: Tree | Token) -> int:
    return (node.end_pos if isinstance(node, Token) else node.meta.end_pos) or 0
