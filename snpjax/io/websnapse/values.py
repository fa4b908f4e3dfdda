"""Taking values that JSON and YAML write differently: names, numbers, trains, notes."""

import math
import re
from collections.abc import Sequence

from ..environment import MAX_INPUT_ENTRIES
from ..json_checks import Findings, abbreviated
from ..json_text import InString, JsonPath
from ..yaml_text import Plain


_DIGITS = re.compile(r"\s*([-+]?[0-9]{1,18})(?:\.0*)?\s*")
_NO_DIGIT = re.compile(r"[^0-9]")
_MAX_EXACT = 2**53  # larger floats are no longer exact integers
_QUOTE = 'write the spikes of each step as digits in quotes, such as "0110"'


class ValueReader:
    """Gives each value if it is of the right kind; else notes an error and gives `None`."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self._num_entries = 0  # of all trains

    def items(self, top: dict[str, object], key: str) -> list[tuple[JsonPath, object]]:
        """The items of a list with their paths, none if it is null."""
        return [] if is_null(top[key]) else self.findings.items(top[key], (key,), f'"{key}"')

    def name(self, value: object, path: JsonPath, what: str) -> str | None:
        """A text; an unquoted one in YAML is what is written, `1` and `yes` too."""
        if isinstance(value, Plain) and value.text:
            return value.text
        return self.findings.text(value, path, what)

    def integer(self, value: object, path: JsonPath, what: str) -> int | None:
        """An integer, also written `2.0` or in quotes."""
        number = value.number if isinstance(value, Plain) else value
        if isinstance(number, str) and (match := _DIGITS.fullmatch(number)):
            return int(match[1])
        if isinstance(number, float) and number.is_integer() and abs(number) <= _MAX_EXACT:
            return int(number)
        return self.findings.integer(value if number is None else number, path, what)

    def number(self, value: object, path: JsonPath, what: str) -> int | float | None:
        number = value.number if isinstance(value, Plain) else value
        if type(number) is int or (type(number) is float and math.isfinite(number)):
            return number
        return self.findings.wrong(value, path, what, "write a number")

    def train(self, value: object, path: JsonPath, what: str) -> Sequence[int]:
        """The spikes of an input node: digits in quotes, or a list of integers."""
        train: Sequence[int] = ()
        if is_null(value):
            return train
        if isinstance(value, str):
            train = self._digits(value, path, what)
        elif isinstance(value, list):
            what = "a number of input spikes"
            found = [self.integer(x, (*path, i), what) for i, x in enumerate(value)]
            for step, spikes in enumerate(found):
                if spikes is not None and spikes < 0:
                    message = f"{what} is {spikes} (write an integer, 0 or more)"
                    self.findings.error((*path, step), message)
            train = [max(0, spikes or 0) for spikes in found]
        else:
            self.findings.error(path, f"{what} is {abbreviated(value)}, not quoted ({_QUOTE})")
        self._num_entries += len(train)
        if self._num_entries <= MAX_INPUT_ENTRIES:
            return train
        message = f"the input trains have more than {MAX_INPUT_ENTRIES} entries (shorten them)"
        self.findings.error(path, message)
        return ()

    def _digits(self, text: str, path: JsonPath, what: str) -> Sequence[int]:
        text = text.rstrip()
        start = len(text) - len(text.lstrip())
        wrong = _NO_DIGIT.search(text, start)
        if wrong is None:
            return bytes(ord(digit) - ord("0") for digit in text[start:])
        message = f"{wrong[0]!r} in {what} is not a number of spikes ({_QUOTE})"
        self.findings.error((*path, InString(wrong.start())), message)
        return ()


def is_null(value: object) -> bool:
    return value is None or (isinstance(value, Plain) and value.is_null)
