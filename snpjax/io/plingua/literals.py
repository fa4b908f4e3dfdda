"""Statements without variables, expressions and ranges, read by regular expressions.

Files that programs write have hundreds of thousands of them, for which the grammar takes minutes
and gigabytes. A statement that is not literal to the letter is left to the grammar, which also
finds the mistakes.
"""

import re
from collections.abc import Callable, Mapping

from . import expression, tree
from .scan import skip_gap


# Canonical numbers only: what is read here is the label or the count as it stands.
_NUMBER = r"(?:0|[1-9][0-9]{0,17})"
_INDEX = r"(?:0|-?[1-9][0-9]{0,17})"
_INDICES = rf"\{{\s*{_INDEX}\s*(?:,\s*{_INDEX}\s*)*\}}"
_LABEL = rf"(?:[A-Za-z_][A-Za-z_0-9]*(?:{_INDICES})?|{_NUMBER})"
_KEYWORD = re.compile("@([a-z]+)", re.IGNORECASE)
# No two blanks beside each other can match the same text, so that a failure takes linear time.

_RULE = re.compile(
    rf"\s*(\[)\s*a\s*(?:\*\s*({_NUMBER})\s*)?-->\s*(?:a\s*(?:\*\s*({_NUMBER})\s*)?|(\#)\s*)\]"
    rf"\s*'\s*({_LABEL})\s*(?:\"([^\"\n]*)\"\s*)?(?:::\s*({_NUMBER})\s*)?;"
)
_CONTENTS = re.compile(
    rf"\s*(?i:@ms)\s*\(\s*({_LABEL})\s*\)\s*(\+?)=\s*a\s*(?:\*\s*({_NUMBER})\s*)?;"
)
_NEURONS = re.compile(r"\s*(?i:@mu)\s*\+?=")
_NEURON = re.compile(rf"\s*({_LABEL})\s*([,;])")
_GROWTH = re.compile(
    rf"\s*(\[)\s*\]\s*'\s*({_LABEL})\s*-->\s*\[\s*\]\s*'\s*({_LABEL})\s*(\|\||/)"
    rf"\s*\[\s*\]\s*'\s*({_LABEL})\s*\"([^\"\n]*)\"\s*;"
)
_TRAIN = re.compile(r"\s*(?i:@minst)\s*\+?=")
_ENTRY = re.compile(rf"\s*(\()\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)\s*([,;])")
_DICTIONARY = re.compile(r"\s*(?i:@mdict)\s*\+?=")
_ARCS = re.compile(r"\s*(?i:@marcs)\s*\+?=")
_ARC = re.compile(rf"\s*(\()\s*({_LABEL})\s*,\s*({_LABEL})\s*\)\s*([,;])")


class Literals:
    """Reads literal statements; equal labels become one string, since each occurs many times."""

    def __init__(self, text: str):
        self._text = text
        self._labels: dict[str, str] = {}
        self._readers: Mapping[str, Callable[[tree.Literal, int, int], int]] = {
            "ms": self._contents,
            "mu": self._neurons,
            "marcs": self._arcs,
        }

    def read(self, start: int, end: int) -> tuple[tree.Instruction, int] | None:
        """The literal statements from `start` on and the offset after them, if there are any."""
        found, after = tree.Literal(), start
        at = first = skip_gap(self._text, start, end)
        while at < end:
            read = self._rule if self._text[at] == "[" else self._readers.get(self._keyword(at))
            next_one = at if read is None else read(found, at, end)
            if next_one == at:
                break
            after = next_one
            at = skip_gap(self._text, after, end)
        if after > start:
            return found, after
        keyword = self._keyword(first) if first < end else ""
        alone = {"mdict": self._dictionary, "minst": self._train}.get(keyword)
        return None if alone is None else alone(first, end)

    def _keyword(self, at: int) -> str:
        keyword = _KEYWORD.match(self._text, at)
        return "" if keyword is None else keyword[1].lower()

    def _match(self, pattern: re.Pattern[str], start: int, end: int) -> re.Match[str] | None:
        """A match after blanks and comments."""
        match = pattern.match(self._text, start, end)
        if match is not None:
            return match
        after = skip_gap(self._text, start, end)
        # Comments are no part of the patterns, which would run on into others to find a match.
        return pattern.match(self._text, after, end) if after > start else None

    def _label(self, label: str) -> str:
        known = self._labels.get(label)
        if known is None:
            known = self._labels[label] = "".join(label.split())
        return known

    # Each of these adds the statement at an offset, and gives the offset after it, or itself.

    def _rule(self, found: tree.Literal, start: int, end: int) -> int:
        match = _RULE.match(self._text, start, end)
        if match is not None:
            _, consume, produce, nothing, label, guard, delay = match.groups()
            if _has_expressions(guard):
                return start
            produced = 0 if nothing else int(produce or 1)
            key = guard, int(consume or 1), produced, int(delay or 0)
            found.rules.append((start, self._label(label), key))
            return match.end()
        match = _GROWTH.match(self._text, start, end)
        if match is None or _has_expressions(match[6]):
            return start
        found.rules.append((start, self._label(match[2]), None))
        return match.end()

    def _contents(self, found: tree.Literal, start: int, end: int) -> int:
        match = _CONTENTS.match(self._text, start, end)
        if match is None:
            return start
        label, adds, spikes = match.groups()
        found.contents.append((match.start(1), self._label(label), int(spikes or 1), bool(adds)))
        return match.end()

    def _neurons(self, found: tree.Literal, start: int, end: int) -> int:
        neurons: list[tuple[str, int]] = []

        def add(match: re.Match[str]) -> None:
            neurons.append((self._label(match[1]), match.start(1)))

        after = self._list(_NEURONS, _NEURON, add, start, end)
        if after > start:
            found.neurons.extend(neurons)
        return after

    def _arcs(self, found: tree.Literal, start: int, end: int) -> int:
        arcs = tree.Literal()

        def add(match: re.Match[str]) -> None:
            arcs.sources.append(self._label(match[2]))
            arcs.targets.append(self._label(match[3]))
            arcs.offsets.append(match.start(1))

        after = self._list(_ARCS, _ARC, add, start, end)
        if after > start:
            found.sources.extend(arcs.sources)
            found.targets.extend(arcs.targets)
            found.offsets.extend(arcs.offsets)
        return after

    def _dictionary(self, start: int, end: int) -> tuple[tree.Dictionary, int] | None:
        arcs: list[tree.Arc] = []

        def add(match: re.Match[str]) -> None:
            source, target = (
                tree.plain_label(match.start(group), self._label(match[group])) for group in (2, 3)
            )
            arcs.append(tree.Arc(match.start(1), source, target))

        after = self._list(_DICTIONARY, _ARC, add, start, end)
        return (tree.Dictionary(tuple(arcs)), after) if after > start else None

    def _train(self, start: int, end: int) -> tuple[tree.Train, int] | None:
        entries: list[tuple[expression.Expression, expression.Expression]] = []

        def add(match: re.Match[str]) -> None:
            step, spikes = (expression.number(match.start(x), match[x]) for x in (2, 3))
            entries.append((step, spikes))

        after = self._list(_TRAIN, _ENTRY, add, start, end)
        return (tree.Train(start, tuple(entries)), after) if after > start else None

    def _list(
        self,
        head: re.Pattern[str],
        item: re.Pattern[str],
        add: Callable[[re.Match[str]], None],
        start: int,
        end: int,
    ) -> int:
        match = head.match(self._text, start, end)
        while match and (match := self._match(item, match.end(), end)):
            add(match)
            if self._text[match.end() - 1] == ";":
                return match.end()
        return start


def rule_at(text: str, offset: int) -> tree.SpikingRule | tree.GrowthRule:
    """The literal rule at an offset, with the places of its parts."""
    match = _RULE.match(text, offset)
    if match is None:
        return _growth_rule_at(text, offset)
    consume, nothing = match[2], match[4]
    produce = None
    if not nothing:
        at = text.index("a", text.index("-->", offset) + 3)
        produce = tree.Spikes(at, _number(match, 3))
    return tree.SpikingRule(
        offset,
        tree.plain_label(match.start(5), "".join(match[5].split())),
        tree.Spikes(text.index("a", offset), _number(match, 2) if consume else None),
        produce,
        None if match[6] is None else tree.Text(match.start(6), match[6]),
        _number(match, 7),
    )


def _growth_rule_at(text: str, offset: int) -> tree.GrowthRule:
    match = _GROWTH.match(text, offset)
    assert match is not None
    label, first, second = (
        tree.plain_label(match.start(group), "".join(match[group].split())) for group in (2, 3, 5)
    )
    guard = tree.Text(match.start(6), match[6])
    return tree.GrowthRule(offset, label, guard, first, second, match[4] == "/")


def arc_at(text: str, offset: int) -> tree.Arc:
    """The literal synapse at an offset."""
    match = _ARC.match(text, offset)
    assert match is not None
    source, target = (
        tree.plain_label(match.start(group), "".join(match[group].split())) for group in (2, 3)
    )
    return tree.Arc(offset, source, target)


def _has_expressions(guard: str | None) -> bool:
    return guard is not None and any(tree.expressions_in(guard))


def _number(match: re.Match[str], group: int) -> expression.Expression | None:
    return None if match[group] is None else expression.number(match.start(group), match[group])
