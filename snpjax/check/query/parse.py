"""From the text of a query to its formula."""

import re
from dataclasses import dataclass
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from ..._text.grammar import lalr_parser
from .errors import QueryError
from .formula import (
    AbstractPlaced,
    And,
    Comparison,
    Formula,
    Implies,
    InOrder,
    Not,
    Observed,
    Operator,
    Or,
    Order,
    Query,
    Relation,
    Temporal,
    Variable,
)
from .messages import meant, syntax_error


MAX_LENGTH = 2**16  # characters
MAX_DEPTH = 60  # operators and parentheses inside each other
MAX_NUMBER = 2**31 - 1
# Sums with such coefficients stay within 64 bits for all spikes of 32 bits.
_MAX_COEFFICIENTS = 2**30


def parse_query(text: str) -> Query:
    """Parse a query of the language that "Checking" in the documentation describes.

    **Arguments:**

    - `text`: the query, for example `"always n3 <= 4"`.

    **Returns:** a `Query`. Only its syntax has been checked; whether a system has its neurons is
    checked when the query is evaluated.

    **Raises:** `QueryError` with the place of a syntax error.
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
    return lalr_parser("snpjax.check", start="query", lexer="basic", propagate_positions=True)


def _check_depth(text: str, tree: Tree) -> None:
    depths: dict[int, int] = {}
    for node in tree.iter_subtrees():  # children first
        below = [depths.get(id(child), 0) for child in node.children]
        depths[id(node)] = depth = 1 + max(below, default=0)
        if depth > MAX_DEPTH:
            problem = f"the query is nested more than {MAX_DEPTH} deep (split it)"
            raise QueryError(text, _start(node), problem)


@dataclass(frozen=True)
class _Sum(AbstractPlaced):
    """A linear expression."""

    coefficients: dict[Variable, int]
    constant: int = 0

    def plus(self, other: "_Sum", factor: int, end: int) -> "_Sum":
        total = dict(self.coefficients)
        for variable, coefficient in other.coefficients.items():
            total[variable] = total.get(variable, 0) + factor * coefficient
        return _Sum(total, self.constant + factor * other.constant, start=self.start, end=end)

    def times(self, factor: int, **place: int) -> "_Sum":
        scaled = {variable: factor * x for variable, x in self.coefficients.items()}
        return _Sum(scaled, factor * self.constant, **place)


# What tokens stand for: operators on one formula and between two, and relations, with what is added
# to the constant.
_OPERATORS: dict[str, Operator] = {
    "ALWAYS": "always",
    "NEVER": "never",
    "EVENTUALLY": "eventually",
    "NEXT": "next",
    "STEADY": "steady",
    "INFINITELY": "infinitely often",
}
_ORDERS: dict[str, Order] = {
    "UNTIL": "until",
    "WEAK": "weak until",
    "FOLLOWED": "followed by",
    "PRECEDED": "preceded by",
}
_RELATIONS: dict[str, tuple[Relation, int]] = {
    "EQUAL": ("=", 0),
    "UNEQUAL": ("=", 0),
    "AT_MOST": ("<=", 0),
    "LESS": ("<=", -1),
    "AT_LEAST": (">=", 0),
    "MORE": (">=", 1),
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
                return Comparison(((emits, 1),), ">=", 1, start=built.start, end=built.end)
        source = self.text[built.start : built.end]
        raise QueryError(
            self.text,
            built.start,
            "this is a number, where a condition is needed "
            f"(compare it: {source} > 0){meant(source)}",
        )

    def number(self, node: Tree | Token) -> _Sum:
        built = self.build(node)
        if isinstance(built, _Sum):
            return built
        problem = "this is a condition, where a number is needed (only numbers are compared)"
        raise QueryError(self.text, built.start, problem)

    def build(self, node: Tree | Token) -> Formula | _Sum:
        place = {"start": _start(node), "end": _end(node)}
        if isinstance(node, Token):
            return self._leaf(node, **place)
        match node.data:
            case "parentheses":
                return self.build(node.children[1])
            case "name":
                spikes = Variable(Observed.SPIKES, self._name(node), at=_start(node))
                return _Sum({spikes: 1}, **place)
            case "observation":
                return self._observation(node, **place)
            case "sum":
                return self._sum(node, **place)
            case "product":
                return self._product(node, **place)
            case "negative":
                return self.number(node.children[1]).times(-1, **place)
            case "comparison":
                return self._comparison(node, **place)
            case "congruence":
                return self._congruence(node, **place)
            case "conjunction":
                return And(self._conditions(node), **place)
            case "disjunction":
                return Or(self._conditions(node), **place)
            case "operation":
                part, operator = self.condition(node.children[-1]), _type(node.children[0])
                if operator == "NOT":
                    return Not(part, **place)
                return Temporal(_OPERATORS[operator], part, **place)
        left, operator, *_, right = node.children
        first, second = self.condition(left), self.condition(right)
        if node.data == "implication":
            return Implies(first, second, **place)
        return InOrder(first, _ORDERS[_type(operator)], second, **place)

    def _leaf(self, token: Token, **place: int) -> Formula | _Sum:
        if token.type == "NUMBER":
            return _Sum({}, self._value(token), **place)
        variable = Variable(Observed(token.type.lower()), at=place["start"])
        if token.type == "STEP":
            return _Sum({variable: 1}, **place)
        return Comparison(((variable, 1),), ">=", 1, **place)

    def _observation(self, node: Tree, **place: int) -> Formula | _Sum:
        kind, _, named, *rest = node.children
        assert isinstance(named, Tree)
        name, at = self._name(named), _start(named)
        match _type(kind):
            case "EMITS" | "TIMER" | "PENDING" | "IN_FLIGHT" as observed:
                variable = Variable(Observed(observed.lower()), name, at=at)
                return _Sum({variable: 1}, **place)
            case "OPEN":
                timer = Variable(Observed.TIMER, name, at=at)
                return Comparison(((timer, 1),), "=", 0, **place)
        _, rule, _ = rest
        assert isinstance(rule, Token)
        fires = Variable(Observed.FIRES, name, self._value(rule), at)
        return Comparison(((fires, 1),), ">=", 1, **place)

    def _sum(self, node: Tree, *, start: int, end: int) -> _Sum:
        del start  # which is that of the first part
        first, *rest = node.children
        total = self.number(first)
        for sign, part in zip(rest[::2], rest[1::2], strict=True):
            factor = 1 if _type(sign) == "PLUS" else -1
            total = total.plus(self.number(part), factor, end)
        return total

    def _product(self, node: Tree, **place: int) -> _Sum:
        total = _Sum({}, 1, **place)
        for part in node.children[::2]:
            factor = self.number(part)
            if not any(factor.coefficients.values()):
                total = total.times(factor.constant, **place)
            elif not any(total.coefficients.values()):
                total = factor.times(total.constant, **place)
            else:
                problem = "two numbers that vary are multiplied (one of them has to be constant)"
                raise QueryError(self.text, factor.start, problem)
        return total

    def _comparison(self, node: Tree, **place: int) -> Formula:
        left, relation, right = node.children
        difference = self.number(left).plus(self.number(right), -1, place["end"])
        stands_for, more = _RELATIONS[_type(relation)]
        constant = more - difference.constant
        terms = self._terms(difference, constant, **place)
        compared = Comparison(terms, stands_for, constant, **place)
        return Not(compared, **place) if _type(relation) == "UNEQUAL" else compared

    def _congruence(self, node: Tree, **place: int) -> Formula:
        left, _, divisor, relation, right = node.children
        assert isinstance(divisor, Token) and isinstance(right, Token)
        if isinstance(left, Tree) and left.data == "sum":
            source = self.text[_start(left) : _end(left)]
            problem = f"`mod` follows a sum (put it in parentheses: ({source}) mod {divisor})"
            raise QueryError(self.text, _start(left), problem)
        total, modulus, remainder = self.number(left), self._value(divisor), self._value(right)
        if not modulus:
            problem = "nothing is divided by 0 (write a positive number after `mod`)"
            raise QueryError(self.text, _start(divisor), problem)
        if remainder >= modulus:
            problem = f"a remainder modulo {modulus} is at most {modulus - 1}, not {remainder}"
            raise QueryError(self.text, _start(right), problem)
        constant = remainder - total.constant
        terms = self._terms(total, constant, **place)
        compared = Comparison(terms, "=", constant % modulus, modulus, **place)
        return Not(compared, **place) if _type(relation) == "UNEQUAL" else compared

    def _terms(self, total: _Sum, constant: int, **place: int) -> tuple[tuple[Variable, int], ...]:
        terms = tuple((v, x) for v, x in total.coefficients.items() if x)
        if sum(abs(x) for _, x in terms) + abs(constant) // 2**31 > _MAX_COEFFICIENTS:
            problem = "the numbers of this comparison are too large (at most 2^30 in all)"
            raise QueryError(self.text, place["start"], problem)
        return terms

    def _conditions(self, node: Tree) -> tuple[Formula, ...]:
        return tuple(self.condition(part) for part in node.children[::2])

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


def _type(token: Tree | Token) -> str:
    assert isinstance(token, Token)
    return token.type


def _start(node: Tree | Token) -> int:
    return (node.start_pos if isinstance(node, Token) else node.meta.start_pos) or 0


def _end(node: Tree | Token) -> int:
    return (node.end_pos if isinstance(node, Token) else node.meta.end_pos) or 0
