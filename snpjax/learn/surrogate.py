"""Surrogate gradients: what the derivative of firing is taken to be, whose true one is 0."""

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree


class AbstractSurrogate(eqx.Module):
    """How firing depends on the margin to a guard.

    The margin of a rule is positive iff its guard holds, at whole numbers at least 1/2 away from 0:
    k - l + 1/2 for k >= l, the least of both sides for an interval, 1/2 less the distance to the
    nearest accepted count for a periodic guard, the largest of its terms for a union. Where it has
    a kink, its derivative is the mean of those on both sides. Firing itself stays 0 or 1, but for
    `Smooth`.

    `beta` says how fast the slope falls off, `height` what it is at 0. A rule that consumes c
    spikes subtracts c times its slope from the derivative of what is left, in every step: with a
    height of about 1 / c gradients neither explode nor vanish over many steps.
    """

    @abc.abstractmethod
    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The derivative of firing with respect to the margin.

        **Arguments:**

        - `margin`: distances from the guard, positive where it holds.

        **Returns:** the slopes, of the same shape.
        """


class FastSigmoid(AbstractSurrogate):
    """height / (1 + beta |m|)^2 (Zenke and Ganguli 2018)."""

    beta: float = eqx.field(static=True, default=1.0)
    height: float = eqx.field(static=True, default=1.0)

    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.height / (1 + self.beta * jnp.abs(margin)) ** 2


class Arctan(AbstractSurrogate):
    """height / (1 + (beta m)^2), the slope of an arc tangent (Fang et al. 2021)."""

    beta: float = eqx.field(static=True, default=1.0)
    height: float = eqx.field(static=True, default=1.0)

    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.height / (1 + (self.beta * margin) ** 2)


class Triangular(AbstractSurrogate):
    """height max(0, 1 - beta |m|) (Esser et al. 2016)."""

    beta: float = eqx.field(static=True, default=1.0)
    height: float = eqx.field(static=True, default=1.0)

    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return self.height * jnp.maximum(0, 1 - self.beta * jnp.abs(margin))


class StraightThrough(AbstractSurrogate):
    """The same everywhere, as if firing were the margin (Bengio, Leonard, Courville 2013)."""

    height: float = eqx.field(static=True, default=1.0)

    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.full_like(margin, self.height)


class Smooth(AbstractSurrogate):
    """Firing is the logistic function of beta m, m being the margin: no exact system any more, and
    the one surrogate whose gradients are those of what is computed. Nothing is rounded then."""

    beta: float = eqx.field(static=True, default=1.0)

    def slope(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        value = self.value(margin)
        return self.beta * value * (1 - value)

    def value(self, margin: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jax.nn.sigmoid(self.beta * margin)


@eqx.filter_custom_jvp
def fires(
    margin: Float[Array, "*shape"],
    is_fired: Bool[Array, "*shape"],
    share: Float[Array, "*shape"] | Bool[Array, "*shape"],
    surrogate: AbstractSurrogate,
) -> Float[Array, "*shape"]:
    """1 where a rule fired, else 0; the derivative is that share of the surrogate's."""
    del share, surrogate
    return is_fired.astype(margin.dtype)


@fires.def_jvp
def _fires_jvp(primals, tangents):  # pyright: ignore
    margin, is_fired, share, surrogate = primals
    tangent = tangents[0]
    value = is_fired.astype(margin.dtype)
    if tangent is None:
        return value, jnp.zeros_like(value)
    # An infinite margin has no slope, and its tangent none that could be multiplied.
    slope = jnp.where(jnp.isfinite(margin), share.astype(value.dtype) * surrogate.slope(margin), 0)
    return value, slope * tangent


@jax.custom_vjp
def tapped(
    results: PyTree[Float[Array, "..."]],
    emissions: Float[Array, "steps neurons *paths"],
    tap: Float[Array, "three neurons"],
) -> PyTree[Float[Array, "..."]]:
    """The results of runs. The gradient of whatever depends on them in `tap` counts, for each
    neuron, the spikes that it sent, the runs, and those in which it fired in every step from the
    first one on in which it fired in any of them.

    Gradients leave compiled functions, loops and batches without any of them knowing of it.
    """
    del emissions, tap
    return results


def _tapped_fwd(results, emissions, tap):  # pyright: ignore
    del tap
    return results, emissions


def _tapped_bwd(emissions, slopes):  # pyright: ignore
    by_run = emissions.reshape(*emissions.shape[:2], -1)
    fired = by_run != 0
    has_begun = jnp.cumsum(jnp.any(fired, axis=2, keepdims=True), axis=0) > 0
    is_full = jnp.all(fired | ~has_begun, axis=0) & has_begun[-1]
    runs = jnp.full(by_run.shape[1], by_run.shape[2], jnp.float32)
    counts = jnp.sum(by_run, axis=(0, 2)), runs, jnp.sum(is_full, axis=1).astype(jnp.float32)
    return slopes, jnp.zeros_like(emissions), jnp.stack(counts)


tapped.defvjp(_tapped_fwd, _tapped_bwd)


@jax.custom_jvp
def rounded(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The nearest whole number; the derivative is 1 (straight through)."""
    return jnp.round(x)


@rounded.defjvp
def _rounded_jvp(primals, tangents):  # pyright: ignore
    return jnp.round(primals[0]), tangents[0]


def nearest(x: Float[Array, "*shape"], levels: tuple[int, ...]) -> Float[Array, "*shape"]:
    """The nearest of ascending levels, the lower of two that are equally near; the derivative is 1
    (straight through), or 0 further than 1/2 outside, as after rounding."""
    return _nearest(within(x, levels[0] - 0.5, levels[-1] + 0.5), levels)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _nearest(x: Float[Array, "*shape"], levels: tuple[int, ...]) -> Float[Array, "*shape"]:
    allowed = jnp.asarray(levels, x.dtype)
    return allowed[jnp.searchsorted((allowed[1:] + allowed[:-1]) / 2, x)]


@_nearest.defjvp
def _nearest_jvp(levels, primals, tangents):  # pyright: ignore
    return _nearest(primals[0], levels), tangents[0]


def within(
    x: Float[Array, "*shape"], low: Float[Array, "*shape"] | float, most: float = jnp.inf
) -> Float[Array, "*shape"]:
    """`x` in a range; the derivative is 1 up to its very ends, where that of `clip` is 1/2."""
    return jnp.where(x < low, low, jnp.where(x > most, most, x))
