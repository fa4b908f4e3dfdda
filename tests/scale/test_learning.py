"""Training and evolving over a mesh: a result depends on the parts of a batch, not on who computes
them."""

import sys

import jax
import numpy as np
import pytest

from snpjax import learn
from snpjax.scale.mesh import PATHS
from tests.support.meshes import loop_depths, mesh_of
from tests.support.sharing import evolved, trained


def compiled(monkeypatch, module, name, call) -> str:
    """The compiled text of a program that a call runs."""
    texts = []
    real = getattr(module, name)

    def spy(*args):
        texts.append(real.lower(*args).compile().compiled.as_text())
        return real(*args)

    spy.lower = real.lower

    with monkeypatch.context() as patch:
        patch.setattr(module, name, spy)
        call()
    return texts[0]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "parts, num", [(4, 2), *(pytest.param(*x, marks=SLOW) for x in ((8, 4), (1, 1)))]
)
def test_the_same_training_on_every_mesh(parts, num):
    assert trained(mesh_of(num, PATHS), parts=parts) == trained(None, parts=parts)


def test_parts_are_parts_of_the_batch():
    """Their losses have the mean of the batch where it has one key; here each has its own."""
    assert trained(None, parts=2)[0] != trained(None, parts=1)[0]
    line, x = np.zeros(1, np.float32), np.arange(24, dtype=np.float32)

    def first_loss(parts):
        found = learn.fit(
            jax.numpy.asarray(line),
            lambda line, x, key: jax.numpy.mean((x - line) ** 2),
            _Still(),
            (x,),
            epochs=1,
            key=jax.random.key(0),
            batch_size=24,
            parts=parts,
        )
        return found.losses

    assert first_loss(3) == pytest.approx(np.mean(x**2)) == pytest.approx(first_loss(1))


class _Still:
    """An optimiser that leaves all as it is."""

    def init(self, parameters):
        return ()

    def update(self, slopes, state, parameters):
        return jax.tree.map(lambda g: 0 * g, slopes), state


def test_training_stops_alike():
    errors = []
    for mesh in (None, mesh_of(2, PATHS)):
        with pytest.raises(learn.NotFinite) as stop:
            trained(mesh, broken=31)
        errors.append(stop.value)
    one, other = errors
    assert (one.step, one.parameter) == (other.step, other.parameter)
    weights = [error.model.layers[0].weight for error in errors]
    assert weights[0].tolist() == weights[1].tolist()


def test_a_trained_model_is_where_any_device_goes_on_with_it():
    found = learn.fit(
        jax.numpy.ones(3),
        lambda line, x, key: jax.numpy.mean(x @ line),
        _Still(),
        (np.ones((8, 3), np.float32),),
        epochs=1,
        key=jax.random.key(0),
        batch_size=8,
        parts=4,
        mesh=mesh_of(4, PATHS),
    )
    assert len(found.model.devices()) == 1
    assert (found.model + jax.device_put(np.ones(3, np.float32), jax.devices()[3])).sum() == 6


@SLOW
@pytest.mark.parametrize("num", [2, 4])
def test_the_same_evolution_on_every_mesh(num):
    assert evolved(mesh_of(num, PATHS)) == evolved(None)


def test_devices_speak_once_in_a_batch(monkeypatch):
    mesh, fit = mesh_of(2, PATHS), sys.modules["snpjax.learn.fit"]
    assert loop_depths(compiled(monkeypatch, fit, "_epoch", lambda: trained(mesh))) == {1}


@SLOW
def test_devices_speak_once_in_a_generation(monkeypatch):
    mesh, evolve = mesh_of(2, PATHS), sys.modules["snpjax.learn.evolve"]
    for name, depth in (("first_generation", 0), ("evolved", 1)):
        found = compiled(monkeypatch, evolve, name, lambda: evolved(mesh))
        assert loop_depths(found) == {depth}


def test_wrong_meshes_and_parts_are_refused():
    with pytest.raises(ValueError, match="`mesh` has the axis `systems`"):
        trained(mesh_of(2, "systems"))
    with pytest.raises(ValueError, match="The axes that `evolve` splits are `paths`"):
        evolved(mesh_of(2, "systems"))
    with pytest.raises(ValueError, match="`parts` is 1, and `mesh` has 2 devices. Give a multiple"):
        trained(mesh_of(2, PATHS), parts=1)
    with pytest.raises(ValueError, match="`parts` is 5 and `batch_size` 24"):
        trained(None, parts=5)
