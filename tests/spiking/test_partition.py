"""One system over several devices: the result is that of one device, bit for bit."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.sharding import PartitionSpec

import snpjax as snp
from snpjax.choice import NO_RULE
from snpjax.results import has_failed
from snpjax.simulate import Simulation
from snpjax.spiking.step.partitioned import PartitionedMachine
from snpjax.testing import systems
from snpjax_formats import CSR, ELL, BitDense, BitGather, Float32Dense, Hybrid, SlicedELL, graphs
from snpjax_formats.parts import PARTITIONED
from tests.support.helpers import quietly, with_ballast


STEPS = 12
#: Neurons of all systems here: some in each of four parts.
NEURONS = 250


def mesh_of(parts, paths=None):
    shape = (parts,) if paths is None else (paths, parts)
    names = ("neurons",) if paths is None else ("paths", "neurons")
    devices = np.asarray(jax.devices()[: int(np.prod(shape))]).reshape(shape)
    return jax.sharding.Mesh(devices, names)


def spread(system, places):
    """The system with its neurons at these places among many that do nothing."""
    system = with_ballast(system)
    neurons = [snp.Neuron(f"idle {i}", 0) for i in range(NEURONS - len(system.neurons))]
    for place, neuron in sorted(zip(places, system.neurons, strict=False), key=lambda x: x[0]):
        neurons.insert(place, neuron)
    return quietly(
        snp.SpikingSystem,
        neurons,
        system.synapses,
        input=system.input,
        output=system.output,
        signed=system.signed,
    )


spread_systems = st.builds(
    spread,
    systems(max_neurons=6, signed=None),
    st.lists(st.integers(0, NEURONS - 1), min_size=8, max_size=8, unique=True),
)


def observe(carry, _, record):
    """Numbers that every output and every use of a rule changes, by its step."""
    outputs, rules = carry
    detail = record.detail
    used = rules * 5 + detail.rules.astype(rules.dtype) + 7 * detail.emissions
    new = outputs * 3 + record.output, used
    return jax.tree.map(lambda x, y: jnp.where(record.made[None], x, y), new, carry)


@jax.jit
def run(machine, state, choice, path):
    dtype, paths = state.spikes.dtype, state.step.shape
    carry = jnp.zeros((len(machine.program.outputs), *paths), dtype), jnp.zeros_like(state.spikes)
    simulate = partial(snp.simulate, max_steps=STEPS, observe=observe)
    if not isinstance(machine, PartitionedMachine):
        return simulate(machine, state, choice, carry=carry, path=path)
    split = machine.split_state(state)
    ends = Simulation(
        split, split.step, split.step, (PartitionSpec(None, *split.step), split.spikes)
    )
    return jax.shard_map(
        lambda machine, state, choice, carry, path: simulate(
            machine, state, choice, carry=carry, path=path
        ),
        mesh=machine.mesh,
        in_specs=(machine.split(), split, PartitionSpec(), ends.carry, split.step),
        out_specs=ends,
        check_vma=False,
    )(machine, state, choice, carry, path)


def simulated(machine, choice, paths=None):
    """The end of a run, and what `observe` makes of it; of the paths 0, 1, ... or of one."""
    state, path = machine.init(), jnp.zeros((), jnp.uint32)
    if paths is not None:
        state = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), state)
        path = jnp.arange(paths, dtype=jnp.uint32)
    return jax.tree.map(np.asarray, run(machine, state, choice, path))


def assert_same(one, many):
    """Two ends of runs, but for padding neurons."""
    for name in ("spikes", "timers", "pending"):
        x, y = getattr(one.state, name), getattr(many.state, name)
        np.testing.assert_array_equal(x[:NEURONS], y[:NEURONS], err_msg=name)
    for x, y in ((one.state.step, many.state.step), (one.steps, many.steps)):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(one.result._value, many.result._value)
    np.testing.assert_array_equal(one.state.status._value, many.state.status._value)
    failed = one.state.status._value != snp.RESULTS.halted._value
    np.testing.assert_array_equal(one.state.culprit * failed, many.state.culprit * failed)
    np.testing.assert_array_equal(one.carry[0], many.carry[0])
    np.testing.assert_array_equal(one.carry[1][:NEURONS], many.carry[1][:NEURONS])


def compared(system, choice, mesh, layout=ELL, paths=None):
    one = snp.lower(system, layout=layout).machine
    many = snp.lower(system, layout=layout, mesh=mesh).machine
    end = simulated(one, choice, paths)
    assert_same(end, simulated(many, choice, paths))
    return end


def busy(*, rules=("a^2 -> a", "a -> a"), **options):
    """A system in which every neuron fires now and then."""
    neurons = [snp.Neuron(f"{i}", i % 3, rules) for i in range(NEURONS)]
    arcs = {(i, (k * i + k // 2) % NEURONS) for i in range(NEURONS) for k in (5, 7)}
    arcs = [(f"{i}", f"{j}") for i, j in sorted(arcs) if i != j]
    return quietly(snp.SpikingSystem, neurons, arcs, output=["3", "249"], **options)


#: As many neurons as a part starts with have one source, one of them has many.
LAYOUTS = [layout for layout in PARTITIONED if layout not in (BitGather, BitDense, Float32Dense)]


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=8)
@given(spread_systems)
def test_layouts(layout, system):
    compared(system, snp.FirstChoice(), mesh_of(4), layout)


@pytest.mark.parametrize("layout", [BitGather, BitDense, Float32Dense, SlicedELL, Hybrid, CSR])
def test_layouts_of_bits(layout):
    """Emissions of at most one spike travel as bits."""
    end = compared(busy(), snp.UniformChoice(jr.key(3)), mesh_of(4), layout)
    assert end.carry[0].any() and end.state.step == STEPS


@pytest.mark.parametrize("mesh", [(1,), (2,), (4,), (2, 2)])
@settings(max_examples=8)
@given(spread_systems, st.integers(0, 2**32 - 1))
def test_meshes(mesh, system, seed):
    paths = mesh[1:] and 6
    choice = snp.UniformChoice(jr.key(seed))
    compared(system, choice, mesh_of(*mesh[::-1]), paths=paths or None)


def test_weighted_choices(key):
    rules = ["a^2 -> a", "a^2 -> a;1", "a^2/a -> a", "a -> a"]
    logits = jr.normal(key, (3, NEURONS - 9))
    for choice in (snp.WeightedChoice(logits, key), snp.UniformChoice(key)):
        compared(busy(rules=rules), choice, mesh_of(2, 2), paths=4)


@settings(max_examples=12)
@given(spread_systems, st.integers(0, 2**32 - 1), st.integers(0, NEURONS), st.booleans())
def test_given_choices(system, seed, culprit, is_valid):
    """Replays, and lists that are not valid from some neuron on, are accepted or refused alike."""
    drawn = snp.run(system, choice=snp.UniformChoice(jr.key(seed)), max_steps=STEPS, layout=ELL)
    rules = np.full((STEPS, NEURONS), NO_RULE)
    rules[: drawn.steps] = drawn.rules[: drawn.steps]
    if not is_valid:
        rules[STEPS // 3, culprit:] = 1
    end = compared(system, snp.GivenChoices(rules), mesh_of(4))
    assert is_valid <= (not has_failed(end.result))


def populations(graphs_of, *, produce=1):
    """Populations that lie across the borders of parts, and projections that mix them."""
    rules = [f"a(aa)* / a -> {'a' * produce}", "a^2 -> a;1"]
    some = [
        snp.Population("x", 90, np.arange(90) % 3, rules),
        snp.Population("y", 100, 1, ["a(a)* / a -> a"]),
        snp.Population("z", 60, np.arange(60) % 2, [snp.RuleTemplate("a", np.arange(60) % 2 + 1)]),
    ]
    projections = [snp.Projection(*ends, graph) for *ends, graph in graphs_of]
    return snp.PopulationSystem(some, projections, output=["z", "x[88]"], input={"y[3]": [1, 0, 4]})


PROJECTIONS = {
    "listed": [
        ("x", "y", graphs.RandomInDegree(3, 5)),
        ("y", "z", graphs.RandomPairs(0.05, 5, weight=2)),
        ("z", "x", graphs.Pairs([0, 59, 3], [89, 0, 2], [1, 3, 1])),
    ],
    "structured": [
        ("x", "x", graphs.AllToAll(self_edges=False)),
        ("x", "y", graphs.Intervals(np.arange(90), np.arange(90) + 4)),
        ("y", "y", graphs.OneToOne(2)),
        ("y", "z", graphs.Intervals(np.arange(60), np.arange(60) + 9, "target")),
        ("z", "y", graphs.Blocks([[1, 0], [2, 1]])),
    ],
    "procedural": [
        ("x", "y", graphs.Procedural(4, in_degree=3)),
        ("y", "z", graphs.Procedural(5, probability=0.1, weight=2)),
        ("z", "x", graphs.RandomInDegree(2, 1)),
    ],
}


@pytest.mark.parametrize("layout", ["auto", ELL])
@pytest.mark.parametrize("kind", PROJECTIONS)
def test_populations(kind, layout, monkeypatch):
    monkeypatch.setattr(graphs, "_BLOCK", 16)
    system = populations(PROJECTIONS[kind])
    end = compared(system, snp.UniformChoice(jr.key(3)), mesh_of(4), layout)
    assert end.carry[0].any()
