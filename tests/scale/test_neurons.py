"""Runs of one system whose neurons are split: what `run` gives is what one device gives."""

from pathlib import Path

import jax
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.testing import systems
from snpjax_formats import CSR, ELL, BitGather, Compressed, Hybrid, SlicedELL
from tests.support.helpers import many
from tests.support.meshes import generator, population


KEY = jr.key(5)
SLOW = pytest.mark.slow
MESHES = {
    (1,): ("neurons",),
    (2,): ("neurons",),
    (4,): ("neurons",),
    (2, 2): ("paths", "neurons"),
    (4, 1): ("paths", "neurons"),
}


def mesh_of(shape):
    devices = jax.devices()[: int(np.prod(shape))]
    return jax.make_mesh(shape, MESHES[shape], devices=devices)


def same(found, expected):
    """All that users can ask two solutions for."""
    assert found.result == expected.result if found.trajectory.steps.ndim == 0 else True
    for name in ("steps", "spikes", "timers", "pending"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    if expected.saved.every is not None:
        for name in ("configurations", "timer_history", "pending_history"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    if expected.saved.details:
        assert np.array_equal(found.rules, expected.rules)
        assert np.array_equal(found.emissions, expected.emissions)
    if expected.saved.outputs:
        assert np.array_equal(found.spike_trains, expected.spike_trains)
    assert found.failure == expected.failure


def both(system, shape, **options):
    options = {"max_steps": 20, "throw": False, "save": snp.SAVE_ALL, **options}
    found = snp.run(system, mesh=mesh_of(shape), **options)
    same(found, snp.run(system, **options))
    return found


@pytest.mark.parametrize(
    "shape, paths",
    [
        *(((2,), None), ((2, 2), 5)),
        *(pytest.param(*x, marks=SLOW) for x in (((1,), None), ((4,), 5), ((4, 1), 5))),
    ],
)
def test_a_mesh_changes_nothing(shape, paths):
    both(generator(), shape, paths=paths, choice=snp.UniformChoice(KEY))


@SLOW
@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_other_histories(shape):
    both(generator(), shape, paths=5, save=snp.Save(every=3, details=False))


@SLOW
@given(systems(), st.sampled_from([(2,), (4,)]))
@settings(max_examples=many(24))
def test_systems(system, shape):
    both(system, shape, choice=snp.UniformChoice(KEY))


def ring(size=300):
    """Every neuron fires now and then; those of a part at the same time as those of another."""
    rules = ["a^2/a -> a; 1", "a -> a"]
    neurons = [snp.Neuron(f"n{i}", i % 3, rules) for i in range(size)]
    synapses = [(f"n{i}", f"n{(i * k + 7) % size}") for i in range(size) for k in (1, 5)]
    return snp.SpikingSystem(neurons, set(synapses), output="n17")


@pytest.mark.parametrize(
    "layout",
    [
        *(ELL, BitGather),
        *(pytest.param(x, marks=SLOW) for x in (SlicedELL, Hybrid, CSR, Compressed)),
    ],
)
def test_layouts(layout):
    system = ring()
    if layout is BitGather:
        neurons = [snp.Neuron(x.name, x.spikes, ["a+/a -> a"]) for x in system.neurons]
        system = snp.SpikingSystem(neurons, system.synapses, output="n17")
    both(system, (2,), layout=layout, choice=snp.UniformChoice(KEY))


def test_populations_and_their_continuation():
    system, spikes = population(), np.arange(700) % 5
    whole = both(system, (2,), initial=spikes, choice=snp.UniformChoice(KEY))
    options = {"choice": snp.UniformChoice(KEY), "save": snp.SAVE_ALL, "mesh": mesh_of((2,))}
    half = snp.run(system, initial=spikes, max_steps=9, **options)
    rest = snp.run(system, initial=half.state, max_steps=11, **options)
    assert np.array_equal(rest.configurations, whole.configurations[9:])


def test_overflow_in_one_part():
    system = ring()
    spikes = np.ones(300, np.int64)
    spikes[250] = 2**31 - 1
    found = both(system, (2,), initial=spikes, layout=ELL, choice=snp.UniformChoice(KEY))
    assert "n250" in found.failure


@pytest.mark.parametrize("shape", [(4,), pytest.param((2, 2), marks=SLOW)])
def test_inputs(shape):
    system = snp.SpikingSystem(
        [snp.Neuron(f"n{i}", 0, ["a+/a -> a"]) for i in range(200)],
        [(f"n{i}", f"n{i + 1}") for i in range(199)],
        input={"n150": (), "n3": ()},
        output="n199",
    )
    trains = np.asarray([[1, 0], [2, 1], [0, 0], [1, 1]])
    if shape == (4,):
        both(system, shape, inputs=trains)
    else:
        both(system, shape, inputs=np.stack([trains, trains[::-1], trains], axis=2), paths=3)


def test_what_cannot_be_split_is_refused():
    with pytest.raises(TypeError, match="Its neurons cannot be split"):
        net = snp.read_net(Path(__file__).parents[2] / "examples" / "half.lsn")
        snp.run(net, mesh=mesh_of((2,)))
    with pytest.raises(ValueError, match="cannot be partitioned"):
        rules = [snp.DivisionRule("a", "x", "x")]
        snp.run(snp.SpikingSystem([snp.Neuron("x", 1, rules)]), mesh=mesh_of((2,)))
