"""Conditions that the prover makes, and how they read in the query language."""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from ..query.formula import And, Comparison, Formula, Implies, Not, Observed, Or, Relation, Variable
from ..query.written import name_text, variable_text


_TURNED: dict[Relation, Relation] = {"=": "=", "<=": ">=", ">=": "<="}


def compared(coefficients: Mapping[Variable, int], relation: Relation, constant: int) -> Comparison:
    """A linear comparison with its numbers divided by what they have in common. Where most of the
    coefficients are negative, or half of them and the first, all signs are turned."""
    terms = [(variable, x) for variable, x in coefficients.items() if x]
    divisor = gcd(*(x for _, x in terms)) if terms else 1
    if relation == "=" and constant % divisor:
        divisor = 1
    negative = sum(x < 0 for _, x in terms)
    if 2 * negative > len(terms) or (2 * negative == len(terms) > 0 and terms[0][1] < 0):
        terms, constant = [(v, -x) for v, x in terms], -constant
        relation = _TURNED[relation]
    # Of the integers at least c / d, the least is the ceiling; of those at most c / d, the floor.
    rounded = -(-constant // divisor) if relation == ">=" else constant // divisor
    return Comparison(tuple((v, x // divisor) for v, x in terms), relation, rounded)


def congruent(coefficients: Mapping[Variable, int], modulus: int, constant: int) -> Comparison:
    """A congruence."""
    terms = tuple((v, x % modulus) for v, x in coefficients.items() if x % modulus)
    return Comparison(terms, "=", constant % modulus, modulus)


def negated(condition: Formula) -> Formula:
    """What is true where a condition is not."""
    match condition:
        case Not(part):
            return part
        case Comparison(terms, "<=", constant):
            return Comparison(terms, ">=", constant + 1)
        case Comparison(terms, ">=", constant):
            return Comparison(terms, "<=", constant - 1)
    return Not(condition)


def text_of(condition: Formula) -> str:
    """A condition as `parse_query` reads it."""
    match condition:
        case Comparison():
            return _comparison(condition)
        case Not(Comparison(relation="=") as part) if not _is_open(part):
            return _comparison(part, "!=")
        case Not(part):
            return f"not {_enclosed(part)}"
        case And(()):
            return "0 = 0"
        case Or(()):
            return "0 = 1"
        case And(parts):
            return " and ".join(_enclosed(part, And) for part in parts)
        case Or(parts):
            return " or ".join(_enclosed(part, And, Or) for part in parts)
        case Implies(left, right):
            return f"{_enclosed(left, And, Or)} implies {_enclosed(right, And, Or)}"
    raise AssertionError("This is a bug of snpjax, please report it.")


def _enclosed(part: Formula, *plain: type) -> str:
    match part:
        case Not(Comparison(relation="=") as compared_part):
            is_simple = not _is_open(compared_part)
        case _:
            is_simple = isinstance(part, (Comparison, *plain))
    return text_of(part) if is_simple else f"({text_of(part)})"


def _is_open(comparison: Comparison) -> bool:
    match comparison.terms, comparison.constant:
        case ((Variable(Observed.TIMER), 1),), 0:
            return comparison.relation == "=" and comparison.modulus is None
    return False


def _comparison(comparison: Comparison, sign: str | None = None) -> str:
    match comparison.terms, comparison.relation, comparison.constant:
        case ((Variable(Observed.TIMER, name), 1),), "=", 0 if _is_open(comparison):
            return f"open({name_text(name)})"
        case ((Variable(Observed.HALTED | Observed.FINAL as observed), 1),), ">=", 1:
            return observed.value
    left = sum_of(comparison.linear_terms)
    if comparison.modulus is not None:
        left = f"({left})" if " " in left else left
        left = f"{left} mod {comparison.modulus}"
    return f"{left} {sign or comparison.relation} {comparison.constant}"


def sum_of(terms: Iterable[tuple[Variable, int]]) -> str:
    """A linear expression: `n1 + 2 * n2 - n3`."""
    text = ""
    for variable, factor in terms:
        size = (
            variable_text(variable)
            if abs(factor) == 1
            else f"{abs(factor)} * {variable_text(variable)}"
        )
        if text:
            text += f" {'-' if factor < 0 else '+'} {size}"
        else:
            text = f"-{size}" if factor < 0 else size
    return text or "0"


def conjuncts(condition: Formula) -> Sequence[Formula]:
    """The conditions that are joined by `and` at the top."""
    if isinstance(condition, And):
        return [x for part in condition.parts for x in conjuncts(part)]
    return [condition]
