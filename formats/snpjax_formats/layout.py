"""The protocol: what every layout answers.

What a layout may rely on, and what others rely on, beyond the signatures:

- **Unit weights are `None`.** Where every edge weighs 1, `edges.value` is `None`, and so is the
  leaf of weights: nothing is stored and nothing multiplied. Otherwise `stored.storable(edges)` has
  weights in a type that JAX stores. It sums parallel edges. An edge of weight 0 may be lost.
- **`accumulate`** is the dtype in which products are made and summed, and that of the result. x is
  cast to it first: int8 + int8 would wrap. x may have any type; truth values arrive as 0 and 1.
  Integer results are exact as long as all partial sums fit; the caller sees to it that they do.
- **Padding adds nothing.** Arrays are as long as a bucket (`buckets`), so that graphs of similar
  size share a compiled program. The index in padding is one past the last, `num_sources` or
  `num_targets`: a read of it gives 0, a write to it is dropped (`mode="fill"`, `mode="drop"`), and
  never a -1, which is the last element. Padded weights are 0. `edges()` leaves padding out.
- **Indices**, one or two for each edge, are `stored.index_dtype(most)`: uint16 where `most`, which
  is that of padding, is at most 65,535, else int32. Those of `Edges` are int32. Places in a longer
  array, such as row pointers, are int32, and `stored.too_long` says when they do not suffice.
- **The batch is the last axis** of x, and may be absent. `vmap` moves it there.
- **Derivatives** need no rules: `multiply` is linear in x and in the leaves of floats, its
  transpose in x is `multiply_transposed`, that in the weights `edge_products`. A layout whose
  weights are not trained raises `ValueError` there.
- **Build on the host**: `from_edges` uses NumPy without a loop over edges, and
  `stored.device_array` for the result. `bytes_needed` is exact and allocates little: layouts that
  do not fit are refused before anything is built. Sizes are static fields, arrays are leaves.

tests/formats/test_layouts.py runs every layout against `to_dense()`; examples/diagonals.py is a
layout that was written outside the package.
"""

import abc
import dataclasses
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, DTypeLike, Integer, Num, PyTree, Shaped

from .edges import Edges
from .stored import narrowed, stored_dtype


#: Numbers of sources, or of targets, with a batch or without one.
BySource: TypeAlias = Num[Array, "sources *batch"]
ByTarget: TypeAlias = Num[Array, "targets *batch"]


class AbstractLayout(eqx.Module):
    """A graph of weighted edges from sources to targets, stored for multiplication.

    A frozen pytree: arrays are leaves, sizes are static. `W[t, s]` is the weight of the edge from s
    to t. An axis written `*batch` may be absent; where it is present it is the last one. The
    docstring of this module is the contract.

    The leaves of floats are the weights, and what is trained; most layouts have one such leaf,
    `values`, which is `None` when every edge weighs 1. A product is linear in all of them together.
    """

    num_sources: eqx.AbstractVar[int]
    num_targets: eqx.AbstractVar[int]

    def __check_init__(self):
        for field in dataclasses.fields(self):
            is_size = field.name in ("num_sources", "num_targets")
            if is_size and not field.metadata.get("static", False):
                raise TypeError(
                    f"`{field.name}` of {type(self).__name__} is a leaf, but shapes depend on it. "
                    "Declare it with `equinox.field(static=True)`."
                )

    @classmethod
    @abc.abstractmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "AbstractLayout":
        """Build from a coordinate list, with NumPy; parallel edges are summed.

        **Arguments:**

        - `edges`: the edges; one of weight 0 may be lost.
        - `max_input`: a bound of the absolute value of what will be delivered, if it is known;
          layouts of narrow numbers need it.

        **Raises:** `ValueError` if results could be inexact.
        """

    @classmethod
    @abc.abstractmethod
    def bytes_needed(cls, edges: Edges) -> int:
        """The `nbytes` that `from_edges(edges)` would have.

        **Arguments:**

        - `edges`: edges without parallel ones.
        """

    @classmethod
    @abc.abstractmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        """Why `from_edges` would refuse some edges, and what to do instead.

        **Arguments:**

        - `edges`: edges without parallel ones, with weights of a type that JAX stores.
        - `max_input`: as in `from_edges`.

        **Returns:** a sentence; `None` if it would not refuse them.
        """

    @abc.abstractmethod
    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        """The kernel of `deliver`.

        **Arguments:**

        - `x`: `(sources, *batch)` values in the type `accumulate`.
        - `accumulate`: the type of sums.

        **Returns:** `(targets, *batch)` sums.
        """

    @abc.abstractmethod
    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        """The kernel of `deliver_transposed`.

        **Arguments:**

        - `g`: `(targets, *batch)` values.
        - `accumulate`: the type of sums.

        **Returns:** `(sources, *batch)` sums.
        """

    @abc.abstractmethod
    def edge_products(self, x: BySource, g: ByTarget) -> PyTree[Num[Array, "..."]]:
        """The products `g[t] * x[s]` of all edges, summed over the batch: the cotangent of the
        weights.

        **Arguments:**

        - `x`: `(sources, *batch)` values.
        - `g`: `(targets, *batch)` values.

        **Returns:** the products in the arrays in which the layout stores its weights.
        """

    @abc.abstractmethod
    def edges(self) -> Edges:
        """The graph as a canonical coordinate list on the host."""

    def deliver(
        self, x: Shaped[Array | np.ndarray, "sources *batch"], *, accumulate: DTypeLike
    ) -> ByTarget:
        """Multiply: `y[t] = sum_s W[t, s] x[s]`.

        Linear in `x` and in the weights, with derivatives of every order. Under `vmap` the batch
        becomes the last axis, whatever the axis.

        **Arguments:**

        - `x`: `(sources, *batch)` values.
        - `accumulate`: the type of sums.

        **Returns:** `(targets, *batch)` sums.

        **Raises:** `ValueError` if `x` has another number of rows than there are sources, and for
        64 bits outside `jax.enable_x64(True)`.
        """
        x = _checked("x", x, self.num_sources, "sources")
        return _bind(self, x, _accumulator(accumulate), False)

    def deliver_transposed(
        self, g: Shaped[Array | np.ndarray, "targets *batch"], *, accumulate: DTypeLike
    ) -> BySource:
        """Multiply by the transpose: `y[s] = sum_t W[t, s] g[t]`.

        **Arguments:**

        - `g`: `(targets, *batch)` values.
        - `accumulate`: the type of sums.

        **Returns:** `(sources, *batch)` sums.

        **Raises:** `ValueError` as in `deliver`.
        """
        g = _checked("g", g, self.num_targets, "targets")
        return _bind(self, g, _accumulator(accumulate), True)

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of sources and of targets, as arguments of a layout."""
        return {"num_sources": self.num_sources, "num_targets": self.num_targets}

    def listed(
        self,
        source: Integer[np.ndarray, " edges"],
        target: Integer[np.ndarray, " edges"],
        value: Num[np.ndarray, " edges"] | None = None,
    ) -> Edges:
        """A coordinate list between the sources and targets of the layout.

        **Arguments:**

        - `source`, `target`: `(edges,)` numbers of nodes; edges may be parallel.
        - `value`: `(edges,)` weights; `None` if all are 1.
        """
        source, target = (index.astype(np.int32, copy=False) for index in (source, target))
        return Edges(source, target, value, self.num_sources, self.num_targets)

    @property
    def num_edges(self) -> int:
        """Stored edges without padding. Reads the arrays: not for use under `jit`."""
        return len(self.edges())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, padding included."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self))

    def to_dense(self) -> Num[np.ndarray, "targets sources"]:
        """W on the host: the oracle that tests compare every layout with."""
        edges = self.edges()
        dtype = np.int32 if edges.value is None else edges.value.dtype
        dense = np.zeros((self.num_targets, self.num_sources), dtype)
        dense[edges.target, edges.source] = 1 if edges.value is None else edges.value
        return dense


class AbstractGeneralLayout(AbstractLayout):
    """A layout that stores any edges."""

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> None:
        """None, whatever the edges are."""
        del edges, max_input


class AbstractUntrained(AbstractLayout):
    """A layout whose edges have no weights to train."""

    def edge_products(self, x: BySource, g: ByTarget) -> Num[Array, "..."]:
        """**Raises:** `ValueError` always."""
        raise ValueError(f"The edges of {type(self).__name__} are not trained. Use ELL.")


class AbstractPattern(AbstractUntrained):
    """A layout that stores which edges there are, each once and of weight 1."""

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str | None:
        """Weights are one."""
        del max_input
        if edges.value is None:
            return None
        return f"{cls.__name__} stores neither weights nor parallel edges. Use ELL."


class AbstractDescribed(AbstractLayout):
    """A layout that is built from a description, never from a list of edges.

    `built_from` completes the sentence that says from what.
    """

    built_from: ClassVar[str]

    @classmethod
    def obstacle(cls, edges: Edges, *, max_input: int | None = None) -> str:
        """That it is not built from edges."""
        del edges, max_input
        return f"{cls.__name__} {cls.built_from}. Use ELL."

    @classmethod
    def from_edges(cls, edges: Edges, *, max_input: int | None = None) -> "AbstractDescribed":
        """**Raises:** `ValueError` always."""
        raise ValueError(cls.obstacle(edges))

    @classmethod
    def bytes_needed(cls, edges: Edges) -> int:
        """**Raises:** `ValueError` always."""
        raise ValueError(cls.obstacle(edges))


def _checked(name: str, x: Any, num_rows: int, rows: str) -> Array:
    """x with this many rows, booleans as 0 and 1. A longer one would be read where padding is."""
    if isinstance(x, np.ndarray):
        x = narrowed(x, f"An entry of `{name}`")
    shape = jnp.shape(x)
    if shape[:1] != (num_rows,):
        has = f"{shape[0]} rows" if shape else "no rows"
        raise ValueError(f"`{name}` has {has} but the layout has {num_rows} {rows}.")
    x = jnp.asarray(x)
    return x.astype(jnp.int8) if x.dtype == bool else x


def _accumulator(accumulate: DTypeLike) -> np.dtype:
    dtype = np.dtype(accumulate)
    if stored_dtype(dtype) != dtype:
        raise ValueError(
            f"`accumulate` is {dtype}, for which JAX would take {stored_dtype(dtype)} here. Call "
            "inside `jax.enable_x64(True)`."
        )
    return dtype


def built(
    layout: type[AbstractLayout],
    edges: Edges,
    *,
    max_input: int | None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> AbstractLayout:
    """`layout.from_edges(edges)`. **Raises:** `TypeError` if that is no layout."""
    found: object = layout.from_edges(edges, max_input=max_input, **options)
    if not isinstance(found, AbstractLayout):
        raise TypeError(
            f"`{layout.__name__}.from_edges` returned {type(found).__name__}. Return the layout."
        )
    return found


def refuse(obstacle: str | None) -> None:
    """Raise what `AbstractLayout.obstacle` says."""
    if obstacle is not None:
        raise ValueError(obstacle)


def check_integers(layout: AbstractLayout, x: Array, accumulate: DTypeLike) -> None:
    """Refuse floats, for a layout that sums integers only."""
    if any(jnp.issubdtype(dtype, jnp.inexact) for dtype in (x.dtype, accumulate)):
        raise ValueError(
            f"{type(layout).__name__} sums integers, not {x.dtype} in {jnp.dtype(accumulate)}. "
            "Use ELL."
        )


def check_columns(name: str, array: Array, size: str, number: int) -> None:
    """**Raises:** `ValueError` for an array of another number of columns."""
    if array.shape[1] != number:
        raise ValueError(f"`{name}` has {array.shape[1]} columns but `{size}` is {number}.")


def check_shape(name: str, array: Array | None, like: str, shape: tuple[int, ...]) -> None:
    """Refuse an array whose shape is not that of the field `like`; `None` is not an array."""
    if array is not None and array.shape != shape:
        raise ValueError(f"`{name}` has shape {array.shape} but `{like}` has {shape}.")


# ---- one linear primitive for every layout ----

# Batches go last, and the transpose reads the same arrays. Left alone, `vmap` would move the batch
# of a gather to the front, where it is several times slower, and a gather would be transposed into
# a scatter. Here a delivery is bilinear in x and in the layout's weights, which are all its arrays
# of floats; its transpose in x is the layout's own transposed product (for a `TwoWay` a gather
# again), its transpose in the weights the layout's `edge_products`. So jvp, vjp, linear_transpose,
# vmap in any order, hessians, scan and checkpoint all work.
#
# `custom_vjp` would lose forward mode, and `custom_derivatives.linear_call` has no batching rule
# (jax 0.10.2). `jax.extend.core` and `jax.interpreters` are semi-public:
# tests/formats/test_layouts.py has one test per transformation.

_deliver_p = Primitive("snpjax_deliver")


def _bind(layout: AbstractLayout, x: Array, accumulate: np.dtype, transposed: bool) -> Array:
    """The product of `layout`, or of its transpose, with x."""
    weights, rest = eqx.partition(layout, eqx.is_inexact_array)
    weights, weight_tree = jax.tree.flatten(weights)
    rest, rest_tree = jax.tree.flatten(rest)
    return _deliver_p.bind(
        x,
        *weights,
        *rest,
        trees=(weight_tree, rest_tree),
        accumulate=accumulate,
        transposed=transposed,
    )


def _layout(operands: tuple[Array, ...], trees: Any) -> AbstractLayout:
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
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    shape = jax.eval_shape(partial(_jitted, **parameters), *shapes)
    return jax.core.ShapedArray(shape.shape, shape.dtype)


def _jvp(primals: Any, tangents: Any, **parameters: Any) -> Any:
    y = _deliver_p.bind(*primals, **parameters)
    x, *operands = primals
    tangent_x, *tangents = tangents
    tangent: Any = ad.Zero(jax.typeof(y).to_tangent_aval())
    if type(tangent_x) is not ad.Zero:
        tangent = _deliver_p.bind(tangent_x, *operands, **parameters)
    num_weights = parameters["trees"][0].num_leaves
    of_weights = tangents[:num_weights]
    if any(type(t) is not ad.Zero for t in of_weights):
        of_weights = map(ad.instantiate_zeros, of_weights)
        by_weights = _deliver_p.bind(x, *of_weights, *operands[num_weights:], **parameters)
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
        nothing[0] = _deliver_p.bind(cotangent, *operands, **back)
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
    y = _deliver_p.bind(jnp.moveaxis(x, axis, -1), *rest, **parameters)
    return y, y.ndim - 1


_jitted = jax.jit(_multiply, static_argnames=("trees", "accumulate", "transposed"))
_deliver_p.def_impl(_jitted)
_deliver_p.def_abstract_eval(_abstract)
mlir.register_lowering(_deliver_p, mlir.lower_fun(_multiply, multiple_results=False))
ad.primitive_jvps[_deliver_p] = _jvp
ad.primitive_transposes[_deliver_p] = _transpose
batching.primitive_batchers[_deliver_p] = _batch
