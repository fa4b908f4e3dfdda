"""The files of the page, which are data of the package, and the page as one file."""

import base64
import gzip
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
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
_IMPORT = re.compile(r'(\bfrom\s+|\bimport\s+)"\.{1,2}/(?:[\w.-]+/)*([\w.-]+)\.js"')


@cache
def asset(name: str) -> bytes:
    """A file of `ASSETS`."""
    folder = "static/" if name == INDEX else ""
    return (_FOLDER / f"{folder}{name}").read_bytes()


#: Unpacks modules and what was recorded, and starts the page. Browsers have known how since 2023.
_UNPACK = """
(async () => {
  const packed = document.getElementById("packed").textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { modules, recorded } = JSON.parse(await new Response(stream).text());
  const imports = {};
  for (const [name, code] of Object.entries(modules)) {
    imports[name] = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  }
  const add = (type, id, text) => {
    const script = document.createElement("script");
    Object.assign(script, { type, id, textContent: text });
    document.head.append(script);
  };
  if (recorded) add("application/json", "recorded", JSON.stringify(recorded));
  add("importmap", "", JSON.stringify({ imports }));
  add("module", "", 'import "snpjax/main";');
})();
"""


def one_file(recorded: dict[str, Any], *, title: str) -> str:
    """The page as one file that shows what was recorded, without a server."""
    return _packed(recorded, title)


@cache
def framed_page() -> str:
    """The page as one file for a frame: it asks the page around it, by messages."""
    text = _packed(None, "snpjax")
    return _replaced(text, r"<body>", '<body data-transport="messages">')


def _packed(recorded: dict[str, Any] | None, title: str) -> str:
    """Scripts and recording are compressed, and the browser unpacks them; nothing is built."""
    names = {name: name.rpartition("/")[2].removesuffix(".js") for name in ASSETS}
    modules = {
        f"snpjax/{names[name]}": _IMPORT.sub(r'\1"snpjax/\2"', asset(name).decode())
        for name, kind in ASSETS.items()
        if kind == _SCRIPT
    }
    content = json.dumps({"modules": modules, "recorded": recorded}, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    text = asset(INDEX).decode()
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY_OF_FILE}">\n'
        f"<style>\n{asset('static/style.css').decode()}</style>\n"
        f'<script type="application/octet-stream" id="packed">{packed}</script>'
    )
    text = _replaced(text, r'<link rel="stylesheet"[^>]*>', head)
    text = _replaced(text, r'<script type="module"[^>]*></script>', "")
    text = _replaced(text, r"</body>", f"<script>{_UNPACK}</script>\n</body>")
    return _replaced(text, r"<title>[^<]*</title>", f"<title>{escape(printable(title))}</title>")


def _replaced(text: str, pattern: str, by: str) -> str:
    found, count = re.subn(pattern, lambda match: by, text)
    if count != 1:
        raise AssertionError(f"{pattern} stands {count} times in the page; a bug of snpjax")
    return found
