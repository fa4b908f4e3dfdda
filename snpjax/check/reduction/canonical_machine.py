"""A machine whose configurations are sorted: one stands for all that differ by an exchange of
interchangeable components."""

from typing import Any

import equinox as eqx
import jax.lax as lax
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt

from ...choice import AbstractChoice, Ways
from ...machine import Encoding, Enumerable, Record


class CanonicalMachine(eqx.Module):
    """An enumerable machine that encodes the canonical configuration of a symmetry.

    - `families`: the fields of interchangeable components, see `ColouredGraph.components`. The
      components of each family are sorted by their fields.
    """

    machine: Enumerable
    families: tuple[Int[Array, "components fields"], ...]

    @property
    def encoding(self) -> Encoding:
        return self.machine.encoding

    def init(self) -> PyTree:
        return self.machine.init()

    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        return self.machine.step(state, choice)

    def halted(self, state: PyTree) -> Bool[Array, "*paths"]:
        return self.machine.halted(state)

    def status(self, state: PyTree) -> Any:
        return self.machine.status(state)

    def alternatives(self, state: PyTree) -> Ways:
        return self.machine.alternatives(state)

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        return self.machine.choosers()

    def encode(self, state: PyTree) -> UInt[Array, "fields *paths"]:
        fields = self.machine.encode(state)
        for family in self.families:
            values = fields.at[family].get(mode="promise_in_bounds")
            width = family.shape[1]
            rows = lax.sort([values[:, i] for i in range(width)], dimension=0, num_keys=width)
            for i, row in enumerate(rows):
                fields = fields.at[family[:, i]].set(row, unique_indices=True)
        return fields

    def decode(self, fields: UInt[Array, "fields *paths"]) -> PyTree:
        return self.machine.decode(fields)


def sorted_fields(
    fields: Int[np.ndarray, "fields some"],
    families: tuple[Int[np.ndarray, "components fields"], ...],
) -> Int[np.ndarray, "fields some"]:
    """The canonical fields of some configurations, on the host."""
    fields = fields.copy()
    for family in families:
        values = fields[family]
        order = np.lexsort([values[:, i] for i in reversed(range(family.shape[1]))], axis=0)
        fields[family] = np.take_along_axis(values, order[:, None], axis=0)
    return fields
