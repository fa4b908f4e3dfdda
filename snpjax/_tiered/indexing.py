"""Primitives that move elements: shapes, slices, gathers, scatters and sorts."""

import math
from typing import Any

import jax.lax as lax
import numpy as np
from jax.extend.core import JaxprEqn

from .rule import Call, Enclosing, NotInterpretable, Rule, dtype_of, shape_of


_FEW = 2**16


def _reshaped(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape = shape_of(eqn.outvars[0])
    return lambda x, *_: x.reshape(shape)


def _broadcast(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape, dims = shape_of(eqn.outvars[0]), eqn.params["broadcast_dimensions"]
    own, dtype = shape_of(eqn.invars[0]), dtype_of(eqn.outvars[0])
    aligned = [1] * len(shape)
    for i, dim in enumerate(dims):
        aligned[dim] = own[i]
    aligned = tuple(aligned)
    if aligned == shape:
        return lambda x, *_: x.reshape(shape)
    if math.prod(shape) > _FEW:
        return lambda x, *_: np.broadcast_to(x.reshape(aligned), shape)

    def filled(x: Any, *_: Any) -> Any:  # faster than a view
        found = np.empty(shape, dtype)
        found[...] = x.reshape(aligned)
        return found

    return filled


def _transposed(eqn: JaxprEqn, program: Enclosing) -> Call:
    axes = tuple(eqn.params["permutation"])
    return lambda x: x.transpose(axes)


def _flipped(eqn: JaxprEqn, program: Enclosing) -> Call:
    axes = tuple(eqn.params["dimensions"])
    return lambda x: np.flip(x, axes)


def _iota(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape, axis = shape_of(eqn.outvars[0]), eqn.params["dimension"]
    line = np.arange(shape[axis]).astype(eqn.params["dtype"])
    found = np.broadcast_to(line.reshape((-1, *[1] * (len(shape) - axis - 1))), shape)
    return lambda *_: found


def _joined(eqn: JaxprEqn, program: Enclosing) -> Call:
    axis = eqn.params["dimension"]
    return lambda *parts: np.concatenate(parts, axis)


def _stacked(eqn: JaxprEqn, program: Enclosing) -> Call:
    axis = eqn.params["axis"]
    return lambda *parts: np.stack(parts, axis)


def _unstacked(eqn: JaxprEqn, program: Enclosing) -> Call:
    axis = eqn.params["axis"]
    return lambda x: list(np.moveaxis(x, axis, 0))


def _split(eqn: JaxprEqn, program: Enclosing) -> Call:
    axis, ends = eqn.params["axis"], np.cumsum(eqn.params["sizes"])[:-1]
    return lambda x: np.split(x, ends, axis)


def _padded(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape, dtype = shape_of(eqn.outvars[0]), dtype_of(eqn.outvars[0])
    config = eqn.params["padding_config"]
    if any(low < 0 or high < 0 for low, high, _ in config):
        raise NotInterpretable("negative padding")
    own = shape_of(eqn.invars[0])
    at = tuple(
        slice(low, low + max((size - 1) * (inner + 1) + 1, 0), inner + 1)
        for size, (low, _, inner) in zip(own, config, strict=True)
    )

    def padded(x: Any, value: Any) -> Any:
        found = np.full(shape, value, dtype)
        if x.size:
            found[at] = x
        return found

    return padded


def _slice(eqn: JaxprEqn, program: Enclosing) -> Call:
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    at = tuple(slice(*x) for x in zip(starts, limits, strides, strict=True))
    return lambda x: x[at]


def _window(shape: tuple[int, ...], sizes: tuple[int, ...], starts: Any) -> tuple[slice, ...]:
    """Where a window lies that is moved into the array if it would begin or end outside of it."""
    first = [
        min(max(int(start), 0), whole - size)
        for start, whole, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple(slice(at, at + size) for at, size in zip(first, sizes, strict=True))


def _dynamic_slice(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape, sizes = shape_of(eqn.invars[0]), tuple(eqn.params["slice_sizes"])
    return lambda x, *starts: x[_window(shape, sizes, starts)]


def _dynamic_update_slice(eqn: JaxprEqn, program: Enclosing) -> Call:
    shape, sizes = shape_of(eqn.invars[0]), shape_of(eqn.invars[1])
    is_own = program.is_own(eqn.invars[0])

    def updated(x: Any, values: Any, *starts: Any) -> Any:
        found = x if is_own else x.copy()
        found[_window(shape, sizes, starts)] = values
        return found

    return updated


def _along(values: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """An array whose axes become these of an array with `ndim` axes."""
    shape = [1] * ndim
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


class _Windows:
    """Where the windows of a gather or scatter lie: an index array for each axis of the operand,
    of the shape of what is gathered or of the updates.

    - `batch`, `window`: the axes of that shape which number the windows, or lie within them.
    - `named`: the axis of the operand that each number of an index is for.
    - `paired`: axes of the operand that lie side by side with these axes of the indices.
    """

    def __init__(
        self,
        operand: tuple[int, ...],
        indices: tuple[int, ...],
        sizes: tuple[int, ...],
        window: tuple[int, ...],
        dropped: tuple[int, ...],
        named: tuple[int, ...],
        paired: tuple[tuple[int, int], ...],
    ):
        self.ndim = len(indices) - 1 + len(window)
        self.batch = tuple(axis for axis in range(self.ndim) if axis not in window)
        self.window = window
        self.named = named
        self.most = np.asarray([operand[axis] - sizes[axis] for axis in named], np.int64)
        within = iter(window)
        self.fixed: list[Any] = [0] * len(operand)
        for axis, size in enumerate(sizes):
            if axis not in dropped:
                self.fixed[axis] = _along(np.arange(size), (next(within),), self.ndim)
        for axis, of_indices in paired:
            number = np.arange(operand[axis])
            self.fixed[axis] = _along(number, (self.batch[of_indices],), self.ndim)

    def starts(self, indices: Any) -> tuple[Any, Any]:
        """Where the windows begin, moved inside; and which of them did lie inside."""
        indices = indices.astype(np.int64)
        inside = ((indices >= 0) & (indices <= self.most)).all(-1)
        return np.clip(indices, 0, self.most), inside

    def places(self, starts: Any) -> tuple[Any, ...]:
        found = list(self.fixed)
        for number, axis in enumerate(self.named):
            found[axis] = found[axis] + _along(starts[..., number], self.batch, self.ndim)
        return tuple(found)


def _gather(eqn: JaxprEqn, program: Enclosing) -> Call:
    numbers, sizes = eqn.params["dimension_numbers"], tuple(eqn.params["slice_sizes"])
    operand, indices = (shape_of(x) for x in eqn.invars)
    named, dropped = tuple(numbers.start_index_map), tuple(numbers.collapsed_slice_dims)
    paired = tuple(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    offsets = tuple(numbers.offset_dims)
    fill = None
    if eqn.params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
        dtype = dtype_of(eqn.outvars[0])
        fill = eqn.params["fill_value"]
        if fill is None:
            fill = _filling(dtype)
        fill = np.asarray(fill).astype(dtype)[()]
    others = tuple(size for axis, size in enumerate(sizes) if axis not in dropped)
    full = tuple(size for axis, size in enumerate(operand) if axis not in dropped)
    ndim = len(indices) - 1 + len(offsets)
    if len(named) == 1 and dropped == named and not paired and others == full:
        (axis,) = named
        between = tuple(range(axis, axis + len(indices) - 1))
        if offsets == tuple(i for i in range(ndim) if i not in between):
            return _taken(axis, operand[axis], len(offsets) - axis, fill)
    windows = _Windows(
        operand, indices, sizes, offsets, dropped + tuple(i for i, _ in paired), named, paired
    )

    def gathered(x: Any, indices: Any) -> Any:
        starts, inside = windows.starts(indices)
        found = x[windows.places(starts)]
        if fill is not None:
            found = np.where(_along(inside, windows.batch, windows.ndim), found, fill)
        return found

    return gathered


def _taken(axis: int, size: int, after: int, fill: Any) -> Call:
    """Whole rows along one axis."""

    def taken(x: Any, indices: Any) -> Any:
        at = indices[..., 0]
        found = np.take(x, at, axis, mode="clip")
        if fill is None:
            return found
        inside = (at >= 0) & (at < size)
        return np.where(inside.reshape((*inside.shape, *[1] * after)), found, fill)

    return taken


def _filling(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).min or np.iinfo(dtype).max


def _scatter(ufunc: Any) -> Rule:
    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        numbers = eqn.params["dimension_numbers"]
        operand, indices, updates = (shape_of(x) for x in eqn.invars)
        window, named = (
            tuple(numbers.update_window_dims),
            tuple(numbers.scatter_dims_to_operand_dims),
        )
        paired = tuple(
            zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
        )
        dropped = tuple(numbers.inserted_window_dims) + tuple(i for i, _ in paired)
        within = iter(window)
        sizes = tuple(1 if i in dropped else updates[next(within)] for i in range(len(operand)))
        is_moved = eqn.params["mode"] == lax.GatherScatterMode.CLIP
        windows = _Windows(operand, indices, sizes, window, dropped, named, paired)

        def scattered(x: Any, indices: Any, values: Any) -> Any:
            found = x.copy()
            starts, inside = windows.starts(indices)
            places = windows.places(starts)
            if not is_moved and not inside.all():
                inside = np.broadcast_to(_along(inside, windows.batch, windows.ndim), updates)
                places = tuple(np.broadcast_to(place, updates)[inside] for place in places)
                values = values[inside]
            if ufunc is None:
                found[places] = values  # of several for one place the last, as in XLA on CPUs
            else:
                ufunc.at(found, places, values)
            return found

        return scattered

    return rule


def _sort(eqn: JaxprEqn, program: Enclosing) -> Call:
    axis, num_keys = eqn.params["dimension"], eqn.params["num_keys"]
    if any(dtype_of(x).kind == "f" for x in eqn.invars[:num_keys]):
        raise NotInterpretable("floats in order")
    if not eqn.params["is_stable"] and num_keys < len(eqn.invars):
        raise NotInterpretable("equal keys in any order")

    def ordered(*arrays: Any) -> list[Any]:
        order = np.lexsort(arrays[:num_keys][::-1], axis=axis)
        return [np.take_along_axis(x, order, axis) for x in arrays]

    return ordered


def _copy(eqn: JaxprEqn, program: Enclosing) -> Call:
    return lambda x: x.copy()


RULES: dict[str, Rule] = {
    "copy": _copy,
    "reshape": _reshaped,
    "squeeze": _reshaped,
    "broadcast_in_dim": _broadcast,
    "transpose": _transposed,
    "rev": _flipped,
    "iota": _iota,
    "concatenate": _joined,
    "stack": _stacked,
    "unstack": _unstacked,
    "split": _split,
    "pad": _padded,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter_add": _scatter(np.add),
    "scatter_sub": _scatter(np.subtract),
    "scatter_mul": _scatter(np.multiply),
    "scatter_min": _scatter(np.minimum),
    "scatter_max": _scatter(np.maximum),
    "sort": _sort,
}
