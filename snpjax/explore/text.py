"""Millions of lines of text: columns of bytes side by side, whose holes are left out.

A graph may have 10^8 edges, so that nothing here loops over lines in Python.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Bool, Int, UInt8

from ..choice import NO_RULE
from ..spiking.observed import Configurations, Transitions
from ..spiking.plasticity import PlasticState
from ..spiking.system import SpikingSystem, is_growing


if TYPE_CHECKING:
    from .graph import Graph

#: A part of every line; bytes of value 0 are holes.
Column: TypeAlias = "UInt8[np.ndarray, 'lines width'] | bytes"
#: What stands at an edge: the rules of a choice, or what is emitted.
Labels: TypeAlias = Literal["rules", "emissions"]

Some = TypeVar("Some", Configurations, Transitions)

# Blocks hold fewer lines the more numbers stand in a line.
_BLOCKS = (2**12, 2**16)
_NUMBERS_IN_BLOCK = 2**21


def lines(*columns: Column) -> bytes:
    """All lines, each made of these columns. At least one of them is an array."""
    size = next(len(column) for column in columns if not isinstance(column, bytes))
    arrays = [
        np.broadcast_to(np.frombuffer(column, np.uint8), (size, len(column)))
        if isinstance(column, bytes)
        else column
        for column in columns
    ]
    table = np.concatenate(arrays, axis=1)
    return table[table != 0].tobytes()


def numbers(
    values: Int[np.ndarray, " lines"], present: Bool[np.ndarray, " lines"] | None = None
) -> Column:
    """A number in every line, or in those where it is present."""
    values = values.astype(np.int64)
    if present is not None:
        values = np.where(present, values, 0)
    sizes = np.abs(values)
    powers = 10 ** np.arange(len(str(sizes.max(initial=0))) - 1, -1, -1)
    digits = (sizes[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    digits[:, :-1][sizes[:, None] < powers[:-1]] = 0
    sign = np.where(values < 0, ord("-"), 0).astype(np.uint8)
    table = np.concatenate([sign[:, None], digits], axis=1)
    return table if present is None else table * present[:, None]


def text(value: bytes, present: Bool[np.ndarray, " lines"]) -> Column:
    """A text in the lines where it is present."""
    return np.frombuffer(value, np.uint8) * present[:, None]


def one_of(values: np.ndarray, text_of: Callable[[Any], str]) -> Column:
    """In every line the text of its value, of which there are few."""
    distinct, which = np.unique(values, return_inverse=True)
    texts = [text_of(value).encode() for value in distinct.tolist()]
    width = max(map(len, texts), default=0)
    table = np.frombuffer(b"".join(x.ljust(width, b"\0") for x in texts), np.uint8)
    return table.reshape(len(texts), width)[which.reshape(-1)]


def rows(
    values: Int[np.ndarray, "lines neurons"], *, separator: bytes = b",", null: bytes | None = None
) -> list[Column]:
    """The numbers of every row with separators, and `null` in place of `NO_RULE`."""
    columns: list[Column] = []
    for i in range(values.shape[1]):
        if i:
            columns.append(separator)
        present = None if null is None else values[:, i] != NO_RULE
        columns.append(numbers(values[:, i], present))
        if null is not None and present is not None:
            columns.append(text(null, ~present))
    return columns


def edge_labels(
    steps: Transitions,
    labels: Labels,
    names: Mapping[str, str],
    *,
    equals: bytes,
    separator: bytes,
    nothing: bytes,
    subset: bytes = b".",
) -> list[Column]:
    """What stands at each edge: `name:rule` of the neurons that selected one, or `name=spikes` of
    the output neurons that emit; `nothing` where there is none.

    Of plasticity the number of the subset follows where it is not the first one, `name:rule.2`, or
    `name:.2` in the second turn of a rule: so no two choices have the same rules at their edges.
    Without output neurons all emissions are named. `names` are those of `names_at_edges`, as they
    are to be written.
    """
    values = steps.rules if labels == "rules" else steps.emissions
    present = is_number = values != NO_RULE if labels == "rules" else values != 0
    subsets = np.zeros_like(values)
    if labels == "rules" and steps.subsets is not None:
        subsets = steps.subsets
        present = is_number | (subsets != 0)
    outputs = steps.system.output
    if labels == "emissions" and outputs:
        is_output = np.isin(np.arange(values.shape[1]), outputs_of(steps.system))
        if steps.labels is not None:
            is_output = np.isin(steps.labels[:, : values.shape[1]], outputs)
        present = present & is_output
    columns: list[Column] = []
    before = np.zeros(len(values), bool)
    for i in np.flatnonzero(present.any(axis=0)).tolist():
        here = present[:, i]
        columns.append(text(separator, before & here))
        if steps.labels is None:
            columns.append(text(names[steps.system.name_of(i)].encode() + equals, here))
        else:
            own = np.where(here, steps.labels[:, i], "")
            columns += [one_of(own, lambda x: names.get(x, "")), text(equals, here)]
        columns.append(numbers(values[:, i], here & is_number[:, i]))
        if subsets[:, i].any():
            is_told = subsets[:, i] != 0
            columns += [text(subset, is_told), numbers(subsets[:, i], is_told)]
        before |= here
    return [*columns, text(nothing, ~before)]


def outputs_of(system: object) -> list[int]:
    """The positions of the output neurons; none where they are labels."""
    found: list[int] = []
    if is_growing(system):
        return found
    for name in system.output:  # pyright: ignore[reportAttributeAccessIssue]
        position = system.position_of(name)  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(position, slice):
            found += range(position.start, position.stop)
        else:
            found.append(position)
    return found


def names_of(graph: "Graph") -> list[str]:
    """The names of all neurons; where they divide or bud, of the slots that are ever in use."""
    if is_growing(graph.system):
        return [f"slot {i}" for i in range(num_columns(graph))]
    return [graph.system.name_of(i) for i in range(graph.system.num_neurons)]


def num_columns(graph: "Graph") -> int:
    """How many neurons, or slots, configurations have."""
    if is_growing(graph.system):
        return int(graph.map(lambda some: np.sum(_labels(some) != "", axis=1)).max())
    return graph.system.num_neurons


def names_at_edges(graph: "Graph") -> list[str]:
    """The names that `edge_labels` may write: of all neurons, or labels."""
    return list(graph.system.label_numbers) if is_growing(graph.system) else names_of(graph)


def plastic_synapses(
    some: Configurations,
) -> Iterator[tuple[str, str, Bool[np.ndarray, " configurations"]]]:
    """The synapses that plasticity may create and delete, and where they are."""
    system = some.system
    if isinstance(system, SpikingSystem) and isinstance(some.state, PlasticState):
        plastic = system.plastic_columns
        assert plastic is not None
        for number, neuron in enumerate(plastic.neurons.tolist()):
            for place, target in enumerate(plastic.targets[:, number].tolist()):
                if target >= 0:
                    exists = np.asarray(some.state.exists)[place, number]
                    yield system.name_of(neuron), system.name_of(target), exists


def label_rows(some: Configurations, written: Callable[[str], str] = json.dumps) -> list[Column]:
    """The labels of the slots, each a string of JSON, `null` where there is no neuron."""
    columns: list[Column] = []
    for i in range(some.spikes.shape[1]):
        own = _labels(some)[:, i]
        columns += [b"," if i else b"", one_of(own, lambda x: written(x) if x else "null")]
    return columns


def _labels(some: Configurations) -> np.ndarray:
    assert some.labels is not None
    return some.labels


def configuration_blocks(
    graph: "Graph",
) -> Iterator[tuple[Int[np.ndarray, " some"], Configurations]]:
    """All configurations with their numbers, in blocks."""
    width = num_columns(graph)
    for block in _blocks(graph, graph.num_configurations, width):
        yield np.arange(block.start, block.stop), _cut(graph.configurations(block), width)


def edge_blocks(graph: "Graph") -> Iterator[tuple[Int[np.ndarray, " some"], Transitions]]:
    """All edges with their numbers, in blocks. **Raises:** `ValueError` if they were not kept."""
    _ = graph.edge_targets
    width = num_columns(graph)
    for block in _blocks(graph, graph.num_choices, width):
        yield np.arange(block.start, block.stop), _cut(graph.transitions(block), width)


def _cut(some: Some, width: int) -> Some:
    """Without the slots that are never in use."""
    if not is_growing(some.system):
        return some
    names = ("spikes", "timers", "pending", "rules", "emissions")
    own = {name: getattr(some, name)[:, :width] for name in names if hasattr(some, name)}
    return replace(some, **own)


def _blocks(graph: "Graph", size: int, width: int) -> Iterator[slice]:
    is_wide = width * _BLOCKS[1] > _NUMBERS_IN_BLOCK
    block = _BLOCKS[0] if is_wide else _BLOCKS[1]
    for start in range(0, size, block):
        yield slice(start, min(start + block, size))
