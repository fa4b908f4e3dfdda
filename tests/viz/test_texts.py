"""The texts of the page are in one file, `static/texts.js`, so that a translation is one file."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from snpjax.viz.page.assets import ASSETS, asset


SCRIPTS = sorted(x for x in ASSETS if x.startswith("static/") and x.endswith(".js"))
TABLE = "static/texts.js"

#: Names of keys of a keyboard.
KEYS = {"Arrow", "Backspace", "Delete", "End", "Enter", "Escape", "Home", "Shift", "Tab"}
KEYS |= {f"Arrow{x}" for x in ("Down", "Left", "Right", "Up")}
#: Literals with several words or a capital that nobody reads: selectors, fonts, types and values.
EXCEPTIONS = {
    "snpjax ",
    "Content-Type",
    "POST",
    "input, textarea, select, dialog[open]",
    "input:not([type=radio]), textarea, select, dialog[open]",
    "button, input, .scroll",
    "rules on synapses",
    "#neuron input, #neuron textarea",
    "600 13px system-ui, sans-serif",
    "11px system-ui, sans-serif",
    "px system-ui, sans-serif",
    "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
}
#: Code before a literal that shows it to somebody: as a child of an element, or as an attribute.
SHOWS = re.compile(
    r"""(\}, |\bhint\(|\bRefusal\(|\bprompt\(|\btextContent = ([^;\n]* [?:] )?|"""
    r"""\btitle = |"aria-label"[:,] |\b(placeholder|title): )$"""
)
#: Code before the names of classes.
NAMES = re.compile(r"""(\b(class|kind|className): ([^,{}]* [?:] )?|"class", )$""")
WORDS = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")


def literals(code: str) -> Iterator[tuple[str, str]]:
    """The strings of a script, with the code before each of them.

    Of a template each part between its values is one. Comments and regular expressions are skipped.
    """
    at, stack, part = 0, [], None  # depths of braces of open templates; the start of a part
    while at < len(code):
        two, letter = code[at : at + 2], code[at]
        if part is not None:
            if letter == "\\":
                at += 2
            elif letter == "`" or two == "${":
                yield code[part:at], code[max(0, part - 80) : part].removesuffix("`")
                part = None
                at += len("`" if letter == "`" else "${")
                if letter != "`":
                    stack.append(0)
            else:
                at += 1
        elif two == "//":
            at = code.index("\n", at)
        elif letter in "\"'":
            end = re.compile(rf"(?:[^{letter}\\\n]|\\.)*{letter}").match(code, at + 1)
            assert end is not None, code[at : at + 40]
            yield code[at + 1 : end.end() - 1], code[max(0, at - 80) : at]
            at = end.end()
        elif letter == "/" and re.search(r"(^|[(,=:\[!&|?{};\n]|return)\s*$", code[:at][-12:]):
            end = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*").match(code, at)
            assert end is not None, code[at : at + 40]
            at = end.end()
        else:
            at += 1
            if letter == "`":
                part = at
            elif letter == "{" and stack:
                stack[-1] += 1
            elif letter == "}" and stack:
                if stack[-1] == 0:
                    stack.pop()
                    part = at
                else:
                    stack[-1] -= 1


def readable(code: str) -> list[str]:
    """The literals of a script that somebody seems to read."""
    found = []
    for text, before in literals(code):
        known = text in EXCEPTIONS or text in KEYS or before.endswith(("from ", "import "))
        if known or not re.search(r"[A-Za-z]{2}", text):
            continue
        is_read = WORDS.search(text) or re.match(r"\s*[A-Z][a-z]", text)
        if SHOWS.search(before) or (is_read and not NAMES.search(before)):
            found.append(text)
    return found


def keys() -> list[str]:
    return re.findall(r"^  (\w+):", asset(TABLE).decode(), re.MULTILINE)


class _Page(HTMLParser):
    """The texts of an HTML file, and the names of texts in it."""

    def __init__(self):
        HTMLParser.__init__(self)
        self.texts: list[str] = []
        self.keys: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("alt", "aria-label", "placeholder", "title"):
                self.texts.append(value or "")
            if name in ("data-aria-label", "data-placeholder", "data-text", "data-title"):
                self.keys.append(value or "")

    def handle_data(self, data):
        if re.search("[A-Za-z]{2}", data):
            self.texts.append(data.strip())


def parsed(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    return page


def test_every_text_exists_once_and_is_used():
    known = keys()
    assert len(known) == len(set(known)) > 200
    scripts = [asset(name).decode() for name in SCRIPTS if name != TABLE]
    used = {key for text in scripts for key in re.findall(r"\btexts\.(?!js\")(\w+)", text)}
    used |= set(parsed(asset("index.html").decode()).keys)
    assert used == set(known)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != TABLE])
def test_scripts_hold_no_text(name):
    assert readable(asset(name).decode()) == []


def test_the_html_file_holds_no_text():
    assert set(parsed(asset("index.html").decode()).texts) == {"snpjax"}


def test_texts_would_be_found():
    code = """
    say("key"); // "a comment of words"
    const pattern = /[`"'/]/g;
    fill(place, hint("Nothing yet"), element("b", {}, "taken"));
    const own = element("p", { class: "two words" }, "own");
    const text = `in step ${run.row(`and ${more} left`)} it has halted`;
    node.textContent = isDone ? "Run" : "Pause";
    element("input", { "aria-label": "name", placeholder: "none", id: "name", key: "Enter" });
    """
    texts = ["Nothing yet", "taken", "own", "in step ", " it has halted"]
    assert sorted(readable(code)) == sorted([*texts, "Run", "Pause", "name", "none"])
    assert parsed('<p title="Close">Open<b data-text="x"></b></p>').texts == ["Close", "Open"]
