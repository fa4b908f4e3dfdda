"""One system over several devices: the result is that of one device, bit for bit."""

import re
import tracemalloc
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from jax.sharding import Mesh, PartitionSpec

import snpjax as snp
from snpjax._tiered import tiered
from snpjax.choice import NO_RULE, knows_numbers
from snpjax.results import has_failed
from snpjax.simulate import Simulation
from snpjax.sleptsov import Arcs
from snpjax.spiking import Compatibility, Transition
from snpjax.spiking.step import exchange
from snpjax.spiking.step.partitioned import PartitionedMachine
from snpjax.testing import systems
from snpjax_formats import (
    CSC,
    CSR,
    ELL,
    BitDense,
    BitGather,
    Compressed,
    Dense,
    Float32Dense,
    Hybrid,
    Interval,
    SlicedELL,
    Sum,
    graphs,
)
from tests.support.helpers import quietly, slow, with_ballast


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


def steps_of(machine, state, choice, path):
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


run = jax.jit(steps_of)
#: The steps on one device, which are few: they are not compiled.
evaluated = tiered()(steps_of)


def simulated(machine, choice, paths=None):
    """The end of a run, and what `observe` makes of it; of the paths 0, 1, ... or of one."""
    state, path = machine.init(), jnp.zeros((), jnp.uint32)
    if paths is not None:
        state = jax.tree.map(lambda x: jnp.broadcast_to(x[..., None], (*x.shape, paths)), state)
        path = jnp.arange(paths, dtype=jnp.uint32)
    call = run if isinstance(machine, PartitionedMachine) else evaluated
    return jax.tree.map(np.asarray, call(machine, state, choice, path))


def assert_same(one, many, size=NEURONS):
    """Two ends of runs, but for padding neurons."""
    for name in ("spikes", "timers", "pending"):
        x, y = getattr(one.state, name), getattr(many.state, name)
        np.testing.assert_array_equal(x[:size], y[:size], err_msg=name)
    for x, y in ((one.state.step, many.state.step), (one.steps, many.steps)):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(one.result._value, many.result._value)
    np.testing.assert_array_equal(one.state.status._value, many.state.status._value)
    failed = one.state.status._value != snp.RESULTS.halted._value
    np.testing.assert_array_equal(one.state.culprit * failed, many.state.culprit * failed)
    np.testing.assert_array_equal(one.carry[0], many.carry[0])
    np.testing.assert_array_equal(one.carry[1][:size], many.carry[1][:size])


def compared(system, choice, mesh, layout=ELL, paths=None):
    # The numbers of given choices are those of the system only where no rules were merged.
    lower = partial(snp.lower, system, layout=layout, faithful=knows_numbers(choice))
    one, many = lower(), lower(mesh=mesh)
    for name in ("safe_steps", "is_numbered", "alternatives", "widest"):
        assert getattr(one, name) == getattr(many, name)
    end = simulated(one.machine, choice, paths)
    assert_same(end, simulated(many.machine, choice, paths))
    return end


def busy(*, rules=("a^2 -> a", "a -> a"), **options):
    """A system in which every neuron fires now and then."""
    neurons = [snp.Neuron(f"{i}", i % 3, rules) for i in range(NEURONS)]
    arcs = {(i, (k * i + k // 2) % NEURONS) for i in range(NEURONS) for k in (5, 7)}
    arcs = [(f"{i}", f"{j}") for i, j in sorted(arcs) if i != j]
    return quietly(snp.SpikingSystem, neurons, arcs, output=["3", "249"], **options)


@pytest.mark.parametrize("layout", [ELL, Dense, *slow(SlicedELL, Hybrid, CSR, Compressed)])
@settings(max_examples=8)
@given(spread_systems)
def test_layouts(layout, system):
    compared(system, snp.FirstChoice(), mesh_of(4), layout)


@pytest.mark.parametrize("layout", [BitGather, *slow(BitDense, Float32Dense)])
def test_layouts_of_bits(layout):
    """Emissions of at most one spike travel as bits."""
    end = compared(busy(), snp.UniformChoice(jr.key(3)), mesh_of(4), layout)
    assert end.carry[0].any() and end.state.step == STEPS


@pytest.mark.parametrize("mesh", [(2, 2), *slow((1,), (2,), (4,))])
@settings(max_examples=8)
@given(spread_systems, st.integers(0, 2**32 - 1))
def test_meshes(mesh, system, seed):
    paths = mesh[1:] and 6
    choice = snp.UniformChoice(jr.key(seed))
    compared(system, choice, mesh_of(*mesh[::-1]), paths=paths or None)


@pytest.mark.parametrize("is_weighted", [True, *slow(False)])
def test_choices_among_several_rules(is_weighted, key):
    rules = ["a^2 -> a", "a^2 -> a;1", "a^2/a -> a", "a -> a"]
    logits = jr.normal(key, (3, NEURONS - 9))
    choice = snp.WeightedChoice(logits, key) if is_weighted else snp.UniformChoice(key)
    compared(busy(rules=rules), choice, mesh_of(2, 2), paths=4)


def forgetful():
    """A neuron whose rules are one family for other choices: the second one applies."""
    neurons = [snp.Neuron("x", 2, ["a -> lambda", "a^2 -> lambda"])]
    return spread(snp.SpikingSystem(neurons, []), range(8))


@settings(max_examples=12)
@given(spread_systems, st.integers(0, 2**32 - 1), st.integers(0, NEURONS), st.booleans())
@example(forgetful(), 0, 0, True)
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


@pytest.mark.parametrize(
    "kind, layout",
    [
        pytest.param(kind, layout, marks=[] if kind == default else pytest.mark.slow)
        for layout, default in (("auto", "structured"), (ELL, "listed"))
        for kind in PROJECTIONS
    ],
)
def test_populations(kind, layout, monkeypatch):
    monkeypatch.setattr(graphs, "_BLOCK", 16)
    system = populations(PROJECTIONS[kind])
    end = compared(system, snp.UniformChoice(jr.key(3)), mesh_of(4), layout)
    assert end.carry[0].any()


def test_overflow_in_some_parts():
    """The first neuron that overflows is named, in whatever part it is; all stop at that step."""
    for full in ([70], [200, 130], [64, 191]):
        neurons = list(busy().neurons)
        for place in full:
            neurons[place] = snp.Neuron(f"{place}", 2**31 - 2, [])
        system = quietly(snp.SpikingSystem, neurons, busy().synapses, output=["3"])
        end = compared(system, snp.UniformChoice(jr.key(0)), mesh_of(4))
        assert end.state.culprit in full and 0 < end.state.step < STEPS


def test_counts_of_64_bits():
    neurons = [snp.Neuron(n.name, n.spikes + 2**40, n.rules) for n in busy().neurons]
    rules = ["a^2/a -> a^70000", "a(a)*/a -> a"]
    neurons = [snp.Neuron(n.name, n.spikes, rules) for n in neurons]
    system = quietly(snp.SpikingSystem, neurons, busy().synapses, output=["3"])
    with jax.enable_x64(True):
        end = compared(system, snp.UniformChoice(jr.key(0)), mesh_of(4))
    assert end.state.spikes.dtype == np.int64 and end.carry[0].any()


def test_halting():
    """What happens in one part only keeps all others going: spikes, a closed neuron, or input."""
    chain = [snp.Neuron(f"{i}", 0, ["a -> a;2"]) for i in range(NEURONS)]
    arcs = [("200", "10"), ("10", "130")]
    for options in ({}, {"input": {"70": [0] * 7 + [1]}}):
        neurons = [snp.Neuron(n.name, int(n.name == "200"), n.rules) for n in chain]
        system = quietly(snp.SpikingSystem, neurons, arcs, output=["130", "70"], **options)
        end = compared(system, snp.FirstChoice(), mesh_of(4))
        assert end.steps == (11 if options else 9)


VARIANTS = {
    "anti": busy(
        rules=[snp.Rule("a", 1, 1, 0, -1), snp.Rule("a^2", 2, 1)],
        signed=True,
        variant=snp.AntiSpikes(),
    ),
    "exhaustive": busy(rules=["a(a)* / a -> a"], variant=snp.Exhaustive()),
    "reopened": busy(
        rules=["a^2/a -> a;2", "a -> a"], compatibility=Compatibility(early_reopen="accumulate")
    ),
}

RULES = ["a^2/a -> a;2", "a(a)*/a -> a"]
for name, options in {
    "repeated": {"repeats_emissions": True, "early_reopen": "accumulate"},
    "closed": {"closed_receives": True},
    "clamped": {"unchecked_consumption": "clamp"},
}.items():
    VARIANTS[name] = busy(rules=RULES, compatibility=Compatibility(**options))


@pytest.mark.parametrize(
    "kind", ["anti", "repeated", *slow("exhaustive", "reopened", "closed", "clamped")]
)
@pytest.mark.parametrize("closed", [0, 64])
def test_variants(kind, closed):
    """Of all neurons the first one of a part is the one that closes, or one of another part."""
    system, choice = VARIANTS[kind], snp.UniformChoice(jr.key(0))
    neurons = list(system.neurons)
    neurons[64 - closed] = snp.Neuron(f"{64 - closed}", 0)
    if kind not in ("anti", "exhaustive"):
        neurons[closed] = snp.Neuron(f"{closed}", 3, [snp.Rule("a(a)*", 1, 1, 3)])
    end = compared(quietly(system.replace, neurons=neurons), choice, mesh_of(4))
    assert end.state.step > 3


def test_lists_of_what_fires(monkeypatch):
    """Where few fire, the numbers of these are exchanged; where more do, everything is. No result
    tells which."""
    monkeypatch.setattr(exchange, "_LEAST_SAVED", -(2**30))
    monkeypatch.setattr(exchange, "_LISTED", 8)
    run.clear_cache()
    for rules in (["a^2 -> a", "a -> a"], ["a^2 -> a^2", "a -> a"]):
        system = busy(rules=rules)
        few = [
            snp.Neuron(n.name, n.spikes * (i % 17 == 3), n.rules)
            for i, n in enumerate(system.neurons)
        ]
        system = quietly(snp.SpikingSystem, few, system.synapses, output=["3", "88"])
        for paths in (None, 3) if rules[0] == "a^2 -> a" else (None,):
            compared(system, snp.UniformChoice(jr.key(2)), mesh_of(4), paths=paths)
        many = snp.lower(system, layout=ELL, mesh=mesh_of(4)).machine
        assert many.program.exchange.may_list(64)
    run.clear_cache()


def compiled(machine, choice):
    """Of one device: a program of a run, with all that it needs."""
    state = machine.placed_init() if isinstance(machine, PartitionedMachine) else machine.init()
    return run.lower(machine, state, choice, jnp.zeros((), jnp.uint32)).compile()


def nbytes_of(program):
    sizes = program.memory_analysis()
    arrays = sizes.argument_size_in_bytes + sizes.output_size_in_bytes
    return arrays + sizes.temp_size_in_bytes - sizes.alias_size_in_bytes


def large(size):
    population = snp.Population("x", size, np.arange(size) % 3, ["a(a)*/a -> a", "a^2 -> a;1"])
    graph = graphs.RandomInDegree(32, 5)
    return snp.PopulationSystem([population], [snp.Projection("x", "x", graph)], output=["x[3]"])


def test_bytes_on_four_devices():
    """A device needs a quarter of what one alone does, and what it receives is as planned."""
    system = large(40_000)
    one = snp.lower(system, layout=ELL).machine
    many = snp.lower(system, layout=ELL, mesh=mesh_of(4)).machine
    choice = snp.UniformChoice(jr.key(0))
    assert many.program.type_of is not None  # rules are by type
    assert_same(simulated(one, choice), simulated(many, choice), 40_000)
    program = compiled(many, choice)
    assert nbytes_of(program) <= 1.1 * nbytes_of(compiled(one, choice)) / 4
    assert {len(x.addressable_shards) for x in jax.tree.leaves(many)} == {4}
    # In a step: all emissions once, and the first neuron that overflows.
    gathered = re.findall(r"= u32\[([\d,]+)\]\S* all-gather", program.as_text())
    received = sum(4 * np.prod([int(x) for x in shape.split(",")]) for shape in gathered)
    assert abs(received - many.nbytes_exchanged()["table"]) <= 0.1 * received
    assert many.nbytes_exchanged()["table"] <= 1.1 * 40_000 / 8
    assert "all-to-all" not in program.as_text()


def test_no_host_array_of_all_synapses():
    peaks = []
    for mesh in (mesh_of(1), mesh_of(4)):
        tracemalloc.start()
        snp.lower(large(20_000), layout=ELL, mesh=mesh)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 0.35 * peaks[0]


def test_initial_states_and_inputs():
    """Of runs that begin elsewhere, or that go on from another mesh."""
    system = quietly(busy, input={"70": [1], "200": [2]})
    one = snp.lower(system, layout=ELL)
    choice = snp.UniformChoice(jr.key(0))
    half = simulated(one.machine, choice).state
    trains = np.arange(24).reshape(6, 2, 2) % 3
    many = snp.lower(system, layout=ELL, mesh=mesh_of(2, 2))
    for initial, inputs in (
        ({"70": 3, "249": 1}, trains[..., 0]),
        (np.arange(2 * NEURONS).reshape(NEURONS, 2) % 4, None),
        (half, trains),
        (simulated(many.machine, choice).state, None),
    ):
        starts = [system.start(x.machine, initial, inputs) for x in (one, many)]
        paths = starts[0][1].step.shape
        path = jnp.arange(paths[0], dtype=jnp.uint32) if paths else jnp.zeros((), jnp.uint32)
        calls = evaluated, run
        ends = [
            jax.tree.map(np.asarray, call(*start, choice, path))
            for call, start in zip(calls, starts, strict=True)
        ]
        assert_same(*ends)


def test_what_cannot_be_partitioned():
    mesh, system = mesh_of(2), quietly(busy)
    plastic = snp.SpikingSystem([snp.Neuron("x", 1, ["a/a -> +1(x, {y})"]), snp.Neuron("y", 0)])
    growing = snp.SpikingSystem([snp.Neuron("x", 1, [snp.DivisionRule("a", "x", "x")])])
    refused = [
        (plastic, {}, "Synapses that rules change"),
        (growing, {}, "divides or buds cannot"),
        (system, {"layout": Transition(ELL)}, "`Transition` cannot"),
        (system, {"layout": CSC}, "CSC is a layout that cannot be partitioned"),
        (system, {"mesh": mesh_of(2, 2).devices}, "`mesh` is"),
        (system, {"mesh": Mesh(mesh.devices, ("paths",))}, "no axis `neurons`"),
        (
            snp.SleptsovNet([1], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([])),
            {},
            "takes no `mesh`",
        ),
    ]
    for model, options, message in refused:
        with pytest.raises((ValueError, TypeError), match=message):
            snp.lower(model, **{"mesh": mesh, **options})
    many = snp.lower(system, mesh=mesh).machine

    class Own(snp.AbstractChoice):
        def for_path(self, path):
            return self

        def select(self, applicable, step, state):
            return jnp.zeros(applicable.shape[1:], jnp.int32)

        def subset(self, candidates, chosen, choosers, step):
            return candidates

    with pytest.raises(TypeError, match="`Own` cannot choose for some of the neurons"):
        simulated(many, Own())


def of_device(tree):
    """The bytes of one device."""
    return sum(x.addressable_shards[0].data.nbytes for x in jax.tree.leaves(tree))


@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize(
    "system",
    [
        large(20_000),
        quietly(busy, rules=["a^2/a -> a^2;1", "a -> a"]),
        populations(PROJECTIONS["listed"]),
        populations([("x", "y", graphs.Intervals(np.arange(90), np.arange(90) + 4, "source"))]),
    ],
    ids=["large", "neurons", "listed", "intervals"],
)
def test_plans(system, devices):
    """What a device has and receives is known beforehand, to a tenth."""
    plan = system.planned(devices)
    lowered = snp.lower(system, layout="auto", mesh=mesh_of(devices))
    machine, state = lowered.machine, lowered.initial
    if not isinstance(machine.program.synapses, Sum | Interval):
        lowered = snp.lower(system, layout=ELL, mesh=mesh_of(devices))
        machine = lowered.machine
    found = of_device(machine)
    assert abs(plan.machine_nbytes - found) <= 0.1 * found + 300
    assert plan.state_nbytes == pytest.approx(of_device(state), abs=64)
    assert plan.exchanged == {"table": machine.nbytes_exchanged()["table"]}


def test_plans_of_large_systems():
    """10^7 neurons with 16 synapses each, of which none is listed for it."""
    population = snp.Population("x", 10**7, 0, ["a(a)*/a -> a"])
    system = snp.PopulationSystem(
        [population], [snp.Projection("x", "x", graphs.RandomInDegree(16, 0))]
    )
    plan = system.planned(8)
    assert plan.machine_nbytes == pytest.approx((16 + 2) * 4 * 10**7 / 8, rel=0.07)
    assert plan.exchanged["table"] == pytest.approx(10**7 / 8, rel=0.07)
