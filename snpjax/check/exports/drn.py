"""Storm: a graph in its direct encoding, DRN."""

from collections.abc import Iterator

import numpy as np

from ..._text.lines import lines, numbers
from ...explore import Graph
from ...explore.text import edge_blocks
from .identifiers import identifiers
from .prism import BUILT_IN, action_names, check_labels, labelled, pairs, probabilities, rule_labels
from .write import ExportOptions, Files


def drn_files(graph: Graph, options: ExportOptions) -> Files:
    """One file, to be read with `storm --explicit-drn` or `stormpy.build_model_from_drn`.

    States, labels, actions and probabilities are those of `prism_files`: Storm reads no explicit
    files of PRISM. Configurations that halt, or were not expanded, have a loop.

    ??? cite "Source"
        Storm, documentation of the DRN format.
    """
    _ = graph.edge_targets
    check_labels(options.predicates, graph)
    return {"": _blocks(graph, options)}


def _blocks(graph: Graph, options: ExportOptions) -> Iterator[bytes]:
    names = np.array([*BUILT_IN, *rule_labels(graph), *options.predicates])
    kind, num_choices = "DTMC", graph.num_configurations
    if not options.chain:
        kind = "MDP"
        num_choices = graph.num_choices + int(np.sum(graph.is_halting | graph.is_open))
    yield (
        f"@type: {kind}\n@parameters\n\n@reward_models\n\n@nr_states\n{graph.num_configurations}\n"
        f"@nr_choices\n{num_choices}\n@model\n"
    ).encode()
    edges = _chain(graph) if options.chain else _choices(graph, options)
    source, text = next(edges, (-1, b""))
    for number, holds in labelled(graph, options.predicates):
        block = []
        for state, own in zip(number.tolist(), np.transpose(holds), strict=True):
            block.append(" ".join([f"state {state}", *names[own]]).encode() + b"\n")
            if options.chain:
                block.append(b"\taction 0\n")
            if source != state:
                action = b"" if options.chain else b"\taction halting\n"
                block.append(action + f"\t\t{state} : 1\n".encode())
            while source == state:
                block.append(text)
                source, text = next(edges, (-1, b""))
        yield b"".join(block)


def _choices(graph: Graph, options: ExportOptions) -> Iterator[tuple[int, bytes]]:
    """The source and the lines of every choice."""
    called = graph.schema.action_names
    names = dict(zip(called, identifiers(called), strict=True))
    for _, steps in edge_blocks(graph):
        action = action_names(graph, options.labels, steps, names)
        texts = lines(b"\taction ", *action, b"\n\t\t", numbers(steps.targets), b" : 1\n")
        each = texts.removesuffix(b"\n").split(b"\n")
        for k, source in enumerate(steps.sources.tolist()):
            yield source, b"\n".join(each[2 * k : 2 * k + 2]) + b"\n"


def _chain(graph: Graph) -> Iterator[tuple[int, bytes]]:
    """The source and the line of every distinct target, with its probability."""
    for sources, targets, counts in pairs(graph):
        probability = probabilities(graph, sources, counts)
        texts = lines(b"\t\t", numbers(targets), b" : ", probability, b"\n")
        yield from zip(sources.tolist(), texts.splitlines(keepends=True), strict=True)
