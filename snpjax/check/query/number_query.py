"""Questions for numbers: probabilities of paths, expected sums, and shares of the time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from .errors import QueryError
from .formula import (
    And,
    Comparison,
    Formula,
    Quantified,
    Query,
    all_parts,
    is_about_one,
)
from .parse import parse_query, parse_reward


Kind: TypeAlias = Literal["probability", "expected", "steady"]
Best: TypeAlias = Literal["min", "max"]

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:/[0-9]+)?"
_RELATION = r"<=|>=|==|!=|<|>|="
_WORDS = re.compile(
    r"\s*(?:(?P<best>least|largest)\s+)?(?P<kind>probability|expected\s+value|steady\s+probability)"
    rf"\s*(?:(?P<relation>{_RELATION})\s*(?P<number>-?{_NUMBER})\s*)?\bof\b"
)
_SYMBOLS = re.compile(
    r"\s*(?P<kind>[PES])(?P<best>min|max)?\s*"
    rf"(?:=\s*\?|(?P<relation>{_RELATION})\s*(?P<number>-?{_NUMBER}))\s*(?P<bracket>\[)?"
)
_AHEAD = re.compile(r"\s*(?:always|never|eventually|next|steps|[FGX])\b")
_STEPS = re.compile(r"\s*steps\s+to\b")
_KINDS: dict[str, Kind] = {"P": "probability", "E": "expected", "S": "steady"}
_BEST: dict[str, Best] = {"least": "min", "largest": "max", "min": "min", "max": "max"}
_BRACKETS = re.compile(r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [\[\]] """, re.VERBOSE)


class Reward(NamedTuple):
    """What a configuration adds to a sum: `terms`, whose relation says nothing, plus `constant`."""

    terms: Comparison
    constant: int


class Threshold(NamedTuple):
    """What a number is compared with."""

    relation: Literal["<", "<=", ">", ">="]
    number: Fraction


@dataclass(frozen=True)
class NumberQuery:
    """A question for a number.

    - `kind`: the probability that a path is as `formula` says, the expected sum of `reward` until
      it holds, or the probability of it in the long run.
    - `best`: whether the least or the largest number is asked for, where choices are open.
    - `threshold`: what the number is compared with; `None` if it is asked for itself.
    - `at`: where `kind` stands in the text.
    """

    text: str
    kind: Kind
    best: Best | None
    threshold: Threshold | None
    formula: Formula
    reward: Reward | None = None
    at: int = 0

    @property
    def query(self) -> Query:
        """A query of the same names and numbers, to explore for."""
        formula = self.formula
        if self.reward is not None:
            formula = And((formula, self.reward.terms))
        return Query(self.text, True, formula)


def parse_property(text: str, *, fair: Sequence[str] = ()) -> Query | NumberQuery:
    """Parse a query, or a question for a number, of the language that "Checking" in the
    documentation describes.

    **Arguments:**

    - `text`: for example `"always n3 <= 4"` or `"P >= 0.9 [ F n3 = 1 ]"`.
    - `fair`: conditions of fair paths, for a query only, see `parse_query`.

    **Returns:** a `Query` or a `NumberQuery`, of which the syntax has been checked.

    **Raises:** `QueryError` with the place where the text is neither.
    """
    found = parse_question(text)
    if found is None:
        return parse_query(text, fair=fair)
    if fair:
        problem = "fair paths are not asked about here (leave out `fair`)"
        raise QueryError(text, found.at, problem)
    return found


def parse_question(text: str) -> NumberQuery | None:
    """A question for a number; `None` for a text that does not begin like one."""
    head = _WORDS.match(text) or _SYMBOLS.match(text)
    if head is None:
        return None
    groups = head.groupdict()
    end = len(text)
    if "bracket" in groups:
        if groups["bracket"] is None:
            if groups["relation"] and not _AHEAD.match(text, head.end()):
                return None  # a comparison of the neuron P
            problem = f"expected '[' (write {text[: head.end()].strip()} [ ... ])"
            raise QueryError(text, head.end() + _blanks(text[head.end() :]), problem)
        end = _closing(text, head.end())
    at = head.start("kind")
    kind = _KINDS.get(head["kind"]) or _kind(head["kind"])
    best = _BEST.get(groups["best"] or "")
    threshold = _threshold(text, head, kind)
    if threshold is not None and best is not None:
        problem = "least and largest are asked for without a number (leave out one of the two)"
        raise QueryError(text, at, problem)
    # The rest is a query of its own, with all that is before it blank: so places stay the same.
    inner = " " * head.end() + text[head.end() : end]
    inner = "".join("\n" if x == "\n" else y for x, y in zip(text, inner, strict=False))
    try:
        in_brackets = "bracket" in groups
        formula, reward = (
            _expected(inner) if kind == "expected" else (_formula(inner, in_brackets), None)
        )
    except QueryError as error:
        raise QueryError(text, error.at, error.problem) from None
    question = NumberQuery(text, kind, best, threshold, formula, reward, at)
    _check_formula(question)
    return question


def _kind(words: str) -> Kind:
    if words == "probability":
        return "probability"
    return "expected" if words.startswith("expected") else "steady"


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


def _closing(text: str, start: int) -> int:
    """Where the bracket before `start` is closed, at the end of the text."""
    depth = 1
    for sign in _BRACKETS.finditer(text, start):
        depth += {"[": 1, "]": -1}.get(sign.group(), 0)
        if not depth:
            if text[sign.end() :].strip():
                at = sign.end() + _blanks(text[sign.end() :])
                problem = "expected the end of the query (a number is asked for alone)"
                raise QueryError(text, at, problem)
            return sign.start()
    raise QueryError(text, len(text.rstrip()), "expected ']', but the query ends")


def _threshold(text: str, head: re.Match[str], kind: Kind) -> Threshold | None:
    relation, number = head["relation"], head["number"]
    if relation is None:
        return None
    if relation in ("=", "==", "!="):
        ask = "leave out the number" if "bracket" not in head.groupdict() else "ask with =?"
        problem = f"a number that is computed is compared with < <= > >= ({ask})"
        raise QueryError(text, head.start("relation"), problem)
    try:
        value = _fraction(number)
    except ZeroDivisionError:
        raise QueryError(text, head.start("number"), "nothing is divided by 0") from None
    except OverflowError:
        raise QueryError(text, head.start("number"), "the exponent is at most 300") from None
    if kind != "expected" and not 0 <= value <= 1:
        problem = f"a probability is between 0 and 1, not {number}"
        raise QueryError(text, head.start("number"), problem)
    return Threshold(relation, value)  # pyright: ignore[reportArgumentType]


def _fraction(number: str) -> Fraction:
    above, _, below = number.partition("/")
    mantissa, _, exponent = above.lower().partition("e")
    if abs(int(exponent or 0)) > 300:
        raise OverflowError
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0) / int(below or 1)


def _formula(text: str, in_brackets: bool = False) -> Formula:
    query = parse_query(text, in_brackets=in_brackets)
    if not query.on_all_paths:
        return query.quantified
    return query.formula


def _expected(text: str) -> tuple[Formula, Reward]:
    """What is summed, and until when."""
    steps = _STEPS.match(text)
    if steps is None:
        until, terms, constant = parse_reward(text)
        return until, Reward(terms, constant)
    until = _formula(" " * steps.end() + text[steps.end() :])
    return until, Reward(Comparison((), "=", 0), 1)


def _check_formula(question: NumberQuery) -> None:
    """**Raises:** `QueryError` for a formula of which no number is computed."""
    formula = question.formula
    for variable in question.reward.terms.variables if question.reward is not None else ():
        if variable.observed.is_of_step:
            problem = "`emits` and `fires` are of steps (sum what configurations have)"
            raise QueryError(question.text, variable.at, problem)
    for part in all_parts(formula):
        if isinstance(part, Quantified):
            problem = "a path quantifier does not stand in a question for a number (leave it out)"
            raise QueryError(question.text, part.start, problem)
    if question.kind != "probability" and not is_about_one(formula):
        problem = "this says something of a path, where a condition is needed"
        raise QueryError(question.text, formula.start, problem)
