"""The arrays of a model, as checkpoints hold them."""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.tree_util as jtu
from jaxtyping import PyTree


ModelT = TypeVar("ModelT")


def to_arrays(model: ModelT, /) -> ModelT:
    """Take the arrays of a model, for a checkpoint of orbax.

    Arrays without entries are left out, because orbax does not store them.

    **Arguments:**

    - `model`: any pytree; a template without values, as `eqx.filter_eval_shape` makes it, gives
      the shapes and types that orbax needs to restore them.

    **Returns:** the pytree with `None` for everything else.
    """
    return eqx.filter(model, lambda x: _is_shaped(x) and x.size > 0)


def from_arrays(template: ModelT, arrays: PyTree, /) -> ModelT:
    """Put arrays into a template: the inverse of `to_arrays`.

    **Arguments:**

    - `template`: a model of the same structure, with values or without, such as
      `eqx.filter_eval_shape(make, key)`.
    - `arrays`: what `to_arrays` made of a model, restored.

    **Returns:** the model.

    **Raises:** `ValueError` with all arrays that are missing or have another shape or type.
    """
    if not all(map(_is_shaped, jax.tree.leaves(arrays))):
        raise TypeError("`arrays` has leaves that are not arrays. Pass what `to_arrays` returned.")
    wanted = to_arrays(template)
    problems: list[str] = []
    if jax.tree.structure(wanted) != jax.tree.structure(arrays):
        has, needs = map(_named, (arrays, wanted))
        problems += [f"There is no array {name!r}." for name in needs if name not in has]
        problems += [f"The template has no array {name!r}." for name in has if name not in needs]
        problems = problems or ["The template has other static fields than the arrays."]
    else:
        given = _named(arrays)
        problems += [
            f"{name!r} is {_shape_text(given[name])} and should be {_shape_text(x)}."
            for name, x in _named(wanted).items()
            if (x.shape, x.dtype) != (given[name].shape, given[name].dtype)
        ]
    if problems:
        text = "\n".join(problems)
        raise ValueError(f"{text}\nMake the template as the stored model was made.")
    rest = eqx.filter(template, lambda x: not _is_shaped(x) or x.size == 0)
    empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype) if _is_shaped(x) else x, rest)
    return eqx.combine(arrays, empty)


def _is_shaped(x: Any) -> bool:
    return eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct)


def _shape_text(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}"


def _named(tree: PyTree) -> dict[str, Any]:
    return {jtu.keystr(path).strip("."): x for path, x in jtu.tree_leaves_with_path(tree)}
