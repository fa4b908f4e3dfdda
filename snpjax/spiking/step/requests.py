"""Spikes that move to the neurons that ask for them, of the variant `Requests`."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from snpjax_formats.ell import expanded

from ...choice import NO_RULE
from .shapes import Counts, Flags, Matches, Slots


#: Asks for all spikes, in a table of how many are asked for.
ALL_SPIKES = -1


class Moved(NamedTuple):
    """What queries do in a step.

    - `change`: what every neuron gets, less what it gives.
    - `are_conflicting`: neurons that are asked different queries.
    - `is_too_much`: neurons that ask for more than is safe to count.
    """

    change: Counts
    are_conflicting: Flags
    is_too_much: Flags


class RequestedSpikes(eqx.Module):
    """The queries of a system.

    Axes: `pairs` of a neuron that asks and one that is asked; padding names the neuron
    `num_neurons`, which does not exist. `slots` are those of the program. `counts` is how many
    spikes each slot of the neuron that asks is for: `ALL_SPIKES`, or 0 where it asks nothing.
    """

    asking: Int[Array, " pairs"]
    asked: Int[Array, " pairs"]
    counts: Int[Array, "slots pairs"]
    most_asked: int = eqx.field(static=True)  # neurons, by one

    def satisfiable(self, matches: Matches, spikes: Counts) -> Matches:
        """Which of the slots that apply find what they ask for."""
        held = spikes.at[self.asked].get(mode="fill", fill_value=0)
        is_short = expanded(self.counts, matches.ndim) > held[None]
        return matches & ~jnp.zeros_like(matches).at[:, self.asking].max(is_short, mode="drop")

    def moved(self, slots: Slots, spikes: Counts) -> Moved:
        """What the queries of the selected slots move."""
        largest = jnp.iinfo(spikes.dtype).max
        held = spikes.at[self.asked].get(mode="fill", fill_value=0)
        own = slots.at[self.asking].get(mode="fill", fill_value=NO_RULE)
        pair = expanded(jnp.arange(len(own)), own.ndim)
        counts = self.counts.at[jnp.clip(own, 0), pair].get(mode="promise_in_bounds")
        counts = jnp.where(own == NO_RULE, 0, counts)
        amounts = jnp.where(counts == ALL_SPIKES, held, counts)
        zeros = jnp.zeros_like(spikes)
        # Of all that a neuron is asked the least and the most, all spikes being the most.
        keys = jnp.where(counts == ALL_SPIKES, largest, counts)
        most = zeros.at[self.asked].max(keys, mode="drop")
        keys = jnp.where(keys == 0, largest, keys)
        least = (zeros + largest).at[self.asked].min(keys, mode="drop")
        gained = zeros.at[self.asking].add(amounts, mode="drop")
        is_safe = amounts <= largest // (2 * self.most_asked)
        return Moved(
            change=gained - jnp.minimum(most, spikes),
            are_conflicting=(most > 0) & (most != least),
            is_too_much=jnp.zeros(spikes.shape, bool).at[self.asking].max(~is_safe, mode="drop"),
        )
