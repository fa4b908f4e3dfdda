"""A net of which only stubborn sets are followed, on the device."""

from typing import Any

import equinox as eqx
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt32

from snpjax_formats import bucket, device_array
from snpjax_formats.ell import expanded

from ...choice import AbstractChoice, NumberedChoice, Ways
from ...machine import Encoding, Record
from ...sleptsov.lower.enumerable import SearchedNet
from ...sleptsov.step.state import NetState
from .net_relations import NetRelations


_BITS = 32


class StubbornNet(eqx.Module):
    """A net that chooses among the enabled transitions of a stubborn set.

    Sets of transitions are bits of words. From every enabled transition the least set is formed
    that is closed: with an enabled transition it has all that disturb it, with another one all that
    can satisfy the first of its conditions that are false. The set with the fewest enabled
    transitions is taken, of those with none that is `watched`; if there is none, all of them.

    - `disturbs`, `repairs`: the sets that transitions bring, the latter by slot of the condition.
    """

    net: SearchedNet
    disturbs: UInt32[Array, "transitions words"]
    repairs: UInt32[Array, "slots transitions words"]
    place: Int[Array, "slots transitions"]
    flip: Int[Array, "slots transitions"]
    bound: Int[Array, "slots transitions"]
    watched: UInt32[Array, " words"]

    @classmethod
    def of(
        cls, net: SearchedNet, relations: NetRelations, watched: Bool[np.ndarray, " transitions"]
    ) -> "StubbornNet":
        num = net.machine.program.num_transitions
        more, slots = num - len(watched), len(relations.place)
        # Sizes in buckets, so that nets share their compilations.
        deeper = bucket(slots, at_least=1) - slots
        wide = ((0, deeper), (0, more))
        least = np.iinfo(np.int32).min
        return cls(
            net,
            device_array(_words(np.pad(relations.disturbs, ((0, more), (0, more))))),
            device_array(_words(np.pad(relations.repairs, (*wide, (0, more))))),
            device_array(np.pad(relations.place, wide), jnp.int32),
            device_array(np.pad(relations.flip, wide), jnp.int32),
            device_array(np.pad(relations.bound, wide, constant_values=least), jnp.int32),
            device_array(_words(np.pad(watched, (0, more)))),
        )

    @property
    def encoding(self) -> Encoding:
        return self.net.encoding

    def init(self) -> NetState:
        return self.net.init()

    def step(self, state: NetState, choice: AbstractChoice) -> tuple[NetState, Record]:
        """The number is one among the transitions of the set."""
        assert isinstance(choice, NumberedChoice)
        enabled = self.net.alternatives(state)[:, 0]
        followed = self._followed(state, enabled)
        number = choice.number.astype(jnp.int32)
        is_before = jnp.cumsum(followed, axis=0, dtype=jnp.int32) <= number[None]
        # All enabled transitions before the chosen one have smaller numbers.
        among_all = jnp.sum(enabled & is_before, axis=0, dtype=jnp.int32)
        own = NumberedChoice(among_all.astype(jnp.uint32), choice.choosers)
        return self.net.step(state, own)

    def halted(self, state: NetState) -> Bool[Array, "*paths"]:
        return self.net.halted(state)

    def status(self, state: NetState) -> Any:
        return self.net.status(state)

    def alternatives(self, state: NetState) -> Ways:
        enabled = self.net.alternatives(state)[:, 0]
        return self._followed(state, enabled)[:, None]

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        return self.net.choosers()

    def encode(self, state: NetState) -> UInt[Array, "fields *paths"]:
        return self.net.encode(state)

    def decode(self, fields: UInt[Array, "fields *paths"]) -> NetState:
        return self.net.decode(fields)

    def _followed(
        self, state: NetState, enabled: Bool[Array, "transitions *paths"]
    ) -> Bool[Array, "transitions *paths"]:
        """The enabled transitions of the stubborn set."""
        num = len(enabled)
        closed = self._closed(self._brought(state.marking, enabled))
        all_enabled = _packed(enabled)
        own = closed & all_enabled[None]
        counts = jnp.sum(lax.population_count(own), axis=1, dtype=jnp.uint32).astype(jnp.int32)
        is_watched = jnp.any(own & expanded(self.watched, own.ndim - 1)[None] != 0, axis=1)
        counts = jnp.where(enabled & ~is_watched, counts, num + 1)
        fewest = jnp.min(counts, axis=0)
        transition = expanded(jnp.arange(num, dtype=jnp.int32), counts.ndim)
        seed = jnp.min(jnp.where(counts == fewest[None], transition, num - 1), axis=0)
        # Gathered by a sum over one: that is the same for one path and for many.
        chosen = jnp.sum(
            jnp.where((transition == seed[None])[:, None], own, 0), axis=0, dtype=jnp.uint32
        )
        return jnp.where((fewest <= num)[None], _unpacked(chosen, num), enabled)

    def _brought(
        self, marking: Int[Array, "places *paths"], enabled: Bool[Array, "transitions *paths"]
    ) -> UInt32[Array, "transitions words *paths"]:
        """The set that each transition brings, with itself."""
        ndim = marking.ndim
        found = jnp.where(enabled[:, None], expanded(self.disturbs, ndim + 1), 0)
        is_open = ~enabled
        for slot in range(len(self.place)):
            tokens = marking.at[self.place[slot]].get(mode="promise_in_bounds")
            holds = (tokens ^ expanded(self.flip[slot], ndim)) >= expanded(self.bound[slot], ndim)
            is_here = is_open & ~holds
            found |= jnp.where(is_here[:, None], expanded(self.repairs[slot], ndim + 1), 0)
            is_open &= holds
        num = len(self.disturbs)
        own = jnp.eye(num, dtype=bool)
        return found | expanded(_packed(own).T, ndim + 1)

    def _closed(
        self, brought: UInt32[Array, "transitions words *paths"]
    ) -> UInt32[Array, "transitions words *paths"]:
        """The transitive closure (Warshall 1962)."""

        def through(middle: Int[Array, ""], sets: Array) -> Array:
            word = lax.dynamic_index_in_dim(sets, middle // _BITS, axis=1, keepdims=False)
            has = (word >> (middle % _BITS).astype(jnp.uint32)) & 1 != 0
            row = lax.dynamic_index_in_dim(sets, middle, axis=0, keepdims=True)
            return sets | jnp.where(has[:, None], row, 0)

        return lax.fori_loop(0, len(brought), through, brought)


def _words(sets: Bool[np.ndarray, "*sets transitions"]) -> UInt32[np.ndarray, "*sets words"]:
    """Sets as bits, the first transition lowest."""
    missing = -sets.shape[-1] % _BITS
    padded = np.pad(sets, [*[(0, 0)] * (sets.ndim - 1), (0, missing)])
    bits = padded.reshape(*sets.shape[:-1], -1, _BITS).astype(np.uint32)
    words = bits << np.arange(_BITS, dtype=np.uint32)
    return np.asarray(np.sum(words, axis=-1, dtype=np.uint32))


def _packed(sets: Bool[Array, "transitions *paths"]) -> UInt32[Array, "words *paths"]:
    """`_words` on the device, transitions first."""
    num, *paths = sets.shape
    padded = jnp.pad(sets, [(0, -num % _BITS), *[(0, 0)] * len(paths)])
    bits = padded.reshape(-1, _BITS, *paths).astype(jnp.uint32)
    place = expanded(jnp.arange(_BITS, dtype=jnp.uint32), bits.ndim - 1)
    return jnp.sum(bits << place[None], axis=1, dtype=jnp.uint32)


def _unpacked(words: UInt32[Array, "words *paths"], num: int) -> Bool[Array, "transitions *paths"]:
    place = expanded(jnp.arange(_BITS, dtype=jnp.uint32), words.ndim)
    bits = (words[:, None] >> place[None]) & 1 != 0
    return bits.reshape(-1, *words.shape[1:])[:num]
