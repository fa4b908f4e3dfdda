"""The interactive page in Chromium, without a screen."""

import os
import re
import shutil
import threading
from contextlib import contextmanager
from functools import partial

import pytest

from snpjax import SleptsovNet, SpikingSystem
from snpjax.io import model_text
from snpjax.viz.page import PageServer, Session, new_session
from snpjax.viz.page.server import _Handler
from tests.support.helpers import REPOSITORY


playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright (pip install '.[browser]')"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("SNPJAX_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
if CHROMIUM is None:
    pytest.skip("no Chromium is on the path (apt-get install chromium)", allow_module_level=True)

#: It loads nothing of its own, and runs as root in a container, too.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NATURALS = (REPOSITORY / "examples" / "natural_numbers.pli").read_text()
PATIENCE = 60_000  # milliseconds; a step is compiled first, and others use the processor
playwright.expect.set_options(timeout=PATIENCE)
HOSTILE = "<img src=x onerror=alert(1)>"


@contextmanager
def launched():
    """Chromium, until the end of the block."""
    with playwright.sync_playwright() as started:
        browser = launch(started.chromium)
        yield browser
        browser.close()


def launch(kind, *flags):
    """Chromium, with these flags besides the usual ones."""
    return kind.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])


class _CachedFiles(_Handler):
    """Answer as the server does, but let Chromium keep the files of the page, which are the same in
    all tests: it asks for them and compiles them once."""

    def send_header(self, keyword, value):
        is_file = self.command == "GET" and keyword == "Cache-Control"
        _Handler.send_header(self, keyword, "max-age=3600" if is_file else value)


class Tab:
    """A page of Chromium, with a server of its own unless it shows a file. Tests use it one after
    the other, since opening a window costs three times as much as loading the page (CPU seconds:
    1.4 instead of 0.4, Chromium 156, 2026-11)."""

    def __init__(self, context, *, has_server):
        self.page, self.server = context.new_page(), None
        self.page.on("pageerror", lambda error: self.wrong.append(f"{error}\n{error.stack}"))
        self.page.on("dialog", self._answer)
        self.page.on("request", self._see)
        if has_server:
            self.server = PageServer(new_session())
            self.server.RequestHandlerClass = _CachedFiles
            serve = partial(self.server.serve_forever, poll_interval=0.02)
            threading.Thread(target=serve, daemon=True).start()

    def open(self, url, address):
        """Replace the page of the test before. The new one may ask only for what begins with the
        address."""
        self.address, self.wrong, self.is_opening = address, [], True
        self.page.server, self.page.wrong = self.server, self.wrong
        self.page.goto(url, wait_until="commit")
        self.is_opening = False
        self.page.wait_for_selector("body.ready")

    def _answer(self, dialog):
        if dialog.type == "beforeunload" and self.is_opening:
            return dialog.accept()  # what the test before has edited is lost
        self.wrong.append(dialog.message)
        return dialog.dismiss()

    def _see(self, request):
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.wrong.append(request.url)

    def leave(self):
        """End what the test began. Its page stays until the next test opens its own, but no longer
        asks the server, which has another model then."""
        self.page.unroute_all(behavior="ignoreErrors")
        if self.server is not None:
            self.page.evaluate("void (fetch = () => new Promise(() => {}))")
            self.page.mouse.move(0, 0)
            self.server.session.close()

    def close(self):
        self.page.context.close()
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()


class Tabs:
    """The tabs that no test uses now, by what they can show."""

    def __init__(self, chromium):
        self.chromium, self.free = chromium, {}

    def take(self, kind):
        if self.free.get(kind):
            return self.free[kind].pop()
        has_server, _, options = kind
        context = self.chromium.new_context(**dict(options))
        context.set_default_timeout(PATIENCE)
        return Tab(context, has_server=has_server)

    def give_back(self, kind, tab):
        self.free.setdefault(kind, []).append(tab)

    def close(self):
        for tab in sum(self.free.values(), []):
            tab.close()


@contextmanager
def visits(tabs):
    """Open the page of a text, and in the end check that nothing went wrong in it."""
    used = []

    def open_page(
        model="natural_numbers.pli",
        text=NATURALS,
        *,
        url=None,
        size=(1280, 720),
        scheme="light",
        motion="no-preference",
        query=None,
        scripts=None,
        is_shared=True,
        **options,
    ):
        """`model` is a system, a net or the name of a text; `scripts` replaces files of the page;
        `options` are of the context. A tab that is not shared is closed afterwards: the test ends
        its server or its network."""
        kind = url is None, is_shared, tuple(sorted(options.items()))
        tab = tabs.take(kind)
        used.append((kind, tab))
        if isinstance(model, SpikingSystem):
            model, text = "s.snp.json", model_text(model, "native")[0]
        elif isinstance(model, SleptsovNet):
            model, text = "n.lsn", model_text(model, "lsn")[0]
        page, address = tab.page, url and url.rpartition("/")[0]
        if url is None:
            tab.server.session = Session(model, text, query=query) if text else new_session()
            url = address = tab.server.url
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)
        for file, script in (scripts or {}).items():
            page.route(f"**/{file}", partial(_answer, script=script))
        tab.open(url, address)
        return page

    yield open_page
    for kind, tab in used:
        if kind[1]:
            tab.leave()
            tabs.give_back(kind, tab)
        else:
            tab.close()
    wrong = sum((tab.wrong for _, tab in used), [])
    assert not wrong, wrong


def _answer(route, *, script):
    route.fulfill(body=script, content_type="text/javascript")


def shown(locator):
    """What is expected of it, sooner or later."""
    return playwright.expect(locator)


def hold_back(page, call):
    """The requests of this kind from now on, none of which is answered until `continue_()`."""
    page.locator("#step:not([disabled])").wait_for()  # a route misses what is asked meanwhile
    held, probes = [], []

    def take(route):
        if route.request.method == "POST":
            return held.append(route)
        probes.append(route)
        return route.abort()

    page.route(f"**/api/{call}", take)
    while not probes:  # Chromium does not know of the route at once
        page.evaluate(f"void fetch('api/{call}').catch(() => {{}})")
        page.wait_for_timeout(20)
    return held


def step(page, times=1):
    """Press the button and wait until the step is shown."""
    for _ in range(times):
        where = page.inner_text("#where")
        page.locator("#step:not([disabled])").click()
        shown(page.locator("#where")).not_to_have_text(where)


def draw(page):
    """Wait until what changed is drawn: what waits for a frame may change something, too."""
    page.evaluate("new Promise(end => requestAnimationFrame(() => requestAnimationFrame(end)))")


def spikes(page):
    """The counts in the neurons of the drawing."""
    return [int(text) for text in page.locator("#network .neuron .count").all_text_contents()]


def neuron(page, name):
    return page.locator("#network .neuron").filter(has_text=re.compile(f"^{re.escape(name)}"))


def press(page, key, *, neurons):
    """Press a key, and wait until the drawing has that many neurons."""
    page.keyboard.press(key)
    shown(page.locator("#network .neuron")).to_have_count(neurons)


def explore(page):
    """Show the configuration graph of the system, and wait for the whole of it."""
    page.click("#tab-graph")
    page.click("#explore button")
    shown(page.locator("#graph-status")).to_contain_text("complete")


def choose_otherwise(page):
    """Step from the start by another choice than that of the branch that is shown."""
    page.click("#to-start")
    taken = page.locator("#choices .option:has(.taken)").inner_text()
    page.locator("#choices .option").filter(has_not_text=taken).last.click()
    page.click("#step")


def save(page, button):
    """The file that a button downloads."""
    with page.expect_download() as waiting:
        page.click(button)
    assert waiting.value.failure() is None
    return waiting.value
