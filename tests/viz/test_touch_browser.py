"""The page under fingers: tap, drag and pinch. `pytest -m browser`."""

import re

import pytest

from tests.support.browser import neuron, shown, spikes


pytestmark = pytest.mark.browser


@pytest.fixture
def phone(visit):
    return visit(has_touch=True, is_mobile=True, size=(390, 844))


def transform(page):
    """Where the drawing is: x, y and scale."""
    text = page.locator("#network .world").get_attribute("transform")
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def touch(page, *paths):
    """Move one finger along each path, at the same time."""
    session = page.context.new_cdp_session(page)

    def send(kind, points):
        places = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    send("touchStart", [path[0] for path in paths])
    for points in zip(*(path[1:] for path in paths), strict=True):
        send("touchMove", points)
    send("touchEnd", [])
    session.detach()


def line(start, end, parts=6):
    return [
        tuple(a + (b - a) * i / parts for a, b in zip(start, end, strict=True))
        for i in range(parts + 1)
    ]


def middle(page):
    box = page.locator("#network").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_moves_the_drawing_and_two_enlarge_it(phone):
    x, y = middle(phone)
    before = transform(phone)
    touch(phone, line((x, y), (x + 60, y + 40)))
    moved = transform(phone)
    assert moved[2] == before[2]
    assert [moved[0] - before[0], moved[1] - before[1]] == pytest.approx([60, 40], abs=1)
    touch(phone, line((x - 30, y), (x - 90, y)), line((x + 30, y), (x + 90, y)))
    larger = transform(phone)
    assert larger[2] == pytest.approx(3 * moved[2], rel=0.02)
    # What was between the fingers stays there.
    box = phone.locator("#network").bounding_box()
    at = x - box["x"]
    assert (at - larger[0]) / larger[2] == pytest.approx((at - moved[0]) / moved[2], abs=2)
    assert phone.evaluate("scrollY") == 0 and phone.evaluate("visualViewport.scale") == 1


def grip(page, name):
    """A point of a neuron away from its rules."""
    box = neuron(page, name).bounding_box()
    return box["x"] + 10, box["y"] + 10


def test_a_finger_moves_the_drawing_and_not_a_neuron_that_is_not_selected(phone):
    before, view = neuron(phone, "chooser").get_attribute("transform"), transform(phone)
    x, y = grip(phone, "chooser")
    touch(phone, line((x, y), (x + 50, y + 50)))
    assert neuron(phone, "chooser").get_attribute("transform") == before
    assert transform(phone)[:2] == pytest.approx([view[0] + 50, view[1] + 50], abs=1)


def test_a_finger_moves_the_selected_neuron(phone):
    neuron(phone, "chooser").tap()
    shown(phone.locator("#neuron h3")).to_have_text("chooser")
    before, view = neuron(phone, "chooser").bounding_box(), transform(phone)
    x, y = grip(phone, "chooser")
    touch(phone, line((x, y), (x + 40, y + 30)))
    shown(phone.locator("#tool-undo")).to_be_enabled()
    after = neuron(phone, "chooser").bounding_box()
    assert [after["x"] - before["x"], after["y"] - before["y"]] == pytest.approx([40, 30], abs=1.5)
    assert transform(phone) == view
    # The others are not selected: the drawing moves.
    x, y = grip(phone, "output")
    touch(phone, line((x, y), (x - 30, y)))
    assert transform(phone)[0] == pytest.approx(view[0] - 30, abs=1)


def test_two_fingers_enlarge_the_drawing_if_one_is_on_the_selected_neuron(phone):
    neuron(phone, "chooser").tap()
    shown(phone.locator("#neuron h3")).to_have_text("chooser")
    place, view = neuron(phone, "chooser").get_attribute("transform"), transform(phone)
    x, y = grip(phone, "chooser")
    touch(phone, line((x, y), (x - 60, y)), line((x + 60, y), (x + 120, y)))
    assert transform(phone)[2] == pytest.approx(3 * view[2], rel=0.02)
    assert neuron(phone, "chooser").get_attribute("transform") == place
    shown(phone.locator("#tool-undo")).to_be_disabled()


def test_taps_step_select_and_connect(phone):
    phone.locator("#step:not([disabled])").tap()
    shown(phone.locator("#where")).to_contain_text("step 1")
    assert spikes(phone) != [2, 1, 1]
    synapses = phone.locator("#network .edge .grip").count()
    neuron(phone, "output").tap()
    shown(phone.locator("#neuron h3")).to_have_text("output")
    phone.locator("#tool-connect").tap()
    neuron(phone, "echo").tap()
    shown(phone.locator("#network .edge .grip")).to_have_count(synapses + 1)
    phone.locator("#tool-undo").tap()
    shown(phone.locator("#network .edge .grip")).to_have_count(synapses)
