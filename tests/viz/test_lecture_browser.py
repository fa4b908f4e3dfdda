"""What a lecture does on the page, from an empty one to a file for the students."""

import re

import pytest

import snpjax as snp
from tests.support.browser import neuron, save, shown, step


pytestmark = pytest.mark.browser


def add(page, name, spikes, rules):
    """A new neuron, named, with spikes and rules."""
    count = page.locator("#network .neuron").count()
    page.click("#tool-add")
    shown(page.locator("#network .neuron")).to_have_count(count + 1)
    page.fill("#edit-spikes", str(spikes))
    page.fill("#edit-rules", "\n".join(rules))
    page.locator("#neuron button.primary:not([disabled])").click()
    shown(page.locator("#table tbody tr").first).to_contain_text(str(spikes))
    page.fill("#edit-name", name)
    page.keyboard.press("Enter")
    shown(neuron(page, name)).to_be_visible()


def connect(page, source, target):
    neuron(page, source).click()
    page.keyboard.press("c")
    synapses = page.locator("#network .edge .grip").count()
    neuron(page, target).click()
    shown(page.locator("#network .edge .grip")).to_have_count(synapses + 1)


def ask(page, query, status):
    page.fill("#property", query)
    page.keyboard.press("Enter")
    shown(page.locator(f"#verdict[data-status={status}]")).to_be_visible()
    return page.inner_text("#verdict")


def test_a_lecture(visit, tmp_path):
    """The generator of the even numbers of Ionescu, Paun and Yokomori 2006, figure 3."""
    page = visit(text=None)
    assert page.inner_text("#subtitle").startswith("0 neurons")
    add(page, "n1", 2, ["a^2/a -> a; 1", "a -> lambda"])
    add(page, "n2", 1, ["a -> a; 1", "a -> a; 2"])
    add(page, "n3", 3, ["a^3 -> a", "a -> a; 2", "a^2 -> lambda"])
    for pair in (("n1", "n2"), ("n1", "n3"), ("n2", "n1"), ("n2", "n3")):
        connect(page, *pair)
    neuron(page, "n3").click()
    page.check("#edit-output")
    shown(page.locator("#network .end")).to_have_count(1)
    # A clock of two neurons: `odd` holds a spike after an odd number of steps.
    add(page, "odd", 0, ["a -> a"])
    add(page, "even", 1, ["a -> a"])
    connect(page, "odd", "even")
    connect(page, "even", "odd")

    # Run it, and branch: neuron 2 takes its other rule.
    step(page, 3)
    page.keyboard.press("Home")
    neuron(page, "n2").click()
    page.locator("#network .selected .rule.free").nth(1).click()
    shown(page.locator("#step")).to_have_text(re.compile("Step|Branch"))
    page.click("#step")
    shown(page.locator("#where")).to_contain_text("step 1")
    page.click("#show-branches")

    # All numbers up to 20 are even, and so are those beyond.
    page.click("#tab-graph")
    page.click("#numbers")
    shown(page.locator("#verdict[data-status=numbers]")).to_be_visible()
    found = page.inner_text("#verdict")
    assert "4, 6, 8, 10, 12, 14, 16, 18, 20}" in found
    # The first spike leaves in step 1, and all later ones after an odd number of steps.
    assert "proved" in ask(page, "never (emits(n3) and even = 1)", "proved")
    assert "refuted" in ask(page, "always n1 = 2", "refuted")
    assert page.inner_text("#where").startswith("step 0")

    page.click("#tab-system")
    page.click("#save")
    page.select_option("#save-format", "plingua")
    save(page, "#save-now").save_as(tmp_path / "even.pli")
    system = snp.read(tmp_path / "even.pli")
    graph = snp.explore(system)
    assert graph.intervals(20).values == (4, 6, 8, 10, 12, 14, 16, 18, 20)

    page.click("#picture")
    save(page, "#picture-page").save_as(tmp_path / "even.html")
    assert (tmp_path / "even.html").stat().st_size <= 300_000
    shared = visit(url=(tmp_path / "even.html").as_uri())
    assert shared.locator("#network .neuron").count() == 5
    assert shared.locator("#tools").is_hidden()
