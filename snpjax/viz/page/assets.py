"""The files of the page, which are data of the package, and the page as one file."""

import base64
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from ..._text.quoting import printable


INDEX = "index.html"
_HTML, _CSS, _SCRIPT = (f"text/{kind}; charset=utf-8" for kind in ("html", "css", "javascript"))
_FOLDER = files("snpjax.viz.page")
_SCRIPTS = sorted(x.name for x in (_FOLDER / "static").iterdir() if x.name.endswith(".js"))

#: What is served: the files by their paths, with their types.
ASSETS: dict[str, str] = {
    INDEX: _HTML,
    "static/style.css": _CSS,
    **{f"static/{name}": _SCRIPT for name in _SCRIPTS},
    "vendor/dagre.esm.js": _SCRIPT,
}

#: Only what stands in the file itself is run and shown.
_POLICY_OF_FILE = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
_IMPORT = re.compile(r'(\bfrom\s+|\bimport\s+)"\.{1,2}/(?:[\w.-]+/)*([\w.-]+)\.js"')


@cache
def asset(name: str) -> bytes:
    """A file of `ASSETS`."""
    folder = "static/" if name == INDEX else ""
    return (_FOLDER / f"{folder}{name}").read_bytes()


def one_file(recorded: dict[str, Any], *, title: str) -> str:
    """The page as one file that shows what was recorded, without a server.

    Modules become data that an import map names, and nothing has to be built.
    """
    names = {name: name.rpartition("/")[2].removesuffix(".js") for name in ASSETS}
    modules = {
        f"snpjax/{names[name]}": _data_url(_IMPORT.sub(r'\1"snpjax/\2"', asset(name).decode()))
        for name, kind in ASSETS.items()
        if kind == _SCRIPT
    }
    text = asset(INDEX).decode()
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY_OF_FILE}">\n'
        f"<style>\n{asset('static/style.css').decode()}</style>\n"
        f'<script type="importmap">{_inline({"imports": modules})}</script>\n'
        f'<script type="application/json" id="recorded">{_inline(recorded)}</script>'
    )
    text = _replaced(text, r'<link rel="stylesheet"[^>]*>', head)
    start = '<script type="module">import "snpjax/main";</script>'
    text = _replaced(text, r'<script type="module"[^>]*></script>', start)
    return _replaced(text, r"<title>[^<]*</title>", f"<title>{escape(printable(title))}</title>")


def _data_url(script: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _inline(value: Any) -> str:
    """JSON inside a script element: no text of a model can end it."""
    text = json.dumps(value, separators=(",", ":"))  # in ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _replaced(text: str, pattern: str, by: str) -> str:
    found, count = re.subn(pattern, lambda match: by, text)
    if count != 1:
        raise AssertionError(f"{pattern} stands {count} times in the page; a bug of snpjax")
    return found
