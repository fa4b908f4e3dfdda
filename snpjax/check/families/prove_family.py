"""`prove_family`: a property of the systems of a family, for some sizes and for all."""

import itertools
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from ..._text.optional import z3
from ...machine import Explorable
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...spiking.model.population import AnySystem
from ..certificate.certificate import Certificate
from ..certificate.certify import certify
from ..certificate.conditions import NO_PRODUCTS
from ..certificate.model_digest import model_digest
from ..check import check
from ..induction.conditions import text_of
from ..query.errors import QueryError
from ..query.formula import (
    And,
    Comparison,
    Formula,
    Implies,
    Not,
    Observed,
    Or,
    Temporal,
    Variable,
    comparisons,
    first_product,
    is_about_one,
)
from ..query.parse import parse_query
from ..tracing import on_host
from ..verdict import Status, Verdict
from .all_sizes import AllSizes, Fact
from .family import Family


_SIZE = "{n}"
_KNOWN = (Observed.SPIKES, Observed.TIMER, Observed.PENDING)
_SAMPLES = 1_000  # configurations of random runs of each size


@dataclass(frozen=True)
class FamilyVerdict:
    """For which sizes a property of a family is known.

    As a truth value it is true if the property is proved for all n, false if it is refuted for
    some, and an error otherwise.

    - `query`: the property as it was given, or that of the first size.
    - `verdicts`: that of each size.
    - `invariant`: of a proof for all n from 2 on, the facts that it consists of; empty otherwise.
    - `reason`: why there is none.
    """

    query: str
    verdicts: Mapping[int, Verdict]
    invariant: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_proved_for_all(self) -> bool:
        """Whether an inductive argument for all n from 2 on was checked."""
        return bool(self.invariant)

    def sizes(self, status: Status) -> list[int]:
        """The sizes with a verdict of this status."""
        return [size for size, verdict in self.verdicts.items() if verdict.status is status]

    @property
    def summary(self) -> str:
        """For which sizes the property is proved or refuted, in one line."""
        if self.is_proved_for_all:
            return f"proved for all n >= 2 (invariant: {'; '.join(self.invariant)})"
        found = []
        for status in Status:
            sizes = self.sizes(status)
            if sizes:
                is_known = status in (Status.PROVED, Status.REFUTED)
                words = status.value if is_known else "not decided"
                found.append(f"{words} for n = {_ranges(sizes)}")
        return "; ".join(found)

    def __bool__(self) -> bool:
        if self.is_proved_for_all:
            return True
        if self.sizes(Status.REFUTED):
            return False
        raise ValueError(f"{self.query!r} is {self.summary}. Look at `verdicts`.")

    def __str__(self) -> str:
        return f"{self.query}: {self.summary}"


def _ranges(sizes: Sequence[int]) -> str:
    """`2..8`, `2, 3, 5..7`."""
    texts = []
    for _, run in itertools.groupby(enumerate(sorted(sizes)), lambda pair: pair[1] - pair[0]):
        own = [size for _, size in run]
        texts += [f"{own[0]}..{own[-1]}"] if len(own) > 2 else map(str, own)
    return ", ".join(texts)


@on_host("prove_family")
def prove_family(
    make: Family | Callable[[int], AnySystem | SleptsovNet | Execution],
    property: str | Callable[[int], str],
    /,
    *,
    sizes: Iterable[int] = range(2, 9),
    all_n: bool = True,
    max_configurations: int = 100_000,
    seconds: float = 60.0,
) -> FamilyVerdict:
    """Prove a property of the systems of a family, size by size, and then for all sizes if that is
    possible.

    **Arguments:**

    - `make`: a `Family`, or any function of the size. What such a function does for sizes that are
      not tried is not known, so that only a `Family` is proved for all n.
    - `property`: a query, see `docs/checking.md`, or a function of the size that gives one. `{n}`
      in it is the size. Of a `Family`, `cell{i}` is any neuron of the group `cell`, and `cell{j}`
      any other: `always cell{i} + cell{j} <= 1` is about all pairs.
    - `sizes`: those that are checked one by one, by `check`.
    - `all_n`: if all of these are proved, try to prove all n from 2 on, by an inductive invariant
      made of bounds of single neurons and of weighted sums over all neurons, whose obligations are
      checked with n as a variable. `certify` has to accept it for each of `sizes`, too.
    - `max_configurations`: of each size.
    - `seconds`: for the proof for all n.

    **Returns:** a `FamilyVerdict`.

    **Raises:** `QueryError` for a query that is wrong in some size; `ValueError` without sizes.
    Without z3, the extra `prove`, nothing is claimed for all n, and `reason` says so.

    ??? cite "Source"
        Emerson, Namjoshi 1995, for rings and generic neighbours. Differs from it in: 1. counters
        without bound; 2. no cut-off.
    """
    tried = sorted(set(sizes))
    if not tried:
        raise ValueError("`sizes` is empty. Give sizes, as range(2, 9).")
    template = None
    if isinstance(property, str) and isinstance(make, Family):
        template = _template_of(property, make)
    texts = {size: _text(property, template, size) for size in tried}
    verdicts = {
        size: check(_explorable(make(size)), text, max_configurations=max_configurations)
        for size, text in texts.items()
    }
    title = property if isinstance(property, str) else texts[tried[0]]
    found = FamilyVerdict(title, verdicts)
    if not all_n or not all(verdict.is_proved for verdict in verdicts.values()):
        return found
    if not isinstance(make, Family):
        return replace(found, reason="only a `Family` is proved for all n")
    if template is None or template.claim is None:
        return replace(found, reason=_NOT_FOR_ALL)
    end = time.monotonic() + seconds
    try:
        solver = z3()
    except ImportError as error:
        return replace(found, reason=f"{error}")
    try:
        facts = AllSizes(solver, make, end).invariant(template.claim)
    except TimeoutError:
        return replace(found, reason=f"no invariant for all n was found in {seconds:g} seconds")
    if facts is None:
        return replace(found, reason="no invariant for all n was found")
    for size, text in texts.items():
        if not _is_certified(make, size, text, facts, end):
            return replace(found, reason=f"the invariant was not accepted for n = {size}")
    return replace(found, invariant=tuple(map(str, facts)) or ("true",))


def _explorable(model: AnySystem | SleptsovNet | Execution) -> Explorable[Any, Any]:
    return cast("Explorable[Any, Any]", model)  # each is, with configurations of its own


def _is_certified(family: Family, size: int, text: str, facts: Sequence[Fact], end: float) -> bool:
    system = family(size)
    invariant = " and ".join(fact.text(family, size) for fact in facts) or "0 = 0"
    certificate = Certificate(text, invariant, model_digest(system))
    left = max(end - time.monotonic(), 0)
    return certify(system, certificate, seconds=left, samples=_SAMPLES).is_accepted


_NOT_FOR_ALL = "only `always p` and `never p` are proved for all n, where p is a linear condition"


class _Template(NamedTuple):
    """A query about any neurons of a family.

    - `claim`: what it says of every configuration; `None` for other queries.
    - `letters`: those in braces, for which any different neurons stand.
    """

    claim: Formula | None
    letters: tuple[str, ...]


def _template_of(text: str, family: Family) -> _Template:
    """Names such as `cell{i}`, and `cell1`, as neurons of a group."""
    groups = [group.name for group in family.groups if not group.single]
    for found in re.finditer(r"(\w+)\{(\d+)\}", text):
        if found[1] in groups:
            problem = (
                f"the neurons of group {found[1]!r} are {found[1]}1, {found[1]}2, ..., without "
            )
            problem += f"braces (write {found[1]}{found[2]}, or {found[1]}{{i}} for any of them)"
            raise QueryError(text, found.start(), problem)
    quoted = re.sub(r"(?<!\w)\{n\}", f'"{_SIZE}"', text)
    quoted = re.sub(r"(\w+)\{([a-mo-z])\}", r'"\1{\2}"', quoted)
    query = parse_query(quoted)
    product = first_product(query.formula)
    names = {v.neuron for c in comparisons(query.formula) for v in c.variables}
    letters = sorted({name[-2] for name in names if re.search(r"\{[a-z]\}$", name)} - {"n"})
    claim = None
    match query.formula:
        case Temporal("always" | "never" as operator, part) if query.on_all_paths and not product:
            variables = [v for c in comparisons(part) for v in c.variables]
            if is_about_one(part) and all(v.observed in _KNOWN for v in variables):
                claim = part if operator == "always" else Not(part)
    if letters and product:
        # `quoted` has quotation marks that `text` has not.
        before = re.sub(r'"(\w*\{[a-z]\})"', r"\1", quoted[: product.at])
        raise QueryError(text, len(before), NO_PRODUCTS)
    if letters and claim is None:
        raise ValueError(
            f"{text!r} names any neurons, which only `always p` and `never p` can do, where p is a "
            "condition on spikes, `timer`, `open` and `pending`. Name neurons by their numbers."
        )

    def generic(variable: Variable) -> Variable:
        found = re.fullmatch(r"(.*\D)(\d+)", variable.neuron)
        if found and found[1] in groups:
            return replace(variable, neuron=f"{found[1]}{{{found[2]}}}")
        return variable

    numbers = {name for name in names if re.search(r"\d$", name)}
    if letters and numbers:
        raise ValueError(
            f"{text!r} names any neurons, and {sorted(numbers)[0]!r}. Use letters only, or numbers."
        )
    if claim is not None:
        claim = _mapped(claim, lambda one: _renamed(one, generic))
    return _Template(claim, tuple(letters))


def _text(property: str | Callable[[int], str], template: _Template | None, size: int) -> str:
    """The query for one size."""
    if not isinstance(property, str):
        return property(size)
    if template is None or not template.letters:
        return property.replace(_SIZE, str(size))
    assert template.claim is not None
    parts = []
    for numbers in itertools.permutations(range(1, size + 1), len(template.letters)):
        of_letter = dict(zip(template.letters, numbers, strict=True))
        parts.append(_mapped(template.claim, lambda one, of=of_letter: _instance(one, of, size)))
    return f"always ({text_of(And(tuple(dict.fromkeys(parts))))})"


def _instance(comparison: Comparison, numbers: Mapping[str, int], size: int) -> Comparison:
    terms, constant = [], comparison.constant
    for variable, x in comparison.linear_terms:
        if variable.neuron == _SIZE:
            constant -= x * size
            continue
        found = re.fullmatch(r"(.*)\{([a-z])\}", variable.neuron)
        name = f"{found[1]}{numbers[found[2]]}" if found else variable.neuron
        terms.append((replace(variable, neuron=name), x))
    if comparison.modulus is not None:
        constant %= comparison.modulus
    return replace(comparison, terms=tuple(terms), constant=constant)


def _renamed(comparison: Comparison, rename: Callable[[Variable], Variable]) -> Comparison:
    return replace(comparison, terms=tuple((rename(v), x) for v, x in comparison.linear_terms))


def _mapped(formula: Formula, change: Callable[[Comparison], Comparison]) -> Formula:
    """A condition with other comparisons."""
    match formula:
        case Comparison():
            return change(formula)
        case Not(part):
            return Not(_mapped(part, change))
        case And(parts):
            return And(tuple(_mapped(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(_mapped(part, change) for part in parts))
        case Implies(left, right):
            return Implies(_mapped(left, change), _mapped(right, change))
    raise AssertionError("This is a bug of snpjax, please report it.")
