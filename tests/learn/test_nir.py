"""NIR graphs as exact systems: against the equations of NIR, and there and back."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import learn
from tests.support.helpers import quietly


nir = pytest.importorskip("nir", reason="no nir (pip install '.[nir]')")


# ---- the equations, in plain NumPy ----


def pads_of(node, kernel):
    if isinstance(node.padding, str):
        if node.padding == "valid":
            return [(0, 0), (0, 0)]
        around = [d * (k - 1) for d, k in zip(np.broadcast_to(node.dilation, 2), kernel)]
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
    assert eqx.tree_equal(back, network)


# ---- graphs ----


def ends(shape, out_shape):
    return {
        "input": nir.Input({"input": np.asarray(shape)}),
        "output": nir.Output({"output": np.asarray(out_shape)}),
    }


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
    [("input", "affine"), ("affine", "if"), ("if", "back"), ("back", "if"), ("if", "output")],
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
    [
        ("input", "conv"),
        ("conv", "first"),
        ("first", "pool"),
        ("pool", "flatten"),
        ("flatten", "linear"),
        ("linear", "last"),
        ("last", "output"),
    ],
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
    [
        ("input", "linear"),
        ("linear", "v"),
        ("v", "fires"),
        ("fires", "minus"),
        ("minus", "v"),
        ("fires", "side"),
        ("side", "v"),
        ("fires", "output"),
    ],
)
LEAKY = nir.NIRGraph(
    {
        **ends((2,), (2,)),
        "affine": nir.Affine(np.asarray([[2.0, 1], [1, 3]]), np.asarray([1.0, 0])),
        "lif": a_neuron("LIF", (2,), least=3, gain=2),
        "count": nir.Linear(np.asarray([[1.0, 1], [2, -1]])),
        "sum": nir.I(np.ones(2)),
    },
    [
        ("input", "affine"),
        ("affine", "lif"),
        ("lif", "count"),
        ("count", "sum"),
        ("sum", "output"),
    ],
)


def random_train(steps, inputs, most=1, seed=0):
    return np.random.default_rng(seed).integers(0, most + 1, (steps, inputs)).astype(float)


@pytest.mark.parametrize("graph", [RECURRENT, IMAGES, SUBTRACTING, LEAKY])
def test_networks_are_the_equations_of_nir(graph):
    inputs = int(np.prod(graph.nodes["input"].input_type["input"]))
    check_semantics(graph, random_train(12, inputs))
    check_identity(graph)
