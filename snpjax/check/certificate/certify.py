"""`certify`: whether a certificate proves what it says, without the search that found it."""

import enum
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._text.counts import plural
from ..._text.optional import z3 as optional_z3
from ..._text.rule_text import rule_text, under_rule
from ...explore.patience import Patience
from ...machine import Schema
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...spiking.model.population import AnySystem
from ..query.errors import QueryError
from ..query.formula import (
    And,
    Formula,
    Not,
    Observed,
    Query,
    Temporal,
    comparisons,
    first_product,
    is_about_one,
)
from ..query.names import check_names
from ..query.parse import parse_query
from ..query.written import variable_text
from ..satisfiability import is_satisfiable
from .certificate import Certificate
from .conditions import NO_PRODUCTS, truth_of
from .model_digest import model_digest, proved_model, rule_of_digest
from .random_runs import visited
from .step_formulas import AbstractStepFormulas, NetStepFormulas, SystemStepFormulas, Term, Values


_SEED = 0  # of the solver
_FOR_RUNS = 0.25  # of the time, at most

_KNOWN = {Observed.SPIKES, Observed.TIMER, Observed.PENDING, Observed.STEP}
_KNOWN |= {Observed.HALTED, Observed.FINAL}

#: The numbers of a configuration, as queries name them.
Numbers = Mapping[str, int]


class CertificationStatus(enum.Enum):
    """What the checker says of a certificate."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Certification:
    """What the checker says of a certificate, and why.

    As a truth value it is true if the certificate is accepted, false if it is rejected, and an
    error otherwise.

    - `status`: accepted, rejected, or unknown, if the solver did not decide an obligation in time.
    - `certificate`: which was checked.
    - `obligation`: the one that fails or is not decided, `"initial"`, `"step"`, `"property"` or
      `"runs"`; empty if the certificate was accepted, or cannot be checked at all.
    - `reason`: in words; empty if it was accepted.
    - `configurations`: consecutive ones that show that the obligation fails: of `"initial"`, from
      the initial one to that where the invariant is false; of a step, those before it and that
      after it; otherwise one.
    - `num_configurations`: of how many configurations of random runs the invariant was evaluated.
    - `rule`: of a net, the name of the rule of its steps.
    """

    status: CertificationStatus
    certificate: Certificate
    obligation: str = ""
    reason: str = ""
    configurations: tuple[Numbers, ...] = ()
    num_configurations: int = 0
    rule: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.status is CertificationStatus.ACCEPTED

    def __bool__(self) -> bool:
        if self.status is CertificationStatus.UNKNOWN:
            raise ValueError(f"The certificate is neither accepted nor rejected: {self.reason}.")
        return self.is_accepted

    def lines(self) -> Iterator[str]:
        """The property, the status, and what shows it."""
        yield f"{self.certificate.property}: {self.status.value}{under_rule(self.rule)}"
        if self.is_accepted:
            k = self.certificate.k
            first, kept = "initially", "every step keeps it"
            if k > 1:
                first = f"in the first {k} configurations"
                kept = f"in that after any {k} in which it holds"
            yield f"  invariant: {self.certificate.invariant}"
            yield f"  it holds {first}, {kept}, and it implies the property"
            yield f"  it holds in {plural(self.num_configurations, 'configuration')} of random runs"
        else:
            yield from (f"  {line}" for line in self.reason.split("\n"))
        for number, one in enumerate(self.configurations):
            shown = ", ".join(f"{name} = {value}" for name, value in one.items())
            place = "configuration"
            if number:
                place = "after one step" if number == 1 else f"after {number} steps"
            yield f"  {place}: {shown}"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def certify(
    system: AnySystem | SleptsovNet | Execution,
    certificate: Certificate,
    *,
    seconds: float = 60.0,
    samples: int = 10_000,
) -> Certification:
    """Check a certificate with the solver z3: the invariant holds initially, every step keeps it,
    and it implies the property. Then evaluate it on configurations of random runs.

    Steps are those of the definitions, written down independently of the search for proofs and of
    the programs that run models. Numbers are unbounded integers. That spikes and tokens are not
    negative, and that timers and pending spikes are those of a rule, is added to the invariant, and
    checked with it.

    **Arguments:**

    - `system`: a system with delays, weights, input trains and `AnyInput`, or a net under
      `Sleptsov` or `Petri`.
    - `certificate`: of a proof about this system.
    - `seconds`: for everything.
    - `samples`: of how many configurations of random runs the invariant is evaluated at most; runs
      take at most a quarter of `seconds`.

    **Returns:** a `Certification`. A certificate of another model, or one whose texts are not
    conditions of this model, is rejected with the reason.

    **Raises:** `NotImplementedError` for other models, naming what is not supported; `ImportError`
    without z3.

    ??? cite "Source"
        Sheeran, Singh, Stalmarck 2000 for k-induction. Differs from it in: 1. no two configurations
        have to be distinct.
    """
    if isinstance(system, Certificate):
        raise TypeError("`system` is a certificate. Pass the model first: certify(system, proof).")
    if not isinstance(certificate, Certificate):
        kind = type(certificate).__name__
        raise TypeError(
            f"`certificate` is of the type {kind}. Pass a Certificate, as `prove` finds it, and "
            "`Certificate.read` and `Certificate.from_json` read it."
        )
    return certified(system, certificate, seconds, samples, Patience(None))


def certified(
    system: AnySystem | SleptsovNet | Execution,
    certificate: Certificate,
    seconds: float,
    samples: int,
    patience: Patience,
) -> Certification:
    """As `certify`, until the search of `patience` is interrupted.

    **Raises:** as `certify`.
    """
    z3 = optional_z3()
    end = time.monotonic() + seconds
    model, digest = proved_model(system), model_digest(system)
    rule = model.schema().rule

    def rejected(reason: str, obligation: str = "", *some: Numbers, runs: int = 0) -> Certification:
        return Certification(
            CertificationStatus.REJECTED,
            certificate,
            obligation,
            reason,
            some,
            num_configurations=runs,
            rule=rule,
        )

    # Certificates of earlier versions name no rule, but the digest depends on it.
    proved_rule = certificate.rule or rule_of_digest(model, certificate.model)
    if proved_rule and proved_rule != rule:
        proved = rule_text(proved_rule)
        return rejected(f"it is about {proved}, and the net is{under_rule(rule)}")
    if certificate.model != digest:
        return rejected("it belongs to another model: the digests differ")
    field = "invariant"
    try:
        invariant = _condition(certificate.invariant, model.schema())
        field = "property"
        claim = _claim(certificate.property, model.schema())
    except QueryError as error:
        return rejected(f"{field}{f'{error}'.removeprefix('query')}")
    counts = any(
        variable.observed is Observed.STEP
        for condition in (invariant, claim)
        for comparison in comparisons(condition)
        for variable in comparison.variables
    )
    if isinstance(model, Execution):
        encoding = NetStepFormulas(z3, model, counts_steps=counts)
    else:
        encoding = SystemStepFormulas(z3, model, counts_steps=counts)
    for name, words, goal in _obligations(encoding, certificate.k, invariant, claim):
        solver = z3.Solver()
        solver.set("random_seed", _SEED)
        solver.add(goal.formulas)
        left = end - time.monotonic()
        found = None
        if left > 0 and not patience.is_interrupted:
            found = is_satisfiable(solver, left, patience=patience)
        if found is None:
            when = (
                "before it was interrupted" if patience.is_interrupted else f"within {seconds:g} s"
            )
            reason = f"the solver did not decide {when} whether {words}"
            return Certification(CertificationStatus.UNKNOWN, certificate, name, reason, rule=rule)
        if found:
            numbers = [encoding.numbers(one, solver.model()) for one in goal.shown]
            return rejected(f"it is false that {words}", name, *numbers)
    deadline = min(end, time.monotonic() + _FOR_RUNS * seconds)
    runs = 0
    for runs, value in enumerate(visited(model, samples, deadline), start=1):
        if not (truth_of(invariant, value) and truth_of(claim, value)):
            numbers = {variable_text(x): value(x) for x in encoding.shown()}
            return rejected("a run leaves the invariant", "runs", numbers, runs=runs)
    accepted = CertificationStatus.ACCEPTED
    return Certification(accepted, certificate, num_configurations=runs, rule=rule)


def _condition(text: str, schema: Schema[Any, Any]) -> Formula:
    """What an invariant says of every configuration.

    **Raises:** `QueryError` for any other text.
    """
    query = parse_query(text)
    _check_condition(query, query.formula, schema)
    if not query.on_all_paths:
        raise QueryError(text, 0, "an invariant says nothing of paths (leave out `on some path`)")
    return query.formula


def _claim(text: str, schema: Schema[Any, Any]) -> Formula:
    """What a property says of every configuration.

    **Raises:** `QueryError` for a property of another form.
    """
    query = parse_query(text)
    match query.formula:
        case Temporal("always" | "never" as operator, part) if query.on_all_paths:
            _check_condition(query, part, schema)
            return part if operator == "always" else Not(part)
    problem = "the property has another form (write always p, or never p, of a condition p)"
    raise QueryError(text, 0, problem)


def _check_condition(query: Query, formula: Formula, schema: Schema[Any, Any]) -> None:
    """**Raises:** `QueryError` for what is no condition on one configuration of the model."""
    if not is_about_one(formula):
        problem = "this speaks of paths (write a condition on one configuration)"
        raise QueryError(query.text, formula.start, problem)
    check_names(query, schema)
    if (product := first_product(formula)) is not None:
        raise QueryError(query.text, product.at, NO_PRODUCTS)
    for comparison in comparisons(formula):
        for variable in comparison.variables:
            if variable.observed not in _KNOWN:
                what = variable.observed.value
                problem = f"`{what}` is not supported in proofs by induction (use other numbers)"
                raise QueryError(query.text, variable.at, problem)


@dataclass(frozen=True)
class _Goal:
    """Formulas that cannot all hold if an obligation is met, and the configurations to show
    otherwise."""

    formulas: Sequence[Term]
    shown: Sequence[Values]


def _obligations(
    encoding: AbstractStepFormulas, k: int, invariant: Formula, claim: Formula
) -> Iterator[tuple[str, str, _Goal]]:
    """Each with its name and in words."""
    conjuncts = invariant.parts if isinstance(invariant, And) else (invariant,)
    every, some, negate = encoding.logic

    def holds(formula: Formula, now: Values) -> Term:
        found = truth_of(formula, lambda x: encoding.value(now, x), encoding.logic)
        return encoding.z3.BoolVal(found) if isinstance(found, bool) else found  # of numbers alone

    def kept(now: Values) -> list[Term]:
        return [*encoding.in_range(now), *(holds(part, now) for part in conjuncts)]

    def follows(now: Values, then: Values) -> Term:
        ways = encoding.steps(now)
        return some([every([made, *(then[x] == after[x] for x in then)]) for made, after in ways])

    path = [encoding.configuration()]
    known = list(encoding.initial(path[0]))
    words = "the invariant holds initially"
    while True:
        yield "initial", words, _Goal([*known, negate(every(kept(path[-1])))], tuple(path))
        if len(path) == k:
            break
        words = (
            f"the invariant holds after step {len(path)} (k = {k}: it has to hold in the first {k} "
            "configurations)"
        )
        path.append(encoding.configuration())
        known.append(follows(*path[-2:]))
    path = [encoding.configuration()]
    known = kept(path[0])
    words = "the invariant implies the property"
    yield "property", words, _Goal([*known, negate(holds(claim, path[0]))], tuple(path))
    for _ in range(k - 1):
        path.append(encoding.configuration())
        known += [follows(*path[-2:]), *kept(path[-1])]
    words = "every step keeps the invariant"
    if k > 1:
        words = f"the invariant holds after any {k} consecutive configurations in which it holds"
    for made, then in encoding.steps(path[-1]):
        # What says nothing of the numbers that change is among what is known.
        changed = [part for part in kept(then) if not any(part.eq(x) for x in known)]
        yield "step", words, _Goal([*known, made, negate(every(changed))], (*path, then))
