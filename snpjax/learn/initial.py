"""Initial weights with which populations fire."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Key

from snpjax_formats import AbstractLayout, Sum

from .population import NeuronRange
from .relaxed import RelaxedSystem


# What a neuron receives in a run by the initial weights, in guards: the mean, and the standard
# deviation. And from how many sources at least, since most weights round to 0 if they are small; if
# none is negative, the least sum of the weights of a neuron.
_MEAN, _DEVIATION, _SOURCES, _TOTAL = 2.0, 2.0, 4, 3.0


class WeightSpread(NamedTuple):
    """How the weights of a projection are drawn: the standard deviation of a normal distribution,
    and the share that is made positive; `None` leaves the signs."""

    scale: float
    positive: float | None = None


def spreads_of(
    model: RelaxedSystem,
    places: Sequence[NeuronRange],
    projections: Sequence[tuple[int, int]],
    steps: int,
) -> list[WeightSpread]:
    """How to draw the weights of each projection so that its target fires in most runs.

    An input is taken to send half of the most that its rules send at once, or a spike in every
    other step if they send one by one; a hidden neuron to fire twice.
    """
    with jax.ensure_compile_time_eval():  # also where the caller is traced
        tables = [np.asarray(x) for x in (model.low, model.consume, model.produce, model.is_slot)]
        assert isinstance(model.synapses, Sum)
        sizes = [len(part.edges()) for part in model.synapses.parts]
    low, consume, produce, is_slot = tables

    def of(place: NeuronRange, table: np.ndarray) -> np.ndarray:
        own = slice(place.slots), place.neurons
        return table[own][is_slot[own] & (produce[own] > 0)]

    spreads = []
    for (source, target), edges in zip(projections, sizes, strict=True):
        sent = of(places[source], produce).max(initial=1.0)
        is_input = all(t != source for _, t in projections)
        mean = 2 * sent if not is_input else sent / 2 if sent > 1 else steps / 2
        guards = np.maximum(of(places[target], low), of(places[target], consume))
        guard = guards.min() if len(guards) else sent * 8  # a population that only counts
        fan_in = max(edges / max(places[target].size, 1), 1.0)
        least, most = model.weight_range
        most = min(max(abs(least), abs(most)), 1e6)
        # The mean square of a count is about 4/3 of its squared mean, as of a uniform one.
        square = (_DEVIATION * guard) ** 2 / (fan_in * mean**2 * 4 / 3)
        square = max(square, min(_SOURCES / fan_in, 1.0))
        total = _MEAN * guard / mean if len(guards) else 0.0  # of the weights of a neuron
        if least >= 0:  # no negative ones balance them
            scale = _scale_of(0, max(total, _TOTAL) / fan_in, most)
            spreads.append(WeightSpread(scale, 1.0))
            continue
        scale = _scale_of(1, square, most)
        share = total / (2 * fan_in * max(_moments(scale, most)[0], 1e-9))
        spreads.append(WeightSpread(scale, 0.5 + min(share, 0.4)))
    return spreads


def drawn(
    model: RelaxedSystem, spreads: Sequence[WeightSpread], key: Key[Array, ""]
) -> AbstractLayout:
    """The synapses with random weights.

    **Arguments:**

    - `model`: a relaxed system, whose synapses are a `Sum` of projections.
    - `spreads`: how the weights of each projection are drawn.
    - `key`: a typed PRNG key; it is consumed.

    **Returns:** the synapses.
    """
    weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(weights)
    assert isinstance(weights, Sum)
    own = [s for part, s in zip(weights.parts, spreads, strict=True) for _ in jax.tree.leaves(part)]
    low, most = model.weight_range

    def draw(key: Array, shape: tuple[int, ...], spread: WeightSpread) -> Array:
        found = spread.scale * jr.normal(key, shape)
        if spread.positive is not None:
            is_positive = jr.uniform(jr.fold_in(key, 1), shape) < spread.positive
            found = jnp.where(is_positive, jnp.abs(found), -jnp.abs(found))
        return jnp.clip(found, low, most)

    found = [
        jnp.where(is_one, draw(own_key, x.shape, spread), 0)
        for x, is_one, spread, own_key in zip(
            leaves,
            jax.tree.leaves(model.is_synapse),
            own,
            jr.split(key, len(leaves)),
            strict=True,
        )
    ]
    return eqx.combine(jax.tree.unflatten(tree, found), rest)


def _moments(scale: float, most: float) -> tuple[float, float]:
    """The mean absolute value and the mean square of a normal number that is rounded and clipped to
    `most`."""
    first = second = 0.0
    for number in range(1, min(int(most), math.ceil(8 * scale) + 1) + 1):
        chance = math.erfc((number - 0.5) / scale / math.sqrt(2))  # of this number or more
        first, second = first + chance, second + (2 * number - 1) * chance
    return first, second


def _scale_of(which: int, wanted: float, most: float) -> float:
    """The scale whose first or second one of `_moments` is wanted, or the nearest up to `most`."""
    low, high = 0.1, max(min(most, 1e3), 1.0)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _moments(middle, most)[which] < wanted else (low, middle)
    return high
