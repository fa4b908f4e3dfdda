"""What a system needs of each device, before any of it is built."""

import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges, graphs
from snpjax_formats.stored import index_bytes, slot_bucket

from ...machine import PartNeeds
from ...scale.mesh import NEURONS
from ..model.population import AnySystem
from ..step.exchange import Exchange
from .host_program import HostProgram, Padding, SynapsePart
from .lower import num_columns
from .partition import emissions_type, part_size


def planned(
    system: AnySystem,
    parts: int,
    *,
    paths: int = 1,
    count_dtype: np.dtype | type | None = None,
    faithful: bool = False,
) -> PartNeeds:
    """How much memory a part of a system needs where it is split into that many, and how much it
    receives. Listed synapses are taken to be stored in `ELL`.

    No graph is drawn and no synapse listed for it. In-degrees that are random are taken to be as
    large as they are likely to be.
    """
    columns, dtype = system.columns(faithful=faithful), np.dtype(count_dtype or np.int32)
    size = part_size(columns.num_neurons, parts)
    padding = Padding.of([columns])
    optional = (padding.has_periods, padding.has_delays, padding.is_renumbered, padding.has_repeats)
    width = num_columns(columns.table, size)
    tables = (4 + sum(optional)) * padding.slots * width * dtype.itemsize
    rules = tables + (4 * size if width != size else 0)
    exchange = Exchange(NEURONS, parts, emissions_type(columns, dtype))
    exchanged = exchange.nbytes(size * paths, paths)
    if not exchange.may_list(size * paths):
        del exchanged["list"]
    return PartNeeds(
        machine_nbytes=_synapses(columns, size, parts, dtype) + rules + size * dtype.itemsize,
        state_nbytes=paths * (size * (2 * dtype.itemsize + 4) + 12),
        exchanged=exchanged,
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
