"""XML read element by element, safely, with the place of each.

The parser is expat of the standard library rather than lxml, because it says where every piece of
text stands (lxml knows lines only), stops at a document type declaration before an entity can be
defined, and needs no dependency. It opens no other file: external references do not exist without a
document type.
"""

from collections.abc import Callable
from typing import TypeAlias
from xml.parsers import expat

from .source import Report, Unreadable


OnStart: TypeAlias = Callable[[str, dict[str, str], int], None]
OnEnd: TypeAlias = Callable[[str, str], None]
OnText: TypeAlias = Callable[[str, int], None]


_MAX_PIECES = 2**19  # of text whose places are requested; each line is one


class XmlReader:
    """Calls `start(name, attributes, offset)` and `end(name, text)` for every element.

    **Arguments:**

    - `max_depth`: elements inside each other, inside of the root; more are refused.
    - `characters`: takes every piece of text with its offset, in place of `end`.
    - `hint`: what the message about text that is no XML says besides.
    - `refuses_encodings`: whether another encoding than UTF-8 in the declaration is an error, not
      only a warning.
    """

    def __init__(
        self,
        report: Report,
        start: OnStart,
        end: OnEnd,
        characters: OnText | None = None,
        *,
        max_depth: int,
        hint: str = "",
        refuses_encodings: bool = False,
    ):
        self.report = report
        self.open: list[str] = []  # the names of the elements that are
        self._start, self._end, self._characters = start, end, characters
        self._max_depth, self._hint, self._refuses_encodings = max_depth, hint, refuses_encodings
        self._texts: list[list[str]] = []
        text = report.source.text
        self._is_ascii = text.isascii()
        self._data = text.encode("utf-8", "surrogatepass")
        self._byte = self._character = self._num_pieces = 0
        self._parser = parser = expat.ParserCreate("utf-8")  # the text is decoded already
        parser.buffer_text = characters is None
        parser.XmlDeclHandler = self._on_declaration
        parser.StartDoctypeDeclHandler = self._on_document_type
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self._on_characters

    def read(self) -> bool:
        """Whether the whole file was read; what is wrong with the XML is reported, and nothing
        after it is read. A `Unreadable` of `start` and `end` ends it too."""
        try:
            self._parser.Parse(self._data, True)
            return True
        except Unreadable:
            return False
        except expat.ExpatError as error:
            at = self._offset(min(max(self._parser.ErrorByteIndex, 0), len(self._data)))
            reason = expat.ErrorString(error.code)
            reason = reason.removeprefix("not well-formed (").removesuffix(")")
            inside = f" inside <{self.open[-1]}>" if self.open else ""
            fix = f"fix the syntax here{self._hint}"
            self.report.error(at, f"not well-formed XML: {reason}{inside} ({fix})")
            return False

    def _here(self) -> int:
        return self._offset(self._parser.CurrentByteIndex)

    def _offset(self, byte: int) -> int:
        """The character offset of a byte. Places come in order, so each byte is decoded once."""
        if self._is_ascii:
            return byte
        while byte < len(self._data) and self._data[byte] & 0xC0 == 0x80:
            byte -= 1  # what is wrong may be inside a character
        if byte < self._byte:
            self._byte = self._character = 0
        self._character += len(self._data[self._byte : byte].decode("utf-8", "surrogatepass"))
        self._byte = byte
        return self._character

    def _on_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        del version, standalone
        if encoding is None or self._is_ascii or encoding.lower() in ("utf-8", "utf8"):
            return
        at = max(self.report.source.text.find(encoding), 0)
        message = f"the file says it is {encoding}, but it is read as UTF-8 (save it as UTF-8)"
        (self.report.error if self._refuses_encodings else self.report.warning)(at, message)

    def _on_document_type(self, name: str, *identifiers: object) -> None:
        del name, identifiers
        at = self._here()
        start = self.report.source.text.rfind("<!DOCTYPE", 0, at + len("<!DOCTYPE"))
        message = "not supported: a document type declaration, which could define an entity"
        self.report.fail(at if start < 0 else start, f"{message} (remove it)")

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._here()
        if len(self.open) > self._max_depth:
            message = f"this is nested more than {self._max_depth} deep (no model needs that)"
            self.report.fail(at, message)
        self.open.append(name)
        self._texts.append([])
        self._start(name, attributes, at)
        if self.report.is_full:
            raise Unreadable

    def _on_end(self, name: str) -> None:
        self.open.pop()
        self._end(name, "".join(self._texts.pop()))

    def _on_characters(self, text: str) -> None:
        if self._characters is not None:
            self._num_pieces += 1
            at = self._here()
            if self._num_pieces > _MAX_PIECES:
                self.report.fail(at, f"up to here there are more than {_MAX_PIECES:,} texts")
            self._characters(text, at)
        else:
            self._texts[-1].append(text)
