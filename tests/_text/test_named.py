"""Values by name as trees of JAX."""

import jax
import jax.numpy as jnp

from snpjax._text.named import Named, variables_by_name


def test_named_values_are_trees():
    tables = {"b": {"y": jnp.ones(2), "x": jnp.zeros(3)}, "a": {"x": jnp.zeros(1)}}
    named = variables_by_name("neuron", "neurons", tables)
    assert isinstance(named, Named) and isinstance(named["b"], Named)
    shapes = jax.tree.map(lambda x: x.shape, named)
    assert shapes == {"a": {"x": (1,)}, "b": {"x": (3,), "y": (2,)}}
    assert type(shapes) is dict and type(shapes["b"]) is dict
    places = [jax.tree.leaves_with_path(x) for x in (named, tables)]
    assert [path for path, _ in places[0]] == [path for path, _ in places[1]]
    abstract = jax.eval_shape(lambda x: x["b"]["y"] + x["a"]["x"], named)
    assert abstract.shape == (2,)
