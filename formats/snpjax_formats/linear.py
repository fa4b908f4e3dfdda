"""One linear primitive for every layout: batches go last, and the transpose reads the same arrays.

Left alone, `vmap` would move the batch of a gather to the front, where it is several times slower,
and a gather would be transposed into a scatter. Here a delivery is bilinear in x and in the
layout's weights, which are all its arrays of floats; its transpose in x is the layout's own
transposed product (for a `TwoWay` a gather again), its transpose in the weights the layout's
`edge_products`. So jvp, vjp, linear_transpose, vmap in any order, hessians, scan and checkpoint all
work.

`custom_vjp` would lose forward mode, and `custom_derivatives.linear_call` has no batching rule (jax
0.10.2). `jax.extend.core` and `jax.interpreters` are semi-public: tests/formats/test_layouts.py has
one test per transformation.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array


if TYPE_CHECKING:
    from .layout import AbstractLayout


deliver_p = Primitive("snpjax_deliver")


def deliver(layout: "AbstractLayout", x: Array, accumulate: np.dtype, transposed: bool) -> Array:
    """The product of `layout`, or of its transpose, with x."""
    weights, rest = eqx.partition(layout, eqx.is_inexact_array)
    weights, weight_tree = jax.tree.flatten(weights)
    rest, rest_tree = jax.tree.flatten(rest)
    return deliver_p.bind(
        x,
        *weights,
        *rest,
        trees=(weight_tree, rest_tree),
        accumulate=accumulate,
        transposed=transposed,
    )


def _layout(operands: tuple[Array, ...], trees: Any) -> "AbstractLayout":
    weight_tree, rest_tree = trees
    weights = jax.tree.unflatten(weight_tree, operands[: weight_tree.num_leaves])
    rest = jax.tree.unflatten(rest_tree, operands[weight_tree.num_leaves :])
    return eqx.combine(weights, rest)


def _multiply(
    x: Array, *operands: Array, trees: Any, accumulate: np.dtype, transposed: bool
) -> Array:
    layout = _layout(operands, trees)
    multiply = layout.multiply_transposed if transposed else layout.multiply
    return multiply(x, accumulate=accumulate)


def _abstract(*avals: Any, **parameters: Any) -> Any:
    shape = jax.eval_shape(
        partial(_multiply, **parameters), *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals)
    )
    return jax.core.ShapedArray(shape.shape, shape.dtype)


def _jvp(primals: Any, tangents: Any, **parameters: Any) -> Any:
    y = deliver_p.bind(*primals, **parameters)
    x, *operands = primals
    tangent_x, *tangents = tangents
    tangent: Any = ad.Zero(jax.typeof(y).to_tangent_aval())
    if type(tangent_x) is not ad.Zero:
        tangent = deliver_p.bind(tangent_x, *operands, **parameters)
    num_weights = parameters["trees"][0].num_leaves
    of_weights = tangents[:num_weights]
    if any(type(t) is not ad.Zero for t in of_weights):
        of_weights = map(ad.instantiate_zeros, of_weights)
        by_weights = deliver_p.bind(x, *of_weights, *operands[num_weights:], **parameters)
        tangent = ad.add_tangents(tangent, by_weights)
    return y, tangent


def _transpose(cotangent: Any, x: Any, *operands: Any, **parameters: Any) -> Any:
    nothing: list[Any] = [None] * (1 + len(operands))
    if type(cotangent) is ad.Zero:
        return nothing
    transposed = parameters["transposed"]
    if ad.is_undefined_primal(x):
        back = {**parameters, "transposed": not transposed}
        back["accumulate"] = np.dtype(x.aval.dtype)
        nothing[0] = deliver_p.bind(cotangent, *operands, **back)
        return nothing
    num_weights = parameters["trees"][0].num_leaves
    shapes = [w.aval if ad.is_undefined_primal(w) else w for w in operands[:num_weights]]
    zeros = [jnp.zeros(shape.shape, shape.dtype) for shape in shapes]
    layout = _layout((*zeros, *operands[num_weights:]), parameters["trees"])
    pair = (cotangent, x) if transposed else (x, cotangent)
    products = jax.tree.leaves(layout.edge_products(*pair))
    for place, (weight, product) in enumerate(zip(operands, products, strict=False), start=1):
        if ad.is_undefined_primal(weight):
            nothing[place] = product.astype(weight.aval.dtype)
    return nothing


def _batch(operands: Any, axes: Any, **parameters: Any) -> Any:
    x, *rest = operands
    axis, *rest_axes = axes
    if any(a is not None for a in rest_axes):  # other arrays for each: no fast path
        return jax.vmap(partial(_multiply, **parameters), axes)(*operands), 0
    y = deliver_p.bind(jnp.moveaxis(x, axis, -1), *rest, **parameters)
    return y, y.ndim - 1


_jitted = jax.jit(_multiply, static_argnames=("trees", "accumulate", "transposed"))
deliver_p.def_impl(_jitted)
deliver_p.def_abstract_eval(_abstract)
mlir.register_lowering(deliver_p, mlir.lower_fun(_multiply, multiple_results=False))
ad.primitive_jvps[deliver_p] = _jvp
ad.primitive_transposes[deliver_p] = _transpose
batching.primitive_batchers[deliver_p] = _batch
