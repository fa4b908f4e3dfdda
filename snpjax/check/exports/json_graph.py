"""Configuration graphs as JSON, schema `snpjax-graph/1`."""

import json
from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from ..._text.lines import Column, Table, label_rows, lines, rows, scalars, text
from ...explore import Graph
from ...explore.text import configuration_blocks, edge_blocks, lists, node_tables, step_tables
from .write import ExportOptions, Files


SCHEMA = "snpjax-graph/1"


def json_files(graph: Graph, options: ExportOptions) -> Files:
    """One file, an object with

    - `schema`, `name`, `neurons`: their names in order; `rules`: the texts of each neuron's rules;
      `output`: names of the output neurons; `saturate`, `clock`: as the graph was explored;
    - `stop`: why the exploration ended, the name of a `Stop`, and `complete`; `num_expanded`:
      configurations from this number on were not expanded;
    - `configurations`: objects with `spikes`, `timers`, `pending` (lists in the order of the
      neurons), `step`, `depth`, `halting`, `expanded`; the first one is the initial one. Where
      neurons divide or bud, `neurons` are slots, `rules` those of each label, and a configuration
      has `labels`, null where there is no neuron yet;
    - `edges`: an object for every choice, `source`, `target` (numbers of configurations), `rules`
      (of each neuron the rule it selects, counted from 0, or null), `emissions` (of each neuron),
      and in a system with plasticity `subsets` (the number of the subset that its rule takes).

    Of a net there are the `rule` of its steps and the names of `places` and `transitions`,
    configurations have a `marking`, and edges `transition` (by its number, from 0) and
    `multiplicity`.

    Where a configuration is neither `expanded` nor `halting`, more may follow. Every configuration
    and every edge is one line.
    """
    del options
    return {"": _blocks(graph)}


def _blocks(graph: Graph) -> Iterator[bytes]:
    rules = graph.schema.rules
    head = {
        "schema": SCHEMA,
        "name": graph.schema.title,
        **({"rule": graph.schema.rule} if graph.schema.rule else {}),
        **lists(graph),
        **({} if rules is None else {"rules": rules()}),
        "saturate": dict(graph.saturate),
        "clock": graph.clock,
        "stop": graph.stop.name,
        "complete": graph.is_complete,
        "num_expanded": graph.num_expanded,
    }
    yield json.dumps(head)[:-1].encode() + b',\n"configurations": ['
    for number, some in configuration_blocks(graph):
        yield _objects(number, node_tables(graph, number, some))
    yield b'\n],\n"edges": ['
    for number, steps in edge_blocks(graph):
        ends = {"source": Table("", steps.sources), "target": Table("", steps.targets)}
        yield _objects(number, {**ends, **step_tables(graph, steps)})
    yield b"\n]}\n"


def _objects(number: Int[np.ndarray, " some"], tables: dict[str, Table]) -> bytes:
    """An object a line, with a comma after the one before."""
    columns: list[Column] = [text(b",", number > 0), b"\n{"]
    for name, table in tables.items():
        separator = "" if len(columns) == 2 else ", "
        columns += [f'{separator}"{name}": '.encode(), *_array(table)]
    return lines(*columns, b"}")


def _array(table: Table) -> list[Column]:
    values = table.values
    if values.ndim == 1:
        return scalars(values)
    if values.dtype.kind == "U":
        return [b"[", *label_rows(values), b"]"]
    return [b"[", *rows(values, empty=table.empty), b"]"]
