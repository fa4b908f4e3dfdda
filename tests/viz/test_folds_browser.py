"""Neurons that are drawn as one box, in Chromium."""

import pytest

import snpjax as snp
from snpjax.io import model_text
from snpjax.sleptsov import Arcs
from snpjax.viz.page import export
from tests.support.browser import neuron, shown, step


pytestmark = pytest.mark.browser

CHAIN = snp.SpikingSystem(
    [
        snp.Neuron("s", 4, ["a+/a -> a"]),
        *(snp.Neuron(f"p[{i}]", i, ["a -> a"]) for i in range(3)),
        snp.Neuron("t"),
    ],
    [
        *(("s", f"p[{i}]") for i in range(3)),
        *((f"p[{i}]", "t") for i in range(2)),
        ("p[0]", "p[1]"),
    ],
    output="t",
)


def opened(visit):
    page = visit(CHAIN)
    page.locator("#step:not([disabled])").wait_for()
    return page


def places(page):
    script = "all => all.map(x => [x.dataset.id, x.getAttribute('transform')])"
    return dict(page.locator("#network .neuron:not(.fold)").evaluate_all(script))


def test_a_population_is_folded_and_unfolded(visit):
    page = opened(visit)
    before = places(page)
    neuron(page, "p[1]").click()
    page.keyboard.press("g")
    box = page.locator("#network .fold")
    assert box.get_attribute("aria-label") == "folded p: 3 neurons, 3 spikes"
    assert places(page) == {id: place for id, place in before.items() if id in "04"}
    labels = page.locator("#network .weight").all_text_contents()
    assert sorted(labels) == ["2 synapses", "3 synapses"]  # those inside are not drawn
    shown(page.locator("#tool-fold")).to_have_text("Unfold")
    step(page)  # p[1] fires; s sends one spike to each
    assert box.get_attribute("aria-label") == "folded p: 3 neurons, 5 spikes, fired"
    assert page.locator("#network .edge.sent").count() == 2
    page.click("#back")
    assert box.get_attribute("aria-label") == "folded p: 3 neurons, 3 spikes"
    page.click("#tool-fold")
    assert places(page) == before and box.count() == 0
    assert page.input_value("#text") == model_text(CHAIN, "native")[0]  # the model is the same


def test_a_box_is_chosen_by_keys_and_survives_edits_and_undo(visit):
    page = opened(visit)
    neuron(page, "s").click()
    neuron(page, "t").click(modifiers=["Shift"])
    page.click("#tool-fold")
    box = page.locator("#network .fold")
    assert box.get_attribute("aria-label") == "folded box 1: 2 neurons, 4 spikes"
    neuron(page, "p[2]").click()
    page.fill("#edit-spikes", "7")
    page.locator("#neuron button.primary:not([disabled])").click()
    shown(page.locator("#subtitle")).to_contain_text("edited")
    shown(box).to_have_count(1)
    page.click("#tool-undo")
    shown(neuron(page, "p[2]").locator(".count")).to_have_text("2")
    shown(box).to_have_count(1)
    box.focus()
    page.keyboard.press("Enter")
    shown(page.locator("#neuron")).to_contain_text("2 neurons, 4 spikes")
    page.keyboard.press("Alt+ArrowRight")  # which moves the box, not its neurons
    shown(page.locator("#message")).to_have_text("1 box moved right.")
    page.wait_for_timeout(700)
    shown(page.locator("#tool-undo")).to_be_disabled()
    page.keyboard.press("g")
    assert box.count() == 0 and len(places(page)) == 5


def test_the_name_of_a_box_is_changed_and_not_that_of_its_neurons(visit):
    page = opened(visit)
    neuron(page, "p[1]").click()
    page.keyboard.press("g")
    box, title = page.locator("#network .fold"), page.locator("#neuron h3")
    shown(title).to_have_text("p")
    shown(page.locator("#neuron .now")).to_have_text("3 neurons, 3 spikes")
    shown(page.locator("#neuron .hint")).to_have_text("p[0], p[1], p[2]")
    page.keyboard.press("r")
    shown(page.locator("#edit-name")).to_be_focused()
    page.keyboard.type("middle layer")
    page.keyboard.press("Enter")
    shown(title).to_have_text("middle layer")
    label = "folded middle layer: 3 neurons, 3 spikes"
    shown(box).to_have_attribute("aria-label", label)
    shown(box).to_be_focused()
    shown(box.locator(".name")).to_have_text("middle layer")
    step(page)
    shown(page.locator("#neuron .now")).to_have_text("3 neurons, 5 spikes")
    page.click("#back")
    page.keyboard.press("r")
    page.keyboard.type(" ")
    page.keyboard.press("Enter")  # an empty name is not taken
    shown(title).to_have_text("middle layer")
    assert page.input_value("#text") == model_text(CHAIN, "native")[0]
    neuron(page, "t").click()
    page.fill("#edit-name", "u")
    page.keyboard.press("Enter")
    shown(neuron(page, "u")).to_have_count(1)
    shown(box).to_have_attribute("aria-label", label)
    page.keyboard.press("Escape")
    box.click()
    shown(title).to_have_text("middle layer")


def synapses(page):
    return page.evaluate("JSON.parse(document.getElementById('text').value).synapses.length")


def test_one_synapse_to_a_box_keeps_its_weight_and_several_are_listed(visit):
    system = CHAIN.replace(synapses=[*CHAIN.synapses[:4], ("t", "s", 5)])
    page = visit(system)
    neuron(page, "p[1]").click()
    page.keyboard.press("g")
    labels = page.locator("#network .weight").all_text_contents()
    assert sorted(labels) == ["3 synapses", "×5"]  # that from p[0] to t weighs 1
    neuron(page, "t").focus()
    page.keyboard.press("e")
    page.keyboard.press("e")
    shown(page.locator("#neuron h3")).to_have_text("p[0] → t")
    page.fill("#edit-weight", "4")
    page.keyboard.press("Enter")
    shown(page.locator("#network .edge.selected .weight")).to_have_text("×4")
    neuron(page, "s").focus()
    page.keyboard.press("e")
    page.keyboard.press("e")  # the first one comes from t
    shown(page.locator("#neuron h3")).to_have_text("3 synapses from s to p")
    shown(page.locator("#neuron .link")).to_have_count(3)
    page.locator("#neuron .link").nth(1).click()
    shown(page.locator("#neuron h3")).to_have_text("s → p[1]")


def test_a_box_is_connected_as_all_of_its_neurons(visit):
    page = opened(visit)
    neuron(page, "p[1]").click()
    page.keyboard.press("g")
    neuron(page, "t").click()
    page.keyboard.press("c")
    page.locator("#network .fold").click()
    shown(page.locator("#network .edge.sent, #network .edge .grip")).to_have_count(3)
    shown(page.locator("#message")).to_have_text(
        "3 synapses added: a box stands for all that is folded in it. Ctrl+Z takes this back."
    )
    assert synapses(page) == len(CHAIN.synapses) + 3
    page.keyboard.press("c")
    neuron(page, "t").click()  # of three, two are there already
    shown(page.locator("#message")).to_have_text(
        "1 synapse added: a box stands for all that is folded in it. Ctrl+Z takes this back."
    )
    neuron(page, "s").click()
    page.keyboard.press("c")
    page.locator("#network .fold").click()
    shown(page.locator("#message")).to_have_text("They are connected already.")
    assert synapses(page) == len(CHAIN.synapses) + 4


def test_arcs_of_a_folded_net_are_arcs(visit):
    places = snp.SleptsovNet(
        [1, 2, 0],
        inputs=Arcs.of([(0, 0, 1), (1, 0, 2)]),
        outputs=Arcs.of([(2, 0, 3)]),
        place_names=["p[0]", "p[1]", "q"],
    )
    page = visit(places)
    page.locator("#network .place").first.click()
    page.locator("#network .place").nth(1).click(modifiers=["Shift"])
    page.keyboard.press("g")
    labels = page.locator("#network .weight").all_text_contents()
    assert sorted(labels) == ["2 arcs", "×3"]
    shown(page.locator("#network .fold")).to_have_attribute(
        "aria-label", "folded p: 2 nodes, 3 tokens"
    )


def test_a_box_with_a_transition_that_may_fire_looks_like_it(visit):
    net = snp.SleptsovNet(
        [1, 0],
        inputs=Arcs.of([(0, 0, 1), (0, 1, 1), (1, 2, 1)]),
        outputs=Arcs.of([]),
        transition_names=["t1", "t2", "later"],
    )
    page = visit(net)
    page.locator("#step:not([disabled])").wait_for()
    look = """body => ["fill", "stroke", "strokeWidth"].map(x => getComputedStyle(body)[x])"""
    transition = page.locator("#network .transition")
    wanted = transition.first.locator(".body").evaluate(look)
    assert wanted != transition.nth(2).locator(".body").evaluate(look)
    transition.first.click()
    transition.nth(1).click(modifiers=["Shift"])
    page.keyboard.press("g")
    page.keyboard.press("Escape")
    shown(page.locator("#network .fold")).to_have_count(1)
    assert page.locator("#network .fold .body").evaluate(look) == wanted
    step(page)
    assert page.locator("#network .fold .body").evaluate(look) != wanted


def test_an_exported_page_is_folded(visit, tmp_path):
    export(CHAIN, tmp_path / "chain.html", max_steps=3)
    assert (tmp_path / "chain.html").stat().st_size <= 300_000
    page = visit(url=(tmp_path / "chain.html").as_uri())
    neuron(page, "p[1]").click()
    page.keyboard.press("g")
    box = page.locator("#network .fold")
    shown(box).to_have_attribute("aria-label", "folded p: 3 neurons, 3 spikes")
    step(page)
    shown(box).to_have_attribute("aria-label", "folded p: 3 neurons, 5 spikes, fired")
    page.click("#fold-selected")
    shown(box).to_have_count(0)
    page.click("#fold-selected")
    shown(box).to_have_count(1)
    page.keyboard.press("Escape")
    neuron(page, "s").focus()
    page.keyboard.press("e")
    shown(page.locator("#neuron h3")).to_have_text("3 synapses from s to p")
    page.keyboard.press("Delete")
    shown(page.locator("#network .fold")).to_have_count(1)


def test_one_neuron_alone_is_not_folded(visit):
    page = opened(visit)
    neuron(page, "s").click()
    page.keyboard.press("g")
    shown(page.locator("#message")).to_contain_text("Select several neurons")
    assert page.locator("#network .fold").count() == 0


def test_many_neurons_are_folded_on_the_canvas(visit):
    neurons = [snp.Neuron(f"p[{i}]", 1, ["a -> a"]) for i in range(180)]
    rest = [snp.Neuron(f"q[{i}]") for i in range(180)]
    synapses = [(f"p[{i}]", f"q[{(3 * i) % 180}]") for i in range(180)]
    page = visit(snp.SpikingSystem([*neurons, *rest], synapses))
    page.fill("#search", "p[7]")
    page.keyboard.press("Enter")
    neuron(page, "p[7]").click()
    page.click("#tool-fold")
    page.keyboard.press("f")
    assert page.locator("canvas.overview:visible").count() >= 2
    page.fill("#search", "q[7]")
    page.keyboard.press("Enter")
    page.click("#tool-fold")
    page.keyboard.press("f")
    shown(page.locator("#network .fold")).to_have_count(2)  # so few that they are elements
    assert page.locator("#network .weight").all_text_contents() == ["180 synapses"]
