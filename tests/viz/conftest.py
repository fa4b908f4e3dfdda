"""One Chromium for all tests of the interactive page; `tests.support.browser` skips without one."""

import pytest


@pytest.fixture(scope="package")
def chromium():
    from tests.support.browser import launched

    with launched() as browser:
        yield browser


@pytest.fixture(scope="package")
def tabs(chromium):
    from tests.support.browser import Tabs

    tabs = Tabs(chromium)
    yield tabs
    tabs.close()


@pytest.fixture
def visit(tabs):
    """Opens the page of a text, and in the end checks that nothing went wrong in it."""
    from tests.support.browser import visits

    with visits(tabs) as open_page:
        yield open_page


@pytest.fixture
def page(visit):
    """The page of the example of the natural numbers."""
    return visit()
