"""Weights from a set of integers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from snpjax_formats.articles import kind_of

from .population import SpikingPopulation
from .relaxed import RelaxedSystem
from .synapses.abstract import AbstractSynapses
from .weights import WeightSet


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


def quantise(model: ModelT, levels: Iterable[int]) -> ModelT:
    """Restrict the weights of a model to a set of integers, during training and in the export.

    The parameters stay real numbers. Every run computes with the nearest level of each, the lower
    of two that are equally near, and passes gradients straight through: 1, or 0 for a parameter
    further than 1/2 outside the range of the levels. `to_system` exports the levels themselves, so
    the exported weights are always in the set. Quantise a model before training for training aware
    of quantisation, and after it for rounding alone.

    **Arguments:**

    - `model`: a relaxed system, layer, network or synapses, or a pytree of them, such as a tuple of
      layers. Skips of weight 1 stay, and so do delays; a `SpikingNorm` multiplies weights before
      they become levels.
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
    if isinstance(levels, str):
        raise TypeError(
            f"`levels` is {levels!r}. Pass integers: `TERNARY`, `BINARY`, `bit_levels(4)`, or "
            "others."
        )
    given = np.asarray(list(levels))
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise ValueError(f"`levels` has the shape {given.shape}. Pass a list of integers.")
    given = given.tolist()
    allowed = tuple(sorted({int(level) for level in given if np.isfinite(level)}))
    if len(allowed) < 2 or any(level % 1 or not abs(level) < 2**24 for level in given):
        raise ValueError(f"`levels` is {given}. Pass two or more different integers below 2^24.")
    weights = WeightSet((float(allowed[0]), float(allowed[-1])), allowed)
    found = 0

    def of_one(node: PyTree) -> PyTree:
        nonlocal found
        if isinstance(node, AbstractSynapses):
            found += node.allowed is not None
            return node.quantised(weights)
        if not isinstance(node, RelaxedSystem):
            return node
        real, rest = eqx.partition(node.synapses, eqx.is_inexact_array)
        if not jax.tree.leaves(real):  # a model that makes its weights of others
            raise ValueError(_no_weights(model))
        found += 1
        clipped = jax.tree.map(
            lambda x, is_one: jnp.where(is_one, jnp.clip(x, *weights.range), x),
            real,
            node.is_synapse,
        )
        return replace(
            node,
            synapses=eqx.combine(clipped, rest),
            weight_levels=allowed,
            weight_range=weights.range,
        )

    ends = AbstractSynapses | SpikingPopulation | RelaxedSystem
    changed = jax.tree.map(of_one, model, is_leaf=lambda node: isinstance(node, ends))
    if not found:
        raise ValueError(_no_weights(model))
    return changed


def _no_weights(model: PyTree) -> str:
    return (
        f"{kind_of(model, 'A')} has no weights that are quantised. Pass a `RelaxedSystem`, a "
        "layer, a network or a tuple of layers."
    )
