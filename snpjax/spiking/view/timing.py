"""What is in flight, and how long ago references emitted: the state of variants of time."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from ..._text.lines import Table
from ..lower.timed_columns import DelayColumns, ScheduleColumns
from ..model.system import SpikingSystem
from ..model.timed_variants import DendriticDelays, ScheduledSynapses, SynapseDelays


if TYPE_CHECKING:
    from ..model.population import AnySystem


def has_delays(system: "AnySystem") -> bool:
    """Whether spikes of a system may be in flight."""
    return isinstance(system.variant, SynapseDelays | DendriticDelays)


def in_flight(
    system: "AnySystem", state: Any, size: int
) -> Int[np.ndarray, "delays configurations neurons"]:
    """What arrives at each neuron in 1, 2, ... steps, in the states of `size` configurations, which
    are last; no row where no synapse has a delay."""
    found = np.zeros((0, size, system.num_neurons), np.int64)
    columns = None
    if has_delays(system):
        assert isinstance(system, SpikingSystem)
        assert isinstance(system.variant, SynapseDelays | DendriticDelays)
        columns = DelayColumns.of(system, system.variant)
    if columns is not None:
        targets = np.unique(columns.edges.target)
        found = np.zeros((int(columns.delay.max()), size, system.num_neurons), np.int64)
        found[..., targets] = np.moveaxis(np.asarray(state)[: len(found), : len(targets)], 1, 2)
    return found


def in_words(
    timers: Int[np.ndarray, " neurons"], due: Int[np.ndarray, "delays neurons"]
) -> list[str]:
    """What is told of each neuron of one configuration after its spikes: ` (closed 1, 2 due in
    3)`, or nothing."""
    found = []
    for i, timer in enumerate(timers.tolist()):
        parts = [f"closed {timer}"] if timer else []
        parts += [f"{k} due in {n}" for n, k in enumerate(due[:, i].tolist(), start=1) if k]
        found.append(f" ({', '.join(parts)})" if parts else "")
    return found


def ages(
    system: "AnySystem", state: Any, size: int
) -> Int[np.ndarray, "configurations neurons"] | None:
    """How many steps ago each reference of a schedule last emitted, as far as it matters, when the
    next step is made; 0 for others. `None` where there is no reference."""
    if not isinstance(system.variant, ScheduledSynapses):
        return None
    assert isinstance(system, SpikingSystem)
    columns = ScheduleColumns.of(system, system.variant)
    if columns is None or not len(columns.neurons):
        return None
    found = np.zeros((size, system.num_neurons), np.int64)
    found[:, columns.neurons] = np.asarray(state)[: len(columns.neurons)].T
    return found


def timing_tables(system: "AnySystem", state: Any, size: int) -> dict[str, Table]:
    """The state of a variant of time as tables with a column for every neuron."""
    tables = {}
    for number, spikes in enumerate(in_flight(system, state, size), start=1):
        name = f"due_in_{number}"
        words, mark = f"{{}} due in {number}", f"({{}} in {number})"
        tables[name] = Table(name, spikes, words=words, mark=mark)
    emitted = ages(system, state, size)
    if emitted is not None:
        tables["emitted_ago"] = Table(
            "emitted_ago", emitted, words="emitted {} ago", mark="({} ago)"
        )
    return tables
