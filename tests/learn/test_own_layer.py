"""A layer written outside the package, trained, exported and replayed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax.spiking import Rule
from tests.support.helpers import quietly


STEPS = 6


class Delay(learn.AbstractLayer):
    """Neurons that send in a step what their input sent in the one before, times a weight that all
    share."""

    weight: jax.Array
    size: int = eqx.field(static=True)

    @property
    def in_size(self):
        return self.size

    @property
    def out_size(self):
        return self.size

    @property
    def has_neurons(self):
        return True

    @property
    def is_smooth(self):
        return False

    @property
    def takes_more(self):
        return True

    def most_sent(self, received):
        return 3 * received

    def run(self, train, more=None, *, keeps=False):
        weight = jnp.clip(self.weight, 0, 3)
        arriving = train * (weight + jax.lax.stop_gradient(jnp.round(weight) - weight))
        arriving = arriving if more is None else arriving + more
        counts = jnp.concatenate([jnp.zeros_like(arriving[:1]), arriving])
        return learn.PopulationRun(counts[:-1], counts[-1], counts if keeps else None)

    def parts(self):
        own = np.arange(self.size)
        weight = np.full(self.size, int(np.round(np.clip(self.weight, 0, 3))))
        rules = [Rule(k, k, k) for k in range(1, 20)]
        synapses = learn.SynapseList(own, own, weight, np.zeros_like(own))
        return learn.LayerParts(learn.NeuronGroup([0], [rules], self.size), synapses)

    def roundings(self):
        yield "the weight", np.round(self.weight) - self.weight


def network(weight):
    last = learn.SpikingLayer(3, 2, key=jr.key(1), steps=STEPS, guard=(), bias=True)
    layers = (Delay(jnp.asarray(weight), 3), last)
    return learn.Sequential(layers, skips=[(0, 1)])


COUNTS = np.random.default_rng(0).integers(0, 4, (3, 8))
INPUT = np.random.default_rng(1).integers(0, 3, (4, 3, 8))


def test_the_largest_rounding_is_named():
    last = network(1.4).layers[1]
    weight = jnp.round(last.synapses.weight).at[1, 2].add(0.3)
    part = eqx.tree_at(lambda m: m.layers[1].synapses.weight, network(1.4), weight)
    assert learn.rounding(part) == (pytest.approx(0.4), "the weight of layer 1")
    part = eqx.tree_at(lambda m: m.layers[0].weight, part, jnp.asarray(1.8))
    assert learn.rounding(part) == (pytest.approx(0.3), "the weight (1, 2) of layer 2")


@pytest.mark.slow
def test_it_is_trained_and_replayed():
    def loss(model, counts, input, wanted, key):
        del key
        sample_last = jnp.moveaxis(input, 0, -1)
        return jnp.mean((model.response(counts.T, input=sample_last).spikes.T - wanted) ** 2)

    data = COUNTS.T, np.moveaxis(INPUT, -1, 0), np.full((8, 2), -7.0)
    options = {"epochs": 30, "key": jr.key(0), "batch_size": 8}
    fitted = quietly(learn.fit, network(1.4), loss, learn.Adam(0.1), data, **options)
    made, last = fitted.model, fitted.model.layers[1]
    assert fitted.losses[-1] < fitted.losses[0] / 2
    assert made.layers[0].weight != 1.4 and (last.bias < -0.5).any()
    with pytest.raises(ValueError, match="Rounding changes"):
        learn.to_system(made)
    system = quietly(learn.to_system, made, round=True)
    assert [n.spikes for n in system.neurons][-2:] == jnp.round(last.bias).tolist()
    start = learn.initial_configuration(system, COUNTS)
    exact = learn.replay(system, start, steps=STEPS, input=INPUT)
    given = made.response(jnp.asarray(COUNTS, jnp.float32), input=jnp.asarray(INPUT, jnp.float32))
    assert exact.spikes[-2:].tolist() == given.spikes.tolist()
    found = learn.record(made, jnp.asarray(COUNTS, jnp.float32))
    system = system.replace(output=[neuron.name for neuron in system.neurons])
    own = snp.run(system, paths=8, initial=start, max_steps=STEPS, save=snp.SAVE_ALL)
    for p, start in enumerate((0, 3, 6)):
        size = found.spikes[p].shape[1]
        at = slice(start, start + size)
        steps = len(own.spike_trains)  # all have halted after these
        assert found.emissions[p].any() == (p < 2)
        assert found.emissions[p][:steps].tolist() == own.spike_trains[:, at].tolist()
        assert found.spikes[p][: steps + 1].tolist() == own.configurations[:, at].tolist()


def test_all_that_rounds_has_to_be_told():
    """A layer without `roundings` or `is_smooth` would be exported silently rounded."""

    class Forgetful(Delay):
        roundings = learn.AbstractLayer.roundings
        is_smooth = learn.AbstractLayer.is_smooth

    with pytest.raises(TypeError, match="abstract.*is_smooth.*roundings"):
        Forgetful(jnp.asarray(1.4), 3)


TRACED = []


class Counted(Delay):
    def run(self, train, more=None, *, keeps=False):
        TRACED.append(keeps)
        return super().run(train, more)


def test_a_network_compiles_its_runs_and_names_layers_without_a_record():
    """`Counted` also ignores `keeps`."""
    model = eqx.tree_at(lambda m: m.layers[0], network(1.4), Counted(jnp.asarray(1.4), 3))
    counts = jnp.asarray(COUNTS, jnp.float32)
    for _ in range(3):
        model.response(counts)
    assert TRACED == [False]
    with pytest.raises(ValueError, match="Population 1 has no `counts`: `run` of Counted ignores"):
        learn.record(model, counts)
    with pytest.raises(ValueError, match="Population 0 has no `counts`: `run` of Counted ignores"):
        learn.record(model.layers[0], jnp.zeros((STEPS, 3)))


def test_a_weight_of_0_is_no_synapse():
    system = quietly(learn.to_system, network(0.2), round=True)
    assert all(weight for *_, weight in system.synapses)
    assert ("0{0}", "1{0}", 1) in [tuple(own) for own in system.synapses]  # of the skip


class WrongWeights(Delay):
    """`parts` has another weight than `run`."""

    def parts(self):
        found = super().parts()
        return found._replace(synapses=found.synapses._replace(weight=found.synapses.weight + 1))


class LosesSpikes(Delay):
    """`run` keeps nothing in the end."""

    def run(self, train, more=None, *, keeps=False):
        return super().run(train, more, keeps=keeps)._replace(left=jnp.zeros(train.shape[1:]))


@pytest.mark.parametrize("one", [0, 1])
def test_the_exact_system_is_compared_with_the_layer(one):
    """All steps of all populations; the first difference names the layer."""
    counts, input = (COUNTS, INPUT) if one else (COUNTS[:, 0], INPUT[..., 0])
    model = network(1.4)
    exact = quietly(learn.verify, model, counts, input=input)
    assert exact.spikes[-2:].reshape(2, -1).shape == (2, 8 if one else 1)
    assert exact.trains.shape[:2] == (STEPS, 2)
    response = model.response(COUNTS[:, 0], input=INPUT[..., 0])
    assert exact.spikes[-2:, 0].tolist() == response.spikes.tolist()
    wrong = eqx.tree_at(lambda m: m.layers[0], model, WrongWeights(jnp.asarray(1.4), 3))
    told = r"In step 2 of path 0, .* '1\{0\}' sends \d+ spikes .* layer 1, a WrongWeights"
    with pytest.raises(AssertionError, match=told):
        quietly(learn.verify, wrong, counts, input=input)
    wrong = eqx.tree_at(lambda m: m.layers[0], model, LosesSpikes(jnp.asarray(1.4), 3))
    with pytest.raises(AssertionError, match="In step 6 .* keeps .* layer 1, a LosesSpikes"):
        quietly(learn.verify, wrong, np.full_like(counts, 9))


def test_networks_and_single_layers_are_compared_too():
    first = learn.SpikingNetwork(
        (3, 2), (learn.SENDER, "a{2,}/a^2 -> a"), key=jr.key(0), steps=STEPS, batch_first=True
    )
    assert quietly(learn.verify, first, COUNTS.T).trains.shape == (STEPS, 2, 8)
    fitted = learn.Fitted(first, np.zeros(0), first, np.zeros(0))
    assert quietly(learn.verify, fitted, COUNTS[:, 0]).trains.shape == (STEPS, 2, 1)
    layer = learn.SpikingLayer(3, 2, key=jr.key(1), steps=STEPS, guard=2)
    assert quietly(learn.verify, layer, COUNTS).spikes.shape == (5, 8)
    with pytest.raises(TypeError, match="`model` is of the type str. Give a network or a layer"):
        learn.verify("x", COUNTS)
    with pytest.raises(ValueError, match="is 3.5 in row 0, column 0"):
        learn.verify(layer, COUNTS + 0.5)


def test_what_is_not_a_layer_is_refused():
    layer = learn.SpikingLayer(3, 3, key=jr.key(1), steps=STEPS)
    with pytest.raises(TypeError, match="Layer 2 is a Linear, not a layer of an exact system"):
        learn.Sequential([layer, eqx.nn.Linear(3, 3, key=jr.key(0))])
