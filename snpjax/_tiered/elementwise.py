"""Primitives whose every element is computed by itself, sums, and hashes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.extend.core import JaxprEqn

from .rule import (
    Call,
    Enclosing,
    NotInterpretable,
    Rule,
    dtype_of,
    key_of_words,
    shape_of,
    words_of_key,
)


def _same(call: Call) -> Rule:
    return lambda eqn, program: call


def _refuse_floats(atom: Any, program: Enclosing) -> None:
    if dtype_of(atom).kind == "f" and not program.is_estimate:
        raise NotInterpretable("arithmetic of floats")


def _exact(call: Call) -> Rule:
    """Of integers, or where rounding does not matter."""

    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        _refuse_floats(eqn.invars[0], program)
        return call

    return rule


def _quotient(a: Any, b: Any) -> Any:
    """Towards zero; XLA divides by zero to all ones."""
    if np.dtype(a.dtype).kind == "f":
        return np.true_divide(a, b)
    by = np.where(b == 0, b.dtype.type(1), b)
    found = a // by
    if a.dtype.kind == "i":
        found = found + ((found * by != a) & ((a < 0) != (by < 0))).astype(a.dtype)
    return np.where(b == 0, ~np.zeros_like(b), found)


def _remainder(a: Any, b: Any) -> Any:
    """Has the sign of the dividend; x % 0 is x, as in XLA."""
    if np.dtype(a.dtype).kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def _clamped(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _selected(which: Any, *cases: Any) -> Any:
    if len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    return np.select([which == i for i in range(len(cases))], list(cases))


def _shift_right_arithmetic(a: Any, b: Any) -> Any:
    """Copies the top bit, of unsigned numbers too."""
    signed = np.dtype(f"i{a.dtype.itemsize}")
    return (a.view(signed) >> b.view(signed)).view(a.dtype)


def _shift_right_logical(a: Any, b: Any) -> Any:
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    return (a.astype(unsigned) >> b.astype(unsigned)).astype(a.dtype)


def _converted(eqn: JaxprEqn, program: Enclosing) -> Call:
    own, wanted = dtype_of(eqn.invars[0]), np.dtype(eqn.params["new_dtype"])
    if wanted.kind == "b":
        return lambda x: x != 0
    if own.kind != "f" or wanted.kind == "f":
        return lambda x: x.astype(wanted)
    if wanted.itemsize == 8:
        raise NotInterpretable("floats as 64-bit integers")
    low, high = np.iinfo(wanted).min, np.iinfo(wanted).max

    def saturated(x: Any) -> Any:  # as XLA does, which makes 0 of what is not a number
        exact = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=high, neginf=low)
        return np.clip(exact, low, high).astype(wanted)

    return saturated


def _counted_bits(eqn: JaxprEqn, program: Enclosing) -> Call:
    dtype = dtype_of(eqn.invars[0])
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.astype(unsigned)).astype(dtype)


def _leading_zeros(eqn: JaxprEqn, program: Enclosing) -> Call:
    dtype = dtype_of(eqn.invars[0])
    if dtype.itemsize > 4:
        raise NotInterpretable("leading zeros of 64 bits")
    unsigned, bits = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    # The exponent of a positive number is its bit length, which is exact in 64 bits.
    return lambda x: (bits - np.frexp(x.astype(unsigned).astype(np.float64))[1]).astype(dtype)


def _integer_power(eqn: JaxprEqn, program: Enclosing) -> Call:
    _refuse_floats(eqn.invars[0], program)
    power = eqn.params["y"]
    if power < 0:
        raise NotInterpretable("negative powers")
    power = dtype_of(eqn.invars[0]).type(power)
    return lambda x: np.power(x, power)


def _bits_as(eqn: JaxprEqn, program: Enclosing) -> Call:
    wanted, shape = np.dtype(eqn.params["new_dtype"]), shape_of(eqn.outvars[0])
    own = dtype_of(eqn.invars[0])
    if own.itemsize == wanted.itemsize:
        return lambda x: x.view(wanted)
    if own.itemsize > wanted.itemsize:
        return lambda x: np.ascontiguousarray(x[..., None]).view(wanted).reshape(shape)
    return lambda x: np.ascontiguousarray(x).view(wanted).reshape(shape)


def _of_integers(call: Call) -> Rule:
    """In total order, which is the usual one but for floats."""

    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        if dtype_of(eqn.invars[0]).kind == "f":
            raise NotInterpretable("floats in total order")
        return call

    return rule


def _reduction(ufunc: Any) -> Rule:
    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        axes, dtype = tuple(eqn.params["axes"]), dtype_of(eqn.outvars[0])
        if ufunc in (np.add, np.multiply):
            _refuse_floats(eqn.invars[0], program)
        if not axes:
            return lambda x: x
        if 0 in shape_of(eqn.invars[0]) and ufunc in (np.maximum, np.minimum):
            raise NotInterpretable("the largest of no numbers")
        return lambda x: ufunc.reduce(x, axis=axes, dtype=dtype)

    return rule


def _extreme_place(function: Callable[..., Any]) -> Rule:
    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        (axis,), dtype = eqn.params["axes"], np.dtype(eqn.params["index_dtype"])
        return lambda x: function(x, axis=axis).astype(dtype)

    return rule


def _accumulation(ufunc: Any) -> Rule:
    def rule(eqn: JaxprEqn, program: Enclosing) -> Call:
        _refuse_floats(eqn.invars[0], program)
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        dtype = dtype_of(eqn.outvars[0])
        if not reverse:
            return lambda x: ufunc.accumulate(x, axis=axis, dtype=dtype)
        return lambda x: np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=dtype), axis)

    return rule


def _product(eqn: JaxprEqn, program: Enclosing) -> Call:
    """Of matrices."""
    _refuse_floats(eqn.invars[0], program)
    (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    dtype = dtype_of(eqn.outvars[0])
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    of_left = [next(letters) for _ in shape_of(eqn.invars[0])]
    of_right = [next(letters) for _ in shape_of(eqn.invars[1])]
    for i, j in (*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)):
        of_right[j] = of_left[i]
    batch = [of_left[i] for i in left_batch]
    free = [x for i, x in enumerate(of_left) if i not in (*left, *left_batch)]
    free += [x for i, x in enumerate(of_right) if i not in (*right, *right_batch)]
    text = f"{''.join(of_left)},{''.join(of_right)}->{''.join(batch + free)}"
    return lambda a, b: np.einsum(text, a.astype(dtype), b.astype(dtype))


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _folded(key: Any, data: Any) -> Any:
    """`fold_in`: Threefry-2x32 of twenty rounds (Salmon et al. 2011)."""
    first, second = np.moveaxis(words_of_key(key), -1, 0)
    key_words = first, second, first ^ second ^ np.uint32(0x1BD11BDA)
    x = first + np.zeros(data.shape, np.uint32)
    y = data.astype(np.uint32) + second
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            x = x + y
            y = (y << np.uint32(by)) | (y >> np.uint32(32 - by))
            y = x ^ y
        x = x + key_words[(group + 1) % 3]
        y = y + key_words[(group + 2) % 3] + np.uint32(group + 1)
    return key_of_words(np.stack([x, y], axis=-1))


RULES: dict[str, Rule] = {
    "add": _exact(np.add),
    "sub": _exact(np.subtract),
    "mul": _exact(np.multiply),
    "neg": _same(np.negative),
    "abs": _same(np.absolute),
    "sign": _exact(np.sign),
    "floor": _same(np.floor),
    "max": _same(np.maximum),
    "min": _same(np.minimum),
    "and": _same(np.bitwise_and),
    "or": _same(np.bitwise_or),
    "xor": _same(np.bitwise_xor),
    "not": _same(np.invert),
    "eq": _same(np.equal),
    "ne": _same(np.not_equal),
    "lt": _same(np.less),
    "le": _same(np.less_equal),
    "gt": _same(np.greater),
    "ge": _same(np.greater_equal),
    "lt_to": _of_integers(np.less),
    "le_to": _of_integers(np.less_equal),
    "shift_left": _same(np.left_shift),
    "shift_right_arithmetic": _same(_shift_right_arithmetic),
    "shift_right_logical": _same(_shift_right_logical),
    "div": _exact(_quotient),
    "rem": _exact(_remainder),
    "clamp": _same(_clamped),
    "select_n": _same(_selected),
    "population_count": _counted_bits,
    "clz": _leading_zeros,
    "integer_pow": _integer_power,
    "convert_element_type": _converted,
    "bitcast_convert_type": _bits_as,
    "reduce_sum": _reduction(np.add),
    "reduce_prod": _reduction(np.multiply),
    "reduce_max": _reduction(np.maximum),
    "reduce_min": _reduction(np.minimum),
    "reduce_and": _reduction(np.bitwise_and),
    "reduce_or": _reduction(np.bitwise_or),
    "argmax": _extreme_place(np.argmax),
    "argmin": _extreme_place(np.argmin),
    "cumsum": _accumulation(np.add),
    "cumprod": _accumulation(np.multiply),
    "cummax": _accumulation(np.maximum),
    "cummin": _accumulation(np.minimum),
    "dot_general": _product,
    "random_fold_in": _same(_folded),
    "random_unwrap": _same(words_of_key),
    "random_wrap": _same(key_of_words),
}
