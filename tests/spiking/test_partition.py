"""One system over several devices: the result is that of one device, bit for bit."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from hypothesis import strategies as st
from jax.sharding import PartitionSpec

import snpjax as snp
from snpjax.simulate import Simulation
from snpjax.spiking.step.partitioned import PartitionedMachine
from snpjax.testing import systems
from snpjax_formats import ELL
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
    detail, made = record.detail, record.made[None].astype(carry[0].dtype)
    rules = rules * 5 + made * (detail.rules.astype(rules.dtype) + 7 * detail.emissions)
    return outputs * 3 + record.output, rules


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


def test_thin():
    neurons = [snp.Neuron(f"{i}", i % 3, ["a^2 -> a", "a -> a"]) for i in range(NEURONS)]
    arcs = {(i, (7 * i + 1) % NEURONS) for i in range(NEURONS)}
    arcs |= {(i, (5 * i + 3) % NEURONS) for i in range(NEURONS)}
    arcs = [(f"{i}", f"{j}") for i, j in sorted(arcs) if i != j]
    system = snp.SpikingSystem(neurons, arcs, output=["3", "249"])
    one = snp.lower(system, layout=ELL).machine
    many = snp.lower(system, layout=ELL, mesh=mesh_of(4)).machine
    for choice in (snp.FirstChoice(), snp.UniformChoice(jr.key(3))):
        assert_same(simulated(one, choice), simulated(many, choice))
