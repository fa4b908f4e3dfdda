"""Random systems under random compatibility options: the compiled run equals the reference."""

import warnings
from dataclasses import replace

import jax.random as jr
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import snpjax as snp
from snpjax.spiking import Transition
from snpjax.spiking.lower.host_program import host_program_of
from snpjax.spiking.model.compatibility import CHOICES, SIMULATORS
from snpjax.testing import guards, reference, rules, systems
from snpjax_formats import CSR, ELL, Dense, Float32Dense
from tests.support.helpers import MAX_STEPS, assert_same_run, choices_of, many, with_ballast


#: A simulator of each way of making steps.
WAYS = {c.in_steps(has_delays=True): name for name, c in SIMULATORS.items()}
NAMES = sorted(name for way, name in WAYS.items() if not way.is_textbook)
#: Those that have each option among them, for every way is a compilation.
FEW = ["sparse-snp", "sparse-snp-compressed", "websnapse-v4", "sn-p-factory"]
seeds = st.integers(0, 2**32 - 1)
any_systems = systems(max_neurons=6, signed=None)


@st.composite
def of_rules(draw):
    """Options that are rewritten into rules and synapses; any of them goes with any way."""
    return {
        "threshold_rules": draw(st.booleans()),
        "needs_spikes": draw(st.booleans()),
        "no_self_synapses": draw(st.booleans()),
    }


@st.composite
def values(draw):
    """Any compatibility there is."""
    options = {name: draw(st.sampled_from(choices)) for name, choices in CHOICES.items()}
    options["guard_modulo"] = draw(st.none() | st.integers(1, 12))
    try:
        return snp.Compatibility(**options)
    except ValueError:
        assume(False)


@given(values(), st.lists(rules(), min_size=1, max_size=4), st.booleans())
def test_rewritten_rules_apply_where_the_definition_of_the_options_says(value, drawn, faithful):
    """At every count, also of rules that lowering merges, and so in every form."""
    neuron = snp.Neuron("x", 0, drawn)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snp.ModelWarning)
            system = snp.SpikingSystem([neuron], compatibility=value)
    except snp.InvalidSystem as refusal:
        assert {problem.code for problem in refusal.problems} == {"bad_guard"}
        assert value.guard_modulo is not None
        return
    table = host_program_of(system, faithful=faithful).table
    for k in range(-2, 40):
        tested = max(k, 0) if value.negative_is_zero else k
        found = {}
        for low, high, period, consume, number in zip(
            table.low[:, 0],
            table.high[:, 0],
            table.period[:, 0],
            table.consume[:, 0],
            table.number[:, 0],
            strict=True,
        ):
            if low <= tested <= high and (tested - low) % period == 0:
                consumed = tested if consume == snp.ALL else consume
                assert (number, consumed) not in found, "one alternative, twice"
                found[number, consumed] = True
        configuration = reference.Configuration((k,), (0,), (0,))
        expected = reference.applicable(system, configuration)[0]
        # The number of a family is that of its first member; only one of them applies.
        assert sorted(c for _, c in found) == sorted(drawn[i].consume for i in expected)


@given(guards(max_count=30), st.integers(1, 40))
def test_reduced_guards(guard, modulo):
    value = snp.Compatibility(guard_modulo=modulo, unchecked_consumption="negative")
    rule = snp.Rule(guard, 1, 1)
    try:
        reduced, least = value.counts(rule)
    except ValueError:
        assert guard.period > 1 and max(guard.residues) >= modulo
        return
    assert least == 0
    if guard.is_finite:
        assert {k for k in range(80) if k in reduced} == {k % modulo for k in guard.finite}
    elif guard.period == 1:
        small = {k % modulo for k in guard.finite}
        assert all((k in reduced) == (k in small or k >= guard.tail % modulo) for k in range(80))
    else:
        assert reduced == guard


@pytest.mark.parametrize("name", FEW)
@settings(max_examples=15)
@given(any_systems, of_rules(), seeds)
def test_random_path_is_a_path_of_the_reference(name, system, options, seed):
    check_random_path(with_options(name, system, options), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=many(400, part=32), suppress_health_check=[HealthCheck.too_slow])
@given(any_systems, of_rules(), seeds)
def test_runs_of_many_systems(name, system, options, seed):
    system = with_options(name, system, options)
    check_random_path(system, seed)
    solution = snp.run(system, max_steps=MAX_STEPS, layout=layout_of(system))
    assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


def with_options(name, system, options) -> snp.SpikingSystem:
    """Without `guard_modulo`, for a guard of the ballast has a period."""
    value = replace(SIMULATORS[name], **options, guard_modulo=None)
    return with_ballast(system).with_compatibility(value)


def layout_of(system):
    return "auto" if system.compatibility.stop_at_closed_target else Dense


def check_random_path(system, seed):
    choice = snp.UniformChoice(jr.key(seed))
    solution = snp.run(system, choice=choice, max_steps=MAX_STEPS, layout=layout_of(system))
    chosen = iter(choices_of(solution))
    # The reference refuses a choice that is not a valid spiking vector.
    replay = reference.run(system, lambda *_: next(chosen), max_steps=solution.steps)
    halted = reference.is_halting(system, replay.configurations[-1])
    assert solution.halted == halted and (halted or solution.steps == MAX_STEPS)
    assert_same_run(solution, replay)


def test_few_have_every_option():
    few = [SIMULATORS[name].in_steps(has_delays=True) for name in FEW]
    assert {option for way in few for option in way.options} == {
        option for way in WAYS for option in way.options
    }


FORMS = [ELL, Float32Dense, Transition(Dense), Transition(CSR)]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=many(20, part=10), suppress_health_check=[HealthCheck.too_slow])
@given(any_systems, systems(max_neurons=6, max_delay=0, signed=None), of_rules(), seeds)
def test_every_form_gives_the_same_integers(form, name, system, without_delays, options, seed):
    """Or refuses: the order of synapses, and sums of emissions that floats do not hold."""
    for one, delay in ((system, 1), (without_delays, 0)):
        value = replace(SIMULATORS[name], **options, guard_modulo=None)
        one = with_ballast(one, delay=delay).with_compatibility(value)
        choice = snp.UniformChoice(jr.key(seed))
        expected = snp.run(one, choice=choice, max_steps=MAX_STEPS)
        is_ordered = value.stop_at_closed_target and delay
        is_too_large = value.early_reopen is not None and form is Float32Dense and delay
        if is_ordered or is_too_large:
            with pytest.raises(ValueError):
                snp.run(one, choice=choice, max_steps=MAX_STEPS, layout=form)
            continue
        solution = snp.run(one, choice=choice, max_steps=MAX_STEPS, layout=form)
        assert solution.steps == expected.steps and solution.halted == expected.halted
        assert solution.configurations.tolist() == expected.configurations.tolist()
        assert solution.rules.tolist() == expected.rules.tolist()
        assert solution.emissions.tolist() == expected.emissions.tolist()
