"""From the text of a query to its formula."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

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
    Monomial,
    Not,
    Observed,
    Operator,
    Or,
    Order,
    Quantified,
    Query,
    Relation,
    Temporal,
    Variable,
    VariableProduct,
    Within,
    all_parts,
    factors_of,
)
from .messages import asks_for_a_number, looks_symbolic, meant, syntax_error


MAX_LENGTH = 2**16  # characters
MAX_DEPTH = 60  # operators and parentheses inside each other
MAX_NUMBER = 2**31 - 1
MAX_EQUIVALENCES = 8  # each writes its two sides twice
MAX_STEPS = 1_000  # of an operator: each is a state of its automaton
MAX_FACTORS = 16  # of a product of numbers that vary
MAX_TERMS = 1_000  # of sums that are multiplied
# Sums with such coefficients stay within 64 bits for all spikes of 32 bits.
_MAX_COEFFICIENTS = 2**30


def parse_query(text: str, *, fair: Sequence[str] = (), in_brackets: bool = False) -> Query:
    """Parse a query of the language that "Checking" in the documentation describes.

    **Arguments:**

    - `text`: the query, for example `"always n3 <= 4"`.
    - `fair`: conditions that hold infinitely often on fair paths, or formulas about these paths;
      the query and its quantifiers are about fair paths only.
    - `in_brackets`: the text stands in the brackets of PRISM, `P=? [ ... ]`. Symbols that nuXmv and
      PRISM group differently are refused then.

    **Returns:** a `Query`. Only its syntax has been checked; whether a system has its neurons is
    checked when the query is evaluated.

    **Raises:** `QueryError` with the place of a syntax error.
    """
    if len(text) > MAX_LENGTH:
        problem = f"the query has {len(text):,} characters (at most {MAX_LENGTH:,} are read)"
        raise QueryError("", 0, problem)
    tree = _tree(text)
    _check_depth(text, tree)
    if len(both := [*tree.find_data("equivalence")]) > MAX_EQUIVALENCES:
        problem = f"a query has at most {MAX_EQUIVALENCES} equivalences (split it)"
        raise QueryError(text, _start(both[-1]), problem)
    formula = _Builder(text, in_brackets and looks_symbolic(text)).condition(tree.children[0])
    some = tuple(_fair(condition) for condition in fair)
    if isinstance(formula, Quantified):
        return Query(text, formula.on_all_paths, formula.part, some)
    return Query(text, True, formula, some)


def parse_reward(text: str) -> tuple[Formula, Comparison, int]:
    """A text "n1 + 2*n2 until halted": until when, the terms of the sum, and its constant.

    **Raises:** `QueryError` with the place where the text is no such thing.
    """
    tree, builder = _tree(text), _Builder(text)
    _check_depth(text, tree)
    top = tree.children[0]
    is_until = isinstance(top, Tree) and top.data == "sequence"
    if not (isinstance(top, Tree) and is_until and _type(top.children[1]) == "UNTIL"):
        problem = 'expected "steps to" and a condition, or a number, "until" and a condition'
        raise QueryError(text, _start(top), problem)
    left, _, *bound, right = top.children
    if bound:
        problem = "an expected value has no number of steps (leave it out)"
        raise QueryError(text, _start(bound[0]), problem)
    return builder.condition(right), *builder.reward(left)


def _fair(text: str) -> Query:
    """A condition of fair paths."""
    query = parse_query(text)
    places = [part.start for part in all_parts(query.formula) if isinstance(part, Quantified)]
    if not query.on_all_paths or places:
        problem = "a condition of fair paths says nothing of other paths (leave out `on ...`)"
        raise QueryError(text, min(places) if query.on_all_paths else 0, problem)
    return query


def _tree(text: str) -> Tree:
    """A query in words or else in symbols. The error is that of the language in which more of it
    can be read."""
    try:
        return _parser("grammar.lark").parse(text)
    except UnexpectedInput as error:
        problem = syntax_error(text, error)
    if asks_for_a_number(text):
        problem = "this asks for a number, which only `snpjax.check` answers (ask whether it holds)"
        raise QueryError(text, len(text) - len(text.lstrip()), problem)
    try:
        tree = _parser("symbols.lark").parse(text)
        if any(tree.find_pred(lambda node: node.data in _FORMULAS)):
            return tree
    except UnexpectedInput as error:
        other = syntax_error(text, error, in_symbols=True)
        if other.at > problem.at and looks_symbolic(text[: other.at + 1]):
            raise other from None
    raise problem


@cache
def _parser(name: str) -> Lark:
    options = {"start": "query", "lexer": "basic", "propagate_positions": True}
    return lalr_parser("snpjax.check", name, "conditions.lark", **options)


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
    """A polynomial."""

    coefficients: dict[Monomial, int]
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
_WRONG_SIGNS = {"ALWAYS": ("WITHIN",), "NEVER": ()}
# Nodes that are no conditions on one configuration.
_FORMULAS = (
    *("implication", "equivalence", "sequence", "disjunction", "conjunction"),
    *("operation", "branching", "quantified", "remainder"),
)
_UNBOUNDED: tuple[Operator, ...] = ("next", "steady", "infinitely often")
_SYMBOLS = {"G": "ALWAYS", "F": "EVENTUALLY", "X": "NEXT"}
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

    def __init__(self, text: str, in_brackets: bool = False) -> None:
        self.text, self.in_brackets = text, in_brackets

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

    def reward(self, node: Tree | Token) -> tuple[Comparison, int]:
        """A sum as terms and a constant. The terms are those of a remainder, whose variables are
        needed exactly."""
        total = self.number(node)
        place = {"start": total.start, "end": total.end}
        terms = self._terms(total, total.constant, **place)
        return Comparison(terms, "=", 0, 2, **place), total.constant

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
                total, _, *rest = node.children
                if isinstance(total, Tree) and total.data == "sum":
                    source = self.text[_start(total) : _end(total)]
                    problem = "`mod` follows a sum (put it in parentheses: "
                    raise QueryError(
                        self.text, _start(total), f"{problem}({source}) mod {rest[0]})"
                    )
                return self._congruence(total, *rest, **place)
            case "remainder":
                _, _, total, _, divisor, _, *rest = node.children
                return self._congruence(total, divisor, *rest, **place)
            case "conjunction":
                return And(self._operands(node.children[::2]), **place)
            case "disjunction":
                return Or(self._operands(node.children[::2]), **place)
            case "operation":
                return self._operation(node, _type(node.children[0]), **place)
            case "quantified":
                on_all = any(isinstance(x, Token) and x.type == "ALL" for x in node.children)
                inner = _Builder(self.text, in_brackets=_type(node.children[0]) != "ON")
                (own,) = (x for x in node.children if not _is_sign(x))
                return Quantified(on_all, inner.condition(own), **place)
            case "branching":
                quantifier, operator = _type(node.children[0])
                path = self._operation(node, _SYMBOLS[operator], **place)
                return Quantified(quantifier == "A", path, **place)
        left, operator, *_, right = node.children
        if node.data == "sequence":
            return self._in_order(self.condition(left), node, self.condition(right), **place)
        first, second = self._operands([left, right])
        if node.data == "implication":
            return Implies(first, second, **place)
        return And((Implies(first, second), Implies(second, first)), **place)

    def _operation(self, node: Tree, kind: str, **place: int) -> Formula:
        """`not`, or an operator of time on one formula."""
        part = self.condition(node.children[-1])
        if kind == "NOT":
            return Not(part, **place)
        operator, (least, within) = _OPERATORS[kind], self._bound(node, kind)
        if within is not None and operator in _UNBOUNDED:
            problem = (
                f"`{operator}` has no number of steps (write `eventually within`, `always for`)"
            )
            raise QueryError(self.text, _start(node.children[0]), problem)
        formula: Formula = _within(within, Temporal(operator, part, **place))
        for _ in range(least):
            formula = Temporal("next", formula, **place)
        return formula

    def _in_order(self, first: Formula, node: Tree, second: Formula, **place: int) -> Formula:
        operator = node.children[1]
        least, within = self._bound(node, _type(operator))
        if least:
            problem = "only `F` and `G` begin after some steps (write a number alone: U<=5)"
            raise QueryError(self.text, _start(operator), problem)
        if _type(operator) in ("RELEASE", "DUAL"):
            both = And((first, second), **place)
            formula = InOrder(second, "weak until", both, **place)
        else:
            formula = InOrder(first, _ORDERS[_type(operator)], second, **place)
        return _within(within, formula)

    def _bound(self, node: Tree, kind: str) -> tuple[int, int | None]:
        """After how many steps what an operator speaks of begins, and how many more there are."""
        bound = next((x for x in node.children if isinstance(x, Tree) and x.data == "bound"), None)
        if bound is None:
            return 0, None
        sign = _type(bound.children[0])
        numbers = [self._value(x) for x in bound.children if _is_number(x)]
        least, most = numbers if len(numbers) == 2 else (0, *numbers)
        most -= sign == "LESS"
        problem = ""
        if sign in _WRONG_SIGNS.get(kind, ("FOR",)):
            problem = f"write `{'within' if sign == 'FOR' else 'for'} {most} steps` here"
        elif most > MAX_STEPS:
            problem = f"this is too far ahead (at most {MAX_STEPS:,} steps can be counted)"
        elif least > MAX_DEPTH:
            problem = f"this begins too late (after at most {MAX_DEPTH} steps)"
        elif most < least:
            problem = "there are no such steps (the first number is at most the second)"
        if problem:
            raise QueryError(self.text, _start(bound), problem)
        return least, most - least

    def _operands(self, nodes: Sequence[Tree | Token]) -> tuple[Formula, ...]:
        """Of `and`, `or` and `implies`. Inside of brackets nuXmv and PRISM read `F p & q`
        differently."""
        for node in nodes if self.in_brackets else ():
            if _has_until(node) or (node is not nodes[-1] and _ends_in_time(node)):
                problem = "nuXmv and PRISM read this differently inside of [ ] (use parentheses)"
                raise QueryError(self.text, _start(node), problem)
        return tuple(self.condition(node) for node in nodes)

    def _leaf(self, token: Token, **place: int) -> Formula | _Sum:
        if token.type == "NUMBER":
            return _Sum({}, self._value(token), **place)
        if token.type in ("TRUE", "FALSE"):  # 0 = 0, and 0 = 1
            return Comparison((), "=", int(token.type == "FALSE"), **place)
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
            total = self._times(total, self.number(part), **place)
        return total

    def _times(self, one: _Sum, other: _Sum, **place: int) -> _Sum:
        if len(one.coefficients) * len(other.coefficients) > MAX_TERMS:
            problem = (
                f"these sums have a product of more than {MAX_TERMS:,} terms (split the query)"
            )
            raise QueryError(self.text, other.start, problem)
        linear = one.times(other.constant).plus(_Sum(other.coefficients), one.constant, 0)
        found = linear.coefficients
        for left, x in one.coefficients.items():
            for right, y in other.coefficients.items():
                if x and y:
                    product = self._product_of(left, right)
                    found[product] = found.get(product, 0) + x * y
        return _Sum({x: factor for x, factor in found.items() if factor}, linear.constant, **place)

    def _product_of(self, left: Monomial, right: Monomial) -> VariableProduct:
        factors = sorted(
            (*factors_of(left), *factors_of(right)),
            key=lambda x: (x.observed.value, x.neuron, x.rule),
        )
        problem, at = "", factors_of(right)[0].at
        if len(factors) > MAX_FACTORS:
            problem = f"a product has at most {MAX_FACTORS} numbers that vary (split the query)"
        for variable in factors:
            if variable.observed.is_of_step:
                what, at = variable.observed.value, variable.at
                problem = f"`{what}` is of a step, and is multiplied by constants only (compare it)"
        if problem:
            raise QueryError(self.text, at, problem)
        return VariableProduct(tuple(factors))

    def _comparison(self, node: Tree, **place: int) -> Formula:
        left, relation, right = node.children
        difference = self.number(left).plus(self.number(right), -1, place["end"])
        stands_for, more = _RELATIONS[_type(relation)]
        constant = more - difference.constant
        terms = self._terms(difference, constant, **place)
        compared = Comparison(terms, stands_for, constant, **place)
        return Not(compared, **place) if _type(relation) == "UNEQUAL" else compared

    def _congruence(
        self,
        left: Tree | Token,
        divisor: Tree | Token,
        relation: Tree | Token,
        right: Tree | Token,
        **place: int,
    ) -> Formula:
        assert isinstance(divisor, Token) and isinstance(right, Token)
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

    def _terms(self, total: _Sum, constant: int, **place: int) -> tuple[tuple[Monomial, int], ...]:
        terms = tuple((v, x) for v, x in total.coefficients.items() if x)
        if sum(abs(x) for _, x in terms) + abs(constant) // 2**31 > _MAX_COEFFICIENTS:
            problem = "the numbers of this comparison are too large (at most 2^30 in all)"
            raise QueryError(self.text, place["start"], problem)
        return terms

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
        limit = f"tokens and spikes are explored up to {MAX_NUMBER}"
        problem = f"the number is too large ({limit}; scale the model down)"
        raise QueryError(self.text, token.start_pos or 0, problem)


def _within(steps: int | None, formula: Temporal | InOrder) -> Formula:
    if steps is None:
        return formula
    return Within(steps, formula, start=formula.start, end=formula.end)


def _is_sign(node: Tree | Token) -> bool:
    """Whether this is a word of a path quantifier or a bracket, not its formula."""
    signs = ("ON", "ALL", "SOME", "PATHS", "PATH", "LBRACKET", "RBRACKET")
    return isinstance(node, Token) and node.type in signs


def _is_number(node: Tree | Token) -> TypeGuard[Token]:
    return isinstance(node, Token) and node.type == "NUMBER"


def _has_until(node: Tree | Token) -> bool:
    return isinstance(node, Tree) and node.data == "sequence"


def _ends_in_time(node: Tree | Token) -> bool:
    """Whether the last operator of a formula in symbols is one of time, without parentheses."""
    if isinstance(node, Token) or node.data not in ("operation", "conjunction", "disjunction"):
        return False
    is_of_time = node.data == "operation" and _type(node.children[0]) != "NOT"
    return is_of_time or _ends_in_time(node.children[-1])


def _type(token: Tree | Token) -> str:
    assert isinstance(token, Token)
    return token.type


def _start(node: Tree | Token) -> int:
    return (node.start_pos if isinstance(node, Token) else node.meta.start_pos) or 0


def _end(node: Tree | Token) -> int:
    return (node.end_pos if isinstance(node, Token) else node.meta.end_pos) or 0
