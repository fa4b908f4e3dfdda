"""Rules of the native JSON, as text or as objects."""

import re
from dataclasses import dataclass

from ...spiking.model.guard import Guard
from ...spiking.model.rule import (
    ALPHAS,
    AnyRule,
    BuddingRule,
    DivisionRule,
    PlasticityRule,
    Rule,
    RuleError,
)
from ...spiking.model.rule_syntax import parse_rule
from ..building import NO_GUARD
from ..json_checks import Entries, Findings
from ..json_text import InString, JsonPath
from ..source import guard_or_error


_KINDS = ("produce", "divide", "bud", "plasticity")
_KEYS = {
    "produce": ("guard", "consume", "produce", "delay", "sign", "channel"),
    "divide": ("guard", "divide"),
    "bud": ("guard", "bud"),
    "plasticity": ("guard", "consume", "plasticity"),
}
_KEY_OF_CODE = {
    "forgetting_delay": "delay",
    "anti_spikes": "sign",
    "channel": "channel",
    "unused_channel": "channel",
}
OF_PLASTICITY = ("alpha", "k", "targets")
_PRODUCT = re.compile(r"(?:-+>|→|\\to(?![a-z])|\\rightarrow)\s*")


@dataclass(frozen=True, slots=True)
class ReadRule:
    """A rule and its source. `is_whole` is false when only its numbers can be trusted."""

    rule: AnyRule
    path: JsonPath
    value: object
    is_whole: bool = True

    def path_of(self, code: str) -> JsonPath:
        """Where a problem of the rule is: at a number of it, if it has that, or at the rule."""
        if code == "produce_exceeds_consume":
            if isinstance(self.value, dict) and "produce" in self.value:
                return (*self.path, "produce")
            if isinstance(self.value, str) and (arrow := _PRODUCT.search(self.value)):
                return (*self.path, InString(arrow.end()))
        key = _KEY_OF_CODE.get(code)
        if key is not None and isinstance(self.value, dict) and key in self.value:
            return (*self.path, key)
        return self.path


class RuleReader:
    """Reads rules. Texts and guards that were read before are not read again."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.has_growth = False  # division or budding
        self.are_labels_known = True  # no such rule was left out
        self._texts: dict[str, AnyRule | RuleError] = {}

    def read_all(self, value: object, path: JsonPath, label: str) -> list[ReadRule]:
        """The rules in a list; those of which nothing can be made are left out (and reported)."""
        rules: list[ReadRule] = []
        for here, item in self.findings.items(value, path, "the list of rules"):
            rule = self._read(item, here, label)
            if rule is not None:
                rules.append(rule)
                self.has_growth |= isinstance(rule.rule, DivisionRule | BuddingRule)
            elif _may_be_growth(item):
                self.has_growth, self.are_labels_known = True, False
        return rules

    def read_spiking(self, value: object, path: JsonPath) -> list[ReadRule]:
        """The same of rules that belong to no neuron: spiking and forgetting rules only."""
        items = self.findings.items(value, path, "the list of rules")
        read = [self._read(item, here, None, _KINDS[:1]) for here, item in items]
        return [rule for rule in read if rule is not None]

    def _read(
        self, value: object, path: JsonPath, label: str | None, known: tuple[str, ...] = _KINDS
    ) -> ReadRule | None:
        if isinstance(value, str):
            return self.read_text(value, path, label)
        kinds = [kind for kind in known if isinstance(value, dict) and kind in value]
        kind = kinds[0] if kinds else "produce"
        entries = self.entries(value, path, _KEYS[kind])
        if entries is None:
            return None
        guard = self.guard(entries)
        if kind in ("divide", "bud"):
            assert label is not None
            return self._read_growth(kind, entries, guard, label)
        consume = entries.integer("consume")
        whole = guard is not None or "guard" not in entries
        if whole and guard is None and consume is not None:
            guard = self._exactly(consume, entries)
            whole = guard is not None
        guard = NO_GUARD if guard is None else guard
        if kind == "plasticity":
            return self._read_plasticity(entries, guard, consume, whole)
        defaults = (("produce", 0), ("delay", 0), ("sign", 1))
        produce, delay, sign = (entries.integer(key, default=x) for key, x in defaults)
        if consume is None or produce is None or delay is None or sign is None:
            return None
        channel = entries.text("channel") if "channel" in entries else None
        return ReadRule(Rule(guard, consume, produce, delay, sign, channel), path, value, whole)

    def entries(self, value: object, path: JsonPath, keys: tuple[str, ...]) -> Entries | None:
        """A rule that is an object with some of these keys."""
        if isinstance(value, dict):
            return self.findings.entries(value, path, "the rule", keys)
        fix = 'write a text such as "a^2/a -> a" or an object'
        return self.findings.wrong(value, path, "a rule", fix)

    def read_text(self, text: str, path: JsonPath, label: str | None = None) -> ReadRule | None:
        """A rule that is a text; without a label a spiking or forgetting rule."""
        rule = self._texts.get(text)
        if rule is None:
            rule = self._texts[text] = _parsed(text, None)
        if label is None and not isinstance(rule, Rule | RuleError):
            try:
                rule = Rule.parse(text)  # which says what it is
            except RuleError as error:
                rule = error
        elif not isinstance(rule, Rule):
            rule = _parsed(text, label)  # what it says of its neuron is examined
        if not isinstance(rule, RuleError):
            return ReadRule(rule, path, text)
        position = min(rule.position, len(text))
        self.findings.error((*path, InString(position)), f"the rule does not parse: {rule.message}")
        try:
            rest = Rule.parse(text.rpartition("/")[2])  # all but the guard
        except RuleError:
            return None
        stand_in = Rule(NO_GUARD, rest.consume, rest.produce, rest.delay, rest.sign, rest.channel)
        return ReadRule(stand_in, path, text, is_whole=False)

    def _read_growth(
        self, kind: str, entries: Entries, guard: Guard | None, label: str
    ) -> ReadRule | None:
        entries.has("guard")
        pair = self.findings.pair(
            entries.values[kind], entries.at(kind), f'"{kind}"', "labels (write two)"
        )
        if pair is None:
            return None
        first, second = pair
        whole, guard = guard is not None, NO_GUARD if guard is None else guard
        rule = DivisionRule(guard, first, second)
        if kind == "bud":
            rule = BuddingRule(guard, second, None if first == label else first)
        return ReadRule(rule, entries.path, entries.values, whole)

    def change(self, entries: Entries) -> Entries | None:
        """What a rule of plasticity says of synapses."""
        value, path = entries.values["plasticity"], entries.at("plasticity")
        return self.findings.entries(
            value, path, '"plasticity"', OF_PLASTICITY, required=OF_PLASTICITY
        )

    def _read_plasticity(
        self, entries: Entries, guard: Guard, consume: int | None, whole: bool
    ) -> ReadRule | None:
        change = self.change(entries)
        if change is None:
            return None
        alpha, k = change.values["alpha"], change.integer("k")
        targets = change.take("targets", self.findings.texts)
        if not isinstance(alpha, str) or alpha not in ALPHAS:
            fix = f"write one of {', '.join(ALPHAS)}"
            return self.findings.wrong(alpha, change.at("alpha"), "the kind of plasticity", fix)
        if consume is None or k is None or targets is None:
            return None
        rule = PlasticityRule(guard, consume, alpha, k, targets)  # pyright: ignore[reportArgumentType]
        return ReadRule(rule, entries.path, entries.values, whole)

    def guard(self, entries: Entries) -> Guard | None:
        """The guard that is a text; `None` if there is none, or after a mistake."""
        text = entries.text("guard", "the guard") if "guard" in entries else None
        if text is None:
            return None
        guard = guard_or_error(text)
        if isinstance(guard, Guard):
            return guard
        message = f"the guard does not parse: {guard.message}"
        self.findings.error((*entries.at("guard"), InString(guard.position)), message)
        return None

    def _exactly(self, consume: int, entries: Entries) -> Guard | None:
        if consume < 0:
            return NO_GUARD  # the number is reported with the system
        try:
            return Guard.exactly(consume)
        except ValueError as error:
            self.findings.error(entries.at("consume"), str(error))
            return None


def _parsed(text: str, label: str | None) -> AnyRule | RuleError:
    try:
        return parse_rule(text, label)
    except RuleError as error:
        return error


def _may_be_growth(item: object) -> bool:
    """Whether what is not a rule may have been meant for a division or budding."""
    if isinstance(item, str):
        return item.lstrip().startswith("[")
    return isinstance(item, dict) and ("divide" in item or "bud" in item)
