"""Probabilities of output trains against the sum over all computations, one by one."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.testing import reference, systems
from snpjax.testing.strategies import plastic_systems
from tests.support.helpers import many, with_ballast


STEPS = 4
MAX_COMPUTATIONS = 3000


def shares(logits):
    """Weights of alternatives, the first one alone where all have -inf."""
    most = max(logits)
    if most == -math.inf:
        return [1.0] + [0.0] * (len(logits) - 1)
    weights = [math.exp(x - most) for x in logits]
    return [x / sum(weights) for x in weights]


def chances(system, configuration, logits):
    """Every choice of a configuration with its probability."""
    of_neurons = []
    for i, own in enumerate(reference.alternatives(system, configuration)):
        rules = [a[0] if isinstance(a, tuple) else a for a in own]
        distinct = list(dict.fromkeys(rules))
        weights = [logits.get((rule, i), 0.0) for rule in distinct]
        of_rule = dict(zip(distinct, shares(weights), strict=True))
        of_neurons.append(
            [(a, of_rule[r] / rules.count(r)) for a, r in zip(own, rules, strict=True)]
        )
    for taken in itertools.product(*of_neurons):
        choice = tuple(a for a, _ in taken)
        decided = list(itertools.product(*reference.decisions(system, configuration, choice)))
        for more in decided:
            yield (*choice, *more), math.prod(p for _, p in taken) / len(decided)


def trains(system, steps, logits, names, *, halts=False):
    """The probability of every train, by all computations."""
    found, left = {}, MAX_COMPUTATIONS
    at = [system.names[name] for name in names]

    def follow(configuration, train, probability):
        nonlocal left
        left -= 1
        if left < 0:
            raise TooMany
        is_halting = reference.is_halting(system, configuration)
        if len(train) == steps:
            if is_halting or not halts:
                found[train] = found.get(train, 0.0) + probability
        elif is_halting:
            if not halts:
                follow(configuration, (*train, (0,) * len(at)), probability)
        else:
            for choice, p in chances(system, configuration, logits):
                after, emitted = reference.step(system, configuration, choice)
                follow(after, (*train, tuple(emitted[i] for i in at)), probability * p)

    follow(reference.initial(system), (), 1.0)
    return found


class TooMany(Exception):
    pass


def table(logits, system):
    """Logits by rule and neuron as an array."""
    size = max((len(neuron.rules) for neuron in system.neurons), default=0)
    values = np.zeros((max(size, 1), system.num_neurons))
    for (rule, neuron), value in logits.items():
        values[rule, neuron] = value
    return values


def drawn_logits(draw, system):
    places = [(r, i) for i, n in enumerate(system.neurons) for r in range(len(n.rules))]
    value = st.sampled_from([0.0, 0.5, -1.25, 2.0, -math.inf])
    return {place: draw(value) for place in places}


def assert_agrees(system, logits, graph):
    names = system.output
    for halts in (False, True):
        expected = trains(system, STEPS, logits, names, halts=halts)
        if not expected:
            continue
        seen = list(expected)
        given = jnp.asarray(seen, jnp.int32).transpose(1, 2, 0)  # steps, outputs, paths
        process = snp.output_process(graph, output=names)
        with jax.enable_x64(True):
            if process.is_single:
                given = given[:, 0]
            found = np.asarray(
                snp.log_probability(process, given, logits=table(logits, system), halts=halts)
            )
        np.testing.assert_allclose(np.exp(found), list(expected.values()), rtol=1e-12, atol=1e-15)
        if not halts:
            np.testing.assert_allclose(np.exp(found).sum(), 1, rtol=1e-12)


def check_random(system, data):
    system = with_ballast(system)
    logits = drawn_logits(data.draw, system)
    try:
        trains(system, STEPS, logits, system.output)
    except TooMany:
        return
    assert_agrees(system, logits, snp.explore(system, max_depth=STEPS, chunks=(64,)))


@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@given(systems(max_neurons=3, max_delay=2), st.data())
def test_probabilities_are_sums_over_computations(system, data):
    check_random(system, data)


@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@given(plastic_systems(max_neurons=3), st.data())
def test_subsets_of_synapses_are_uniform(system, data):
    check_random(system, data)


def test_subsets_share_the_probability_of_their_rule():
    system = with_ballast(
        snp.SpikingSystem(
            [snp.Neuron("i", 1, ["a -> +-1(i, {j, k})", "a -> lambda"]), snp.Neuron("j"),
             snp.Neuron("k", 0, ["a -> a"])],
            [("k", "j")],
            output="k",
        )
    )  # fmt: skip
    assert_agrees(system, {(0, 0): 0.5}, snp.explore(system, max_depth=STEPS, chunks=(64,)))


@pytest.mark.slow
@settings(max_examples=many(30, part=3), suppress_health_check=[HealthCheck.too_slow])
@given(systems(max_neurons=4) | plastic_systems(max_neurons=4), st.data())
def test_many_probabilities_are_sums_over_computations(system, data):
    check_random(system, data)


def coin(*, output=("coin",)):
    """Goes on with rule 0 or 1, of which 0 sends a spike, and halts with rule 2."""
    return snp.SpikingSystem(
        [
            snp.Neuron("coin", 1, ["a -> a", "a -> a;1", "a -> lambda"]),
            snp.Neuron("echo", 0, ["a -> a"]),
            snp.Neuron("back", 0, ["a -> a"]),
        ],
        [("coin", "echo"), ("coin", "back"), ("back", "coin")],
        output=output,
    )


LOGITS = {(0, 0): 0.3, (1, 0): -0.4, (2, 0): 0.1}


@pytest.fixture(scope="module")
def process():
    return snp.output_process(coin())


def test_trains_of_a_coin(process):
    expected = trains(coin(), 6, LOGITS, ["coin"])
    given = np.asarray(list(expected))[:, :, 0].T
    found = snp.log_probability(process, given, logits=table(LOGITS, coin()))
    assert found.shape == (len(expected),)
    np.testing.assert_allclose(np.exp(found), list(expected.values()), rtol=1e-5)
    one = snp.log_probability(process, given[:, 0], logits=table(LOGITS, coin()))
    assert one.shape == () and float(one) == pytest.approx(float(found[0]), rel=1e-6)


def test_halting_trains_are_those_of_the_graph(process):
    graph = snp.explore(coin())
    for length in (3, 4):
        expected = trains(coin(), length, {}, ["coin"], halts=True)
        listed = {x for x in graph.halting_trains(length) if len(x) == length}
        assert {tuple(s for (s,) in train) for train in expected} == listed
        every = np.asarray(list(itertools.product((0, 1), repeat=length)))
        found = snp.log_probability(process, every.T, halts=True)
        own = [expected.get(tuple((s,) for s in train), 0.0) for train in every.tolist()]
        np.testing.assert_allclose(np.exp(found), own, rtol=1e-5)
        assert np.isneginf(found).tolist() == [p == 0 for p in own]


def test_several_outputs_are_observed_together():
    system = coin(output=("coin", "back"))
    process = snp.output_process(system, output=("back", "coin"))
    expected = trains(system, 5, LOGITS, ["back", "coin"])
    given = np.asarray(list(expected)).transpose(1, 2, 0)
    found = snp.log_probability(process, given, logits=table(LOGITS, system))
    np.testing.assert_allclose(np.exp(found), list(expected.values()), rtol=1e-5)
    marginal = trains(system, 5, LOGITS, ["back"])
    found = [
        snp.log_probability(
            system, np.asarray(x)[:, 0], logits=table(LOGITS, system), output="back"
        )
        for x in list(marginal)[:2]
    ]
    np.testing.assert_allclose(np.exp(found), list(marginal.values())[:2], rtol=1e-5)


def test_gradients_are_finite_differences(process):
    train = jnp.asarray([[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 0]]).T
    with jax.enable_x64(True):

        @jax.jit
        def total(logits):
            return jnp.sum(snp.log_probability(process, train, logits=logits))

        logits = table(LOGITS, coin())
        slope = jax.jit(jax.grad(total))
        slopes = slope(logits)
        step = 1e-5
        for rule, neuron in itertools.product(range(3), range(3)):
            shift = np.zeros(logits.shape)
            shift[rule, neuron] = step
            expected = (total(logits + shift) - total(logits - shift)) / (2 * step)
            assert float(slopes[rule, neuron]) == pytest.approx(float(expected), abs=1e-8)
        assert np.abs(slopes[:, 0]).min() > 0.01
        batched = jax.vmap(slope)(np.stack([logits, 2 * logits]))
        np.testing.assert_allclose(batched[0], slopes, rtol=1e-12)


def test_what_is_impossible_has_no_gradient_and_no_nan(process):
    train = jnp.asarray([1, 1, 1])
    logits = jnp.asarray([[0.0], [-jnp.inf], [-jnp.inf]])

    @jax.jit
    def value(logits, train):
        return snp.log_probability(process, train, logits=logits)

    value_and_grad = jax.jit(jax.value_and_grad(value))
    found, slopes = value_and_grad(logits, train)
    assert found == -jnp.inf and not np.any(slopes)
    sure, slopes = value_and_grad(logits, jnp.asarray([1, 0, 1]))
    assert sure == 0 and np.isfinite(slopes).all()
    with jax.debug_nans(True):
        jax.grad(value)(jnp.asarray([[500.0], [-500.0], [0.0]]), jnp.asarray([0, 1, 0]))
    rare = value(jnp.asarray([[500.0], [-500.0], [0.0]]), jnp.asarray([0, 1, 0]))
    assert float(rare) == pytest.approx(-1000, rel=1e-6)  # no product underflows
    none = jnp.full((3, 1), -jnp.inf)
    assert value(none, jnp.asarray([1, 0, 1])) == 0  # the first rule then, as in a run
    assert value(none, train) == -jnp.inf


def test_runs_have_these_probabilities():
    """The frequencies of the trains of random runs, by five of their standard deviations."""
    system, paths = coin(), 4000
    logits = table(LOGITS, system)
    runs = snp.run(
        system, choice=snp.WeightedChoice(logits, jr.key(3)), max_steps=4, paths=paths, throw=False
    )
    found, counts = np.unique(runs.train(), axis=1, return_counts=True)
    chance = np.exp(snp.log_probability(system, found, logits=logits))
    deviation = np.sqrt(paths * chance * (1 - chance))
    assert chance.sum() == pytest.approx(1, abs=1e-4)
    assert np.all(np.abs(counts - paths * chance) <= 5 * deviation + 1e-3)


def test_unbounded_systems_have_trains_as_well():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a+/a -> a", "a+/a -> a^2"]), snp.Neuron("y")],
        [("x", "x"), ("x", "y")],
        output=["x"],
    )
    assert float(snp.log_probability(system, np.asarray([1, 2, 2]))) == pytest.approx(
        -3 * np.log(2)
    )
    graph = snp.explore(system, max_depth=2)
    assert float(snp.log_probability(graph, np.asarray([1, 2]))) == pytest.approx(-2 * np.log(2))
    process = snp.output_process(system, max_depth=2)
    assert snp.log_probability(process, np.asarray([1, 2])) == snp.log_probability(graph, [1, 2])
    for one in (graph, process):
        with pytest.raises(ValueError, match="3 steps, but the graph is complete up to 2 .*max_de"):
            snp.log_probability(one, np.asarray([1, 2, 2]))
    with pytest.raises(ValueError, match="explored already. Give `max_depth` to `explore`"):
        snp.output_process(graph, max_depth=2)


def test_the_likelihood_recovers_the_probabilities_of_rules():
    """The estimate is within four of its standard errors, from the observed information."""
    system, truth = coin(), np.asarray([0.8, -0.5, 0.0])
    choice = snp.WeightedChoice(truth[:, None], jr.key(1))
    runs = snp.run(system, choice=choice, max_steps=12, paths=600, throw=False)
    seen, counts = np.unique(runs.train(), axis=1, return_counts=True)
    process = snp.output_process(system)

    with jax.enable_x64(True):

        @jax.jit
        def loss(free):
            logits = jnp.append(free, 0.0)[:, None]
            return -jnp.sum(
                jnp.asarray(counts, float) * snp.log_probability(process, seen, logits=logits)
            )

        free = jnp.zeros(2)
        newton = jax.jit(lambda x: (jax.hessian(loss)(x), jax.grad(loss)(x)))
        for _ in range(6):
            information, slopes = map(np.asarray, newton(free))
            free = free - np.linalg.solve(information, slopes)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert np.all(errors < 0.15)
    assert np.all(np.abs(np.asarray(free) - truth[:2]) < 4 * errors)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda p: snp.log_probability(p, np.zeros((2, 2, 2), int)), r"Give \(steps,\) or"),
        (lambda p: snp.log_probability(p, np.zeros(3)), "integers"),
        (lambda p: snp.log_probability(p, [1], logits=np.zeros(3)), r"shape \(3,\)"),
        (lambda p: snp.log_probability(p, [1], logits=np.zeros((4, 1))), r"\(3, 3\)"),
        (lambda p: snp.log_probability(p, [1], logits=np.full((1, 1), np.nan)), "NaN"),
        (lambda p: snp.log_probability(p, [1], output="coin"), "Leave it out"),
        (lambda p: snp.output_process(coin(), output="eco"), "'eco' is not an output neuron"),
        (lambda p: snp.output_process(coin(output=("coin", "echo"))), "Name one of: coin, echo"),
        (lambda p: snp.output_process(snp.SpikingSystem([snp.Neuron("x")])), "no output neurons"),
        (lambda p: snp.output_process(snp.explore(coin(), edges=False)), "edges were not kept"),
    ],
)
def test_what_does_not_fit(process, call, message):
    with pytest.raises(ValueError, match=message):
        call(process)


def test_a_train_without_steps_is_certain(process):
    assert snp.log_probability(process, np.zeros(0, int)) == 0.0
    assert snp.log_probability(process, np.zeros((0, 3), int)).tolist() == [0.0] * 3
    assert snp.log_probability(coin(), np.zeros(0, int)) == 0.0


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_traced_logits_that_are_no_numbers_give_nan(process, value):
    logits = jnp.zeros((2, 1)).at[0, 0].set(value)
    found = jax.jit(lambda x: snp.log_probability(process, np.array([1, 0]), logits=x))(logits)
    assert jnp.isnan(found)


def test_traced_functions_need_a_process(process):
    with pytest.raises(TypeError, match="output_process"):
        jax.jit(lambda x: snp.log_probability(coin(), x))(jnp.asarray([1, 0]))
    jitted = eqx.filter_jit(snp.log_probability)
    assert jitted(process, jnp.asarray([1, 0])) == snp.log_probability(process, [1, 0])


def test_numbers_beyond_32_bits_are_refused():
    """They would be others."""
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], output="x")
    process = snp.output_process(system)
    assert float(snp.log_probability(process, np.array([1]))) == 0
    with pytest.raises(ValueError, match="below 2\\^31"):
        snp.log_probability(process, np.array([2**32 + 1]))
