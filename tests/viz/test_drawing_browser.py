"""Where boxes and arrows of the page's drawings stand, and what is marked in them, in Chromium."""

import pytest

import snpjax as snp
from snpjax.io import model_text
from tests.support.browser import PATIENCE, chromium as chromium, shown, visit as visit


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
    return visit("s.snp.json", model_text(system, "native")[0], **options)


def explored(page, most):
    page.click("#tab-graph")
    page.fill("#most", str(most))
    page.click("#explore button")
    shown(page.locator("#graph-status")).to_contain_text("configurations,", timeout=PATIENCE)


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
        shown(page.locator("#where")).to_contain_text(f"step {number}", timeout=PATIENCE)
        (id,) = page.locator("#graph .state.here").evaluate_all("all => all.map(x => x.dataset.id)")
        text = page.locator("#graph .state.here .spikes").text_content()
        row = page.locator("tr.shown td:not(.fired)").all_text_contents()
        assert id != "0" and text == f"<{','.join(row)}>"


def test_a_witness_is_marked_in_the_graph(visit):
    page = opened(visit, GROWING)
    explored(page, 40)
    page.fill("#property", "always right = 0")
    page.click("#prove button")
    shown(page.locator("#verdict")).to_contain_text("refuted", timeout=PATIENCE)
    steps = int(page.inner_text("#where").split()[1])
    shown(page.locator("#graph .edge.path")).to_have_count(steps)
    assert page.locator("#graph .state.here").count() == 1
