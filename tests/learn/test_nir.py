"""NIR graphs as exact systems: against the equations of NIR, and there and back."""

import sys
from collections import Counter
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import learn
from tests.support.helpers import SHARED, quietly, trees_equal


nir = pytest.importorskip("nir", reason="no nir (pip install '.[nir]')")


# ---- the equations, in plain NumPy ----


def pads_of(node, kernel):
    if isinstance(node.padding, str):
        if node.padding == "valid":
            return [(0, 0), (0, 0)]
        around = [d * (k - 1) for d, k in zip(pair(node.dilation), kernel, strict=True)]
        return [(n // 2, n - n // 2) for n in around]
    return [(int(p), int(p)) for p in np.broadcast_to(node.padding, 2)]


def window_sums(image, weight, stride, pads, dilation, groups):
    """A convolution as PyTorch defines it, one number after the other."""
    image = np.pad(image, [(0, 0), *pads])
    outs, ins, *kernel = weight.shape
    sizes = [
        (image.shape[1 + a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)
    ]
    result = np.zeros((outs, *sizes))
    for o, x, y in np.ndindex(*result.shape):
        group = o // (outs // groups)
        for c, i, j in np.ndindex(ins, *kernel):
            at = x * stride[0] + i * dilation[0], y * stride[1] + j * dilation[1]
            result[o, x, y] += weight[o, c, i, j] * image[group * ins + c, *at]
    return result


def pair(x):
    return np.broadcast_to(x, 2).tolist()


def stateless(node, x):
    """What a node without a state makes of its input."""
    match type(node).__name__:
        case "Linear":
            return node.weight @ x
        case "Affine":
            return node.weight @ x + node.bias
        case "Scale":
            return node.scale * x
        case "Threshold":
            return (x > node.threshold).astype(float)
        case "Flatten":
            first, last = node.start_dim, node.end_dim % x.ndim
            return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])
        case "Output":
            return x
        case "SumPool2d":
            ones = np.ones((len(x), 1, *pair(node.kernel_size)))
            pads = pads_of(node, None)
            return window_sums(x, ones, pair(node.stride), pads, (1, 1), len(x))
        case "Conv2d":
            w = node.weight
            stride, pads = pair(node.stride), pads_of(node, w.shape[2:])
            sums = window_sums(x, w, stride, pads, pair(node.dilation), int(node.groups))
            return sums + node.bias[:, None, None]


def simulated(graph, train, *, dt=1.0, reset="v_reset"):
    """The explicit Euler method: what every node puts out in each step, and the potentials.

    The environment gives `train[t]` in step t, which the input sends in step t + 1.
    """
    states = {
        name: np.zeros(np.shape(node.r))
        for name, node in graph.nodes.items()
        if type(node).__name__ in ("I", "IF", "LIF")
    }
    rows = []
    for t in range(len(train)):
        sent = {}

        def output(name, t=t, sent=sent):
            if name not in sent:
                node = graph.nodes[name]
                if type(node).__name__ == "Input":
                    shape = node.input_type["input"]
                    sent[name] = (train[t - 1] if t else 0 * train[0]).reshape(shape)
                elif name in states and type(node).__name__ == "I":
                    sent[name] = states[name]
                elif name in states:
                    sent[name] = (states[name] > node.v_threshold).astype(float)
                else:
                    sent[name] = stateless(node, arriving(name))
            return sent[name]

        def arriving(name):
            return sum(output(source) for source, target in graph.edges if target == name)

        for name in graph.nodes:
            output(name)
        rows.append((sent, dict(states)))
        current = {name: arriving(name) for name in states}
        for name, v in rows[-1][1].items():
            node, fired = graph.nodes[name], sent[name] > 0
            if type(node).__name__ == "IF":
                v = np.where(
                    fired, v - node.v_threshold if reset == "subtract" else node.v_reset, v
                )
            if type(node).__name__ == "LIF":
                v = np.where(fired, node.v_reset, v)
                v = v + dt / node.tau * (node.v_leak - v + node.r * current[name])
            else:
                v = v + dt * node.r * current[name]
            states[name] = v
    return rows


def check_semantics(graph, train, *, dt=1.0, reset="v_reset", max_input=1, exact=True):
    """A network is the equations and its exact system, step by step."""
    network = learn.from_nir(graph, dt=dt, reset=reset, max_input=max_input)
    rows = simulated(graph, train, dt=dt, reset=reset)
    found = network.run(jnp.asarray(train, jnp.float32), keep_configurations=True)
    assert found.is_exact
    units, output = network.wiring.units, network.wiring.output
    if units[network.wiring.read].kind != "I":
        wanted = [sent[output].ravel().tolist() for sent, _ in rows]
        assert found.outputs.tolist() == wanted
    start = 0
    for unit in units:
        own = found.configurations[:-1, start : start + unit.size]
        start += unit.size
        if unit.kind != "Input":
            np.testing.assert_array_equal(
                own, [states[unit.name].ravel() for _, states in rows], err_msg=unit.name
            )
    if exact:
        system = quietly(learn.to_system, network.model)
        inputs = {
            n.name: train[:, i].astype(int) for i, n in enumerate(system.neurons[: train.shape[1]])
        }
        run = snp.run(
            system.replace(input=inputs), max_steps=len(train), save=snp.SAVE_ALL, throw=False
        )
        steps = len(run.configurations)
        np.testing.assert_array_equal(run.configurations, found.configurations[:steps])
    return network


def as_texts(graph):
    """A graph as comparable values."""

    def text(x):
        if isinstance(x, dict):
            return {key: text(value) for key, value in x.items()}
        return np.asarray(x).tolist() if not isinstance(x, str) else x

    nodes = {
        name: (type(node).__name__, text(node.to_dict())) for name, node in graph.nodes.items()
    }
    return nodes, sorted(map(tuple, graph.edges))


def check_identity(graph, **options):
    network = learn.from_nir(graph, **options)
    own = {key: options[key] for key in ("reset",) if key in options}
    again = learn.to_nir(network, **own)
    assert as_texts(again) == as_texts(graph)
    back = learn.from_nir(again, **options)
    assert trees_equal(back, network)


# ---- graphs ----


def ends(shape, out_shape):
    return {
        "input": nir.Input({"input": np.asarray(shape)}),
        "output": nir.Output({"output": np.asarray(out_shape)}),
    }


def paths(*names):
    """The edges along paths, such as `"input linear if output"`."""
    return [edge for path in names for edge in pairwise(path.split())]


def a_neuron(kind, shape, *, least=3.0, left=0.0, dt=1.0, gain=1.0):
    """A node of neurons which fire from `least` on."""
    full = lambda x: np.full(shape, float(x))  # noqa: E731
    if kind == "LIF":
        return nir.LIF(full(dt), full(gain), full(0), full(least - 0.5), full(0))
    if kind == "I":
        return nir.I(full(gain / dt))
    return nir.IF(full(gain / dt), full(least - 0.5), full(left))


RECURRENT = nir.NIRGraph(
    {
        **ends((3,), (4,)),
        "affine": nir.Affine(
            np.asarray([[2.0, -1, 0], [1, 1, 1], [0, 3, -2], [1, 0, 0]]),
            np.asarray([0.0, 1, 0, -1]),
        ),
        "if": nir.IF(np.ones(4), np.asarray([1.5, 2.5, 0.5, 3.5]), np.asarray([0.0, 1, 0, 2])),
        "back": nir.Linear(np.asarray(np.diag([1.0, 2, -1, 0]) + 1)),
    },
    paths("input affine if back if output"),
)
IMAGES = nir.NIRGraph(
    {
        **ends((1, 5, 4), (2,)),
        "conv": nir.Conv2d(
            (5, 4),
            np.asarray([[[[1.0, -1], [2, 0]]], [[[0, 1], [1, 1]]]]),
            (1, 1),
            (1, 0),
            (1, 1),
            1,
            np.asarray([0.0, 1]),
        ),
        "first": a_neuron("IF", (2, 6, 3), least=2),
        "pool": nir.SumPool2d(np.asarray([2, 2]), np.asarray([2, 1]), np.asarray([0, 0])),
        "flatten": nir.Flatten({"input": np.asarray([2, 3, 2])}, 0, -1),
        "linear": nir.Linear(np.asarray([[1.0, -1] * 6, [0, 2, 1] * 4])),
        "last": a_neuron("IF", (2,), least=4),
    },
    paths("input conv first pool flatten linear last output"),
)
SUBTRACTING = nir.NIRGraph(
    {
        **ends((2,), (2,)),
        "linear": nir.Linear(np.asarray([[3.0, 1], [2, -1]])),
        "v": nir.I(np.ones(2)),
        "fires": nir.Threshold(np.asarray([3.5, 2.5])),
        "minus": nir.Scale(np.asarray([-4.0, -2])),
        "side": nir.Linear(np.asarray([[0.0, 1], [1, 0]])),
    },
    paths("input linear v fires minus v", "fires side v", "fires output"),
)
LEAKY = nir.NIRGraph(
    {
        **ends((2,), (2,)),
        "affine": nir.Affine(np.asarray([[2.0, 1], [1, 3]]), np.asarray([1.0, 0])),
        "lif": a_neuron("LIF", (2,), least=3, gain=2),
        "count": nir.Linear(np.asarray([[1.0, 1], [2, -1]])),
        "sum": nir.I(np.ones(2)),
    },
    paths("input affine lif count sum output"),
)


def random_train(steps, inputs, most=1, seed=0):
    return np.random.default_rng(seed).integers(0, most + 1, (steps, inputs)).astype(float)


@pytest.mark.parametrize("graph", [RECURRENT, IMAGES, SUBTRACTING, LEAKY])
def test_networks_are_the_equations_of_nir(graph):
    inputs = int(np.prod(graph.nodes["input"].input_type["input"]))
    check_semantics(graph, random_train(12, inputs))
    check_identity(graph)


def test_layers_without_cycles_are_late_by_one_step_each():
    """Libraries that pass spikes on within a step compute the same, earlier."""
    w1, w2 = np.asarray([[2.0, 1], [1, 1]]), np.asarray([[1.0, 2]])
    graph = nir.NIRGraph.from_list(
        nir.Linear(w1),
        a_neuron("IF", (2,), least=2),
        nir.Linear(w2),
        a_neuron("IF", (1,), least=3),
    )
    train = random_train(12, 2)
    v1, v2, wanted = np.zeros(2), np.zeros(1), []
    for row in train:
        v1 = v1 + w1 @ row
        z1 = v1 >= 2
        v1 = np.where(z1, 0, v1)
        v2 = v2 + w2 @ z1
        wanted.append(float((v2 >= 3)[0]))
        v2 = np.where(v2 >= 3, 0, v2)
    sent = learn.from_nir(graph)(jnp.asarray(train), steps=15)[:, 0]
    assert sum(wanted) > 1 and sent.tolist() == [0, 0, 0, *wanted]


def test_resets_by_subtraction():
    graph = nir.NIRGraph.from_list(
        nir.Affine(np.asarray([[2.0, 3], [1, -1]]), np.asarray([0.0, 1])),
        nir.IF(np.full(2, 1000.0), np.asarray([4.0, 1]), np.zeros(2)),
    )
    options = {"dt": 1e-3, "reset": "subtract"}
    network = check_semantics(graph, random_train(12, 2), **options)
    assert network.neurons.is_slot[:, 2:4].sum(axis=0).tolist() == [1, 1]
    check_identity(graph, **options)
    exact = learn.to_nir(network)  # with the equations of NIR: an integrator and its threshold
    assert {type(node).__name__ for node in exact.nodes.values()} >= {"I", "Threshold", "Scale"}
    for now, then in zip(
        simulated(exact, random_train(12, 2), dt=1e-3),
        simulated(graph, random_train(12, 2), **options),
        strict=True,
    ):
        assert now[0]["output"].tolist() == then[0]["output"].tolist()


def test_inputs_of_several_spikes_and_graphs_inside_of_graphs():
    inner = nir.NIRGraph(
        {
            **ends((2,), (2,)),
            "if": a_neuron("IF", (2,), least=4, left=1),
            "back": nir.Linear(np.asarray([[0.0, 1], [-1, 0]])),
        },
        paths("input if back if output"),
    )
    graph = nir.NIRGraph(
        {
            **ends((2,), (2,)),
            "rnn": inner,
            "linear": nir.Linear(np.asarray([[1.0, 2], [0, 1]])),
        },
        paths("input linear rnn output"),
    )
    flat = nir.NIRGraph(
        {
            **ends((2,), (2,)),
            "linear": graph.nodes["linear"],
            "rnn.if": inner.nodes["if"],
            "rnn.back": inner.nodes["back"],
        },
        paths("input linear rnn.if rnn.back rnn.if output"),
    )
    check_semantics(flat, random_train(12, 2, most=3), max_input=3)
    assert as_texts(learn.to_nir(learn.from_nir(graph))) == as_texts(flat)
    network = learn.from_nir(flat, max_input=2)
    with pytest.raises(ValueError, match="`train` is 3 in row 0, column 1, .* at most 2 spikes"):
        network(jnp.asarray([[2.0, 3.0]]))
    with pytest.raises(ValueError, match="type NirNetwork has no .* Pass its `model`"):
        learn.to_system(network)


def test_an_output_reads_a_flattened_image():
    graph = nir.NIRGraph.from_list(
        nir.Input({"input": np.asarray([1, 2, 3])}),
        a_neuron("IF", (1, 2, 3), least=1),
        nir.Flatten({"input": np.asarray([1, 2, 3])}, 1, -1),
    )
    assert graph.nodes["output"].output_type["output"].tolist() == [1, 6]
    check_identity(graph)
    assert learn.from_nir(graph)(jnp.ones((3, 6))).tolist() == [[0.0] * 6] * 2 + [[1.0] * 6]


def test_files_hold_graphs(tmp_path):
    path = tmp_path / "network.nir"
    nodes = {f"z{name}" if name == "first" else name: n for name, n in IMAGES.nodes.items()}
    edges = [tuple("zfirst" if n == "first" else n for n in edge) for edge in IMAGES.edges]
    graph = nir.NIRGraph(nodes, edges)
    nir.write(path, learn.to_nir(learn.from_nir(graph)))
    assert list(nir.read(path).nodes) == sorted(nodes)  # a file keeps no order of nodes
    assert trees_equal(learn.from_nir(path), learn.from_nir(graph))
    (tmp_path / "text.nir").write_text("no graph")
    with pytest.raises(ValueError, match="text.nir: this is not a NIR graph that nir .* reads"):
        learn.from_nir(tmp_path / "text.nir")
    with pytest.raises(ValueError, match="none.nir: there is no such file"):
        learn.from_nir(str(tmp_path / "none.nir"))


@pytest.mark.slow
def test_a_network_is_trained_and_written():
    """The copies of a kernel stay one parameter; integers are written."""
    network = learn.from_nir(IMAGES, weight_range=(-3, 3))
    train = jnp.asarray(random_train(10, 20))

    @eqx.filter_jit
    @eqx.filter_grad
    def slopes(parameters):
        weights, biases = parameters
        own = eqx.tree_at(lambda n: (n.weights, n.biases), network, (weights, biases))
        return jnp.sum(own.response(train).trains * jnp.arange(1.0, 11)[:, None])

    found = slopes((network.weights, network.biases))
    assert all(jnp.any(x != 0) for x in jax.tree.leaves(found))
    moved = jax.tree.map(lambda x, g: x - 0.4 * jnp.sign(g), network.weights, found[0])
    network = eqx.tree_at(lambda n: n.weights, network, moved)
    with pytest.raises(ValueError, match="Rounding changes the weight of node .* by up to"):
        learn.to_nir(network)
    again = learn.from_nir(learn.to_nir(network, round=True), weight_range=(-3, 3))
    assert again(train).tolist() == network(train).tolist()
    grown = eqx.tree_at(lambda n: n.weights["linear"], learn.from_nir(IMAGES), jnp.full((2, 12), 9))
    with pytest.raises(ValueError, match="'last': neuron . may hold .* has rules for up to"):
        learn.to_nir(grown)


@pytest.mark.parametrize("reset", ["v_reset", "subtract"])
def test_networks_of_populations_are_written(reset):
    network = learn.SpikingNetwork(
        (3, 4, 2), (learn.SENDER, "a{3,}/a^2 -> a", ()), key=jr.key(0), steps=9, scale=2.0
    )
    graph = learn.to_nir(network, reset=reset, round=True)
    kinds = [type(node).__name__ for node in graph.nodes.values()]
    assert ("IF" if reset == "subtract" else "Threshold") in kinds
    counts = jnp.asarray([3.0, 1, 2])
    train = np.asarray(learn.count_train(counts, 9))
    own = network.run(counts)
    fitted = learn.Fitted(network, np.zeros(0), network, np.zeros(0))
    assert learn.to_nir(fitted, reset=reset, round=True).nodes.keys() == graph.nodes.keys()
    with pytest.raises(TypeError, match="`model` is of the type int. Give a network, a layer"):
        learn.to_nir(3)
    # The counts of the network are there one step earlier than what arrives from outside.
    back = learn.from_nir(graph, reset=reset).run(jnp.asarray(train), steps=10)
    assert back.spikes[3:9].tolist() == own.spikes[3:9].tolist()
    rows = simulated(graph, np.pad(train, ((0, 2), (0, 0))), reset=reset)
    assert rows[10][1]["population_2"].tolist() == own.spikes[7:9].tolist()


def test_sequential_networks_are_written():
    """With a pooling, whose sums become weights of the next layer."""
    options = {"steps": 6, "scale": 2.0}
    first = learn.SpikingLayer(3, 4, key=jr.key(2), guard=2, **options)
    pool = learn.SumPool(1, 2, size=(4,))
    last = learn.SpikingLayer(2, 2, key=jr.key(3), guard=(), **options)
    network = learn.Sequential([first, pool, last])
    counts = jnp.asarray([3.0, 4, 2])
    back = learn.from_nir(learn.to_nir(network, round=True))
    train = learn.count_train(counts, 6)
    wanted = network.response(counts).spikes
    assert wanted.any() and back.response(train, steps=7).spikes.tolist() == wanted.tolist()


def test_layers_are_written_and_reset_rules_are_recognised():
    layer = learn.SpikingLayer(3, 4, key=jr.key(1), steps=8, guard=learn.relay(1), scale=0.0)
    with pytest.raises(ValueError, match=r"Rounding changes the weight \(\d, \d\) of layer 1"):
        learn.to_nir(learn.SpikingLayer(3, 4, key=jr.key(1), steps=8))
    assert isinstance(learn.to_nir(layer).nodes["population_1"], nir.IF)
    first = learn.SpikingLayer(3, 4, key=jr.key(1), steps=8, batch_first=True)
    assert learn.to_nir(first, round=True).nodes["linear_0_1"].weight.shape == (4, 3)
    resets = ["a^2 -> a", "a^3/a^3 -> a", "a^4 -> a"]
    made = learn.SpikingNetwork(
        (2, 3), (learn.SENDER, resets), key=jr.key(0), steps=5, weight_range=(1, 1), scale=0.0
    )
    node = learn.to_nir(made).nodes["population_1"]
    assert (node.v_threshold == 1.5).all() and (node.v_reset == 0).all()
    leaky = learn.SpikingNetwork(
        (2, 3),
        (learn.SENDER, ["a -> lambda", *resets]),
        key=jr.key(0),
        steps=5,
        weight_range=(1, 1),
    )
    assert isinstance(learn.to_nir(leaky, dt=0.5).nodes["population_1"], nir.LIF)


def in_images():
    options = {"steps": 9, "guard": 1, "weight_range": (-1, 2)}
    first = learn.SpikingConv(1, 2, 2, size=(4, 5), key=jr.key(0), padding="same", **options)
    pools = [learn.MaxPool(2, 2, size=(4, 5)), learn.SumPool(2, (1, 2), size=(2, 2))]
    last = learn.SpikingConv(2, 2, (2, 1), size=(2, 1), key=jr.key(4), groups=2, **options)
    return [first, *pools, last, learn.SpikingRecurrent(2, 3, key=jr.key(2), **options)]


def in_lines():
    """Windows along one axis."""
    conv = learn.SpikingConv(1, 2, 3, size=(6,), key=jr.key(0), steps=9, stride=2, padding=1)
    pool = learn.SumPool(2, 3, size=(3,))
    return [conv, pool, learn.SpikingLayer(2, 2, key=jr.key(1), steps=9)]


def back_in_images():
    """Images of flat neurons, and neurons at an image that also get spikes that skip a layer."""
    first = learn.SpikingConv(1, 2, 3, size=(3, 3), key=jr.key(0), steps=9, padding=1)
    flat = learn.SpikingLayer(18, 9, key=jr.key(1), steps=9)
    return [first, flat, learn.SpikingConv(1, 2, 3, size=(3, 3), key=jr.key(2), steps=9, padding=1)]


def with_holes():
    """A dilation, a normalisation that is folded, and a padding that NIR has not."""
    options = {"steps": 9, "guard": 1, "weight_range": (1, 3)}
    norm = eqx.nn.inference_mode(learn.SpikingNorm(2, scale=2.0))
    first = learn.SpikingConv(1, 2, 2, size=(5, 5), key=jr.key(0), dilation=2, norm=norm, **options)
    second = learn.SpikingConv(2, 1, 2, size=(3, 3), key=jr.key(1), **options)
    third = learn.SpikingConv(
        1, 1, 2, size=(2, 2), key=jr.key(2), stride=2, padding="same", **options
    )
    return [first, learn.SumPool(2, 1, size=(3, 3)), second, third]


FROM_A_SUM = (2, 4, learn.LinearSynapses(18, 1, key=jr.key(3), weight_range=(0, 2)))


def kinds_of(graph):
    found = Counter(type(node).__name__ for node in graph.nodes.values())
    return {kind: found[kind] for kind in ("Conv2d", "SumPool2d", "Flatten", "Linear")}


@pytest.mark.parametrize(
    "layers, skips, kinds",
    [
        (in_images, [], {"Conv2d": 2, "SumPool2d": 2, "Flatten": 1, "Linear": 2}),
        pytest.param(in_lines, [], {"Linear": 3}, marks=pytest.mark.slow),
        pytest.param(
            back_in_images,
            [(1, 3)],
            {"Conv2d": 1, "Flatten": 1, "Linear": 3},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            with_holes,
            [FROM_A_SUM],
            {"Conv2d": 2, "SumPool2d": 1, "Flatten": 2, "Linear": 2},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["images", "lines", "back", "holes"],
)
def test_layers_are_nodes_of_nir(layers, skips, kinds):
    model = learn.Sequential(layers(), skips=skips)
    graph = learn.to_nir(model, round=True)
    assert kinds_of(graph) == {"Conv2d": 0, "SumPool2d": 0, "Flatten": 0, **kinds}
    counts = jr.randint(jr.key(3), (model.sizes[0],), 0, 9).astype(jnp.float32)
    own = model.response(counts).trains
    assert own.any()
    train = np.pad(np.asarray(learn.count_train(counts, 9)), ((0, 1), (0, 0)))
    rows = simulated(graph, train)
    assert [sent["output"].ravel().tolist() for sent, _ in rows][1:] == own.tolist()
    assert learn.from_nir(graph)(jnp.asarray(train)).tolist()[1:] == own.tolist()


def test_synapses_with_delays_are_refused():
    late = learn.SpikingRecurrent(3, 4, key=jr.key(0), steps=6, guard=2, delays=(1, 0))
    with pytest.raises(ValueError, match="Synapses to 'population_1' have delays"):
        learn.to_nir(late, round=True)


@pytest.mark.parametrize(
    "rules, reason",
    [
        ("a{3,}/a^2 -> a^2", "sends several spikes at once"),
        ("a{2,5}/a^2 -> a", "a guard has an upper bound"),
        (["a^2 -> a", "a^3/a -> a"], "neither subtract a number nor reset to a value"),
        (["a -> lambda", "a^3 -> a"], "it forgets only some"),
        (["a{4,}/a -> a", "a -> a"], "several, of which one is a threshold"),
        ("a{3,}/a^2 -> a;1", "a delay"),
        ("a(aa)*/a -> a", "a period"),
    ],
)
def test_rules_without_a_node_are_refused(rules, reason):
    made = learn.SpikingNetwork(
        (2, 3), (learn.SENDER, rules), key=jr.key(0), steps=5, weight_range=(1, 1)
    )
    with pytest.raises(ValueError, match=reason):
        learn.to_nir(made)


def test_all_unsupported_nodes_are_listed():
    half = np.full((2, 2), 0.5)
    graph = nir.NIRGraph(
        {
            **ends((2,), (2,)),
            "w": nir.Linear(half),
            "lif": nir.LIF(np.full(2, 5.0), np.ones(2), np.ones(2), np.ones(2)),
            "cuba": nir.CubaLIF(*(np.ones(2) for _ in range(5))),
            "li": nir.LI(np.ones(2), np.ones(2), np.zeros(2)),
            "delay": nir.Delay(np.ones(2)),
            "if": nir.IF(np.full(2, 0.5), np.full(2, -1.0), np.full(2, 0.5)),
            "i": nir.I(np.ones(2)),
        },
        paths("input w lif cuba li delay if i if output"),
    )
    with pytest.raises(ValueError) as caught:
        learn.from_nir(graph)
    message = str(caught.value)
    for part in (
        "Node 'w' (Linear): weight[0, 0] is 0.5, which is not an integer",
        "Node 'lif' (LIF): its potential decays by the factor 1 - dt / tau, where tau is 5",
        "Node 'lif' (LIF): `v_leak` is not 0",
        "Node 'cuba' (CubaLIF): its current decays",
        "Node 'li' (LI): its potential decays",
        "Node 'delay' (Delay): every edge takes one step",
        "Node 'if' (IF): the threshold -1 fires at 0",
        "Node 'if' (IF): dt r[0] is 0.5",
        "Node 'if' (IF): v_reset[0] is 0.5",
        "Node 'i' (I): it sends its potential",
    ):
        assert part in message, part


def test_what_is_wrong_with_a_graph_is_said():
    ok = {**ends((2,), (2,)), "if": a_neuron("IF", (2,))}
    path = paths("input if output")

    def refused(nodes, edges, match, **options):
        graph = nir.NIRGraph(nodes, edges, type_check=False)
        with pytest.raises(ValueError, match=match):
            learn.from_nir(graph, **options)

    refused(ok, [*path, ("if", "gone")], "'gone' .unknown.: the edge .* no such node")
    refused(ok, [*path, path[0]], "is there 2 times")
    refused({"if": ok["if"]}, [], "There are 0 nodes Input")
    small = {**ok, "output": nir.Output({"output": np.asarray([3])})}
    refused(small, path, r"it has the shape \(3,\), but reads \(2,\)")
    refused(ok, [("input", "output")], "reads 'input', which has no neurons")
    refused(ok, [*path, ("if", "input")], "'input' .Input.: an edge leads to it")
    linear = nir.Linear(np.ones((2, 2)))
    heavy = {**ok, "w": nir.Linear(np.full((2, 2), 2.0**24))}
    refused(heavy, [*path, ("input", "w"), ("w", "if")], "`weight` has a number of 2.24 or more")
    loop = [*path, ("input", "w"), ("w", "w")]
    refused({**ok, "w": linear}, loop, "in a cycle without neurons")
    refused(
        {**ok, "w": nir.Linear(np.ones((2, 3)))}, [*path, ("if", "w")], r"takes the shape \(3,\)"
    )
    refused(
        {**ok, "w": nir.Linear(np.ones((3, 2)))},
        [("input", "w"), ("w", "if"), path[1]],
        r"'if' .IF.: it has the shape \(2,\), but 'w' the shape \(3,\)",
    )
    refused({**ok, "w": linear}, [*path, ("w", "if")], "'w' .Linear.: nothing leads to it")
    pool = nir.SumPool2d(np.asarray(2), np.asarray(2), np.asarray(0))
    refused({**ok, "p": pool}, [*path, ("input", "p")], "Give it channels of images")
    signed = {**ends((2,), (2,)), "w": nir.Linear(-np.ones((2, 2))), "lif": a_neuron("LIF", (2,))}
    chain = paths("input w lif output")
    refused(signed, chain, "no rule forgets a negative potential")
    refused(ok, path, "needs 5000 rules", max_input=5000)
    refused(ok, path, "`max_input` is 0", max_input=0)
    wide = {**signed, "lif": a_neuron("IF", (2,))}
    refused(wide, chain, "`weight_range` is .* Give two integers", weight_range=(0, 1))
    with pytest.raises(ValueError, match="`train` has the shape"):
        learn.from_nir(nir.NIRGraph(ok, path))(jnp.zeros((4, 3)))
    with pytest.raises(ValueError, match="`input` has the shape"):
        learn.run(learn.from_nir(nir.NIRGraph(ok, path)).model, steps=3, input=jnp.zeros((3, 9)))
    with pytest.raises(TypeError, match="`graph` is a list"):
        learn.from_nir([])


def test_weights_that_are_no_integers_are_rounded_on_request():
    graph = nir.NIRGraph.from_list(nir.Linear(np.asarray([[1.6, 2.6]])), a_neuron("IF", (1,)))
    network = learn.from_nir(graph, round=True)
    assert network.weights["linear"].tolist() == jnp.asarray([[1.6, 2.6]]).tolist()
    whole = nir.NIRGraph.from_list(nir.Linear(np.asarray([[2.0, 3]])), a_neuron("IF", (1,)))
    train = np.asarray([[1.0, 0], [1, 1], [1, 0], [0, 1], [1, 1], [0, 0], [0, 0]])
    wanted = [sent["output"].tolist() for sent, _ in simulated(whole, train)]
    assert network(jnp.asarray(train)).tolist() == wanted


# ---- random graphs ----


@st.composite
def random_graphs(draw):
    """Two or three units of any kind, operators between them, forwards and back. All images and all
    vectors have one shape, so that graphs share what is compiled."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    image = draw(st.booleans())
    shapes = [(2, 3, 3) if image else (3,)]
    nodes = {"input": nir.Input({"input": np.asarray(shapes[0])})}
    edges, senders, kinds = [], ["input"], ["Input"]

    def weights(*shape, least=-2):
        return rng.integers(least, 4, shape).astype(float)

    def connect(source, target, shape, out_shape, least):
        """Operators from one shape to another."""
        name = f"{source}_{target}"
        if len(shape) == 3 and len(out_shape) == 1:
            if draw(st.booleans()):
                pool = nir.SumPool2d(*map(np.asarray, ([2, 1], [1, 1], [0, 1])))
                nodes[name + "p"], shape = pool, (shape[0], shape[1] - 1, shape[2] + 2)
                edges.append((source, name + "p"))
                source = name + "p"
            nodes[name + "f"] = nir.Flatten({"input": np.asarray(shape)}, 0, -1)
            edges.append((source, name + "f"))
            source, shape = name + "f", (int(np.prod(shape)),)
        if len(out_shape) == 3:
            nodes[name] = nir.Conv2d(
                shape[1:],
                weights(out_shape[0], shape[0], 3, 3, least=least),
                1,
                "same",
                1,
                1,
                weights(out_shape[0], least=least),
            )
        elif draw(st.booleans()):
            bias = weights(*out_shape, least=least)
            nodes[name] = nir.Affine(weights(*out_shape, *shape, least=least), bias)
        else:
            nodes[name] = nir.Linear(weights(*out_shape, *shape, least=least))
        edges.extend([(source, name), (name, target)])

    num = draw(st.integers(1, 2))
    for k in range(num):
        kind = draw(st.sampled_from(["IF", "Threshold", "LIF"] + ["I"] * (k == num - 1)))
        to_image = len(shapes[-1]) == 3 and kind != "I" and draw(st.booleans())
        shape = (2, 3, 3) if to_image else (3,)
        name, least = f"u{k}", rng.integers(1, 5, shape).astype(float)
        gain = rng.integers(1, 3, shape).astype(float)
        sender = name
        if kind == "Threshold":
            taken = np.minimum(least, rng.integers(1, 3, shape))
            nodes |= {
                name: nir.I(np.ones(shape)),
                name + "t": nir.Threshold(least - 0.5),
                name + "s": nir.Scale(-taken),
            }
            sender = name + "t"
            edges.extend([(name, sender), (sender, name + "s"), (name + "s", name)])
        elif kind == "IF":
            nodes[name] = nir.IF(gain, least - 0.5, np.minimum(least - 1, draw(st.integers(0, 2))))
        elif kind == "LIF":
            zeros = np.zeros(shape)
            nodes[name] = nir.LIF(zeros + 1, gain, zeros, least - 0.5, zeros)
        else:
            nodes[name] = nir.I(gain)
        lowest = 0 if kind == "LIF" else -2
        connect(senders[-1], name, shapes[-1], shape, lowest)
        if len(shape) == 1 and kind != "I" and draw(st.booleans()):
            connect(sender, name, shape, shape, lowest)
        senders.append(sender)
        shapes.append(shape)
        kinds.append(kind)
    nodes["output"] = nir.Output({"output": np.asarray(shapes[-1])})
    edges.append((senders[-1], "output"))
    return nir.NIRGraph(nodes, edges)


@settings(max_examples=4)
@given(random_graphs())
def test_round_trips_of_random_graphs_are_identities(graph):
    check_identity(graph)


@settings(max_examples=2)
@given(random_graphs(), st.integers(0, 2**32 - 1))
def test_random_graphs_are_the_equations(graph, seed):
    inputs = int(np.prod(graph.nodes["input"].input_type["input"]))
    check_semantics(graph, random_train(6, inputs, seed=seed), exact=False)


@pytest.mark.slow
@settings(max_examples=15)
@given(random_graphs(), st.integers(0, 2**32 - 1))
def test_many_random_graphs(graph, seed):
    check_identity(graph)
    inputs = int(np.prod(graph.nodes["input"].input_type["input"]))
    check_semantics(graph, random_train(6, inputs, seed=seed), exact=False)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nir", None)
    with pytest.raises(ImportError, match=r"nir is not installed \(pip install '.\[nir\]'"):
        learn.from_nir("network.nir")


def test_a_file_that_crashes_h5py_is_an_error(tmp_path, monkeypatch):
    read = sys.modules["snpjax.learn.nir.read"]
    monkeypatch.setattr(read, "_READ_APART", "import os; os.abort()")
    path = tmp_path / "x.nir"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"x\.nir: the file is damaged: .* signal 6\. Write it"):
        learn.from_nir(path)
    monkeypatch.setattr(read, "_READ_APART", "import os; os._exit(3)")
    with pytest.raises(ValueError, match=r"x\.nir: the file is damaged: .* status 3\. Write it"):
        learn.from_nir(path)


def test_files_are_tested_with_the_paths_of_this_process(tmp_path, monkeypatch):
    (tmp_path / "nir.py").write_text("import os\ndef read(*_, **options): os._exit(5)\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "x.nir"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="status 5"):
        learn.from_nir(path)


@pytest.mark.parametrize("lacks", ["nir", "interpreter"])
def test_files_that_cannot_be_tested_are_read(tmp_path, monkeypatch, lacks):
    if lacks == "interpreter":
        monkeypatch.setattr(sys, "executable", "")
    else:
        (tmp_path / "nir.py").write_text("raise SystemExit(3)\n")
        monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "x.nir"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="this is not a NIR graph"):
        learn.from_nir(path)


def test_a_mutated_file_does_not_end_the_process():
    path = SHARED / "cases" / "attacked" / "nir" / "segv.nir"
    if not path.exists():
        pytest.skip("no folder of published cases")
    with pytest.raises(ValueError, match="the file is damaged|is not a NIR graph"):
        learn.from_nir(path)
