"""How the weights of a projection change with the rates at both of its ends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float


#: `products(x, g)`: `x[s] * g[t]` of every edge from s to t, in the order in which weights are
#: stored.
Products: TypeAlias = Callable[
    [Float[Array, " sources"], Float[Array, " targets"]], Float[Array, "..."]
]


@dataclass(frozen=True)
class Plasticity:
    """`weights' = function(weights, products, pre, post)`, after every step, from the rates that
    it led to.

    `pre` and `post` are rates; `weights` and `products(x, g)` have one shape, of which nothing but
    the numbers' own places are to be mixed: a layout may keep them in several arrays.

    **Raises:** `TypeError` for what is no function.
    """

    function: Callable[[Array, Products, Array, Array], Array]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(
                f"`function` of a Plasticity is {self.function!r:.60}. Give a function of "
                "(weights, products, pre, post)."
            )


@dataclass(frozen=True)
class _Decaying:
    """The function of `hebb` and `oja`: a class, so that it can be pickled, and equal rules share
    their programs."""

    rate: float
    alpha: float | None  # of the decay
    low: float | None
    high: float | None

    def __call__(self, weights: Array, products: Products, pre: Array, post: Array) -> Array:
        change = products(pre, post)
        if self.alpha is not None:
            change -= self.alpha * products(jnp.ones_like(pre), post * post) * weights
        weights = weights + self.rate * change
        if self.low is None and self.high is None:
            return weights
        # A slot of padding has products and weight 0, and nothing reads it, whatever it becomes.
        return jnp.clip(weights, self.low, self.high)


def hebb(rate: float, *, low: float | None = None, high: float | None = None) -> Plasticity:
    """The Hebbian learning rule `w + rate * pre * post`.

    **Arguments:**

    - `rate`: the learning rate of one step.
    - `low`, `high`: the bounds to which weights are clipped; `None` for none.

    **Returns:** a `Plasticity` for a projection.

    ??? cite "Source"
        Hebb 1949.
    """
    return Plasticity(_Decaying(rate, None, low, high))


def oja(
    rate: float, alpha: float = 1.0, *, low: float | None = None, high: float | None = None
) -> Plasticity:
    """Oja's learning rule `w + rate * (pre * post - alpha * post^2 * w)`, which keeps weights
    bounded.

    **Arguments:**

    - `rate`: the learning rate of one step.
    - `alpha`: the strength of the decay; larger values give smaller weights.
    - `low`, `high`: the bounds to which weights are clipped; `None` for none.

    **Returns:** a `Plasticity` for a projection.

    ??? cite "Source"
        Oja 1982.
    """
    return Plasticity(_Decaying(rate, alpha, low, high))
