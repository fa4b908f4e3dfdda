"""The page without a pointer, without movement, and as a screen reader has it: `-m browser`."""

import pytest

import snpjax as snp
from snpjax.io import model_text
from tests.support.browser import draw, explore, neuron, press, shown, spikes, step
from tests.support.helpers import REPOSITORY


pytestmark = pytest.mark.browser

CONTROLS = {
    "button",
    "checkbox",
    "combobox",
    "image",
    "img",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "tab",
    "tabpanel",
    "textbox",
    "toolbar",
}

# The states of all boxes, as they differ from frame to frame, and all animations of the browser.
_WATCH = """() => {
  window.animations = 0;
  window.states = [];
  const look = () => {
    window.animations += document.getAnimations().length;
    const boxes = [...document.querySelectorAll("#network .node")];
    const places = boxes.map((x) => x.getAttribute("transform") + getComputedStyle(x).opacity);
    const state = places.join();
    if (window.states.at(-1) !== state) window.states.push(state);
    requestAnimationFrame(look);
  };
  look();
}"""


def tab_to(page, name):
    """Press Tab until that field has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def focused(page):
    return page.evaluate("document.activeElement.getAttribute('aria-label')")


def build(page, name, count, rule):
    neurons = page.locator("#network .neuron").count()
    press(page, "a", neurons=neurons + 1)
    page.keyboard.press("r")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    shown(neuron(page, name)).to_be_focused()
    tab_to(page, "edit-spikes")
    page.keyboard.type(str(count))
    page.keyboard.press("Tab")
    page.keyboard.type(rule)
    shown(page.locator("#neuron button.primary")).to_be_enabled()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shown(page.locator("#subtitle")).to_contain_text(f"{neurons + 1} rule")
    shown(neuron(page, name)).to_be_focused()


def test_a_system_is_built_by_keys_alone_and_nothing_is_animated(visit):
    page = visit(text=None, motion="reduce")
    page.evaluate(_WATCH)
    build(page, "x", 1, "a -> a")
    build(page, "y", 0, "a -> lambda")
    assert focused(page).startswith("neuron y")
    page.keyboard.press("Enter")
    page.keyboard.press("c")
    for arrow in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(arrow)
        if focused(page).startswith("neuron x"):
            break
    page.keyboard.press("Enter")
    shown(page.locator("#network .edge .grip")).to_have_count(1)
    # The other way round: what is undone has not happened.
    page.keyboard.press("Control+z")
    shown(page.locator("#network .edge .grip")).to_have_count(0)
    page.keyboard.press("Escape")
    tab_to(page, "step")
    page.keyboard.press("Enter")
    shown(page.locator("#where")).to_have_text("step 1 of 1, halted")
    assert spikes(page) == [0, 0]
    for key, view in (("2", "graph"), ("3", "text"), ("1", "system")):
        page.keyboard.press(key)
        shown(page.locator(f"#view-{view}")).to_be_visible()
    page.keyboard.press("?")
    shown(page.locator("#help-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    shown(page.locator("#help-dialog")).to_be_hidden()
    assert page.evaluate("animations") == 0


def edge_at_focus(page):
    assert page.evaluate("document.activeElement.matches('#network .edge.selected')")
    return focused(page)


def test_a_synapse_is_selected_edited_and_removed_by_keys(page):
    neuron(page, "chooser").focus()
    page.keyboard.press("e")
    found = [edge_at_focus(page)]
    while page.keyboard.press("ArrowDown") or edge_at_focus(page) not in found:
        found.append(edge_at_focus(page))
    own = snp.read(REPOSITORY / "examples" / "natural_numbers.pli").synapses
    ends = [(s, t) for s, t, _ in own if "chooser" in (s, t)]
    assert sorted(found) == sorted(f"synapse from {s} to {t}, weight 1" for s, t in ends)
    shown(page.locator("#neuron h3")).to_have_text(" → ".join(ends[found.index(found[0])]))
    page.keyboard.press("ArrowUp")
    assert edge_at_focus(page) == found[-1]
    page.keyboard.press("Enter")
    shown(page.locator("#edit-weight")).to_be_focused()
    page.keyboard.type("3")
    page.keyboard.press("Tab")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    weighed = f"{found[-1].removesuffix('1')}3, delay 2"
    shown(page.locator("#network .edge.selected")).to_have_attribute("aria-label", weighed)
    assert edge_at_focus(page) == weighed
    shown(page.locator("#network .edge.selected .weight")).to_have_text("×3  +2 steps")
    page.keyboard.press("Escape")
    assert focused(page).startswith("neuron chooser")
    page.keyboard.press("e")
    page.keyboard.press("E")
    assert edge_at_focus(page) == weighed
    page.keyboard.press("Delete")
    shown(page.locator("#network .edge .grip")).to_have_count(len(own) - 1)
    assert focused(page).startswith("neuron ")  # its source
    page.keyboard.press("Control+z")
    shown(page.locator("#network .edge .grip")).to_have_count(len(own))
    neuron(page, "chooser").focus()
    page.keyboard.press("e")
    page.keyboard.press("n")
    shown(page.locator("#where")).to_contain_text("step 1 ")
    shown(page.locator("#network .edge.selected")).to_be_focused()
    sent = page.locator("#network .edge.sent").first.get_attribute("aria-label")
    assert sent.startswith("synapse from ") and sent.endswith(", spikes sent")
    page.locator("#network .edge.sent .grip").first.dispatch_event("click")
    page.click("#back")
    shown(page.locator("#network .edge.selected")).to_have_count(1)


def test_neurons_are_moved_by_keys(page):
    shown(page.locator("#step")).to_be_enabled()
    where = "all => all.map(x => x.getAttribute('transform').match(/[-0-9.]+/g).map(Number))"
    before = page.locator("#network .neuron").evaluate_all(where)
    neuron(page, "echo").focus()
    page.keyboard.press("Enter")
    for key in ("Alt+ArrowRight", "Alt+ArrowRight", "Alt+Shift+ArrowUp"):
        page.keyboard.press(key)
    shown(page.locator("#message")).to_have_text("1 box moved up.")
    shown(page.locator("#tool-undo")).to_be_enabled()  # the three are one edit
    after = page.locator("#network .neuron").evaluate_all(where)
    moved = [[x2 - x1, y2 - y1] for (x1, y1), (x2, y2) in zip(before, after, strict=True)]
    assert sorted(map(tuple, moved)) == [(0, 0), (0, 0), (48, -4)]
    assert focused(page).startswith("neuron echo")
    page.keyboard.press("Control+z")
    shown(page.locator("#tool-undo")).to_be_disabled()
    page.keyboard.press("Control+a")
    page.keyboard.press("Alt+ArrowDown")
    shown(page.locator("#message")).to_have_text("3 boxes moved down.")
    page.keyboard.press("Escape")
    page.locator("body").evaluate("body => document.activeElement.blur()")
    page.keyboard.press("Alt+ArrowDown")
    shown(page.locator("#message")).to_have_text("Select something to move.")


def test_the_focus_stays_where_boxes_are_folded_and_neurons_undone(page):
    neuron(page, "echo").focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("g")
    assert focused(page).startswith("folded box 1")
    page.keyboard.press("g")
    assert focused(page).startswith("neuron ")
    neuron(page, "echo").focus()
    page.keyboard.press("a")
    shown(neuron(page, "n1")).to_be_focused()
    neuron(page, "echo").focus()
    press(page, "Control+z", neurons=3)
    assert focused(page).startswith("neuron echo")


def test_a_synapse_among_many_neurons_is_selected_by_keys(visit):
    neurons = [snp.Neuron(f"p[{i}]") for i in range(200)]
    synapses = [(f"p[{i}]", f"p[{(7 * i) % 199}]", i + 1) for i in range(1, 199)]
    page = visit(snp.SpikingSystem(neurons, synapses))
    page.fill("#search", "p[5]")
    page.keyboard.press("Enter")
    neuron(page, "p[5]").focus()
    page.keyboard.press("e")
    assert edge_at_focus(page).startswith("synapse from p[5] to p[35], weight 6")
    page.click("[data-zoom=in]")
    shown(page.locator("#network .edge.selected")).to_have_count(1)
    page.locator("#network .edge.selected").focus()
    page.keyboard.press("Escape")
    assert focused(page).startswith("neuron p[5]")
    shown(page.locator("#network .edge")).to_have_count(0)


def test_what_grows_appears_at_once_where_motion_is_reduced(visit):
    rules = "[a]_m -> []_x || []_y"
    neurons = [snp.Neuron("m", 1, [rules]), snp.Neuron("in")]
    system = snp.SpikingSystem(neurons, [("in", "m")], rules_by_label={"x": [], "y": []})
    text, _ = model_text(system, "native")
    page = visit("growing.snp.json", text, motion="reduce")
    page.evaluate(_WATCH)
    step(page)
    shown(page.locator("#network .neuron")).to_have_count(3)
    page.wait_for_timeout(500)
    assert page.evaluate("animations") == 0 and len(page.evaluate("states")) == 2


def nameless(page):
    """The controls without a name, as assistive technology has them."""
    draw(page)
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = [
        (node["role"]["value"].lower(), node.get("name", {}).get("value", "").strip())
        for node in nodes
        if not node["ignored"]
    ]
    controls = [(role, name) for role, name in roles if role in CONTROLS]
    assert len(controls) > 20
    return [role for role, name in controls if not name]


def test_every_control_has_a_name(page):
    neuron(page, "echo").click()
    step(page, 2)
    assert nameless(page) == []
    page.click("#to-start")
    page.locator(".choice .option").nth(1).click()
    page.click("#step")
    for part in ("raster", "counts", "branches"):
        page.click(f"#show-{part}")
        assert nameless(page) == [], part
    page.locator("#network .edge .grip").first.dispatch_event("click")
    shown(page.locator("#edit-weight")).to_be_visible()
    assert nameless(page) == []
    explore(page)
    assert nameless(page) == []
    page.click("#tab-text")
    assert nameless(page) == []
    page.evaluate("document.getElementById('open').textContent = ''")
    assert nameless(page) == ["button"]
