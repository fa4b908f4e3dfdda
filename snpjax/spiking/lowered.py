"""A system lowered for running: its machine, and how long that needs no look at overflows."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..machine import Lowered
from .columns import Columns, columns_of
from .growing import Capacity, lower_growing
from .lower import LayoutLike, lower_columns
from .machine import GrowingMachine, SpikingMachine
from .system import SpikingSystem
from .transition import Transition


if TYPE_CHECKING:
    from .population import PopulationSystem
    from .solution import Solution


def lowered(
    system: SpikingSystem,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    faithful: bool,
    capacity: Capacity | None,
) -> "Lowered[Solution]":
    """A system of single neurons.

    **Raises:** `ValueError` for a layout of a system that divides or buds, and a capacity of any
    other one.
    """
    if system.is_growing:
        if layout != "auto":
            raise ValueError(
                f"`layout` is {layout!r}, but the synapses of a system that divides or buds are a "
                "list. Leave `layout` out; `capacity=` says how much room there is."
            )
        program = lower_growing(
            system, capacity=Capacity() if capacity is None else capacity, count_dtype=count_dtype
        )
        return Lowered(system, GrowingMachine(program))
    if capacity is not None:
        raise ValueError(
            "`capacity` is for systems that divide or bud, and in this one neurons stay as many. "
            "Leave it out."
        )
    if isinstance(layout, Capacity):
        raise TypeError("`layout` is a Capacity. Pass it as `capacity=`.")
    has_rows = isinstance(layout, Transition)
    columns = columns_of(system, faithful=faithful or has_rows)
    return lowered_columns(
        system,
        columns,
        layout,
        count_dtype,
        is_numbered=faithful or has_rows or columns.table.families is None,
        rows_of=system if has_rows else None,
    )


def lowered_columns(
    system: "SpikingSystem | PopulationSystem",
    columns: Columns,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    *,
    is_numbered: bool,
    rows_of: SpikingSystem | None = None,
) -> "Lowered[Solution]":
    """A system in columns, whose neurons stay as many."""
    program = lower_columns(columns, layout=layout, count_dtype=count_dtype, rows_of=rows_of)
    return Lowered(
        system,
        SpikingMachine(program),
        is_numbered,
        columns.safe_steps(np.dtype(program.initial.dtype)),
        SpikingMachine(replace(program, may_overflow=False)),
        (columns.table.num_rules, columns.num_choosers),
    )
