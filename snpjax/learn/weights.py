"""Which integers weights may be, and what they are at first."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from .surrogate import nearest, rounded, within


class WeightSet(eqx.Module):
    """The integers that weights may be.

    - `range`: the smallest and the largest one.
    - `levels`: the only ones allowed, ascending; `None` for all in the range.
    """

    range: tuple[float, float] = eqx.field(static=True)
    levels: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def nearest(self, weight: Float[Array, "..."]) -> Float[Array, "..."]:
        """The nearest integer, also out of the range, or level; see `quantise`.

        **Arguments:**

        - `weight`: real numbers.
        """
        return _nearest(self, weight)

    def exact(self, weight: Float[Array, "..."]) -> Float[Array, "..."]:
        """The weights of an exact run; derivatives pass straight through.

        **Arguments:**

        - `weight`: real numbers.
        """
        return _exact(self, weight)


@eqx.filter_jit
def _nearest(allowed: WeightSet, weight: Float[Array, "..."]) -> Float[Array, "..."]:
    return rounded(weight) if allowed.levels is None else nearest(weight, allowed.levels)


@eqx.filter_jit
def _exact(allowed: WeightSet, weight: Float[Array, "..."]) -> Float[Array, "..."]:
    nearest = allowed.nearest(weight)
    return nearest if allowed.levels is not None else within(nearest, *allowed.range)


def check_range(weight_range: tuple[float, float]) -> None:
    """Refuse a range that is not of two whole or infinite numbers."""
    low, most = weight_range
    if not low <= most or any(math.isfinite(x) and x != round(x) for x in weight_range):
        raise ValueError(f"`weight_range` is ({low}, {most}). Give two whole numbers, ascending.")


class WeightSpread(NamedTuple):
    """How weights are drawn: the standard deviation of a normal distribution, and the share that is
    made positive; `None` leaves the signs."""

    scale: float
    positive: float | None = None


def drawn(
    key: Key[Array, ""],
    shape: tuple[int, ...],
    weight_range: tuple[float, float],
    spread: WeightSpread | float | None,
) -> Float[Array, "..."]:
    """Random weights in a range: normal with a spread or a standard deviation, and clipped; uniform
    without."""
    check_range(weight_range)
    low, most = weight_range
    if spread is None:
        return jr.uniform(key, shape, minval=low, maxval=most)
    if not isinstance(spread, WeightSpread):
        spread = WeightSpread(spread)
    chances = None if spread.positive is None else jr.uniform(jr.fold_in(key, 1), shape)
    return _spread(jr.normal(key, shape), chances, spread, low, most)


@jax.jit
def _spread(
    normal: Float[Array, "..."],
    chances: Float[Array, "..."] | None,
    spread: WeightSpread,
    low: float,
    most: float,
) -> Float[Array, "..."]:
    """Normal numbers with another deviation, share of positive ones and range, as one program for
    all of these. What draws them is not part of it: fused with a product it draws other bits."""
    weights = spread.scale * normal
    if chances is not None and spread.positive is not None:
        weights = jnp.where(chances < spread.positive, jnp.abs(weights), -jnp.abs(weights))
    return jnp.clip(weights, low, most)
