"""One neuron of a system with other spikes or rules, and what is wrong with them."""

import re
import warnings
from dataclasses import dataclass, replace
from typing import Literal

from ...spiking import (
    InvalidSystem,
    ModelWarning,
    Neuron,
    Problem,
    RuleError,
    SpikingSystem,
    SynapseRules,
)
from ...spiking.model.rule_syntax import parse_rule


_PLACE = re.compile(r"^neuron .*?, rule \d+: ")
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")


@dataclass(frozen=True)
class Edit:
    """What somebody wrote into the fields of one neuron: a number of spikes, a rule a line.

    `rules` is `None` where only the spikes are meant.
    """

    neuron: int
    spikes: str
    rules: str | None


@dataclass(frozen=True)
class Finding:
    """A problem of an edit; `line` and `column` are 1-based places in its rules, if any."""

    part: Literal["spikes", "rules", "system"]
    line: int | None
    column: int | None
    message: str
    severity: Literal["error", "warning"] = "error"


def edited(system: SpikingSystem, edit: Edit) -> tuple[SpikingSystem | None, list[Finding]]:
    """The system with an edit, or `None`, and everything that is wrong or odd with it.

    Where neurons share a label they share its rules, so that all of them get the new ones.
    """
    if not 0 <= edit.neuron < system.num_neurons:
        return None, [Finding("system", None, None, f"there is no neuron {edit.neuron + 1}")]
    neuron = system.neurons[edit.neuron]
    found: list[Finding] = []
    spikes = number_of(edit.spikes, "spikes", found)
    rules: list[str] = []
    lines: list[int] = []
    for number, text in enumerate((edit.rules or "").splitlines(), start=1):
        if text.strip():
            rules.append(text.strip())
            lines.append(number)
            found += _unparsed(text, number, neuron.label)
    if rules and isinstance(system.variant, SynapseRules):
        message = "the rules of this system are on its synapses (edit them in the text)"
        found.append(Finding("rules", lines[0], 1, message))
    is_wrong = bool(found)
    if is_wrong:  # what is wrong with the other rules is listed as well
        unread = {finding.line for finding in found}
        pairs = [(x, n) for x, n in zip(rules, lines, strict=True) if n not in unread]
        rules, lines = [x for x, _ in pairs], [n for _, n in pairs]
    count = neuron.spikes if spikes is None else spikes
    changed = [_changed(other, neuron, count, rules, edit) for other in system.neurons]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            built = system.replace(neurons=changed)
    except InvalidSystem as error:
        problems = [_located(problem, edit.neuron, neuron, lines) for problem in error.problems]
        return None, problems if not is_wrong else _with_others(found, problems)
    odd = [_located(problem, edit.neuron, neuron, lines) for problem in built.problems]
    if is_wrong:
        return None, _with_others(found, odd)
    return built, [finding for finding in odd if finding.part != "system"]


def _with_others(found: list[Finding], problems: list[Finding]) -> list[Finding]:
    """What cannot be read, and what is wrong with the rules that can be, by their lines. Problems
    number rules without those that cannot be read, so they say what is wrong only."""
    own = [
        replace(problem, message=_PLACE.sub("", problem.message))
        for problem in problems
        if problem.part == "rules"
    ]
    return sorted([*found, *own], key=lambda finding: finding.line or 0)


def _changed(other: Neuron, neuron: Neuron, spikes: int, rules: list[str], edit: Edit) -> Neuron:
    own_rules = rules if edit.rules is not None else neuron.rules
    if other is neuron:
        return Neuron(neuron.name, spikes, own_rules, neuron.label)
    if other.label == neuron.label and edit.rules is not None:
        return Neuron(other.name, other.spikes, rules, other.label)
    return other


def number_of(text: str, what: str, found: list[Finding]) -> int | None:
    """The number that a text is, or `None` and a finding more."""
    if _INTEGER.fullmatch(text.strip()):
        return int(text)
    message = f"{text.strip()[:40]!r} is not a number of {what} (write an integer, 0 or more)"
    found.append(Finding("spikes", None, None, message))
    return None


def _unparsed(text: str, line: int, label: str) -> list[Finding]:
    try:
        parse_rule(text, label)
    except RuleError as error:
        return [Finding("rules", line, error.position + 1, error.message)]
    return []


def _located(problem: Problem, index: int, neuron: Neuron, lines: list[int]) -> Finding:
    place, severity = problem.place, problem.severity
    is_own = place.kind == "rule" and place.index in (index, neuron.label)
    if is_own and place.rule is not None and place.rule < len(lines):
        return Finding("rules", lines[place.rule], 1, problem.message, severity)
    if place.kind == "neuron" and place.index == index:
        return Finding("spikes", None, None, problem.message, severity)
    return Finding("system", None, None, problem.message, severity)
