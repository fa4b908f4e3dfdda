"""Subsets of synapses and decisions of astrocytes, chosen in Chromium."""

import pytest

import snpjax as snp
from snpjax.io import model_text
from snpjax.testing import reference
from tests.support.browser import chromium as chromium, shown, spikes, step, visit as visit
from tests.viz.test_subsets import ASTROCYTES, PLASTIC


pytestmark = pytest.mark.browser


def opened(visit, system: snp.SpikingSystem):
    page = visit("s.snp.json", model_text(system, "native")[0])
    page.locator("#step:not([disabled])").wait_for()
    return page


def choice(page, name):
    return page.locator(".choice").filter(has=page.locator(f"legend:text-is('{name}')"))


def tick(group, neuron):
    group.locator(f"input[data-candidate='{neuron}']").click()


def test_the_synapses_of_a_plasticity_rule_are_chosen_and_chosen_otherwise(visit):
    page = opened(visit, PLASTIC)
    page.check("#rest-first")
    subset = choice(page, "i").locator(".subset").first
    assert subset.locator(".option").all_inner_texts() == ["j", "k", "l"]
    tick(subset, 2)
    assert choice(page, "i").locator("input[data-neuron]:checked").input_value() == "0"
    left = subset.locator(".left")
    shown(left).to_have_text("Tick 1 more; otherwise the first subset is taken.")
    tick(subset, 3)
    shown(left).to_have_text("")
    tick(subset, 1)  # the first one is given up
    ticked = subset.locator("input:checked").evaluate_all(
        "all => all.map(x => x.dataset.candidate)"
    )
    assert ticked == ["1", "3"]
    tick(choice(page, "n"), 2)
    step(page)
    start = reference.initial(PLASTIC)
    after, _ = reference.step(PLASTIC, start, ((0, (1, 3)), None, None, None, None, (0, (2,))))
    assert spikes(page) == list(after.spikes)
    page.click("#back")
    page.check("#rest-seed")
    tick(subset, 2)
    shown(left).to_have_text("Tick 1 more; otherwise the subset is drawn at random.")
    page.check("#rest-first")
    shown(left).to_have_text("Tick 1 more; otherwise the first subset is taken.")
    tick(subset, 2)
    shown(left).to_have_text("")
    assert choice(page, "i").locator(".subset .taken").count() == 2
    tick(subset, 2)
    tick(subset, 3)
    shown(page.locator("#step")).to_have_text("Branch")
    page.click("#step")
    shown(page.locator("#where")).to_have_text("step 1 of 1")
    other, _ = reference.step(PLASTIC, start, ((0, (2, 3)), None, None, None, None, (0, (0,))))
    assert spikes(page) == list(other.spikes)
    page.click("#show-branches")
    page.get_by_role("button", name="Show", exact=True).click()  # made again by its subsets
    shown(page.locator("#history-branches .own")).to_be_visible()
    counts = [str(count) for count in after.spikes]
    shown(page.locator("#network .neuron .count")).to_have_text(counts)
    assert page.inner_text("#message") == ""


def test_a_rule_without_other_rules_has_subsets_and_the_second_turn_too(visit):
    rules = ["a+/a -> -+1(x, {y, z})"]
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, rules), snp.Neuron("y"), snp.Neuron("z"), snp.Neuron("w")],
        [("x", "w")],
    )
    page = opened(visit, system)
    assert choice(page, "x").count() == 0  # there is one synapse to delete
    step(page)
    tick(choice(page, "x"), 2)
    step(page)
    assert spikes(page) == [0, 0, 1, 0]


def test_one_spike_is_on_a_synapse(visit):
    system = ASTROCYTES.replace(variant=snp.Astrocytes([snp.Astrocyte([("x", "y")], threshold=1)]))
    page = opened(visit, system)
    assert "exactly 1 spike is on x → y" in choice(page, "astrocyte 1").inner_text()


@pytest.mark.parametrize("decision", ["lets the spikes pass", "suppresses them"])
def test_an_astrocyte_decides_as_chosen(visit, decision):
    page = opened(visit, ASTROCYTES)
    page.check("#rest-first")
    assert "exactly 3 spikes are on x → y, y → z" in choice(page, "astrocyte 1").inner_text()
    own = choice(page, "astrocyte 1")
    is_open, checked = own.locator("input[value='null']"), own.locator("input:checked")
    shown(is_open).to_be_checked()
    own.get_by_label(decision).click()
    shown(checked).to_have_count(1)
    shown(is_open).not_to_be_checked()
    is_open.click()  # it is taken back
    shown(is_open).to_be_checked()
    shown(checked).to_have_count(1)
    own.get_by_label(decision).click()
    step(page)
    start, own = reference.initial(ASTROCYTES), int(decision != "lets the spikes pass")
    after, _ = reference.step(ASTROCYTES, start, (0, 0, None, own, 0))
    assert spikes(page) == list(after.spikes)
