"""What pipelines of JAX do to a model and users expect to work: optimisers that touch every leaf,
constructors under transformations, ensembles, exports of what `fit` returns."""

import inspect
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import snpjax as snp
from snpjax import learn
from tests.support.helpers import quietly, slow, trees_equal


STEPS = 6
COUNTS = jnp.asarray([[3.0, 1.0], [0.0, 2.0], [4.0, 4.0]])  # three inputs, two paths


def network(key=None, **options):
    rules = (learn.relay(4), ["a{2,}/a^2 -> a", "a -> lambda"], "a(aa)*/a -> a")
    key = jr.key(0) if key is None else key
    return learn.SpikingNetwork((3, 4, 2), rules, key=key, steps=STEPS, **options)


def layer(key, sizes=(3, 4)):
    return learn.SpikingLayer(*sizes, key=key, steps=STEPS, guard=2)


def leaves(model):
    return jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))


def assert_finite(model):
    assert all(np.isfinite(x).all() for x in leaves(model))


@eqx.filter_jit
def slopes(model):
    """Of the loss in every float of the model."""
    return eqx.filter_value_and_grad(lambda m: jnp.mean((m(COUNTS) - 1.0) ** 2))(model)


# ---- finite parameters ----


def optimisers():
    """Those of optax whose only required argument is the learning rate."""
    optax = pytest.importorskip("optax")
    for name in sorted(vars(optax)):
        make = getattr(optax, name)
        if not inspect.isfunction(make) or name == "lbfgs":  # which asks for the loss itself
            continue
        given = list(inspect.signature(make).parameters.values())
        needed = [p for p in given if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        if given and given[0].name == "learning_rate" and needed in ([], given[:1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about keys of noise
                yield name, optax.chain(optax.add_decayed_weights(0.1), make(0.01))


@pytest.mark.slow
def test_no_optimiser_makes_a_parameter_infinite_or_nan():
    """Nor does weight decay, also where every float of the model is trained."""
    model = network()
    assert_finite(model)
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    flat, unflatten = ravel_pytree(parameters)
    found, names = ravel_pytree(slopes(model)[1])[0], []
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        for name, optimiser in optimisers():
            parameters = flat  # of one shape, so that optimisers share what is compiled
            state = optimiser.init(parameters)
            for _ in range(2):
                try:
                    updates, state = optimiser.update(found, state, parameters)
                except TypeError as error:  # one that needs the loss, too
                    assert "value" in str(error), name
                    break
                parameters = parameters + updates
            else:
                names.append(name)
                assert np.isfinite(parameters).all(), name
                value, after = slopes(eqx.combine(unflatten(parameters), rest))
                assert np.isfinite(value), name
                assert_finite(after)
    assert {"adam", "adamw", "sgd", "lamb", "lion", "rmsprop"} <= set(names) and len(names) > 20


@pytest.mark.parametrize("scale", [0.5, 50.0, 1e6])
def test_noise_on_every_leaf_leaves_a_model_of_numbers(scale):
    """As CMA-ES samples: the model runs, and is its exact system."""
    model = network()
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    found, tree = jax.tree.flatten(parameters)
    keys = jr.split(jr.key(3), len(found))
    noisy = [x + scale * jr.normal(key, x.shape) for x, key in zip(found, keys, strict=True)]
    noisy = eqx.combine(jax.tree.unflatten(tree, noisy), rest)
    value, found = slopes(noisy)
    assert np.isfinite(value)
    assert_finite(found)
    system = quietly(learn.to_system, noisy, round=True)
    assert system.num_neurons == 9
    if scale < 1:
        initial = np.asarray(learn.constants_of(noisy.model).initial)[3:9, None]
        spikes = np.concatenate([COUNTS, np.repeat(initial, 2, axis=1)]).astype(int)
        exact = learn.replay(system, spikes, steps=STEPS)
        assert exact.spikes.tolist() == noisy.run(COUNTS).spikes.tolist()


def test_bounds_without_end_are_not_parameters():
    """Whatever number stands in their place."""
    system = snp.SpikingSystem([snp.Neuron("x", 5, ["a{2,}/a^2 -> a", "a{1} -> a"])], output=["x"])
    model = learn.relax(system)
    assert np.asarray(model.is_unbounded)[:2, 0].tolist() == [True, False]
    other = eqx.tree_at(lambda m: m.high, model, model.high.at[0].add(-7.25))
    assert learn.to_system(other) == learn.to_system(model) == system
    assert learn.rounding(other).change == 0
    slope = eqx.filter_grad(lambda m: jnp.sum(learn.run(m, steps=4).outputs))(model)
    assert slope.high[0, 0] == 0


# ---- what is trained ----


class Pair(eqx.Module):
    network: learn.SpikingNetwork
    offset: jax.Array


def test_weights_and_what_surrounds_the_system_are_trained():
    pair = Pair(network(), jnp.ones(2))
    trained, rest = eqx.partition(pair, learn.trainable(pair))
    assert len(leaves(trained)) == 3 and trained.offset is pair.offset  # two projections
    assert trained.network.model.low is None and rest.network.model.low is not None
    both = learn.trainable(pair, parameters=("low", "synapses"))
    assert len(leaves(eqx.filter(pair, both))) == 4
    with pytest.raises(ValueError, match="no parameter 'weights'. Choose among low, high"):
        learn.trainable(pair, parameters=("weights",))


class Descent:
    def init(self, parameters):
        return ()

    def update(self, slopes, state, parameters):
        return jax.tree.map(lambda g: -0.1 * jnp.sign(g), slopes), state


def lost(pair, x, key):
    """A loss with a gradient in every float, without a run, which takes long to compile."""
    del x, key
    return sum(jnp.sum((leaf - 0.3) ** 2) for leaf in leaves(pair))


def test_fit_trains_what_is_trainable_or_a_filter_or_a_part():
    pair = Pair(network(), jnp.ones(2))
    data, options = (jnp.ones((2, 2)),), {"epochs": 1, "batch_size": 2, "key": jr.key(0)}

    def changed(**where):
        found = learn.fit(pair, lost, Descent(), data, **options, **where).model
        assert not trees_equal(found, pair)
        names = ("low", "consume", "produce", "initial", "high")
        model, other = found.network.model, pair.network.model
        same = {name for name in names if (getattr(model, name) == getattr(other, name)).all()}
        assert jax.tree.structure(found) == jax.tree.structure(pair)
        return set(names) - same, bool((found.offset != pair.offset).any())

    assert changed() == (set(), True)
    both = learn.trainable(pair, parameters=("low", "synapses"))
    assert changed(where=both) == ({"low"}, True)
    assert changed(where=lambda pair: pair.network.model.low) == ({"low"}, False)
    with pytest.raises(ValueError, match="nothing to train. Select some"):
        changed(where=jax.tree.map(lambda _: False, pair))


# ---- transformations ----


def sequential(key):
    """A normalised convolution with delays, a recurrent layer and a leaky one, with a skip."""
    norm = learn.SpikingNorm(2)
    layers = (
        learn.SpikingConv(1, 2, 2, size=(3,), key=key, norm=norm, delays=(0, 1), steps=STEPS),
        learn.SpikingRecurrent(4, 2, key=key, steps=STEPS, guard=2),
        learn.SpikingLeaky(2, 2, key=key, steps=STEPS, leak=1, threshold=2),
    )
    return learn.Sequential(layers, skips=[(0, 2, learn.LinearSynapses(3, 2, key=key))])


@pytest.mark.parametrize(
    "make",
    [layer, *slow(network, sequential)],
)
def test_models_are_made_under_transformations(make):
    """Their shapes alone, in compiled code, and several at once."""
    keys = jr.split(jr.key(1), 3)
    made = [make(key) for key in keys]
    shapes = eqx.filter_eval_shape(make, keys[0])
    own = [(x.shape, x.dtype) for x in jax.tree.leaves(eqx.filter(made[0], eqx.is_array))]
    structs = jax.tree.leaves(eqx.filter(shapes, lambda x: isinstance(x, jax.ShapeDtypeStruct)))
    assert [(x.shape, x.dtype) for x in structs] == own
    compiled = eqx.filter_jit(make)(keys[0])
    for x, y in zip(leaves(compiled), leaves(made[0]), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)  # a compiler fuses what draws them
    given = jnp.ones((STEPS, 3, 2)) if make is layer else COUNTS
    assert eqx.filter_eval_shape(lambda m, x: m(x), shapes, given).shape == made[0](given).shape
    ensemble = eqx.filter_vmap(make)(keys)
    found = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(ensemble, given)
    assert found.tolist() == [m(given).tolist() for m in made]
    with pytest.raises(ValueError, match="an axis of 3 models. Select one"):
        learn.to_system(ensemble, round=True)
    member = jax.tree.map(lambda x: x[1] if eqx.is_array(x) else x, ensemble)
    one, other = map(eqx.nn.inference_mode, (member, made[1]))
    exported = quietly(learn.to_system, one, round=True)
    assert exported == quietly(learn.to_system, other, round=True)


def test_single_samples_are_mapped():
    made = network()
    assert jax.vmap(made)(COUNTS.T).T.tolist() == made(COUNTS).tolist()


def test_chains_are_made_under_transformations():
    def chained(key):
        return learn.chain([layer(key), layer(key, (4, 2))])(COUNTS)

    assert eqx.filter_eval_shape(chained, jr.key(0)).shape == (2, 2)
    assert eqx.filter_jit(chained)(jr.key(0)).tolist() == chained(jr.key(0)).tolist()


# ---- exports ----


def test_what_fit_returns_is_exported():
    """Also layers and networks; of a fit with validation data, the best model."""
    made, one = network(), layer(jr.key(2))
    expected = quietly(learn.to_system, made.model, round=True)
    last = eqx.tree_at(lambda n: n.model.initial, made, made.model.initial + 1)
    fitted = learn.Fitted(last, np.zeros(1), made, np.zeros(1))
    assert expected == quietly(learn.to_system, made, round=True)
    assert expected == quietly(learn.to_system, fitted, round=True)
    exact = quietly(learn.to_system, one, round=True)
    assert exact == quietly(learn.to_system, learn.Sequential([one]), round=True)
    rounded = learn.rounding(made.model)
    assert rounded == learn.rounding(made) == learn.rounding(fitted) and rounded.change > 0
    with pytest.raises(ValueError, match=r"type tuple has no exact system .*`learn.Sequential\("):
        learn.to_system((one, one))
    with pytest.raises(ValueError, match="type ArrayImpl has no .* Pass a relaxed system, a layer"):
        learn.rounding(jnp.ones(3))


def test_infinite_parameters_are_not_exported():
    model = learn.relax(snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])]))
    broken = eqx.tree_at(lambda m: m.initial, model, model.initial * jnp.inf)
    with pytest.raises(ValueError, match="NaN or infinite. Train again"):
        learn.to_system(broken, round=True)


# ---- signs ----


def test_the_loss_of_reinforce_falls_when_rewarded_choices_become_likely():
    """It is minus the mean reward, and its gradient points away from what was rewarded."""
    reward, chances = jnp.asarray([0.0, 2.0, 1.0]), jnp.log(jnp.asarray([0.5, 0.3, 0.2]))
    value, slope = jax.value_and_grad(lambda c: learn.reinforce_loss(reward, c))(chances)
    assert value == -1
    np.testing.assert_allclose(slope, [0.5, -0.5, 0.0], atol=1e-6)


# ---- models where a system is expected ----


def wrong_calls():
    """A call with a model in place of its exact system, and what the message begins with."""
    box = learn.SpikeBox.around(np.ones((3, 1), int))
    return {
        "check": lambda model: snp.check(model, "always true"),
        "prove": lambda model: snp.prove(model, "always true"),
        "explore": snp.explore,
        "run": snp.run,
        "write": lambda model: snp.write(model, "unused.snp.json"),
        "robustness": lambda model: learn.robustness(model, box, steps=3),
        "environment": learn.environment,
        "replay": lambda model: learn.replay(model, np.ones((3, 1)), steps=3),
        "initial_configuration": lambda model: learn.initial_configuration(model, np.ones(3)),
    }


@pytest.mark.parametrize("call", wrong_calls())
def test_models_are_exported_first(call):
    """The message is short, and names the function."""
    one = network()
    fitted = learn.Fitted(one, np.zeros(1), one, np.zeros(0))
    for model in (one, fitted, layer(jr.key(0)), learn.Sequential([layer(jr.key(0))])):
        with pytest.raises(TypeError, match=type(model).__name__) as error:
            wrong_calls()[call](model)
        message = str(error.value)
        assert message.endswith("Export it first: `snpjax.learn.to_system(model)`.")
        assert len(message) < 150


@pytest.mark.parametrize("count", [1.5, -1, np.nan, 2**30])
def test_counts_of_an_exact_system_are_whole_numbers(count):
    system, counts = learn.to_system(network(), round=True), np.array([[0, 1], [2, count], [3, 3]])
    for call in (
        lambda: learn.initial_configuration(system, counts),
        lambda: learn.SpikeBox.around(counts),
    ):
        with pytest.raises(ValueError, match="`counts` is .* in row 1, column 1, counted from 0"):
            call()


# ---- counts that are no counts ----


def relaying(levels, **options):
    """A network and a `Sequential` whose inputs send up to `levels` spikes at once."""
    rules = (learn.relay(levels), "a{2,}/a^2 -> a")
    one = learn.SpikingNetwork((3, 4), rules, key=jr.key(0), steps=STEPS, **options)
    return one, learn.Sequential([layer(jr.key(0))], source=learn.relay(levels), **options)


@pytest.mark.parametrize("kind", [0, 1])
def test_more_spikes_than_inputs_send_are_refused(kind):
    """They would vanish. Traced ones are not known."""
    one = relaying(4)[kind]
    counts = jnp.asarray([[4.0, 1.0], [0.0, 5.0], [2.0, 2.0]])
    told = r"is 5 in row 1, column 1, .* at most 4 spikes.*`relay\(5\)`"
    for call in (one, one.response, lambda x: learn.record(one, x)):
        with pytest.raises(ValueError, match=told):
            call(counts)
    with pytest.raises(ValueError, match=r"`input` is 5 at \[2, 0, 0\]"):
        one.response(counts - 1, input=jnp.zeros((3, 3, 2)).at[2, 0, 0].set(5))
    assert jax.jit(lambda x: one(x))(counts).shape == (4, 2)
    assert one(counts.at[1, 1].set(4)).shape == (4, 2)
    with pytest.raises(ValueError, match="`counts` is nan in row 0, column 1"):
        one(counts.at[0, 1].set(jnp.nan))
    other = learn.SpikingNetwork((3, 4), ("aa -> a", "a -> a"), key=jr.key(0), steps=STEPS)
    assert other(counts).shape == (4, 2)  # rules that are not those of a relay


@pytest.mark.parametrize("kind", [0, 1])
def test_only_whole_counts_are_exact(kind):
    one, counts = relaying(4)[kind], COUNTS
    is_exact = one.is_exact if kind else lambda x: one.run(x).is_exact
    assert is_exact(counts)
    assert not is_exact(counts.at[0, 0].add(0.5))
    model, train = learn.to_system(one, round=True), jnp.full((2, 7), 0.5)
    assert not learn.run(learn.relax(model), steps=STEPS, input=train).is_exact
    assert learn.run(learn.relax(model), steps=STEPS, input=2 * train).is_exact
    if kind:
        assert not one.is_exact(counts, input=jnp.full((2, 3, 2), 0.5))


def test_counts_are_checked_before_training():
    def refused(counts, levels=4):
        one, _ = relaying(levels, batch_first=True)
        with pytest.raises(ValueError) as error:
            data = counts, np.zeros(len(counts), int)
            learn.fit(one, learn.CrossEntropy(), learn.Adam(), data, key=jr.key(0))
        return str(error.value)

    counts = np.asarray(COUNTS.T)
    assert "`data[0]` is 4 in row 0, column 2" in refused(counts, 3)
    assert "`data[0]` is 3.5 in row 0, column 0" in refused(counts + 0.5)
    assert "`data[0]` is -1.0 in row 0, column 1" in refused(counts - 1)


def test_arguments_of_layers_are_checked():
    with pytest.raises(TypeError, match="`guard` is 2.5. Give an integer"):
        learn.SpikingLayer(3, 2, key=jr.key(0), guard=2.5)
    with pytest.raises(TypeError, match="`key` is 0. Give a key"):
        learn.classifier(3, 2, key=0)
    with pytest.raises(ValueError, match="`padding` is 'SAME'. Give a number, or \"same\""):
        learn.SpikingConv(1, 2, 3, size=(4,), padding="SAME", key=jr.key(0))
    with pytest.raises(TypeError, match="`levels` is 'ternary'. Pass integers: `TERNARY`"):
        learn.quantise(network(), "ternary")
