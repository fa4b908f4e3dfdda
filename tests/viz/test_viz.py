"""Pictures: what is in them, and what they look like."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax import graphs
from snpjax._text.quoting import printable  # texts in a scene
from snpjax.drawing.scene import (  # the scene of a model
    BLUE,
    VERMILLION,
    Box,
    Curve,
    Disc,
    End,
    Scene,
    TextLine,
    columns,
    shortened,
    to_svg,
)
from snpjax.drawing.tikz import latex_text, to_tikz  # the scene of a model
from snpjax.explore import explore
from snpjax.explore.drawing import graph_scene  # the scene of a model
from snpjax.sleptsov.view.picture import net_scene  # the scene of a model
from snpjax.spiking.view.picture import network_scene  # the scene of a model
from snpjax.spiking.view.pretty import pretty, typeset  # the scene of a model
from snpjax.spiking.view.summary import summary  # the scene of a model
from tests.check.test_graph_exports import CHUNKS, naturals
from tests.support.helpers import REPOSITORY, with_ballast
from tests.support.processes import finished


pytest.importorskip("matplotlib")
import matplotlib  # noqa: E402
import matplotlib.image  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402

from tests.support.viz_pictures import (  # noqa: E402
    BASELINE,
    PICTURES,
    SECONDS,
    SIZE,
    adder_net,
    batch,
    compared,
    grey,
    is_like,
    natural_numbers,
    pixels,
    run,
    solution_of,
    wide_run,
)


HOSTILE = "<script>alert('1')</script>&amp;\"\n$x$ ]]>"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("agg")
    yield
    plt.close("all")


def texts(scene: Scene) -> list[str]:
    return [shape.text for shape in scene.shapes if isinstance(shape, TextLine)]


def arrows(scene: Scene) -> list[Curve]:
    return [c for c in scene.shapes if isinstance(c, Curve) and c.end is not End.NOTHING]


# ---- what they look like ----


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name):
    """After a change that is meant: `python -m tests.support.viz_pictures`, and look at them."""
    assert is_like(name, pixels(PICTURES[name]), _baseline(name))


def test_another_picture_is_seen():
    """The tolerances are not so large: of a missing arrow, another number of rules or of marks."""
    system, wanted = natural_numbers(), _baseline("network")
    chooser = snp.Neuron("chooser", 2, ["a^2/a -> a"])
    for other in (
        system.replace(synapses=[*system.synapses[:2], *system.synapses[3:]]),
        system.replace(output=()),
        system.replace(input={}),
        system.replace(neurons=[chooser, *system.neurons[1:]]),
    ):
        assert not is_like("network", pixels(partial(_network, other)), wanted)
    for name, other in (("raster", "heat_map"), ("numbers", "timings"), ("histogram", "residuals")):
        assert not is_like(name, _baseline(name), _baseline(other))


def _baseline(name):
    return grey(matplotlib.image.imread(BASELINE / f"{name}.png"))


def _network(system, ax):
    return snp.viz.network(system, ax=ax)


# ---- networks ----


def test_a_network_shows_what_a_system_is():
    scene = network_scene(natural_numbers())
    assert {"chooser", "a²", "a²/a → a", "a → a; 1", "a² → λ", "in 0 1 2", "2"} <= set(texts(scene))
    boxes = [shape for shape in scene.shapes if isinstance(shape, Box)]
    assert len(boxes) == 3 + 1  # the border of the output
    # Four synapses, what comes in, and what leaves.
    assert len(arrows(scene)) == 4 + 1 + 1
    assert sum(arrow.colour == VERMILLION for arrow in arrows(scene)) == 1
    assert sum(arrow.colour == BLUE for arrow in arrows(scene)) == 1


@given(st.text("ab神e\u0301", max_size=12), st.integers(1, 8))
def test_a_text_is_cut_where_its_line_ends(text, most):
    found = shortened(text, most)
    if columns(text) <= most:
        assert found == text
        return
    kept = found.removesuffix("…")
    assert text.startswith(kept) and columns(kept) < most
    assert columns(text[: len(kept) + 1]) >= most


def test_rules_in_the_signs_of_papers():
    assert pretty("a{12}(aa)*/a^3 -> a^2; 1") == "a¹²(aa)*/a³ → a²; 1"
    assert pretty("a+/a -> lambda") == "a⁺/a → λ"
    for text, wanted in (
        ("a^2(aa)*/a -> +-2(i, {j, k})", "a²(aa)*/a → ±2(i, {j, k})"),
        ('a/a -> -1(i, {"x->a^2"})', 'a → −1(i, {"x->a^2"})'),
        ("[a^2]_i -> []_j || []_k", "[a²]_i → []_j ‖ []_k"),
        ('[a^2]_i -> []_"->a^2" || []_"|| a^3"', '[a²]_i → []_"->a^2" ‖ []_"|| a^3"'),
        ("[a+]_i -> []_i / []_b", "[a⁺]_i → []_i / []_b"),
        ("[a]_i -> []_x / []_b", "[a]_i → []_x / []_b"),
        ("a^2/Q(a^3, j)(a^inf, k)", "a²/Q(a³, j)(a^∞, k)"),
    ):
        (rule,) = snp.Neuron("i", 0, [text]).rules
        assert typeset(rule, "i") == wanted


def test_systems_that_change_and_variants():
    plastic = snp.SpikingSystem(
        [snp.Neuron("i", 1, ["a -> +1 {j, m}"]), snp.Neuron("j"), snp.Neuron("m")], [("j", "m")]
    )
    assert [arrow.is_dashed for arrow in arrows(network_scene(plastic))] == [False, True, True]
    dividing = snp.SpikingSystem(
        [snp.Neuron("0", 1, ["[a]_0 -> []_1 || []_2"]), snp.Neuron("e", 1, ["a -> a"])],
        [("e", "0")],
        dictionary=[("e", "1")],
        rules_by_label={"1": ["a -> a"], "2": []},
    )
    scene = network_scene(dividing)
    assert {"label 1", "label 2", "[a]_0 → []_1 ‖ []_2"} <= set(texts(scene))
    assert [arrow.is_dashed for arrow in arrows(scene)] == [False, True]
    dashed = [shape for shape in scene.shapes if isinstance(shape, Box) and shape.is_dashed]
    assert len(dashed) == 2
    ruled = snp.SpikingSystem(
        [snp.Neuron("i", 2), snp.Neuron("o")],
        variant=snp.SynapseRules({("i", "o"): ["a/a -> a"], ("o", None): ["a -> a"]}),
        output="o",
    )
    assert texts(network_scene(ruled)).count("a → a") == 1  # at the synapse
    assert "a → a  (out)" in texts(network_scene(ruled))
    routed = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a(2)"]), snp.Neuron("y")],
        [("x", "y", 3)],
        variant=snp.Channels({"1": [("x", "y")], "2": [("x", "y")]}),
    )
    assert {"a → a(2)", "3(1, 2)"} <= set(texts(network_scene(routed)))
    timed = [
        (snp.SynapseDelays({("x", "y"): 2}), "3 d = 2"),
        (snp.DendriticDelays({"y": 1}), "3 d = 1"),
        (
            snp.ScheduledSynapses([("x", "y", 1, 4), ("x", "y", 6, None, "x")]),
            "3 [1, 4) [6, ∞) of x",
        ),
    ]
    for variant, text in timed:
        neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")]
        scene = network_scene(snp.SpikingSystem(neurons, [("x", "y", 3)], variant=variant))
        assert text in texts(scene)
    requests = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a/Q(a^2, y)"]), snp.Neuron("y", 2)], variant=snp.Requests()
    )
    assert [arrow.is_dashed for arrow in arrows(network_scene(requests))] == [True]
    watched = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")],
        [("x", "y")],
        variant=snp.Astrocytes([snp.Astrocyte([("x", "y")], 3)]),
    )
    scene = network_scene(watched)
    assert "k = 3" in texts(scene)
    assert [arrow.end for arrow in arrows(scene)] == [End.ARROW, End.DOT]
    anti = snp.SpikingSystem([snp.Neuron("x", -2, ["ā^2 -> ā"])], variant=snp.AntiSpikes())
    assert {"ā²", "ā² → ā"} <= set(texts(network_scene(anti)))


def test_many_neurons_are_few_boxes():
    num = 70
    rules = [snp.Rule(i + 1, i + 1, 1) for i in range(num)]
    neurons = [snp.Neuron(f"in{{{i}}}", i % 3, ["a+/a -> a"]) for i in range(num)]
    neurons += [snp.Neuron(f"s{{{i}}}", 0, [rule]) for i, rule in enumerate(rules)]
    neurons.append(snp.Neuron("out", 2, ["a -> lambda"]))
    synapses = [(f"in{{{i}}}", f"s{{{i}}}", 2) for i in range(num)]
    synapses += [(f"s{{{i}}}", "out") for i in range(num)]
    system = snp.SpikingSystem(neurons, synapses, output="out", input={"in{3}": [1], "in{4}": [1]})
    cards, links = summary(system, 60)
    assert [(card.name, card.spikes, card.is_many) for card in cards] == [
        ("in", "× 70", True),
        ("s", "× 70", True),
        ("out", "a²", False),
    ]
    assert cards[0].lines == ("0 to 2 spikes", "a⁺/a → a") and cards[0].feed == "in: 2 trains"
    assert cards[1].lines == ("70 lists of rules, 70 in all",)
    assert [(s, t, text) for s, t, text, _ in links] == [
        (0, 1, "70 synapses × 2"),
        (1, 2, "all to all"),
    ]
    assert len([shape for shape in network_scene(system).shapes if isinstance(shape, Box)]) < 60
    scene = network_scene(system, max_neurons=200)
    assert sum(text.startswith("in{") for text in texts(scene)) == num


@pytest.mark.parametrize("most", [1, 3, 60])
def test_a_summary_has_every_neuron_and_synapse_once(most):
    rng = np.random.default_rng(0)
    num = 80
    names = [f"{chr(97 + i % 26)}{'x' * (i // 26)}" for i in range(num)]
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, num, (150, 2)) if a != b}
    system = snp.SpikingSystem(
        [snp.Neuron(n) for n in names], [(names[a], names[b]) for a, b in pairs]
    )
    cards, links = summary(system, most)
    assert len(cards) == most
    sizes = [int(card.spikes[2:].replace(",", "")) if card.is_many else 1 for card in cards]
    assert sum(sizes) == num
    counts = [
        sizes[s] * sizes[t] if text == "all to all" else int(text.split()[0].replace(",", ""))
        for s, t, text, _ in links
    ]
    assert sum(counts) == len(pairs)


def test_populations():
    size = 300
    populations = [
        snp.Population("in", size, np.arange(size), ["a+/a -> a"]),
        snp.Population(
            "s", size, 0, [snp.RuleTemplate(np.arange(size) + 1, np.arange(size) + 1, 1)]
        ),
        snp.Population("out", 1),
    ]
    projections = [
        snp.Projection("in", "s", graphs.OneToOne(2)),
        snp.Projection("s", "out", graphs.AllToAll(-1)),
    ]
    system = snp.PopulationSystem(populations, projections, output="out[0]", signed=True)
    found = set(texts(network_scene(system)))
    assert {"× 300", "0 to 299 spikes", "a⁺/a → a", "a → a  …  a³⁰⁰ → a"} <= found
    assert {"one to one × 2", "all to all × −1"} <= found
    assert len(arrows(network_scene(system))) == 2 + 1
    small = snp.PopulationSystem([snp.Population("n", 3, 1)], output="n")
    assert texts(network_scene(small)).count("a") == 3
    plastic = [
        snp.PlasticityTemplate(None, 2, "-+", 1, {"q": graphs.AllToAll()}),
        snp.PlasticityTemplate(None, 1, "-", np.arange(1, 4), {"q": graphs.AllToAll()}),
    ]
    growing = snp.PopulationSystem([snp.Population("p", 3, 2, plastic), snp.Population("q", 80)])
    assert {"a² → ∓1 {q}", "a → −1 {q}  …  a → −3 {q}"} <= set(texts(network_scene(growing)))


# ---- nets ----


def test_a_net_has_every_kind_of_arc():
    scene = net_scene(adder_net())
    ends = [(curve.end, curve.is_dashed) for curve in arrows(scene)]
    assert ends.count((End.CIRCLE, False)) == 2 and ends.count((End.DOT, False)) == 1
    assert ends.count((End.ARROW, True)) == 2 and ends.count((End.ARROW, False)) == 6
    bars = [shape for shape in scene.shapes if isinstance(shape, Box)]
    assert len(bars) == 3 and all(bar.height > 3 * bar.width for bar in bars)
    dots = [shape for shape in scene.shapes if isinstance(shape, Disc) and shape.radius < 5]
    assert len(dots) == 3  # of y; x and sum have numbers
    assert {"x", "y", "sum", "stop", "add", "clear", "end", "6", "12"} <= set(texts(scene))
    assert sorted(text for text in texts(scene) if text in "23") == ["2", "2", "2", "3"]
    after = net_scene(adder_net(), marking=[0, 1, 20_000, 0])
    assert "2e4" in texts(after) and "6" not in texts(after)
    assert "≈2e4" in texts(net_scene(adder_net(), marking=[0, 1, 20_001, 0]))


def test_what_a_net_refuses():
    with pytest.raises(ValueError, match="Raise `max_nodes`"):
        net_scene(adder_net(), max_nodes=3)
    with pytest.raises(ValueError, match="Give 4 numbers"):
        net_scene(adder_net(), marking=[1])


# ---- runs and batches ----


def test_a_raster_has_a_mark_for_every_emission():
    solution = run()
    ax = snp.viz.raster(solution)
    marks = [path for lines in ax.collections for path in lines.get_paths()]
    assert len(marks) == np.count_nonzero(solution.emissions)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["chooser", "echo", "output"]
    black, coloured = ax.collections
    assert len(coloured.get_paths()) == np.count_nonzero(solution.emissions[:, 2])
    assert {x for path in coloured.get_paths() for x in path.vertices[:, 0]} == {1, 3, 4, 5, 6}


def test_large_runs_keep_what_stands_out():
    solution = wide_run()
    ax = snp.viz.heat_map(solution)
    (image,) = ax.images
    shown = np.asarray(image.get_array())
    assert shown.max() == 9 and np.sum(shown == 9) == 1
    title = ax.get_title(loc="right")
    rows, columns = map(
        int, re.fullmatch(r"a pixel: .* (\d+) neurons in (\d+) steps", title).groups()
    )
    assert shown.shape == (-(-1200 // rows), -(-3001 // columns))
    # Every block stands where its steps are, also where the last one is smaller.
    left, right, bottom, top = image.get_extent()
    assert (right - left, bottom - top) == (columns * shown.shape[1], rows * shown.shape[0])
    assert ax.get_xlim() == (-0.5, 3000.5) and ax.get_ylim() == (1199.5, -0.5)
    pixel = ax.get_window_extent()
    assert shown.shape[0] <= pixel.height and shown.shape[1] <= pixel.width
    marks = np.asarray(snp.viz.raster(solution).images[0].get_array())
    assert np.sum(marks.min(axis=2) < 0.5) >= 1200 * 10 // rows / columns


def test_negative_counts_have_two_colours():
    for counts in ([0, -5, 2], [0, 5, -2]):
        solution = solution_of(natural_numbers(), None, [counts, [1, 0, 2]])
        (image,) = snp.viz.heat_map(solution).images
        assert image.get_clim() == (-5, 5), counts
        colours = [grey(np.asarray(image.get_cmap()(image.norm(x)))).item() for x in (-5, 0, 5)]
        assert np.all(np.diff(colours) > 0.2)


def test_shares_of_numbers_and_halting_times():
    solution = batch()
    for ax in (snp.viz.numbers(solution), snp.viz.halting_times(solution)):
        heights = [bar.get_height() for bar in ax.patches]
        assert sum(heights) == pytest.approx(1) and heights[-1] == pytest.approx(0.05)
        numbers, last = ax.get_xticks()[:-1], ax.get_xticklabels()[-1].get_text()
        assert last in ("no number", "not halted\nafter 40")
        own = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
        assert min(own) <= min(numbers) and max(numbers) <= own[-2] < own[-1] == ax.get_xticks()[-1]
    many = solution_of(
        natural_numbers(),
        None,
        np.zeros((1, 3, 1000)),
        steps=np.arange(1000),
        halted=np.ones(1000, bool),
    )
    ax = snp.viz.halting_times(many)
    assert len(ax.patches) == 59 and "17 neighbouring" in ax.get_title(loc="right")
    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1)


def test_what_runs_refuse():
    bare = solution_of(natural_numbers(), None, [[0, 0, 0]])
    with pytest.raises(ValueError, match="Emissions were not saved"):
        snp.viz.raster(bare)
    for draw in (snp.viz.numbers, snp.viz.halting_times):
        with pytest.raises(ValueError, match="not a batch of paths"):
            draw(bare)
    for draw in (snp.viz.raster, snp.viz.heat_map):
        with pytest.raises(ValueError, match=r"draw one: `batch\[0\]`"):
            draw(batch())
    with pytest.raises(IndexError):
        batch()[1000]


# ---- graphs ----


@pytest.fixture(scope="module")
def found():
    return explore(with_ballast(naturals()), chunks=CHUNKS)


def test_a_small_graph_is_boxes(found):
    last = int(found.halting()[0])
    scene = graph_scene(found, witness=last)
    boxes = [shape for shape in scene.shapes if isinstance(shape, Box)]
    assert len(boxes) == found.num_configurations + len(found.halting())
    pairs = set(zip(found.sources.tolist(), found.edge_targets.tolist(), strict=True))
    assert len(arrows(scene)) == len(pairs) + 1
    path = found.path_to(last)
    assert sum(curve.colour == VERMILLION for curve in arrows(scene)) == len(path) - 1
    coloured = [box for box in boxes if box.stroke == VERMILLION]
    assert len(coloured) == len(path) + 1  # the last one halts
    assert pixels(lambda ax: snp.viz.graph(found, ax=ax)).min() < 0.5


def test_a_larger_graph_is_dots_and_a_large_one_is_counted(found):
    last = int(found.halting()[0])
    ax = snp.viz.graph(found, witness=last, max_texts=2)
    edges, path, *dots = ax.collections
    pairs = set(zip(found.sources.tolist(), found.edge_targets.tolist(), strict=True))
    assert len(edges.get_paths()) == len(pairs)
    assert len(path.get_paths()) == len(found.path_to(last)) - 1
    assert sum(len(some.get_offsets()) for some in dots) == found.num_configurations
    assert len(dots[1].get_offsets()) == len(found.halting())
    ax = snp.viz.graph(found, witness=last, max_texts=2, max_dots=2)
    counts, halting, witness = ax.lines
    assert sum(counts.get_ydata()) == found.num_configurations
    assert sum(halting.get_ydata()) == len(found.halting())
    assert witness.get_xdata()[0] == found.depths[last]
    with pytest.raises(ValueError, match="no configuration 999999"):
        snp.viz.graph(found, witness=999_999)
    verdict = snp.check(found, "eventually halted")
    ax = snp.viz.graph(found, witness=verdict, max_texts=2)
    (loop,) = (x for x in ax.collections if x.get_label() == "repeated for ever")
    assert len(loop.get_paths()) == verdict.num_steps - verdict.loop
    with pytest.raises(ValueError, match="rules or emissions"):
        snp.viz.graph(found, labels="colours")  # pyright: ignore[reportArgumentType]


# ---- timings and proliferation ----


def test_timings_are_sorted_and_the_choice_is_marked():
    ax = snp.viz.timings(SECONDS, chosen=("ell", "back"))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["ell", "csr", "dense", "bit-dense"] and "µs" in ax.get_xlabel()
    texts = [text.get_text() for text in ax.texts]
    assert texts == [" 4", " 22", " 3,000", " does not fit", " 9 ★ chosen", " 11"]


def test_all_that_is_wrong_with_timings():
    with pytest.raises(ValueError) as error:
        snp.viz.timings({("a", "b"): -1.0, ("c", "b"): np.nan}, chosen="d")
    assert [line.split(":")[0] for line in f"{error.value}".splitlines()] == [
        "('a', 'b')",
        "('c', 'b')",
        "'d' was chosen, but is not in the table",
    ]
    with pytest.raises(ValueError, match="empty"):
        snp.viz.timings({})


def test_the_band_holds_what_is_expected():
    found = compared()
    (band, _), (line, dots) = (lambda ax: (ax.collections, ax.lines))(found.histogram())
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.max() == pytest.approx((found.mean + 1.96 * found.sd).max(), rel=1e-3)
    assert np.array_equal(line.get_ydata(), found.mean)
    assert dots.get_ydata().sum() == found.measured.cells


# ---- notebooks, and names that would be markup ----


def hostile_system() -> snp.SpikingSystem:
    neurons = [snp.Neuron(HOSTILE, 3, ["a/a -> a"]), snp.Neuron("神経", 0)]
    return snp.SpikingSystem(neurons, [(HOSTILE, "神経")], name=HOSTILE, output=HOSTILE)


def assert_plain(svg: str) -> None:
    """Nothing in it but our shapes, and no name is anything but text."""
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "circle", "path", "text"}
    assert "style" not in root.attrib  # which not every program understands
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)


def test_notebooks():
    system = hostile_system()
    populations = snp.PopulationSystem([snp.Population("p", 100, 1, ["a -> a"])], name=HOSTILE)
    net = adder_net().replace(name=HOSTILE, place_names=[HOSTILE, "b", "c", "d"])
    for thing in (system, populations, net):
        svg = thing._repr_svg_()
        assert_plain(svg)
        html = thing._repr_html_()
        assert svg in html and "<script" not in html
    shown = "".join(ElementTree.fromstring(system._repr_svg_()).itertext())
    assert printable(HOSTILE)[:20] in shown and "神経" in shown
    large = snp.SleptsovNet(
        np.zeros(200, int), inputs=adder_net().inputs, outputs=adder_net().outputs
    )
    assert large._repr_svg_() is None and "<svg" not in large._repr_html_()


def test_hostile_names_on_paper():
    """A dollar is no formula, and a letter that the font has not is no warning."""
    system = hostile_system()
    pixels(lambda ax: snp.viz.network(system, ax=ax))
    solution = solution_of(system, [[1, 0]], [[1, 0], [0, 1]])
    ax = snp.viz.raster(solution)
    assert "$" not in ax.get_yticklabels()[0].get_text().replace(r"\$", "")


def test_an_axes_of_ones_own_is_taken_and_its_style_left():
    figure, ax = plt.subplots(figsize=SIZE)
    before = dict(plt.rcParams)
    assert snp.viz.network(natural_numbers(), ax=ax) is ax and ax.figure is figure
    assert snp.viz.network(natural_numbers()).figure is not figure
    assert dict(plt.rcParams) == before


def test_svg_of_every_shape():
    line = ((0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0))
    shapes = [Curve(line, end=end, is_dashed=True) for end in End] + [
        Box(5, 5, 10, 10),
        Disc(1, 1, 2),
    ]
    svg = to_svg(Scene((*shapes, TextLine(0, 0, "<&>", has_ground=True)), "a & b"))
    assert_plain(svg)
    assert svg.count("stroke-dasharray") == len(End) and "&lt;&amp;&gt;" in svg


# ---- LaTeX ----


def test_names_are_no_commands_in_latex():
    system = snp.SpikingSystem([snp.Neuron(r"\input{x}_$1$ ^~%#&", 12, ["a^12/a^2 -> a"])])
    text = to_tikz(network_scene(system))
    assert r"\textbackslash{}input\{x\}\_\$1\$ \textasciicircum{}\textasciitilde{}\%\#\&" in text
    assert r"a\textsuperscript{12}/a\textsuperscript{2} $\to$ a" in text
    assert text.count("{") == text.count("}")


def test_every_colour_of_a_latex_picture_is_defined():
    for scene in (network_scene(natural_numbers()), graph_scene(snp.explore(natural_numbers()))):
        text = to_tikz(scene)
        defined = set(re.findall(r"definecolor{(\w+)}", text))
        assert defined >= set(re.findall(r"\bsnp[0-9a-f]{6}\b", text)) and defined


@pytest.mark.tools
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_latex_pictures_compile(tmp_path):
    """Of a system with every kind of sign, a net and a graph."""
    rules = ["a/a -> +-2(i_1, {j, k})", "a^2(aa)*/a -> a^12; 3", "a+/a^3 -> lambda"]
    neurons = [snp.Neuron("i_1", 2, rules), *map(snp.Neuron, "jk")]
    system = snp.SpikingSystem(neurons, [("i_1", "j")], level="extended")
    net = snp.read_net(REPOSITORY / "examples/half.lsn")
    graph = snp.explore(natural_numbers())
    for number, scene in enumerate((network_scene(system), net_scene(net), graph_scene(graph))):
        snp.viz.canvas.save_scene(scene, tmp_path / f"{number}.tex")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{number}.tex"]
        done = finished(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        assert (tmp_path / f"{number}.pdf").exists()


def test_every_sign_of_a_picture_is_one_of_latex():
    """In names it may be any; pdflatex knows those of Latin letters."""
    schedule = snp.ScheduledSynapses([("x", "y", 1, 4, "x")])
    neurons = [snp.Neuron("x", 3, ["a+/a -> a"]), snp.Neuron("y")]
    scheduled = snp.SpikingSystem(neurons, [("x", "y")], variant=schedule)
    delayed = snp.SpikingSystem(neurons, [("x", "y")], variant=snp.SynapseDelays({("x", "y"): 2}))
    net = snp.SleptsovNet(
        np.full(4, 123_456_789_012), inputs=adder_net().inputs, outputs=adder_net().outputs
    )
    scenes = [network_scene(scheduled), network_scene(delayed), net_scene(net)]
    scenes += [graph_scene(snp.explore(x)) for x in (scheduled, delayed)]
    for scene in scenes:
        assert to_tikz(replace(scene, title="")).isascii()


def test_ligatures_of_latex_do_not_change_names():
    assert latex_text("a--b  c") == "a-{}-b~~c"
    assert latex_text("?`x'") == r"?{}\textasciigrave{}x\textquoteright{}"


def test_axes_are_not_saved(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    with pytest.raises(TypeError, match=r"Pass `ax\.figure`"):
        snp.viz.save(ax, tmp_path / "x.png")
    with pytest.raises(TypeError, match="`figure` is a list"):
        snp.viz.save([figure], tmp_path / "x.png")
    plt.close(figure)
