"""A system lowered for running: its machine, and how long that needs no look at overflows."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...machine import Lowered
from ..model.system import SpikingSystem
from ..step.machine import GrowingMachine, SpikingMachine
from .host_program import HostProgram, host_program_of
from .lower import LayoutLike, lower_columns
from .lower_division import Capacity, lower_growing
from .transition import Transition


if TYPE_CHECKING:
    from ..model.population import PopulationSystem
    from ..view.solution import Solution, SolutionBatch


def lowered(
    system: SpikingSystem,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    faithful: bool,
    capacity: Capacity | None,
) -> "Lowered[Solution, SolutionBatch]":
    """A system of single neurons."""
    check_options(system, layout, capacity)
    if system.is_growing:
        capacity = Capacity() if capacity is None else capacity
        program = lower_growing(system, capacity=capacity, count_dtype=count_dtype)
        return Lowered(system, GrowingMachine(program))
    has_rows = isinstance(layout, Transition)
    columns = host_program_of(system, faithful=faithful or has_rows)
    return lowered_columns(
        system,
        columns,
        layout,
        count_dtype,
        is_numbered=faithful or has_rows or columns.table.families is None,
        rows_of=system if has_rows else None,
    )


def check_options(system: SpikingSystem, layout: LayoutLike, capacity: Capacity | None) -> None:
    """**Raises:** `ValueError` for a layout of a system that divides or buds, and a capacity of any
    other one; `TypeError` for what is no capacity.
    """
    if isinstance(layout, Capacity):
        raise TypeError("`layout` is a Capacity. Pass it as `capacity=`.")
    if system.is_growing and layout != "auto":
        raise ValueError(
            f"`layout` is {layout!r}, but the synapses of a system that divides or buds are a "
            "list. Leave `layout` out; `capacity=` says how much room there is."
        )
    if capacity is None:
        return
    if not isinstance(capacity, Capacity):
        raise TypeError(f"`capacity` is {capacity!r}. Give a snpjax.Capacity(neurons, synapses).")
    if not system.is_growing:
        raise ValueError(
            "`capacity` is for systems that divide or bud, and in this one the number of neurons "
            "is fixed. Leave it out."
        )


def lowered_columns(
    system: "SpikingSystem | PopulationSystem",
    columns: HostProgram,
    layout: LayoutLike,
    count_dtype: np.dtype | type | None,
    *,
    is_numbered: bool,
    rows_of: SpikingSystem | None = None,
) -> "Lowered[Solution, SolutionBatch]":
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
