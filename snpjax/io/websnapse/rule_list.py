"""Lists of rule texts, each rule with its path in the file."""

from dataclasses import dataclass
from functools import cache

from ..json_checks import Findings
from ..json_text import InString, JsonPath
from ..yaml_text import Plain
from .rules import ParsedRule, parse_rule_text
from .values import is_null


@dataclass(frozen=True, slots=True)
class PlacedRuleText:
    """A rule text and where it stands."""

    parsed: ParsedRule
    path: JsonPath

    def at(self, position: int) -> JsonPath:
        """The path of a character of the text."""
        return (*self.path, InString(position))

    def place_of(self, code: str) -> JsonPath | None:
        """The path of what a problem is about, if that is a part of the rule."""
        position = self.parsed.places.get(code)
        return None if position is None else self.at(position)


class RuleList:
    """Reads lists of rules. A text that is repeated is parsed once, its warnings told once."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self._parse = cache(parse_rule_text)
        self._warned: set[str] = set()

    def read(self, value: object, path: JsonPath, what: str) -> list[PlacedRuleText]:
        """The rules in a list, with their mistakes told; all that can be of use."""
        if is_null(value):
            return []
        rules = []
        for here, item in self.findings.items(value, path, what):
            text = item.text if isinstance(item, Plain) else item
            if not isinstance(text, str):
                self.findings.wrong(item, here, "a rule", r'write a text, such as "a^{2}/a\to a;0"')
                continue
            read = PlacedRuleText(self._parse(text), here)
            for fault in read.parsed.errors:
                self.findings.error(read.at(fault.offset), fault.message)
            if read.parsed.warnings and text not in self._warned:
                self._warned.add(text)
                for fault in read.parsed.warnings:
                    self.findings.warning(read.at(fault.offset), fault.message)
            rules.append(read)
        return rules
