"""Configuration graphs as JSON, schema `snpjax-graph/1`."""

import json
from collections.abc import Iterator

import numpy as np

from ..._text.lines import Column, Table, label_rows, lines, numbers, rows, text
from ...explore import Graph
from ...explore.text import configuration_blocks, edge_blocks, lists, step_tables, tables
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

    Of a net there are the names of `places` and `transitions` instead, configurations have a
    `marking`, and edges `transition` (by its number, from 0) and `multiplicity`.

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
        columns: list[Column] = [text(b",", number > 0), b"\n{"]
        for name, table in tables(graph, some).items():
            columns += [f'"{name}": '.encode(), *_array(table), b", "]
        columns += [b'"step": ', numbers(some.step)]
        columns += [b', "depth": ', numbers(graph.depths[number])]
        columns += [b', "halting": ', *_truth(some.is_halting)]
        columns += [b', "expanded": ', *_truth(number < graph.num_expanded)]
        yield lines(*columns, b"}")
    yield b'\n],\n"edges": ['
    for number, steps in edge_blocks(graph):
        columns = [text(b",", number > 0)]
        columns += [b'\n{"source": ', numbers(steps.sources)]
        columns += [b', "target": ', numbers(steps.targets)]
        for name, table in step_tables(graph, steps).items():
            columns += [f', "{name}": '.encode(), *_array(table)]
        yield lines(*columns, b"}")
    yield b"\n]}\n"


def _array(table: Table) -> list[Column]:
    values = table.values
    if values.ndim == 1:
        return [numbers(values)]
    if values.dtype.kind == "U":
        return [b"[", *label_rows(values), b"]"]
    return [b"[", *rows(values, empty=table.empty), b"]"]


def _truth(holds: np.ndarray) -> list[Column]:
    return [text(b"true", holds), text(b"false", ~holds)]
