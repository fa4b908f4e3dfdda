"""Adam with a rate that falls to 0, which needs no other library."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree


class AdamState(NamedTuple):
    """How many updates there were, and moving means of gradients and of their squares."""

    updates: Int[Array, ""]
    mean: PyTree
    square: PyTree


class Adam(eqx.Module):
    """Adam, whose learning rate follows half a cosine from `rate` down so that it reaches 0 at the
    end; an optimiser for `fit`.

    - `rate`: the learning rate at first.
    - `updates`: after how many updates the rate is 0; `None` for those of the call of `fit`.

    ??? cite "Source"
        Kingma and Ba 2015; the schedule is that of Loshchilov and Hutter 2017, without restarts.
    """

    rate: float = eqx.field(static=True, default=0.06)
    updates: int | None = eqx.field(static=True, default=None)

    def init(self, parameters: PyTree) -> AdamState:
        """The state before the first update.

        **Arguments:**

        - `parameters`: a pytree of arrays.

        **Returns:** an `AdamState`.
        """
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return AdamState(jnp.zeros((), jnp.int32), zeros, zeros)

    def update(
        self, slopes: PyTree, state: AdamState, parameters: PyTree = None
    ) -> tuple[PyTree, AdamState]:
        """What to add to the parameters.

        **Arguments:**

        - `slopes`: the gradient.
        - `state`: that of the last update.
        - `parameters`: not used.

        **Returns:** the changes, and the new state.
        """
        del parameters
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, slopes)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state.square, slopes)
        count = state.updates + 1
        number = count.astype(jnp.float32)

        def change(m: Float[Array, "..."], v: Float[Array, "..."]) -> Float[Array, "..."]:
            root = jnp.sqrt(v / (1 - 0.999**number)) + 1e-8
            return -self._rate(state.updates) * m / (1 - 0.9**number) / root

        return jax.tree.map(change, mean, square), AdamState(count, mean, square)

    def _rate(self, count: Int[Array, ""]) -> Float[Array, ""]:
        if self.updates is None:
            return jnp.asarray(self.rate, jnp.float32)
        done = jnp.minimum(count.astype(jnp.float32) / self.updates, 1)
        return self.rate * (1 + jnp.cos(jnp.pi * done)) / 2
