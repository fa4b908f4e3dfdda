"""Configuration graphs in the language DOT, to be drawn by Graphviz."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._text.lines import Column, EdgeLabels, EdgeStyle, lines, numbers, text
from .._text.quoting import dot_escaped, dot_quoted
from .._text.rule_text import under_rule
from ..drawing.scene import BLUE, VERMILLION
from ..machine import SomeConfigurations
from .marked import ShownByPath, marked
from .text import configuration_blocks, configuration_texts, edge_blocks, edge_texts, legend


if TYPE_CHECKING:
    from .graph import Graph

#: Graphviz takes minutes for more, and nobody reads them.
MAX_DRAWN = 1_000
WITNESS_COLOUR, LOOP_COLOUR = VERMILLION, BLUE
REPEATS = "repeats from here"


def to_dot(
    graph: "Graph",
    *,
    labels: EdgeLabels = "emissions",
    witness: int | ShownByPath | None = None,
    max_configurations: int = MAX_DRAWN,
) -> str:
    """The graph in the language DOT.

    A configuration is `<2,1,0>`, the spikes in the order of the neurons; `<2⁽¹⁾,1,0>` where the
    first neuron is closed and opens in 1 step; `<2⁽¹ⁱⁿ³⁾,1,0>` where 1 spike is under way to it and
    arrives in 3 steps, and `<2⁽³ᵃᵍᵒ⁾,1,0>` where a schedule counts 3 steps since it emitted;
    `<2,1,0> @3` after 3 steps, where steps are told
    apart. Where neurons divide or bud it is `<x:2, y:0>` with the label of each, and with
    plasticity `<2,1,0> p→q` with the synapses of plastic neurons. Halting configurations have a
    double border, those after which more may follow a dashed one. An edge is a choice. Of a net it
    is `<2,1,0>`, the tokens in the order of the places, and the transition stands at an edge.

    **Arguments:**

    - `labels`: what stands at the edges: what the output neurons emit, or the rules selected.
    - `witness`: a configuration, the shortest path to which is coloured; or a `Verdict` on this
      graph, whose path is, with a dashed loop.
    - `max_configurations`: a larger graph is refused.

    **Raises:** `ValueError` for a larger graph, or one whose edges were not kept.
    """
    if graph.num_configurations > max_configurations:
        raise ValueError(
            f"The graph has {graph.num_configurations:,} configurations, more than "
            f"{max_configurations:,} to be drawn. Raise `max_configurations`, or explore with a "
            "`max_depth`."
        )
    return b"".join(dot_blocks(graph, labels=labels, witness=witness)).decode()


def dot_blocks(
    graph: "Graph",
    *,
    labels: EdgeLabels = "emissions",
    witness: int | ShownByPath | None = None,
) -> Iterator[bytes]:
    """The text of `to_dot` in blocks, of a graph of any size."""
    schema = graph.schema
    title = f"{schema.title}: {legend(schema)}" if schema.title else legend(schema)
    title += under_rule(schema.rule)
    if not graph.is_complete:
        title += f" (not complete: {graph.reason})"
    yield (
        "digraph {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n"
        f"  label={dot_quoted(title)};\n"
        f'  start [shape=point, label=""];\n  start -> 0;\n'
    ).encode()
    with_step = tells_steps_apart(graph)
    path = marked(graph, witness)
    none = np.zeros(0, np.int64)
    on_path, start = ([], -1) if path is None else (path.configurations, path.start)
    edges, loop = (none, none) if path is None else (path.edges, path.loop)
    for number, some in configuration_blocks(graph):
        yield lines(
            b"  ",
            numbers(number),
            b' [label="',
            *state_columns(graph, some, with_step, dot_escaped),
            b'"',
            text(b", peripheries=2", some.is_halting),
            text(b', style="rounded,dashed"', graph.is_open[number]),
            text(f', color="{WITNESS_COLOUR}", penwidth=2'.encode(), np.isin(number, on_path)),
            text(f', xlabel="{REPEATS}"'.encode(), number == start),
            b"];\n",
        )
    dashed = f', color="{LOOP_COLOUR}", penwidth=2, style=dashed'
    escaped = {name: dot_escaped(name) for name in schema.action_names}
    for number, steps in edge_blocks(graph):
        yield lines(
            b"  ",
            numbers(steps.sources),
            b" -> ",
            numbers(steps.targets),
            b' [label="',
            *edge_texts(schema, steps, drawn_edges(labels), escaped),
            b'"',
            text(f', color="{WITNESS_COLOUR}", penwidth=2'.encode(), np.isin(number, edges)),
            text(dashed.encode(), np.isin(number, loop)),
            b"];\n",
        )
    yield b"}\n"


def drawn_edges(labels: EdgeLabels) -> EdgeStyle:
    """How edges are written in pictures."""
    return EdgeStyle(labels, b":" if labels == "rules" else b"=", b", ", b"", times=b" x ")


def state_columns(
    graph: "Graph",
    some: SomeConfigurations,
    with_step: bool,
    written: Callable[[str], str],
) -> list[Column]:
    """`<2⁽¹⁾,1,0>` of every configuration; `written` is how names are."""
    step = [b" @", numbers(some.step)] if with_step else []
    return [*configuration_texts(graph, some, written), *step]


def tells_steps_apart(graph: "Graph") -> bool:
    """Whether steps are part of what a configuration is: the first one after the initial one shows
    it."""
    return bool(graph.configurations(np.arange(graph.num_configurations)[1:2]).step.any())
