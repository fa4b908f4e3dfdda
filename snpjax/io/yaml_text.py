"""YAML with places: values as `json_text` gives them, and where each of them stands.

Only what a model needs: one document of mappings, lists and scalars. Tags are refused, aliases are
counted as what they repeat, and nesting and size are limited. Built from PyYAML's events, since
`yaml.compose` recurses: 100,000 brackets end the process (PyYAML 6.0.3 with libyaml). No scalar is
guessed to be a number: an unquoted one is `Plain`, which keeps what is written (`0110`, `yes`,
`1.0`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import file_error
from .json_text import MAX_DEPTH, InString, JsonPath, Key, mapping_of
from .source import Mistake, Report, shortened


MAX_VALUES = 1_500_000  # scalars, lists and mappings, some 300 bytes each; aliases count in full

UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_BLANKS = re.compile(" *")
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


@dataclass(slots=True)
class _Node:
    """A value and its place; of a mapping that has not ended, `key` may wait for its value."""

    value: object
    start: int
    end: int
    quote: str | None = None  # of a scalar
    anchor: str | None = None
    is_mapping: bool = False
    key: tuple[str, int] | None = None
    # Keys of a mapping have places. Scalars, of which there may be a million, share empty tuples.
    keys: list[tuple[str, int]] = ()  # pyright: ignore[reportAssignmentType]
    inner: list["_Node"] = ()  # pyright: ignore[reportAssignmentType]
    size: int = 1
    height: int = 1

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and self.key is None

    def add(self, node: "_Node") -> None:
        if self.key is not None:
            self.keys.append(self.key)
            self.key = None
        self.inner.append(node)
        self.size += node.size
        self.height = max(self.height, 1 + node.height)

    def finish(self, end: int) -> "_Node":
        self.end = end
        values = [node.value for node in self.inner]
        keys = (name for name, _ in self.keys)
        self.value = mapping_of(list(zip(keys, values, strict=True))) if self.is_mapping else values
        return self


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
        return {path: self._offset(path) for path in paths}

    def _offset(self, path: JsonPath) -> int:
        node = self.root
        for step in path:
            if isinstance(step, InString):
                return node.start if node.quote is None else _character(self.text, node, step[0])
            if isinstance(step, Key):
                places = [place for name, place in node.keys if name == step.name]
                if step.occurrence < len(places):
                    return places[step.occurrence]
                return node.start
            if isinstance(step, int):
                if node.keys or step >= len(node.inner):
                    return node.start
                node = node.inner[step]
                continue
            indices = [index for index, (name, _) in enumerate(node.keys) if name == step]
            if not indices:
                return node.start
            node = node.inner[indices[-1]]  # the last of repeated keys counts
        return node.start


def load_yaml(report: Report) -> Document | None:
    """The one document of a YAML text; `None` after an error, which is reported.

    **Raises:** `ReadError` if PyYAML is not installed.
    """
    source = report.source
    try:
        import yaml
    except ImportError:
        message = 'reading YAML needs PyYAML (install it with: pip install "snpjax[io]")'
        raise file_error(source.path, message) from None
    unprintable = UNPRINTABLE.search(source.text)
    if unprintable is not None:
        message = f"the character {unprintable[0]!r} cannot stand in YAML (remove or escape it)"
        report.error(unprintable.start(), message)
        return None
    builder = _Builder(source.text)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(source.text, Loader=loader):
            builder.take(event, yaml)
        if builder.root is None:
            raise Mistake(0, "there is no value, only comments (write a model)")
        return Document(source.text, builder.root)
    except Mistake as mistake:
        report.error(mistake.offset, mistake.message)
    except yaml.MarkedYAMLError as error:
        problem = error.problem or error.context or "unexpected text"
        offset, fix = _place(error, source.text, builder.last), "correct this place"
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
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._size = 0

    def take(self, event, yaml) -> None:
        self.last = event.start_mark.index
        if isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.NodeEvent):
            if event.tag is not None:  # pyright: ignore[reportAttributeAccessIssue]
                raise Mistake(self.last, f"the tag {event.tag!r} is not read (remove it)")  # pyright: ignore[reportAttributeAccessIssue]
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            else:
                self._start(event, isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._open.pop().finish(event.end_mark.index))
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise Mistake(self.last, "a second document begins here (write one model a file)")

    def _scalar(self, event) -> None:
        quote = event.style or ""
        value, start, end = event.value, self.last, event.end_mark.index
        if not quote:
            value = Plain(value)
            blanks = _BLANKS.match(self.text, start)
            if start == end and blanks is not None:  # nothing is written: loaders differ in where
                start = end = blanks.end()
        self._add(_Node(value, start, end, quote, event.anchor))

    def _start(self, event, is_mapping: bool) -> None:
        self._check_depth(1)
        if self._open and self._open[-1].wants_key:
            raise Mistake(self.last, _KEY_FAULT)
        node = _Node(None, self.last, 0, None, event.anchor, is_mapping, keys=[], inner=[])
        self._open.append(node)

    def _alias(self, event) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            message = f"the alias *{event.anchor} repeats nothing that is complete before it"
            raise Mistake(self.last, f"{message} (write the value)")
        self._size += node.size - 1
        self._check_depth(node.height)
        self._add(node)

    def _check_depth(self, height: int) -> None:
        if len(self._open) + height > MAX_DEPTH:
            raise Mistake(self.last, _TOO_DEEP)

    def _add(self, node: _Node) -> None:
        if node.anchor is not None:
            self._anchors[node.anchor] = node
        self._size += 1
        if self._size > MAX_VALUES:
            message = f"the file holds more than {MAX_VALUES:,} values (write WebSnapse JSON)"
            raise Mistake(self.last, message)
        if not self._open:
            self.root = node
        elif not self._open[-1].wants_key:
            self._open[-1].add(node)
        elif isinstance(node.value, str | Plain):
            name = node.value if isinstance(node.value, str) else node.value.text
            self._open[-1].key = name, self.last
        else:
            raise Mistake(self.last, _KEY_FAULT)


def _character(text: str, node: _Node, index: int) -> int:
    """The offset of character `index` of a scalar.

    Lines may be folded, so the characters before it that are no blanks are counted.
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
