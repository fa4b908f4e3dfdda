"""In- and out-degrees of a system of populations."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from snpjax_formats import graphs

from ..model.population import PopulationSystem
from .host_program import SynapsePart


def degrees_of(
    system: PopulationSystem,
) -> tuple[Int[np.ndarray, " neurons"], Int[np.ndarray, " neurons"]]:
    """How many synapses enter and leave each neuron; graphs that have structure are not listed."""
    entering, leaving = (np.zeros(system.num_neurons, np.int64) for _ in range(2))
    for part in system.columns().parts:
        sources = slice(part.source_start, part.source_start + part.num_sources)
        targets = slice(part.target_start, part.target_start + part.num_targets)
        into, out_of = _degrees(part)
        entering[targets] += into
        leaving[sources] += out_of
    return entering, leaving


def _degrees(part: SynapsePart) -> tuple[np.ndarray, np.ndarray]:
    sizes = part.num_sources, part.num_targets
    match part.graph:
        case graphs.AllToAll() | graphs.OneToOne() as graph:
            graph = replace(graph, weight=1)
            reversed_graph = graph
        case graphs.Intervals() as graph:
            graph = replace(graph, weight=1)
            other = "target" if graph.by == "source" else "source"
            reversed_graph = replace(graph, by=other)
        case graphs.Blocks() as graph:
            is_joined = (graph.weights != 0).astype(np.int32)
            graph, reversed_graph = graphs.Blocks(is_joined), graphs.Blocks(is_joined.T)
        case _:
            edges = part.edges
            ends = zip((edges.target, edges.source), reversed(sizes), strict=True)
            into, out_of = (np.bincount(end, minlength=size) for end, size in ends)
            return into, out_of
    into = graph.arrivals(np.ones(sizes[0]), sizes[1])
    out_of = reversed_graph.arrivals(np.ones(sizes[1]), sizes[0])
    return into.astype(np.int64), out_of.astype(np.int64)
