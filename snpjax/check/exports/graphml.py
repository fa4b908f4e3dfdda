"""Configuration graphs as GraphML, for graph libraries."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from ...explore.text import (
    Column,
    configuration_blocks,
    edge_blocks,
    label_rows,
    lines,
    names_of,
    numbers,
    rows,
    text,
)
from ...quoting import without_controls
from ...spiking.system import is_growing
from .write import Files, Options


if TYPE_CHECKING:
    from ...explore import Graph

_KEYS = [
    ("name", "graph", "string"),
    ("neurons", "graph", "string"),
    ("stop", "graph", "string"),
    ("labels", "node", "string"),
    ("spikes", "node", "string"),
    ("timers", "node", "string"),
    ("pending", "node", "string"),
    ("step", "node", "int"),
    ("depth", "node", "int"),
    ("halting", "node", "boolean"),
    ("expanded", "node", "boolean"),
    ("rules", "edge", "string"),
    ("emissions", "edge", "string"),
]


def graphml_files(graph: "Graph", options: Options) -> Files:
    """One file with the attributes of `Graph.to_networkx`; lists are texts with blanks between,
    neurons lines of a text, and `-1` is no rule. Labels are a list of JSON.

    Nodes are `n0`, the initial configuration, `n1`, .... Characters of names that XML cannot hold
    are escapes.
    """
    del options
    return {"": _blocks(graph)}


def _blocks(graph: "Graph") -> Iterator[bytes]:
    head = ['<?xml version="1.0" encoding="utf-8"?>']
    head.append('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
    for name, of, type in _KEYS:
        head.append(f'  <key id="{name}" for="{of}" attr.name="{name}" attr.type="{type}"/>')
    head.append('  <graph edgedefault="directed">')
    neurons = "\n".join(name.replace("\n", "\\n") for name in names_of(graph))
    values = {"name": graph.system.name, "neurons": neurons, "stop": graph.stop.name}
    for key, value in values.items():
        head.append(f'    <data key="{key}">{escape(without_controls(value))}</data>')
    yield ("\n".join(head) + "\n").encode()
    for number, some in configuration_blocks(graph):
        is_expanded = number < graph.num_expanded
        halting = [text(b"true", some.is_halting), text(b"false", ~some.is_halting)]
        labels: list[Column] = []
        if is_growing(graph.system):
            own = label_rows(some, lambda label: escape(json.dumps(label)))
            labels = [b'<data key="labels">[', *own, b"]</data>"]
        yield lines(
            b'    <node id="n', numbers(number), b'">', *labels,
            b'<data key="spikes">', *rows(some.spikes, separator=b" "), b"</data>",
            b'<data key="timers">', *rows(some.timers, separator=b" "), b"</data>",
            b'<data key="pending">', *rows(some.pending, separator=b" "), b"</data>",
            b'<data key="step">', numbers(some.step), b"</data>",
            b'<data key="depth">', numbers(graph.depths[number]), b"</data>",
            b'<data key="halting">', *halting, b"</data>",
            b'<data key="expanded">', text(b"true", is_expanded), text(b"false", ~is_expanded),
            b"</data></node>\n",
        )  # fmt: skip
    for number, steps in edge_blocks(graph):
        yield lines(
            b'    <edge id="e', numbers(number),
            b'" source="n', numbers(steps.sources), b'" target="n', numbers(steps.targets), b'">',
            b'<data key="rules">', *rows(steps.rules, separator=b" "), b"</data>",
            b'<data key="emissions">', *rows(steps.emissions, separator=b" "),
            b"</data></edge>\n",
        )  # fmt: skip
    yield b"  </graph>\n</graphml>\n"
