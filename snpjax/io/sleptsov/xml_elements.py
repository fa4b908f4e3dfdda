"""XML read element by element, safely, with the place of each.

The parser is expat of the standard library, as for the other XML formats: it says where everything
stands, stops at a document type declaration before an entity can be defined, and opens no other
file.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from xml.parsers import expat

from ..findings import AtOffsets
from ..xml_text import XmlText


MAX_DEPTH = 100
OnStart: TypeAlias = Callable[[str, Mapping[str, str], int], None]
OnEnd: TypeAlias = Callable[[str, str], None]


class _Stop(Exception):
    """The rest of the file is not read, for a reason that is told."""


def read_elements(tell: AtOffsets, start: OnStart, end: OnEnd) -> None:
    """Call `start(name, attributes, offset)` and `end(name, text)` for every element, names
    without the prefix that the root element has, and the text without that of other elements
    inside.

    What is wrong with the XML is told, and nothing after it is read.
    """
    reader = _Reader(tell, start, end)
    try:
        reader.parser.Parse(reader.text.data, True)
    except _Stop:
        pass
    except expat.ExpatError as error:
        at = reader.text.offset_of_error(reader.parser.ErrorByteIndex)
        inside = f" inside <{reader.open[-1]}>" if reader.open else ""
        message = (
            f"not well-formed XML: {expat.ErrorString(error.code)}{inside} (correct this place)"
        )
        tell.error(at, message)


class _Reader:
    def __init__(self, tell: AtOffsets, start: OnStart, end: OnEnd):
        self.tell, self._start, self._end = tell, start, end
        self.text = XmlText(tell.report.source.text)
        self.open: list[str] = []
        self._texts: list[list[str]] = []
        self._prefix = ""  # of the name space of the root element
        self.parser = expat.ParserCreate("utf-8")  # the text is decoded already
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self.declaration
        self.parser.StartDoctypeDeclHandler = self.document_type
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        del version, standalone
        if encoding is None or self.text.is_ascii or encoding.lower() in ("utf-8", "utf8"):
            return
        at = max(self.tell.report.source.text.find(encoding), 0)
        message = f"the file says that it is in {encoding}, and is read as UTF-8 (save it as UTF-8)"
        self.tell.error(at, message)

    def document_type(self, name: str, *identifiers: object) -> None:
        del name, identifiers
        at = self.text.offset(self.parser.CurrentByteIndex)
        start = self.tell.report.source.text.rfind("<!DOCTYPE", 0, at + len("<!DOCTYPE"))
        message = "not supported: a document type declaration, which could define an entity"
        self.tell.error(at if start < 0 else start, f"{message} (remove it)")
        raise _Stop

    def start(self, name: str, attributes: dict[str, str]) -> None:
        at = self.text.offset(self.parser.CurrentByteIndex)
        if len(self.open) >= MAX_DEPTH:
            self.tell.error(at, f"this is nested more than {MAX_DEPTH} deep (no net needs that)")
            raise _Stop
        if not self.open and ":" in name:
            self._prefix = name[: name.index(":") + 1]
        self.open.append(name)
        self._texts.append([])
        self._start(name.removeprefix(self._prefix), attributes, at)
        if self.tell.is_full:
            raise _Stop

    def end(self, name: str) -> None:
        self.open.pop()
        self._end(name.removeprefix(self._prefix), "".join(self._texts.pop()))

    def characters(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)
