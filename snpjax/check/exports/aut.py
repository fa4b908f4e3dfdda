"""Aldebaran: the labelled transition systems of CADP and mCRL2."""

from collections.abc import Iterator
from urllib.parse import quote

import numpy as np

from ..._text.lines import EdgeLabels, EdgeStyle, lines, numbers
from ...explore import Graph
from ...explore.text import edge_blocks, edge_texts
from .write import ExportOptions, Files


_STYLES: dict[EdgeLabels, EdgeStyle] = {
    "rules": EdgeStyle("rules", b":", b", ", b"no rule", times=b" x "),
    "emissions": EdgeStyle("emissions", b"=", b", ", b"silent", times=b" x "),
}
# Labels are 7-bit ASCII, and no escape of a quote is known to all readers.
_PLAIN = "".join(map(chr, range(32, 127))).translate({ord(c): None for c in '"\\%'})


def aut_files(graph: Graph, options: ExportOptions) -> Files:
    """One file. An edge is `(source, "p:0, q:1", target)` by its rules, counted within the neuron
    from 0, with the number of the subset of synapses that plasticity takes, `"p:0.2"`, if it is not
    the first one; or `(source, "q=1", target)` by what the output neurons emit, `"silent"` for
    nothing. Of a net it is a transition, `"t1"`, or `"t1 x 2"` where it fires in two copies.

    Characters of a name that a label cannot hold are written as in addresses, `%22`. The format has
    no place for comments, nor for the rule of a net: a configuration that was not expanded, though
    it does not halt, has a
    loop labelled `"unexpanded"`, so that it is no deadlock. A silent step is not CADP's hidden `i`,
    because it takes time.

    ??? cite "Source"
        CADP, manual page aut, version of 2014.
    """
    return {"": _blocks(graph, options.labels)}


def _blocks(graph: Graph, labels: EdgeLabels) -> Iterator[bytes]:
    names = {name: quote(name, safe=_PLAIN) for name in graph.schema.action_names}
    open_ones = np.flatnonzero(graph.is_open)
    yield f"des (0, {graph.num_choices + len(open_ones)}, {graph.num_configurations})\n".encode()
    for _, steps in edge_blocks(graph):
        label = edge_texts(graph.schema, steps, _STYLES[labels], names)
        source, target = numbers(steps.sources), numbers(steps.targets)
        yield lines(b"(", source, b', "', *label, b'", ', target, b")\n")
    number = numbers(open_ones)
    yield lines(b"(", number, b', "unexpanded", ', number, b")\n")
