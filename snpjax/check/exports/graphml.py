"""Configuration graphs as GraphML, for graph libraries."""

import json
from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from ..._text.lines import Column, Table, label_rows, lines, numbers, rows, scalars
from ..._text.quoting import without_controls
from ...explore import Graph
from ...explore.text import configuration_blocks, edge_blocks, lists, node_tables, step_tables
from .write import ExportOptions, Files


def graphml_files(graph: Graph, options: ExportOptions) -> Files:
    """One file with the attributes of `Graph.to_networkx`; lists are texts with blanks between,
    names lines of a text, and `-1` is no rule. Labels are a list of JSON.

    Nodes are `n0`, the initial configuration, `n1`, .... Characters of names that XML cannot hold
    are escapes.
    """
    del options
    return {"": _blocks(graph)}


def _blocks(graph: Graph) -> Iterator[bytes]:
    values = {"name": graph.schema.title}
    for key, names in lists(graph).items():
        values[key] = "\n".join(x.replace("\n", "\\n") for x in names)
    if graph.schema.rule:
        values["rule"] = graph.schema.rule
    values["stop"] = graph.stop.name
    head = ['<?xml version="1.0" encoding="utf-8"?>']
    head.append('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
    head += [_key(key, "graph", "string") for key in values]
    # What tables there are is seen from a few rows of them.
    first = graph.configurations(slice(0, 1))
    nodes = node_tables(graph, np.zeros(1, int), first)
    head += [_key(key, "node", _type(x)) for key, x in nodes.items()]
    steps = graph.transitions(slice(0, 1))
    head += [_key(key, "edge", _type(x)) for key, x in step_tables(graph, steps).items()]
    head.append('  <graph edgedefault="directed">')
    for key, value in values.items():
        head.append(f'    <data key="{key}">{escape(without_controls(value))}</data>')
    yield ("\n".join(head) + "\n").encode()
    for number, some in configuration_blocks(graph):
        data = _data(node_tables(graph, number, some))
        yield lines(b'    <node id="n', numbers(number), b'">', *data, b"</node>\n")
    for number, steps in edge_blocks(graph):
        yield lines(
            b'    <edge id="e', numbers(number),
            b'" source="n', numbers(steps.sources), b'" target="n', numbers(steps.targets), b'">',
            *_data(step_tables(graph, steps)), b"</edge>\n",
        )  # fmt: skip
    yield b"  </graph>\n</graphml>\n"


def _key(name: str, of: str, type: str) -> str:
    return f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{type}"/>'


def _type(table: Table) -> str:
    if table.values.dtype == bool:
        return "boolean"
    return "int" if table.values.ndim == 1 else "string"


def _data(tables: dict[str, Table]) -> list[Column]:
    columns: list[Column] = []
    for name, table in tables.items():
        values = table.values
        columns.append(f'<data key="{name}">'.encode())
        if values.ndim == 1:
            columns += scalars(values)
        elif values.dtype.kind == "U":
            own = label_rows(values, lambda label: escape(json.dumps(label)))
            columns += [b"[", *own, b"]"]
        else:
            columns += rows(values, separator=b" ")
        columns.append(b"</data>")
    return columns
