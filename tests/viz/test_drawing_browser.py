"""Where boxes and arrows of the page's drawings stand, and what is marked in them, in Chromium."""

import itertools
import json

import pytest

import snpjax as snp
from snpjax.sleptsov import net_of_text
from snpjax.viz.page.assets import asset
from tests.support.browser import NATURALS, draw, press, shown


pytestmark = pytest.mark.browser

#: A choice, after which counts grow without a bound.
GROWING = snp.SpikingSystem(
    [
        snp.Neuron("src", 2, ["a^2 -> a", "a^2/a -> a", "a{3,}/a -> a"]),
        snp.Neuron("left", 0, ["a -> a"]),
        snp.Neuron("right", 0, ["a -> a; 1"]),
        snp.Neuron("sum", 1, ["a+/a -> a", "a^2 -> lambda"]),
    ],
    [
        ("src", "left"),
        ("left", "src"),
        ("src", "right"),
        ("right", "sum"),
        ("left", "sum"),
        ("sum", "src"),
    ],
    output="sum",
)


def opened(visit, system, **options):
    return visit(system, **options)


def explored(page, most):
    page.click("#tab-graph")
    page.fill("#most", str(most))
    page.click("#explore button")
    shown(page.locator("#graph-status")).to_contain_text("configurations,")


# ---- the configuration graph ----


def test_the_shown_configuration_is_marked_among_many(visit):
    page = opened(visit, GROWING)
    page.locator("#step:not([disabled])").wait_for()
    explored(page, 200)
    shown(page.locator("#graph .state.here")).to_have_count(1)
    assert page.locator("#graph .state.here").get_attribute("data-id") == "0"
    shown(page.locator("#graph .state.initial")).to_have_count(1)
    assert page.locator("#graph .state.initial").bounding_box()["height"] > 18  # it can be read
    for number in range(1, 4):
        page.keyboard.press("n")
        shown(page.locator("#where")).to_contain_text(f"step {number}")
        (id,) = page.locator("#graph .state.here").evaluate_all("all => all.map(x => x.dataset.id)")
        text = page.locator("#graph .state.here .spikes").text_content()
        row = page.locator("tr.shown td:not(.fired)").all_text_contents()
        assert id != "0" and text == f"<{','.join(row)}>"


def test_a_witness_is_marked_in_the_graph(visit):
    page = opened(visit, GROWING)
    explored(page, 40)
    page.fill("#property", "always right = 0")
    page.click("#prove button")
    shown(page.locator("#verdict")).to_contain_text("refuted")
    steps = int(page.inner_text("#where").split()[1])
    shown(page.locator("#graph .edge.path")).to_have_count(steps)
    assert page.locator("#graph .state.here").count() == 1


# ---- what edits leave as it is ----

#: In rows so near each other that files of other programs would be scaled.
PLACED = GROWING.replace(
    notes={"positions": {"src": [0, 0], "left": [180, 60], "right": [180, 180], "sum": [360, 0]}}
)


def places(page):
    """Where boxes stand on the screen."""
    script = """all => all
        .map(x => [x.querySelector(".name").textContent, x.getBoundingClientRect()])
        .map(([name, {x, y}]) => [name, [Math.round(x), Math.round(y)]])"""
    return dict(page.locator("#network .neuron:not(.fold)").evaluate_all(script))


def lines(page):
    return page.locator("#network .edge .line").evaluate_all(
        "all => all.map(x => x.attributes.d.value)"
    )


def test_undo_restores_the_drawing(visit):
    page = opened(visit, GROWING)
    before, arrows = places(page), lines(page)
    page.locator("#network .neuron").nth(1).click()
    page.fill("#edit-name", "other")
    page.keyboard.press("Enter")
    shown(page.locator("#network .neuron .name").nth(1)).to_have_text("other")  # it is drawn
    assert {"left" if name == "other" else name: at for name, at in places(page).items()} == before
    assert lines(page) == arrows  # they still run around boxes
    box = page.locator("#network .neuron").nth(3).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 52, steps=4)
    page.mouse.up()
    shown(page.locator("#subtitle")).to_contain_text("edited")
    x, y = places(page)["sum"]
    assert (x, y) == pytest.approx((before["sum"][0] + 70, before["sum"][1] + 40), abs=2)
    for _ in range(2):
        page.locator("#tool-undo:not([disabled])").click()
    shown(page.locator("#tool-undo")).to_be_disabled()
    assert places(page) == before and lines(page) == arrows


def test_of_large_models_fewer_drawings_are_kept(page):
    kept = """async ([size, count]) => {
      const { Network } = await import("./static/network.js");
      const standings = () => ({ places: { size } });
      const network = { drawings: new Map(), run: { model: 0 }, standings };
      for (let model = 0; model < count; model += 1) {
        network.run.model = model;
        Network.prototype.keep.call(network);
      }
      return [...network.drawings.keys()];
    }"""
    assert page.evaluate(kept, [10, 250]) == list(range(50, 250))
    assert page.evaluate(kept, [100_000, 12]) == list(range(7, 12))
    assert page.evaluate(kept, [1_000_000, 3]) == [2]


def test_a_model_whose_drawing_is_not_kept_stands_where_its_text_says(visit):
    script = asset("static/network.js").decode().replace("500_000", "1")
    page = opened(visit, PLACED, scripts={"network.js": script})
    sum_ = page.locator("#network .neuron").nth(3)
    places = []
    for _ in range(2):
        places.append(sum_.get_attribute("transform"))
        x, y, *_ = sum_.bounding_box().values()
        page.mouse.move(x + 10, y + 10)
        page.mouse.down()
        page.mouse.move(x + 40, y + 30, steps=2)
        with page.expect_response("**/api/change"):
            page.mouse.up()
        shown(page.locator("#tool-undo")).to_be_enabled()
    for place in reversed(places):
        page.keyboard.press("Control+z")
        shown(sum_).to_have_attribute("transform", place)


def test_neurons_that_were_placed_are_never_scaled(visit):
    page = opened(visit, PLACED)

    def places(page):  # in the drawing
        script = "all => all.map(x => [x.textContent, x.getAttribute('transform')])"
        return dict(page.locator("#network .neuron").evaluate_all(script))

    before = places(page)
    for name in ("left", "right"):
        page.locator(f"#network .neuron[data-id='{'12'[name == 'right']}']").click(
            modifiers=["Shift"]
        )
    press(page, "d", neurons=6)
    assert places(page).items() >= before.items()
    page.select_option("#module", label="ADD")
    shown(page.locator("#network .neuron")).not_to_have_count(6)
    assert places(page).items() >= before.items()
    press(page, "Control+z", neurons=6)
    press(page, "Control+z", neurons=4)
    assert places(page) == before


def test_a_neuron_appears_where_it_was_placed(visit):
    page = visit(text=None)
    page.mouse.dblclick(200, 220)
    box = page.locator("#network .neuron .body").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert middle == pytest.approx((200, 220), abs=2)


def test_arrows_run_around_boxes(visit):
    neurons = [snp.Neuron(name, 1, ["a -> a"]) for name in "xyz"]
    row = snp.SpikingSystem(
        neurons,
        [("x", "y"), ("x", "z"), ("z", "x")],
        output="z",
        notes={"positions": {"x": [0, 0], "y": [300, 0], "z": [600, 0]}},
    )
    page = opened(visit, row)
    script = """() => {
      const all = [...document.querySelectorAll("#network .neuron .body")];
      const {left, right, top, bottom} = all[1].getBoundingClientRect();
      return [...document.querySelectorAll("#network .line")].slice(1, 3).map(line => {
        const {a, b, c, d, e, f} = line.getScreenCTM();
        const at = part => line.getPointAtLength(line.getTotalLength() * part / 60);
        return [...Array(61).keys()].map(at)
          .map(({x, y}) => [a * x + c * y + e, b * x + d * y + f])
          .filter(([x, y]) => x > left && x < right && y > top && y < bottom).length;
      });
    }"""
    assert page.evaluate(script) == [0, 0]
    press(page, "a", neurons=4)
    assert page.evaluate(script) == [0, 0]


# ---- keys and colours ----


def test_a_neuron_is_made_by_keys_only(visit):
    page = visit(text=None)
    page.locator("#step").wait_for()
    page.keyboard.press("a")
    node = page.locator("#network .neuron")
    shown(node).to_be_focused()
    page.keyboard.press("i")
    shown(page.locator("#edit-rules")).to_be_focused()
    page.keyboard.type("a -> a")
    page.keyboard.press("Control+Enter")  # at once
    shown(page.locator("#network .rule")).to_have_count(1)
    shown(node).to_be_focused()
    page.locator("#edit-spikes").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    shown(page.locator("#network .count")).to_have_text("3")
    shown(node).to_be_focused()
    page.locator("#edit-name").focus()
    page.keyboard.type("x")
    page.keyboard.press("Escape")  # back, and it keeps its name
    shown(node).to_be_focused()
    page.keyboard.press("a")
    shown(node).to_have_count(2)
    shown(node.nth(1)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")  # to the selected one
    shown(node.nth(1)).to_be_focused()
    assert node.locator(".name").all_text_contents() == ["n1", "n2"]


def test_the_focus_is_no_selection(visit):
    page = opened(visit, GROWING)
    looks = (
        "x => [getComputedStyle(x.querySelector('.body')).stroke, getComputedStyle(x).outlineStyle]"
    )
    left, right = page.locator("#network .neuron").nth(1), page.locator("#network .neuron").nth(2)
    left.focus()
    page.keyboard.press("ArrowLeft")  # as a key moved it
    left.focus()
    (focused, ring), (plain, none) = left.evaluate(looks), right.evaluate(looks)
    assert focused == plain and ring != none
    page.keyboard.press("Enter")
    assert left.evaluate(looks)[0] != plain


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_arrives_from_outside_is_legible_and_covers_nothing(visit, scheme):
    page = visit(size=(720, 640), scheme=scheme)
    page.evaluate("() => { document.getElementById('incoming').hidden = false; }")
    parse = "x => getComputedStyle(x)[%r].match(/[\\d.]+/g).map(Number)"
    ground = page.locator("#incoming").evaluate(parse % "backgroundColor")
    for id in ("#incoming-show", "#incoming-keep"):
        button = page.locator(id)
        assert button.evaluate(parse % "backgroundColor")[3] == 0  # the ground of the box
        assert contrast(button.evaluate(parse % "color"), ground) >= 4.5
    end = page.locator("#incoming").bounding_box()
    assert end["y"] + end["height"] <= page.locator("main").bounding_box()["y"] + 1


def contrast(one, other):
    def light(colour):
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted([light(one[:3]), light(other[:3])], reverse=True)
    return (high + 0.05) / (low + 0.05)


# ---- folds, copies and long lists ----

FAMILY = snp.SpikingSystem(
    [snp.Neuron(f"sensor{{{i}}}", 1000, ["a+/a -> a"]) for i in range(1, 31)] + [snp.Neuron("out")],
    [(f"sensor{{{i}}}", "out") for i in range(1, 31)],
    output="out",
)


def test_a_box_shows_what_is_found_in_it_and_holds_its_text(visit):
    page = opened(visit, FAMILY)
    heads = page.locator("#table thead th").all_text_contents()
    assert heads[2:5] == ["sens…{1}", "sens…{2}", "sens…{3}"]
    page.locator("#network .neuron").first.click()
    page.keyboard.press("g")
    box = page.locator("#network .fold")
    shown(box.locator(".fact")).to_have_text("30 neurons, 30,000 spikes")
    end, text = box.locator(".body").bounding_box(), box.locator(".fact").bounding_box()
    assert text["x"] + text["width"] < end["x"] + end["width"]
    stage = page.locator("#network").bounding_box()
    assert stage["y"] <= end["y"] and end["y"] + end["height"] <= stage["y"] + stage["height"]
    page.fill("#search", "sensor{17}")
    shown(page.locator("#network .fold.found")).to_have_count(1)
    page.fill("#search", "out")
    shown(page.locator("#network .fold.found")).to_have_count(0)


def test_a_text_that_was_mended_is_drawn_like_one_without_errors(visit):
    def drawn(page):
        page.locator("#network .neuron").first.wait_for()
        draw(page)  # it is fitted to the view
        groups = page.locator("#network .world, #network .node")
        return groups.evaluate_all("all => all.map(x => x.getAttribute('transform'))")

    expected = drawn(visit())
    page = visit(text=NATURALS[:-1] + "{")
    shown(page.locator("#findings li")).not_to_have_count(0)
    page.fill("#text", NATURALS)
    page.locator("#network .neuron").first.wait_for()
    page.click("#tab-system")
    assert drawn(page) == expected


NAMED = """n => {
    const root = n.querySelector('.world');
    const names = [...root.querySelectorAll('.below')].map(x => x.getBoundingClientRect());
    const met = [];
    for (const path of root.querySelectorAll('.edge .line')) {
        const [length, matrix] = [path.getTotalLength(), path.getScreenCTM()];
        for (let at = 0; at <= length; at += 1) {
            const {x, y} = path.getPointAtLength(at).matrixTransform(matrix);
            for (const b of names) {
                const isIn = x > b.left + 1 && x < b.right - 1 && y > b.top + 3 && y < b.bottom - 3;
                if (isIn) met.push([x, y]);
            }
        }
    }
    return [names.length, met];
}"""


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_arcs_cross_no_names_and_the_handle_of_a_place_is_at_its_circle(visit, size):
    arcs = snp.sleptsov.Arcs.of
    net = snp.SleptsovNet(
        [3, 0, 1],
        inputs=arcs([(0, 0, 1), (1, 1, 2), (2, 1, 1)]),
        outputs=arcs([(1, 0, 1), (0, 1, 1), (2, 0, 1)]),
        place_names=["a_very_long_name", "buffer_of_items", "x"],
    )
    page = visit(net, size=size)
    count, met = page.locator("#network").evaluate(NAMED)
    assert count == 3 and met == []
    page.locator("#network .place").first.click()
    handle, circle = (
        page.locator(f"#network .selected {part}").bounding_box() for part in (".handle", ".body")
    )
    middle = [handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2]
    right = [circle["x"] + circle["width"], circle["y"] + circle["height"] / 2]
    assert middle == pytest.approx(right, abs=3)


def test_the_frame_of_a_chosen_rule_meets_no_other_rule(page):
    page.locator("#step:not([disabled])").wait_for()
    chooser = page.locator("#network .neuron").first
    chooser.click()
    chooser.locator(".rule").first.click()
    shown(chooser.locator(".rule.chosen")).to_have_count(1)
    frame, other = (
        {part: float(mark.get_attribute(part)) for part in ("y", "height")}
        for mark in chooser.locator(".rule .mark").all()
    )
    assert frame["y"] + frame["height"] + 1 <= other["y"]  # half of its line is outside


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
@pytest.mark.parametrize("number", [15, 40, 100])
def test_at_first_sight_all_is_seen_or_much_of_it_with_a_map(visit, size, number):
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> a", "a^2 -> a"]) for i in range(number)]
    synapses = [
        (f"n{i}", f"n{j % number}")
        for i in range(number)
        for j in (i + 1, 7 * i + 3)
        if j % number != i
    ]
    system = snp.SpikingSystem(neurons, sorted(set(synapses)), output="n0")
    page = visit(system, size=size)
    page.wait_for_timeout(200)  # until the map is drawn
    seen, has_map = page.evaluate("""() => {
        const room = document.getElementById("network").getBoundingClientRect();
        const seen = [...document.querySelectorAll("#network .neuron .body")].filter((body) => {
            const {left, top, right, bottom} = body.getBoundingClientRect();
            const isAcross = left >= room.left && right <= room.right;
            return isAcross && top >= room.top && bottom <= room.bottom;
        });
        return [seen.length, !document.querySelector("#view-system .minimap").hidden];
    }""")
    assert seen >= 0.8 * number or (has_map and seen >= min(0.15 * number, 6)), (seen, has_map)
    scale = page.locator("#network .world").get_attribute("transform").partition("scale(")[2]
    assert 13 * float(scale.rstrip(")")) >= 8  # pixels of a letter


def test_many_neurons_have_named_ends_and_a_legend_of_what_is_drawn(visit):
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> a"]) for i in range(200)]
    synapses = [(f"n{i}", f"n{(i + 1) % 200}") for i in range(200)]
    text = """() => {
        const own = CanvasRenderingContext2D.prototype.fillText;
        window.written = new Set();
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            window.written.add(text);
            return own.call(this, text, ...rest);
        };
    }"""
    page = opened(visit, snp.SpikingSystem(neurons, synapses, output="n0"))
    page.evaluate(text)
    page.click("#view-system [data-zoom=fit]")
    draw(page)
    assert page.evaluate("window.written.has('n199') && window.written.has('out')")
    drawn = "getComputedStyle(document.querySelector('.legend .can'), '::before').backgroundColor"
    accent = page.evaluate(drawn)
    assert accent == "rgb(10, 74, 156)"
    for _ in range(8):
        page.click("#view-system [data-zoom=in]")
    draw(page)
    assert page.evaluate(drawn) != accent


def test_copies_lie_on_nothing(visit):
    page = opened(visit, GROWING)
    page.locator("#network .neuron").nth(1).click()
    for count in (5, 6):
        press(page, "d", neurons=count)
    boxes = [x.bounding_box() for x in page.locator("#network .neuron .body").all()]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = [
                max(one[at], other[at]) >= min(one[at] + one[by], other[at] + other[by])
                for at, by in (("x", "width"), ("y", "height"))
            ]
            assert any(apart)


def test_the_lower_part_leaves_its_room_to_the_drawing(visit):
    page = opened(visit, GROWING)
    height = page.locator("#network").bounding_box()["height"]
    assert height > 0.5 * 720
    page.keyboard.press("t")
    shown(page.locator("#collapse")).to_have_attribute("aria-expanded", "false")
    assert page.locator("#network").bounding_box()["height"] > height + 80
    page.click("#collapse")
    assert page.locator("#network").bounding_box()["height"] == height


def test_a_transition_shows_its_arcs(visit):
    page = visit(net_of_text("t: 2x -> y", {"x": 3}))
    page.locator("#step:not([disabled])").wait_for()
    transition = page.locator("#network .transition")
    assert transition.get_attribute("aria-label") == "transition t: may fire"
    transition.click()
    links = page.locator("#neuron .edges button")
    assert links.all_text_contents() == ["arc from x to t, weight 2", "arc from t to y, weight 1"]
    links.first.click()
    shown(page.locator("#edit-weight")).to_have_value("2")


def test_a_neuron_that_gains_rules_leaves_room(visit):
    stack = snp.SpikingSystem(
        [snp.Neuron(name, 1, ["a -> a"]) for name in "xyz"],
        [("x", "y"), ("y", "z")],
        notes={"positions": {"x": [0, 0], "y": [0, 90], "z": [0, 180]}},
    )
    page = opened(visit, stack, size=(1280, 900))
    before = places(page)
    page.locator("#network .neuron").first.click()
    page.fill("#edit-rules", "a -> a\na^2 -> a\na^3 -> a\na^4 -> a\na^5 -> a")
    page.press("#edit-rules", "Control+Enter")
    shown(page.locator("#network .rule")).to_have_count(7)
    boxes = [x.bounding_box() for x in page.locator("#network .neuron .body").all()]
    for one, other in itertools.pairwise(boxes):
        assert other["y"] - one["y"] - one["height"] > 10
    page.keyboard.press("Control+z")
    shown(page.locator("#network .rule")).to_have_count(3)
    assert places(page) == before


def test_many_neurons_stand_in_the_order_of_their_names(visit):
    names = [f"n{i}" for i in range(200)]
    pairs = [(f"n{i}", f"n{(7 * i + 3) % 200}") for i in range(200)]
    crossing = [(f"n{i}", f"n{(31 * i + 50) % 200}") for i in range(200)]
    synapses = [(s, t) for s, t in {*pairs, *crossing} if s != t]
    many = snp.SpikingSystem([snp.Neuron(name, 1, ["a -> a"]) for name in names], sorted(synapses))
    page = opened(visit, many)
    page.keyboard.press("a")
    shown(page.locator("#subtitle")).to_contain_text("201 neurons")
    found = json.loads(page.input_value("#text"))["notes"]["positions"]
    assert sorted(names, key=lambda name: found[name][::-1]) == names
