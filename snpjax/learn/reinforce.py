"""Gradients of expectations over random choices, from the choices that were drawn."""

import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float


def reinforce_loss(
    reward: Float[Array, " paths"], log_probability: Float[Array, " paths"]
) -> Float[Array, ""]:
    """A loss to minimise, whose gradient is an unbiased estimate of minus that of the expected
    reward, from choices alone.

    Each path is compared with the mean reward of the others (leave one out).

    **Arguments:**

    - `reward`: `(paths,)` the reward of each path, 2 or more; no gradient flows back through it.
    - `log_probability`: `(paths,)` `RelaxedSolution.log_probability` of the same paths.

    **Returns:** minus the mean reward.

    **Raises:** `ValueError` for fewer than two paths, or shapes that differ.

    ??? cite "Source"
        Williams 1992 (REINFORCE); Kool, van Hoof, Welling 2019 (leave one out).
    """
    if reward.ndim != 1 or reward.shape != log_probability.shape or len(reward) < 2:
        raise ValueError(
            f"`reward` has the shape {reward.shape} and `log_probability` "
            f"{log_probability.shape}. Give one number for each path in both, and 2 paths or more, "
            "to compare them."
        )
    reward = lax.stop_gradient(reward)
    others = (jnp.sum(reward) - reward) / (len(reward) - 1)
    by_choice = (reward - others) * log_probability
    return -jnp.mean(reward) - jnp.mean(by_choice - lax.stop_gradient(by_choice))
