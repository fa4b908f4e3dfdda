"""e-prop: exact where it is said to be, what is stated elsewhere, and of constant memory."""

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax_formats import CSR, TwoWay


STEPS, PATHS = 8, 3
COUNTS = jnp.asarray([[3.0, 0, 5], [1, 4, 0], [2, 2, 6]])
SURROGATE = learn.FastSigmoid(0.5, height=0.4)
HIDDEN = ["a{3,}/a^2 -> a^2;1", "a{2,}/a -> a"]


def network(rules, projections=None, **options):
    options = {"key": jr.key(0), "steps": STEPS, "surrogate": SURROGATE, **options}
    sizes = (3, *[5] * (len(rules) - 2), 2)
    return learn.SpikingNetwork(sizes, rules, projections=projections, **options)


def targets(seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(0, 5, (STEPS, 2, PATHS)), jnp.float32)


def loss(response, wanted):
    """Squares of both what is left and what is emitted."""
    left = jnp.sum((response.spikes - wanted[-1]) ** 2)
    return left + jnp.sum(jnp.cos(response.trains) * wanted)


def slopes_of(f, made):
    value, slopes = eqx.filter_jit(eqx.filter_value_and_grad(f))(made.model)
    return value, jax.tree.leaves(slopes.synapses)


def eprop(made, **options):
    options = {"rows": [targets()], "spikes": made.initial_spikes(COUNTS), **options}
    return slopes_of(lambda m: learn.eprop_loss(m, loss, steps=STEPS, **options), made)


def backpropagated(made):
    """Through all steps, whose losses are added."""
    spikes = made.initial_spikes(COUNTS)
    size = made.places[-1].neurons

    def total(model):
        found = learn.run(model, steps=STEPS, spikes=spikes, keep_configurations=True)
        assert found.configurations is not None

        def of_step(sent, left, wanted):
            return loss(learn.Response(sent[None], left[size]), wanted[None])

        return jnp.sum(jax.vmap(of_step)(found.outputs, found.configurations[1:], targets()))

    return slopes_of(total, made)


def assert_close(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert jnp.any(y != 0)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rules", "layout"),
    [
        ((learn.SENDER, HIDDEN), "auto"),  # one layer, whose outputs fire
        pytest.param((learn.SENDER, HIDDEN, ()), "auto", marks=pytest.mark.slow),
        pytest.param((learn.SENDER, "a{2,}/a^2 -> a", ()), CSR, marks=pytest.mark.slow),
        pytest.param(
            (learn.relay(6), ["a{4,}/a^3 -> a^2", "a -> lambda"], ()),
            TwoWay,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["one layer", "delays", "CSR", "TwoWay"],
)
def test_without_recurrence_it_is_backpropagation(rules, layout):
    made = network(rules, layout=layout)
    value, found = eprop(made)
    wanted, expected = backpropagated(made)
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    assert_close(found, expected)


def test_recurrence_is_what_it_ignores():
    """Backpropagation in which spikes sent to hidden neurons have no derivative in their senders;
    that points in about the same direction as the true gradient."""
    made = network((learn.SENDER, "a{2,}/a^2 -> a", ()), [(0, 1), (1, 1), (1, 2)])
    spikes = made.initial_spikes(COUNTS)

    def local(model):
        constants = learn.constants_of(model)
        none = constants._replace(synapses=jax.tree.map(jnp.zeros_like, constants.synapses))
        size = model.program.num_neurons
        state = learn.initial_state(jnp.pad(spikes, ((0, size - len(spikes)), (0, 0))))
        output = jnp.zeros((size, 1)).at[8:10].set(1)

        def after(state, wanted):
            state, emitted = learn.step(model, none, state, snp.FirstChoice(), None)
            sent = emitted.emissions
            with_slope, without = (
                constants.synapses.deliver(x, accumulate=jnp.float32)
                for x in (sent, lax.stop_gradient(sent))
            )
            received = output * with_slope + (1 - output) * without
            state = eqx.tree_at(lambda s: s.spikes, state, state.spikes + received)
            found = learn.Response(sent[None, 8:10], state.spikes[8:10])
            return state, loss(found, wanted[None])

        return jnp.sum(lax.scan(after, state, targets())[1])

    _, found = eprop(made)
    assert_close(found, slopes_of(local, made)[1])
    _, true = backpropagated(made)
    x, y = (jnp.concatenate([part.ravel() for part in parts]) for parts in (found, true))
    assert not np.allclose(x, y, rtol=1e-2)
    assert jnp.dot(x, y) > 0.7 * jnp.linalg.norm(x) * jnp.linalg.norm(y)


def test_the_traces_are_those_of_the_paper():
    """By loops over neurons and steps in NumPy, for one path without an axis of its own."""
    made = network((learn.SENDER, "a{3,}/a^2 -> a^2", ()))
    wanted, counts = targets()[..., 0], COUNTS[:, 2]

    def off(response, wanted):
        return jnp.sum((response.spikes - wanted[0]) ** 2)

    options = {"rows": [wanted], "spikes": made.initial_spikes(counts), "steps": STEPS}
    value, slopes = slopes_of(lambda m: learn.eprop_loss(m, off, **options), made)

    parts = [np.asarray(x) for x in jax.tree.leaves(made.model.synapses)]
    first, second = (np.round(x).astype(int) for x in parts)
    inputs, hidden, left = np.asarray(counts).astype(int), np.zeros(5, int), np.zeros(2, int)
    trace, sums, arrived = np.zeros((5, 3)), np.zeros((5, 3)), np.zeros((2, 5))
    total, of_first, of_second = 0.0, np.zeros((5, 3)), np.zeros((2, 5))
    for t in range(STEPS):
        sent, fired = (inputs > 0).astype(int), (hidden >= 3).astype(int)
        for j in range(5):
            slope = 0.4 / (1 + 0.5 * abs(hidden[j] - 3 + 0.5)) ** 2
            sums[j] += 2 * slope * trace[j]
            trace[j] = (1 - 2 * slope) * trace[j] + sent
        arrived += 2 * fired
        inputs, hidden, left = (
            inputs - sent,
            hidden - 2 * fired + first @ sent,
            left + second @ (2 * fired),
        )
        error = left - np.asarray(wanted[t])
        total += np.sum(error**2)
        for k in range(2):
            of_second[k] += 2 * error[k] * arrived[k]
            for j in range(5):
                of_first[j] += 2 * error[k] * second[k, j] * sums[j]
    assert value == total and hidden.any() and left.any()
    assert_close(slopes, [of_first, of_second])


def test_feedback_replaces_the_weights_of_outputs():
    made = network((learn.SENDER, "a{2,}/a^2 -> a", ()))
    second = np.round(np.asarray(jax.tree.leaves(made.model.synapses)[1]))
    same = jnp.zeros((2, 10)).at[:, 3:8].set(second)
    assert_close(eprop(made, feedback=same)[1], eprop(made)[1])
    random = same + jr.normal(jr.key(1), same.shape)
    (first, last), (other, unchanged) = eprop(made)[1], eprop(made, feedback=random)[1]
    assert last.tolist() == unchanged.tolist() and jnp.any(jnp.abs(first - other) > 0.1)
    with pytest.raises(ValueError, match=r"Pass \(outputs, neurons\), here \(2, 10\)"):
        eprop(made, feedback=random[:, :5])


def bytes_of(steps):
    made = network((learn.SENDER, "a{2,}/a^2 -> a", ()), [(0, 1), (1, 1), (1, 2)])
    spikes = made.initial_spikes(COUNTS)
    weights, rest = eqx.partition(made.model, eqx.is_inexact_array)

    def total(weights, wanted):
        model = eqx.combine(weights, rest)
        return learn.eprop_loss(model, loss, steps=steps, rows=[wanted], spikes=spikes)

    program = jax.jit(jax.grad(total)).lower(weights, jnp.zeros((steps, 2, PATHS))).compile()
    stats = program.memory_analysis()
    assert stats is not None
    return stats.temp_size_in_bytes


def test_memory_does_not_grow_with_the_steps():
    assert bytes_of(2048) < 1.05 * bytes_of(16)


@pytest.mark.slow
def test_a_recurrent_network_is_fitted_online():
    """`fit` lowers the loss of a task: outputs count which input was the larger one."""
    optax = pytest.importorskip("optax")
    source = np.random.default_rng(0)
    counts = source.integers(0, 6, (128, 3)).astype(np.float32)
    labels = np.argmax(counts[:, :2], axis=1).astype(np.int32)
    made = network((learn.SENDER, "a{2,}/a^2 -> a", ()), [(0, 1), (1, 1), (1, 2)], scale=1.0)

    def total(network, counts, labels, key):
        del key
        return learn.eprop_loss(
            network.model,
            lambda response: learn.cross_entropy(response.spikes / 2, labels) / STEPS,
            steps=STEPS,
            spikes=network.initial_spikes(counts.T),
        )

    with jax.numpy_dtype_promotion("standard"):
        fitted = learn.fit(
            made,
            total,
            optax.adam(0.03),
            (counts, labels),
            epochs=40,
            key=jr.key(0),
            batch_size=32,
            where=lambda network: network.model.synapses,
        )
    assert fitted.losses[-4:].mean() < 0.5 * fitted.losses[:4].mean()
