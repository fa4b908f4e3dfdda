"""Delays of synapses that are learned."""

from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..weights import WeightSet
from .abstract import AbstractSynapses, SynapseList


class LearnedDelays(AbstractSynapses):
    """Synapses whose spikes travel for a learned number of steps, one of a finite set.

    The logits choose: the forward pass takes the delay with the largest one, the first of equal
    ones, and the derivative is that of the softmax over copies of the synapses, one for each delay
    (straight through). Spikes that travel meet no closed neuron. The exact system delays them by
    neurons in between, each of which sends on in the next step what it received.

    - `logits`: `(delays, *shape)` where `shape` is that of the weights, or `(sources,)`.

    ??? cite "Source"
        Hammouamri, Khalfaoui-Hassani, Masquelier 2024 learn positions of weights in time by an
        interpolation that becomes sharper. This differs from it: the forward pass has integer
        delays from the beginning.
    """

    synapses: AbstractSynapses
    logits: Float[Array, "delays ..."]
    delays: tuple[int, ...] = eqx.field(static=True)
    per: Literal["weight", "source"] = eqx.field(static=True)

    def __init__(
        self,
        synapses: AbstractSynapses,
        delays: Sequence[int],
        *,
        per: Literal["weight", "source"] = "weight",
    ):
        """**Arguments:**

        - `synapses`: the synapses without delays.
        - `delays`: the delays among which one is chosen, in steps of 0 or more. Logits are 0 at
          first, so that the first delay is chosen.
        - `per`: what has a delay of its own, each `"weight"` or each `"source"`. Synapses that
          share a weight share its delay.

        **Raises:** `ValueError` for delays that are negative, repeated or missing, for synapses
        that have delays, and for synapses without weights under `per="weight"`.
        """
        given = tuple(int(delay) for delay in delays)
        if not given or min(given) < 0 or len(set(given)) < len(given):
            raise ValueError(f"`delays` is {given}. Give different numbers of 0 or more.")
        if synapses.lag:
            raise ValueError("The synapses have delays already. Give all `delays` at once.")
        if per not in ("weight", "source"):
            raise ValueError(f"`per` is {per!r}. Give 'weight' or 'source'.")
        if per == "weight" and not synapses.weight.size:
            raise ValueError("The synapses have no weights. Give `per='source'`.")
        shape = synapses.weight.shape if per == "weight" else (synapses.in_size,)
        self.synapses, self.delays, self.per = synapses, given, per
        self.logits = jnp.zeros((len(given), *shape))

    @property
    def weight(self) -> Float[Array, "..."]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.synapses.weight

    @property
    def allowed(self) -> WeightSet | None:
        return self.synapses.allowed

    @property
    def in_size(self) -> int:
        return self.synapses.in_size

    @property
    def out_size(self) -> int:
        return self.synapses.out_size

    @property
    def channels(self) -> int:
        return self.synapses.channels

    @property
    def lag(self) -> int:
        return max(self.delays)

    def deliver(
        self, train: Float[Array, "steps sources *paths"]
    ) -> Float[Array, "steps targets *paths"]:
        shares = self._shares()
        arriving = jnp.zeros_like(train)
        total = None
        for delay, share in zip(self.delays, shares, strict=True):
            later = _later(train, delay)
            if self.per == "source":
                arriving = arriving + later * share.reshape(-1, *(1,) * (train.ndim - 2))[None]
            else:
                copy = self.synapses.with_weight(self.synapses.weight * share)
                total = copy.deliver(later) + (0 if total is None else total)
        return self.synapses.deliver(arriving) if total is None else total

    def wiring(self) -> SynapseList:
        chosen = np.argmax(np.asarray(self.logits), axis=0)
        if self.per == "source":
            found = self.synapses.wiring()
            return found._replace(delay=np.asarray(self.delays)[chosen[found.source]])
        parts = []
        for number, delay in enumerate(self.delays):
            own = np.asarray(self.synapses.weight) * (chosen == number)
            part = self.synapses.with_weight(jnp.asarray(own)).wiring()
            parts.append(part._replace(delay=np.full_like(part.source, delay)))
        return SynapseList(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _shares(self) -> Float[Array, "delays ..."]:
        """1 for the delay that is chosen, else 0, with the derivative of the softmax."""
        chosen = jnp.argmax(self.logits, axis=0)
        number = jnp.arange(len(self.delays)).reshape(-1, *(1,) * chosen.ndim)
        soft = jax.nn.softmax(self.logits, axis=0)
        return (chosen[None] == number).astype(soft.dtype) + (soft - lax.stop_gradient(soft))


def _later(
    train: Float[Array, "steps sources *paths"], delay: int
) -> Float[Array, "steps sources *paths"]:
    """The train after a number of empty steps, as long as before."""
    kept = max(len(train) - delay, 0)
    padding = (len(train) - kept, 0), *((0, 0),) * (train.ndim - 1)
    return jnp.pad(train[:kept], padding)
