"""Gradients of expectations over random choices, from the choices that were drawn."""

import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float


def reinforce(
    reward: Float[Array, " paths"], log_probability: Float[Array, " paths"]
) -> Float[Array, ""]:
    """A value whose gradient is an unbiased estimate of that of the expected reward, from choices
    alone.

    Each path is compared with the mean reward of the others (leave one out).

    **Arguments:**

    - `reward`: `(paths,)` the reward of each path, 2 or more; no gradient flows back through it.
    - `log_probability`: `(paths,)` `RelaxedSolution.log_probability` of the same paths.

    **Returns:** the mean reward.

    **Raises:** `ValueError` for fewer than two paths.

    ??? cite "Source"
        Williams 1992 (REINFORCE); Kool, van Hoof, Welling 2019 (leave one out).
    """
    paths = reward.shape[0]
    if paths < 2:
        raise ValueError(f"`reward` is of {paths} paths. Give 2 or more, to compare them.")
    reward = lax.stop_gradient(reward)
    others = (jnp.sum(reward) - reward) / (paths - 1)
    by_choice = (reward - others) * log_probability
    return jnp.mean(reward) + jnp.mean(by_choice - lax.stop_gradient(by_choice))
