"""Gradients of expectations over random choices, from the choices that were drawn."""

import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float


def reinforce(
    reward: Float[Array, " paths"], log_probability: Float[Array, " paths"]
) -> Float[Array, ""]:
    """A number whose gradient estimates that of the expected reward without bias, by the choices
    alone (REINFORCE, Williams 1992); each path is compared with the mean of the others (leave one
    out: Kool, van Hoof, Welling 2019). Its value is the mean reward.

    **Arguments:**

    - `reward`: of each path, 2 or more; nothing flows back through it.
    - `log_probability`: `RelaxedSolution.log_probability` of the same paths.

    **Raises:** `ValueError` for fewer than two paths.
    """
    paths = reward.shape[0]
    if paths < 2:
        raise ValueError(f"`reward` is of {paths} paths. Give 2 or more, to compare them.")
    reward = lax.stop_gradient(reward)
    others = (jnp.sum(reward) - reward) / (paths - 1)
    by_choice = (reward - others) * log_probability
    return jnp.mean(reward) + jnp.mean(by_choice - lax.stop_gradient(by_choice))
