"""The interactive page in Chromium, without a screen."""

import os
import re
import shutil
import threading
from contextlib import contextmanager
from functools import partial

import pytest

from snpjax.viz.page import PageServer, Session, new_session
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
PATIENCE = 60_000  # milliseconds; a step is compiled first
HOSTILE = "<img src=x onerror=alert(1)>"


@contextmanager
def launched(*flags):
    """Chromium, with these flags besides the usual ones."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(chromium):
    """Opens the page of a text, and in the end checks that nothing went wrong in it."""
    left = []

    def open_page(
        name=None,
        text=NATURALS,
        *,
        url=None,
        size=(1280, 720),
        scheme="light",
        query=None,
        scripts=None,
        **options,
    ):
        """`scripts` replaces files of the page; `options` are of the context."""
        server = None
        if url is None:
            own = (
                Session(name or "natural_numbers.pli", text, query=query) if text else new_session()
            )
            server = PageServer(own)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = server.url
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, **options
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        wrong = []
        own = url.rpartition("/")[0] if server is None else url
        page.on("pageerror", lambda error: wrong.append(f"{error}\n{error.stack}"))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda asked: asked.url.startswith((own, "data:", "blob:")) or wrong.append(asked.url),
        )
        page.server, page.wrong = server, wrong
        for file, script in (scripts or {}).items():
            page.route(f"**/{file}", partial(_answer, script=script))
        left.append((context, server, wrong))
        page.goto(url)
        page.wait_for_selector("body.ready")
        return page

    yield open_page
    for context, server, wrong in left:
        context.close()
        if server is not None:
            server.shutdown()
            server.server_close()
        assert not wrong, wrong


def _answer(route, *, script):
    route.fulfill(body=script, content_type="text/javascript")


def shown(locator):
    """What is expected of it, sooner or later."""
    return playwright.expect(locator)


def hold_back(page, call):
    """The requests of this kind from now on, none of which is answered until `continue_()`."""
    page.locator("#step:not([disabled])").wait_for()  # a route misses what is asked meanwhile
    routes = []
    page.route(f"**/api/{call}", lambda route: routes.append(route))
    return routes


def step(page, times=1):
    """Press the button and wait until the step is shown."""
    for _ in range(times):
        where = page.inner_text("#where")
        page.locator("#step:not([disabled])").click()
        shown(page.locator("#where")).not_to_have_text(where, timeout=PATIENCE)


def spikes(page):
    """The counts in the neurons of the drawing."""
    return [int(text) for text in page.locator("#network .neuron .count").all_text_contents()]


def neuron(page, name):
    return page.locator("#network .neuron").filter(has_text=re.compile(f"^{re.escape(name)}"))


@contextmanager
def saved(page):
    """The file that is downloaded meanwhile."""
    with page.expect_download() as waiting:
        yield waiting
    assert waiting.value.failure() is None
