"""Simulations, searches and fits that go on from their checkpoints, to the same bits."""

from typing import Any

import jax.random as jr
import pytest

import snpjax as snp
from snpjax import learn, proliferation as pr
from snpjax.scale import CheckpointError
from snpjax.scale.mesh import PATHS
from tests.support import sharing
from tests.support.long_calls import SHARED, Interrupted, fingerprint
from tests.support.meshes import mesh_of


pytestmark = pytest.mark.usefixtures("clock_of_calls")


def saved_in(folder):
    """Every second chunk of work is followed by a checkpoint."""
    return snp.Checkpoint(folder, every_seconds=2)


def interrupted(call, counted, after, mesh, **options):
    """Make a call that is interrupted when it has made some calls to the device; how many it made
    is set back."""
    counted.num, counted.last = 0, after
    with pytest.raises(Interrupted):
        call(mesh, **options)
    counted.num, counted.last = 0, None


SLOW = "cells of each type", "a calibration", "an evolution"


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in SHARED]
)
def test_an_interrupted_call_is_the_call(name, tmp_path, counted):
    call = SHARED[name]()
    expected = fingerprint(call(None))
    counted.num = 0
    assert fingerprint(call(None, checkpoint=saved_in(tmp_path / "whole"))) == expected
    total, tmp_path = counted.num, tmp_path / "parts"
    assert total > 5, total
    for after in (total // 2 + 1, 2):
        interrupted(call, counted, after, None, checkpoint=saved_in(tmp_path))
    found = call(None, checkpoint=saved_in(tmp_path))
    assert fingerprint(found) == expected and counted.num <= total - total // 2
    counted.num = counted.last = 0
    assert fingerprint(call(None, checkpoint=saved_in(tmp_path))) == expected  # at once


@pytest.mark.slow
def test_a_simulation_goes_on_on_other_devices(tmp_path, counted):
    call = SHARED["cells"]()
    expected, total = call(None), counted.num
    meshes = mesh_of(4, PATHS), None, mesh_of(2, PATHS), mesh_of(2, PATHS)
    for mesh in meshes:
        interrupted(call, counted, 4, mesh, checkpoint=saved_in(tmp_path))
    assert call(mesh_of(4, PATHS), checkpoint=saved_in(tmp_path)) == expected
    assert counted.num < total


def test_another_simulation_is_refused(tmp_path):
    saved = saved_in(tmp_path)
    pr.simulate(sharing.population(), jr.key(1), checkpoint=saved)
    given: dict[str, Any] = {"model": sharing.population(), "key": jr.key(1)}
    changes: list[tuple[dict[str, Any], str]] = [
        ({"key": jr.key(2)}, "another key in `key`"),
        ({"model": sharing.population(67)}, "another `model`"),
        ({"runs": 1}, "`runs=None` instead of 1"),
        ({"by_type": True}, "`by_type=False` instead of True"),
    ]
    for changed, what in changes:
        with pytest.raises(CheckpointError, match=what):
            pr.simulate(**{**given, **changed}, checkpoint=saved)


@pytest.mark.slow
def test_searches_go_on_on_other_devices(tmp_path, counted):
    expected, total = sharing.calibrated(None), counted.num
    for mesh in (mesh_of(4, PATHS), None):
        interrupted(sharing.calibrated, counted, 30, mesh, checkpoint=saved_in(tmp_path))
    assert sharing.calibrated(mesh_of(2, PATHS), checkpoint=saved_in(tmp_path)) == expected
    assert counted.num < total - 50


def test_another_calibration_is_refused(tmp_path):
    saved: dict[str, Any] = {"checkpoint": snp.Checkpoint(tmp_path)}
    sharing.calibrated(None, **saved)
    for changed, what in (
        ({"seed": 1}, "`seed=0` instead of 1"),
        ({"starts": 1}, "`starts=3` instead of 1"),
        ({"objective": pr.Objective.MULTINOMIAL}, "another `objective`"),
    ):
        with pytest.raises(CheckpointError, match=what):
            sharing.calibrated(None, **changed, **saved)


@pytest.mark.slow
def test_an_evolution_goes_on_on_other_devices(tmp_path, counted):
    call = SHARED["an evolution"]()
    expected = call(None)
    for mesh in (mesh_of(2, PATHS), None):
        interrupted(call, counted, 3, mesh, checkpoint=saved_in(tmp_path))
    assert call(mesh_of(2, PATHS), checkpoint=saved_in(tmp_path)) == expected
    assert counted.num < 5


@pytest.mark.slow
def test_another_evolution_is_refused(tmp_path, monkeypatch):
    saved: dict[str, Any] = {"checkpoint": snp.Checkpoint(tmp_path)}
    sharing.evolved(None, **saved)
    for changed, what in (
        ({"generations": 4}, "`generations=3` instead of 4"),
        ({"mutations": 1.0}, "`mutations=2.0` instead of 1.0"),
    ):
        with pytest.raises(CheckpointError, match=what):
            sharing.evolved(None, **changed, **saved)
    monkeypatch.setattr(sharing, "fitness", lambda emitted: emitted.sum())
    with pytest.raises(CheckpointError, match="another `fitness`"):
        sharing.evolved(None, **saved)


@pytest.mark.slow
def test_a_training_goes_on_on_other_devices(tmp_path, counted):
    call = SHARED["a training"]()
    expected = call(None)
    for mesh in (mesh_of(2, PATHS), None):
        interrupted(call, counted, 3, mesh, checkpoint=saved_in(tmp_path))
    assert call(mesh_of(2, PATHS), checkpoint=saved_in(tmp_path)) == expected
    assert counted.num < 5


def test_a_training_that_fails_fails_again(tmp_path, counted):
    """The first epoch leaves out what is broken; the second one is made once more."""
    errors, calls = [], []
    for saved in ({}, *[{"checkpoint": snp.Checkpoint(tmp_path, every_seconds=0)}] * 2):
        counted.num = 0
        with pytest.raises(learn.NotFinite) as stop:
            sharing.trained(None, broken=19, epochs=3, **saved)
        errors.append(f"{stop.value}")
        calls.append(counted.num)
    assert len({*errors}) == 1 and calls == [2, 2, 1]


def test_another_training_is_refused(tmp_path, monkeypatch):
    saved: dict[str, Any] = {"checkpoint": snp.Checkpoint(tmp_path)}
    sharing.trained(None, **saved)
    for changed, what in (
        ({"epochs": 3}, "`epochs=2` instead of 3"),
        ({"parts": 2}, "`parts=4` instead of 2"),
        ({"broken": 3}, "another `data`"),
    ):
        with pytest.raises(CheckpointError, match=what):
            sharing.trained(None, **changed, **saved)
    monkeypatch.setattr(sharing, "lost", lambda network, x, y, key: x.sum())
    with pytest.raises(CheckpointError, match="another `loss`"):
        sharing.trained(None, **saved)
