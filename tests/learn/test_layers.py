"""Layers compute the run of the exact system that they are exported as."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.extend.core import jaxprs_in_params

import snpjax as snp
from snpjax import learn
from tests.support.helpers import quietly, slow


STEPS = 5
seeds = st.integers(0, 10_000)


def moved(model, seed):
    """The model with other weights, delays and biases."""
    source = np.random.default_rng(seed)

    def move(path, x):
        names = {getattr(key, "name", None) for key in path}
        if not {"weight", "logits", "bias"} & names:
            return x
        scale = 3 if "bias" in names else 1
        return jnp.asarray(np.asarray(x) + source.normal(0, scale, x.shape).astype(x.dtype))

    return jtu.tree_map_with_path(move, model)


@eqx.filter_jit
def response(network, counts, input):
    return network.response(counts, input=input)


def exported(network):
    return quietly(learn.to_system, network, round=True)


def assert_exact(network, seed, paths=3):
    """The trains and the final spikes of the outputs are those of `snpjax.run`, in every step."""
    source = np.random.default_rng(seed)
    inputs = network.sizes[0]
    counts = source.integers(0, 5, (inputs, paths))
    train = source.integers(0, 3, (STEPS - 2, inputs, paths)) * source.integers(0, 2)
    found = response(network, jnp.asarray(counts, jnp.float32), jnp.asarray(train, jnp.float32))
    system = exported(network)
    own = [f"0{{{i}}}" for i in range(inputs)]
    system = quietly(system.replace, input={name: [] for name in own})
    exact = snp.run(
        system,
        paths=paths,
        initial=learn.initial_configuration(system, counts),
        inputs=train,
        max_steps=STEPS,
    )
    trains = np.zeros(found.trains.shape, int)
    trains[: len(exact.spike_trains)] = exact.spike_trains
    assert np.asarray(found.trains).tolist() == trains.tolist()
    places = [index for index, x in enumerate(system.neurons) if x.name in set(system.output)]
    assert np.asarray(found.spikes).tolist() == exact.spikes[places].tolist()
    return trains


def conv(*args, seed=0, **options):
    return learn.SpikingConv(*args, **{"key": jr.key(seed), "steps": STEPS, "guard": 2, **options})


def everything(seed):
    """Each kind of layer and of synapses, biases and skips."""
    options = {"steps": STEPS, "bias": True}
    keys = jr.split(jr.key(seed), 6)
    first = conv(1, 2, 3, size=(4, 3), padding=1, stride=(2, 1), scale=2.0, bias=True)
    pool = learn.SumPool(2, (1, 2), size=first.out_shape, stride=1)
    recurrent = learn.SpikingRecurrent(
        pool.out_size, 3, key=keys[1], guard=3, delays=(2, 0), **options
    )
    leaky = learn.SpikingLeaky(3, 3, key=keys[2], threshold=5, decay=0.6, **options)
    late = learn.LearnedDelays(learn.LinearSynapses(12, 3, key=keys[3]), (1, 0), per="source")
    plain = learn.SpikingLayer(3, 2, key=keys[4], guard=1, scale=2.0, **options)
    return learn.Sequential((first, pool, recurrent, leaky, plain), skips=[(0, 3, late), (3, 4)])


def normalised():
    norm = learn.SpikingNorm(2, scale=6.0, offset=1.0)
    first = conv(1, 2, 2, size=(6,), guard=3, norm=norm, delays=(0, 1))
    pool = learn.MaxPool(2, 2, size=first.out_shape)
    layers = first, pool, learn.SpikingBlock(learn.LinearSynapses(4, 2, key=jr.key(1)), steps=STEPS)
    return learn.Sequential(layers, source=learn.relay(4))


@settings(max_examples=4)
@given(seeds)
def test_a_network_is_its_exact_system(seed):
    assert_exact(moved(everything(0), seed), seed)


def test_most_networks_emit():
    """So that the test above compares something."""
    totals = [assert_exact(moved(everything(0), seed), seed).sum() for seed in range(4)]
    assert np.count_nonzero(totals) >= 2


@settings(max_examples=4)
@given(seeds, st.integers(-6, 6))
def test_a_folded_normalisation_is_its_exact_system(seed, offset):
    """The spikes that are added become initial ones, or raise the guards."""
    network = moved(normalised(), seed)
    (norm,) = network.norms
    changed = jnp.asarray([offset, -offset], jnp.float32)
    network = eqx.tree_at(lambda own: own.layers[0].norm.offset, network, changed)
    counts = jnp.asarray(np.random.default_rng(seed).integers(0, 5, (6, 3)), jnp.float32)
    network = eqx.filter_jit(lambda own, x: own.observed(x, momentum=1.0))(network, counts)
    assert (network.norms[0].running.mean != norm.running.mean).any()
    # In training the same integers are those of the batch.
    trained = response(network, counts, jnp.zeros((STEPS - 2, 6, 3)))
    evaluated = response(eqx.nn.inference_mode(network), counts, jnp.zeros((STEPS - 2, 6, 3)))
    assert trained.trains.tolist() == evaluated.trains.tolist()
    with pytest.raises(ValueError, match=r"statistics of each batch.*inference_mode"):
        exported(network)
    assert_exact(eqx.nn.inference_mode(network), seed)


@pytest.mark.slow
def test_a_convolution_may_project_to_itself():
    """Also with delays; the guards have several terms and the neurons close."""
    keys = jr.split(jr.key(3))
    synapses = learn.ConvSynapses(1, 2, 2, size=(4,), key=keys[0])
    back = learn.ConvSynapses(2, 2, 3, size=(3,), padding=1, key=keys[1])
    layer = learn.SpikingBlock(
        synapses,
        recurrent=learn.LearnedDelays(back, (2, 0, 1)),
        guard=["a{2}|a{4,}/a^2 -> a^2", "a(aa)*/a -> a; 1"],
        steps=STEPS,
    )
    network = learn.Sequential([layer], skips=[(0, 1, learn.LinearSynapses(4, 6, key=keys[0]))])
    totals = [assert_exact(moved(network, seed), seed).sum() for seed in range(3)]
    assert min(totals) > 0


# ---- shapes ----


def delivered(wiring, sizes, train):
    """What arrives, synapse by synapse."""
    found = np.zeros((len(train), sizes[1]))
    for source, target, weight, delay in zip(*wiring, strict=True):
        for step in range(len(train) - delay):
            found[step + delay, target] += weight * train[step, source]
    return found


@st.composite
def convolutions(draw):
    """Synapses of a random convolution, of images in one dimension or two, as parameters."""
    axes = draw(st.integers(1, 2))

    def numbers(least, most):
        return tuple(draw(st.integers(least, most)) for _ in range(axes))

    groups = draw(st.integers(1, 2))
    kernel, dilation, padding = numbers(1, 3), numbers(1, 2), numbers(0, 1)
    spans = [1 + (k - 1) * d - 2 * p for k, d, p in zip(kernel, dilation, padding, strict=True)]
    size = tuple(max(span, 1) + draw(st.integers(0, 3)) for span in spans)
    channels = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    padding = draw(st.sampled_from(["same", padding]))
    options = {"stride": numbers(1, 3), "padding": padding, "dilation": dilation, "groups": groups}
    return (*channels, kernel), {"size": size, **options}


#: Strides, paddings, dilations and groups, along one axis and along two.
SHAPES = st.sampled_from(
    [
        (1, 2, (2,), {"size": (5,), "stride": (2,), "padding": "same", "dilation": (2,)}),
        (4, 2, (2, 3), {"size": (4, 5), "stride": (1, 2), "padding": (1, 0), "groups": 2}),
        (2, 1, (2, 1), {"size": (3, 3), "padding": "same", "dilation": (2, 1)}),
    ]
).map(lambda own: (own[:3], {"stride": (1,) * len(own[2]), **own[3]}))


@settings(max_examples=8)
@given(SHAPES, seeds, st.booleans())
def test_a_convolution_is_its_synapses(shape, seed, has_delays):
    check_convolution(shape, seed, has_delays)


@pytest.mark.slow
@settings(max_examples=10)
@given(convolutions(), seeds, st.booleans())
def test_any_convolution_is_its_synapses(shape, seed, has_delays):
    check_convolution(shape, seed, has_delays)


_deliver = eqx.filter_jit(lambda synapses, train: synapses.deliver(train))


def check_convolution(shape, seed, has_delays):
    synapses = learn.ConvSynapses(*shape[0], key=jr.key(seed), **shape[1])
    if shape[1]["padding"] == "same":
        strides = zip(shape[1]["size"], shape[1]["stride"], strict=True)
        assert synapses.out_shape == tuple(-(-n // s) for n, s in strides)
    if has_delays:
        synapses = learn.LearnedDelays(synapses, (0, 2))
        logits = np.random.default_rng(seed).normal(size=synapses.logits.shape)
        synapses = eqx.tree_at(lambda own: own.logits, synapses, jnp.asarray(logits, jnp.float32))
    synapses = synapses.exact()
    train = np.random.default_rng(seed).integers(0, 9, (3, synapses.in_size))
    found = _deliver(synapses, jnp.asarray(train, jnp.float32))
    wiring = synapses.wiring()
    assert 0 not in wiring.weight
    sizes = synapses.in_size, synapses.out_size
    assert found.tolist() == delivered(wiring, sizes, train).tolist()


@settings(max_examples=5)
@given(SHAPES, seeds)
def test_sums_and_maxima_of_windows(shape, seed):
    check_pools(shape, seed)


@pytest.mark.slow
@settings(max_examples=10)
@given(convolutions(), seeds)
def test_sums_and_maxima_of_any_windows(shape, seed):
    check_pools(shape, seed)


_pooled = eqx.filter_jit(lambda pool, train: pool(train))


def check_pools(shape, seed):
    (channels, _, window), options = shape
    size = tuple(n + w for n, w in zip(options["size"], window, strict=True))
    options = {"size": size, "stride": options["stride"]}
    pool = learn.SumPool(channels, window, **options)
    train = np.random.default_rng(seed).integers(0, 2, (3, pool.in_size))
    image = train.reshape(3, channels, *size)
    expected = []  # by definition, window by window
    for at in np.ndindex(*pool.out_shape):
        first = [a * s for a, s in zip(at, options["stride"], strict=True)]
        cut = tuple(slice(a, a + w) for a, w in zip(first, window, strict=True))
        expected.append(image[:, :, *cut].reshape(3, channels, -1))
    sums = np.stack([own.sum(-1) for own in expected], -1).reshape(3, -1)
    most = np.stack([own.max(-1) for own in expected], -1).reshape(3, -1)
    given = jnp.asarray(train, jnp.float32)
    assert _pooled(pool, given).tolist() == sums.tolist()
    sizes = pool.in_size, pool.out_size
    assert delivered(pool.synapses(), sizes, train).tolist() == sums.tolist()
    found = _pooled(learn.MaxPool(channels, window, **options), given)
    assert found[0].max() == 0 and found[1:].tolist() == most[:-1].tolist()


@pytest.mark.slow
@settings(max_examples=12)
@given(convolutions(), seeds, st.sampled_from(["", "norm", "delays", "leaky", "recurrent"]))
def test_networks_of_any_shape_are_their_exact_systems(shape, seed, kind):
    one, other, third = jr.split(jr.key(seed), 3)
    (channels, out, kernel), options = shape
    first = learn.SpikingConv(
        channels,
        out,
        kernel,
        key=one,
        steps=STEPS,
        guard=learn.leaky(3, leak=1) if kind == "leaky" else 2,
        delays=(0, 1, 3) if kind == "delays" else (0,),
        norm=learn.SpikingNorm(out, scale=5.0) if kind == "norm" else None,
        **options,
    )
    pool = learn.SumPool(out, 1, size=first.out_shape, stride=1 + seed % 2)
    if kind == "recurrent":
        last = learn.SpikingRecurrent(pool.out_size, 2, key=other, guard="a(aa)*", steps=STEPS)
    else:
        last = learn.SpikingLayer(pool.out_size, 2, key=other, guard=2, steps=STEPS)
    skip = learn.LinearSynapses(first.in_size, 2, key=third)
    network = moved(learn.Sequential((first, pool, last), skips=[(0, 3, skip)]), seed)
    counts = jnp.asarray(np.random.default_rng(seed).integers(0, 5, (first.in_size, 4)))
    if kind == "norm":
        network = network.observed(counts.astype(jnp.float32), momentum=1.0)
    assert_exact(eqx.nn.inference_mode(network), seed)


@pytest.mark.slow
def test_a_convolution_learns_digits():
    """A few epochs, with normalisation, and the exported system on all test images."""
    data = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    images, labels = data.load_digits(return_X_y=True)
    images = images.astype(np.float32)
    train, test = images[:1300], images[1300:]
    one, other, third = jr.split(jr.key(0), 3)
    options = {"steps": 8, "surrogate": learn.FastSigmoid(0.3, height=1 / 16)}
    norm = learn.SpikingNorm(6, scale=24.0, offset=8.0)
    first = learn.SpikingConv(
        1, 6, 3, size=(8, 8), padding=1, key=one, guard=16, scale=0.9, norm=norm, **options
    )
    pool = learn.SumPool(6, 2, size=first.out_shape)
    weights = learn.LinearSynapses(pool.out_size, 10, key=other, scale=0.9)
    last = learn.SpikingBlock(weights, guard=(), **options)
    model = learn.Sequential([first, pool, last], source=learn.relay(16), batch_first=True)
    model = learn.fit(
        model, learn.CrossEntropy(), learn.Adam(), (train, labels[:1300]), epochs=5, key=third
    ).model
    model = eqx.filter_jit(lambda own, x: own.observed(x, momentum=1.0))(model, jnp.asarray(train))
    model = eqx.nn.inference_mode(model)
    logits = np.asarray(eqx.filter_jit(model)(jnp.asarray(test)))
    assert np.mean(logits.argmax(axis=1) == labels[1300:]) > 0.8
    system = exported(model)
    assert system.num_neurons == 64 + 6 * 64 + 10
    exact = learn.replay(system, learn.initial_configuration(system, test.T.astype(int)), steps=8)
    assert (exact.spikes[-10:] == logits.T).all()


# ---- constructors and transformations ----


def small(key):
    """A network of each kind of layer that has weights."""
    norm = learn.SpikingNorm(2)
    layers = (
        learn.SpikingConv(1, 2, 2, size=(4,), key=key, norm=norm, delays=(0, 1), steps=STEPS),
        learn.SpikingRecurrent(6, 2, key=key, steps=STEPS, guard=2),
        learn.SpikingLeaky(2, 2, key=key, steps=STEPS, leak=1, threshold=2),
    )
    return learn.Sequential(layers, skips=[(0, 2, learn.LinearSynapses(4, 2, key=key))])


def test_what_is_trained_by_default():
    """Weights, delays and normalisations; neither rules nor running statistics."""
    trained = eqx.filter(network := small(jr.key(0)), learn.trainable(network))
    names = {
        next(name for key in reversed(path) if (name := getattr(key, "name", None)))
        for path, _ in jtu.tree_leaves_with_path(trained)
    }
    assert names == {"weight", "logits", "scale", "offset"}
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(eqx.filter(network, eqx.is_array)))
    guards = eqx.filter(network, learn.trainable(network, parameters=("low",)))
    names = {getattr(path[-1], "name", None) for path, _ in jtu.tree_leaves_with_path(guards)}
    assert names == {"low", "scale", "offset"}


def test_a_convolution_is_computed_without_its_matrix():
    """Also in the gradient: the largest array is far smaller than the matrix of all synapses."""
    layer = learn.SpikingConv(1, 4, 3, size=(32, 32), padding=1, key=jr.key(0), steps=2)
    jaxpr = jax.make_jaxpr(
        lambda weight, train: jax.grad(
            lambda own: jnp.sum(eqx.tree_at(lambda x: x.synapses.weight, layer, own)(train))
        )(weight)
    )(layer.synapses.weight, jnp.ones((2, 32 * 32)))
    largest = max(_sizes(jaxpr.jaxpr))
    assert layer.out_size <= largest <= 16 * layer.out_size < layer.in_size * layer.out_size


def _sizes(jaxpr):
    for equation in jaxpr.eqns:
        yield from (int(np.prod(var.aval.shape)) for var in equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from _sizes(inner)


# ---- leaks, delays and gradients ----


@pytest.mark.parametrize(
    "options, left",
    [
        ({"decay": 0.6}, lambda k: k * 6 // 10),
        ({"decay": 0.29}, lambda k: k * 29 // 100),
        ({"decay": 0.0}, lambda k: 0),
        ({"leak": 2}, lambda k: max(k - 2, 0)),
    ],
)
def test_a_leak_leaves_what_it_states(options, left):
    rules = learn.leaky(120, **options)
    for k in range(1, 120):
        (rule,) = (rule for rule in rules if k in rule.guard)
        assert k - rule.consume == left(k) and rule.produce == 0
    for k in (120, 500):
        (rule,) = (rule for rule in rules if k in rule.guard)
        assert (rule.consume, rule.produce) == (120, 1)


def test_a_leak_hides_no_derivative():
    """Of a neuron that leaks and would fire with one spike more."""
    rules = learn.leaky(3, leak=1)
    system = snp.SpikingSystem([snp.Neuron("x", 2, rules)], output=["x"])
    model = learn.relax(system, surrogate=learn.FastSigmoid(2.0))
    found = eqx.filter_grad(lambda own: learn.run(own, steps=1).outputs[0, 0])(model)
    assert found.initial[0] == -found.low[0, 0] == 1 / (1 + 2.0 * 0.5) ** 2


def test_the_derivative_of_delays_is_that_of_copies():
    delays, steps = (0, 2, 1), 6
    synapses = learn.LearnedDelays(learn.LinearSynapses(2, 1, key=jr.key(0)), delays)
    logits = jnp.asarray([[[0.3, -1]], [[0.5, 2]], [[-0.2, 0]]])
    train = jnp.asarray(np.random.default_rng(0).integers(0, 4, (steps, 2)), jnp.float32)
    cost = jnp.arange(1.0, steps + 1)[:, None]

    @jax.jit
    @jax.value_and_grad
    def value(logits):
        own = eqx.tree_at(lambda x: x.logits, synapses, logits)
        return jnp.sum(own.deliver(train) * cost)

    total, slopes = value(logits)
    weight = np.asarray(synapses.weight)[0]
    cost, train = np.asarray(cost), np.asarray(train)
    copies = np.stack(
        [weight * np.sum(cost[d:] * train[: steps - d], axis=0) for d in delays]
    )  # what each copy alone would add
    assert total == pytest.approx(float(copies[1].sum()), rel=1e-5)
    share = np.exp(np.asarray(logits[:, 0]))
    share = share / share.sum(axis=0)
    expected = share * (copies - np.sum(share * copies, axis=0))
    np.testing.assert_allclose(slopes[:, 0], expected, rtol=1e-4)


def test_a_delay_is_learned():
    """Two spikes that are sent two steps apart are to arrive together."""
    train = learn.latency_train(jnp.asarray([1, 3]), STEPS)
    synapses = learn.LearnedDelays(
        learn.LinearSynapses(2, 1, key=jr.key(0), weight_range=(1, 1)), (0, 1, 2, 3), per="source"
    )

    @jax.jit
    @jax.value_and_grad
    def loss(logits):
        own = eqx.tree_at(lambda x: x.logits, synapses, logits)
        return jnp.sum((own.deliver(train)[:, 0] - jnp.asarray([0.0, 0, 2, 0, 0])) ** 2)

    logits = np.zeros((4, 2), np.float32)
    assert loss(logits)[0] == 2
    for _ in range(20):
        logits = logits - np.float32(0.2) * np.asarray(loss(logits)[1])
    assert loss(logits)[0] == 0 and np.argmax(logits, axis=0).tolist() == [2, 0]


@pytest.mark.slow
def test_gradients_of_smooth_layers_are_finite_differences():
    """Through a convolution, its normalisation, recurrence and a skip, along a random direction."""
    options = {"surrogate": learn.Smooth(0.5), "steps": STEPS}
    first = conv(1, 2, 2, size=(4,), norm=learn.SpikingNorm(2, scale=3.0), **options)
    last = learn.SpikingRecurrent(6, 2, key=jr.key(1), guard=2, **options)
    skip = learn.LinearSynapses(4, 2, key=jr.key(2))
    model = learn.Sequential([first, last], skips=[(0, 2, skip)])
    counts = jnp.asarray(np.random.default_rng(0).integers(1, 4, (4, 3)), jnp.float32)
    parameters, rest = eqx.partition(model, learn.trainable(model))
    leaves, tree = jax.tree.flatten(parameters)
    noise = np.random.default_rng(1)
    move = tree.unflatten([jnp.asarray(noise.normal(0, 1, x.shape), x.dtype) for x in leaves])

    @jax.jit
    def along(by):
        changed = jax.tree.map(lambda x, y: x + by * y, parameters, move)
        return jnp.sum(eqx.combine(changed, rest).response(counts).spikes)

    slope = jax.grad(along)(0.0)
    difference = (along(1e-2) - along(-1e-2)) / 2e-2
    assert abs(slope) > 0.1
    np.testing.assert_allclose(slope, difference, rtol=2e-2)


@pytest.mark.slow
def test_counts_that_float32_does_not_hold_are_reported():
    """From 2^24 on, as by the run of the same network in one piece."""
    options = {"key": jr.key(0), "steps": 8, "weight_range": (0, 2**22)}
    layers = [learn.SpikingLayer(1, 1, guard=guard, **options) for guard in (1, ())]
    layers = [
        eqx.tree_at(lambda own: own.synapses.weight, layer, jnp.full((1, 1), weight))
        for layer, weight in zip(layers, (1.0, 2.0**22), strict=True)
    ]
    network = learn.Sequential(layers)
    model = learn.relax(quietly(learn.to_system, network))
    for count in range(1, 6):
        counts = jnp.full((1, 2), float(count))
        spikes = jnp.pad(counts, ((0, 2), (0, 0)))
        whole = learn.run(model, steps=8, spikes=spikes)
        assert bool(network.is_exact(counts)) is (count < 4) is bool(whole.is_exact)
        assert network(counts).tolist() == [[count * 2.0**22] * 2]
    assert not network.is_exact(jnp.full((1, 2), 2.0**24))
    assert not network.is_exact(jnp.zeros((1, 2)), input=jnp.full((1, 1, 2), 2.0**24))
    pool = learn.SumPool(1, 8, size=(8,))
    synapses = learn.LinearSynapses(1, 1, key=jr.key(0), weight_range=(0, 0))
    block = learn.SpikingBlock(synapses, steps=4)
    sums = learn.Sequential([pool, block], source=f"a^{2**21} -> a^{2**21}")
    counts = jnp.full(8, 2.0**21)
    assert sums.is_exact(counts.at[0].set(0)) and not sums.is_exact(counts)
    smooth = dense(2, 1, surrogate=learn.Smooth())
    assert not learn.Sequential([smooth]).is_exact(jnp.ones(2))
    with pytest.raises(ValueError, match="`counts` has the shape"):
        network.is_exact(counts)


def test_synapses_are_found_where_layers_are():
    assert learn.layers.ConvSynapses is learn.ConvSynapses
    assert learn.layers.LearnedDelays is learn.LearnedDelays


# ---- what is refused ----


def dense(*sizes, **options):
    return learn.SpikingBlock(
        learn.LinearSynapses(*sizes, key=jr.key(0)), **{"steps": STEPS, **options}
    )


@pytest.mark.parametrize(
    "layers, options, message",
    [
        (lambda: [], {}, "no layers"),
        (lambda: [dense(2, 3), dense(4, 1)], {}, "Layer 2 takes 4 inputs, but layer 1 has 3"),
        (lambda: [dense(2, 3), dense(3, 1, steps=9)], {}, r"`steps` \[5, 9\]"),
        (lambda: [dense(2, 4), learn.SumPool(1, 2, size=(4,))], {}, "last layer is a SumPool"),
        (
            lambda: [dense(2, 4, guard="a -> a"), learn.MaxPool(1, 2, size=(2, 2))],
            {},
            None,
        ),
        (
            lambda: [dense(2, 4, guard="a^2 -> a^2"), learn.MaxPool(1, 2, size=(2, 2))],
            {},
            "Layer 2 is a MaxPool, but what it reads is up to 2 spikes",
        ),
        (
            lambda: [learn.SumPool(1, 2, size=(4,)), learn.MaxPool(1, 2, size=(2,))],
            {},
            "Layer 2 is a MaxPool, but what it reads is up to 2 spikes",
        ),
        (
            lambda: [dense(2, 3), dense(3, 1, surrogate=learn.Smooth())],
            {},
            "Layer 2 has `Smooth` as `surrogate`, but layer 1 fires exactly",
        ),
        (lambda: [dense(2, 3)], {"skips": [(0, 1)]}, r"skip \(0, 1\) joins 2 neurons to 3"),
        (lambda: [dense(2, 2)], {"skips": [(1, 1)]}, r"skip \(1, 1\) joins no population"),
        (
            lambda: [dense(2, 4), learn.MaxPool(1, 2, size=(4,))],
            {"skips": [(0, 2)]},
            "leads into a MaxPool, which takes no other spikes",
        ),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, options, message):
    if message is None:
        learn.Sequential(layers(), **options)
        return
    with pytest.raises(ValueError, match=message):
        learn.Sequential(layers(), **options)


@pytest.mark.parametrize(
    "made, message",
    [
        (lambda: conv(1, 1, 3, size=(2, 2)), r"kernel of \(3, 3\) reads \(3, 3\) sources"),
        (lambda: conv(1, 1, 1, size=(2, 2, 2)), "`size` is"),
        (lambda: conv(1, 1, (1, 2), size=(4,)), "`kernel_size` is"),
        (lambda: conv(1, 1, 1, size=(4,), stride=0), "`stride` is 0"),
        (lambda: conv(3, 2, 1, size=(4,), groups=2), "3 and 2 channels in 2 groups"),
        (lambda: conv(1, 1, 1, size=(4,), delays=(0, 0)), r"`delays` is \(0, 0\)"),
        (lambda: conv(1, 1, 1, size=(4,), weight_range=(0, 0.5)), "two whole numbers"),
        (lambda: dense(2, 3, norm=learn.SpikingNorm(2)), "`norm` has 2 channels"),
        (lambda: dense(2, 3, norm=learn.SpikingNorm(3), guard=()), "no guards to fold"),
        (lambda: dense(2, 3, recurrent=learn.OneToOneSynapses(2)), "`recurrent` joins 2 neurons"),
        (lambda: dense(2, 3, steps=0), "`steps` is 0"),
        (lambda: dense(0, 3), "`in_size` 0"),
        (lambda: learn.SpikingNorm(2, scale=0.0), "`scale` is 0.0"),
        (lambda: learn.MaxPool(1, 3, size=(2,)), "does not fit"),
        (lambda: learn.leaky(3), "Give either `decay` or `leak`"),
        (lambda: learn.leaky(3, decay=1.0), "`decay` is 1.0"),
        (lambda: learn.leaky(3, leak=0), "`leak` is 0"),
        (lambda: learn.leaky(3, leak=1, consume=4), "Give 1 <= consume <= threshold"),
        (
            lambda: learn.LearnedDelays(learn.OneToOneSynapses(2), (0, 1)),
            "no weights. Give `per='source'`",
        ),
        (
            lambda: learn.LearnedDelays(
                learn.LearnedDelays(learn.OneToOneSynapses(2), (1,), per="source"), (1,)
            ),
            "have delays already",
        ),
        (lambda: dense(2, 3, bias=True, norm=learn.SpikingNorm(3)), "Leave `bias` out"),
        (
            lambda: learn.Sequential(
                [learn.SpikingLayer(2, 3, key=jr.key(0), steps=STEPS, batch_first=True)]
            ),
            "Layer 1 has `batch_first=True`. Give that to the `Sequential` too",
        ),
        (lambda: dense(2, 3)(jnp.zeros((3, 4))), "up to 5 steps of 2 neurons"),
        (
            lambda: dense(2, 3).response(jnp.zeros((3, 2)), jnp.zeros((5, 3))),
            r"`more` has the shape \(5, 3\). Give \(3, 3\)",
        ),
        (
            lambda: kinds(batch_first=True)[0].response(jnp.zeros((7, 3, 4)), jnp.zeros((7, 3, 2))),
            r"`more` has the shape \(7, 3, 2\). Give \(7, 5, 2\)",
        ),
        (
            lambda: learn.Sequential([dense(2, 3)], batch_first=True).response(
                jnp.zeros((7, 2)), input=jnp.zeros((7, 6, 2))
            ),
            r"`input` has the shape \(7, 6, 2\). Give \(7, steps, 2\), with up to 5 steps",
        ),
        (
            lambda: learn.Sequential([dense(2, 3)]).response(jnp.zeros(2), input=jnp.zeros(3)),
            r"`input` has the shape \(3,\). Give \(steps, 2\), with up to 5 steps",
        ),
        (
            lambda: learn.OneToOneSynapses(2).scaled(jnp.ones(2)),
            "`OneToOneSynapses` have no trained weights. Leave `norm` out",
        ),
        (lambda: learn.Sequential([dense(2, 3)])(jnp.zeros(3)), r"Give \(2,\) or \(2, paths\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(made, message):
    with pytest.raises(ValueError, match=message):
        made()


def test_fits_report_how_layers_fire():
    counts = jnp.asarray(np.random.default_rng(0).integers(0, 5, (6, 4)), jnp.float32)
    model = learn.Sequential([conv(1, 2, 2, size=(4,)), dense(6, 2, guard=1)], batch_first=True)

    def loss(model, counts, key):
        del key
        found = model.response(counts)
        return jnp.mean(found.trains) + jnp.mean(found.spikes)

    options = {"epochs": 0, "key": jr.key(0), "batch_size": 3}
    first, last = quietly(learn.fit, model, loss, learn.Adam(), (counts,), **options).firing
    assert [own.population for own in (first, last)] == [
        "layer `.layers[0]`",
        "layer `.layers[1]`",
    ]
    sent = learn.total(model.response(counts).trains, batch_first=True)
    assert last.spikes == pytest.approx(float(jnp.mean(sent))) and last.neurons == 2
    assert first.neurons == 2 and first.spikes > 0


def test_the_batch_may_be_first():
    counts = jnp.asarray(np.random.default_rng(0).integers(0, 5, (3, 2)), jnp.float32)
    train = jnp.ones((3, 2, 2))
    last = learn.Sequential([dense(2, 2, guard=1)], skips=[(0, 1)])
    first = learn.Sequential([dense(2, 2, guard=1)], skips=[(0, 1)], batch_first=True)
    for x, y in zip(
        first.response(counts, input=train),
        last.response(counts.T, input=jnp.moveaxis(train, 0, -1)),
        strict=True,
    ):
        assert x.tolist() == jnp.moveaxis(y, -1, 0).tolist()
    assert first(counts).tolist() == last(counts.T).T.tolist()
    assert first(counts[0]).tolist() == last(counts[0]).tolist()
    with pytest.raises(ValueError, match=r"Give \(2,\) or \(paths, 2\)"):
        first(counts.T)


@pytest.mark.parametrize("weight, initial", [(2, 0), (-1, 0), (1, -2), (0, 0)])
def test_a_system_is_signed_if_a_number_is_negative(weight, initial):
    block = dense(2, 1, guard=(), bias=True)
    block = eqx.tree_at(lambda own: own.synapses.weight, block, jnp.full((1, 2), float(weight)))
    block = eqx.tree_at(lambda own: own.bias, block, jnp.full(1, float(initial)))
    assert exported(block).signed == (min(weight, initial) < 0)


def test_smooth_layers_use_the_weights_of_smooth_systems():
    """Clipped to their range and not rounded, with the same derivatives."""
    names = ("x", "y")
    neurons = [snp.Neuron(name, 0, ["a -> a"]) for name in names]
    system = snp.SpikingSystem(neurons, [("x", "y", 2)], signed=True)
    model = learn.relax(system, surrogate=learn.Smooth(), weight_range=(-3, 3))
    synapses = learn.LinearSynapses(1, 1, key=jr.key(0))

    def of_system(weight):
        own = jax.tree.map(lambda is_one: jnp.where(is_one, weight, 0.0), model.is_synapse)
        weights = eqx.combine(own, eqx.filter(model.synapses, eqx.is_inexact_array, inverse=True))
        changed = eqx.tree_at(lambda own: own.synapses, model, weights)
        return jnp.sum(learn.constants_of(changed).synapses.values)

    def of_layer(weight):
        return jnp.sum(synapses.with_weight(weight.reshape(1, 1)).clipped().weight)

    for weight in (-7.2, -3.0, -1.3, 0.4, 2.5, 3.0, 3.1):
        given = jnp.asarray(weight)
        found, expected = (jax.value_and_grad(own)(given) for own in (of_layer, of_system))
        assert found == expected == (jnp.clip(given, -3, 3), float(abs(weight) <= 3))


def test_a_bias_is_initial_spikes_of_a_channel_or_raises_its_guards():
    layer = conv(1, 2, 2, size=(4,), guard="a^2 -> a", bias=True)
    layer = eqx.tree_at(lambda own: own.bias, layer, jnp.asarray([1.0, -3.0]))
    own = [neuron for neuron in exported(layer).neurons if neuron.name.startswith("1{")]
    assert [neuron.spikes for neuron in own] == [1] * 3 + [0] * 3
    for count in range(8):
        allowed = [count in neuron.rules[0].guard for neuron in own]
        assert allowed == [count == 2] * 3 + [count == 5] * 3
    assert_exact(learn.Sequential([layer]), 0)
    whole = jnp.round(layer.synapses.weight)
    layer = eqx.tree_at(lambda own: own.synapses.weight, layer, whole)
    assert learn.rounding(layer).change == 0
    layer = eqx.tree_at(lambda own: own.bias, layer, jnp.asarray([1.0, -3.25]))
    assert learn.rounding(layer) == (0.25, "the bias (1) of layer 1")
    with pytest.raises(ValueError, match=r"Rounding changes the bias \(1\) of layer 1"):
        quietly(learn.to_system, layer)


def kinds(**options):
    """A layer of each class, from 4 inputs."""
    options = {"key": jr.key(0), "steps": STEPS, **options}
    block = {name: options[name] for name in options if name != "key"}
    return [
        learn.SpikingLayer(4, 2, guard=2, **options),
        learn.SpikingBlock(learn.LinearSynapses(4, 2, key=jr.key(0)), guard=2, **block),
        learn.SpikingConv(1, 2, 3, size=(4,), guard=2, **options),
        learn.SpikingRecurrent(4, 2, guard=2, **options),
        learn.SpikingLeaky(4, 2, threshold=2, leak=1, **options),
    ]


@pytest.mark.parametrize("kind", [0, *slow(*range(1, 5))])
def test_each_layer_may_have_its_batch_first(kind):
    """Alone, as the exact system of one layer, and in a chain with pools, which have none."""
    train = np.random.default_rng(0).integers(0, 4, (3, STEPS, 4)).astype(np.float32)
    first, last = kinds(batch_first=True)[kind], kinds()[kind]
    found, expected = first.response(train), last.response(np.moveaxis(train, 0, -1))
    assert found.trains.tolist() == np.moveaxis(expected.trains, -1, 0).tolist()
    assert np.any(found.trains) and found.spikes.T.tolist() == expected.spikes.tolist()
    assert exported(first) == exported(last)
    assert learn.rounding(first) == learn.rounding(last)
    pool = learn.SumPool(1, 2, size=(first.out_size,))
    end = dense(pool.out_size, 1, guard=1, batch_first=True)
    chained = learn.chain([first, pool, end])
    assert chained.batch_first and chained(train[:, 0]).shape == (3, 1)


def test_what_is_no_layer_is_not_chained():
    with pytest.raises(TypeError, match="Layer 1 is a str"):
        learn.chain("x")


def test_a_network_is_exported_with_integers_only():
    block = dense(2, 1, guard=2)
    whole = eqx.tree_at(lambda own: own.synapses.weight, block, jnp.asarray([[2.0, -1.0]]))
    system = learn.to_system(whole)
    assert [tuple(own) for own in system.synapses] == [("0{0}", "1{0}", 2), ("0{1}", "1{0}", -1)]
    assert learn.rounding(whole).change == 0
    part = eqx.tree_at(lambda own: own.synapses.weight, block, jnp.asarray([[2.25, -1.0]]))
    assert learn.rounding(part) == (0.25, "the weight (0, 0) of layer 1")
    with pytest.raises(ValueError, match=r"the weight \(0, 0\) of layer 1 by up to 0.25"):
        learn.to_system(part)
    assert learn.to_system(part, round=True) == system
    low = eqx.tree_at(lambda own: own.neurons.model.low, whole, whole.neurons.model.low + 0.125)
    assert learn.rounding(low) == (0.125, "'low' of neuron 'neuron{0}' of layer 1")
    broken = eqx.tree_at(lambda own: own.synapses.weight, block, jnp.full((1, 2), jnp.nan))
    with pytest.raises(ValueError, match="NaN"):
        learn.to_system(broken, round=True)
    with pytest.raises(ValueError, match="`Smooth`"):
        learn.to_system(dense(2, 1, surrogate=learn.Smooth()), round=True)
    pool = learn.MaxPool(1, 2, size=(4,))
    source = dense(2, 4, guard=1)
    doubled = eqx.tree_at(
        lambda own: own.neurons.model.produce, source, 2 * source.neurons.model.produce
    )
    with pytest.raises(ValueError, match="neurons that it reads send 2 spikes"):
        learn.to_system(learn.Sequential([doubled, pool]), round=True)
    with pytest.raises(ValueError, match="`counts` has the shape"):
        learn.initial_configuration(system, np.zeros(4, int))
