"""What output neurons do, and checks of the trains that layers are called with."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .arguments import check_sent


class Response(NamedTuple):
    """What the output population did.

    - `trains`: the spikes that left each neuron in each step.
    - `spikes`: those that are left in it.
    """

    trains: Float[Array, "steps outputs *paths"]
    spikes: Float[Array, "outputs *paths"]

    def paths_first(self) -> "Response":
        """The response with its last axis as the first one."""
        return Response(*(jnp.moveaxis(x, -1, 0) for x in self))


def check_train(
    train: Float[Array, "..."], steps: int, inputs: int, batch_first: bool = False
) -> None:
    """Refuse a train of another number of inputs, or of more steps."""
    is_moved = batch_first and train.ndim == 3
    length, size = (*train.shape, 0, 0)[is_moved : is_moved + 2]
    if not 2 <= train.ndim <= 3 or length > steps or size != inputs:
        where = "first" if batch_first else "third"
        raise ValueError(
            f"`train` has the shape {train.shape}. Give up to {steps} steps of {inputs} neurons, "
            f"and `paths` as a {where} axis if there are several."
            + (batch_hint(train, inputs, batch_first) if train.ndim == 3 else "")
        )
    check_sent(train, "train", lambda: None)


def batch_hint(given: Float[Array, "..."], size: int, batch_first: bool) -> str:
    """How to fix an array whose batch is on the other side than expected; else nothing."""
    if given.ndim < 2 or given.shape[-2 if batch_first else -1] != size:
        return ""
    if batch_first:
        return " The batch is the first axis here: move it, or leave `batch_first` out."
    return " The batch is the last axis here: move it, or make the model with `batch_first=True`."
