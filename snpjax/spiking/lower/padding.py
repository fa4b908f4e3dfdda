"""Sizes that programs are padded to, so that systems of similar size share compilations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from snpjax_formats import bucket
from snpjax_formats.buckets import entry_bucket

from ..model.rule_table import ALL, SlotTable
from .host_program import HostProgram


#: Below this many neurons tables and graphs are padded generously, so that small systems share
#: compilations; above it padding would cost more than it saves.
SMALL = 256


def padded_neurons(count: int) -> int:
    """The neurons of a program; many are padded by a sixteenth at most."""
    return bucket(count) if count <= SMALL else entry_bucket(count, count)


@dataclass(frozen=True)
class Padding:
    """The sizes that programs are padded to, the most spikes that a neuron emits, and the tables
    that they have; programs of one padding and one layout have one shape."""

    neurons: int
    slots: int
    outputs: int
    inputs: int
    steps: int
    most: int
    has_periods: bool
    has_delays: bool
    has_families: bool
    is_renumbered: bool
    has_repeats: bool

    @classmethod
    def of(cls, systems: Sequence[HostProgram]) -> "Padding":
        """Room for each of the systems."""

        def most(size: Callable[[HostProgram], int], at_least: int, empty: int = 0) -> int:
            largest = max(map(size, systems), default=0)
            return bucket(largest, at_least=at_least) if largest or not empty else 0

        neurons = padded_neurons(max((c.num_neurons for c in systems), default=0))
        inputs = most(lambda c: len(c.inputs), 4, 1)
        tables = [c.table for c in systems]
        return cls(
            neurons=neurons,
            slots=most(lambda c: c.table.num_slots, 4 if neurons <= SMALL else 1),
            outputs=most(lambda c: len(c.outputs), 4, 1),
            inputs=inputs,
            steps=most(lambda c: len(c.trains), 8) if inputs else 0,
            most=max((int(table.produce.max(initial=0)) for table in tables), default=0),
            has_periods=any((table.period > 1).any() for table in tables),
            has_delays=any(table.delay.any() for table in tables),
            has_families=any((table.consume == ALL).any() for table in tables),
            is_renumbered=any(map(_is_renumbered, tables)),
            has_repeats=any(table.kept is not None for table in tables),
        )


def _is_renumbered(table: SlotTable) -> bool:
    slots = np.arange(table.num_slots)[:, None]
    return bool(((table.number != slots) & (table.low <= table.high)).any())
