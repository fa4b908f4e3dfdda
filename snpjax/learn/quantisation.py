"""Weights from a set of integers."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .relaxed import AbstractSpikingModel, RelaxedSystem


ModelT = TypeVar("ModelT", bound=PyTree)

#: Weights of -1, 0 and 1.
TERNARY = (-1, 0, 1)

#: Weights of -1 and 1, so that no synapse disappears.
BINARY = (-1, 1)


def bit_levels(bits: int) -> tuple[int, ...]:
    """The integers of a number of bits, in two's complement.

    **Arguments:**

    - `bits`: the bits of a weight, from 1 to 16.

    **Returns:** the integers from -2^(bits - 1) to 2^(bits - 1) - 1, ascending: -4 to 3 for 3.

    **Raises:** `ValueError` for another number of bits.
    """
    if not 1 <= bits <= 16:
        raise ValueError(f"`bits` is {bits}. Pass 1 to 16.")
    return tuple(range(-(2 ** (bits - 1)), 2 ** (bits - 1)))


def _makes_model(x: PyTree) -> bool:
    """Whether the relaxed system of a model is made of other parameters than its own."""
    return isinstance(x, AbstractSpikingModel) and "model" not in {f.name for f in fields(x)}


def quantise(model: ModelT, levels: Iterable[int]) -> ModelT:
    """Restrict the weights of a model to a set of integers, during training and in the export.

    The parameters stay real numbers. Every run computes with the nearest level of each, the lower
    of two that are equally near, and passes gradients straight through: 1, or 0 for a parameter
    further than 1/2 outside the range of the levels. `to_system` exports the levels themselves, so
    the exported weights are always in the set. Quantise a model before training for training aware
    of quantisation, and after it for rounding alone.

    **Arguments:**

    - `model`: a relaxed system, layer or network, or a pytree of them, such as a tuple of layers.
    - `levels`: the integers that a weight may be, two or more, in any order: `TERNARY`, `BINARY`,
      `bit_levels(4)`, or others, such as `(-4, -2, -1, 0, 1, 2, 4)`. Without 0, every synapse keeps
      a weight. The weights are signed if a level is negative.

    **Returns:** the model with these levels as `weight_levels` and their range as `weight_range`.
    Parameters outside the range are moved to its ends, so that all have a gradient.

    **Raises:** `ValueError` for fewer than two levels, levels that are not integers below 2^24, and
    a model without synapses to quantise.

    ??? cite "Source"
        Courbariaux, Bengio, David 2015 (binary); Li, Zhang, Liu 2016 (ternary). This differs from
        them in that there is no scale: thresholds of guards take its place.
    """
    given = list(levels)
    allowed = tuple(sorted({int(level) for level in given}))
    if len(allowed) < 2 or any(level != int(level) or abs(level) >= 2**24 for level in given):
        raise ValueError(f"The levels are {given}. Pass two or more different integers below 2^24.")
    low, high = float(allowed[0]), float(allowed[-1])

    def of_one(model: PyTree) -> PyTree:
        if not isinstance(model, RelaxedSystem):
            return model
        weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
        clipped = jax.tree.map(
            lambda x, is_one: jnp.where(is_one, jnp.clip(x, low, high), x),
            weights,
            model.is_synapse,
        )
        synapses = eqx.combine(clipped, rest)
        return replace(model, synapses=synapses, weight_levels=allowed, weight_range=(low, high))

    def is_system(x: PyTree) -> bool:
        return isinstance(x, RelaxedSystem)

    found = [x for x in jax.tree.leaves(model, is_leaf=is_system) if is_system(x)]
    own = [eqx.filter(x.synapses, eqx.is_inexact_array) for x in found]
    makes_own = any(map(_makes_model, jax.tree.leaves(model, is_leaf=_makes_model)))
    if makes_own or not found or not all(map(jax.tree.leaves, own)):
        raise ValueError(
            f"A {type(model).__name__} has no weights that are quantised. Pass a `RelaxedSystem`, "
            "a `SpikingLayer`, a `SpikingNetwork` or a tuple of layers."
        )
    return jax.tree.map(of_one, model, is_leaf=is_system)
