"""Sums over paths that are not kept: against the paths themselves, and in plain Python."""

import math

import jax
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import numpy as jnp

import snpjax as snp
from snpjax import scale
from snpjax.scale import streams
from snpjax.scale.mesh import PATHS
from snpjax.scale.statistics import BLOCK, Bin, Sums, block_sums
from snpjax.testing import systems
from tests.support.helpers import many
from tests.support.meshes import assert_same, generator, mesh_of


KEY = jr.key(3)
OPTIONS = {"choice": snp.UniformChoice(KEY), "max_steps": 30}


def in_chunks(of, statistic, paths, chunk, mesh=None, progress=None):
    """A run whose devices advance that many paths at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_share", lambda *_: chunk)
        return snp.run(of, paths=paths, observe=statistic, mesh=mesh, progress=progress, **OPTIONS)


@pytest.mark.parametrize("num", [None, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_what_is_counted_is_what_the_paths_are(num):
    paths, most = 77, 6
    batch = snp.run(generator(), paths=paths, save=snp.SAVE_ALL, **OPTIONS)
    numbers = batch.intervals()
    numbers = np.minimum(numbers.compressed(), most + 1)
    mesh = None if num is None else mesh_of(num, PATHS)
    found = in_chunks(generator(), scale.ComputedNumbers(most), paths, 16, mesh)
    assert found.value.tolist() == np.bincount(numbers, minlength=most + 2).tolist()
    assert (found.paths, found.halted, found.failed) == (paths, batch.halted.sum(), 0)
    assert found.steps == batch.steps.sum()
    assert found.result == snp.RESULTS.max_steps_reached or batch.halted.all()

    spikes = scale.Distribution(lambda end: end.state.spikes[0], most=1)
    found = in_chunks(generator(), spikes, paths, 16, mesh)
    expected = np.bincount(np.minimum(batch.spikes[0], 2), minlength=3)
    assert found.value.tolist() == expected.tolist()


def test_progress_is_that_of_the_paths():
    told = []
    statistic = scale.ComputedNumbers(6)
    in_chunks(generator(), statistic, 77, 16, progress=lambda *numbers: told.append(numbers))
    assert sorted({done for _, done in told}) == list(range(0, 77, 16))
    assert all(0 < steps <= OPTIONS["max_steps"] for steps, _ in told)


class Emitted(scale.AbstractStatistic):
    """All spikes that leave the outputs, how often it is updated, and the mean of a float of every
    path."""

    def begin(self, state):
        return jnp.zeros_like(state.step), jnp.zeros_like(state.step)

    def update(self, carry, state, record):
        spikes, updates = carry
        return spikes + record.output.sum(axis=0).astype(spikes.dtype), updates + 1

    def of_path(self, end):
        spikes, updates = end.carry
        steps = (1 + end.steps).astype(jnp.float32)
        return {"spikes": spikes, "updates": updates, "share": spikes.astype(jnp.float32) / steps}

    def result(self, sums):
        return int(sums["spikes"]), int(sums["updates"]), float(sums["share"])


def test_a_statistic_of_ones_own():
    paths = 77
    batch = snp.run(generator(), paths=paths, **OPTIONS)
    spikes, updates, share = in_chunks(generator(), Emitted(), paths, 16).value
    counts = batch.counts()
    assert spikes == counts.sum() and updates == batch.steps.sum()
    assert math.isclose(share, (counts / (1 + batch.steps)).sum(), rel_tol=1e-6)


@pytest.mark.slow
@given(systems(), st.integers(1, 40))
@settings(max_examples=many(24))
def test_chunks_and_meshes_change_no_bit(system, paths):
    assert_same_sums(system, paths, (8, None), (1, None), (16, 2), (4, 4))


def test_chunks_and_a_mesh_change_no_bit():
    assert_same_sums(generator(), 23, (8, None), (16, 2))


def assert_same_sums(system, paths, *cases):
    """The bits of sums, some of floats, whatever the paths of a chunk and the devices."""
    statistic = scale.Total(lambda end: (end.state.spikes, 1 / (1 + end.steps.astype("float32"))))

    def sums(chunk, num=None):
        mesh = None if num is None else mesh_of(num, PATHS)
        try:
            return in_chunks(system, statistic, paths, chunk, mesh)
        except snp.RunFailed as error:
            return str(error)

    expected = sums(64)
    for case in cases:
        found = sums(*case)
        if isinstance(expected, str):
            assert found == expected, case
        else:
            assert_same(found.value, expected.value)
            assert found.steps == expected.steps and found.failure == expected.failure, case


WIDE = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(WIDE, min_size=1, max_size=40), st.sampled_from([1, 4, 64]))
@settings(max_examples=many(200))
def test_sums_of_integers_are_exact(numbers, block):
    """Where 32 bits would wrap."""
    room = -(-len(numbers) // 64) * 64
    x = np.zeros(room, np.int32)
    x[: len(numbers)] = numbers
    is_own = np.arange(room) < len(numbers)
    x[~is_own] = 7
    sums = Sums(block)
    some = {"all": x, "rows": np.stack([x, x]), "small": x.astype(np.int8), "truth": x > 0}
    some["bin"] = Bin(jnp.asarray(x) & 3, 3)
    sums.add(jax.device_get(block_sums(some, is_own, block)))
    found = sums.total()
    assert found["all"] == sum(numbers) and found["rows"].tolist() == [sum(numbers)] * 2
    assert found["small"] == sum(int(np.int32(n).astype(np.int8)) for n in numbers)
    assert found["truth"] == sum(n > 0 for n in numbers)
    assert found["bin"].tolist() == [sum(n & 3 == i for n in numbers) for i in range(3)]


def in_order(numbers):
    """The sum of floats as it is specified: neighbours first within blocks, which follow each
    other."""
    total = np.float64(0)
    for start in range(0, len(numbers), BLOCK):
        block = [np.float32(x) for x in numbers[start : start + BLOCK]]
        block += [np.float32(0)] * (BLOCK - len(block))
        while len(block) > 1:
            block = [block[i] + block[i + 1] for i in range(0, len(block), 2)]
        total += np.float64(block[0])
    return total


@pytest.mark.parametrize("chunk", [2, 64, 4096, 8192])
def test_sums_of_floats_have_one_order(chunk):
    numbers = jr.normal(jr.key(1), (16384 + 300,)) * 1e3
    room = -(-len(numbers) // 8192) * 8192
    x = np.pad(np.asarray(numbers), (0, room - len(numbers)), constant_values=np.nan)
    is_own = np.arange(room) < len(numbers)
    block = min(chunk, BLOCK)
    sums = Sums(block)
    summed = jax.jit(lambda x, own: block_sums(x, own, block))
    size = max(chunk, 2048)
    for start in range(0, room, size):
        some = slice(start, start + size)
        sums.add(np.asarray(summed(x[some], is_own[some])))
    assert sums.total() == in_order(np.asarray(numbers).tolist())


def test_failures_are_counted_and_the_first_is_named():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a^3 -> a^3"]), snp.Neuron("y", 0, ["a -> lambda"])], [("x", "y")]
    )
    starts = np.zeros((2, 9), np.int64)
    starts[0] = 3
    starts[1, [5, 7]] = 2**31 - 2
    for mesh in (None, mesh_of(2, PATHS)):
        options = {"paths": 9, "initial": starts, "observe": scale.Total(lambda end: end.steps)}
        found = snp.run(system, mesh=mesh, throw=False, **options)
        assert (found.failed, found.halted) == (2, 7)
        assert found.failure.startswith("path 5: A neuron holds more spikes")
        assert found.result == snp.RESULTS.spike_overflow
        with pytest.raises(snp.RunFailed, match="path 5"):
            snp.run(system, mesh=mesh, **options)


def test_wrong_statistics_are_refused():
    with pytest.raises(TypeError, match="`observe` is 3"):
        snp.run(generator(), paths=4, observe=3)
    with pytest.raises(ValueError, match="Give `paths=`"):
        snp.run(generator(), observe=scale.ComputedNumbers(3))
    with pytest.raises(ValueError, match="32 bits"):
        snp.run(generator(), paths=2**33, observe=scale.ComputedNumbers(3))
    with pytest.raises(ValueError, match="`SystemBatch`"):
        snp.run(snp.SystemBatch([generator()]), observe=scale.ComputedNumbers(3))
