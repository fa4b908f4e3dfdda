"""Taking values out of decoded JSON or YAML: each one checked, each mistake noted with its path."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from .._text.nearest import near_match
from ..drawing.coordinates import COORDINATE_RANGE, is_coordinate
from ..spiking.model.system import Json
from ..spiking.model.validity import Severity
from .json_text import MAX_DEPTH, JsonPath, Key, NoNumber, RepeatedKeys, decode, locate
from .source import MAX_FINDINGS, Report, Unreadable, shortened
from .yaml_text import Plain, load_yaml


T = TypeVar("T")

#: Gives the character offset in the text of each path.
Locate: TypeAlias = Callable[[Iterable[JsonPath]], Mapping[JsonPath, int]]


class Findings:
    """What is wrong with a value, by path; `tell` finds the places in the text.

    After `MAX_FINDINGS` errors the rest is `Unreadable`.
    """

    def __init__(self) -> None:
        self._found: list[tuple[Severity, JsonPath, str, JsonPath | None]] = []
        self._num_errors = self._num_warnings = 0

    @property
    def has_errors(self) -> bool:
        return self._num_errors > 0

    def error(self, path: JsonPath, message: str, first: JsonPath | None = None) -> None:
        self._found.append(("error", path, message, first))
        self._num_errors += 1
        if self._num_errors > MAX_FINDINGS:
            raise Unreadable

    def warning(self, path: JsonPath, message: str, first: JsonPath | None = None) -> None:
        self._num_warnings += 1
        if self._num_warnings <= MAX_FINDINGS:
            self._found.append(("warning", path, message, first))

    def tell(self, report: Report, locate_all: Locate | None = None) -> None:
        """Report everything; a finding with a `first` path says both places.

        `locate_all` finds them, by default in the JSON of the report.
        """
        if not self._found:
            return
        paths = [path for _, path, _, first in self._found for path in (path, first) if path]
        offsets = (locate_all or partial(locate, report.source.text))(paths)
        for severity, path, message, first in self._found:
            tell = report.error if severity == "error" else report.warning
            tell(offsets.get(path, 0), message, None if first is None else offsets.get(first, 0))

    def wrong(self, value: object, path: JsonPath, what: str, fix: str) -> None:
        """Note a value that is none of those that may stand there."""
        self.error(path, f"{what} is {abbreviated(value)} ({fix})")

    # Each of these gives the value if it has the right type; else it notes an error, gives `None`.

    def text(self, value: object, path: JsonPath, what: str) -> str | None:
        if isinstance(value, str):
            return value
        return self.wrong(value, path, what, 'write a text in quotes, such as "p"')

    def integer(self, value: object, path: JsonPath, what: str) -> int | None:
        if type(value) is int:
            return value
        return self.wrong(value, path, what, "write an integer")

    def truth(self, value: object, path: JsonPath, what: str) -> bool | None:
        if isinstance(value, bool):
            return value
        return self.wrong(value, path, what, "write true or false")

    def sequence(self, value: object, path: JsonPath, what: str) -> list | None:
        if isinstance(value, list):
            return value
        return self.wrong(value, path, what, "write a list in brackets")

    def note(self, value: object, path: JsonPath) -> Json:
        """A value that is kept as it is; what JSON cannot hold is an error."""
        if len(path) > MAX_DEPTH:
            self.error(path, f"this is nested more than {MAX_DEPTH} deep (shorten it)")
            return None
        if isinstance(value, Plain):
            value = value.value
        if isinstance(value, list):
            return [self.note(item, (*path, i)) for i, item in enumerate(value)]
        if isinstance(value, dict):
            items = self.mapping(value, path, "a note") or {}
            return {key: self.note(item, (*path, key)) for key, item in items.items()}
        if isinstance(value, NoNumber) or (isinstance(value, float) and not math.isfinite(value)):
            return self.wrong(value, path, "a note", "write a text or a number")
        assert value is None or isinstance(value, bool | int | float | str)
        return value

    def items(self, value: object, path: JsonPath, what: str) -> list[tuple[JsonPath, object]]:
        """The items of a list with their paths; none after a mistake."""
        items = self.sequence(value, path, what) or ()
        return [((*path, index), item) for index, item in enumerate(items)]

    def texts(self, value: object, path: JsonPath, what: str) -> list[str] | None:
        items = self.sequence(value, path, what)
        if items is None:
            return None
        texts = [
            self.text(item, (*path, i), f"item {i + 1} of {what}") for i, item in enumerate(items)
        ]
        return None if None in texts else [text for text in texts if text is not None]

    def pair(
        self, value: object, path: JsonPath, what: str, two: str = "items (write two labels)"
    ) -> tuple[str, str] | None:
        """Two texts; `two` is what the message about another number says of them."""
        texts = self.texts(value, path, what)
        if texts is None or len(texts) == 2:
            return None if texts is None else (texts[0], texts[1])
        self.error(path, f"{what} has {len(texts)} {two}")
        return None

    def entries(
        self,
        value: object,
        path: JsonPath,
        what: str,
        keys: Collection[str] | None = None,
        required: Iterable[str] = (),
    ) -> "Entries | None":
        """An object, see `mapping`; `None` also where one of the `required` keys is missing."""
        values = self.mapping(value, path, what, keys)
        if values is None:
            return None
        entries = Entries(self, values, path, what)
        return entries if all([entries.has(key) for key in required]) else None

    def mapping(
        self, value: object, path: JsonPath, what: str, keys: Collection[str] | None = None
    ) -> dict[str, object] | None:
        """An object; `keys` are those it may have (`None`: any)."""
        if not isinstance(value, dict):
            return self.wrong(value, path, what, "write an object in braces")
        if isinstance(value, RepeatedKeys):
            for key in value.keys_twice:
                message = f"the key {abbreviated(key)} appears twice in {what} (remove one)"
                self.error((*path, Key(key, 1)), message, (*path, Key(key, 0)))
        if keys is not None and not value.keys() <= set(keys):
            for key in value.keys() - set(keys):
                near = near_match(key, keys) or f"known: {', '.join(keys)}"
                self.error(
                    (*path, Key(key)), f"{what} has the unknown key {abbreviated(key)} ({near})"
                )
        return value


@dataclass(frozen=True, slots=True)
class Entries:
    """An object of the file, whose values are taken by key; `what` messages call it.

    A value of the wrong type, or that is missing where there is no default, is noted; the result
    is `None` then.
    """

    findings: Findings
    values: dict[str, object]
    path: JsonPath
    what: str

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def at(self, key: str) -> JsonPath:
        return (*self.path, key)

    def has(self, key: str) -> bool:
        """Whether there is this key; if not, that is noted."""
        if key in self.values:
            return True
        self.findings.error(self.path, f'{self.what} has no "{key}" (add it)')
        return False

    def take(
        self,
        key: str,
        read: Callable[[object, JsonPath, str], T | None],
        what: str | None = None,
        default: T | None = None,
    ) -> T | None:
        """What `read` makes of a value; `what` messages call it, by default the key."""
        if default is not None and key not in self.values:
            return default
        if not self.has(key):
            return None
        return read(self.values[key], self.at(key), f'"{key}"' if what is None else what)

    def text(self, key: str, what: str | None = None, default: str | None = None) -> str | None:
        return self.take(key, self.findings.text, what, default)

    def integer(self, key: str, what: str | None = None, default: int | None = None) -> int | None:
        return self.take(key, self.findings.integer, what, default)

    def items(self, key: str, what: str | None = None) -> list[tuple[JsonPath, object]]:
        """The items of a list with their paths; none if it is not there."""
        return self.take(key, self.findings.items, what, []) or []

    def mapping(self, key: str) -> dict[str, object]:
        """An object, empty if it is not there."""
        return self.take(key, self.findings.mapping, None, {}) or {}


def read_values(
    report: Report, read: Callable[[Findings, object], T | None], *, is_yaml: bool = False
) -> T | None:
    """What `read` makes of the value of a JSON or YAML text, with its findings reported; `None`
    after a mistake in the form of the text, which is reported."""
    document = value = None
    if not is_yaml:
        value = decode(report)
    elif (document := load_yaml(report)) is not None:
        value = document.value
    if report.has_errors:
        return None
    findings = Findings()
    result = None
    with suppress(Unreadable):
        result = read(findings, value)
    findings.tell(report, document and document.locate)
    return result


def noted_position(notes: Mapping[str, object], name: str) -> tuple[float, float] | None:
    """Where a node is drawn, if that is in range; notes may be anything."""
    noted = notes.get("positions")
    place = noted.get(name) if isinstance(noted, Mapping) else None
    if not isinstance(place, Sequence) or len(place) != 2:
        return None
    x, y = place
    return (x, y) if is_coordinate(x) and is_coordinate(y) else None


def out_of_range(coordinate: float, name: str) -> str:
    """What is wrong with a coordinate of a node that is no `is_coordinate`, and the fix."""
    number = shortened(f"{coordinate}", 20)
    return f"the coordinate {number} of {name!r} is out of range (write one {COORDINATE_RANGE})"


def abbreviated(value: object) -> str:
    """A JSON value in a message, short whatever it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(shortened(value))
    if isinstance(value, NoNumber):
        digits = value.text.lstrip("-").isdigit()
        return f"a number of {len(value.text)} digits" if digits else shortened(value.text, 20)
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else repr(value)
