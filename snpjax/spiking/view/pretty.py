"""Rules as papers typeset them, for display only: `a²/a → a; 1`."""

import re
from collections.abc import Sequence

from ..._text.superscripts import SUPERSCRIPTS
from ...drawing.scene import shortened
from ..model.rule import (
    AnyRule,
    DivisionRule,
    PlasticityRule,
    RequestRule,
    Rule,
    SpikeQuery,
    name_text,
    rule_text,
)


_MAX_WIDTH = 34  # characters of a line
_POWER = re.compile(r"([aā])(?:\^(\d+)|\{(\d+)\})")
_ALPHA = re.compile(r"\+-|-\+|\+|-")
_ALPHAS = {"+": "+", "-": "−", "+-": "±", "-+": "∓"}
_SUPERSCRIPT = str.maketrans(SUPERSCRIPTS)


def spikes_text(count: int) -> str:
    """This many spikes: `a³`; anti-spikes are `ā³`."""
    letter = "a" if count >= 0 else "ā"
    return letter if abs(count) == 1 else letter + f"{abs(count)}".translate(_SUPERSCRIPT)


def pretty(text: str) -> str:
    """The text of a spiking rule, which has no names in it, in the signs of papers."""
    text = _POWER.sub(lambda m: m[1] + (m[2] or m[3]).translate(_SUPERSCRIPT), text)
    return text.replace("->", "→").replace("lambda", "λ").replace("a+", "a⁺").replace("ā+", "ā⁺")


def pretty_plasticity(text: str) -> str:
    """The text of a plasticity rule in the signs of papers; names in it stay as they are."""
    left, _, right = text.partition(" -> ")
    return f"{pretty(left)} → {_ALPHA.sub(lambda m: _ALPHAS[m[0]], right, count=1)}"


def typeset(rule: AnyRule, label: str) -> str:
    """The text of any rule in the signs of papers; names in it stay as they are."""
    text = rule_text(rule, label)
    match rule:
        case Rule():
            return pretty(text)
        case PlasticityRule():
            return pretty_plasticity(text)
        case RequestRule():
            return f"{pretty(text.partition('/Q(')[0])}/Q{''.join(map(_query, rule.queries))}"
    guard, bracket, rest = text.partition("]")  # of a division or budding rule
    owner = f"_{name_text(label)}"
    right = rest.removeprefix(f"{owner} -> ")
    if isinstance(rule, DivisionRule):
        right = " ‖ ".join(f"[]_{name_text(name)}" for name in rule.born)
    return f"{pretty(guard)}{bracket}{owner} → {right}"


def _query(query: SpikeQuery) -> str:
    spikes = "a^∞" if query.spikes is None else spikes_text(query.spikes)
    return f"({spikes}, {name_text(query.neuron)})"


def rule_lines(rules: Sequence[AnyRule | str], label: str, most: int) -> list[str]:
    """The first rules of a neuron, a line each, and how many more there are; texts as they are."""
    texts = [
        rule if isinstance(rule, str) else typeset(rule, label)
        for rule in rules[: most if len(rules) <= most else most - 1]
    ]
    left = len(rules) - len(texts)
    return [shortened(text, _MAX_WIDTH) for text in texts] + [f"and {left:,} more"] * (left > 0)
