"""Large drawings in Chromium: their mini-map, their elements and their layout."""

import pytest

import snpjax as snp
from snpjax.io import model_text
from tests.support.browser import shown


pytestmark = pytest.mark.browser

MIDDLE = """() => {
  const map = document.querySelector("#view-system .minimap").getBoundingClientRect();
  const world = document.querySelector("#network .world").getAttribute("transform");
  return [map.x + map.width / 2, map.y + map.height / 2, world];
}"""


def many(num_neurons: int) -> str:
    """A system whose neurons have five synapses each, as a file."""
    neurons = [snp.Neuron(f"n{i}", i % 3, ["a+/a -> a"]) for i in range(num_neurons)]
    ends = ((i, (7 * i + 13 * k + 1) % num_neurons) for i in range(num_neurons) for k in range(5))
    synapses = [(f"n{i}", f"n{j}") for i, j in sorted(set(ends)) if i != j]
    return model_text(snp.SpikingSystem(neurons, synapses, output="n0"), "native")[0]


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_the_view_is_moved_in_the_map(visit, size):
    page = visit(size=size)
    minimap = page.locator("#view-system .minimap")
    shown(minimap).to_be_hidden()  # all is seen
    for _ in range(4):
        page.locator("#view-system [data-zoom=in]").click()
    shown(minimap).to_be_visible()
    assert minimap.get_attribute("aria-hidden") == "true"
    x, y, before = page.evaluate(MIDDLE)
    page.mouse.move(x, y)
    page.mouse.down()
    middle = page.evaluate(MIDDLE)[2]
    page.mouse.move(x + 30, y, steps=3)
    page.mouse.up()
    moved = page.evaluate(MIDDLE)[2]
    assert len({before, middle, moved}) == 3
    left, right = (float(text.split("(")[1].split()[0]) for text in (middle, moved))
    assert right < left  # what is farther right came into the middle
    page.locator("#view-system [data-zoom=fit]").click()
    shown(minimap).to_be_hidden()


def test_the_middle_of_the_map_is_the_middle_of_the_drawing(page):
    page.locator("#view-system [data-zoom=in]").click(click_count=6)
    x, y, _ = page.evaluate(MIDDLE)
    page.mouse.click(x + 20, y)
    page.mouse.click(x, y)
    box = page.locator("#network .world").bounding_box()
    room = page.locator("#network").bounding_box()
    assert abs(box["x"] + box["width"] / 2 - room["x"] - room["width"] / 2) < 20


def test_many_neurons_are_no_elements(visit):
    """They are drawn on canvases, and those near by become elements: never more than 150."""
    page = visit("many.snp.json", many(2000))
    assert page.locator("canvas.overview:visible").count() >= 2
    count = "() => document.querySelectorAll('#network *').length"
    assert page.evaluate(count) < 100
    page.fill("#search", "n150")
    page.keyboard.press("Enter")
    shown(page.locator("#network .neuron[aria-label^='neuron n150']")).to_be_visible()
    assert 1 <= page.locator("#network .neuron").count() <= 150
    assert page.evaluate(count) < 150 * 30
    shown(page.locator("#view-system .minimap")).to_be_visible()


def test_dense_systems_are_laid_out_in_rows(page):
    """Layers of them would take seconds, and nobody could read them; sparse ones are in layers."""
    script = """async (degree) => {
      const { arrange } = await import("./static/layout.js");
      const nodes = Array.from({ length: 100 }, (_, id) => ({ id, width: 100, height: 40 }));
      const edges = nodes.flatMap(({ id }) => Array.from({ length: degree }, (_, k) =>
        ({ source: id, target: (7 * id + 13 * k + 1) % 100, label: "" })));
      arrange(nodes, edges, { room: { width: 900, height: 500 } });
      return [new Set(nodes.map((node) => node.y)).size, edges.some((edge) => edge.points)];
    }"""
    rows, is_layered = page.evaluate(script, 8)
    assert rows < 20 and not is_layered
    assert page.evaluate(script, 1)[1]
