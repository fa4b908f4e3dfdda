"""Configuration graphs as JSON, schema `snpjax-graph/1`."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

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
from ...spiking.shown import label_rules
from ...spiking.system import is_growing
from .write import Files, Options


if TYPE_CHECKING:
    from ...explore import Graph

SCHEMA = "snpjax-graph/1"


def json_files(graph: "Graph", options: Options) -> Files:
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

    Where a configuration is neither `expanded` nor `halting`, more may follow. Every configuration
    and every edge is one line.
    """
    del options
    return {"": _blocks(graph)}


def _blocks(graph: "Graph") -> Iterator[bytes]:
    system = graph.system
    is_of_labels = is_growing(system)
    head = {
        "schema": SCHEMA,
        "name": system.name,
        "neurons": names_of(graph),
        "rules": _rules(system),
        "output": list(system.output),
        "saturate": dict(graph.saturate),
        "clock": graph.clock,
        "stop": graph.stop.name,
        "complete": graph.is_complete,
        "num_expanded": graph.num_expanded,
    }
    yield json.dumps(head)[:-1].encode() + b',\n"configurations": ['
    for number, some in configuration_blocks(graph):
        is_expanded = number < graph.num_expanded
        columns: list[Column] = [text(b",", number > 0), b"\n{"]
        if is_of_labels:
            columns += [b'"labels": [', *label_rows(some), b"], "]
        columns += [b'"spikes": [', *rows(some.spikes)]
        columns += [b'], "timers": [', *rows(some.timers)]
        columns += [b'], "pending": [', *rows(some.pending)]
        columns += [b'], "step": ', numbers(some.step)]
        columns += [b', "depth": ', numbers(graph.depths[number])]
        columns += [b', "halting": ', *_truth(some.is_halting)]
        columns += [b', "expanded": ', *_truth(is_expanded)]
        yield lines(*columns, b"}")
    yield b'\n],\n"edges": ['
    for number, steps in edge_blocks(graph):
        columns = [text(b",", number > 0)]
        columns += [b'\n{"source": ', numbers(steps.sources)]
        columns += [b', "target": ', numbers(steps.targets)]
        columns += [b', "rules": [', *rows(steps.rules, null=b"null")]
        columns += [b'], "emissions": [', *rows(steps.emissions)]
        if steps.subsets is not None:
            columns += [b'], "subsets": [', *rows(steps.subsets)]
        yield lines(*columns, b"]}")
    yield b"\n]}\n"


def _rules(system: Any) -> list[list[str]] | dict[str, list[str]]:
    if is_growing(system):
        return label_rules(system)
    num_rules = [len(neuron.rules) for neuron in system.neurons]
    return [[system.rule_text(i, r) for r in range(n)] for i, n in enumerate(num_rules)]


def _truth(holds: np.ndarray) -> list[Column]:
    return [text(b"true", holds), text(b"false", ~holds)]
