"""The widget of a notebook in Chromium: its front end, and a model in place of Jupyter's."""

import json
import re

import pytest

import snpjax as snp
from snpjax.viz.page.assets import asset
from tests.support.browser import HOSTILE, PATIENCE, shown


pytest.importorskip("anywidget", reason="no anywidget (pip install '.[notebook]')")
pytestmark = pytest.mark.browser

# What anywidget gives to `render`, and what a page of a notebook would not like to see changed.
_SHOW = """async ([script, state]) => {
  const listeners = new Map();
  const of = (name) => listeners.get(name) ?? listeners.set(name, new Set()).get(name);
  window.happens = (name, message) => of(name).forEach((act) => act(message));
  window.tell = (messages) => messages.forEach((x) => window.happens("msg:custom", x));
  window.asked = [];
  window.held = null; // what is not sent to Python yet
  window.isDead = false;
  const send = async (content) => window.tell(await window.toPython(content));
  window.release = async () => {
    const messages = window.held;
    window.held = null;
    for (const content of messages) await send(content);
  };
  const model = {
    get: (name) => state[name],
    on: (name, action) => of(name).add(action),
    off: (name, action) => of(name).delete(action),
    send: (content) => {
      if (window.isDead) throw new Error("Cannot send");
      window.asked.push(content.call);
      if (window.held === null) send(content);
      else window.held.push(content);
    },
  };
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const show = (id) => widget.render({ model, el: document.getElementById(id) });
  window.end = show("first");
  window.showAgain = () => show("second");
}"""


@pytest.fixture(scope="module")
def empty_page(chromium):
    """A page for all tests, whose `toPython` calls `page.to_python`."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1400})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(f"{error}"))
    page.on("dialog", lambda dialog: (page.wrong.append(dialog.message), dialog.dismiss()))
    page.expose_function("toPython", lambda content: page.to_python(content))
    yield page
    context.close()


@pytest.fixture
def notebook(empty_page, monkeypatch):
    """Shows a widget in an empty page, and in the end checks that nothing went wrong there."""
    page = empty_page
    page.wrong.clear()

    def show(system):
        widget = snp.view(system)
        sent = []
        monkeypatch.setattr(widget, "send", lambda x: sent.append(json.loads(json.dumps(x))))

        def taken():
            messages = [*sent]
            sent.clear()
            return messages

        def to_python(content):
            widget._handle_custom_msg(content, [])
            return taken()

        page.to_python = to_python
        page.set_content('<div id="first"></div><div id="second"></div>')
        state = {name: value for name, value in widget.get_state().items() if name[0] == "_"}
        page.evaluate(_SHOW, [asset("notebook.js").decode(), state])
        frame = page.frame_locator("#first iframe")
        shown(frame.locator("body.ready")).to_be_visible()
        return widget, frame, taken

    yield page, show
    page.goto("about:blank")
    assert not page.wrong


def ring(name="x"):
    neurons = [snp.Neuron(name, 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"])]
    return snp.SpikingSystem(neurons, [(name, "y"), ("y", name)], output="y", name="ring")


@pytest.fixture
def ring_view(notebook):
    """A page with a view of a ring, its widget, and what takes the messages to the view."""
    page, show = notebook
    return page, *show(ring())


def second(page):
    """Another view of the widget."""
    page.evaluate("void showAgain()")
    view = page.frame_locator("#second iframe")
    shown(view.locator("body.ready")).to_be_visible()
    return view


def arrives(page, widget, is_it):
    """The page draws a system before it tells Python."""
    for _ in range(PATIENCE // 20):
        if is_it(widget.system):
            return
        page.wait_for_timeout(20)
    raise AssertionError(widget.system)


def test_a_system_is_edited_by_keys_in_a_notebook(notebook):
    page, show = notebook
    widget, frame, taken = show(ring(HOSTILE))
    shown(frame.locator("#title")).to_have_text("ring")
    shown(frame.locator("#network .neuron title").first).to_have_text(HOSTILE)
    assert frame.locator("img").count() == 0
    node = frame.locator("#network .neuron")
    node.first.focus()
    page.keyboard.press("n")
    shown(frame.locator("#where")).to_have_text("step 1 of 1")
    assert node.locator(".count").all_text_contents() == ["0", "1"]

    page.keyboard.press("a")
    shown(node).to_have_count(3)
    page.keyboard.press("r")
    page.keyboard.type("z")
    page.keyboard.press("Enter")
    shown(node.filter(has_text=re.compile("^z"))).to_be_focused()
    arrives(page, widget, lambda system: [x.name for x in system.neurons] == [HOSTILE, "y", "z"])
    assert snp.run(widget.system, max_steps=1).configurations.tolist()[0] == [1, 0, 0]
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    shown(node).to_have_count(2)
    shown(frame.locator("#subtitle")).to_contain_text("2 neurons")
    arrives(page, widget, lambda system: system.num_neurons == 2)

    # Python shows another system, and the page takes that back, too.
    widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    page.evaluate("messages => tell(messages)", taken())
    shown(node).to_have_count(1)
    shown(node.locator(".count")).to_have_text("4")
    page.keyboard.press("Control+z")
    shown(node).to_have_count(2)
    arrives(page, widget, lambda system: system.num_neurons == 2)


def test_two_views_of_a_widget_show_the_same_system(ring_view):
    page, widget, frame, _ = ring_view
    other = second(page)
    frame.locator("#tool-add").click()
    shown(frame.locator("#network .neuron")).to_have_count(3)
    shown(other.locator("#network .neuron")).to_have_count(3)
    other.locator("#tool-undo").click()
    shown(other.locator("#network .neuron")).to_have_count(2)
    shown(frame.locator("#network .neuron")).to_have_count(2)
    arrives(page, widget, lambda system: system.num_neurons == 2)
    page.evaluate("void end()")  # a view that was closed asks nothing
    other.locator("#tool-add").click()
    shown(other.locator("#network .neuron")).to_have_count(3)
    shown(frame.locator("#network .neuron")).to_have_count(2)


def test_a_net_is_edited_in_a_notebook(notebook):
    page, show = notebook
    net = snp.sleptsov.net_of_text("halve: 2x -> half", {"x": 9})
    widget, frame, _ = show(net)
    frame.locator("#network .place").first.click()
    frame.locator("#edit-spikes").fill("4")
    frame.locator("#neuron button.primary:not([disabled])").click()
    shown(frame.locator("#subtitle")).to_contain_text("edited")
    arrives(page, widget, lambda net: list(net.marking) == [4, 0])


def test_views_of_a_widget_are_stepped_apart(ring_view):
    page, _, frame, _ = ring_view
    other = second(page)
    for view, steps in ((frame, 3), (other, 1), (frame, 1)):
        for _ in range(steps):
            view.locator("#step:not([disabled])").click()
    shown(frame.locator("#where")).to_have_text("step 4 of 4")
    shown(other.locator("#where")).to_have_text("step 1 of 1")
    other.locator("#step").click()
    shown(other.locator("#where")).to_have_text("step 2 of 2")


def test_an_edit_in_flight_does_not_replace_what_python_has_set(ring_view):
    page, widget, frame, taken = ring_view
    page.evaluate("held = []")
    frame.locator("#tool-add").click()
    page.wait_for_function("held.length === 1")  # the question for the change
    alone = widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    page.evaluate("messages => tell(messages)", taken())
    page.evaluate("release()")
    node = frame.locator("#network .neuron")
    shown(node).to_have_count(1)
    page.wait_for_function("asked.filter((call) => call === 'shown').length === 2")
    page.wait_for_timeout(200)
    assert widget.system is alone and node.count() == 1
    frame.locator("#tool-undo").click()  # the edit is not lost
    shown(node).to_have_count(3)
    arrives(page, widget, lambda system: system.num_neurons == 3)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_movement_by_keys_does_not_change_what_python_has_set(ring_view, is_late):
    page, widget, frame, taken = ring_view
    frame.locator("#network .neuron").first.click()
    if is_late:  # the movement is made while an edit waits
        page.evaluate("held = []")
        page.keyboard.press("a")
        page.wait_for_function("held.length === 1")
    else:
        page.keyboard.press("Alt+ArrowRight")
    alone = widget.system = snp.SpikingSystem([snp.Neuron("alone", 4), snp.Neuron("other", 5)])
    page.evaluate("messages => tell(messages)", taken())
    if is_late:
        page.keyboard.press("Alt+ArrowRight")
        page.evaluate("release()")
    shown(frame.locator("#network .neuron").first).to_contain_text("alone")
    page.wait_for_timeout(700)
    assert widget.system is alone
    shown(frame.locator("#network .neuron")).to_have_count(2)


def typed(page, frame, text):
    """Text at the end of the model's, which makes it wrong."""
    frame.locator("#tab-text").click()
    frame.locator("#text").press("Control+End")
    frame.locator("#text").press_sequentially(text)
    shown(frame.locator("#text-status")).to_contain_text("error")
    return frame.locator("#text").input_value()


def test_typed_text_is_kept_when_python_sets_another_system(notebook):
    page, show = notebook
    widget, frame, taken = show(before := ring())
    text = typed(page, frame, "}")
    widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    page.evaluate("messages => tell(messages)", taken())
    shown(frame.locator("#incoming")).to_be_visible()
    assert frame.locator("#text").input_value() == text
    frame.locator("#text").press("Backspace")  # now it could be read
    page.wait_for_timeout(1000)
    assert widget.system.num_neurons == 1 and frame.locator("#title").inner_text() == "ring"
    frame.locator("#incoming-keep").click()
    arrives(page, widget, lambda system: system == before)
    shown(frame.locator("#incoming")).to_be_hidden()
    shown(frame.locator("#text-status")).to_be_empty()
    frame.locator("#tab-system").click()
    for count in (1, 2):  # the system that Python has set, and the one before it
        frame.locator("#tool-undo").click()
        shown(frame.locator("#network .neuron")).to_have_count(count)


@pytest.mark.parametrize("is_read", [False, True])
def test_typed_text_comes_back_by_undo_when_another_system_is_shown(ring_view, is_read):
    page, widget, frame, taken = ring_view
    text = typed(page, frame, "}")
    if is_read:  # in vain
        frame.locator("#text").press("Control+Enter")
        shown(frame.locator("#text-status")).to_contain_text("the last text without errors")
    alone = widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    page.evaluate("messages => tell(messages)", taken())
    frame.locator("#incoming-show").click()
    frame.locator("#tab-system").click()
    shown(frame.locator("#network .neuron")).to_have_count(1)
    assert widget.system is alone
    frame.locator("#tool-undo").click()
    shown(frame.locator("#text")).to_have_value(text)
    shown(frame.locator("#text-status")).to_contain_text("error")
    assert widget.system is alone


def test_typed_rules_are_kept_when_python_sets_another_system(ring_view):
    page, widget, frame, taken = ring_view
    frame.locator("#network .neuron").first.click()
    frame.locator("#edit-spikes").fill("7")
    widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    page.evaluate("messages => tell(messages)", taken())
    shown(frame.locator("#incoming")).to_be_visible()
    frame.locator("#neuron button.primary:not([disabled])").click()
    shown(frame.locator("#edit-findings")).to_contain_text("Decide first")
    frame.locator("#incoming-keep").click()
    frame.locator("#neuron button.primary:not([disabled])").click()
    arrives(page, widget, lambda system: [x.spikes for x in system.neurons] == [7, 0])


def test_what_is_kept_replaces_nothing_until_it_is_applied(ring_view):
    page, widget, frame, _ = ring_view
    other = second(page)
    other.locator("#network .neuron").first.click()
    other.locator("#edit-rules").fill("a^2/a -> a")
    frame.locator("#tool-add").click()
    shown(frame.locator("#network .neuron")).to_have_count(3)
    other.locator("#incoming-keep").click()
    shown(other.locator("#network .neuron")).to_have_count(3)
    shown(other.locator("#edit-rules")).to_have_value("a^2/a -> a")
    assert widget.system.num_neurons == 3
    other.locator("#neuron button.primary:not([disabled])").click()
    arrives(page, widget, lambda system: str(system.neurons[0].rules[0]) == "a^2/a -> a")
    assert widget.system.num_neurons == 3


def test_a_lost_python_is_announced_and_asked_again_when_it_returns(ring_view):
    page, widget, frame, _ = ring_view
    page.evaluate("isDead = true")
    frame.locator("#tool-add").click()
    shown(frame.locator("#lost")).to_contain_text("Python has ended")
    shown(frame.locator("#message")).to_contain_text("Python has ended")
    frame.locator("#tab-text").click()
    text = frame.locator("#text").input_value().replace('"spikes": 1', '"spikes": 5')
    frame.locator("#text").fill(text)
    shown(frame.locator("#text-status")).to_contain_text("Python has ended")
    page.evaluate("isDead = false")
    shown(frame.locator("#lost")).to_be_hidden()
    shown(frame.locator("#text-status")).to_be_empty()  # what was typed is read
    arrives(page, widget, lambda system: system.neurons[0].spikes == 5)
    frame.locator("#tab-system").click()
    frame.locator("#tool-add").click()
    arrives(page, widget, lambda system: system.num_neurons == 3)


def test_a_python_that_is_late_answers_once(ring_view):
    page, widget, frame, _ = ring_view
    page.evaluate("held = []")
    frame.locator("#tab-text").click()
    text = frame.locator("#text").input_value().replace('"spikes": 1', '"spikes": 5')
    frame.locator("#text").fill(text)
    shown(frame.locator("#lost")).to_contain_text("it is busy")
    page.evaluate("release()")
    shown(frame.locator("#lost")).to_be_hidden()
    shown(frame.locator("#text-status")).to_be_empty()
    arrives(page, widget, lambda system: system.neurons[0].spikes == 5)
    page.wait_for_timeout(500)
    frame.locator("#tab-system").click()
    frame.locator("#tool-undo").click()
    arrives(page, widget, lambda system: system.neurons[0].spikes == 1)
    shown(frame.locator("#tool-undo")).to_be_disabled()


def test_a_view_that_opens_without_python_begins_when_it_returns(notebook):
    page, show = notebook
    show(ring())
    page.evaluate("isDead = true")
    page.evaluate("void showAgain()")
    other = page.frame_locator("#second iframe")
    shown(other.locator("#lost")).to_contain_text("Python has ended")
    page.evaluate("isDead = false")
    shown(other.locator("#network .neuron")).to_have_count(2)
    shown(other.locator("#lost")).to_be_hidden()


def test_a_question_that_was_lost_on_its_way_is_refused(ring_view):
    page, widget, frame, _ = ring_view
    page.evaluate("held = []")
    frame.locator("#tool-add").click()
    page.wait_for_function("held.length === 1")
    page.evaluate("held = null")  # and it never arrives
    shown(frame.locator("#message")).to_contain_text("did not reach Python")
    shown(frame.locator("#lost")).to_be_hidden()
    frame.locator("#tool-add").click()
    arrives(page, widget, lambda system: system.num_neurons == 3)


def test_a_kernel_that_was_restarted_is_noticed_without_a_question(ring_view):
    page, _, frame, _ = ring_view
    page.evaluate("isDead = true")
    page.evaluate("happens('comm_live_update')")
    shown(frame.locator("#lost")).to_contain_text("Python has ended")


def test_nothing_of_the_page_reaches_the_notebook(ring_view):
    page, widget, frame, taken = ring_view
    reached = frame.locator("body").evaluate(
        "() => { try { return parent.document.title; } catch { return null; } }"
    )
    assert reached is None
    node = frame.locator("#network .neuron")
    shown(node).to_have_count(2)
    # The notebook takes questions of this frame only, and the page systems of the notebook only.
    own = page.evaluate("asked.length")
    page.evaluate("() => postMessage({ id: 1, call: 'forged', question: {} }, '*')")
    frame.locator("body").evaluate("() => parent.postMessage({ call: 'nothing' }, '*')")
    page.wait_for_function(f"asked.length === {own + 1}")
    assert page.evaluate("asked").count("forged") == 0
    widget.system = snp.SpikingSystem([snp.Neuron("alone", 4)])
    (message,) = taken()
    frame.locator("body").evaluate("(body, message) => postMessage(message, '*')", message)
    node.first.focus()
    page.keyboard.press("n")  # answered after the message
    shown(frame.locator("#where")).to_have_text("step 1 of 1")
    shown(node).to_have_count(2)
    page.evaluate("messages => tell(messages)", [message])  # as the notebook does
    shown(node).to_have_count(1)
