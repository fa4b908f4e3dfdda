"""The site that `mkdocs build` has written, if SNPJAX_SITE names its folder.

The build executes the tutorials and the scripts of the gallery and of the benchmarks, and ends at
the first error. These tests look for their results on the pages.
"""

import html
import re
from pathlib import Path

import pytest

from tests.support.helpers import REPOSITORY, SITE, script


pytestmark = pytest.mark.skipif(SITE is None, reason="SNPJAX_SITE names no site")


def page(*parts: str) -> str:
    assert SITE is not None
    return Path(SITE, *parts, "index.html").read_text(encoding="utf-8")


def test_every_page_is_on_the_site():
    _, _, navigation = (REPOSITORY / "mkdocs.yml").read_text().partition("\nnav:\n")
    navigation, _, _ = navigation.partition("\nmarkdown_extensions:\n")
    names = re.findall(r" ([\w/]+)\.(?:md|py)$", navigation, re.MULTILINE)
    assert len(names) > 50
    pages = {name: name.removesuffix("index").rstrip("/") for name in names}
    assert [name for name, path in pages.items() if "<h1" not in page(*path.split("/"))] == []


def test_tutorials_show_their_outputs():
    for path in (REPOSITORY / "docs/tutorials").glob("*.py"):
        text = page("tutorials", path.stem)
        assert "jp-OutputArea-output" in text and "Traceback" not in text, path.stem
        assert "What next" in text, path.stem


def test_the_gallery_shows_every_entry():
    assert SITE is not None
    gallery, text = script("docs/make_gallery.py"), html.unescape(page("gallery"))
    for entry in gallery.ENTRIES:
        assert entry.title in text, entry.title
        for suffix, content in ((".svg", "<svg"), (".html", "<title>")):
            file = Path(SITE, "gallery", f"{entry.name}{suffix}").read_text()
            assert content in file, f"{entry.name}{suffix}"
        assert Path(SITE, "gallery", Path(entry.file).name).exists(), entry.file
    assert text.count("What is proved or checked:") == len(gallery.ENTRIES)
