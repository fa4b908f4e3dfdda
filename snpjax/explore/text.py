"""Configurations and edges of a graph as text: in blocks, as columns of many lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from .._text.lines import Column, EdgeStyle, Table, numbers, one_of, text
from .._text.superscripts import SUPERSCRIPTS
from ..machine import Action, Schema, SomeConfigurations, SomeSteps


if TYPE_CHECKING:
    from .graph import Graph

# Blocks hold fewer lines the more numbers stand in a line.
_BLOCKS = (2**12, 2**16)
_NUMBERS_IN_BLOCK = 2**21
_SUPERSCRIPT = str.maketrans({**SUPERSCRIPTS, " ": None})


# ---- columns and tables ----


def names_of(schema: Schema) -> Sequence[str]:
    """What `configurations[name]` and queries may name."""
    names = schema.columns if schema.names is None else schema.names
    assert names is not None
    return names


def column_names(graph: "Graph") -> list[str]:
    """The names of the columns that are ever in use."""
    columns = graph.schema.columns
    if columns is None:
        return [f"slot {i}" for i in range(graph.num_columns)]
    return list(columns)


def lists(graph: "Graph") -> dict[str, list[str]]:
    """All names for files, by what they are; first the columns."""
    own = {kind: list(names) for kind, names in graph.schema.lists.items()}
    return {graph.schema.column_kind: column_names(graph), **own}


def tables(graph: "Graph", some: SomeConfigurations) -> dict[str, Table]:
    """All numbers of configurations, without slots that never come into use."""
    return _cut(graph, graph.schema.tables(some))


def node_tables(
    graph: "Graph", number: Int[np.ndarray, " some"], some: SomeConfigurations
) -> dict[str, Table]:
    """All that files say of the configurations of these numbers."""
    return {
        **tables(graph, some),
        "step": Table("step", some.step),
        "depth": Table("depth", graph.depths[number]),
        "halting": Table("halting", some.is_halting),
        "expanded": Table("expanded", number < graph.num_expanded),
    }


def step_tables(graph: "Graph", steps: SomeSteps) -> dict[str, Table]:
    """All numbers of steps, see `tables`."""
    return _cut(graph, graph.schema.step_tables(steps))


def _cut(graph: "Graph", found: Mapping[str, Table]) -> dict[str, Table]:
    if graph.schema.columns is not None:
        return dict(found)
    return {name: table.cut(graph.num_columns) for name, table in found.items()}


def count_table(schema: Schema, some: SomeConfigurations) -> Table:
    """The counts of all columns."""
    return _counts(schema.tables(some))


def label_table(schema: Schema, some: SomeConfigurations) -> np.ndarray:
    """The name of every slot in use, where columns are slots."""
    labels = _labels(schema.tables(some))
    assert labels is not None
    return labels


def _counts(found: Mapping[str, Table]) -> Table:
    return next(table for table in found.values() if table.values.dtype.kind != "U")


def _labels(found: Mapping[str, Table]) -> np.ndarray | None:
    return next((x.values for x in found.values() if x.values.dtype.kind == "U"), None)


# ---- lines ----


def configuration_blocks(
    graph: "Graph",
) -> Iterator[tuple[Int[np.ndarray, " some"], SomeConfigurations]]:
    """All configurations with their numbers, in blocks."""
    for block in _blocks(graph, graph.num_configurations):
        yield np.arange(block.start, block.stop), graph.configurations(block)


def edge_blocks(
    graph: "Graph",
) -> Iterator[tuple[Int[np.ndarray, " some"], SomeSteps]]:
    """All edges with their numbers, in blocks. **Raises:** `ValueError` if they were not kept."""
    _ = graph.edge_targets
    for block in _blocks(graph, graph.num_choices):
        yield np.arange(block.start, block.stop), graph.transitions(block)


def _blocks(graph: "Graph", size: int) -> Iterator[slice]:
    is_wide = graph.num_columns * _BLOCKS[1] > _NUMBERS_IN_BLOCK
    block = _BLOCKS[0] if is_wide else _BLOCKS[1]
    for start in range(0, size, block):
        yield slice(start, min(start + block, size))


def legend(schema: Schema) -> str:
    """What the numbers of a configuration are."""
    if schema.columns is None:
        return f"<label:{schema.counted}, ...>"
    return "<" + ",".join(schema.columns) + ">"


def configuration_texts(
    graph: "Graph", some: SomeConfigurations, written: Callable[[str], str]
) -> list[Column]:
    """`<2⁽¹⁾,1,0>` of every configuration, `<x:2, y:0>` where columns have labels, and after it the
    links that exist, ` p→q`. `written` escapes a name."""
    found = tables(graph, some)
    counts, labels = _counts(found).values, _labels(found)
    remarks = [table for table in found.values() if table.words]
    columns: list[Column] = [b"<"]
    for i in range(counts.shape[1]):
        present = None
        if labels is not None:
            present = labels[:, i] != ""
            colon = one_of(labels[:, i], lambda x: f"{written(x)}:" if x else "")
            columns += [text(b", ", present & (i > 0)), colon]
        elif i:
            columns.append(b",")
        columns.append(numbers(counts[:, i], present))
        columns += [
            one_of(x.values[:, i], partial(superscript, mark=x.mark))
            for x in remarks
            if x.values[:, i].any()
        ]
    columns.append(b">")
    if graph.schema.links is not None:
        names = column_names(graph)
        for source, target, exists in graph.schema.links(some):
            arrow = f" {written(names[source])}→{written(names[target])}"
            columns.append(text(arrow.encode(), exists))
    return columns


def superscript(number: int, mark: str) -> str:
    """How a number stands at the count of a column."""
    return mark.format(number).translate(_SUPERSCRIPT) if number else ""


def edge_texts(
    schema: Schema,
    steps: SomeSteps,
    style: EdgeStyle,
    names: Mapping[str, str],
) -> list[Column]:
    """What stands at the edge of each step; `names` are the escaped names of its actions."""
    columns: list[Column] = []
    before = np.zeros(len(steps), bool)
    for action in schema.actions(steps, style.labels):
        here = action.present
        columns += [text(style.separator, before & here), _name(action, names)]
        if action.number is not None:
            is_told = here if action.is_numbered is None else here & action.is_numbered
            columns += [text(style.equals, here), numbers(action.number, is_told)]
        if action.variant is not None and action.variant.any():
            is_told = here & (action.variant != 0)
            columns += [text(style.subset, is_told), numbers(action.variant, is_told)]
        if action.times is not None and style.times:
            is_told = here & (action.times > 1)
            columns += [text(style.times, is_told), numbers(action.times, is_told)]
        before |= here
    return [*columns, text(style.nothing, ~before)]


def _name(action: Action, names: Mapping[str, str]) -> Column:
    if isinstance(action.name, str):
        return text(names[action.name].encode(), action.present)
    column = one_of(action.name, lambda value: names.get(action.name_of(value), ""))
    return column * action.present[:, None]
