"""How smooth is the interactive page? Frames while a drawing of 200, 2,000 and 10,000 neurons, with
five synapses each, is moved and zoomed; the time to the first picture, and of a step.

    python bench/page.py [NEURONS ...]

It needs Chromium and the extra `browser`. Chromium draws without a GPU, on the cores that also run
the server. The page itself takes the times: of a frame from one call of `requestAnimationFrame` to
the next, of the first picture from the beginning of the navigation until all is drawn, and of a
step from the click to the frame after its configuration is shown. The targets are a median frame of
33 ms, a first picture of 200 neurons in 1 s, and a step of them in 50 ms.
"""

import os
import random
import shutil
import statistics
import sys
import threading

from playwright.sync_api import Page, sync_playwright

import snpjax as snp
from snpjax.io import model_text
from snpjax.viz.page import PageServer, Session


SIZES, PER_NEURON, STEPS = (200, 2_000, 10_000), 5, 9
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 240_000  # milliseconds

#: Moves by a pointer that drags, and zooms by a wheel: a frame each.
FRAMES = """async (how) => {
  const svg = document.getElementById("network");
  const { x, y, width, height } = svg.getBoundingClientRect();
  const at = { clientX: x + width / 2, clientY: y + height / 2, bubbles: true, cancelable: true };
  const pointer = { ...at, pointerId: 7, button: 0, buttons: 1 };
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  if (how === "move") svg.dispatchEvent(new PointerEvent("pointerdown", pointer));
  await frame();
  for (let i = 0; i < 90; i += 1) {
    const begun = performance.now();
    const aside = { ...pointer, clientX: pointer.clientX + 120 * Math.sin(i / 12) };
    if (how === "move") svg.dispatchEvent(new PointerEvent("pointermove", aside));
    else svg.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: i < 45 ? -60 : 60 }));
    await frame();
    times.push(performance.now() - begun);
  }
  if (how === "move") svg.dispatchEvent(new PointerEvent("pointerup", { ...pointer, buttons: 0 }));
  return times;
}"""
#: From the click to the frame in which the next step stands below the drawing.
STEP = """async () => {
  const where = document.getElementById("where");
  const before = where.textContent;
  const begun = performance.now();
  document.getElementById("step").click();
  while (where.textContent === before) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""
FIRST = """async () => {
  await new Promise(requestAnimationFrame);
  return performance.getEntriesByName("ready")[0].startTime;
}"""


def system(num_neurons: int) -> str:
    """A random system as a file, in which about half of the neurons fire in a step."""
    rng = random.Random(0)
    neurons = [snp.Neuron(f"n{i}", rng.randrange(3), ["a+/a -> a"]) for i in range(num_neurons)]
    synapses = {
        (f"n{i}", f"n{j}")
        for i in range(num_neurons)
        for j in rng.sample(range(num_neurons), PER_NEURON)
        if i != j
    }
    return model_text(snp.SpikingSystem(neurons, sorted(synapses), output="n0"), "native")[0]


def measured(page: Page, url: str) -> dict[str, float]:
    """All times in milliseconds; the page is opened three times, and the server runs already."""
    first = []
    for _ in range(3):
        page.goto(url)
        page.wait_for_selector("body.ready")
        first.append(page.evaluate(FIRST))
    page.wait_for_selector("#step:not([disabled])")
    page.evaluate(STEP)  # it is compiled
    page.wait_for_timeout(500)
    steps = [page.evaluate(STEP) for _ in range(STEPS)]
    found = {"first picture": min(first), "step": statistics.median(steps)}
    for how in ("move", "zoom"):
        page.wait_for_timeout(500)
        times = page.evaluate(FRAMES, how)
        found[how] = statistics.median(times)
        found[f"{how}, 9 of 10"] = statistics.quantiles(times, n=10)[-1]
    return found


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    found = [os.environ.get("SNPJAX_CHROMIUM"), *map(shutil.which, NAMES)]
    chromium = next(filter(None, found), None)
    if chromium is None:
        sys.exit(f"There is none of {', '.join(NAMES)}. Install Chromium, or set SNPJAX_CHROMIUM.")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=FLAGS)
        print(f"Chromium {browser.version}, milliseconds", flush=True)
        for size in sizes:
            server = PageServer(Session("page.snp.json", system(size)))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.set_default_timeout(PATIENCE)
            found = measured(page, server.url)
            times = ", ".join(f"{what} {time:.0f}" for what, time in found.items())
            print(f"{size:,} neurons: {times}", flush=True)
            page.close()
            server.shutdown()
            server.server_close()
        browser.close()


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# python bench/page.py, 2 idle cores of AMD EPYC, Chromium 156, jax 0.10.2, 2026-11-27. Times in ms.
# Before layouts of many crossed layers were given up, the first picture of 200 neurons took 51,860.
# Before answers were sent without waiting for ACKs, a step of 200 neurons took 80 in the same hour.
# 200 neurons: first picture 407, step 42, move 17, zoom 17, and 21 for 9 of 10 frames
# 2,000 neurons: first picture 725, step 78, move 17, zoom 17, and 23 for 9 of 10 frames
# 10,000 neurons: first picture 1783, step 224, move 17, zoom 17, and 24 for 9 of 10
