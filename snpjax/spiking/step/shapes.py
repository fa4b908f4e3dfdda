"""The arrays that a step hands on: of one path, or of many with `paths` as the last axis."""

from typing import TypeAlias

from jaxtyping import Array, Bool, Int, Integer


#: A number of every neuron, such as its spikes; whether something holds for it; and its slot.
Counts: TypeAlias = Int[Array, "neurons *paths"]
Flags: TypeAlias = Bool[Array, "neurons *paths"]
Slots: TypeAlias = Integer[Array, "neurons *paths"]
#: Which slots of every neuron apply, and in how many ways each.
Matches: TypeAlias = Bool[Array, "slots neurons *paths"]
PerSlot: TypeAlias = Int[Array, "slots neurons *paths"]
#: A column for every neuron, or for what neurons share: see `SpikingProgram`.
Table: TypeAlias = Int[Array, "slots columns"]
