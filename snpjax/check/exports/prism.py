"""PRISM's explicit model files: states, transitions, labels."""

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Int

from ..._text.conditions import elementwise
from ..._text.lines import Column, EdgeLabels, EdgeStyle, Table, lines, numbers, one_of, text
from ...explore import Graph
from ...explore.text import (
    column_names,
    configuration_blocks,
    edge_blocks,
    edge_texts,
    tables,
)
from ...machine import SomeSteps
from .identifiers import identifiers
from .write import ExportOptions, Files, Predicate


BUILT_IN = ("init", "deadlock", "halting", "unexpanded")
_NOTHING = {"rules": b"no_rule", "emissions": b"silent"}


def prism_files(graph: Graph, options: ExportOptions) -> Files:
    """Three files, to be read with `prism -importmodel NAME.all -mdp` (or `-dtmc`).

    `.sta` has `spikes_p` of every neuron, `timer_p` and `pending_p` of those that are ever closed,
    and `step`; where neurons divide or bud, of every slot, `spikes_slot_0`. The networks of a
    system that changes are numbered, `network`. In `.tra` a choice is an action, `p_0__q_1`: p
    selects its rule 0, and q its rule 1; `p_0s2` takes subset 2 of the synapses. With `chain` it
    has probability 1/n, and choices with one target are added up. PRISM wants successors
    everywhere: halting configurations have a loop, and so have others that were not expanded.
    `.lab` tells them: `init`, `deadlock` (`Graph.deadlocks`), `halting`, `unexpanded`, and the
    predicates. Of a net it is `tokens_p1` of every place, an action is a transition, and the
    initial marking has a label that names the rule, `rule_petri`.

    No file has comments, which older versions of PRISM do not read.

    ??? cite "Source"
        PRISM manual, appendix Explicit Model Files.
    """
    _ = graph.edge_targets
    check_labels(options.predicates, graph)
    transitions = _chain(graph) if options.chain else _choices(graph, options)
    return {
        ".sta": _states(graph),
        ".lab": _labels(graph, options.predicates),
        ".tra": transitions,
    }


def check_labels(names: Iterable[str], graph: Graph) -> None:
    """Refuse names of predicates that PRISM and Storm cannot take. **Raises:** `ValueError`."""
    labels = [*BUILT_IN, *rule_labels(graph)]
    for name in names:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) or name in labels:
            raise ValueError(
                f"{name!r} can be no label of PRISM (write letters, digits and _, and none of "
                f"{', '.join(labels)})"
            )


def _states(graph: Graph) -> Iterator[bytes]:
    names = identifiers(column_names(graph))
    changing = graph.schema.changing
    is_used = np.zeros(len(names), bool)  # in any table but the first
    for _, some in configuration_blocks(graph):
        for table in _numbers(tables(graph, some))[1:]:
            is_used |= table.values.any(axis=0)
    every, used = np.arange(len(names)), np.flatnonzero(is_used)
    first = _numbers(tables(graph, graph.configurations(slice(0, 1))))
    variables = [
        f"{table.prefix}_{names[i]}"
        for k, table in enumerate(first)
        for i in (used if k else every).tolist()
    ]
    variables += [] if changing is None else ["network"]
    yield f"({','.join([*variables, 'step'])})\n".encode()
    networks: dict[bytes, int] = {}
    for number, some in configuration_blocks(graph):
        values: list[Column] = []
        for k, table in enumerate(_numbers(tables(graph, some))):
            for i in (used if k else every).tolist():
                values += [numbers(table.values[:, i]), b","]
        if changing is not None:
            # Networks are numbered in the order in which they come.
            distinct, which = np.unique(changing(some), axis=0, return_inverse=True)
            own = [networks.setdefault(x.tobytes(), len(networks)) for x in distinct]
            values += [numbers(np.asarray(own)[which.reshape(-1)]), b","]
        yield lines(numbers(number), b":(", *values, numbers(some.step), b")\n")


def _numbers(found: Mapping[str, Table]) -> list[Table]:
    """Those that hold numbers."""
    return [table for table in found.values() if table.values.dtype.kind != "U"]


def _choices(graph: Graph, options: ExportOptions) -> Iterator[bytes]:
    """A decision process: source, number of the choice, target, probability, action."""
    num_loops = int(np.sum(graph.is_halting | graph.is_open))
    size = graph.num_choices + num_loops
    yield f"{graph.num_configurations} {size} {size}\n".encode()
    called = graph.schema.action_names
    names = dict(zip(called, identifiers(called), strict=True))
    for edges, steps in edge_blocks(graph):
        action = action_names(graph, options.labels, steps, names)
        choice = numbers(edges - graph.first_edge[steps.sources])
        yield lines(
            numbers(steps.sources), b" ", choice, b" ", numbers(steps.targets), b" 1 ",
            *action, b"\n",
        )  # fmt: skip
    for looping, action in ((graph.is_halting, b"halting"), (graph.is_open, b"unexpanded")):
        number = numbers(np.flatnonzero(looping))
        yield lines(number, b" 0 ", number, b" 1 " + action + b"\n")


def _chain(graph: Graph) -> Iterator[bytes]:
    """A Markov chain: source, target, probability."""
    loops = np.flatnonzero(graph.is_halting | graph.is_open)
    size = sum(len(targets) for _, targets, _ in pairs(graph)) + len(loops)
    yield f"{graph.num_configurations} {size}\n".encode()
    for sources, targets, counts in pairs(graph):
        fraction = probabilities(graph, sources, counts)
        yield lines(numbers(sources), b" ", numbers(targets), b" ", fraction, b"\n")
    number = numbers(loops)
    yield lines(number, b" ", number, b" 1\n")


def pairs(
    graph: Graph,
) -> Iterator[tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], Int[np.ndarray, " n"]]]:
    """Sources, their different targets, and the number of choices that lead there."""
    for edges in graph.whole_sources():
        sources, targets = graph.sources[edges], graph.edge_targets[edges]
        pairs, counts = np.unique(
            sources.astype(np.int64) * graph.num_configurations + targets, return_counts=True
        )
        yield pairs // graph.num_configurations, pairs % graph.num_configurations, counts


def _labels(graph: Graph, predicates: Mapping[str, Predicate]) -> Iterator[bytes]:
    names = [*BUILT_IN, *rule_labels(graph), *predicates]
    yield (" ".join(f'{number}="{name}"' for number, name in enumerate(names)) + "\n").encode()
    for number, holds in labelled(graph, predicates):
        has_one = np.any(holds, axis=0)
        columns: list[Column] = []
        for index, own in enumerate(holds):
            columns.append(text(f" {index}".encode(), own[has_one]))
        yield lines(numbers(number[has_one]), b":", *columns, b"\n")


def rule_labels(graph: Graph) -> list[str]:
    """The label of the initial marking that names the rule of a net."""
    return [f"rule_{graph.schema.rule}"] if graph.schema.rule else []


def labelled(
    graph: Graph, predicates: Mapping[str, Predicate]
) -> Iterator[tuple[Int[np.ndarray, " n"], list[Bool[np.ndarray, " n"]]]]:
    """Numbers of configurations, and where each label holds, block by block."""
    for number, some in configuration_blocks(graph):
        holds = [number == 0, graph.is_deadlock(some), some.is_halting, graph.is_open[number]]
        holds += [number == 0 for _ in rule_labels(graph)]
        for name, predicate in predicates.items():
            own = np.asarray(elementwise(predicate)(some))
            if own.shape != number.shape or own.dtype != bool:
                raise ValueError(
                    f"predicate {name!r} gave {own.dtype} of shape {own.shape} for {len(number)} "
                    "configurations (return a boolean for each)"
                )
            holds.append(own)
        yield number, holds


def action_names(
    graph: Graph, labels: EdgeLabels, steps: SomeSteps, names: Mapping[str, str]
) -> list[Column]:
    """The texts of actions; `names` are the identifiers of those of the schema."""
    style = EdgeStyle(labels, b"_", b"__", _NOTHING[labels], b"s")
    action = edge_texts(graph.schema, steps, style, names)
    # No action begins with a digit.
    return [b"_", *action] if any(name[:1].isdigit() for name in names.values()) else action


def probabilities(
    graph: Graph, sources: Int[np.ndarray, " n"], counts: Int[np.ndarray, " n"]
) -> Column:
    """The texts of `counts` in the number of choices of each source."""
    own = np.diff(graph.first_edge)[sources].astype(np.int64)
    # Of the pairs (choices there, choices in all) there are few.
    return one_of(counts << 32 | own, lambda pair: repr((pair >> 32) / (pair & 0xFFFFFFFF)))
