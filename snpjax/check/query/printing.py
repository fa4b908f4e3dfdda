"""Queries in the languages of nuXmv and PRISM."""

import re
from typing import Any

from ...explore import Graph
from .file_names import Word, in_files
from .formula import (
    And,
    Comparison,
    Formula,
    Implies,
    InOrder,
    Not,
    Observed,
    Or,
    Quantified,
    Query,
    Temporal,
    Variable,
    Within,
    all_parts,
    factors_of,
    is_state_formula,
    parts_of,
    with_part,
)
from .messages import KEYWORDS, LETTERS
from .parse import parse_query


_OPERATORS = {"always": "G", "eventually": "F", "next": "X", "until": "U", "weak until": "W"}
_is_word = re.compile(r"[^\W\d]\w*").fullmatch


def to_nuxmv(query: Query | str, *, graph: Graph[Any, Any] | None = None) -> str:
    """A query as a formula of nuXmv: of LTL if it is about all paths and no path quantifier stands
    inside, of CTL otherwise.

    **Arguments:**

    - `query`: a query, or its text. Neurons keep their names.
    - `graph`: write the names of its .smv file (`write_graph`) instead: `spikes_n1`, `timer_n1`,
      `halting`.

    **Returns:** the formula, which `check` reads as well if no `graph` is passed.

    **Raises:** `QueryError` for a text that is not a query; `ValueError` for one that nuXmv has no
    formula for, as `on some path` with several operators of time, for fair paths, and for what the
    file does not have, as `emits` and `fires` of the last step.
    """
    query = _without_fair(query)
    formula, word = query.formula, _variable
    if graph is not None:
        formula, word = in_files(query, formula, graph, prism=False)
    if query.on_all_paths and not any(isinstance(x, Quantified) for x in all_parts(formula)):
        return _text(_without_bounds(_core(formula)), prism=False, word=word)
    return _text(_branching(query.on_all_paths, _core(formula)), prism=False, word=word)


def to_prism(query: Query | str, *, graph: Graph[Any, Any] | None = None) -> str:
    """A query as a property of PRISM, `A [ ... ]` or `E [ ... ]`.

    **Arguments:**

    - `query`: a query, or its text. Neurons keep their names.
    - `graph`: write the names of its .sta and .lab files (`write_graph`) instead: `spikes_n1`,
      `timer_n1`, `"halting"`.

    **Returns:** the property, which `check` reads as well if no `graph` is passed.

    **Raises:** `QueryError` for a text that is not a query; `ValueError` for fair paths, and for
    what the files do not have, as `emits` and `fires` of the last step.
    """
    query = _without_fair(query)
    formula, word = query.quantified, _variable
    if graph is not None:
        formula, word = in_files(query, formula, graph, prism=True)
    return _text(_core(formula), prism=True, word=word)


def _without_fair(query: Query | str) -> Query:
    query = parse_query(query) if isinstance(query, str) else query
    if query.fair:
        raise ValueError("Conditions of fair paths are not written. Give them to that tool itself.")
    return query


def _core(formula: Formula) -> Formula:
    """The same with fewer operators: always, eventually, next, until, weak until."""
    match formula:
        case Not(part):
            return Not(_core(part))
        case And(parts) | Or(parts):
            return type(formula)(tuple(map(_core, parts)))
        case Implies(left, right):
            return Implies(_core(left), _core(right))
        case Quantified(on_all_paths, part):
            return Quantified(on_all_paths, _core(part))
        case Within(steps, InOrder(left, "followed by", right)):
            later = Within(steps, Temporal("eventually", _core(right)))
            return Temporal("always", Implies(_core(left), later))
        case Within(steps, part):
            inner = _core(part)
            assert isinstance(inner, Temporal | InOrder)
            return Within(steps, inner)
        case Temporal("never", part):
            return Temporal("always", Not(_core(part)))
        case Temporal("infinitely often", part):
            return Temporal("always", Temporal("eventually", _core(part)))
        case Temporal("steady", part):
            return Temporal("eventually", Temporal("always", _core(part)))
        case Temporal(operator, part):
            return Temporal(operator, _core(part))
        case InOrder(left, "followed by", right):
            return Temporal("always", Implies(_core(left), Temporal("eventually", _core(right))))
        case InOrder(left, "preceded by", right):
            return InOrder(Not(_core(left)), "weak until", _core(right))
        case InOrder(left, operator, right):
            return InOrder(_core(left), operator, _core(right))
    return formula


def _without_bounds(formula: Formula) -> Formula:
    """The same with numbers of steps at `always` and `eventually` only, as nuXmv has them."""
    match formula:
        case Within(steps, InOrder(left, operator, right)):
            left, right = _without_bounds(left), _without_bounds(right)
            later = Within(steps, Temporal("eventually", right))
            soon = And((InOrder(left, "until", right), later))
            return soon if operator == "until" else Or((Within(steps, _always(left)), soon))
    for number, part in enumerate(parts_of(formula)):
        formula = with_part(formula, number, _without_bounds(part))
    return formula


def _always(formula: Formula) -> Temporal:
    return Temporal("always", formula)


def _branching(on_all_paths: bool, path: Formula) -> Formula:
    """A formula on all paths or on some as one of CTL, where each operator of time has a quantifier
    of its own. **Raises:** `ValueError` if there is none that these rules find."""
    match path:
        case Quantified(on_all, part):
            return _branching(on_all, part)
        case Comparison():
            return path
        case Not(part):
            return Not(_branching(not on_all_paths, part))
        case And(parts) | Or(parts):
            ahead = [part for part in parts if not is_state_formula(part)]
            if isinstance(path, And) == on_all_paths or len(ahead) <= 1:
                return type(path)(tuple(_branching(on_all_paths, part) for part in parts))
        case Implies(left, right) if not on_all_paths or is_state_formula(left):
            return Implies(_branching(not on_all_paths, left), _branching(on_all_paths, right))
        case Temporal(operator, part):
            splits = operator == "next" or (operator == "always") == on_all_paths
            if splits or is_state_formula(part):
                return Quantified(on_all_paths, Temporal(operator, _branching(on_all_paths, part)))
        case InOrder(left, operator, right) if is_state_formula(left):
            one, other = _branching(on_all_paths, left), _branching(on_all_paths, right)
            if operator == "until" and (is_state_formula(right) or not on_all_paths):
                return Quantified(on_all_paths, InOrder(one, "until", other))
            if operator == "weak until" and is_state_formula(right):
                neither = And((Not(one), Not(other)))
                return Not(Quantified(not on_all_paths, InOrder(Not(other), "until", neither)))
    where = "on all paths" if on_all_paths else "on some path"
    raise ValueError(
        f"CTL of nuXmv has no formula for `{_text(path, prism=False, word=_variable)}` {where}, or "
        "none that is found. Split the query, or write it for PRISM."
    )


def _text(formula: Formula, *, prism: bool, word: Word) -> str:
    def operand(part: Formula, *, is_only: bool = False) -> str:
        own = _text(part, prism=prism, word=word)
        is_unary = isinstance(part, Not) or (isinstance(part, Temporal) and is_only)
        match part:
            case Within(_, Temporal()):
                is_unary = is_only
            case Quantified():
                is_unary = own.endswith("]") or is_only
        return own if is_unary or own in ("halted", "final", "halting", '"halting"') else f"({own})"

    match formula:
        case Comparison():
            return _comparison(formula, prism=prism, word=word)
        case And(parts) | Or(parts):
            sign = " & " if isinstance(formula, And) else " | "
            nothing = "0 = 0" if isinstance(formula, And) else "0 = 1"
            return sign.join(map(operand, parts)) if parts else nothing
        case Not(part):
            return f"!{operand(part, is_only=True)}"
        case Implies(left, right):
            return f"{operand(left)} {'=>' if prism else '->'} {operand(right)}"
        case Quantified(on_all_paths, part):
            quantifier = "A" if on_all_paths else "E"
            if not prism and isinstance(part, Temporal):
                return f"{quantifier}{_text(part, prism=False, word=word)}"
            return f"{quantifier} [ {_text(part, prism=prism, word=word)} ]"
        case Within(steps, Temporal(operator, part)):
            bound = f"<={steps}" if prism else f" [0,{steps}]"
            return f"{_OPERATORS[operator]}{bound} {operand(part, is_only=True)}"
        case Within(steps, InOrder(left, operator, right)):
            return f"{operand(left)} {_OPERATORS[operator]}<={steps} {operand(right)}"
        case Temporal(operator, part):
            return f"{_OPERATORS[operator]} {operand(part, is_only=True)}"
        case InOrder(left, "weak until", And((first, second))) if not prism and second == left:
            return f"{operand(first)} V {operand(left)}"  # as it was read
        case InOrder(left, "weak until", right) if not prism:  # nuXmv has release
            return f"{operand(right)} V {operand(Or((left, right)))}"
        case InOrder(left, operator, right):
            return f"{operand(left)} {_OPERATORS[operator]} {operand(right)}"
    raise AssertionError("This is a bug of snpjax, please report it.")


def _comparison(comparison: Comparison, *, prism: bool, word: Word) -> str:
    conditions = (Observed.HALTED, Observed.FINAL, Observed.FIRES)
    match comparison.terms:
        case ((Variable() as variable, 1),) if variable.observed in conditions:
            return word(variable)
    total = ""
    for monomial, coefficient in comparison.terms:
        sign = "-" if coefficient < 0 else "+" if total else ""
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)} * "
        total += f" {sign} {factor}" if total else f"{sign}{factor}"
        total += " * ".join(map(word, factors_of(monomial)))
    total, constant = total or "0", comparison.constant
    if comparison.modulus is None:
        return f"{total} {comparison.relation} {constant}"
    if prism:
        return f"mod({total}, {comparison.modulus}) = {constant}"
    return f"({total}) mod {comparison.modulus} = {constant}"


def _variable(variable: Variable) -> str:
    name, observed = variable.neuron, variable.observed
    if not _is_word(name) or name in KEYWORDS or name in LETTERS:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        name = f'"{escaped}"'
    match observed:
        case Observed.SPIKES:
            return name
        case Observed.HALTED | Observed.FINAL | Observed.STEP:
            return observed.value
        case Observed.FIRES:
            return f"fires({name}, {variable.rule})"
    return f"{observed.value}({name})"
