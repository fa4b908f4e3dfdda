"""YAML with places: values as `json_text` gives them, and where each of them stands.

Only what a model needs: one document of mappings, lists and scalars. Tags are refused, aliases are
counted as what they repeat, and nesting and size are limited. Built from PyYAML's events, since
`yaml.compose` recurses: 100,000 brackets end the process (PyYAML 6.0.3 with libyaml). No scalar is
guessed to be a number: an unquoted one is `Plain`, which keeps what is written (`0110`, `yes`,
`1.0`).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._text.optional import installing
from .._text.surrogates import HALF, lone_surrogate
from .errors import file_error
from .json_text import MAX_DEPTH, InString, JsonPath, Key, mapping_of, report_depth
from .source import Mistake, Report, shortened


MAX_CHARACTERS = 2**22  # which take a second with libyaml, and 20 times as long without
_MAX_SLOW_CHARACTERS = 2**18
MAX_VALUES = 1_500_000  # scalars, lists and mappings, some 300 bytes each; aliases count in full

UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_BLANKS = re.compile(" *")
_HALF = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_HEADER = re.compile(r"[|>][^\n]*\n?")
_UNITS = {  # of one character of the value: for places in a scalar
    '"': re.compile(
        r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|\n\s*|.)|\s|\S", re.DOTALL
    ),
    "'": re.compile(r"''|\s|\S"),
}
_PLAIN_UNITS = re.compile(r"\s|\S")
_TOO_DEEP = f"this is nested more than {MAX_DEPTH} deep (no model needs that)"
_KEY_FAULT = "a list or mapping as a key is not read (write a text)"
_NULLS = ("", "~", "null", "Null", "NULL")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Plain:
    """An unquoted scalar, as it is written."""

    text: str

    def __repr__(self) -> str:
        return shortened(self.text)

    @property
    def is_null(self) -> bool:
        return self.text in _NULLS

    @property
    def number(self) -> int | float | None:
        """The number this is in decimal; octal and other spellings are none."""
        match = _NUMBER.fullmatch(self.text)
        if match is None or len(self.text) > 100:
            return None
        return float(self.text) if match[1] or match[2] else int(self.text)

    @property
    def value(self) -> None | bool | int | float | str:
        """What a reader of YAML takes this for."""
        if self.is_null:
            return None
        if self.text.lower() in ("true", "false"):
            return self.text.lower() == "true"
        number = self.number
        return self.text if number is None else number


class _Node:
    """A value and its place. There may be a million, most of them scalars."""

    __slots__ = ("value", "start", "end", "quote", "anchor")

    size = height = 1
    keys: Sequence[tuple[str, int]] = ()
    inner: "Sequence[_Node]" = ()

    def __init__(self, value: object, start: int, end: int, quote: str | None, anchor: str | None):
        self.value, self.start, self.end = value, start, end
        self.quote = quote  # of a scalar
        self.anchor = anchor


class _Collection(_Node):
    """A list, or a mapping with the places of its keys, of which `key` waits for its value."""

    __slots__ = ("is_mapping", "wants_key", "key", "keys", "inner", "size", "height")

    def __init__(self, start: int, anchor: str | None, is_mapping: bool):
        super().__init__(None, start, 0, None, anchor)
        self.is_mapping = is_mapping
        self.key: tuple[str, int] | None = None
        self.wants_key = is_mapping
        self.keys: list[tuple[str, int]] = []  # pyright: ignore[reportIncompatibleVariableOverride]
        self.inner: list[_Node] = []  # pyright: ignore[reportIncompatibleVariableOverride]
        self.size = self.height = 1

    def finish(self, end: int) -> None:
        self.end = end
        values = [node.value for node in self.inner]
        keys = [name for name, _ in self.keys]
        self.value = mapping_of(list(zip(keys, values, strict=True))) if self.is_mapping else values
        self.size += sum([node.size for node in self.inner])
        self.height += max([node.height for node in self.inner], default=0)


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a YAML text; texts are `str` when quoted, else `Plain`."""

    text: str
    root: _Node

    @property
    def value(self) -> object:
        return self.root.value

    def locate(self, paths: Iterable[JsonPath]) -> dict[JsonPath, int]:
        """The character offset of every path, the innermost value's own where a step is missing."""
        known: dict[int, dict[str, list[int]]] = {}

        def indices(node: _Node, name: str) -> list[int]:
            """Where the keys of that name are in a mapping."""
            if id(node) not in known:
                of_node = known.setdefault(id(node), {})
                for index, (key, _) in enumerate(node.keys):
                    of_node.setdefault(key, []).append(index)
            return known[id(node)].get(name, [])

        def offset(path: JsonPath) -> int:
            node = self.root
            for step in path:
                if isinstance(step, InString):
                    is_scalar = node.quote is not None
                    return _character(self.text, node, step[0]) if is_scalar else node.start
                if isinstance(step, Key):
                    found = indices(node, step.name)
                    is_there = step.occurrence < len(found)
                    return node.keys[found[step.occurrence]][1] if is_there else node.start
                if isinstance(step, int):
                    found = [step] if not node.keys and step < len(node.inner) else []
                else:
                    found = indices(node, step)
                if not found:
                    return node.start
                node = node.inner[found[-1]]  # the last of repeated keys counts
            return node.start

        return {path: offset(path) for path in paths}


def load_yaml(report: Report) -> Document | None:
    """The one document of a YAML text; `None` after an error, which is reported.

    **Raises:** `ReadError` if PyYAML is not installed.
    """
    source = report.source
    try:
        import yaml
    except ImportError:
        message = f"reading YAML needs PyYAML ({installing('io')})"
        raise file_error(source.path, message) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    most = MAX_CHARACTERS if loader is not yaml.SafeLoader else _MAX_SLOW_CHARACTERS
    if len(source.text) > most:
        message = f"the file has {len(source.text):,} characters, of YAML {most:,} are read"
        raise file_error(source.path, f"{message} (write JSON)")
    unprintable = UNPRINTABLE.search(source.text)
    if unprintable is not None:
        message = f"the character {unprintable[0]!r} cannot stand in YAML (remove or escape it)"
        report.error(unprintable.start(), message)
        return None
    builder = _Builder(source.text)
    try:
        builder.read(loader(source.text), yaml)
        if builder.root is None:
            raise Mistake(0, "there is no value, only comments (write a model)")
        return Document(source.text, builder.root)
    except Mistake as mistake:
        report.error(mistake.offset, mistake.message)
    except yaml.MarkedYAMLError as error:
        problem = error.problem or error.context or "unexpected text"
        if "nesting depth" in problem:  # libyaml reads ahead
            report_depth(report)
            return None
        offset, fix = _place(error, source.text, builder.last), "fix the syntax here"
        if "escape character" in problem:
            fix = r"in double quotes write a backslash twice: \\"
        if "nesting depth" in problem:  # libyaml, which reads ahead, has a limit of its own
            report.error(offset, _TOO_DEEP)
            return None
        report.error(offset, f"not well-formed YAML: {problem} ({fix})")
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # escapes above the last character
        report.error(builder.last, f"not well-formed YAML: {error} (correct what follows)")
    return None


def _place(error, text: str, last: int) -> int:
    """The offset of a mistake, the same with and without libyaml: of what is not closed at the end
    of the text where it opens, of a key without a colon the key, of an escape its backslash."""
    mark, context = error.problem_mark or error.context_mark, error.context_mark
    if mark is None:
        return last
    offset = min(mark.index, len(text))
    if context is not None and (not text[offset:].strip() or "expected ':'" in f"{error.problem}"):
        return min(context.index, len(text))
    is_after = text[offset - 1 : offset] == "\\" and "escape" in f"{error.problem}"
    return offset - 1 if is_after else offset


class _Builder:
    """Nodes from events. `last` is the offset up to which all was well."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: _Node | None = None
        self.last = 0
        self._open: list[_Collection] = []
        self._anchors: dict[str, _Node] = {}
        self._size = 0

    def read(self, loader, yaml) -> None:
        """Take all events of a loader."""
        next_event, scalar, stack = loader.get_event, yaml.ScalarEvent, self._open
        while True:
            event = next_event()
            self.last = start = event.start_mark.index
            kind = type(event)
            if kind is scalar:
                self._count()
                if event.tag is not None:
                    self._refuse_tag(event.tag)
                value, quote, end = event.value, event.style or "", event.end_mark.index
                if not value.isascii():
                    self._check_halves(value, end)
                is_key = stack and stack[-1].wants_key
                if is_key:
                    stack[-1].key, stack[-1].wants_key = (value, start), False
                    if event.anchor is None:
                        continue
                if not quote:
                    value = Plain(value)
                    if start == end:  # nothing is written: loaders differ in where
                        blanks = _BLANKS.match(self.text, start)
                        start = end = start if blanks is None else blanks.end()
                node = _Node(value, start, end, quote, event.anchor)
                if is_key:
                    self._anchors[event.anchor] = node
                else:
                    self._add(node)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                node = stack.pop()
                node.finish(event.end_mark.index)
                self._add(node)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._count()
                self._start(event, kind is yaml.MappingStartEvent)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.StreamEndEvent:
                return
            elif kind is yaml.DocumentStartEvent and self.root is not None:
                raise Mistake(start, "a second document begins here (write one model a file)")

    def _check_halves(self, value: str, end: int) -> None:
        """Refuse half a character, which libyaml does, and PyYAML does not."""
        if lone_surrogate(value) is not None:
            half = _HALF.search(self.text, self.last, end)
            at = self.last if half is None else half.start()
            raise Mistake(at, f"this is {HALF} (write it)")

    def _start(self, event, is_mapping: bool) -> None:
        if event.tag is not None:
            self._refuse_tag(event.tag)
        self._check_depth(1)
        if self._open and self._open[-1].wants_key:
            raise Mistake(self.last, _KEY_FAULT)
        self._open.append(_Collection(self.last, event.anchor, is_mapping))

    def _refuse_tag(self, tag: str) -> None:
        raise Mistake(self.last, f"the tag {shortened(tag)!r} is not read (remove it)")

    def _alias(self, event) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            named = shortened(event.anchor)
            message = f"the alias *{named} repeats nothing that is complete before it"
            raise Mistake(self.last, f"{message} (write the value)")
        self._count(node.size)
        self._check_depth(node.height)
        if not self._open or not self._open[-1].wants_key:
            self._add(node)
        elif isinstance(node.value, str | Plain):
            name = node.value if isinstance(node.value, str) else node.value.text
            self._open[-1].key, self._open[-1].wants_key = (name, self.last), False
        else:
            raise Mistake(self.last, _KEY_FAULT)

    def _check_depth(self, height: int) -> None:
        if len(self._open) + height > MAX_DEPTH:
            raise Mistake(self.last, _TOO_DEEP)

    def _count(self, size: int = 1) -> None:
        self._size += size
        if self._size > MAX_VALUES:
            message = f"the file holds more than {MAX_VALUES:,} values (write JSON)"
            raise Mistake(self.last, message)

    def _add(self, node: _Node) -> None:
        if node.anchor is not None:
            self._anchors[node.anchor] = node
        if not self._open:
            self.root = node
            return
        top = self._open[-1]
        if top.key is not None:
            top.keys.append(top.key)
            top.key = None
            top.wants_key = True
        top.inner.append(node)


def _character(text: str, node: _Node, index: int) -> int:
    """The offset of character `index` of a scalar.

    Lines may be folded, so the characters before it that are not blanks are counted.
    """
    assert isinstance(node.value, str | Plain)
    value = node.value if isinstance(node.value, str) else node.value.text
    before = value[:index]
    solid = sum(not char.isspace() for char in before)
    blanks = len(before) - len(before.rstrip())
    is_solid = index < len(value) and not value[index].isspace()
    properties = _PROPERTIES.match(text, node.start, node.end)
    start, end = node.start if properties is None else properties.end(), node.end
    if node.quote in ("'", '"'):
        start, end = start + 1, end - 1
    elif node.quote:
        header = _HEADER.match(text, start)
        start = start if header is None else header.end()
    for unit in _UNITS.get(node.quote or "", _PLAIN_UNITS).finditer(text, start, end):
        is_blank = _is_blank(unit[0])
        if solid:
            solid -= not is_blank
        elif is_blank and (is_solid or blanks):
            blanks -= 1
        else:
            return unit.start()
    return max(start, end)


def _is_blank(unit: str) -> bool:
    """Whether a part of the text stands for a blank, or for nothing (a folded line)."""
    if unit[0] != "\\" or len(unit) == 1:
        return unit.isspace()
    if unit[1] in "xuU" and len(unit) > 2:
        code = int(unit[2:], 16)
        return code < 0x110000 and chr(code).isspace()
    return unit[1] in "ntrvfLPN_ \t\n"
