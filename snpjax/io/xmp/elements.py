"""XML as small trees with places: safe, one tree at a time.

The parser is expat of the standard library rather than lxml, because it says where every piece of
text stands (lxml knows lines only), stops at a document type declaration before an entity can be
defined, and needs no dependency. It opens no other file: external references do not exist without a
document type.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from xml.parsers import expat

from ..findings import AtOffsets
from ..xml_text import XmlText


MAX_CHARACTERS = 16 * 2**20  # people draw these files; a system takes forty times its text
MAX_DEPTH = 20

_NAMES = "an id that names an element has letters, digits, '_', '-' and '.' only"


class _Runs:
    """Where text stands. It is made of runs that are in the source as they are; an escape such as
    `&gt;` begins a new one.
    """

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


class _Stop(Exception):
    """The rest of the file is not read, for a reason that is told."""


def read_children(
    tell: AtOffsets, root: str, accepted: str, take: Callable[[XmlElement], None]
) -> bool:
    """Give every child of the root element to `take`, in order.

    What is wrong with the XML is told, and nothing after it is read.

    **Arguments:**

    - `root`: the name that the root element must have.
    - `accepted`: what is read, for the message about another root.

    **Returns:** whether the whole file was read.
    """
    text = tell.report.source.text
    if len(text) > MAX_CHARACTERS:
        message = (
            f"the file has {len(text)} characters, more than the {MAX_CHARACTERS} of XML that are "
            "read (write a system of that size as P-Lingua)"
        )
        tell.error(0, message)
        return False
    reader = _Reader(tell, root, accepted, take)
    try:
        reader.parse()
        return True
    except _Stop:
        return False
    except expat.ExpatError as error:
        at = reader.bytes.offset_of_error(reader.parser.ErrorByteIndex)
        reason = expat.ErrorString(error.code)
        reason = reason.removeprefix("not well-formed (").removesuffix(")")
        message = f"not well-formed XML: {reason} (correct this place; {_NAMES})"
        tell.error(at, message)
        return False


class _Reader:
    def __init__(
        self, tell: AtOffsets, root: str, accepted: str, take: Callable[[XmlElement], None]
    ):
        self.tell, self.root, self.accepted, self.take = tell, root, accepted, take
        self.text = tell.report.source.text
        self.bytes = XmlText(self.text)
        self.open: list[XmlElement] = []
        self.parser = expat.ParserCreate("utf-8")  # the text is decoded already
        self.parser.XmlDeclHandler = self.declaration
        self.parser.StartDoctypeDeclHandler = self.document_type
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def parse(self) -> None:
        self.parser.Parse(self.bytes.data, True)

    def here(self) -> int:
        return self.bytes.offset(self.parser.CurrentByteIndex)

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        del version, standalone
        if encoding is None or self.bytes.is_ascii or encoding.lower() in ("utf-8", "utf8"):
            return
        message = f"the file says it is {encoding}, but it is read as UTF-8 (save it as UTF-8)"
        self.tell.warning(self.here(), message)

    def document_type(self, name: str, *identifiers: object) -> None:
        del name, identifiers
        at = self.here()
        start = self.text.rfind("<!DOCTYPE", 0, at + len("<!DOCTYPE"))
        message = "not supported: a document type declaration, which could define entities"
        self.tell.error(at if start < 0 else start, f"{message} (remove it)")
        raise _Stop

    def start(self, name: str, attributes: dict[str, str]) -> None:
        at = self.here()
        if not self.open and name != self.root:
            shown = name if len(name) <= 40 else name[:37] + "..."
            self.tell.error(at, f"the root element is <{shown}> ({self.accepted})")
            raise _Stop
        if len(self.open) > MAX_DEPTH:
            message = f"this is nested more than {MAX_DEPTH} deep (no model needs that)"
            self.tell.error(at, message)
            raise _Stop
        if attributes:
            self.tell.warning(at, "attributes are not read (write elements)")
        element = XmlElement(name, at)
        if len(self.open) > 1:
            self.open[-1].add_child(element)
        self.open.append(element)

    def end(self, name: str) -> None:
        del name
        element = self.open.pop()
        if len(self.open) == 1:
            self.take(element)
            if self.tell.is_full:
                raise _Stop

    def characters(self, text: str) -> None:
        if len(self.open) > 1:
            self.open[-1].add_text(text, self.here())
        elif not text.isspace():
            blanks = len(text) - len(text.lstrip())
            shown = text.strip()
            shown = shown if len(shown) <= 40 else shown[:37] + "..."
            message = f"the text {shown!r} stands outside of all neurons (remove it)"
            self.tell.error(self.here() + blanks, message)
