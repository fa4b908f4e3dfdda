"""Makes the pictures of docs/viewing.md, with Chromium: `pip install '.[browser]'`."""

import os
import shutil
import threading
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from snpjax.viz.page import PageServer, Session


REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES = REPOSITORY / "docs" / "images"
MODEL = REPOSITORY / "examples" / "natural_numbers.pli"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def stepped(page: Page, times: int) -> None:
    for number in range(1, times + 1):
        page.locator("#step:not([disabled])").click(timeout=60_000)
        expect(page.locator("#where")).to_contain_text(f"step {number} ", timeout=60_000)


def light(page: Page) -> None:
    stepped(page, 3)
    page.locator("#network .neuron").first.click()


def errors(page: Page) -> None:
    page.wait_for_selector("#findings li")


def phone(page: Page) -> None:
    stepped(page, 2)


def graph_dark(page: Page) -> None:
    page.click("#tab-graph")
    page.click("#explore button")
    expect(page.locator("#graph-status")).to_contain_text("complete", timeout=60_000)
    page.locator("#graph .halting").click()
    expect(page.locator("#where")).to_contain_text("halted", timeout=60_000)


#: What to do, the size, the colours, and the text.
PICTURES = {
    light: ((1280, 720), "light", MODEL.read_text()),
    errors: (
        (1280, 420),
        "light",
        MODEL.read_text().replace("echo)", "ecko)").replace("*2 ", "*x "),
    ),
    phone: ((390, 844), "light", MODEL.read_text()),
    graph_dark: ((1280, 720), "dark", MODEL.read_text()),
}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    program = os.environ.get("SNPJAX_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for prepare, ((width, height), scheme, text) in PICTURES.items():
            with PageServer(Session(MODEL.name, text)) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                page = browser.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if scheme == "dark" else "light",
                )
                page.goto(server.url)
                page.wait_for_selector("body.ready")
                prepare(page)
                page.mouse.move(0, 0)
                target = IMAGES / f"view_{prepare.__name__}.png"
                page.screenshot(path=target)
                print(target.relative_to(REPOSITORY))
                page.close()
                server.shutdown()
        browser.close()


if __name__ == "__main__":
    main()
