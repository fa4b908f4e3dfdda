"""Whatever somebody does with the page, it has no error and its memory does not grow.

`pytest -m browser` does so for 8 rounds, `pytest -m nightly` for 30 minutes; another length is in
`SNPJAX_RANDOM_SECONDS`, another seed in `SNPJAX_RANDOM_SEED`.
"""

import os
import random
import time
from collections import deque

import pytest

from tests.support.browser import NATURALS, Tabs, launch


SEED = int(os.environ.get("SNPJAX_RANDOM_SEED", "0"))
KEYS = "ArrowRight ArrowLeft ArrowUp ArrowDown Home End Space Enter Escape Tab Delete F2"
KEYS += " Control+a Control+z Control+Shift+Z n b a c d r f + - 1 2 3 ? /"
TEXTS = ["n3 > 2", "a -> a", "a^2/a -> a; 1", "3", "x", "always output <= 2", "(", "é", "1 0 2"]
#: How much more than the first rounds the last ones may hold, however many there are. Chromium
#: itself keeps the last 1,000 edits of text fields with their nodes, so that they can be undone. If
#: the page kept the elements that it replaces, each round would add 500 nodes.
MEGABYTES, NODES = 0.3, 1000

# The middle of a visible control, by number; none that opens a dialog of the browser, and no PNG:
# Chromium keeps the documents of some SVG images.
_CONTROL = """(number) => {
  const kinds = "button, input, select, textarea, [role=button], .option, canvas[role=img]";
  const open = document.querySelector("dialog[open]");
  const seen = [...(open ?? document).querySelectorAll(kinds)].filter((node) => {
    const others = "#open, #file, #module, #picture-page, #picture-png";
    if (node.matches(`:disabled, ${others}`) || !node.checkVisibility()) return false;
    const { x, y, width, height } = node.getBoundingClientRect();
    const [right, bottom] = [x + width / 2, y + height / 2];
    return right > 0 && bottom > 0 && right < innerWidth && bottom < innerHeight;
  });
  if (seen.length === 0) return null;
  const node = seen[number % seen.length];
  const { x, y, width, height } = node.getBoundingClientRect();
  const name = node.id || node.className.baseVal || node.textContent;
  return { x: x + width / 2, y: y + height / 2, name };
}"""


@pytest.fixture
def tabs(chromium):
    """Tabs of a Chromium that compiles no machine code. It would keep that on the heap, which is
    measured: 0.4 MB more after 60 rounds."""
    browser = launch(chromium.browser_type, "--js-flags=--jitless")
    tabs = Tabs(browser)
    yield tabs
    tabs.close()
    browser.close()


class Hand:
    """Does one random thing after the other, and knows the last ones."""

    def __init__(self, page, seed):
        self.page, self.random = page, random.Random(seed)
        self.done: deque[str] = deque(maxlen=40)

    def act(self):
        kind = self.random.choice([self.click] * 5 + [self.key] * 4 + [self.write, self.drag])
        self.done.append(f"{kind.__name__} {kind()}")

    def click(self):
        place = self.page.evaluate(_CONTROL, self.random.randrange(1000))
        if place is None:
            return None
        shift = self.random.random() < 0.15
        if shift:
            self.page.keyboard.down("Shift")
        self.page.mouse.click(place["x"], place["y"])
        if shift:
            self.page.keyboard.up("Shift")
        return place["name"][:40]

    def key(self):
        key = self.random.choice(KEYS.split())
        self.page.keyboard.press(key)
        return key

    def write(self):
        text = self.random.choice(TEXTS)
        if self.page.evaluate("document.activeElement.matches('input, textarea')"):
            self.page.keyboard.type(text)
            if self.random.random() < 0.5:
                self.page.keyboard.press("Enter")
        return text

    def drag(self):
        x, y = self.random.randrange(40, 900), self.random.randrange(120, 500)
        self.page.mouse.move(x, y)
        if self.random.random() < 0.4:
            self.page.mouse.wheel(0, self.random.randrange(-400, 400))
            return "wheel"
        self.page.mouse.down()
        self.page.mouse.move(x + self.random.randrange(-200, 200), y + 30, steps=3)
        self.page.mouse.up()
        return f"from {x}, {y}"

    def begin_again(self):
        """The first model, from nothing that was done."""
        self.page.keyboard.press("Escape")
        self.page.evaluate("document.querySelector('dialog[open]')?.close()")
        self.page.evaluate("window.confirm = () => true")  # what was typed may be lost
        file = {"name": "n.pli", "mimeType": "text/plain", "buffer": NATURALS.encode()}
        self.page.set_input_files("#file", file)
        self.page.wait_for_function(
            "() => document.getElementById('where').textContent === 'step 0 of 0'"
            " && document.querySelectorAll('#network .neuron').length === 3"
            " && document.getElementById('title').textContent === 'n.pli'"
        )
        # Export opens once edits are made, which may be now.
        self.page.evaluate("document.querySelectorAll('dialog[open]').forEach(x => x.close())")
        self.page.click("#tab-system")
        self.page.click("#show-table")
        self.page.wait_for_timeout(200)


def held(session):
    """Megabytes of objects, and the number of nodes, once all that is unused is gone."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    found = {x["name"]: x["value"] for x in session.send("Performance.getMetrics")["metrics"]}
    return found["JSHeapUsedSize"] / 2**20, found["Nodes"]


def lasting(usual, actions, mark):
    """Seconds, at least for 8 rounds, and the actions of one round, after which the first model is
    opened again."""
    seconds = int(os.environ.get("SNPJAX_RANDOM_SECONDS", f"{usual}"))
    marks = [mark, pytest.mark.timeout(seconds + 600)]
    return pytest.param(seconds, actions, marks=marks, id=mark.name)


@pytest.mark.parametrize(
    "seconds, actions",
    [lasting(0, 30, pytest.mark.browser), lasting(1800, 60, pytest.mark.nightly)],
)
def test_random_actions_leave_the_page_as_it_was(visit, seconds, actions):
    print("seed", SEED)
    page = visit()
    page.on("response", lambda answer: answer.status >= 500 and page.wrong.append(answer.text()))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    hand = Hand(page, SEED)
    rounds = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(rounds) < 8:
        for _ in range(actions):
            hand.act()
            assert not page.wrong, (page.wrong, SEED, *hand.done)
        hand.begin_again()
        rounds.append(held(session))
        if len(rounds) % 20 == 0:
            print(f"round {len(rounds)}: {rounds[-1][0]:.3f} MB, {rounds[-1][1]} nodes", flush=True)
    # A single round may keep the drawing before it, for what the pointer was on; the first two fill
    # caches, of compiled scripts and of widths of texts.
    # Undo keeps the last models and opened files, which takes some 60 rounds to fill.
    full = max(2, min(60, len(rounds) // 2))
    windows = rounds[full : full + 3], rounds[-3:]
    start, last = ([min(own) for own in zip(*x, strict=True)] for x in windows)
    print(f"{len(rounds)} rounds: from {start} to {last}")
    grown = last[0] - start[0], last[1] - start[1]
    assert grown[0] <= MEGABYTES and grown[1] <= NODES, (grown, SEED, rounds[::10])
