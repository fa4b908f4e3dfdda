"""Relaxed systems: their values are those of the exact run, their gradients what is documented."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.flatten_util import ravel_pytree

import snpjax as snp
from snpjax import learn
from snpjax.learn.run import _own_trains, scanned
from snpjax.testing import systems
from snpjax_formats import CSR, Dense
from tests.support.helpers import quietly, slow, with_ballast


STEPS = 10
small = systems(max_neurons=5).map(with_ballast)
seeds = st.integers(0, 1000)
SURROGATES = [
    learn.FastSigmoid(),
    learn.Arctan(2.0),
    learn.Triangular(0.5),
    learn.StraightThrough(0.25),
    learn.FastSigmoid(2.0, height=0.5),
]
_scanned = eqx.filter_jit(scanned)


def values(model, choice=None):
    """A run of the model's own input, by one compilation for all models."""
    trains = _own_trains(model, STEPS)  # all systems have some: the ballast
    bare, constants = replace(model, names=()), learn.constants_of(model)
    state = learn.initial_state(constants.initial)
    options = (trains, STEPS, True, True)
    final, (outputs, chances, counts) = _scanned(
        bare, constants, (choice or snp.FirstChoice()).for_path(0), state, *options
    )
    num = len(model.names)
    counts = np.concatenate([np.asarray(state.spikes)[None], counts])
    return learn.RelaxedSolution(
        outputs=np.asarray(outputs)[:, : model.num_outputs],
        spikes=np.asarray(final.spikes)[:num],
        timers=np.asarray(final.timers)[:num],
        configurations=counts[:, :num],
        steps=final.step,
        log_probability=np.sum(chances, axis=0),
        is_exact=float(final.largest) < 2**24,
    )


def assert_same_values(relaxed, system, choice):
    """The configurations, outputs and steps of the exact run; past its end they stay."""
    exact = quietly(snp.run, system, max_steps=STEPS, choice=choice)
    assert relaxed.is_exact and relaxed.steps == exact.steps
    size = exact.steps + 1
    counts = np.asarray(relaxed.configurations)
    assert counts[:size].tolist() == exact.configurations.tolist()
    assert (counts[size:] == counts[exact.steps]).all()
    assert relaxed.spikes.tolist() == exact.spikes.tolist()
    assert relaxed.timers.tolist() == exact.timers.tolist()
    outputs = np.asarray(relaxed.outputs)
    assert outputs[: exact.steps].tolist() == exact.spike_trains.tolist()
    assert (outputs[exact.steps :] == 0).all()


@pytest.mark.slow
@settings(max_examples=10)
@given(small, seeds)
def test_values_are_those_of_the_run(system, seed):
    model = learn.relax(system)
    for choice in (snp.FirstChoice(), snp.UniformChoice(jr.key(seed))):
        found = values(model, choice)
        assert_same_values(found, system, choice)


def moved(model, seed):
    """The model with other real parameters."""
    source = np.random.default_rng(seed)

    def move(x):
        x, noise = np.asarray(x), source.normal(0, 0.8, x.shape)
        return jnp.asarray(x + np.where(np.isfinite(x) & (x != 0), noise, 0), x.dtype)

    names = ("low", "high", "consume", "produce", "initial", "synapses")
    own = [getattr(model, name) for name in names]
    weights, rest = eqx.partition(own, eqx.is_inexact_array)
    changed = eqx.combine(jax.tree.map(move, weights), rest)
    return eqx.tree_at(lambda m: [getattr(m, name) for name in names], model, changed)


@settings(max_examples=12)
@given(small, seeds)
def test_a_trained_model_is_its_exact_system(system, seed):
    """Whatever the parameters have become."""
    model = moved(learn.relax(system), seed)
    exact = quietly(learn.to_system, model, round=True)
    found = values(model)
    assert_same_values(found, exact, snp.FirstChoice())
    again = values(learn.relax(exact))
    assert again.configurations.tolist() == found.configurations.tolist()
    assert quietly(learn.to_system, learn.relax(exact)).neurons == exact.neurons


# ---- derivatives ----


def counter(weight=2, guard="a{3,}", consume=3):
    """x sends its spikes one by one to y, which sends one for every three."""
    neurons = [snp.Neuron("x", 4, ["a+/a -> a"]), snp.Neuron("y", 0, [snp.Rule(guard, consume, 1)])]
    return snp.SpikingSystem(neurons, [("x", "y", weight)], output=["y"])


def weights_of(model):
    return jax.tree.leaves(eqx.filter(model.synapses, eqx.is_inexact_array))[0]


def total(model, **options):
    return jnp.sum(learn.run(model, steps=8, **options).outputs)


def gradient(function, model):
    return eqx.filter_grad(function)(model)


@pytest.mark.parametrize("layout", [Dense, pytest.param(CSR, marks=pytest.mark.slow)])
def test_gradients_of_smooth_firing_are_finite_differences(layout):
    """In every parameter; nothing is rounded, so that small changes count."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("x", 3, ["a{2,}/a -> a", "a{1,4}/a -> lambda"]),
            snp.Neuron("y", 2, ["a{2,5}/a^2 -> a", "aa(aaa)*/a -> a^2"]),
        ],
        [("x", "y", 2), ("y", "x", 1)],
        output=["x", "y"],
        level="extended",
    )
    model = moved(
        quietly(learn.relax, system, surrogate=learn.Smooth(0.7), layout=layout), 4
    )  # away from where ranges end
    weights = jnp.arange(1.0, 15.0).reshape(7, 2)

    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    flat, unflatten = ravel_pytree(parameters)

    @eqx.filter_jit
    def loss(flat):
        changed = eqx.combine(unflatten(flat), rest)
        return jnp.sum(learn.run(changed, steps=7).outputs * weights)

    slopes, by = jax.grad(loss)(flat), 1e-2
    some = np.flatnonzero(np.isfinite(flat) & (np.asarray(flat) != 0))
    assert len(some) > 20 and np.count_nonzero(np.asarray(slopes)[some]) > 8
    for at in some:
        difference = (loss(flat.at[at].add(by)) - loss(flat.at[at].add(-by))) / (2 * by)
        np.testing.assert_allclose(slopes[at], difference, rtol=2e-2, atol=2e-2)


def margin_of(terms, k):
    """The documented one: `terms` are (low, high, period), `high` is `None` without a bound."""
    margins = []
    for low, high, period in terms:
        high = np.inf if high is None else high
        if period == 1:
            margins.append(min(k - low, high - k) + 0.5)
        else:
            accepted = np.arange(low, min(high, 60) + 1, period)
            margins.append(0.5 - np.abs(accepted - k).min())
    return max(margins)


_TERMS = st.one_of(
    st.builds("a{{{0},{1}}}".format, st.integers(1, 4), st.integers(4, 6)),
    st.builds("a{{{0}}}".format, st.integers(1, 9)),
    st.builds("a{{{0}}}(a{{{1}}})*".format, st.integers(1, 9), st.integers(1, 4)),
)
#: Three terms, one with a period, so that all systems share a program.
_PAD = "a|a{3}|a{6}|a{11}(aaa)*"
_GUARDS = (
    st.lists(_TERMS, min_size=1, max_size=2)
    .map("|".join)
    .filter(lambda guard: len(snp.Guard(guard).terms(1)) <= 3)
)
_COUNTS = np.arange(0, 18, 0.5)


@pytest.mark.parametrize("surrogate", [learn.Smooth(0.8), learn.StraightThrough(0.7)])
@settings(max_examples=10)
@given(drawn=st.lists(_GUARDS, min_size=7, max_size=7))
def test_firing_and_its_derivative_follow_the_largest_margin(surrogate, drawn):
    """At kinks the derivative is that of central differences."""
    drawn = [*drawn, "a{1,2}|a{5,}", _PAD]
    rules = [snp.Rule(guard, 1, 1) for guard in drawn]
    system = snp.SpikingSystem(
        [snp.Neuron(f"n{i}", 0, [rule]) for i, rule in enumerate(rules)],
        output=[f"n{i}" for i in range(len(rules))],
        level="extended",
    )
    is_smooth = isinstance(surrogate, learn.Smooth)
    counts = _COUNTS if is_smooth else _COUNTS[::2]
    model = learn.relax(system, surrogate=surrogate)
    spikes = jnp.broadcast_to(jnp.asarray(counts, jnp.float32), (len(drawn), len(counts)))
    values, slopes = _firing(model, spikes)
    for guard, value, slope in zip(drawn, values, slopes, strict=True):
        terms = snp.Guard(guard).terms(1)
        for k, v, s in zip(counts, value, slope, strict=True):
            margin, by = margin_of(terms, k), 0.125
            kinked = (margin_of(terms, k + by) - margin_of(terms, k - by)) / (2 * by)
            if is_smooth:
                fired = 1 / (1 + np.exp(-0.8 * margin))
                expected = fired, 0.8 * fired * (1 - fired) * kinked
            else:
                expected = float(margin > 0), 0.7 * kinked
            np.testing.assert_allclose((v, s), expected, atol=1e-5, err_msg=f"{guard} at {k}")


@eqx.filter_jit
def _firing(model, spikes):
    def total(spikes):
        values = learn.run(model, steps=1, spikes=spikes).outputs[0]
        return jnp.sum(values), values

    slopes, values = jax.grad(total, has_aux=True)(spikes)
    return values, slopes


@pytest.mark.parametrize(
    "surrogate",
    [*SURROGATES[3:], *slow(*SURROGATES[:3])],
)
def test_the_gradient_of_one_step_is_the_documented_one(surrogate):
    """Of a neuron with k spikes and the guard k >= l, consuming c and producing p: firing has the
    slope s at the margin k - l + 1/2."""
    for spikes in (2, 3, 5):
        system = snp.SpikingSystem([snp.Neuron("y", spikes, ["a{3,}/a^2 -> a^2"])], output=["y"])
        model = learn.relax(system, surrogate=surrogate)
        slope = float(surrogate.slope(jnp.asarray(spikes - 3 + 0.5)))
        fired = float(spikes >= 3)

        of_emitted, of_left = _slopes_of_one_step(model)
        assert of_emitted.low[0, 0] == pytest.approx(-2 * slope)
        assert of_emitted.initial[0] == pytest.approx(2 * slope)
        assert of_emitted.produce[0, 0] == fired and of_emitted.consume[0, 0] == 0
        assert of_left.initial[0] == pytest.approx(1 - 2 * slope)
        assert of_left.consume[0, 0] == -fired
        assert of_left.low[0, 0] == pytest.approx(2 * slope)


@eqx.filter_jit
def _slopes_of_one_step(model):
    """Those of what the first neuron emits, and of what is left in it."""
    emitted = gradient(lambda own: learn.run(own, steps=1).outputs[0, 0], model)
    return emitted, gradient(lambda own: learn.run(own, steps=1).spikes[0], model)


@pytest.mark.slow
def test_checkpoints_change_no_gradient():
    neurons = [
        snp.Neuron("x", 9, ["aa(aa)*/a -> a; 1", "a{3}/a^2 -> a"]),
        snp.Neuron("y", 1, ["a{2,}/a^2 -> a^2"]),
    ]
    model = learn.relax(snp.SpikingSystem(neurons, [("x", "y", 2), ("y", "x", 1)], output=["y"]))

    def loss(model, checkpoint):
        solution = learn.run(model, steps=STEPS, checkpoint=checkpoint)
        return jnp.sum(solution.outputs) + jnp.sum(solution.spikes**2)

    one, other = (gradient(lambda m: loss(m, c), model) for c in (True, False))  # noqa: B023
    assert any(jnp.any(x != 0) for x in jax.tree.leaves(one))
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


def test_a_closed_neuron_passes_no_gradient():
    """x sends while y is closed: what is lost matters to nothing."""
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 1, ["a -> a; 2"])]
    model = learn.relax(snp.SpikingSystem(neurons, [("x", "y", 3)], output=["y"]))
    found = gradient(lambda m: learn.run(m, steps=4).spikes[1], model)
    assert (weights_of(found) == 0).all()
    late = learn.relax(snp.SpikingSystem(neurons[:1] + [snp.Neuron("y")], [("x", "y", 3)]))
    found = gradient(lambda m: learn.run(m, steps=4).spikes[1], late)
    assert weights_of(found).sum() == 1


def test_weights_are_trained_to_a_number_of_spikes():
    """y is to emit as often as x does: its weight becomes what it consumes."""
    model = learn.relax(counter(weight=1), surrogate=learn.FastSigmoid(2.0))

    @eqx.filter_jit
    def improved(model):
        slopes = eqx.filter_grad(lambda m: (total(m) - 4.0) ** 2)(model)
        own = eqx.filter(slopes.synapses, eqx.is_inexact_array)
        step = jax.tree.map(lambda g: -0.02 * jnp.sign(g), own)
        return eqx.tree_at(lambda m: m.synapses, model, eqx.apply_updates(model.synapses, step))

    assert total(model) == 1
    for _ in range(120):
        model = improved(model)
    assert total(model) == 4
    exact = learn.to_system(model, round=True)
    assert [weight for _, _, weight in exact.synapses] == [3]
    assert snp.run(exact, max_steps=8).spike_train.sum() == 4


def test_a_batch_is_single_runs():
    model = learn.relax(counter())
    spikes = jnp.asarray([[4, 0, 7], [0, 5, 1]], jnp.float32)
    train = {"y": jnp.asarray([[0, 1, 2], [3, 0, 0]], jnp.float32)}
    batch = learn.run(model, steps=6, spikes=spikes, input=train)
    for path in range(3):
        own = {"y": train["y"][:, path]}
        one = learn.run(model, steps=6, spikes=spikes[:, path], input=own)
        assert batch.outputs[:, :, path].tolist() == one.outputs.tolist()
        assert batch.steps[path] == one.steps


def test_a_single_path_is_the_first_of_a_batch():
    system = snp.SpikingSystem([snp.Neuron("x", 9, ["a+/a -> a", "a{2,}/a^2 -> a"])], output=["x"])
    for seed in range(3):
        choice = snp.UniformChoice(jr.key(seed))
        found = learn.run(learn.relax(system), steps=6, choice=choice)
        exact = snp.run(system, max_steps=6, choice=choice)
        assert found.spikes.tolist() == exact.spikes.tolist() and found.steps == exact.steps


def test_a_system_waits_for_its_input():
    """Also for one that takes the place of its own, which has none."""
    neurons = [snp.Neuron("x", 0, ["a+/a -> a"]), snp.Neuron("y", 0, ["a{2,}/a -> a"])]
    system = snp.SpikingSystem(neurons, [("x", "y", 2)], input={"x": []}, output=["y"])
    train = jnp.asarray([[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0], [1, 0, 0, 2, 0, 0]], jnp.float32)
    found = learn.run(learn.relax(system), steps=9, input={"x": train.T})
    for path, own in enumerate(train.astype(int).tolist()):
        exact = snp.run(system.replace(input={"x": own}), max_steps=9)
        assert found.steps[path] == exact.steps
        assert found.outputs[: exact.steps, 0, path].tolist() == exact.spike_train.tolist()
        again = learn.run(learn.relax(system.replace(input={"x": own})), steps=9)
        assert again.outputs[..., 0].tolist() == found.outputs[:, 0, path].tolist()


def test_what_does_not_fire_is_trained():
    """A system that has halted computes nothing more, and has derivatives all the same."""
    model = learn.relax(counter(weight=0 + 1))
    quiet = eqx.tree_at(lambda m: m.initial, model, jnp.zeros_like(model.initial))
    found = gradient(total, quiet)
    assert learn.run(quiet, steps=8).steps == 0
    assert found.low[0, 0] < 0 < found.initial[0]


def test_neurons_in_another_order_have_the_same_gradients():
    rules = {"x": ["a+/a -> a"], "y": ["a{2,}/a^2 -> a", "a -> lambda"], "z": ["a{3}/a -> a^2; 1"]}
    synapses = [("x", "y", 2), ("x", "z", 1), ("z", "y", 1)]

    def slopes(order):
        neurons = [snp.Neuron(name, 4, rules[name]) for name in order]
        model = quietly(learn.relax, quietly(snp.SpikingSystem, neurons, synapses, output=["y"]))
        found = eqx.filter_jit(eqx.filter_grad(total))(model)
        places = np.asarray([order.index(name) for name in "xyz"])
        weights = found.synapses.to_dense()[np.ix_(places, places)]
        names = ("low", "consume", "produce", "initial")
        return [weights, *(np.asarray(getattr(found, name))[..., places] for name in names)]

    for one, other in zip(slopes("xyz"), slopes("zxy"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
        assert np.any(one)


def test_models_of_one_shape_share_what_is_compiled():
    """Whatever their numbers, rules, and synapses are."""
    traces = 0

    @eqx.filter_jit
    def slope(model):
        nonlocal traces
        traces += 1
        return eqx.filter_value_and_grad(total)(model)

    def system(number):
        rules = [[f"a{{{number},}}/a -> a"], ["a{3,}/a^3 -> a", "a{2} -> lambda"]][
            :: 2 * (number % 2) - 1
        ]
        neurons = [snp.Neuron(x, number + 1, r) for x, r in zip("xy", rules, strict=True)]
        synapses = [("x", "y", number), ("y", "x", 1)][: number % 3]
        return quietly(snp.SpikingSystem, neurons, synapses, output=["y"], name=f"no. {number}")

    for number in range(1, 5):
        value, slopes = slope(learn.relax(system(number)))
        assert float(value) == snp.run(system(number), max_steps=8).spike_train.sum()
        assert (
            quietly(learn.to_system, learn.relax(system(number))).neurons == system(number).neurons
        )
    assert traces == 1


# ---- what is refused ----


@pytest.mark.parametrize(
    "options, message",
    [
        ({"spikes": jnp.zeros(3)}, r"the shape \(3,\). Give \(2,\)"),
        ({"input": {"z": [1.0]}}, "no neuron 'z'"),
        ({"input": {"y": jnp.ones((9, 1))}}, "Give up to 8 entries"),
        ({"spikes": jnp.zeros((2, 3)), "paths": 4}, r"has \[3, 4\] paths"),
        ({"choice": snp.GivenChoices([[0, 0]])}, "Given choices do not fit"),
    ],
)
def test_misfits_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        total(learn.relax(counter()), **options)


def test_what_has_no_relaxation_is_refused():
    with pytest.raises(ValueError, match="division or budding has no relaxation"):
        learn.relax(snp.SpikingSystem([snp.Neuron("x", 1, ["[a]_x -> []_x || []_x"])]))
    with pytest.raises(ValueError, match="the variant Exhaustive"):
        learn.relax(snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], variant=snp.Exhaustive()))
    with pytest.raises(ValueError, match=r"2\^24 or more"):
        learn.relax(snp.SpikingSystem([snp.Neuron("x", 2**24, ["a -> a"])]))


def test_parameters_that_are_no_numbers_of_spikes_are_not_exported():
    model = learn.relax(counter())
    part = eqx.tree_at(lambda m: m.low, model, model.low + 0.25)
    with pytest.raises(ValueError, match="Rounding changes 'low' of neuron 'x' by up to 0.25"):
        learn.to_system(part)
    assert learn.to_system(part, round=True) == learn.to_system(model)
    weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
    shifted = jax.tree.map(
        lambda w, is_one: w + jnp.where(is_one, 0.125, 0), weights, model.is_synapse
    )
    part = eqx.tree_at(lambda m: m.synapses, model, eqx.combine(shifted, rest))
    source, target, _ = counter().synapses[0]
    found = learn.rounding(part)
    assert found == (0.125, f"the weight of the synapse ({source}, {target})")
    broken = eqx.tree_at(lambda m: m.low, model, model.low * jnp.nan)
    with pytest.raises(ValueError, match="NaN"):
        learn.to_system(broken, round=True)
    with pytest.raises(ValueError, match="`Smooth`"):
        learn.to_system(learn.relax(counter(), surrogate=learn.Smooth()))


def test_large_counts_are_not_called_exact():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")], [("x", "y", 2**24 - 1)]
    )
    assert learn.run(learn.relax(system), steps=2).is_exact
    assert not learn.run(learn.relax(system), steps=2, spikes=jnp.asarray([1.0, 1.0])).is_exact
