"""Lists of rule texts, each rule with its path in the file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..json_checks import Findings, abbreviated
from ..json_text import InString, JsonPath
from ..yaml_text import Plain
from .rules import ParsedRule, RuleParser
from .values import is_null


@dataclass(frozen=True, slots=True)
class PlacedRuleText:
    """A rule text and where it stands."""

    parsed: ParsedRule
    path: JsonPath

    def at(self, position: int) -> JsonPath:
        """The path of a character of the text."""
        return (*self.path, InString(position))


@dataclass(frozen=True, slots=True)
class RulePlaces(Mapping[str, JsonPath]):
    """The paths of the problem codes of a rule, made only when they are asked for: rules are
    many.
    """

    read: PlacedRuleText

    def __getitem__(self, code: str) -> JsonPath:
        return self.read.at(self.read.parsed.places[code])

    def __iter__(self) -> Iterator[str]:
        return iter(self.read.parsed.places)

    def __len__(self) -> int:
        return len(self.read.parsed.places)


class RuleList:
    """Reads lists of rules. A text that stands there many times is parsed once, and its warnings
    are told once.
    """

    def __init__(self, findings: Findings):
        self.findings = findings
        self._parser = RuleParser()
        self._warned: set[str] = set()

    def read(self, value: object, path: JsonPath, what: str) -> list[PlacedRuleText]:
        """The rules in a list, with their mistakes told; all that can be of use."""
        if is_null(value):
            return []
        rules = []
        for here, item in self.findings.items(value, path, what):
            text = item.text if isinstance(item, Plain) else item
            if not isinstance(text, str):
                message = (
                    rf'a rule is {abbreviated(item)} (write a text, such as "a^{{2}}/a\to a;0")'
                )
                self.findings.error(here, message)
                continue
            read = PlacedRuleText(self._parser.parse(text), here)
            for fault in read.parsed.errors:
                self.findings.error(read.at(fault.offset), fault.message)
            if read.parsed.warnings and text not in self._warned:
                self._warned.add(text)
                for fault in read.parsed.warnings:
                    self.findings.warning(read.at(fault.offset), fault.message)
            rules.append(read)
        return rules
