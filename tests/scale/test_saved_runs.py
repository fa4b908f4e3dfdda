"""Runs that are interrupted and go on from their checkpoints, to the same bits."""

import math

import jax
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax.check.probability import statistical
from snpjax.scale.mesh import PATHS
from tests.support.long_calls import CALLS, CountedCalls, Interrupted, fingerprint, short_chunks
from tests.support.meshes import mesh_of, population


KEY = jr.key(3)


@pytest.fixture(autouse=True)
def _short_chunks():
    with short_chunks():
        yield


@pytest.fixture
def counted():
    calls = CountedCalls()
    with calls.counted():
        yield calls


def interrupted(call, counted, after, **options):
    """Make a call that is interrupted each time that it has made `after` calls to the device."""
    while True:
        counted.num, counted.last = 0, after
        try:
            return call(**options)
        except Interrupted:
            assert counted.num == after


@pytest.mark.parametrize("name", [name for name in CALLS if name != "an estimate"])
def test_an_interrupted_run_is_the_run(name, tmp_path, counted):
    call = CALLS[name]()
    expected = fingerprint(call())
    checkpoint = snp.Checkpoint(tmp_path, every_seconds=0)
    total = counted.num
    assert total > 3
    found = interrupted(call, counted, total // 3, checkpoint=checkpoint)
    assert fingerprint(found) == expected
    counted.num, counted.last = 0, 0
    assert fingerprint(call(checkpoint=checkpoint)) == expected  # at once


ON_MESHES = ("every third", "dividing", "systems", "sums", "inputs", "paths of a net")


@pytest.mark.parametrize("name", ON_MESHES)
@pytest.mark.parametrize("shares", [(None, 4), (4, 2), (2, None), (4, 3)], ids=repr)
def test_a_run_goes_on_on_another_mesh(name, shares, tmp_path, counted):
    """Each part of it has so many devices."""
    call = CALLS[name]()
    expected = call()
    checkpoint = snp.Checkpoint(tmp_path, every_seconds=0)
    meshes = [None if num is None else mesh_of(num, PATHS) for num in shares]
    counted.num = 0
    call(mesh=meshes[0])
    total = counted.num
    counted.num, counted.last = 0, 2 * total // 3
    with pytest.raises(Interrupted):
        call(checkpoint=checkpoint, mesh=meshes[0])
    counted.num, counted.last = 0, None
    found = call(checkpoint=checkpoint, mesh=meshes[1])
    assert counted.num > 0
    assert_alike(found, expected)
    counted.num, counted.last = 0, 0
    assert_alike(call(checkpoint=checkpoint), expected)


def assert_alike(found, expected):
    """The same to the bit, but for the capacity with which arrays are padded."""
    if not isinstance(expected, snp.SolutionBatch) or not expected.system.is_growing:
        assert fingerprint(found) == fingerprint(expected)
        return
    for one, other in zip(found, expected, strict=True):
        assert one.steps == other.steps and one.network() == other.network()
        for name in ("configurations", "rules", "emissions", "spike_trains"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def neurons(name):
    shape = {"neurons": 2, "paths": 2} if name == "both" else {"neurons": int(name)}
    devices = jax.devices()[: math.prod(shape.values())]
    return jax.make_mesh(tuple(shape.values()), tuple(shape), devices=devices)


@pytest.mark.parametrize("paths", [None, 3])
@pytest.mark.parametrize("meshes", ["2 4", "4 both", "both", "2"])
def test_neurons_go_on_on_other_devices(meshes, paths, tmp_path, counted):
    system = population()
    options = {"choice": snp.UniformChoice(KEY), "max_steps": 8, "save": snp.SAVE_ALL}
    options["paths"] = paths
    expected = snp.run(system, **options)
    checkpoint = snp.Checkpoint(tmp_path, every_seconds=0)
    first, *rest = [neurons(name) for name in meshes.split()]
    counted.num, counted.last = 0, 3
    with pytest.raises(Interrupted):
        snp.run(system, checkpoint=checkpoint, mesh=first, **options)
    counted.num, counted.last = 0, None
    mesh = rest[0] if rest else None
    found = snp.run(system, checkpoint=checkpoint, mesh=mesh, **options)
    assert counted.num < 8
    for name in ("configurations", "rules", "emissions", "spikes"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_an_interrupted_estimate_is_the_estimate(tmp_path, monkeypatch):
    """Interrupted between blocks of paths, which are 64 here."""
    monkeypatch.setattr(statistical, "_MAX_BLOCK", 64)
    call = CALLS["an estimate"]()
    expected = call()
    assert expected.paths > 128
    checkpoint = snp.Checkpoint(tmp_path, every_seconds=0)
    blocks = []
    real = statistical.run

    def run(*args, **kwargs):
        blocks.append(kwargs)
        if len(blocks) == 2:
            raise Interrupted
        return real(*args, **kwargs)

    monkeypatch.setattr(statistical, "run", run)
    with pytest.raises(Interrupted):
        call(checkpoint=checkpoint)
    assert call(checkpoint=checkpoint) == expected
    num = len(blocks)
    assert num == 1 + math.ceil(expected.paths / 64)
    assert call(checkpoint=checkpoint) == expected and len(blocks) == num
