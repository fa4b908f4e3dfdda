"""A particle swarm, to compare with."""

import functools
from dataclasses import dataclass

import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .distance import Fit


@dataclass(frozen=True)
class Swarm:
    """A global-best particle swarm on the exact expectation.

    - `size`: particles; `iterations`: moves of all of them. ProCell's swarm has 50 and 100, each
      evaluation of which is a simulation; here they are one batch.
    - `inertia`, `own`, `others`: how much of its velocity a particle keeps, and how strongly it is
      drawn to its own best point and to that of all (the constriction values of Clerc and Kennedy
      2002). ProCell tunes them while it runs; this does not.
    """

    size: int = 50
    iterations: int = 100
    inertia: float = 0.7298
    own: float = 1.49618
    others: float = 1.49618

    def __post_init__(self) -> None:
        if self.size < 2 or self.iterations < 1:
            raise ValueError(
                f"a swarm of {self.size} particles and {self.iterations} iterations (give 2 or "
                "more, and 1 or more)"
            )

    def minimise(self, fit: Fit, seed: int) -> tuple[np.ndarray, float, int]:
        """The best point found, its value, and how often the objective was evaluated."""
        weights = jnp.asarray([self.inertia, self.own, self.others], jnp.float64)
        key = jr.key(seed)
        point, value = _swarm(fit, key, weights, self.size, self.iterations)
        return np.asarray(point), float(value), self.size * (self.iterations + 1)


@functools.partial(jax.jit, static_argnums=(3, 4))
def _swarm(fit: Fit, key: Array, weights: Float[Array, "3"], size: int, iterations: int):
    def values(z: Float[Array, "particles numbers"]) -> Float[Array, " particles"]:
        found = jax.vmap(fit.value)(z)
        return jnp.where(jnp.isfinite(found), found, jnp.inf)

    key, place = jr.split(key)
    shape = (size, fit.lower.shape[0])
    z = jr.uniform(place, shape, fit.lower.dtype)

    def move(carry, key: Array):
        z, velocity, best, at_best = carry
        own, others = jr.uniform(key, (2, *shape), z.dtype)
        leader = best[jnp.argmin(at_best)]
        velocity = (
            weights[0] * velocity
            + weights[1] * own * (best - z)
            + weights[2] * others * (leader[None, :] - z)
        )
        moved = z + velocity
        inside = jnp.clip(moved, 0, 1)
        velocity = jnp.where(moved == inside, velocity, 0)  # a wall stops it
        value = values(inside)
        better = value < at_best
        best = jnp.where(better[:, None], inside, best)
        return (inside, velocity, best, jnp.minimum(value, at_best)), None

    carry = (z, jnp.zeros_like(z), z, values(z))
    (_, _, best, at_best), _ = lax.scan(move, carry, jr.split(key, iterations))
    winner = jnp.argmin(at_best)
    return best[winner], at_best[winner]
