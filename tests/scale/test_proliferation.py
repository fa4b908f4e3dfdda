"""Proliferating cells over a mesh: the same cells, and the same fits."""

import sys
from typing import Any

import jax
import jax.random as jr
import numpy as np
import pytest

from snpjax import proliferation as pr
from snpjax.scale.mesh import PATHS
from snpjax.scale.shares import Crew
from tests.support.meshes import loop_depths, mesh_of
from tests.support.sharing import calibrated, population, sampled


SLOW = pytest.mark.slow
SAMPLE = sys.modules["snpjax.proliferation.sample"]


def advanced(mesh, monkeypatch, **options) -> list[tuple[str, Any]]:
    """The compiled text of each call of a simulation, and what it returned."""
    found = []
    real = SAMPLE._advance

    def spy(*args, **kwargs):
        text = real.lower(*args, **kwargs).compile().as_text()
        state, is_done = real(*args, **kwargs)
        found.append((text, state))
        return state, is_done

    with monkeypatch.context() as patch:
        patch.setattr(SAMPLE, "_advance", spy)
        patch.setattr(SAMPLE, "_drained", lambda state: state)
        sampled(mesh, **options)
    return found


@pytest.mark.parametrize("num", [2, *(pytest.param(num, marks=SLOW) for num in (1, 4))])
def test_the_same_cells_on_every_mesh(num):
    mesh = mesh_of(num, PATHS)
    assert sampled(mesh) == sampled(None)


@SLOW
@pytest.mark.parametrize("options", [{"runs": None}, {"sampler": pr.sample_lattice}])
def test_other_cells_on_a_mesh(options):
    assert sampled(mesh_of(2, PATHS), **options) == sampled(None, **options)


def test_batches_and_calls_change_nothing(monkeypatch):
    expected = sampled(None)
    monkeypatch.setattr(SAMPLE, "_SECONDS_PER_CALL", 1e-6)
    monkeypatch.setattr(SAMPLE, "_MAX_ENTRIES", 1)
    assert sampled(mesh_of(2, PATHS)) == expected


@SLOW
def test_devices_may_have_nothing_to_do():
    """Three cells for four devices, all types by turns; and times without spread."""
    key, mesh = jr.key(2), mesh_of(4, PATHS)
    for law in (pr.Normal(40.0, 9.0), pr.Fixed(40.0)):
        few = pr.ProliferationModel(
            pr.Histogram([64.0], [3]), [pr.CellType("a", 1.0, law)], duration=120.0, phi_min=1.0
        )
        found, expected = pr.simulate(few, key, mesh=mesh), pr.simulate(few, key)
        assert found.counts.tolist() == expected.counts.tolist() and found.total >= 3


def test_devices_share_the_cells_and_say_nothing(monkeypatch):
    found = advanced(mesh_of(2, PATHS), monkeypatch)
    assert found
    for text, state in found:
        assert "while" in text and not loop_depths(text)
        assert len(state.draws.devices()) == 2
    draws = np.sum([state.draws for _, state in found], axis=0)
    assert draws.min() > 0.6 * draws.max()  # whichever channel divides most


@SLOW
def test_one_device_of_a_mesh_is_that_device(monkeypatch):
    device = jax.devices()[2]
    for _, state in advanced(jax.sharding.Mesh([device], (PATHS,)), monkeypatch):
        assert state.draws.devices() == {device} and state.draws.ndim == 0


@pytest.mark.parametrize("num", [2, *(pytest.param(num, marks=SLOW) for num in (1, 4))])
def test_the_same_fit_on_every_mesh(num):
    assert calibrated(mesh_of(num, PATHS)) == calibrated(None)


@SLOW
def test_searches_run_on_devices_of_their_own(monkeypatch):
    calibrate = sys.modules["snpjax.proliferation.calibrate"]
    used, real = [], calibrate.descend

    def spy(fit, *given):
        used.append(fit.lower.devices())
        return real(fit, *given)

    monkeypatch.setattr(calibrate, "descend", spy)
    calibrated(mesh_of(4, PATHS))
    assert len(used) == 3 and len(set.union(*used)) == 3


def test_places_of_devices_are_those_of_the_mesh():
    """A mesh may name devices in another order."""
    mesh = jax.sharding.Mesh(jax.devices()[::-1], (PATHS,))
    crew = Crew.of(mesh)
    assert crew.places == (0, 1, 2, 3) and list(crew.mesh.devices) == list(mesh.devices)


@SLOW
def test_the_same_cells_on_devices_in_another_order():
    assert sampled(jax.sharding.Mesh(jax.devices()[::-1], (PATHS,))) == sampled(None)


def test_wrong_meshes_are_refused():
    wrong = mesh_of(2, "neurons")
    with pytest.raises(ValueError, match="`mesh` has the axis `neurons`"):
        sampled(wrong)
    with pytest.raises(ValueError, match="The axes that `calibrate` splits are `paths`"):
        calibrated(wrong)
    with pytest.raises(TypeError, match="`mesh` is 4"):
        pr.sample_lattice(population(), jr.key(0), mesh=4)  # pyright: ignore[reportArgumentType]
