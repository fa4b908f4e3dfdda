"""The page under fingers: tap, drag and pinch. `pytest -m browser`."""

import re

import pytest

from tests.support.browser import (
    PATIENCE,
    chromium as chromium,
    neuron,
    shown,
    spikes,
    visit as visit,
)


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


def test_a_finger_does_not_drag_neurons(phone):
    before = neuron(phone, "chooser").get_attribute("transform")
    box = neuron(phone, "chooser").bounding_box()
    x, y = box["x"] + 10, box["y"] + 10
    touch(phone, line((x, y), (x + 50, y + 50)))
    assert neuron(phone, "chooser").get_attribute("transform") == before


def test_taps_step_select_and_connect(phone):
    phone.locator("#step:not([disabled])").tap()
    shown(phone.locator("#where")).to_contain_text("step 1", timeout=PATIENCE)
    assert spikes(phone) != [2, 1, 1]
    synapses = phone.locator("#network .edge .grip").count()
    neuron(phone, "output").tap()
    shown(phone.locator("#neuron h3")).to_have_text("output")
    phone.locator("#tool-connect").tap()
    neuron(phone, "echo").tap()
    shown(phone.locator("#network .edge .grip")).to_have_count(synapses + 1)
    phone.locator("#tool-undo").tap()
    shown(phone.locator("#network .edge .grip")).to_have_count(synapses)
