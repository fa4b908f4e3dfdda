"""Random systems: the compiled run equals the reference, on every layout, in every disguise."""

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.spiking import Transition, TransitionMatrix, step
from snpjax.testing import reference, rules, systems
from snpjax_formats import (
    COO,
    CSR,
    ELL,
    LAYOUTS as FORMATS,
    BitDense,
    BitGather,
    Compressed,
    Dense,
    Hybrid,
    Interval,
)
from tests.support.helpers import (
    MAX_STEPS,
    assert_same_run,
    choices_of,
    many,
    quietly,
    slow,
    with_ballast,
)


# With the ballast of tests/support/helpers.py they stay within one bucket of eight neurons: one
# compilation serves all.
small_systems = systems(max_neurons=6)
any_systems = systems(max_neurons=6, signed=None)
LAYOUTS = [ELL, Dense]
#: Forms in which any system can be stored, the papers' among them; all of them, and a few that
#: differ most.
WEIGHTED = [layout for layout in FORMATS if layout not in (BitDense, BitGather, Interval)]
FORMS = [*WEIGHTED, *(Transition(layout) for layout in (Dense, COO, Compressed, CSR, Hybrid))]
SOME_FORMS = [Compressed, Transition(Dense)]
seeds = st.integers(0, 2**32 - 1)
_step = eqx.filter_jit(step)


def rebuilt(system, *, neurons=None, synapses=None, input=None, output=None):
    return quietly(
        snp.SpikingSystem,
        system.neurons if neurons is None else neurons,
        system.synapses if synapses is None else synapses,
        input=system.input if input is None else input,
        output=system.output if output is None else output,
        signed=system.signed,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=15)
@given(any_systems)
def test_first_choice_equals_reference(layout, system):
    system = with_ballast(system)
    solution = snp.run(system, max_steps=MAX_STEPS, layout=layout)
    assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=15)
@given(any_systems, seeds)
def test_random_path_is_a_path_of_the_reference(layout, system, seed):
    system = with_ballast(system)
    choice = snp.UniformChoice(jr.key(seed))
    solution = snp.run(system, choice=choice, max_steps=MAX_STEPS, layout=layout)
    chosen = iter(choices_of(solution))
    # The reference refuses a choice that is not a valid spiking vector.
    replay = reference.run(system, lambda *_: next(chosen), max_steps=solution.steps)
    halted = reference.is_halting(system, replay.configurations[-1])
    assert solution.halted == halted and (halted or solution.steps == MAX_STEPS)
    assert_same_run(solution, replay)


@settings(max_examples=15)
@given(small_systems)
def test_a_run_split_at_any_step_is_the_whole_run(system):
    """C_t and the rest of the input start a system whose run is the rest of the run."""
    system = with_ballast(system)
    whole = snp.run(system, max_steps=MAX_STEPS)
    cut = whole.steps // 2
    if whole.timer_history[cut].any():
        return  # a system starts with all neurons open
    neurons = [
        snp.Neuron(neuron.name, int(spikes), neuron.rules)
        for neuron, spikes in zip(system.neurons, whole.configurations[cut], strict=True)
    ]
    rest = {name: train[cut:] for name, train in system.input.items()}
    resumed = snp.run(rebuilt(system, neurons=neurons, input=rest), max_steps=MAX_STEPS - cut)
    assert resumed.configurations.tolist() == whole.configurations[cut:].tolist()


@settings(max_examples=15)
@given(small_systems, st.randoms(use_true_random=False))
def test_permuting_neurons_and_synapses_permutes_the_run(system, random):
    system = with_ballast(system)
    order = list(range(len(system.neurons)))
    random.shuffle(order)
    synapses = list(system.synapses)
    random.shuffle(synapses)
    permuted = rebuilt(system, neurons=[system.neurons[i] for i in order], synapses=synapses)
    solution = snp.run(system, max_steps=MAX_STEPS)
    other = snp.run(permuted, max_steps=MAX_STEPS)
    assert other.configurations.tolist() == solution.configurations[:, order].tolist()
    assert other.spike_trains.tolist() == solution.spike_trains.tolist()


@settings(max_examples=15)
@given(small_systems, st.randoms(use_true_random=False))
def test_permuting_rules_keeps_the_successors(system, random):
    neurons = []
    for neuron in system.neurons:
        shuffled = list(neuron.rules)
        random.shuffle(shuffled)
        neurons.append(snp.Neuron(neuron.name, neuron.spikes, shuffled))
    permuted = with_ballast(rebuilt(system, neurons=neurons))
    successors = _successors(with_ballast(system))
    assert _successors(permuted) == successors
    if len(successors) < 200:
        solution = snp.run(permuted, max_steps=1)
        after = reference.Configuration(
            tuple(solution.spikes.tolist()),
            tuple(solution.timers.tolist()),
            tuple(solution.pending.tolist()),
            min(1, reference.horizon(permuted)),
        )
        assert solution.steps == 0 or after in {target for target, _ in successors}


@settings(max_examples=15)
@given(small_systems, st.lists(rules(), max_size=3))
def test_inert_neurons_change_nothing_else(system, never):
    """Isolated empty neurons, with rules that cannot apply to 0 spikes, only add columns."""
    wider = with_ballast(rebuilt(system, neurons=[*system.neurons, snp.Neuron("inert", 0, never)]))
    solution = snp.run(with_ballast(system), max_steps=MAX_STEPS)
    other = snp.run(wider, max_steps=MAX_STEPS)
    size = len(system.neurons)
    assert other.steps == solution.steps
    assert other.configurations[:, :size].tolist() == solution.configurations[:, :size].tolist()


@pytest.mark.slow
@settings(max_examples=15)
@given(small_systems)
def test_padding_to_the_next_bucket_changes_nothing(system):
    system = with_ballast(system)
    idle = [snp.Neuron(f"idle {i}") for i in range(9)]
    solution = snp.run(system, max_steps=MAX_STEPS)
    other = snp.run(rebuilt(system, neurons=[*system.neurons, *idle]), max_steps=MAX_STEPS)
    size = len(system.neurons)
    assert other.configurations[:, :size].tolist() == solution.configurations.tolist()
    assert other.emissions[:, :size].tolist() == solution.emissions.tolist()


@settings(max_examples=15)
@given(small_systems)
def test_trailing_zeros_of_the_input_change_nothing(system):
    system = with_ballast(system)
    longer = {name: (*train, 0, 0) for name, train in system.input.items()}
    solution = snp.run(system, max_steps=MAX_STEPS)
    other = snp.run(rebuilt(system, input=longer), max_steps=MAX_STEPS)
    assert other.configurations.tolist() == solution.configurations.tolist()


@given(small_systems)
def test_an_equal_language_is_the_same_guard(system):
    """A guard rewritten from its terms is the same guard, so the same program."""

    def rewritten(guard):
        parts = [
            f"a{{{low},}}"
            if high is None and period == 1
            else f"a{{{low}}}(a{{{period}}})*"
            if high is None
            else "|".join(f"a{{{k}}}" for k in range(low, high + 1, period))
            for low, high, period in guard.terms()
        ]
        return "|".join(f"({part})" for part in reversed(parts)) or "∅"

    for rule in system.rules:
        assert snp.Rule(rewritten(rule.guard), rule.consume, rule.produce, rule.delay) == rule


@settings(max_examples=15)
@given(systems(max_neurons=5, weights=False))
def test_weight_equals_production(system):
    """Doubling every production at the source equals doubling every synapse."""
    doubled_rules = [
        snp.Neuron(
            neuron.name,
            neuron.spikes,
            [snp.Rule(r.guard, r.consume, 2 * r.produce, r.delay) for r in neuron.rules],
        )
        for neuron in system.neurons
    ]
    doubled_synapses = [(source, target, 2) for source, target, _ in system.synapses]
    by_rules = snp.run(with_ballast(rebuilt(system, neurons=doubled_rules)), max_steps=MAX_STEPS)
    by_weight = snp.run(
        with_ballast(rebuilt(system, synapses=doubled_synapses)), max_steps=MAX_STEPS
    )
    assert by_rules.configurations.tolist() == by_weight.configurations.tolist()
    assert by_rules.spike_trains.tolist() == (2 * by_weight.spike_trains).tolist()


@settings(max_examples=15)
@given(small_systems)
def test_conservation_and_bounds(system):
    system = with_ballast(system)
    solution = snp.run(system, max_steps=MAX_STEPS)
    assert (solution.configurations >= 0).all()
    delays = [rule.delay for rule in system.rules]
    assert (solution.timer_history >= 0).all()
    assert (solution.timer_history <= max(delays, default=0)).all()
    weights = np.zeros((len(system.neurons),) * 2, int)
    for source, target, weight in system.synapses:
        weights[system.names[source], system.names[target]] = weight
    for t in range(1, solution.steps + 1):
        is_open = solution.timer_history[t] == 0
        consumed = [
            0 if rule == snp.NO_RULE else neuron.rules[rule].consume
            for neuron, rule in zip(system.neurons, solution.rules[t - 1], strict=True)
        ]
        arriving = solution.emissions[t - 1] @ weights
        for name, train in system.input.items():
            arriving[system.names[name]] += train[t - 1] if t <= len(train) else 0
        change = solution.configurations[t] - solution.configurations[t - 1]
        assert change.tolist() == (arriving * is_open - consumed).tolist()
        assert not solution.emissions[t - 1][~is_open].any()


def form_name(form):
    is_row_form = isinstance(form, Transition)
    return f"Transition({form.layout.__name__})" if is_row_form else form.__name__


both_kinds = st.tuples(any_systems, systems(max_neurons=6, max_delay=0, signed=None), seeds)


@pytest.mark.parametrize("form", SOME_FORMS, ids=form_name)
@settings(max_examples=5)
@given(both_kinds)
def test_every_form_gives_the_same_integers(form, drawn):
    """The same key gives the same path, configuration by configuration, in every form."""
    check_form(form, *drawn)


@pytest.mark.slow
@pytest.mark.parametrize("form", [x for x in FORMS if x not in SOME_FORMS], ids=form_name)
@settings(max_examples=many(30, part=10), suppress_health_check=[HealthCheck.too_slow])
@given(both_kinds)
def test_every_form_on_many_systems(form, drawn):
    check_form(form, *drawn)


def check_form(form, system, without_delays, seed):
    choice = snp.UniformChoice(jr.key(seed))
    for one in (with_ballast(system), with_ballast(without_delays, delay=0)):
        expected = snp.run(one, choice=choice, max_steps=MAX_STEPS)
        solution = snp.run(one, choice=choice, max_steps=MAX_STEPS, layout=form)
        assert solution.steps == expected.steps and solution.halted == expected.halted
        assert solution.configurations.tolist() == expected.configurations.tolist()
        assert solution.rules.tolist() == expected.rules.tolist()
        assert solution.emissions.tolist() == expected.emissions.tolist()


@pytest.mark.parametrize("form", [BitDense, *slow(BitGather, Interval)])
@settings(max_examples=5)
@given(systems(max_neurons=6, weights=False), seeds)
def test_forms_without_weights(form, system, seed):
    choice = snp.UniformChoice(jr.key(seed))
    system = with_ballast(system, weight=1)
    expected = snp.run(system, choice=choice, max_steps=MAX_STEPS)
    solution = snp.run(system, choice=choice, max_steps=MAX_STEPS, layout=form)
    assert solution.configurations.tolist() == expected.configurations.tolist()


@settings(max_examples=15)
@given(systems(max_neurons=5, max_delay=0, inputs=False, signed=None))
def test_matrix_equation_without_delays(system):
    """C_t = C_{t-1} + S_t M in every step, and C_t - C_0 = (sum of S) M."""
    system = with_ballast(system, delay=0)
    matrix = TransitionMatrix(system)
    assert matrix.is_exact
    solution = snp.run(system, max_steps=MAX_STEPS)
    total = np.zeros(matrix.num_rules, int)
    for t in range(1, solution.steps + 1):
        vector = matrix.spiking_vector(solution.rules[t - 1])
        total += vector
        following = matrix.next(solution.configurations[t - 1], vector)
        assert solution.configurations[t].tolist() == following.tolist()
    difference = solution.spikes - solution.configurations[0]
    assert difference.tolist() == (total @ matrix.matrix).tolist()


@settings(max_examples=15)
@given(any_systems)
def test_split_matrix_equation_with_delays(system):
    """C_t = C_{t-1} - S_t K + (E_t W + X_t) open_t in every step."""
    system = with_ballast(system)
    matrix = TransitionMatrix(system)
    solution = snp.run(system, max_steps=MAX_STEPS)
    for t in range(1, solution.steps + 1):
        vector = matrix.spiking_vector(solution.rules[t - 1])
        arriving = solution.emissions[t - 1] @ matrix.weights
        for name, train in system.input.items():
            arriving[system.names[name]] += train[t - 1] if t <= len(train) else 0
        is_open = solution.timer_history[t] == 0
        following = solution.configurations[t - 1] - vector @ matrix.consumption
        assert solution.configurations[t].tolist() == (following + arriving * is_open).tolist()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@settings(max_examples=15)
@given(systems(min_neurons=1, max_neurons=6, signed=None), st.integers(0, 40), st.booleans())
def test_overflow_is_never_silent(dtype, system, below, is_low):
    """Near a limit the run equals that of Python's integers, or stops before it differs."""
    limit = np.iinfo(dtype)
    is_low = is_low and system.signed
    neurons = [
        snp.Neuron(
            n.name,
            int(limit.min) + 1 + below + abs(n.spikes)
            if is_low
            else int(limit.max) - below - n.spikes,
            n.rules,
        )
        for n in system.neurons
        if is_low or n.spikes + below >= 0
    ]
    if len(neurons) < len(system.neurons):
        return
    system = with_ballast(rebuilt(system, neurons=neurons))
    solution = snp.run(system, max_steps=MAX_STEPS, throw=False, count_dtype=dtype)
    expected = reference.run(system, max_steps=MAX_STEPS)
    outside = [
        max(c.spikes) > limit.max or min(c.spikes) < limit.min for c in expected.configurations
    ]
    if any(outside):
        assert solution.result == snp.RESULTS.spike_overflow
        assert solution.steps == outside.index(True) - 1
        assert solution.spikes.tolist() == list(expected.configurations[solution.steps].spikes)
    else:
        assert_same_run(solution, expected)


@pytest.mark.slow
@pytest.mark.parametrize("is_random", [False, True], ids=["first_rule", "random"])
@settings(
    max_examples=many(5_000, part=50),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
@given(any_systems, seeds, st.sampled_from(LAYOUTS), st.sampled_from([np.int32, np.int64]))
def test_ten_thousand_random_systems(is_random, system, seed, layout, dtype):
    """Half by the first rule, half at random, in every layout and count type."""
    system = with_ballast(system)
    keywords = {"max_steps": MAX_STEPS, "layout": layout, "count_dtype": dtype}
    if is_random:
        solution = snp.run(system, choice=snp.UniformChoice(jr.key(seed)), **keywords)
        chosen = iter(choices_of(solution))
        expected = reference.run(system, lambda *_: next(chosen), max_steps=solution.steps)
        assert solution.halted or solution.steps == MAX_STEPS
    else:
        solution = snp.run(system, **keywords)
        expected = reference.run(system, max_steps=MAX_STEPS)
    assert_same_run(solution, expected)


@pytest.mark.slow
@settings(
    max_examples=many(150, part=15), suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(systems(max_neurons=9, signed=None))
def test_every_lowering_without_ballast(system):
    """Programs without delays, periods, inputs, weights or outputs are other programs: compile them
    all."""
    for layout in LAYOUTS:
        solution = snp.run(system, max_steps=MAX_STEPS, layout=layout)
        assert_same_run(solution, reference.run(system, max_steps=MAX_STEPS))


def _successors(system):
    first = reference.initial(system)
    found = set()
    for count, choice in enumerate(reference.choices(system, first)):
        if count == 200:
            break
        found.add(reference.step(system, first, choice))
    return found
