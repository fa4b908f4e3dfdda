"""Editing, searching and walking through time on the page, as a user does it."""

import json
import random

import pytest

import snpjax as snp
from snpjax.io import model_text
from snpjax.sleptsov import net_of_text
from tests.support.browser import (
    NATURALS,
    PATIENCE,
    choose_otherwise,
    explore,
    hold_back,
    neuron,
    press,
    save,
    shown,
    spikes,
    step,
)


pytestmark = pytest.mark.browser


LASSO = snp.SpikingSystem(
    [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"]), snp.Neuron("z", 1)],
    [("x", "y"), ("y", "x")],
)


def large(size, degree=3):
    """A system of many neurons, half of which fire."""
    draw = random.Random(size)
    neurons = [snp.Neuron(f"n{i}", i % 3, ["a/a -> a", "a^2/a -> a; 1"]) for i in range(size)]
    pairs = {(draw.randrange(size), draw.randrange(size)) for _ in range(degree * size)}
    synapses = [(f"n{s}", f"n{t}") for s, t in sorted(pairs) if s != t]
    return model_text(snp.SpikingSystem(neurons, synapses, output="n0"), "native")[0]


def names(page):
    return page.locator("#network .neuron .name").all_text_contents()


def text_of(page):
    page.click("#tab-text")
    text = page.input_value("#text")
    page.click("#tab-system")
    return text


def answered(page, held):
    """Let the oldest question that was held back be answered."""
    for _ in range(PATIENCE // 20):
        if held:
            return held.pop(0).continue_()
        page.wait_for_timeout(20)
    raise AssertionError(f"no question: {page.inner_text('body')}")


# ---- editing ----


def test_neurons_are_added_removed_and_brought_back(page):
    press(page, "a", neurons=4)
    assert "n1" in names(page)
    assert page.locator("#edit-name").input_value() == "n1"
    page.locator("#network .neuron").filter(has_text="n1").click()
    press(page, "Delete", neurons=3)
    press(page, "Control+z", neurons=4)
    press(page, "Control+z", neurons=3)
    assert "n1" not in names(page)
    press(page, "Control+Shift+Z", neurons=4)
    assert "n1" in names(page)
    assert "/* Generates every natural number" in text_of(page)  # comments stay


@pytest.mark.parametrize("most", [1, 256])
def test_every_movement_is_undone(visit, monkeypatch, most):
    """Also those to models that the server no longer keeps, which are read again: of P-Lingua,
    whose texts have no positions."""
    monkeypatch.setattr("snpjax.viz.page.session._LEAST_MODELS", most)
    monkeypatch.setattr("snpjax.viz.page.session._MOST_MODELS", most)
    page = visit()
    step(page, 2)
    chooser = neuron(page, "chooser")
    places = []
    for _ in range(18 if most > 16 else 3):
        places.append(chooser.get_attribute("transform"))
        x, y, *_ = chooser.bounding_box().values()
        page.mouse.move(x + 10, y + 10)
        page.mouse.down()
        page.mouse.move(x + 18, y + 14, steps=2)
        with page.expect_response("**/api/change"):
            page.mouse.up()
        shown(chooser).not_to_have_attribute("transform", places[-1])
        shown(page.locator("#tool-undo")).to_be_enabled()
    where = page.inner_text("#where")
    for place in reversed(places):
        page.keyboard.press("Control+z")
        shown(chooser).to_have_attribute("transform", place)
    shown(page.locator("#tool-undo")).to_be_disabled()
    if most > 16:
        assert page.inner_text("#where") == where  # the run stays
    for place in [*places[1:], None]:
        page.keyboard.press("Control+Shift+Z")
        if place is not None:
            shown(chooser).to_have_attribute("transform", place)
    shown(page.locator("#tool-redo")).to_be_disabled()


def test_a_synapse_is_drawn_by_dragging(page):
    neuron(page, "chooser").click()
    start = page.locator("#network .handle").bounding_box()
    end = neuron(page, "output").bounding_box()
    weights = page.locator("#network .edge .grip").count()
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + 10, steps=5)
    page.mouse.up()
    # There is one already: it keeps its weight of 1, and nothing was added.
    shown(page.locator("#network .edge .grip")).to_have_count(weights)
    neuron(page, "output").click()
    page.keyboard.press("c")
    neuron(page, "echo").click()
    shown(page.locator("#network .edge .grip")).to_have_count(weights + 1)
    assert "(output, echo)" in text_of(page)


def test_a_weight_is_changed(page):
    page.locator("#network .edge .grip").first.dispatch_event("click")
    shown(page.locator("#edit-weight")).to_have_value("1")
    page.fill("#edit-weight", "3")
    page.keyboard.press("Enter")
    shown(page.locator("#network .weight")).to_have_count(1)
    assert page.locator("#network .weight").text_content() == "×3"


def test_several_are_connected_at_once(page):
    page.keyboard.press("Control+a")
    page.keyboard.press("c")
    neuron(page, "chooser").click()
    shown(page.locator("#message")).to_have_text("1 synapse added. Ctrl+Z takes this back.")


def test_several_are_selected_copied_and_removed(page):
    page.keyboard.press("Control+a")
    shown(page.locator("#network .selected")).to_have_count(3)
    press(page, "d", neurons=6)
    assert set(names(page)) >= {"chooser_1", "echo_1", "output_1"}
    shown(page.locator("#network .neuron.selected")).to_have_count(3)
    press(page, "Delete", neurons=3)
    neuron(page, "chooser").click()
    neuron(page, "echo").click(modifiers=["Shift"])
    shown(page.locator("#network .neuron.selected")).to_have_count(2)
    page.keyboard.press("Escape")
    shown(page.locator("#network .neuron.selected")).to_have_count(0)


def test_the_drawing_follows_the_text_and_the_text_the_drawing(page):
    page.click("#tab-text")
    assert page.locator("#network").is_visible()  # side by side
    text = page.input_value("#text")
    page.fill("#text", text.replace("@ms(echo) = a;", "@ms(echo) = a*7;"))
    shown(page.locator("#network .neuron .count").nth(1)).to_have_text("7")
    page.fill("#text", text.replace("@ms(echo) = a;", "@ms(echo) = ;"))
    shown(page.locator("#findings li")).not_to_have_count(0)
    assert (
        page.locator("#network .neuron .count").nth(1).text_content() == "7"
    )  # the last valid one
    page.fill("#text", text)
    shown(page.locator("#network .neuron .count").nth(1)).to_have_text("1")
    neuron(page, "output").click()
    marked = [int(line) for line in page.locator("#lines mark").all_inner_texts()]
    lines = page.input_value("#text").splitlines()
    assert marked == [i + 1 for i, line in enumerate(lines) if "output" in line]
    at = text.index("@ms(chooser)") + 6
    page.evaluate(
        "at => { const field = document.getElementById('text'); field.focus();"
        " field.setSelectionRange(at, at); field.dispatchEvent(new Event('keyup')); }",
        at,
    )
    shown(page.locator("#neuron h3")).to_have_text("chooser")


def test_a_selected_neuron_does_not_scroll_the_line_that_is_typed_out_of_sight(visit):
    page = visit(text=NATURALS + "/* a comment */\n" * 80)
    page.click("#tab-text")
    field = page.locator("#text")

    def scrolled():
        return field.evaluate("field => field.scrollTop")

    field.press("Control+End")
    neuron(page, "chooser").click()
    shown(page.locator("#neuron h3")).to_have_text("chooser")
    top = scrolled()
    assert top < 100  # nothing was typed
    field.press("Control+End")
    field.press_sequentially("/* typed")
    bottom = scrolled()
    assert bottom > 1000
    for status in ("Changed", "error"):
        shown(page.locator("#text-status")).to_contain_text(status)
        for name in ("echo", "chooser"):
            neuron(page, name).click()
            shown(page.locator("#neuron h3")).to_have_text(name)
        assert scrolled() == bottom
    field.press("Control+End")
    field.press_sequentially(" */")
    shown(page.locator("#text-status")).to_be_empty()
    bottom = scrolled()
    assert bottom > 1000
    neuron(page, "echo").click()
    shown(page.locator("#neuron h3")).to_have_text("echo")
    assert scrolled() == bottom
    field.evaluate("field => { field.scrollTop = 600; }")  # the cursor is out of sight
    neuron(page, "chooser").click()
    shown(page.locator("#neuron h3")).to_have_text("chooser")
    assert scrolled() == top


def test_a_text_that_was_opened_with_errors_is_mended_by_typing(visit):
    page = visit(text=f"{NATURALS}}}")
    shown(page.locator("body.unread")).to_be_visible()
    page.locator("#text").press("Control+End")
    page.locator("#text").press("Backspace")
    shown(page.locator("#network .neuron")).to_have_count(3)
    shown(page.locator("#text-status")).to_be_empty()


def test_a_lost_server_is_announced(page):
    page.click("#tab-text")
    page.locator("#step:not([disabled])").wait_for()  # a route misses what is asked meanwhile
    page.route("**/api/*", lambda route: route.abort())
    shown(page.locator("#lost")).to_be_visible()
    page.locator("#text").press_sequentially("x")
    shown(page.locator("#text-status")).to_contain_text("server has ended")
    page.unroute("**/api/*")
    shown(page.locator("#lost")).to_be_hidden()
    shown(page.locator("#text-status")).to_contain_text("error")  # what was typed is read
    assert page.input_value("#text").count("x") == NATURALS.count("x") + 1


def test_the_first_step_is_prepared_when_the_server_returns(page):
    page.locator("#step:not([disabled])").wait_for()
    page.route("**/api/first", lambda route: route.abort())
    page.keyboard.press("a")
    shown(page.locator("#message")).to_contain_text("server")
    page.unroute("**/api/first")
    shown(page.locator("#network .neuron")).to_have_count(4)
    step(page)


def test_undo_works_after_the_server_was_gone(page):
    press(page, "a", neurons=4)
    page.locator("#step:not([disabled])").wait_for()  # nothing else is asked
    page.route("**/api/*", lambda route: route.abort())
    page.keyboard.press("Control+z")
    shown(page.locator("#message")).to_contain_text("server")
    shown(page.locator("#network .neuron")).to_have_count(4)
    page.unroute("**/api/*")
    press(page, "Control+z", neurons=3)
    press(page, "Control+Shift+Z", neurons=4)


def test_a_text_that_is_typed_while_an_edit_waits_stays(page):
    held = hold_back(page, "change")
    with page.expect_request("**/api/change"):
        page.keyboard.press("a")
    page.click("#tab-text")
    text = page.input_value("#text").replace("@ms(echo) = a;", "@ms(echo) = a*7;")
    page.fill("#text", text)
    held.pop().continue_()
    shown(page.locator("#message")).to_contain_text("changes that were not read")
    assert page.input_value("#text") == text
    shown(neuron(page, "echo").locator(".count")).to_have_text("7")  # it is read next
    assert page.locator("#network .neuron").count() == 3


def test_undo_brings_back_the_text_before_typed_errors(page):
    text = page.input_value("#text")
    page.click("#tab-text")
    page.fill("#text", f"{text}}}")
    shown(page.locator("#findings li")).not_to_have_count(0)
    page.click("#tab-system")
    page.keyboard.press("a")
    shown(page.locator("#message")).to_contain_text("The text has errors")
    page.click("#tool-undo")
    shown(page.locator("#text")).to_have_value(text)
    shown(page.locator("#text-flag")).to_be_hidden()
    page.click("#tool-redo")
    shown(page.locator("#text")).to_have_value(f"{text}}}")
    shown(page.locator("#findings li")).not_to_have_count(0)
    page.click("#tab-system")
    page.click("#tool-undo")
    shown(page.locator("#text")).to_have_value(text)
    press(page, "a", neurons=4)


def test_a_file_holds_a_movement_by_keys_that_was_just_made(page):
    neuron(page, "echo").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Alt+ArrowRight")
    page.keyboard.press("s")
    page.select_option("#save-format", "native")
    file = save(page, "#save-now")
    assert "positions" in json.loads(file.path().read_text())["notes"]


def test_keys_are_faster_than_answers(page):
    for key in ("a", "a", "Control+z", "a"):
        page.keyboard.press(key)
    shown(page.locator("#network .neuron")).to_have_count(5)


def test_modules_are_inserted(visit):
    page = visit(text=None)
    page.select_option("#module", "add")
    shown(page.locator("#network .neuron")).to_have_count(8)
    page.select_option("#module", "and")
    shown(page.locator("#network .neuron")).to_have_count(9)


def test_an_invalid_change_keeps_the_last_valid_system(page):
    neuron(page, "echo").click()
    page.fill("#edit-name", "output")
    page.keyboard.press("Enter")
    shown(page.locator("#edit-name-problem")).to_contain_text("'output' is declared twice")
    assert names(page) == ["chooser", "echo", "output"]
    step(page)


def test_positions_stay_where_they_are(page):
    before = neuron(page, "chooser").get_attribute("transform")
    step(page, 2)
    assert neuron(page, "chooser").get_attribute("transform") == before
    press(page, "a", neurons=4)
    assert neuron(page, "chooser").get_attribute("transform") == before


def branched(page):
    """Two branches of the computation, of which the shown one has two steps."""
    step(page, 3)
    choose_otherwise(page)
    shown(page.locator("#where")).to_have_text("step 1 of 1")
    step(page)
    page.click("#show-branches")
    shown(page.locator("#history-branches li")).to_have_count(2)


def test_a_movement_keeps_the_computation_its_branches_and_the_graph(page):
    branched(page)
    explore(page)
    page.click("#tab-system")
    before, counts = page.inner_text("#history-branches"), spikes(page)
    chooser = neuron(page, "chooser")
    place = chooser.get_attribute("transform")

    def is_kept():
        shown(page.locator("#where")).to_contain_text("step 2 of 2")
        assert page.inner_text("#history-branches") == before and spikes(page) == counts

    chooser.click()
    page.keyboard.press("Alt+ArrowRight")
    shown(page.locator("#tool-undo")).to_be_enabled()
    is_kept()
    x, y, width, height = chooser.bounding_box().values()
    page.mouse.move(x + 10, y + 10)
    page.mouse.down()
    page.mouse.move(x + 60, y + 90, steps=3)
    with page.expect_response("**/api/change"):
        page.mouse.up()
    is_kept()
    step(page)
    shown(page.locator("#where")).to_contain_text("step 3 of 3")
    page.click("#back")
    for key in ("z", "z", "Shift+Z", "z"):
        there = chooser.get_attribute("transform")
        page.keyboard.press(f"Control+{key}")
        shown(chooser).not_to_have_attribute("transform", there)
        shown(page.locator("#where")).to_contain_text("step 2 of 3")
    shown(chooser).to_have_attribute("transform", place)
    with page.expect_response("**/api/replay"):
        page.locator("#history-branches button").click()
    shown(page.locator("#where")).to_have_text("step 2 of 3")
    assert "differs from step 1 onwards" in page.inner_text("#history-branches")
    page.click("#tab-graph")
    shown(page.locator("#graph-status")).to_contain_text("complete")
    page.locator("#graph .node").nth(1).click()
    shown(page.locator("#graph-status")).to_contain_text("configuration 1 is shown")


def test_a_movement_keeps_a_loop_and_its_verdict(visit):
    page = visit(LASSO)
    page.click("#tab-graph")
    page.fill("#property", "eventually z = 0")
    page.keyboard.press("Enter")
    shown(page.locator("#verdict[data-status=refuted]")).to_be_visible()
    page.click("#tab-system")
    neuron(page, "x").click()
    page.keyboard.press("Alt+ArrowDown")
    shown(page.locator("#tool-undo")).to_be_enabled()
    shown(page.locator("#table .loop")).to_have_count(3)
    page.click("#tab-graph")
    shown(page.locator("#verdict[data-status=refuted]")).to_be_visible()


def test_a_net_is_edited(visit):
    net = snp.SleptsovNet([1], inputs=snp.sleptsov.Arcs.of([]), outputs=snp.sleptsov.Arcs.of([]))
    page = visit(net)
    page.click("#tool-transition")
    shown(page.locator("#network .transition")).to_have_count(1)
    page.click("#tool-add")
    shown(page.locator("#network .place")).to_have_count(2)
    page.locator("#network .place").first.click()
    page.keyboard.press("c")
    page.locator("#network .transition").click()
    shown(page.locator("#network .edge .grip")).to_have_count(1)


def test_an_empty_page_becomes_a_net_and_a_system_again(visit):
    page = visit(text=None)
    other = page.locator("#start-other")
    shown(other).to_have_text("Start a Sleptsov net instead")
    other.focus()
    page.keyboard.press("Enter")
    shown(page.locator("#subtitle")).to_have_text(
        "0 places · 0 transitions · 0 arcs · the Sleptsov rule"
    )
    shown(other).to_be_focused()
    shown(other).to_have_text("Start a spiking system instead")
    page.keyboard.press("Control+z")
    shown(page.locator("#subtitle")).to_contain_text("0 neurons")
    page.keyboard.press("Control+Shift+Z")
    shown(page.locator("#subtitle")).to_contain_text("0 places")
    other.click()
    shown(page.locator("#subtitle")).to_contain_text("0 neurons")
    other.click()
    shown(page.locator("#tool-transition")).to_be_visible()
    page.click("#tool-transition")
    shown(page.locator("#network .transition")).to_have_count(1)
    shown(page.locator("#network-empty")).to_be_hidden()
    page.keyboard.press("a")
    shown(page.locator("#network .place")).to_have_count(1)


@pytest.mark.parametrize("button", ["#tool-add", "#tool-transition"])
def test_new_nodes_are_seen_without_moving_the_view(visit, button):
    page = visit(text=None)
    page.click("#start-other")
    if button == "#tool-add":
        shown(page.locator(button)).to_have_text("+ Place")
    view = page.locator("#network .world").get_attribute("transform")
    room = page.locator("#network").bounding_box()
    nodes = page.locator("#network .neuron .body")
    for count in range(1, 9):
        page.click(button)
        shown(nodes).to_have_count(count)
    # They fit: nothing moves.
    assert page.locator("#network .world").get_attribute("transform") == view
    boxes = [node.bounding_box() for node in nodes.all()]
    for box in boxes:
        assert box["x"] >= room["x"] and box["y"] >= room["y"]
        assert box["x"] + box["width"] <= room["x"] + room["width"]
        assert box["y"] + box["height"] <= room["y"] + room["height"]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert abs(one["x"] - other["x"]) > one["width"] or (
                abs(one["y"] - other["y"]) > one["height"]
            )


def test_a_new_neuron_for_which_the_view_has_no_room_is_seen_with_all_others(visit):
    page = visit(text=None, size=(1000, 640))
    nodes = page.locator("#network .neuron .body")
    for count in range(1, 9):
        page.click("#tool-add")
        shown(nodes).to_have_count(count)
    room = page.locator("#network").bounding_box()
    for box in (node.bounding_box() for node in nodes.all()):
        assert box["x"] >= room["x"] and box["y"] >= room["y"]
        assert box["x"] + box["width"] <= room["x"] + room["width"]
        assert box["y"] + box["height"] <= room["y"] + room["height"]


def test_a_net_keeps_its_positions_and_says_where_it_does_not(visit):
    net = net_of_text("t: x -> y", {"x": 1})
    page = visit(net)
    assert page.get_attribute("#tool-add", "title") == "Add a place (a), or double-click"
    page.locator("#network .place").first.click()
    page.keyboard.press("Alt+ArrowDown")
    shown(page.locator("#tool-undo")).to_be_enabled()
    assert '"positions": [[' in page.input_value("#text")
    page.keyboard.press("a")
    shown(page.locator("#network .place")).to_have_count(3)
    before = page.locator("#network .node").evaluate_all(TRANSFORMS)
    page.click("#save")
    shown(page.locator("#save-places")).to_be_hidden()
    page.select_option("#save-format", "net")
    shown(page.locator("#save-places")).to_contain_text("keeps no positions")
    page.select_option("#save-format", "pnml")
    shown(page.locator("#save-places")).to_be_hidden()
    file = save(page, "#save-now")
    text = file.path().read_text()
    again = visit("net.pnml", text)
    after = again.locator("#network .node").evaluate_all(TRANSFORMS)
    assert moves(before, after) == {(0, 0)}


def test_priorities_of_a_net_are_edited(visit):
    net = net_of_text("t: x -> y\nu: x -> z\nv: y -> z\nt > u", {"x": 1})
    page = visit(net)
    field, problem = page.locator("#edit-beats"), page.locator("#edit-beats-problem")
    transition = page.locator("#network .transition")
    transition.filter(has_text="beats u").click()
    assert field.input_value() == "u"
    field.fill("v\n")
    page.keyboard.press("Control+Enter")
    shown(transition.filter(has_text="beats v")).to_have_count(1)
    shown(transition.filter(has_text="beats u")).to_have_count(0)
    shown(field).to_have_value("v")
    field.fill("v\nx")
    field.blur()
    shown(problem).to_have_text("There is no transition x.")
    assert field.get_attribute("aria-invalid") == "true"
    field.fill("v\nt")
    page.keyboard.press("Control+Enter")
    shown(problem).to_contain_text("transition t has priority over itself")
    field.fill("v\nu")
    page.keyboard.press("Control+Enter")
    shown(transition.filter(has_text="beats u, v")).to_have_count(1)
    page.locator("#network .place").first.click()
    shown(field).to_have_count(0)
    page.click("#tool-undo")
    shown(transition.filter(has_text="beats v")).to_have_count(1)
    text = text_of(page)
    assert "-1 -3 0" in text and "-1 -2 0" not in text


def test_a_net_with_a_total_order_is_edited(visit):
    """Its transitions move in the order, nodes are moved and added, and the text keeps that."""
    net = net_of_text("t: x -> y\nu: x -> z", {"x": 1}).replace(order=[1, 0])
    page = visit("net.mcc", model_text(net, "mcc")[0])
    step(page)
    shown(page.locator("#network .transition.fired")).to_contain_text("u")
    page.locator("#network .transition").filter(has_text="t").click()
    rank, problem = page.locator("#edit-rank"), page.locator("#edit-rank-problem")
    assert rank.input_value() == "2" and page.locator("#edit-beats").count() == 0
    rank.fill("3")
    page.keyboard.press("Enter")
    shown(problem).to_have_text("Write an integer from 1 to 2.")
    rank.fill("1")
    page.keyboard.press("Enter")
    shown(problem).to_be_hidden()
    page.click("#tool-undo")
    page.click("#tool-redo")
    shown(page.locator("#tool-redo")).to_be_disabled()  # it is redone
    step(page)
    shown(page.locator("#network .transition.fired")).to_contain_text("t")
    page.locator("#network .transition").filter(has_text="u").click()
    page.keyboard.press("Alt+ArrowDown")
    page.click("#tool-transition")
    shown(page.locator("#network .transition")).to_have_count(3)
    shown(rank).to_have_value("3")
    text = text_of(page)
    assert '"positions": [[' in text
    before = page.locator("#network .node").evaluate_all(TRANSFORMS)
    again = visit("net.mcc", text)
    after = again.locator("#network .node").evaluate_all(TRANSFORMS)
    assert moves(before, after) == {(0, 0)}
    again.locator("#network .transition").filter(has_text="t").first.click()
    shown(again.locator("#edit-rank")).to_have_value("1")


TRANSFORMS = "all => all.map(x => x.getAttribute('transform'))"


def moves(before, after):
    """How far the nodes of two drawings are apart."""
    return {
        tuple(round(b - a) for a, b in zip(place(one), place(other), strict=True))
        for one, other in zip(before, after, strict=True)
    }


def place(transform):
    return [float(number) for number in transform[len("translate(") : -1].split()]


# ---- thousands of neurons ----


@pytest.mark.parametrize("size", [200, 2000])
def test_large_systems_are_shapes_from_afar_and_elements_near(visit, size):
    page = visit("large.snp.json", large(size))
    assert page.locator("#network .neuron").count() == 0
    # A shape of 8 pixels or more where there are 200: dark pixels in every row of the grid.
    boxes = page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.shapes");
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          let filled = 0;
          for (let i = 3; i < data.length; i += 4) filled += data[i] > 0;
          return { filled, width, height };
        }"""
    )
    least = 8 * 8 * size if size <= 200 else 2 * size
    assert boxes["filled"] >= least
    page.fill("#search", f"n{size - 1}")
    page.keyboard.press("Enter")
    shown(neuron(page, f"n{size - 1}")).to_be_visible()
    shown(page.locator("#neuron h3")).to_have_text(f"n{size - 1}")
    assert page.locator("#network .neuron").count() <= 150
    label = neuron(page, f"n{size - 1}").get_attribute("aria-label")
    assert label.startswith(f"neuron n{size - 1}: ")
    step(page)
    shown(page.locator("#where")).to_contain_text("step 1")


def test_a_search_for_a_condition_goes_to_its_step(page):
    step(page, 6)
    page.click("#to-start")
    page.fill("#search", "output = 2")
    page.keyboard.press("Enter")
    shown(page.locator("#found")).to_contain_text("step")
    at = int(page.inner_text("#where").split()[1])
    assert spikes(page)[2] == 2 and at > 0
    page.fill("#search", "outputt = 2")
    page.keyboard.press("Enter")
    shown(page.locator("#found")).to_contain_text("no neuron 'outputt'")


def test_a_search_knows_only_the_steps_that_are_shown(page):
    step(page, 3)
    press(page, "a", neurons=4)
    press(page, "Control+z", neurons=3)
    page.locator("#step:not([disabled])").wait_for()
    page.fill("#search", "chooser >= 0")
    page.keyboard.press("Enter")
    shown(page.locator("#found")).to_have_text("step 0, 1 of 1")
    # A step whose answer is lost was made nevertheless.
    page.route("**/api/step", lambda route: (route.fetch(), route.abort()))
    page.click("#step")
    shown(page.locator("#message")).not_to_be_empty()
    page.focus("#search")
    page.keyboard.press("Enter")
    shown(page.locator("#found")).to_have_text("step 0, 1 of 1")


# ---- time ----


def test_no_key_is_lost_while_the_first_step_is_prepared(page):
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    shown(page.locator("#where")).to_contain_text("step 4")


def test_a_run_pauses_at_a_condition(page):
    page.fill("#until", "output = 2")
    page.keyboard.press("Tab")
    page.locator("#to-end:not([disabled])").click()
    shown(page.locator("#where")).not_to_contain_text("step 0")
    assert spikes(page)[2] == 2


_FORGOTTEN = """async () => {
  const { Run } = await import("./static/run.js");
  const run = new Run();
  const row = (step, fired) => ({ step, spikes: [step], timers: [], pending: [], flights: [],
    options: [], subsets: [], taken: [], halted: false, fired, emitted: [], outputs: null });
  const other = (rule) => [row(1, [[0, rule, "a -> a"]]), row(2, [])];
  run.begin({ model: 0, computation: 0, system: { neurons: [{ spikes: 0 }] } });
  run.take(0, [row(0, []), ...other(0)]);
  run.kept.push({ name: "a branch", rows: [...run.rows] });
  const references = run.rows.map((own) => new WeakRef(own));
  for (let rule = 1; rule <= 6; rule += 1) {
    run.take(1, other(rule));
    references.push(...run.rows.slice(1).map((own) => new WeakRef(own)));
  }
  const last = run.rows[2];
  run.take(1, other(6)); // the same steps again
  if (run.rows[2] !== last) throw new Error("known steps of the computation");
  run.take(1, other(0));
  if (!run.rows.every((own, at) => own === run.kept[0].rows[at])) throw new Error("of the branch");
  window.held = { run, references };
}"""


def test_steps_that_no_branch_has_are_forgotten(page):
    page.evaluate(_FORGOTTEN)
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    left = page.evaluate("held.references.filter((own) => own.deref() !== undefined).length")
    assert left == 3  # the rows that are shown


def test_branches_are_kept_and_walked(page):
    step(page, 4)
    first = spikes(page)
    page.click("#to-start")
    page.locator("#choices .option").last.click()
    taken = page.locator("#choices .option:has(.taken)").inner_text()
    if taken in page.locator("#choices .option").last.inner_text():
        page.locator("#choices .option").nth(1).click()
    page.click("#step")
    shown(page.locator("#where")).to_have_text("step 1 of 1")
    page.click("#show-branches")
    shown(page.locator("#history-branches li")).to_have_count(2)
    page.locator("#history-branches button").click()
    shown(page.locator("#where")).to_have_text("step 1 of 4")
    page.click("#to-end")
    shown(page.locator("#where")).to_contain_text("halted")
    page.locator("tbody tr button").nth(4).dispatch_event("click")
    assert spikes(page) == first


def test_branches_are_compared_only_where_they_are_shown(page):
    branched(page)
    page.click("#show-table")
    count = """() => {
      window.changed = 0;
      const place = document.getElementById("history-branches");
      new MutationObserver((all) => (changed += all.length)).observe(place, { childList: true });
    }"""
    page.evaluate(count)
    before = page.locator("#history-branches").text_content()
    page.click("#back")
    shown(page.locator("#where")).to_have_text("step 1 of 2")
    assert page.evaluate("changed") == 0
    page.click("#show-branches")
    shown(page.locator("#history-branches")).not_to_have_text(before)
    assert page.evaluate("changed") > 0


def test_a_file_has_branches_that_were_never_shown(visit, tmp_path):
    """Also that which is shown has its name in the file."""
    page = visit()
    step(page, 2)
    choose_otherwise(page)
    shown(page.locator("#where")).to_have_text("step 1 of 1")
    page.click("#picture")
    file = save(page, "#picture-page")
    path = tmp_path / "run.html"
    file.save_as(path)
    file = visit(url=f"file://{path}")
    file.click("#show-branches")
    shown(file.locator("#history-branches .own input")).to_have_value("branch 2")
    shown(file.locator("#history-branches li:not(.own) input")).to_have_value("branch 1")


def test_names_stay_with_their_branches(visit, tmp_path):
    page = visit()
    branched(page)
    names = page.locator("#history-branches input")
    own = page.locator("#history-branches .own input")
    shown(own).to_have_value("branch 2")
    other = page.locator("#history-branches li:not(.own) input")
    shown(other).to_have_value("branch 1")
    other.fill("slow path")
    own.fill("fast path")
    page.locator("#history-branches button").click()
    shown(own).to_have_value("slow path")
    shown(other).to_have_value("fast path")
    step(page)  # as before, and then longer
    page.click("#to-end")
    shown(page.locator("#where")).to_contain_text("halted")
    shown(own).to_have_value("slow path")
    choose_otherwise(page)
    shown(names).to_have_count(2)  # the beginning of the other one has no name of its own
    shown(page.locator("#history-branches .own")).to_have_text("shown 1 step")
    page.locator("#history-branches button").last.click()
    shown(names).to_have_count(2)
    page.click("#picture")
    file = save(page, "#picture-page")
    file.save_as(tmp_path / "run.html")
    value = own.input_value()
    file = visit(url=(tmp_path / "run.html").as_uri())
    file.click("#show-branches")
    inputs = file.locator("#history-branches input")
    shown(inputs).to_have_count(2)
    shown(file.locator("#history-branches .own input")).to_have_value(value)
    assert {x.input_value() for x in inputs.all()} == {"slow path", "fast path"}


def test_a_branch_that_comes_out_otherwise_is_not_shown_as_it_was(page):
    """Not even where only a delay differs."""
    step(page, 2)
    choose_otherwise(page)
    page.click("#show-branches")

    def delay(route):
        answer = route.fetch()
        rows = answer.json()["rows"]
        rows[0]["timers"] = [[0, 2]]
        route.fulfill(response=answer, json={"rows": rows})

    page.route("**/api/replay", delay)
    page.locator("#history-branches button").click()
    shown(page.locator("#message")).to_contain_text("random")
    page.unroute("**/api/replay")
    # What is shown, its first step, has the same spikes as the branch.
    shown(page.locator("#history-branches")).to_contain_text(
        "but another configuration: the timer of chooser is 0 instead of 2"
    )


def test_a_lasso_plays_as_a_loop(visit):
    page = visit(LASSO)
    page.click("#tab-graph")
    page.fill("#property", "eventually z = 0")
    page.keyboard.press("Enter")
    shown(page.locator("#verdict[data-status=refuted]")).to_be_visible()
    page.click("#tab-system")
    shown(page.locator("#table .loop")).to_have_count(3)
    seen = []
    for _ in range(5):
        page.click("#step")
        seen.append(spikes(page)[0])
    assert seen == [0, 1, 0, 1, 0]


def test_raster_and_counts_share_the_cursor(page):
    step(page, 3)
    fired = sum(len(row.split(": ")) - 1 for row in page.locator("td.fired").all_inner_texts())
    page.click("#show-raster")
    label = f"Raster of steps 0 to 3: {fired} rules selected"
    shown(page.locator("#history-raster canvas")).to_have_attribute("aria-label", label)
    page.click("#show-counts")
    shown(page.locator("#history-counts canvas")).to_be_visible()
    neuron(page, "echo").click()
    shown(page.locator("#history-counts .key li")).to_have_count(1)
    box = page.locator("#history-counts canvas").bounding_box()
    page.mouse.click(box["x"] + 110 + 5, box["y"] + 40)
    shown(page.locator("#where")).to_contain_text("step 0 of 3")


def test_a_text_with_errors_is_opened_before_the_raster_is_drawn(visit):
    page = visit()
    page.click("#show-raster")
    page.evaluate(
        "window.drawings = []; window.requestAnimationFrame = (draw) => drawings.push(draw); null"
    )
    step(page)
    page.click("#tab-text")
    page.locator("#text").press_sequentially("}")
    page.locator("#text").press("Control+Enter")
    shown(page.locator("#text-status")).to_contain_text("the last text without errors")
    page.click("#tab-system")
    shown(page.locator("#tools")).to_be_visible()
    assert page.evaluate("drawings.map((draw) => draw(0)).length") > 0  # `visit` sees errors


def test_nothing_moves_while_something_is_said(visit):
    page = visit(text=NATURALS)
    before = page.locator("#network").bounding_box()
    page.evaluate("document.getElementById('message').textContent = 'Working…'")
    assert page.locator("#network").bounding_box() == before


def test_a_late_answer_about_the_same_model_changes_nothing(page):
    held = hold_back(page, "first")
    for keys, count in (("a", 4), ("Control+z", 3), ("Control+Shift+Z", 4)):
        page.keyboard.press(keys)
        shown(page.locator("#network .neuron")).to_have_count(count)
    page.wait_for_timeout(200)
    added, undone, again = held  # twice about the system with the new neuron
    again.continue_()
    step(page)
    undone.continue_()
    added.continue_()
    page.wait_for_timeout(300)
    assert page.inner_text("#where") == "step 1 of 1"
    page.unroute("**/api/first")
    step(page)


@pytest.mark.parametrize(
    ("field", "key"), [("rules", "a"), ("name", "d"), ("input", "Backspace"), ("weight", "a")]
)
def test_an_answer_leaves_the_focus_and_the_text_to_a_field(page, field, key):
    held = hold_back(page, "change")
    neuron(page, "echo").click()
    with page.expect_request("**/api/change"):
        page.keyboard.press("Alt+ArrowRight")
        if field == "weight":
            page.locator("#network .edge .grip").first.dispatch_event("click")
        page.locator(f"#edit-{field}").press("End")
        page.keyboard.type("12")
        page.keyboard.press("ArrowLeft")
    text = page.input_value(f"#edit-{field}")
    answered(page, held)
    shown(page.locator("#tool-undo")).to_be_enabled()
    shown(page.locator(f"#edit-{field}")).to_be_focused()
    page.keyboard.press(key)
    at = len(text) - 1
    expected = text[: at - 1] + text[at:] if key == "Backspace" else text[:at] + key + text[at:]
    shown(page.locator(f"#edit-{field}")).to_have_value(expected)
    assert page.locator("#network .neuron").count() == 3 and not held


def test_a_half_typed_name_is_applied_when_its_field_is_left_after_an_answer(page):
    held = hold_back(page, "change")
    neuron(page, "echo").click()
    with page.expect_request("**/api/change"):
        page.keyboard.press("Alt+ArrowRight")
        page.locator("#edit-name").press("End")
        page.keyboard.type("2")
    answered(page, held)
    page.unroute("**/api/change")
    shown(page.locator("#tool-undo")).to_be_enabled()
    page.keyboard.press("Tab")
    shown(neuron(page, "echo2")).to_have_count(1)


@pytest.fixture
def slow(visit):
    """A page of a system, and its questions for changes, which nothing answers yet."""
    page = visit()
    return page, hold_back(page, "change")


def test_what_is_removed_is_not_duplicated_next(slow):
    page, held = slow
    neuron(page, "chooser").click()
    with page.expect_request("**/api/change"):
        page.keyboard.press("Delete")
        page.keyboard.press("d")  # of what is selected then: nothing
    page.keyboard.press("a")
    answered(page, held)
    answered(page, held)
    shown(page.locator("#network .neuron")).to_have_count(3)
    assert set(names(page)) == {"echo", "output", "n1"}


def test_neurons_that_are_added_fast_do_not_overlap(slow):
    page, held = slow
    page.keyboard.press("a")
    page.keyboard.press("a")
    answered(page, held)
    answered(page, held)
    shown(page.locator("#network .neuron")).to_have_count(5)
    first, second = [neuron(page, name).bounding_box() for name in ("n1", "n2")]
    assert any(
        first[at] + first[size] <= second[at] or second[at] + second[size] <= first[at]
        for at, size in (("x", "width"), ("y", "height"))
    )


def test_synapses_are_drawn_between_the_neurons_that_were_chosen(slow):
    page, held = slow
    neuron(page, "chooser").click()
    page.keyboard.press("Delete")
    neuron(page, "output").click()
    page.keyboard.press("c")
    neuron(page, "echo").click()
    answered(page, held)
    answered(page, held)
    shown(page.locator("#network .neuron")).to_have_count(2)
    assert "(output, echo)" in text_of(page)


def test_a_movement_during_an_edit_stays(slow):
    page, held = slow
    with page.expect_request("**/api/change"):
        page.keyboard.press("a")
    start = neuron(page, "echo").bounding_box()
    neuron(page, "echo").hover()
    page.mouse.down()
    page.mouse.move(start["x"] + 90, start["y"] + 90, steps=5)
    page.mouse.up()
    moved = neuron(page, "echo").get_attribute("transform")
    answered(page, held)
    answered(page, held)
    shown(page.locator("#message")).to_be_empty()
    shown(page.locator("#network .neuron")).to_have_count(4)
    assert neuron(page, "echo").get_attribute("transform") == moved


def test_rules_are_applied_to_their_neuron_after_another_one_was_selected(slow):
    page, held = slow
    asked = []
    page.on("request", lambda sent: asked.append(sent) if sent.url.endswith("/edit") else None)
    with page.expect_request("**/api/change"):
        page.keyboard.press("a")
    neuron(page, "echo").click()
    page.fill("#edit-rules", "a^3/a -> a")
    page.locator("#neuron button.primary:not([disabled])").click()
    neuron(page, "output").click()
    answered(page, held)
    shown(neuron(page, "echo")).to_contain_text("a³/a → a")
    page.click("#tool-undo")
    shown(neuron(page, "echo")).not_to_contain_text("a³")
    assert [sent.post_data_json["rules"] for sent in asked] == ["a^3/a -> a"]
    shown(page.locator("#network .neuron")).to_have_count(4)  # undo took back this edit only
