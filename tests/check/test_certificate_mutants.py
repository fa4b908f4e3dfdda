"""Certificates that were changed: what is still accepted is an invariant that implies the property,
by brute force, and what is rejected is shown not to be one."""

import functools
import itertools
from dataclasses import replace
from typing import Any

import pytest
import z3
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check import CertificationStatus, model_digest, parse_query
from snpjax.check.certificate.certify import certify
from snpjax.check.induction.conditions import text_of
from snpjax.check.query.formula import (
    And,
    Comparison,
    Implies,
    Not,
    Observed,
    Or,
    Temporal,
    Variable,
)
from snpjax.check.query.written import variable_text
from snpjax.sleptsov import Petri
from snpjax.testing import reference
from snpjax.testing.reference_sleptsov import Reference
from tests.check.test_certify import BUFFER, COUNTER, DELAYED, DRIVEN, PETRI, RING, SLEPTSOV, TRUE
from tests.support.helpers import many


REACHED = 100  # steps by which configurations are reached


# ---- brute force ----


def holds(formula, numbers):
    match formula:
        case Comparison(terms, relation, constant, modulus):
            total = sum(x * numbers[v] for v, x in terms) - constant
            if modulus is not None:
                return total % modulus == 0
            return {"=": total == 0, "<=": total <= 0, ">=": total >= 0}[relation]
        case Not(part):
            return not holds(part, numbers)
        case And(parts):
            return all(holds(part, numbers) for part in parts)
        case Or(parts):
            return any(holds(part, numbers) for part in parts)
        case Implies(left, right):
            return not holds(left, numbers) or holds(right, numbers)
    raise AssertionError(formula)


def of_system(system, now, step):
    """The numbers of a configuration, and the configurations that follow."""
    numbers = {Variable(Observed.STEP): step}
    numbers[Variable(Observed.HALTED)] = is_halting = int(reference.is_halting(system, now))
    for i, neuron in enumerate(system.neurons):
        numbers[Variable(Observed.SPIKES, neuron.name)] = now.spikes[i]
        numbers[Variable(Observed.TIMER, neuron.name)] = now.timers[i]
        numbers[Variable(Observed.PENDING, neuron.name)] = now.pending[i]
    later = [reference.step(system, now, choice)[0] for choice in reference.choices(system, now)]
    return numbers, [(after, step + 1 - is_halting) for after in later]


def box_of_system(system):
    """All configurations with few spikes, whether they can be reached or not."""
    own = []
    for neuron in system.neurons:
        closed = [(t, r.produce) for r in neuron.rules for t in range(1, r.delay + 1)]
        own.append([(k, t, p) for k in range(5) for t, p in [(0, 0), *closed]])
    horizon = reference.horizon(system)
    for parts in itertools.product(*own):
        for step in range(horizon + 3):
            columns = zip(*parts, strict=True)
            spikes, timers, pending = columns
            yield reference.Configuration(spikes, timers, pending, min(step, horizon)), step


def of_net(execution, now, step):
    net, own = execution.net, Reference(execution.net)
    rule = "petri" if isinstance(execution.rule, Petri) else "sleptsov"
    later = own.successors(now, rule)
    names = [Variable(Observed.SPIKES, name) for name in net.place_names]
    numbers = {Variable(Observed.STEP): step, Variable(Observed.HALTED): int(not later)}
    numbers |= dict(zip(names, now, strict=True))
    return numbers, [(x, step + 1) for x in later] or [(now, step)]


@functools.cache
def brute_force(number):
    """Of the system of an invariant: its initial numbers, and those before and after each step in
    a box and from the configurations that are reached first."""
    system = TRUE[number][0]
    if isinstance(system, snp.SpikingSystem):
        numbers_of, first = of_system, (reference.initial(system), 0)
        box = list(box_of_system(system))
    else:
        numbers_of, first = of_net, (Reference(system.net).initial, 0)
        box = [(x, 0) for x in itertools.product(range(4), repeat=system.net.num_places)]
    reached: dict[Any, None] = {first: None}
    queue = list(reached)
    for now, step in queue:  # which grows meanwhile
        for later in numbers_of(system, now, step)[1]:
            if later not in reached and later[1] < REACHED:
                reached[later] = None
                queue.append(later)
    found = []
    for now in {**reached, **dict.fromkeys(box)}:
        numbers, later = numbers_of(system, *now)
        found.append((numbers, [numbers_of(system, *x)[0] for x in later]))
    return numbers_of(system, *first)[0], found


def claim_of(property):
    formula = parse_query(property).formula
    assert isinstance(formula, Temporal)
    return formula.part if formula.operator == "always" else Not(formula.part)


def check_mutant(number, formula):
    """The answer of the checker is right; whether it accepts."""
    system, property, _ = TRUE[number]
    initial, steps = brute_force(number)
    claim = claim_of(property)
    own = snp.Certificate(property, text_of(formula), model_digest(system))
    found = certify(system, own, samples=20)
    assert found.status is not CertificationStatus.UNKNOWN
    if found.is_accepted:
        assert holds(formula, initial)
        for now, later in steps:
            if holds(formula, now):
                assert holds(claim, now) and all(holds(formula, then) for then in later)
        return True
    # What is shown shows it.
    shown = [numbers_shown(system, one) for one in found.configurations]
    match found.obligation:
        case "initial":
            assert all(initial[x] == value for x, value in shown[0].items())
            assert not holds(formula, initial)
        case "property":
            now, _ = completed(system, shown[0])
            assert holds(formula, now) and not holds(claim, now)
        case "step":
            now, later = completed(system, shown[0])
            assert holds(formula, now)
            after = [x for x in later if all(x[v] == value for v, value in shown[1].items())]
            assert after and not holds(formula, after[0])
        case other:
            raise AssertionError(other)
    return False


def numbers_shown(system, one):
    variables = [Variable(Observed.STEP)]
    if isinstance(system, snp.SpikingSystem):
        kinds = (Observed.SPIKES, Observed.TIMER, Observed.PENDING)
        variables += [Variable(kind, n.name) for n in system.neurons for kind in kinds]
    else:
        variables += [Variable(Observed.SPIKES, name) for name in system.net.place_names]
    return {x: one[variable_text(x)] for x in variables if variable_text(x) in one}


def completed(system, shown):
    """All numbers of a configuration that is shown, and of those that follow. What is not shown
    is 0."""
    step = shown.get(Variable(Observed.STEP), 0)

    def column(kind, names):
        return tuple(shown.get(Variable(kind, name), 0) for name in names)

    if not isinstance(system, snp.SpikingSystem):
        now = column(Observed.SPIKES, system.net.place_names)
        numbers, later = of_net(system, now, step)
        return numbers, [of_net(system, *x)[0] for x in later]
    kinds = (Observed.SPIKES, Observed.TIMER, Observed.PENDING)
    spikes, timers, pending = (column(kind, system.names) for kind in kinds)
    now = reference.Configuration(spikes, timers, pending, min(step, reference.horizon(system)))
    numbers, later = of_system(system, now, step)
    return numbers, [of_system(system, *x)[0] for x in later]


# ---- mutants ----


def mutants(formula, names):
    """All formulas that differ in one place."""
    match formula:
        case Comparison(terms, relation, constant, modulus):
            for more in (-2, -1, 1, 2):
                changed = constant + more if modulus is None else (constant + more) % modulus
                yield replace(formula, constant=changed)
            if modulus is None:
                yield from (
                    replace(formula, relation=x) for x in ("=", "<=", ">=") if x != relation
                )
            else:
                for other in (modulus + 1, 2 * modulus, 1):
                    yield replace(formula, modulus=other, constant=constant % other)
            yield Not(formula)
            for i, (variable, x) in enumerate(terms):
                rest = terms[:i] + terms[i + 1 :]
                yield replace(formula, terms=rest)
                yield replace(formula, terms=(*rest, (variable, x + 1)))
                for name in names:
                    swapped = replace(variable, neuron=name)
                    if variable.neuron and swapped not in dict(terms):
                        yield replace(formula, terms=(*rest, (swapped, x)))
        case And(parts) | Or(parts):
            for i, part in enumerate(parts):
                yield replace(formula, parts=parts[:i] + parts[i + 1 :])
                for changed in mutants(part, names):
                    yield replace(formula, parts=(*parts[:i], changed, *parts[i + 1 :]))
            yield Or(parts) if isinstance(formula, And) else And(parts)
        case Not(part):
            yield part
            yield from (Not(changed) for changed in mutants(part, names))
        case Implies(left, right):
            yield from (right, Implies(right, left))
            yield from (Implies(changed, right) for changed in mutants(left, names))
            yield from (Implies(left, changed) for changed in mutants(right, names))


def names_of(system):
    return list(system.names if isinstance(system, snp.SpikingSystem) else system.net.place_names)


def mutants_of(number):
    system, _, invariant = TRUE[number]
    found = list(dict.fromkeys(mutants(parse_query(invariant).formula, names_of(system))))
    return [x for x in found if not isinstance(x, Comparison) or x.terms]


@pytest.mark.parametrize("number", range(len(TRUE)))
def test_mutants(number):
    """Some of those that differ in one place, and the certificate itself."""
    assert check_mutant(number, parse_query(TRUE[number][2]).formula)
    for mutant in mutants_of(number)[::15]:
        check_mutant(number, mutant)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TRUE)))
def test_all_mutants(number):
    answers = [check_mutant(number, mutant) for mutant in mutants_of(number)]
    assert not all(answers) or TRUE[number][2] == "0 = 0"


@pytest.mark.slow
@settings(max_examples=many(300, part=16))
@given(st.integers(0, len(TRUE) - 1), st.data())
def test_mutants_of_mutants(number, data):
    system, _, invariant = TRUE[number]
    mutant = parse_query(invariant).formula
    for _ in range(data.draw(st.integers(1, 4))):
        some = list(mutants(mutant, names_of(system)))
        mutant = data.draw(st.sampled_from(some)) if some else mutant
    check_mutant(number, mutant)


@pytest.mark.parametrize("number", range(len(TRUE)))
def test_no_mutant_is_accepted_by_a_solver_that_gives_up(number, monkeypatch):
    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    system, property, invariant = TRUE[number]
    own = snp.Certificate(property, invariant, model_digest(system))
    assert certify(system, own).status is CertificationStatus.UNKNOWN


def test_the_brute_force_finds_what_is_not_inductive():
    """It is not true of everything."""
    for system, text in ((RING, "n1 <= 0"), (COUNTER, "t <= 4"), (PETRI, "buffer <= 3")):
        number = next(i for i, x in enumerate(TRUE) if x[0] is system)
        formula = parse_query(text).formula
        _, steps = brute_force(number)
        assert any(
            holds(formula, now) and not holds(formula, then)
            for now, later in steps
            for then in later
        )
    assert {DELAYED, DRIVEN, SLEPTSOV} <= {system for system, _, _ in TRUE} and BUFFER
