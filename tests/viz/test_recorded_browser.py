"""Exported pages, which have no server, in Chromium."""

import pytest

import snpjax as snp
from snpjax.viz.page import export
from tests.support.browser import explore, save, shown, step
from tests.viz.test_editing_browser import LASSO


pytestmark = pytest.mark.browser

CHOICES = snp.SpikingSystem(
    [
        snp.Neuron("x", 3, ["a^3 -> a", "a^3 -> a^2", "a^3 -> a^3"]),
        snp.Neuron("y", 0, ["a -> a", "a^2 -> a", "a^3 -> a"]),
        snp.Neuron("z"),
    ],
    [("x", "y"), ("y", "z")],
)


def exported(visit, page, tmp_path):
    """The exported page of what is shown."""
    page.click("#picture")
    shown(page.locator("#picture-of")).to_contain_text("the graph (if you explored it)")
    file = save(page, "#picture-page")
    file.save_as(tmp_path / "run.html")
    return visit(url=(tmp_path / "run.html").as_uri())


def test_a_configuration_of_the_graph_leads_to_its_step_in_the_run_or_a_branch(visit, tmp_path):
    page = visit(CHOICES)
    for rule in (1, 2):
        page.locator("#choices .option").nth(rule).click()
        step(page)
        page.click("#step")
        shown(page.locator("#where")).to_contain_text("step 2 of 2")
        page.click("#to-start")
    explore(page)
    file = exported(visit, page, tmp_path)
    file.click("#tab-graph")
    status, here = file.locator("#graph-status"), file.locator("#graph .here")

    def choose(configuration):
        nodes = file.locator("#graph .state")
        nodes.and_(file.get_by_label(f"<{configuration}>", exact=False)).click()

    choose("0,2,0")  # of the run
    shown(file.locator("#where")).to_have_text("step 1 of 2")
    shown(here).to_contain_text("<0,2,0>")
    shown(status).to_contain_text("is shown, after 1 step")
    choose("0,1,0")  # of the branch
    shown(file.locator("#where")).to_have_text("step 1 of 2")
    shown(here).to_contain_text("<0,1,0>")
    file.click("#show-branches")
    shown(file.locator("#history-branches .own input")).to_have_value("branch 1")
    choose("0,3,0")
    shown(status).to_contain_text("Neither the recorded run nor a recorded branch visits")
    shown(here).to_contain_text("<0,1,0>")


def test_the_end_of_a_recording_is_announced(visit, tmp_path):
    export(LASSO, tmp_path / "lasso.html", max_steps=2)
    page = visit(url=(tmp_path / "lasso.html").as_uri())
    choices, button = page.locator("#choices"), page.locator("#step")
    shown(choices).not_to_contain_text("no server")
    step(page, 2)
    shown(choices).to_contain_text("This page has no server that could make another step.")
    assert button.is_disabled() and "no server" in (button.get_attribute("title") or "")
    page.click("#back")
    shown(choices).not_to_contain_text("no server")
    assert "no server" not in (button.get_attribute("title") or "")
    page.click("#picture")
    assert page.locator("#picture-page").is_hidden()
    assert "HTML" not in page.inner_text("#picture-dialog")


def test_a_verdict_and_its_loop_are_recorded(visit, tmp_path):
    page = visit(LASSO)
    page.click("#tab-graph")
    page.fill("#property", "eventually z = 0")
    page.keyboard.press("Enter")
    shown(page.locator("#verdict[data-status=refuted]")).to_be_visible()
    verdict = page.locator("#verdict pre").inner_text()
    file = exported(visit, page, tmp_path)
    shown(file.locator("#message")).to_have_text(verdict.split("\n")[0])
    file.click("#tab-graph")
    shown(file.locator("#verdict[data-status=refuted]")).to_be_visible()
    assert file.locator("#verdict pre").inner_text() == verdict
    assert verdict.startswith("eventually z = 0: refuted")
    step(file, 3)  # the loop goes on
    shown(file.locator("#choices")).not_to_contain_text("no server")
