"""Files, drafts and the server's end on the page: nothing that was typed is lost."""

import pytest

from snpjax.viz.page.session import _stem
from tests.support.browser import NATURALS, neuron, press, save, shown


pytestmark = pytest.mark.browser

ASKS = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
OTHER = NATURALS.replace("echo", "mirror")


def opened(page, name, data):
    page.set_input_files(
        "#file",
        {"name": name, "mimeType": "text/plain", "buffer": data},
    )


def typed_rules(page, name, rules):
    neuron(page, name).click()
    page.fill("#edit-rules", rules)


def test_opening_a_file_is_undone(page):
    press(page, "a", neurons=4)
    opened(page, "other.pli", NATURALS.replace("echo", "mirror").encode())
    shown(neuron(page, "mirror")).to_have_count(1)
    assert "edited" not in page.inner_text("#subtitle")
    page.click("#tool-undo")
    shown(page.locator("#network .neuron")).to_have_count(4)
    shown(page.locator("#subtitle")).to_contain_text("edited")
    assert page.title() == "natural_numbers.pli · snpjax"


def test_a_file_that_cannot_be_read_leaves_the_system(page):
    text = page.input_value("#text")
    opened(page, "pic.png", b"\x89PNG\r\n\x00\xff")
    shown(page.locator("#message")).to_contain_text("pic.png was not opened")
    assert page.locator("#network .neuron").count() == 3 and page.locator("#tools").is_visible()
    assert page.input_value("#text") == text and page.title() == "natural_numbers.pli · snpjax"
    opened(page, "wrong.pli", f"{NATURALS}}}".encode())
    shown(page.locator("#findings li")).not_to_have_count(0)
    shown(page.locator("#network .neuron")).to_have_count(3)
    shown(page.locator("#network-empty")).to_be_hidden()
    assert page.inner_text("#title") != "wrong.pli" and "not read" not in page.inner_text(".bar")
    page.click("#tab-system")
    page.click("#tool-undo")
    shown(page.locator("#text")).to_have_value(text)
    page.click("#tool-redo")
    shown(page.locator("#text")).to_have_value(f"{NATURALS}}}")


def test_rules_are_applied_when_their_field_is_left(page):
    typed_rules(page, "echo", "a^2/a -> a")
    neuron(page, "output").click()
    shown(page.locator("#subtitle")).to_contain_text("edited")
    shown(page.locator("#neuron h3")).to_have_text("output")  # what was selected stays
    neuron(page, "echo").click()
    shown(page.locator("#edit-rules")).to_have_value("a^2/a -> a")
    page.fill("#edit-spikes", "5")
    page.fill("#edit-name", "repeat")
    page.press("#edit-name", "Enter")
    shown(neuron(page, "repeat").locator(".count")).to_have_text("5")


def test_rules_with_errors_stay_with_their_neuron(page):
    typed_rules(page, "echo", "a^2/a^3 -> a\na -> -> a")
    shown(page.locator("#edit-findings li")).to_have_count(2)  # a wrong line hides no other one
    neuron(page, "output").click()
    shown(page.locator("#message")).to_contain_text("kept, but not applied")
    neuron(page, "echo").click()
    shown(page.locator("#edit-rules")).to_have_value("a^2/a^3 -> a\na -> -> a")
    shown(page.locator("#edit-findings li")).to_have_count(2)
    page.fill("#edit-name", "output")
    page.press("#edit-name", "Enter")
    shown(page.locator("#edit-name-problem")).to_contain_text("'output' is declared twice")
    page.fill("#edit-name", "repeat")
    page.press("#edit-name", "Enter")
    shown(neuron(page, "repeat")).to_have_count(1)
    shown(page.locator("#edit-rules")).to_have_value("a^2/a^3 -> a\na -> -> a")
    page.fill("#edit-input", "1 x 2")
    page.press("#edit-input", "Enter")
    shown(page.locator("#edit-input-problem")).to_contain_text("integers")
    page.fill("#edit-input", "")
    page.locator("#neuron button", has_text="Reset").click()
    shown(page.locator("#edit-rules")).to_have_value("a -> a")


def test_leaving_an_edited_system_asks(page):
    assert not page.evaluate(ASKS)
    text = page.input_value("#text")
    page.click("#tab-text")
    page.fill("#text", text.replace("@ms(echo) = a;", "@ms(echo) = a*7;"))
    shown(page.locator("#subtitle")).to_contain_text("edited")
    assert page.evaluate(ASKS)
    page.click("#save")
    page.fill("#save-name", "mine")
    file = save(page, "#save-now")
    assert file.suggested_filename == "mine.pli"
    shown(page.locator("#subtitle")).not_to_contain_text("edited")
    assert not page.evaluate(ASKS)
    page.fill("#text", text)
    shown(page.locator("#subtitle")).to_contain_text("edited")
    opened(page, "wrong.pli", f"{NATURALS}}}".encode())
    shown(page.locator("#findings li")).not_to_have_count(0)
    assert page.evaluate(ASKS)  # the edited system is still open


def test_an_edited_system_that_another_file_replaced_is_not_lost(page):
    page.keyboard.press("a")
    shown(page.locator("#subtitle")).to_contain_text("edited")
    page.click("#save")
    page.select_option("#save-format", "dot")  # which cannot be opened again
    save(page, "#save-now")
    shown(page.locator("#subtitle")).to_contain_text("edited")
    opened(page, "other.pli", NATURALS.replace("echo", "mirror").encode())
    shown(neuron(page, "mirror")).to_have_count(1)
    assert page.evaluate(ASKS)
    page.click("#tool-undo")
    shown(page.locator("#network .neuron")).to_have_count(4)
    page.click("#save")
    save(page, "#save-now")
    page.click("#tool-redo")
    shown(neuron(page, "mirror")).to_have_count(1)
    assert not page.evaluate(ASKS)


def test_a_text_with_errors_is_not_taken_for_what_is_saved(page):
    page.click("#tab-text")
    page.click("#save")
    shown(page.locator("#save-draft")).to_be_hidden()
    page.click("#save-cancel")
    page.fill("#text", f"{NATURALS}oops")
    shown(page.locator("#findings li")).not_to_have_count(0)
    page.click("#save")
    shown(page.locator("#save-draft")).to_contain_text("the last one that was read")
    file = save(page, "#save-text")
    assert file.path().read_text() == f"{NATURALS}oops"
    file = save(page, "#save-now")
    assert file.path().read_text() == NATURALS


def test_a_wrong_train_that_is_left_is_told(page):
    neuron(page, "echo").click()
    page.fill("#edit-input", "1 x")
    neuron(page, "output").click()
    shown(page.locator("#message")).to_contain_text("What you typed for echo was not applied")


def test_a_text_with_errors_alone_says_that_nothing_is_drawn(visit):
    page = visit(text=f"{NATURALS}}}")
    shown(page.locator("#text-status")).to_contain_text("not read")
    page.locator("#text").press_sequentially("x")
    shown(page.locator("#text-status")).to_contain_text("the text was not read")
    page.click("#tab-graph")
    page.click("#explore button")
    shown(page.locator("#graph-status")).to_contain_text("The text has errors")
    page.click("#numbers")
    shown(page.locator("#verdict")).to_contain_text("The text has errors")


def test_another_server_on_the_port_is_announced_once(visit):
    page = visit(is_shared=False)
    asked = []
    page.on("response", lambda response: asked.append(response.status))
    page.server.token = "another"  # as that of a server that was started again
    page.keyboard.press("a")
    shown(page.locator("#lost")).to_contain_text("started again")
    shown(page.locator("#message")).to_contain_text("started again")
    page.keyboard.press("a")
    page.wait_for_timeout(100)
    assert asked.count(403) == 1
    file = save(page, "#lost-save")
    assert file.path().read_text() == NATURALS


def test_a_repeated_choice_makes_no_branch(page):
    page.locator("#step:not([disabled])").wait_for()
    rules = page.locator("#choices .option")
    rules.nth(1).click()
    for where in ("step 1 of 1", "step 2 of 2", "step 3 of 3"):
        page.click("#step")
        shown(page.locator("#where")).to_contain_text(where)
    page.click("#to-start")
    rules.nth(1).click()
    shown(page.locator("#step")).to_have_text("Step")
    page.click("#step")
    shown(page.locator("#where")).to_contain_text("step 1 of 3")
    page.click("#to-start")
    rules.nth(2).click()
    shown(page.locator("#step")).to_have_text("Branch")
    page.click("#step")
    page.click("#to-start")
    rules.nth(1).click()
    page.click("#step")
    shown(page.locator("#where")).to_contain_text("step 1 of 1")
    page.click("#show-branches")
    about = page.locator("#history-branches li .facts")
    shown(about.first).to_have_text("goes on for 2 more steps")
    shown(page.locator("#history-branches li")).to_have_count(3)


def test_names_before_and_after_a_division(visit):
    text = """@model<spiking_psystems>
def main()
{
  @mu = cell, sink;
  @ms(cell) = a*2;
  @marcs = (cell, sink);
  []'cell --> []'left || []'right "a{2}";
}
"""
    page = visit("div.pli", text)
    page.locator("#to-end:not([disabled])").click()
    shown(page.locator("#where")).to_contain_text("halted")
    rows = page.locator("#table tbody tr")
    shown(rows.first).to_contain_text("cell: 2")
    shown(rows.nth(1)).to_contain_text("cell: [a²]")
    assert page.locator("#table thead").inner_text().split()[:2] == ["step", "left"]


def test_conditions_and_searches_belong_to_a_file(page):
    page.locator("#step:not([disabled])").wait_for()
    page.fill("#until", "nix > 2")
    page.press("#until", "Tab")
    shown(page.locator("#message")).to_contain_text("nix")
    shown(page.locator("#until")).to_have_attribute("aria-invalid", "true")
    page.fill("#search", "echo")
    opened(page, "other.pli", NATURALS.encode())
    shown(page.locator("#search")).to_have_value("")
    shown(page.locator("#until")).to_have_value("")


def test_a_refused_name_leaves_other_neurons_alone(page):
    """Also where another neuron was selected before the answer came."""
    page.locator("#step:not([disabled])").wait_for()  # a route misses what is asked meanwhile
    release = []
    page.route("**/api/change", lambda route: release.append(route), times=1)
    neuron(page, "echo").click()
    page.fill("#edit-name", "")
    neuron(page, "output").click()
    shown(page.locator("#neuron h3")).to_have_text("output")
    release[0].continue_()
    shown(page.locator("#message")).to_contain_text("name")
    page.fill("#edit-spikes", "4")
    neuron(page, "chooser").click()
    shown(neuron(page, "output").locator(".count")).to_have_text("4")
    shown(neuron(page, "echo").locator(".count")).not_to_have_text("4")


def edited(page):
    press(page, "a", neurons=4)


def saves(page):
    page.click("#save")
    save(page, "#save-now")


def test_redo_to_another_file_still_asks_for_the_edited_one(page):
    edited(page)
    opened(page, "other.pli", OTHER.encode())
    shown(neuron(page, "mirror")).to_have_count(1)
    page.click("#tool-undo")
    shown(page.locator("#network .neuron")).to_have_count(4)
    page.click("#tool-undo")
    shown(page.locator("#network .neuron")).to_have_count(3)
    assert not page.evaluate(ASKS)  # the edit was taken back
    page.click("#tool-redo")
    shown(page.locator("#network .neuron")).to_have_count(4)
    page.click("#tool-redo")
    shown(neuron(page, "mirror")).to_have_count(1)
    assert page.evaluate(ASKS)


def test_a_text_with_errors_that_another_file_replaced_asks(page):
    page.click("#tab-text")
    page.fill("#text", f"{NATURALS}}}")
    shown(page.locator("#findings li")).not_to_have_count(0)
    opened(page, "other.pli", OTHER.encode())
    shown(neuron(page, "mirror")).to_have_count(1)
    assert page.evaluate(ASKS)


def test_an_edited_system_asks_after_a_file_with_errors_was_fixed_and_saved(page):
    edited(page)
    opened(page, "other.pli", f"{OTHER}}}".encode())
    shown(page.locator("#findings li")).not_to_have_count(0)
    page.fill("#text", OTHER)
    shown(page.locator("#network .neuron")).to_have_count(3)
    saves(page)
    shown(page.locator("#subtitle")).not_to_contain_text("edited")
    assert page.evaluate(ASKS)


def test_a_file_of_the_same_name_replaces_an_edited_system_and_asks(page):
    edited(page)
    opened(page, "natural_numbers.pli", OTHER.encode())
    shown(neuron(page, "mirror")).to_have_count(1)
    assert page.evaluate(ASKS)


def test_the_page_and_its_server_agree_on_names_without_suffixes(page):
    names = ["NET.PLI", "Net.Snp.JSON", "net.snp.json", "a.b.pli", "net.other", "net"]
    stems = page.evaluate(
        """async (names) => {
          const { stem } = await import("./static/saves.js");
          const { ask } = await import("./static/backend.js");
          const { formats } = await ask("begin");
          return names.map((name) => stem(name, formats));
        }""",
        names,
    )
    assert (
        stems == [_stem(name) for name in names] == ["NET", "Net", "net", "a.b", "net.other", "net"]
    )
