"""Models in files: orbax and equinox restore them into what was made without arrays."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

from snpjax import learn
from tests.support.helpers import trees_equal


def network(key):
    rules = (learn.SENDER, "a{2,}/a^2 -> a", ["a{1} -> a", "a{3,}/a -> a"])
    return learn.SpikingNetwork((3, 4, 2), rules, key=key, steps=6)


def layer(key):
    return learn.SpikingLayer(3, 4, key=key, steps=6, guard=2)


@pytest.mark.parametrize("make", [network, layer])
def test_equinox_restores_models(tmp_path, make):
    model = make(jr.key(5))
    eqx.tree_serialise_leaves(tmp_path / "model.eqx", model)
    template = eqx.filter_eval_shape(make, jr.key(0))
    restored = eqx.tree_deserialise_leaves(tmp_path / "model.eqx", template)
    assert trees_equal(restored, model)
    counts = jnp.asarray([2.0, 3.0, 1.0])
    train = counts if make is network else learn.count_train(counts, 6)
    assert restored(train).tolist() == model(train).tolist()


@pytest.mark.parametrize("make", [network, layer])
def test_orbax_restores_models(tmp_path, make):
    ocp = pytest.importorskip("orbax.checkpoint", reason="no orbax (pip install '.[scale]')")
    model = make(jr.key(5))
    with ocp.StandardCheckpointer() as files:
        files.save(tmp_path / "model", learn.to_arrays(model))
        files.wait_until_finished()
        template = eqx.filter_eval_shape(make, jr.key(0))
        arrays = files.restore(tmp_path / "model", learn.to_arrays(template))
    assert trees_equal(learn.from_arrays(template, arrays), model)


def test_arrays_of_other_models_are_refused():
    model, arrays = network(jr.key(0)), learn.to_arrays(network(jr.key(0)))
    assert trees_equal(learn.from_arrays(model, arrays), model)
    larger = eqx.tree_at(lambda own: own.model.initial, arrays, jnp.zeros(99))
    with pytest.raises(ValueError, match=r"'model.initial' is float32\[99\] and should be"):
        learn.from_arrays(model, larger)
    less = eqx.tree_at(lambda own: own.model.initial, arrays, None)
    with pytest.raises(ValueError, match="There is no array 'model.initial'"):
        learn.from_arrays(model, less)
    with pytest.raises(ValueError, match="The template has no array 'model.initial'"):
        learn.from_arrays(less, arrays)
    other = learn.to_arrays(
        learn.SpikingNetwork((3, 4, 2), ("a -> a",) * 3, key=jr.key(0), steps=7)
    )
    with pytest.raises(ValueError, match="Make the template as the stored model was made"):
        learn.from_arrays(model, other)
