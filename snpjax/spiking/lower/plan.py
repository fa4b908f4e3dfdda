"""What a system needs of each device, before any of it is built."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges, graphs
from snpjax_formats.stored import index_bytes, slot_bucket

from ...scale.mesh import NEURONS
from ..model.population import AnySystem
from ..step.exchange import Exchange
from .host_program import HostProgram, Padding, SynapsePart
from .lower import num_columns
from .partition import emissions_type, part_size


@dataclass(frozen=True)
class Plan:
    """What each device holds and receives where the neurons of a system are split over devices.

    - `neurons`: of a device, with padding.
    - `synapses`, `rules`, `state`: bytes of the synapses that end there, listed in `ELL` unless
      their graph has structure, of the rules, and of a configuration before and after a step.
    - `exchanged`: bytes received in a step, those of the device itself among them; where fewer than
      one neuron in 64 fires and much would be saved, `exchanged_in_lists`.
    """

    neurons: int
    synapses: int
    rules: int
    state: int
    exchanged: int
    exchanged_in_lists: int

    @property
    def nbytes(self) -> int:
        """The bytes on a device, without what a step stores for itself."""
        return self.synapses + self.rules + self.state


def plan(
    system: AnySystem,
    devices: int = 1,
    *,
    paths: int = 1,
    count_dtype: np.dtype | type = np.int32,
) -> Plan:
    """How much memory each of some devices needs for a system, and how much they exchange.

    No graph is drawn and no synapse listed for it. In-degrees that are random are taken to be as
    large as they are likely to be.

    ```python
    plan = snp.spiking.plan(system, devices=8)
    print(plan.nbytes, plan.exchanged)
    ```
    """
    columns, dtype = system.columns(), np.dtype(count_dtype)
    size = part_size(columns.num_neurons, devices)
    padding = Padding.of([columns])
    optional = (padding.has_periods, padding.has_delays, padding.is_renumbered, padding.has_repeats)
    width = num_columns(columns.table, size)
    tables = (4 + sum(optional)) * padding.slots * width * dtype.itemsize
    exchange = Exchange(NEURONS, devices, emissions_type(columns, dtype))
    exchanged = exchange.nbytes(size * paths, paths)
    return Plan(
        neurons=size,
        synapses=_synapses(columns, size, devices, dtype),
        rules=tables + (4 * size if width != size else 0),
        state=2 * size * paths * (2 * dtype.itemsize + 4),
        exchanged=exchanged["table"],
        exchanged_in_lists=exchanged["list"],
    )


def _synapses(columns: HostProgram, size: int, devices: int, dtype: np.dtype) -> int:
    """Bytes of the synapses of a part."""
    degrees, weighs, described = np.zeros(size * devices), False, 0
    for part in columns.parts:
        if isinstance(part.graph, Edges | graphs.AbstractListed):
            degrees[part.target_start :][: part.num_targets] += _in_degrees(part)
            weighs |= _has_weights(part.graph)
        elif isinstance(part.graph, graphs.Intervals):
            rows = size if part.graph.by == "target" else part.num_sources
            described += 8 * len(np.atleast_2d(part.graph.start)) * rows
    most = int(degrees.max(initial=0))
    if most == 0 and described:
        return described
    bytes_per_slot = index_bytes(size * devices) + weighs * dtype.itemsize
    return described + slot_bucket(most, size) * size * bytes_per_slot


def _has_weights(graph: Edges | graphs.AbstractGraph) -> bool:
    return graph.value is not None if isinstance(graph, Edges) else graph.weight_range() != (1, 1)


def _in_degrees(part: SynapsePart) -> "Int[np.ndarray, ' targets'] | float":
    """The sources of each target, or about as many as the target with most has."""
    match part.graph:
        case graphs.RandomInDegree(in_degree=degree):
            return float(degree)
        case graphs.RandomPairs(probability=probability):
            mean = probability * part.num_sources
            # The largest of n draws of about a normal distribution.
            spread = np.sqrt(2 * np.log(max(part.num_targets, 2)) * mean * (1 - probability))
            return float(min(np.ceil(mean + spread), part.num_sources))
    return np.bincount(part.edges.target, minlength=part.num_targets)
