"""Neurons and synapses that steps create and delete, in Chromium."""

import pytest

import snpjax as snp
from tests.support.browser import shown, step
from tests.viz.test_subsets import PLASTIC


pytestmark = pytest.mark.browser

GROWING = snp.SpikingSystem(
    [
        snp.Neuron("b", 1, ["[a]_b -> []_b / []_c"]),
        snp.Neuron("d", 1, ["[a]_d -> []_e || []_f"]),
        snp.Neuron("s", 3, ["a+/a -> a"]),
    ],
    [("s", "b"), ("s", "d"), ("d", "b")],
    rules_by_label={"e": ["[a]_e -> []_g || []_h"], "f": ["[a]_f -> []_k || []_l"]},
    output="s",
)
MOVEMENTS = "() => document.getAnimations().filter((x) => x.playState === 'running').length"


def opened(visit, system, motion="no-preference"):
    page = visit(system)
    page.emulate_media(reduced_motion=motion)
    page.locator("#step:not([disabled])").wait_for()
    return page


def places(page):
    """The middles of the boxes in the drawing, by the numbers of neurons, and of outputs."""
    script = """all => all.map(x => [x.dataset.id,
        ...x.getAttribute("transform").match(/[-\\d.]+/g).map(Number),
        ...["width", "height"].map(y => Number(x.querySelector(".body").getAttribute(y)))])"""
    found = page.locator("#network .node").evaluate_all(script)
    return {id: (round(x + w / 2), round(y + h / 2)) for id, x, y, w, h in found}


def test_new_neurons_appear_next_to_their_parents_and_the_others_stay(visit):
    page = opened(visit, GROWING, "reduce")
    before = places(page)
    step(page)
    after = places(page)
    assert set(after) == {*before, "3", "4"}
    assert {id: after[id] for id in before} == before
    assert page.evaluate(MOVEMENTS) == 0
    # f is the right child of d, and c the bud of b: each is nearer to its parent than to others.
    for child, parent in (("3", "1"), ("4", "0")):
        x, y = after[child]
        away = {id: abs(x - after[id][0]) + abs(y - after[id][1]) for id in "012"}
        assert min(away, key=away.__getitem__) == parent
    assert page.locator("#network .new").evaluate_all("x => x.map(y => y.dataset.id)") == [
        "1",
        "3",
        "4",
    ]
    label = page.locator("#network [data-id='3']").get_attribute("aria-label")
    assert label == "neuron f: 0 spikes, created in this step"
    assert page.locator("#network .edge.created").count() == 3  # s to f, f to b, b to c
    step(page, 2)
    assert page.locator("#network [data-id='3'].new").count() == 1  # it divides, too
    page.click("#back")
    page.click("#back")
    assert places(page) == after
    page.click("#back")
    assert places(page) == before
    assert page.locator("#network .new, #network .edge.created").count() == 0
    page.click("#to-end")
    assert {id: place for id, place in places(page).items() if id in after} == after


def test_what_a_step_created_is_not_edited(visit):
    page = opened(visit, GROWING)
    text = page.input_value("#text")
    step(page)
    e, b = (page.locator(f"#network [data-id='{id}']") for id in ("1", "0"))
    assert e.locator(".rule.fired").count() == 0  # d divided, and e applied no rule yet
    assert b.locator(".rule.fired").count() == 1
    e.click()
    shown(page.locator("#neuron h3")).to_have_text("e")
    assert "selected" not in page.inner_text("#neuron .now")
    assert e.locator(".handle").count() == 0
    for key in ("Delete", "d", "c"):
        page.keyboard.press("Escape")
        e.click()
        page.locator("#message").evaluate("place => (place.textContent = '')")
        page.keyboard.press(key)
        shown(page.locator("#message")).to_contain_text("e was created by a step")
    page.locator("#network .edge.created").first.locator(".grip").click(force=True)
    page.keyboard.press("Delete")
    shown(page.locator("#message")).to_contain_text("This synapse was created by a step")
    assert page.input_value("#text") == text and page.inner_text("#where").startswith("step 1 of 1")
    b.click()
    page.keyboard.press("Delete")  # which the system begins with
    shown(page.locator("#subtitle")).to_contain_text("edited")


def test_a_neuron_of_a_plastic_system_is_renamed(visit):
    page = opened(visit, PLASTIC)
    step(page)
    first = page.locator("#network [data-id='0']")
    first.click()
    page.fill("#edit-name", "renamed")
    page.press("#edit-name", "Enter")
    shown(first.locator(".name")).to_have_text("renamed")
    assert '"renamed"' in page.input_value("#text")


def test_boxes_do_not_overlap(visit):
    page = opened(visit, GROWING, "reduce")
    page.click("#to-end")
    shown(page.locator("#where")).to_contain_text("halted")
    boxes = page.locator("#network .neuron").evaluate_all(
        "all => all.map(x => x.querySelector('.body').getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == 7
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            assert across <= 0 or down <= 0


def test_movements_are_shown_to_those_who_want_them(visit):
    page = opened(visit, GROWING)
    page.evaluate(
        """() => {
        globalThis.seen = 0;
        Element.prototype.animate = () => { seen += 1; return {}; };
    }"""
    )
    step(page)
    moved = page.evaluate("seen")
    assert moved >= 2
    page.click("#back")
    step(page)
    assert page.evaluate("seen") == 2 * moved
    page.click("#back")
    page.click("#to-end")
    page.locator("#to-start").click()
    assert page.evaluate("seen") == 2 * moved  # jumps do not move anything


def test_synapses_that_a_rule_creates_are_marked_and_deleted_ones_fade(visit):
    page = opened(visit, PLASTIC)
    before = places(page)
    page.check("#rest-first")
    step(page)
    assert page.locator("#network .edge.created").count() == 3
    page.evaluate("() => { Element.prototype.animate = () => ({}); }")  # none ends
    step(page)  # n deletes the synapse that it created
    assert page.locator("#network .edge.deleted").count() == 1
    assert places(page) == before
    page.click("#back")
    assert page.locator("#network .edge.deleted").count() == 0
