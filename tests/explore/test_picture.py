"""Graphs in networkx, DOT and SVG, and what a notebook shows."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import snpjax as snp
from snpjax.explore import explore
from snpjax.explore.dot import LOOP_COLOUR, WITNESS_COLOUR
from snpjax.explore.picture import MAX_CONFIGURATIONS, by_depth
from tests.check.test_graph_exports import CHUNKS, growing, naturals, odd_names, parting
from tests.support.helpers import with_ballast


SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graph():
    return explore(with_ballast(naturals()), chunks=CHUNKS)


def test_networkx(graph):
    made = graph.to_networkx()
    assert made.graph["neurons"][:3] == ("a", "b", "c") and made.graph["complete"]
    assert list(made.nodes) == list(range(graph.num_configurations))
    spikes = [own["spikes"] for _, own in made.nodes(data=True)]
    assert spikes == list(map(tuple, graph.spikes.tolist()))
    halting = [n for n, own in made.nodes(data=True) if own["halting"]]
    assert halting == graph.halting().tolist()
    steps = graph.transitions()
    edges = [(s, t, x["rules"], x["emissions"]) for s, t, x in made.edges(data=True)]
    rules = [tuple(None if r < 0 else r for r in row) for row in steps.rules.tolist()]
    wanted = zip(
        steps.sources.tolist(),
        steps.targets.tolist(),
        rules,
        map(tuple, steps.emissions.tolist()),
        strict=True,
    )
    assert sorted(edges, key=repr) == sorted(wanted, key=repr)


def test_what_was_not_expanded_is_not_halting():
    graph = explore(with_ballast(growing()), chunks=CHUNKS, max_depth=3)
    assert [own["expanded"] for _, own in graph.to_networkx().nodes(data=True)] == [True] * 3 + [
        False
    ]
    assert graph.to_dot().count("dashed") == 1 and "peripheries" not in graph.to_dot()
    picture = graph.to_svg()
    assert picture.count("stroke-dasharray") == 1 and ", halting" not in picture


def test_what_halts_is_halting_though_it_was_not_expanded():
    graph = explore(with_ballast(parting()), chunks=CHUNKS, max_depth=1)
    nodes = [own for _, own in graph.to_networkx().nodes(data=True)]
    assert [own["expanded"] for own in nodes] == [True, False, False]
    assert [own["halting"] for own in nodes] == [False, False, True]
    assert graph.to_dot().count("dashed") == graph.to_dot().count("peripheries") == 1
    picture = graph.to_svg()
    assert picture.count("stroke-dasharray") == picture.count(", halting") == 1
    assert by_depth(graph).tolist() == [[0, 1, 2, 0], [1, 2, 0, 1]]


def test_dot_names_timers_and_the_witness(graph):
    closed = int(np.flatnonzero(graph.timers.any(axis=1))[0])
    (neuron,) = np.flatnonzero(graph.timers[closed])
    shown = graph.to_dot().splitlines()
    (line,) = (line for line in shown if line.startswith(f"  {closed} ["))
    cells = re.search("<(.*)>", line)[1].split(",")
    assert cells[neuron] == f"{graph.spikes[closed, neuron]}⁽¹⁾"
    last = graph.num_configurations - 1
    coloured = [x for x in graph.to_dot(witness=last).splitlines() if "color=" in x]
    path = graph.path_to(last)
    assert [x.split()[0] for x in coloured if "->" not in x] == [f"{n}" for n in sorted(path)]
    assert len([x for x in coloured if "->" in x]) == len(path) - 1


@pytest.fixture(scope="module")
def refuted():
    """A verdict whose witness comes to a ring, and goes round it for ever."""
    rules = ["a -> a"]
    neurons = [snp.Neuron("s", 1, rules), snp.Neuron("x", 0, rules), snp.Neuron("y", 0, rules)]
    synapses = [("s", "x"), ("x", "y"), ("y", "x")]
    return snp.check(
        explore(snp.SpikingSystem(neurons, synapses), chunks=CHUNKS), "eventually halted"
    )


def test_the_loop_of_a_verdict_is_marked(refuted):
    graph = refuted.graph
    assert refuted.witness == (0, 1, 2, 1) and refuted.loop == 1
    lines = graph.to_dot(witness=refuted).splitlines()
    dashed = [x.split()[:3] for x in lines if "style=dashed" in x]
    assert dashed == [["1", "->", "2"], ["2", "->", "1"]]
    (path,) = (x.split()[:3] for x in lines if "->" in x and WITNESS_COLOUR in x)
    assert path == ["0", "->", "1"]
    (start,) = (x.split()[0] for x in lines if "repeats from here" in x)
    assert start == "1"
    root = ElementTree.fromstring(graph.to_svg(witness=refuted))
    texts = ["".join(text.itertext()) for text in root.iter(f"{SPACE}text")]
    assert texts.count("repeats from here") == 1
    dashes = [x.get("stroke") for x in root.iter(f"{SPACE}path") if x.get("stroke-dasharray")]
    assert dashes == [LOOP_COLOUR] * 2


def test_verdicts_that_a_graph_cannot_show(refuted, graph):
    with pytest.raises(ValueError, match="not about this graph"):
        graph.to_dot(witness=refuted)
    with pytest.raises(ValueError, match="no witness to draw"):
        refuted.graph.to_svg(witness=snp.check(refuted.graph, "never halted"))


def test_a_path_that_halts_has_no_loop():
    graph = explore(with_ballast(parting()), chunks=CHUNKS)
    verdict = snp.check(graph, "never halted")
    assert verdict.is_refuted and "repeats" not in graph.to_dot(witness=verdict)


def test_a_large_graph_is_refused(graph):
    with pytest.raises(ValueError, match="Raise `max_configurations`"):
        graph.to_dot(max_configurations=2)
    with pytest.raises(ValueError, match="Graphviz"):
        graph.to_svg(max_configurations=2)


@pytest.mark.parametrize("system", [naturals, growing, odd_names])
def test_svg_is_well_formed(system):
    graph = explore(with_ballast(system()), chunks=CHUNKS, max_depth=5)
    for labels in ("rules", "emissions"):
        root = ElementTree.fromstring(graph.to_svg(labels=labels, witness=1))
        titles = [x.text for box in root.iter(f"{SPACE}rect") for x in box]
        halts = [", halting" * bool(x) for x in graph.is_halting]
        assert titles == [f"configuration {i}{own}" for i, own in enumerate(halts)]
        texts = ["".join(text.itertext()) for text in root.iter(f"{SPACE}text")]
        assert sum(text.startswith("<") for text in texts) == graph.num_configurations
        pairs = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
        assert len(root.findall(f"{SPACE}path")) == 2 * (len(pairs) + 1)  # with their heads
        left, top, width, height = map(float, root.attrib["viewBox"].split())
        for box in root.iter(f"{SPACE}rect"):
            assert left <= float(box.attrib["x"]) <= left + width
            assert top <= float(box.attrib["y"]) <= top + height


def test_boxes_do_not_overlap(graph):
    root = ElementTree.fromstring(graph.to_svg())
    boxes = [
        [float(box.attrib[key]) for key in ("x", "y", "width", "height")]
        for box in root.iter(f"{SPACE}rect")
        if len(box)
    ]
    assert len(boxes) == graph.num_configurations
    for i, (x, y, width, height) in enumerate(boxes):
        for to_x, to_y, to_width, to_height in boxes[:i]:
            apart = x >= to_x + to_width or to_x >= x + width
            assert apart or y >= to_y + to_height or to_y >= y + height


def test_notebooks(graph):
    assert "<svg" in graph._repr_html_() and graph._repr_svg_() == graph.to_svg()
    large = explore(
        with_ballast(growing()), chunks=CHUNKS, max_configurations=MAX_CONFIGURATIONS + 1
    )
    assert large._repr_svg_() is None
    table = large._repr_html_()
    assert "<table>" in table and "the limit of configurations was reached" in table
    unkept = explore(with_ballast(naturals()), chunks=CHUNKS, edges=False)
    assert unkept._repr_svg_() is None and "<table>" in unkept._repr_html_()


def test_numbers_by_depth():
    graph = explore(with_ballast(naturals()), chunks=CHUNKS, max_depth=2)
    table = by_depth(graph)
    for depth, configurations, choices, halting in table.tolist():
        own = np.flatnonzero(graph.depths == depth)
        assert configurations == len(own)
        assert choices == np.isin(graph.sources, own).sum()
        assert halting == np.isin(np.flatnonzero(graph.is_halting), own).sum()


def test_edges_are_needed():
    graph = explore(with_ballast(naturals()), chunks=CHUNKS, edges=False)
    for draw in (graph.to_dot, graph.to_svg, graph.to_networkx):
        with pytest.raises(ValueError, match="edges=True"):
            draw()


def test_a_batch_of_labels_without_output():
    """All emissions are named where no neuron is an output."""
    system = snp.SpikingSystem([snp.Neuron("p", 1, ["a -> a"])])
    assert 'label="p=1"' in explore(system).to_dot()
