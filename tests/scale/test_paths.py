"""Paths over a mesh: the same bits as on one device."""

import re

import jax
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import advance, driver, rate, tile
from snpjax.check import halts
from snpjax.scale.mesh import PATHS
from snpjax.testing import systems
from snpjax_formats import CSR, ELL, Compressed, Dense, SlicedELL
from tests.support.helpers import many, slow
from tests.support.meshes import assert_same_trajectory, generator, mesh_of


SAVES = (snp.SAVE_ALL, snp.SAVE_OUTPUTS, snp.SAVE_FINAL, snp.Save(every=3))
KEY = jr.key(3)


def both(model, num, **options):
    """A run without and with a mesh of that many devices."""
    options = {"throw": False, "max_steps": 24, **options}
    expected = snp.run(model, **options)
    found = snp.run(model, mesh=mesh_of(num, PATHS), **options)
    assert_same_trajectory(found, expected)
    return found


@pytest.mark.parametrize("save", SAVES, ids=repr)
def test_a_mesh_changes_nothing(save):
    both(generator(), 2, paths=5, choice=snp.UniformChoice(KEY), save=save)


@pytest.mark.slow
@pytest.mark.parametrize("paths", [1, 37])
def test_any_number_of_devices(paths):
    for num in (1, 2, 4):
        both(generator(), num, paths=paths, choice=snp.UniformChoice(KEY), save=snp.SAVE_ALL)


@pytest.mark.slow
@given(systems(), st.sampled_from([2, 4]), st.integers(1, 11), st.sampled_from(SAVES))
@settings(max_examples=many(40))
def test_systems_run_alike_on_a_mesh(system, num, paths, save):
    both(system, num, paths=paths, choice=snp.UniformChoice(KEY), save=save)


@pytest.mark.parametrize(
    "layout",
    [CSR, *slow(SlicedELL, Compressed, Dense)],
)
def test_every_layout_and_long_histories(layout, monkeypatch):
    monkeypatch.setattr(driver, "_MAX_CHUNK_ROWS", 8)
    options = {"choice": snp.UniformChoice(KEY), "save": snp.Save(every=3)}
    both(generator(), 2, paths=5, layout=layout, **options)


def test_tiles_and_devices(monkeypatch):
    monkeypatch.setattr(driver, "_LEAST_TILE", 8)
    monkeypatch.setattr(driver, "_TILE_BYTES", 1)
    both(generator(), 2, paths=21, choice=snp.UniformChoice(KEY), save=snp.SAVE_ALL)


def test_a_budget_is_that_of_all_devices():
    save = snp.Save(budget=2000)
    options = {"paths": 5, "max_steps": 64, "choice": snp.UniformChoice(KEY), "save": save}
    with pytest.warns(snp.HistoryDropped):
        expected = snp.run(generator(), **options)
    with pytest.warns(snp.HistoryDropped):
        found = snp.run(generator(), mesh=mesh_of(2, PATHS), **options)
    assert_same_trajectory(found, expected)


def test_overflow_in_one_shard():
    source = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a^3 -> a^3"]), snp.Neuron("y", 0, ["a -> lambda"])], [("x", "y")]
    )
    spikes = np.zeros((2, 6), np.int64)
    spikes[0] = 3
    spikes[1, 4] = 2**31 - 2
    found = both(source, 2, paths=6, initial=spikes, save=snp.SAVE_ALL)
    assert snp.RESULTS[found.trajectory.of_path(4).result].startswith("A neuron holds more")
    assert found.halted.tolist() == [True] * 4 + [False] + [True]
    with pytest.raises(snp.RunFailed, match="path 4"):
        snp.run(source, paths=6, initial=spikes, mesh=mesh_of(2, PATHS), save=snp.SAVE_ALL)


@given(st.data())
@settings(max_examples=many(24))
def test_inputs_and_starts_of_each_path(data):
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a -> a; 1", "a^2 -> a"]), snp.Neuron("y", 1, ["a+/a -> a"])],
        [("x", "y")],
        input={"x": ()},
        output="y",
    )
    paths = 5
    counts = st.lists(st.integers(0, 2), min_size=5 * paths, max_size=5 * paths)
    trains = np.reshape(data.draw(counts), (5, 1, paths))
    starts = np.reshape(data.draw(counts)[: 2 * paths], (2, paths))
    both(system, 2, paths=paths, inputs=trains, initial=starts, save=snp.SAVE_ALL)


def test_given_choices_of_each_path():
    rules = np.zeros((6, 3, 5), np.int32)
    rules[0, 0] = [0, 1, 0, 1, 0]
    choice = snp.GivenChoices(rules)
    both(generator(), 2, paths=5, choice=choice, save=snp.SAVE_ALL)


@pytest.mark.slow
def test_a_system_that_outgrows_its_capacity():
    """Paths divide at random, so that some outgrow it earlier than others, and some never."""
    rules = [snp.DivisionRule("a", "x", "x"), "a -> a", "a -> a; 2"]
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("back", 0, ["a -> a"]),
            snp.Neuron("x", 1, rules),
            snp.Neuron("sink", 0, ["a -> lambda"]),
        ],
        [("clock", "back"), ("back", "clock"), ("back", "x"), ("x", "sink")],
    )
    options = {"choice": snp.UniformChoice(KEY), "max_steps": 9, "save": snp.SAVE_ALL}
    options |= {"paths": 6, "capacity": snp.Capacity(neurons=6, synapses=12)}
    expected = snp.run(system, **options)
    found = snp.run(system, mesh=mesh_of(4, PATHS), **options)
    sizes = set()
    for one, other in zip(found, expected, strict=True):  # padding tells when there was more room
        assert one.steps == other.steps and one.configurations.shape == other.configurations.shape
        assert one.configurations.tolist() == other.configurations.tolist()
        assert one.emissions.tolist() == other.emissions.tolist()
        for row in range(one.steps + 1):
            assert one.network(row) == other.network(row)
        sizes.add(len(one.network().labels))
    assert min(sizes) <= 6 < max(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("num, layout", [(2, ELL), (4, CSR)])
def test_rate_networks(num, layout):
    """Floats, which must not depend on how many paths a device has."""
    size, paths = 37, 11
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.4)
    network = rate.RateNetwork(
        [rate.RatePopulation("p", size, rate.leaky(jax.numpy.tanh))],
        [rate.RateProjection("p", "p", weights, layout=layout)],
    )
    state = snp.lower(network).machine.init()
    state = jax.tree.map(lambda x: np.repeat(x[..., None], paths, axis=-1), state)
    starts = {"p": {"r": rng.normal(size=(size, paths)).astype(np.float32)}}
    state = state._replace(variables=starts)
    both(network, num, initial=state, paths=paths, max_steps=9)


def test_estimates():
    options = {"key": KEY, "max_steps": 12, "paths": 61}
    expected = snp.estimate(generator(), halts(), **options)
    assert 0 < expected.undecided < 61
    assert snp.estimate(generator(), halts(), mesh=mesh_of(2, PATHS), **options) == expected


def compiled_step(mesh):
    """The compiled loop of a run over a mesh."""
    found = []
    real = tile.advance_on_devices

    def spy(*args, **kwargs):
        found.append(real.lower(*args, **kwargs).compile().as_text())
        return real(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile, "advance_on_devices", spy)
        choice = snp.UniformChoice(KEY)
        snp.run(generator(), paths=5, choice=choice, max_steps=24, mesh=mesh)
    return found[0]


COLLECTIVE = re.compile(r"all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter")


def test_no_collective_in_a_step():
    assert not COLLECTIVE.search(compiled_step(mesh_of(2, PATHS)))


@pytest.mark.slow
def test_memory_of_a_device_is_its_share():
    """What a device has of a run of many paths is a quarter of what one alone has."""
    options = {"choice": snp.UniformChoice(KEY), "paths": 4096, "max_steps": 16}

    def nbytes(mesh):
        seen = []
        real = advance.advance_on_devices if mesh is not None else advance.advance_all

        def spy(*args, **kwargs):
            jitted = jax.jit(real, static_argnames=advance.STATIC) if mesh is None else real
            stats = jitted.lower(*args, **kwargs).compile().memory_analysis()
            seen.append(
                stats.argument_size_in_bytes + stats.temp_size_in_bytes + stats.output_size_in_bytes
            )
            return real(*args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tile, "advance" if mesh is None else "advance_on_devices", spy)
            snp.run(generator(), mesh=mesh, **options)
        return seen[0]

    assert nbytes(mesh_of(4, PATHS)) <= 1.1 * nbytes(None) / 4


def test_wrong_meshes_are_refused():
    with pytest.raises(ValueError, match="`mesh` has the axis `path`"):
        snp.run(generator(), paths=4, mesh=jax.make_mesh((2,), ("path",)))
    with pytest.raises(TypeError, match="`mesh` is 4"):
        snp.run(generator(), paths=4, mesh=4)
    with pytest.raises(ValueError, match="a run of one path"):
        snp.run(generator(), mesh=mesh_of(2, PATHS))


def test_a_mesh_of_one_device_is_where_the_run_is():
    device = jax.devices()[2]
    mesh = jax.make_mesh((1,), (PATHS,), devices=[device])
    places = set()

    def progress(*_):
        places.update(str(x.device) for x in jax.live_arrays())

    snp.run(generator(), paths=300, max_steps=300, mesh=mesh, progress=progress)
    assert str(device) in places
