"""The elements of the files, as small trees with places, one tree at a time."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence

from ..source import Report, shortened
from ..xml_text import XmlReader


MAX_CHARACTERS = 2**22  # people draw these files; a system takes forty times its text
MAX_DEPTH = 20

_NAMES = "; an id that names an element has letters, digits, '_', '-' and '.' only"


class _Runs:
    """Where text stands: in runs as in the source; an escape such as `&gt;` begins a new one."""

    def __init__(self, offset: int, length: int):
        self.starts, self.offsets, self.length = array("q", (0,)), array("q", (offset,)), length

    def add(self, length: int, offset: int) -> None:
        if offset != self.offsets[-1] + self.length - self.starts[-1]:
            self.starts.append(self.length)
            self.offsets.append(offset)
        self.length += length

    def place(self, index: int) -> int:
        run = bisect_right(self.starts, index) - 1
        return self.offsets[run] + index - self.starts[run]


class XmlElement:
    """An element. `offset` is where it stands in the source.

    `children` is its list or, as long as there are none, an empty tuple: a file can have a million
    elements, and most hold a short text.
    """

    __slots__ = ("name", "offset", "children", "_text", "_parts", "_runs")

    def __init__(self, name: str, offset: int):
        self.name = name
        self.offset = offset
        self.children: Sequence[XmlElement] = ()
        self._text = ""
        self._parts: list[str] | None = None
        self._runs: _Runs | int | None = None

    def add_child(self, child: "XmlElement") -> None:
        if not isinstance(self.children, list):
            self.children = []
        self.children.append(child)

    def add_text(self, text: str, offset: int) -> None:
        if self._runs is None:
            self._runs, self._text = offset, text
            return
        if isinstance(self._runs, int):
            self._runs = _Runs(self._runs, len(self._text))
        if self._parts is None:
            self._parts = [self._text]
        self._runs.add(len(text), offset)
        self._parts.append(text)

    @property
    def text(self) -> str:
        """The character data of the element itself."""
        if self._parts is not None:
            self._text, self._parts = "".join(self._parts), None
        return self._text

    def place(self, index: int) -> int:
        """The offset in the source of a character of the text; that of the end for its length."""
        if self._runs is None:
            return self.offset
        return self._runs + index if isinstance(self._runs, int) else self._runs.place(index)

    @property
    def start(self) -> int:
        """Where the text begins, without blanks; the element itself when there is none."""
        text = self.text
        stripped = text.lstrip()
        return self.place(len(text) - len(stripped)) if stripped else self.offset


def read_children(
    report: Report, root: str, accepted: str, take: Callable[[XmlElement], None]
) -> bool:
    """Give every child of the root element to `take`, in order.

    What is wrong with the XML is reported, and nothing after it is read.

    **Arguments:**

    - `root`: the name that the root element must have.
    - `accepted`: what is read, for the message about another root.

    **Returns:** whether the whole file was read.
    """
    text = report.source.text
    if len(text) > MAX_CHARACTERS:
        message = (
            f"the file has {len(text)} characters, more than the {MAX_CHARACTERS} of XML that are "
            "read (write a system of that size as P-Lingua)"
        )
        report.error(0, message)
        return False
    opened: list[XmlElement] = []

    def start(name: str, attributes: dict[str, str], offset: int) -> None:
        if not opened and name != root:
            report.fail(offset, f"the root element is <{shortened(name)}> ({accepted})")
        if attributes:
            report.warning(offset, "attributes are not read (write elements)")
        element = XmlElement(name, offset)
        if len(opened) > 1:
            opened[-1].add_child(element)
        opened.append(element)

    def end(name: str, text: str) -> None:
        del name, text
        element = opened.pop()
        if len(opened) == 1:
            take(element)

    def characters(text: str, offset: int) -> None:
        if len(opened) > 1:
            opened[-1].add_text(text, offset)
        elif not text.isspace():
            blanks = len(text) - len(text.lstrip())
            message = f"the text {shortened(text.strip())!r} stands outside of all neurons"
            report.error(offset + blanks, f"{message} (remove it)")

    return XmlReader(report, start, end, characters, max_depth=MAX_DEPTH, hint=_NAMES).read()
