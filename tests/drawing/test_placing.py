"""Where boxes stand, how arrows run, and what a large table becomes in a picture."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import snpjax as snp
from snpjax.drawing.edges import routed, sampled
from snpjax.drawing.force import relaxed
from snpjax.drawing.labels import free_place, label_shapes, place_labels
from snpjax.drawing.layered import (
    MAX_SPRINGS,
    in_layers,
    layered_positions,
    layers,
    without_cycles,
)
from snpjax.drawing.scene import Box, Curve, Disc, End, Scene, TextLine, at, rectangle, to_svg
from snpjax.explore.drawing import graph_scene  # what is placed
from snpjax.sleptsov.view.picture import net_scene  # what is placed
from snpjax.spiking.view.picture import arrange, network_scene  # what is placed
from snpjax.spiking.view.summary import families_of, natural_order  # what is placed
from snpjax.testing import dividing_systems, nets, plastic_systems, systems, variant_systems
from tests.support.helpers import REPOSITORY


GAP = (20.0, 10.0)


def are_apart(points: np.ndarray, sizes: np.ndarray) -> bool:
    """Whether no two boxes overlap."""
    reach = (sizes[:, None] + sizes[None]) / 2
    near = np.all(reach - np.abs(points[:, None] - points[None]) > 1e-6, axis=2)
    return not np.any(near & ~np.eye(len(points), dtype=bool))


@st.composite
def graphs(draw, max_nodes: int = 12):
    num = draw(st.integers(1, max_nodes))
    node = st.integers(0, num - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=2 * num, unique=True))
    side = st.integers(10, 200)
    sizes = draw(st.lists(st.tuples(side, side), min_size=num, max_size=num))
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    return np.asarray(sizes, float), ends[:, 0], ends[:, 1]


def longest_paths(num, sources, targets):
    """The length of the longest path to each node; `None` where there is a cycle."""
    before = [[s for s, t in zip(sources, targets, strict=True) if t == n != s] for n in range(num)]
    found = {}

    def length(node, on_the_way):
        if node in on_the_way:
            raise RecursionError
        if node not in found:
            further = {*on_the_way, node}
            found[node] = max((1 + length(b, further) for b in before[node]), default=0)
        return found[node]

    try:
        return [length(node, frozenset()) for node in range(num)]
    except RecursionError:
        return None


@given(graphs())
def test_layers_are_longest_paths(graph):
    sizes, sources, targets = graph
    wanted = longest_paths(len(sizes), sources.tolist(), targets.tolist())
    found = layers(len(sizes), sources, targets)
    if wanted is None or np.all(sources == targets):
        assert found is None
        return
    assert found is not None
    differ = sources != targets
    assert np.all(found[sources[differ]] < found[targets[differ]])
    for node in range(len(sizes)):
        hears = np.any(differ & (targets == node))
        own = found[targets[differ & (sources == node)]]
        assert found[node] == (own.min() - 1 if not hears and len(own) else wanted[node])


@given(graphs())
def test_what_closes_cycles_is_left_out(graph):
    sizes, sources, targets = graph
    kept = without_cycles(len(sizes), sources, targets)
    assert longest_paths(len(sizes), sources[kept].tolist(), targets[kept].tolist()) is not None
    assert not np.any(kept & (sources == targets))
    if longest_paths(len(sizes), sources.tolist(), targets.tolist()) is not None:
        assert np.array_equal(kept, sources != targets)
    assert 2 * np.sum(kept) >= np.sum(sources != targets)


@given(graphs())
@settings(max_examples=25)
def test_boxes_stand_apart_and_always_there(graph):
    sizes, sources, targets = graph
    points = layered_positions(sizes, sources, targets, gap=GAP)
    assert points.shape == sizes.shape and np.isfinite(points).all()
    assert are_apart(points, sizes + np.asarray(GAP) * 0.69)
    assert np.array_equal(points, layered_positions(sizes, sources, targets, gap=GAP))


@given(graphs())
def test_layers_stand_from_left_to_right(graph):
    sizes, sources, targets = graph
    layer = np.arange(len(sizes)) % 3
    points = in_layers(layer, sizes, sources, targets, gap=GAP)
    for k in range(int(layer.max())):
        here, later = layer == k, layer == k + 1
        right = (points[here, 0] + sizes[here, 0] / 2).max()
        assert right + GAP[0] <= (points[later, 0] - sizes[later, 0] / 2).min() + 1e-9


def test_few_edges_cross():
    """Two layers of a matching: in the right order none crosses."""
    layer = np.repeat([0, 1], 6)
    targets = 6 + np.asarray([3, 0, 5, 1, 4, 2])
    points = in_layers(layer, np.ones((12, 2)), np.arange(6), targets, gap=GAP)
    assert np.array_equal(np.argsort(points[:6, 1]), np.argsort(points[targets, 1]))


def test_springs_draw_a_ring_as_a_ring():
    num = 12
    points = relaxed(num, np.arange(num), (np.arange(num) + 1) % num)
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert radius.std() < 0.02 * radius.mean()
    # Steps of the same length all around.
    steps = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert steps.std() < 0.05 * steps.mean()


@pytest.mark.parametrize("num", [150, pytest.param(MAX_SPRINGS + 1, marks=pytest.mark.slow)])
def test_large_graphs_stand_apart(num):
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(0, num, (2, 2 * num))
    sizes = rng.uniform(20, 90, (num, 2))
    assert are_apart(layered_positions(sizes, sources, targets), sizes)


@given(graphs(max_nodes=6), st.booleans())
@settings(max_examples=25)
def test_arrows_run_from_border_to_border(graph, is_layered):
    sizes, sources, targets = graph
    points = layered_positions(sizes, sources, targets, gap=(40.0, 40.0))
    curves = routed(points, sizes, sources, targets, is_layered=is_layered)
    for curve, source, target in zip(curves, sources, targets, strict=True):
        for end, node in ((curve[0], source), (curve[3], target)):
            off = (np.abs(np.asarray(end) - points[node]) - sizes[node] / 2).max()
            assert abs(off) < 0.02 * max(np.hypot(*(points[source] - points[target])), 20)
        # The middle is in neither box.
        x = np.asarray(at(Curve(curve), 0.5))
        for node in {source, target} if source != target else ():
            assert np.any(np.abs(x - points[node]) > sizes[node] / 2 - 1)


def test_an_arrow_goes_around_a_box():
    points = np.asarray([[0.0, 0.0], [100.0, 0.0], [200.0, 0.0]])
    sizes = np.full((3, 2), 30.0)
    (curve,) = routed(points, sizes, np.asarray([0]), np.asarray([2]), is_layered=False)
    passed = np.asarray([at(Curve(curve), t) for t in np.linspace(0, 1, 50)])
    inside = np.all(np.abs(passed - points[1]) < sizes[1] / 2, axis=1)
    assert not inside.any()
    (straight,) = routed(points[:2], sizes[:2], np.asarray([0]), np.asarray([1]), is_layered=False)
    assert straight[0][1] == straight[3][1] == 0


def test_opposite_arrows_and_labels_stay_apart():
    points, sizes = np.asarray([[0.0, 0.0], [200.0, 0.0]]), np.full((2, 2), 30.0)
    ends = np.asarray([0, 1]), np.asarray([1, 0])
    there, back = (Curve(c) for c in routed(points, sizes, *ends, is_layered=False))
    assert at(there, 0.5)[1] < -5 < 5 < at(back, 0.5)[1]
    taken = [rectangle(Box(x, y, 30, 30)) for x, y in points]
    first, second = label_shapes([there, there], ["it", "it"], taken)
    assert isinstance(first, TextLine) and isinstance(second, TextLine)
    assert abs(first.x - second.x) > 10 and len(taken) == 4
    for label in (first, second):
        assert (
            min(
                np.hypot(*(np.asarray(at(there, t)) - (label.x, label.y)))
                for t in np.linspace(0, 1, 99)
            )
            < 2
        )


def meet(one, other) -> bool:
    """Whether two rectangles overlap, by more than what rounding adds."""
    left, top, right, bottom = np.asarray(one) + [0.01, 0.01, -0.01, -0.01]
    return left < other[2] and other[0] < right and top < other[3] and other[1] < bottom


def covered_texts(scene: Scene) -> list[tuple[str, str]]:
    """Texts that meet another text, or the border of a box or circle, with what they meet. Boxes
    below the box that holds a text are hidden."""
    found = []
    shapes = [shape for shape in scene.shapes if isinstance(shape, Box | Disc | TextLine)]
    places = [rectangle(shape) for shape in shapes]
    for i, text in enumerate(shapes):
        if not isinstance(text, TextLine):
            continue
        own = places[i]
        for j, shape in enumerate(shapes):
            if i == j or not meet(own, places[j]):
                continue
            if isinstance(shape, TextLine):
                found.append((text.text, shape.text))
                continue
            holds = (
                k
                for k, other in enumerate(places)
                if j <= k < i
                and isinstance(shapes[k], Box | Disc)
                and other[0] <= own[0]
                and other[1] <= own[1]
                and own[2] <= other[2]
                and own[3] <= other[3]
            )
            if text.has_ground or next(holds, None) is None:
                found.append((text.text, type(shape).__name__))
    return found


def test_covered_texts_are_seen():
    box, label = Box(0, 0, 60, 20), TextLine(30, 0, "on its border")
    assert covered_texts(Scene((box, label), "")) == [("on its border", "Box")]
    assert covered_texts(Scene((label, replace(label, x=40.0)), "")) != []
    assert covered_texts(Scene((box, TextLine(0, 0, "in it")), "")) == []
    assert covered_texts(Scene((box, TextLine(0, 0, "in it", has_ground=True)), "")) != []
    assert covered_texts(Scene((TextLine(0, 0, "below it"), box), "")) != []


@given(graphs(max_nodes=7), st.integers(0, 3), st.integers(1, 40))
def test_labels_meet_nothing(graph, crowded, length):
    """On random graphs, also where boxes leave them no room and curves are points."""
    sizes, sources, targets = graph
    points = layered_positions(sizes, sources, targets, gap=GAP) / (1 + crowded)
    curves = routed(points, sizes, sources, targets, is_layered=False)
    labels = [(7.0 * length, 13.0) if i % 4 != 3 else None for i in range(len(curves))]
    boxes = [rectangle(Box(*middle, *size)) for middle, size in zip(points, sizes, strict=True)]
    places = place_labels(sampled(curves), labels, boxes)
    assert [place is None for place in places] == [size is None for size in labels]
    own = [
        rectangle(Box(*place.middle, *size))
        for place, size in zip(places, labels, strict=True)
        if place is not None
    ]
    assert not any(meet(one, other) for one in own for other in boxes)
    assert not any(meet(own[i], own[j]) for i in range(len(own)) for j in range(i))
    assert places == place_labels(sampled(curves), labels, boxes)


def test_a_label_stands_on_its_curve_where_no_other_runs():
    cross = [Curve(((0, y), (80, y), (160, 200 - y), (240, 200 - y))) for y in (0.0, 200.0)]
    for curve, place in zip(
        cross, place_labels(sampled([c.points for c in cross]), [(30.0, 13.0)] * 2, []), strict=True
    ):
        assert place is not None and place.anchor is None
        apart = [np.hypot(*np.subtract(at(curve, t), place.middle)) for t in np.linspace(0, 1, 99)]
        assert min(apart) < 2
        assert abs(place.middle[1] - 100) > 6.5  # both cross at 100
    # Where boxes cover a curve, a line leads from its middle to its label.
    (place,) = place_labels(
        sampled([cross[0].points]), [(30.0, 13.0)], [(-50.0, -50.0, 300.0, 300.0)]
    )
    assert place is not None and place.anchor == pytest.approx((120, 100))
    assert free_place(np.zeros(2), (2.0, 2.0), np.zeros((0, 4))) == (0.0, 0.0)


def test_indices_are_in_natural_order():
    names = ["n{10}", "in", "n{2}", "n{1}", "g{1,10}", "g{1,9}", "g{-1,3}", "out"]
    ordered = [names[i] for i in natural_order(names)]
    assert ordered == ["n{1}", "in", "n{2}", "n{10}", "g{-1,3}", "g{1,9}", "g{1,10}", "out"]
    shuffled = [f"n{{{i}}}" for i in sorted(range(1, 13), key=str)]
    synapses = [(a, b) for n in shuffled for a, b in (("in", n), (n, "out"))]
    system = snp.SpikingSystem([snp.Neuron(n) for n in ("in", *shuffled, "out")], synapses)
    found = snp.viz.positions(system)
    heights = [found[f"n{{{i}}}"][1] for i in range(1, 13)]
    assert heights == sorted(heights)


@given(graphs(), st.data())
def test_families_are_in_order_in_their_layers(graph, data):
    sizes, sources, targets = graph
    num = len(sizes)
    layer = np.arange(num) % 2
    numbers = st.lists(st.integers(0, 2), min_size=num, max_size=num)
    families = np.asarray(data.draw(numbers))
    points = in_layers(layer, sizes, sources, targets, gap=GAP, families=families)
    assert are_apart(points, sizes)
    for k, family in {(k, f) for k in range(2) for f in families.tolist()}:
        own = points[(layer == k) & (families == family), 1]
        assert np.all(np.diff(own) > 0)


def test_sorting_is_drawn_in_order():
    """Although fewer arrows would cross otherwise."""
    system = snp.read(REPOSITORY / "examples" / "sorting.pli")
    found = snp.viz.positions(system)
    for family in ("in", "s", "place"):
        heights = [found[f"{family}{{{i}}}"][1] for i in range(1, 6)]
        assert heights == sorted(heights), family
    assert families_of(["n{1}", "m{1,2}", "n{2}", "n1", "n2", "m{1}"]) == [0, 1, 0, 2, 3, 1]


def of_200_neurons(families: int, density: int) -> snp.SpikingSystem:
    """Random neurons with four lists of rules, and `density` synapses of each."""
    rng = np.random.default_rng(0)
    kinds = [["a -> a"], ["a^2/a -> a", "a^2 -> a"], ["a -> a; 1"], ["a^3 -> lambda"]]
    names = [f"{chr(97 + i % families)}{{{i // families}}}" for i in range(200)]
    neurons = [snp.Neuron(n, int(rng.integers(4)), kinds[rng.integers(len(kinds))]) for n in names]
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, 200, (200 * density, 2)) if a != b}
    synapses = [(names[a], names[b]) for a, b in sorted(pairs)]
    return snp.SpikingSystem(
        neurons, synapses, output=names[-1], input={names[0]: [1], names[1]: [1]}
    )


@pytest.mark.parametrize("families", [1, 3, 8, 26])
@pytest.mark.parametrize("density", [1, 3])
def test_200_neurons_in_groups_are_readable(families, density):
    system = of_200_neurons(families, density)
    arranged = arrange(system)
    assert len(arranged.links) <= max(64, 3 * len(arranged.cards))
    assert are_apart(arranged.middles, arranged.sizes + 6)  # with the boxes behind them
    assert covered_texts(network_scene(system)) == []


def test_texts_of_a_graph_meet_nothing():
    neurons = [
        snp.Neuron(f"n{i}", 2 - i % 2, ["a^2/a -> a", "a^2 -> a", "a -> a"]) for i in range(4)
    ]
    pairs = [(f"n{i}", f"n{(i + 1) % 4}") for i in range(4)]
    found = snp.explore(snp.SpikingSystem(neurons, pairs, output="n0"), max_configurations=40)
    for labels in ("emissions", "rules"):
        assert covered_texts(graph_scene(found, labels=labels, max_labels=None)) == []


def test_positions_are_those_of_the_file():
    neurons = [snp.Neuron(name, 0) for name in "abc"]
    given_positions = {"a": [0, 0], "b": [400, 10], "c": [100, 900]}
    system = snp.SpikingSystem(neurons, [("a", "b")], notes={"positions": given_positions})
    assert snp.viz.positions(system) == {n: tuple(p) for n, p in given_positions.items()}
    for notes in ({"positions": {"a": [0, 0]}}, {"positions": dict.fromkeys("abc", "x")}, {}):
        found = snp.viz.positions(system.replace(notes=notes))
        assert list(found) == ["a", "b", "c"] and found["a"][0] < found["b"][0]


def well_formed(scene: Scene) -> None:
    """It is SVG, and there are no infinite places."""
    ElementTree.fromstring(to_svg(scene))
    assert all(np.isfinite(scene.bounds()))


VARIANTS = ("anti-spikes", "exhaustive", "astrocytes", "synapse-rules")
KINDS = [systems(), plastic_systems(), dividing_systems(), *map(variant_systems, VARIANTS)]


@given(st.one_of(KINDS))
@settings(max_examples=25)
def test_every_system_has_its_picture(system):
    scene = network_scene(system)
    well_formed(scene)
    assert covered_texts(scene) == []
    ends = [curve for curve in scene.shapes if isinstance(curve, Curve) and curve.end is End.ARROW]
    called = [n.label if system.is_growing else n.name for n in system.neurons]
    called += list(system.rules_by_label)
    fed = called[: len(system.neurons)]
    wanted = len(system.synapses) + sum(x in system.output for x in called)
    wanted += sum(x in system.input for x in fed)
    assert sum(not arrow.is_dashed for arrow in ends) == wanted
    arranged = arrange(system)
    assert are_apart(arranged.middles, arranged.sizes)
    assert len(snp.viz.positions(system)) == len(system.neurons)
    for most in (1, 2):
        grouped = network_scene(system, max_neurons=most)
        well_formed(grouped)
        assert covered_texts(grouped) == []


@given(nets())
def test_every_net_has_its_picture(net):
    scene = net_scene(net)
    well_formed(scene)
    assert covered_texts(scene) == []
    curves = [shape for shape in scene.shapes if isinstance(shape, Curve)]
    regular = len(net.inputs) + len(net.outputs)
    assert sum(c.end is End.ARROW and not c.is_dashed for c in curves) == regular
    assert sum(c.end is End.CIRCLE for c in curves) == len(net.inhibitors)
    assert sum(c.end is End.DOT for c in curves) == len(net.tests)
    assert sum(c.is_dashed for c in curves) == len(net.priorities)
    circles = [s for s in scene.shapes if isinstance(s, Disc) and s.radius > 5]
    bars = [s for s in scene.shapes if isinstance(s, Box)]
    assert (len(circles), len(bars)) == (net.num_places, net.num_transitions)
    middles = np.asarray([(s.x, s.y) for s in (*circles, *bars)]).reshape(-1, 2)
    assert are_apart(middles, np.full(middles.shape, 30.0))
