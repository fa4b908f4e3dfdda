"""What is recorded is what the exact system does, step by step, in one run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from tests.support.helpers import quietly


STEPS = 7
RULES = (learn.relay(3), ["a{2,}/a^2 -> a^2", "a -> lambda"], "a+/a -> a;1", ())
#: A skip, and a population (2) that reaches nothing.
FORWARD = [(0, 1), (1, 2), (0, 3), (1, 3)]
CYCLE = [*FORWARD, (2, 1)]
COUNTS = np.asarray([[3.0, 0], [1, 2]])


def network(projections, **options):
    options = {"projections": projections, "key": jr.key(1), "steps": STEPS, **options}
    return learn.SpikingNetwork((2, 4, 3, 2), RULES, **options)


@pytest.mark.parametrize(
    "projections",
    [
        pytest.param(FORWARD, id="forward"),
        pytest.param(CYCLE, id="cycle", marks=pytest.mark.slow),
    ],
)
def test_records_are_what_the_exact_system_does(projections):
    made = network(projections)
    found = learn.record(made, jnp.asarray(COUNTS))
    system = quietly(learn.to_system, made.model, round=True)
    names = [neuron.name for neuron in system.neurons]
    active = np.zeros(4)
    for path in range(2):
        own = dict(zip(names, [*COUNTS[:, path], *[0] * 9], strict=True))
        neurons = [snp.Neuron(n.name, int(own[n.name]), n.rules) for n in system.neurons]
        changed = quietly(system.replace, neurons=neurons, output=names)
        exact = quietly(snp.run, changed, max_steps=STEPS)
        size = exact.steps
        for p, place in enumerate(made.places):
            spikes = np.asarray(found.spikes[p])[..., path]
            assert spikes[: size + 1].tolist() == exact.configurations[:, place.neurons].tolist()
            assert (spikes[size:] == spikes[size]).all()
            emissions = np.asarray(found.emissions[p])[..., path]
            trains = np.asarray(exact.spike_trains)[:, place.neurons]
            assert emissions[:size].tolist() == trains.tolist() and not emissions[size:].any()
            active[p] += emissions.sum()
    assert (active[:3] > 0).all()
    response = made.response(jnp.asarray(COUNTS))
    assert found.response.spikes.tolist() == response.spikes.tolist()
    assert found.response.trains.tolist() == response.trains.tolist()


def test_a_response_of_a_cycle_keeps_no_trains_of_others():
    counts = jnp.asarray(COUNTS)
    made = network(CYCLE)

    def shapes(function):
        found, names = str(eqx.filter_make_jaxpr(function)(made)[0]), [2, 4, 5, 7, 11]
        return [size for size in names if f"f32[{STEPS},{size},2]" in found]

    assert shapes(lambda own: own.response(counts)) == [2]
    assert 11 not in shapes(lambda own: learn.record(own, counts, [1]).emissions)


def test_populations_are_chosen_by_index_or_name():
    made, counts = network(FORWARD), jnp.asarray(COUNTS)
    everything = learn.record(made, counts)
    assert list(everything.emissions) == list(everything.spikes) == [0, 1, 2, 3]
    for asked, index in ((2, 2), (-2, 2), ("1", 1)):
        found = learn.record(made, counts, [asked])
        assert list(found.emissions) == list(found.spikes) == [asked]
        assert found.spikes[asked].tolist() == everything.spikes[index].tolist()
        assert found.emissions[asked].tolist() == everything.emissions[index].tolist()
    moved = learn.record(network(FORWARD, batch_first=True), counts.T)
    trains = jnp.moveaxis(moved.response.trains, 0, -1)
    assert trains.tolist() == everything.response.trains.tolist()
    assert moved.response.spikes.T.tolist() == everything.response.spikes.tolist()
    assert moved.spikes[1].tolist() == everything.spikes[1].tolist()
    for asked in ([4], [-5], ["x"], [0, "1"]):
        with pytest.raises(ValueError, match="Pass indices from 0 to 3, or their names"):
            learn.record(made, counts, asked)


@pytest.mark.slow
def test_a_penalty_and_a_loss_share_one_run():
    """The gradient is the sum of those of two runs, and the compiled steps are those of one."""
    made, counts = network(FORWARD), jnp.asarray(COUNTS)
    labels = jnp.asarray([0, 1])

    def loss(network):
        return learn.cross_entropy(network.response(counts).spikes, labels)

    def penalty(network):
        return learn.rate_penalty(learn.record(network, counts, [1]).emissions, most=0.1)

    def both(network):
        found = learn.record(network, counts, [1])
        own = learn.rate_penalty(found.emissions, most=0.1)
        return learn.cross_entropy(found.response.spikes, labels) + own

    weights = [
        jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(f))(made).model.synapses)
        for f in (loss, penalty, both)
    ]
    assert all(any(jnp.any(x != 0) for x in own) for own in weights)
    for x, y, z in zip(*weights, strict=True):
        np.testing.assert_allclose(x + y, z, rtol=1e-4, atol=1e-6)

    def scans(f):
        return str(eqx.filter_make_jaxpr(f)(made)[0]).count(" scan[")

    assert scans(both) == scans(loss) == 2  # input and hidden population


def test_a_layer_is_recorded_with_its_train():
    options = {"key": jr.key(0), "steps": 5, "guard": 2, "scale": 2.0}
    layer = learn.SpikingLayer(3, 4, batch_first=True, **options)
    train = jnp.asarray(np.random.default_rng(0).integers(0, 3, (2, 4, 3)), jnp.float32)
    found, expected = learn.record(layer, train), layer.response(train)
    assert found.response.trains.tolist() == expected.trains.tolist()
    assert jnp.moveaxis(found.emissions[0], -1, 0).tolist() == expected.trains.tolist()
    assert found.spikes[0].shape == (6, 4, 2) and not found.spikes[0][0].any()
    assert found.spikes[0][-1].T.tolist() == expected.spikes.tolist()
    pool = learn.SumPool(1, 3, size=(3,))
    sums = learn.record(pool, jnp.moveaxis(train, 0, -1), ["0"])
    assert sums.emissions["0"][:, 0].T.tolist() == train.sum(axis=2).tolist()
    with pytest.raises(ValueError, match="Give up to 5 steps of 3 neurons"):
        learn.record(layer, jnp.zeros((2, 4, 2)))
