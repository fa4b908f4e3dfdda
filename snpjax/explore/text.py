"""Configurations and edges of a graph in blocks, for what writes them as lines of text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from .observed import SomeConfigurations, SomeSteps


if TYPE_CHECKING:
    from .graph import Graph

# Blocks hold fewer lines the more numbers stand in a line.
_BLOCKS = (2**12, 2**16)
_NUMBERS_IN_BLOCK = 2**21


def num_columns(graph: "Graph") -> int:
    """How many columns of configurations are ever in use."""
    return graph.observer.written.width(graph.map)


def configuration_blocks(
    graph: "Graph",
) -> Iterator[tuple[Int[np.ndarray, " some"], SomeConfigurations]]:
    """All configurations with their numbers, in blocks."""
    width, cut = num_columns(graph), graph.observer.written.cut
    for block in _blocks(graph, graph.num_configurations, width):
        yield np.arange(block.start, block.stop), cut(graph.configurations(block), width)


def edge_blocks(graph: "Graph") -> Iterator[tuple[Int[np.ndarray, " some"], SomeSteps]]:
    """All edges with their numbers, in blocks. **Raises:** `ValueError` if they were not kept."""
    _ = graph.edge_targets
    width, cut = num_columns(graph), graph.observer.written.cut
    for block in _blocks(graph, graph.num_choices, width):
        yield np.arange(block.start, block.stop), cut(graph.transitions(block), width)


def _blocks(graph: "Graph", size: int, width: int) -> Iterator[slice]:
    is_wide = width * _BLOCKS[1] > _NUMBERS_IN_BLOCK
    block = _BLOCKS[0] if is_wide else _BLOCKS[1]
    for start in range(0, size, block):
        yield slice(start, min(start + block, size))
