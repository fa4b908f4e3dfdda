"""Normalisation of what arrives at neurons, folded into integers."""

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..synapses.abstract import AbstractSynapses


class Drive(eqx.Module):
    """The mean and the variance of what arrives at the neurons of each channel in a run. It is
    measured, not trained."""

    mean: Float[Array, " channels"]
    variance: Float[Array, " channels"]


class SpikingNorm(eqx.Module):
    """Normalisation of the *drive*: the number of spikes that arrive at a neuron through the
    synapses of its layer in all steps.

    Over the paths of a batch and the neurons of a channel the drive has a mean m and a variance v,
    before weights are rounded. Normalised, it would be offset + scale (drive - m) / sqrt(v + eps).
    An exact system does that up to rounding: the weights are multiplied by scale / sqrt(v + eps),
    clipped and rounded, and the remaining number, rounded, is spikes that the neurons have at first
    or, where it is negative, raises the bounds of their guards. All that a model computes is the
    run of these integers: in training with the statistics of the batch, and with the running ones
    once `inference` is true (`eqx.nn.inference_mode`). The exact system is that of the latter.

    - `scale`, `offset`: trained, in spikes.
    - `running`: the running statistics; `observed` of the container updates them.

    ??? cite "Source"
        Ioffe and Szegedy 2015; Zheng et al. 2021 scale by the threshold. This differs from both: 1.
        the drive of all steps together is normalised, as neurons add up what arrives; 2. weights
        and guards are integers also during training.
    """

    scale: Float[Array, " channels"]
    offset: Float[Array, " channels"]
    running: Drive
    inference: bool
    epsilon: float = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        *,
        scale: float = 8.0,
        offset: float = 0.0,
        epsilon: float = 1e-3,
    ):
        """**Arguments:**

        - `channels`: the number of groups of neurons.
        - `scale`, `offset`: the deviation and the mean of the drive at first, in spikes; those of
          a guard are a good choice.
        - `epsilon`: is added to the variance.

        **Raises:** `ValueError` for a scale or an epsilon that is not positive.
        """
        if scale <= 0 or epsilon <= 0:
            raise ValueError(
                f"`scale` is {scale} and `epsilon` {epsilon}. Give numbers greater than 0."
            )
        self.scale, self.offset = jnp.full(channels, scale), jnp.full(channels, offset)
        self.running = Drive(jnp.zeros(channels), jnp.ones(channels))
        self.inference, self.epsilon = False, epsilon

    def folded(
        self, synapses: AbstractSynapses, drive: Drive
    ) -> tuple[AbstractSynapses, Float[Array, " channels"]]:
        """The synapses with other weights, not yet rounded, and the spikes that neurons have in
        addition, also not.

        **Arguments:**

        - `synapses`: those of the layer.
        - `drive`: what they deliver.
        """
        drive = drive if not self.inference else lax.stop_gradient(drive)
        gain = self.scale / jnp.sqrt(drive.variance + self.epsilon)
        return synapses.scaled(gain), self.offset - gain * drive.mean

    def updated(self, drive: Drive, momentum: float) -> "SpikingNorm":
        """The module with running statistics that have moved towards others.

        **Arguments:**

        - `drive`: the other statistics.
        - `momentum`: how far they move, from 0 to 1.
        """
        found = jax.tree.map(
            lambda old, new: old + momentum * (lax.stop_gradient(new) - old), self.running, drive
        )
        return eqx.tree_at(lambda own: own.running, self, found)


def drive_of(synapses: AbstractSynapses, train: Float[Array, "steps sources *paths"]) -> Drive:
    """The statistics of what synapses deliver with weights that are not rounded."""
    total = jnp.sum(synapses.deliver(train), axis=0).reshape(synapses.channels, -1)
    return Drive(jnp.mean(total, axis=1), jnp.var(total, axis=1))
