"""Configuration graphs as graphs of networkx."""

from typing import TYPE_CHECKING

from ..choice import NO_RULE
from ..optional import networkx
from .text import configuration_blocks, edge_blocks, names_of


if TYPE_CHECKING:
    import networkx as nx

    from .graph import Graph


def to_networkx(graph: "Graph") -> "nx.MultiDiGraph":
    """The graph as a `networkx.MultiDiGraph`, an edge for every choice.

    Nodes are the numbers of the configurations, with `spikes`, `timers`, `pending` (tuples in the
    order of the neurons), `step`, `depth`, `halting` and `expanded`, and where neurons divide or
    bud `labels` (of the slots, which are the `neurons` there, as far as they are in use); edges
    have `rules` (the rule that each neuron selects, or `None`) and `emissions`; the graph has
    `name`, `neurons`, `output`, `stop` (the name of a `Stop`) and `complete`. Where a configuration
    is neither expanded nor halting, more may follow.

    **Raises:** `ImportError` when networkx is not installed, `ValueError` when the edges were not
    kept.
    """
    made = networkx().MultiDiGraph(
        name=graph.system.name,
        neurons=tuple(names_of(graph)),
        output=tuple(graph.system.output),
        stop=graph.stop.name,
        complete=graph.is_complete,
    )
    for number, some in configuration_blocks(graph):
        columns = (
            number.tolist(),
            map(tuple, some.spikes.tolist()),
            map(tuple, some.timers.tolist()),
            map(tuple, some.pending.tolist()),
            some.step.tolist(),
            graph.depths[number].tolist(),
            some.is_halting.tolist(),
            (number < graph.num_expanded).tolist(),
        )
        for node, spikes, timers, pending, step, depth, halting, expanded in zip(
            *columns, strict=True
        ):
            made.add_node(
                node,
                spikes=spikes,
                timers=timers,
                pending=pending,
                step=step,
                depth=depth,
                halting=halting,
                expanded=expanded,
            )
        if some.labels is not None:
            for node, labels in zip(number.tolist(), some.labels.tolist(), strict=True):
                made.nodes[node]["labels"] = tuple(label for label in labels if label)
    for _, steps in edge_blocks(graph):
        rules = ([None if r == NO_RULE else r for r in row] for row in steps.rules.tolist())
        made.add_edges_from(
            (source, target, {"rules": tuple(own), "emissions": tuple(emitted)})
            for source, target, own, emitted in zip(
                steps.sources.tolist(),
                steps.targets.tolist(),
                rules,
                steps.emissions.tolist(),
                strict=True,
            )
        )
    return made
