"""The pictures of `snpjax.explore`, as files."""

from ...explore import Graph
from ...explore.dot import dot_blocks
from .write import ExportOptions, Files


def dot_files(graph: Graph, options: ExportOptions) -> Files:
    """One file, see `snpjax.explore.dot`; of a graph of any size, although Graphviz will take long
    for many configurations."""
    _ = graph.edge_targets
    return {"": dot_blocks(graph, labels=options.labels)}


def svg_files(graph: Graph, options: ExportOptions) -> Files:
    """One file, see `snpjax.explore.picture`."""
    from ...explore.picture import to_svg

    return {"": [to_svg(graph, labels=options.labels).encode()]}
