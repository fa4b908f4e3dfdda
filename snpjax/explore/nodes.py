"""Configuration graphs as graphs of networkx."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._text.lines import Table
from .._text.optional import networkx
from .text import configuration_blocks, edge_blocks, lists, node_tables, step_tables


if TYPE_CHECKING:
    import networkx as nx

    from .graph import Graph


def to_networkx(graph: "Graph") -> "nx.MultiDiGraph":
    """The graph as a `networkx.MultiDiGraph`, an edge for every choice.

    Nodes are the numbers of the configurations, with `spikes`, `timers`, `pending` (tuples in the
    order of the neurons), `step`, `depth`, `halting` and `expanded`, and where neurons divide or
    bud `labels` (of the slots, which are the `neurons` there, as far as they are in use); edges
    have `rules` (the rule that each neuron selects, or `None`), `emissions`, and with plasticity
    `subsets` (the number of the subset of synapses that the rule of each takes); the graph has
    `name`, `neurons`, `output`, `stop` (the name of a `Stop`) and `complete`. Where a configuration
    is neither expanded nor halting, more may follow.

    Of a net nodes have the `marking`, edges `transition` (by its number) and `multiplicity`, and
    the graph has the names of `places` and `transitions` and the `rule` of its steps.

    **Raises:** `ImportError` when networkx is not installed, `ValueError` when the edges were not
    kept.
    """
    made = networkx().MultiDiGraph(
        name=graph.schema.title, stop=graph.stop.name, complete=graph.is_complete
    )
    if graph.schema.rule:
        made.graph["rule"] = graph.schema.rule
    made.graph.update({key: tuple(names) for key, names in lists(graph).items()})
    for number, some in configuration_blocks(graph):
        rows = _rows(node_tables(graph, number, some))
        made.add_nodes_from(zip(number.tolist(), rows, strict=True))
    for _, steps in edge_blocks(graph):
        ends = steps.sources.tolist(), steps.targets.tolist()
        made.add_edges_from(zip(*ends, _rows(step_tables(graph, steps)), strict=True))
    return made


def _rows(tables: dict[str, Table]) -> Iterator[dict[str, Any]]:
    """The attributes of every node or edge."""
    columns = map(_values, tables.values())
    return (dict(zip(tables, row, strict=True)) for row in zip(*columns, strict=True))


def _values(table: Table) -> list[Any]:
    """The value of every node or edge: a number or a tuple, `None` for none; of names those that
    there are."""
    values = table.values.tolist()
    if table.values.ndim == 1:
        return values
    if table.values.dtype.kind == "U":
        return [tuple(name for name in row if name) for row in values]
    if table.empty is None:
        return list(map(tuple, values))
    return [tuple(None if x == table.empty else x for x in row) for row in values]
