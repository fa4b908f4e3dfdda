"""Initial weights with which populations fire."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Key

from snpjax_formats import AbstractLayout, Sum

from .population import NeuronRange, SpikingPopulation, population_at
from .relaxed import RelaxedSystem
from .weights import WeightSpread, drawn


# What a neuron receives in a run by the initial weights, in guards: the mean, and the standard
# deviation. And from how many sources at least, since most weights round to 0 if they are small; if
# none is negative, the least sum of the weights of a neuron.
_MEAN, _DEVIATION, _SOURCES, _TOTAL = 2.0, 2.0, 4, 3.0


def spread_into(
    population: SpikingPopulation,
    fan_in: float,
    weight_range: tuple[float, float],
    *,
    sent: float = 1.0,
    mean: float,
) -> WeightSpread:
    """How to draw the weights to a population so that it fires in most runs, if each neuron
    receives from `fan_in` sources, which send up to `sent` spikes in a step and `mean` in a run."""
    guards = np.maximum(_firing(population, "low"), _firing(population, "consume"))
    has_rules = len(guards) > 0
    guard = (guards if has_rules else np.full(1, sent * 8, np.float32)).min()
    least, most = weight_range
    most = min(max(abs(least), abs(most)), 1e6)
    # The mean square of a count is about 4/3 of its squared mean, as of a uniform one.
    square = (_DEVIATION * guard) ** 2 / (fan_in * mean**2 * 4 / 3)
    square = max(square, min(_SOURCES / fan_in, 1.0))
    total = _MEAN * guard / mean if has_rules else 0.0  # of the weights of a neuron
    if least >= 0:  # no negative ones balance them
        return WeightSpread(_scale_of(0, max(total, _TOTAL) / fan_in, most), 1.0)
    scale = _scale_of(1, square, most)
    share = total / (2 * fan_in * max(_moments(scale, most)[0], 1e-9))
    return WeightSpread(scale, 0.5 + min(share, 0.4))


def weights_of(
    model: RelaxedSystem,
    places: Sequence[NeuronRange],
    projections: Sequence[tuple[int, int]],
    steps: int,
    scale: float | None,
    key: Key[Array, ""],
) -> AbstractLayout:
    """The synapses of a network with random weights, by default such that neurons fire.

    An input is taken to send half of the most that its rules send at once, or a spike in every
    other step if they send one by one; a hidden neuron to fire twice.

    **Arguments:**

    - `model`: a relaxed system, whose synapses are a `Sum` of projections.
    - `places`, `projections`: its populations, and from which to which of them each leads.
    - `steps`: the length of a run.
    - `scale`: the standard deviation of all weights, instead of one for each projection.
    - `key`: a typed PRNG key; it is consumed.

    **Returns:** the synapses.
    """
    weights, rest = eqx.partition(model.synapses, eqx.is_inexact_array)
    assert isinstance(model.synapses, Sum) and isinstance(weights, Sum)
    populations = [population_at(model, place) for place in places]
    spreads: list[WeightSpread] = []
    for (source, target), part, own in zip(
        projections, model.synapses.parts, weights.parts, strict=True
    ):
        if scale is None:
            with jax.ensure_compile_time_eval():  # also where the caller is traced
                edges = len(part.edges())
            fan_in = max(edges / max(places[target].size, 1), 1.0)
            sent = _firing(populations[source], "produce").max(initial=1.0)
            is_input = all(t != source for _, t in projections)
            mean = 2 * sent if not is_input else sent / 2 if sent > 1 else steps / 2
            given = populations[target], fan_in, model.weight_range
            spread = spread_into(*given, sent=sent, mean=mean)
        else:
            spread = WeightSpread(scale)
        spreads += [spread] * len(jax.tree.leaves(own))
    leaves, tree = jax.tree.flatten(weights)
    found = [
        jnp.where(is_one, drawn(own_key, x.shape, model.weight_range, spread), 0)
        for x, is_one, spread, own_key in zip(
            leaves,
            jax.tree.leaves(model.is_synapse),
            spreads,
            jr.split(key, len(leaves)),
            strict=True,
        )
    ]
    return eqx.combine(jax.tree.unflatten(tree, found), rest)


def _firing(population: SpikingPopulation, name: str) -> np.ndarray:
    """The entries of a table for the rules that send spikes."""
    model = population.model
    own = slice(population.slots), slice(population.start, population.start + population.channels)
    with jax.ensure_compile_time_eval():  # also where the caller is traced
        table, produce, is_slot = (
            np.asarray(x)[own] for x in (getattr(model, name), model.produce, model.is_slot)
        )
    return table[is_slot & (produce > 0)]


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
