"""Subsets of synapses and decisions of astrocytes, chosen in Chromium."""

import pytest

import snpjax as snp
from snpjax.testing import reference
from tests.support.browser import shown, spikes, step
from tests.viz.test_subsets import ASTROCYTES, PLASTIC


pytestmark = pytest.mark.browser


def opened(visit, system: snp.SpikingSystem):
    page = visit(system)
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


def test_the_subset_that_was_taken_is_shown_and_compared(visit):
    system = snp.SpikingSystem(
        [
            snp.Neuron("i", 1, ["a -> -1(i, {j, k, m, p})"]),
            *(snp.Neuron(name) for name in "jkmp"),
        ],
        [("i", name) for name in "jkmp"],
    )
    page = opened(visit, system)
    last = page.locator("tr.shown td.fired")
    for at, target in enumerate((2, 4)):
        page.click("#to-start") if at else None
        tick(choice(page, "i"), target)
        page.click("#step")
        shown(last).to_contain_text(f"deleted i → {'ijkmp'[target]}")
    rule = "i: a → −1(i, {j, k, m, p})"
    assert last.inner_text().startswith(f"{rule}   deleted i → p")
    page.click("#show-branches")
    facts = page.locator("#history-branches p.facts")
    shown(facts).to_have_text(
        [
            "step 1: deleted i → k instead of deleted i → p",
            "same spikes in step 1, but another configuration: "
            "i → p only there, i → k only in what is shown",
        ]
    )


def test_a_decision_of_an_astrocyte_is_shown(visit):
    page = opened(visit, ASTROCYTES)
    page.check("#rest-first")
    choice(page, "astrocyte 1").get_by_label("suppresses them").click()
    step(page)
    shown(page.locator("tr.shown td.fired")).to_contain_text("astrocyte 1 suppresses spikes")


def test_what_differs_in_branches_is_named(visit):
    delays = snp.SynapseDelays({("x", "z"): 3})
    neurons = [
        snp.Neuron("x", 2, ["a+/a -> a", "a+/a^2 -> a; 2"]),
        snp.Neuron("y", 0),
        snp.Neuron("z", 0),
    ]
    page = opened(visit, snp.SpikingSystem(neurons, [("x", "y"), ("x", "z")], variant=delays))
    rules = choice(page, "x").locator("input[data-neuron]")
    for rule in (1, 2):
        page.click("#to-start") if rule == 2 else None
        rules.nth(rule).click()
        page.click("#step")
        shown(page.locator("#where")).to_contain_text("step 1 of 1")
    page.click("#show-branches")
    shown(page.locator("#history-branches p.facts")).to_have_text(
        [
            "step 1: x: a⁺/a → a instead of x: a⁺/a² → a; 2",
            "in step 1: x 1 instead of 0, y 1 instead of 0, the timer of x is 0 instead of 2, "
            "x has 0 waiting instead of 1, in flight to z: 1 in 3 instead of nothing",
        ]
    )
