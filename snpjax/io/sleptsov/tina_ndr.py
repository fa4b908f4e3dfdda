"""Tina `.ndr`, nets as they are drawn: a line for each node and edge, with coordinates.

Coordinates are kept in the notes of the net, `positions`, and written back. The label of a
transition may name a sub-net that is put in its place, as the tools of Sleptsov nets do.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from ..._text.counts import plural
from ...drawing.coordinates import is_coordinate
from ...sleptsov import Petri, Sleptsov, SleptsovNet
from ..json_checks import noted_position, out_of_range
from ..losses import Losses
from ..source import Report, Source, shortened
from .build_net import build_net
from .comment_data import NO_SIZES, Remark, rule_remark
from .draft import Dropping, NetDraft
from .flattening import with_pairs_for_order
from .substituting import Mapped, Nesting, PlacedSubstitution, Role, build_high_net
from .tina import mark_of, name_of, number_of, written_names


_WORD = re.compile(r"\{(?:[^{}\\]|\\.)*\}|\S+")
_WEIGHT = re.compile("[1-9][0-9]{0,17}")
_SUBSTITUTION = "*HSN("
_ROLES: dict[str, Role] = {"i": "input", "o": "output", "s": "start", "f": "finish"}
_LINES = {
    "p": "`p x y name marking anchor`",
    "t": "`t x y name eft lft anchor`",
    "e": "`e source target weight anchor`",
    "h": "`h name`",
}
#: Words of a line of each kind, its letter included: without and with a label, or curves.
_LENGTHS = {"p": (6, 8), "t": (7, 10), "e": (5, 7, 9), "h": (2, 3, 4)}
_LABEL = 8  # the word of a transition that may name a sub-net
_COLUMNS = 20  # nodes without coordinates are drawn in a grid
_GAP = 60.0


class _Line:
    """A line and its words. Where a word stands is found when it is requested."""

    __slots__ = ("text", "at", "words")

    def __init__(self, text: str, at: int):
        self.text, self.at = text, at
        self.words = _WORD.findall(text) if "{" in text else text.split()

    def offset(self, word: int) -> int:
        starts = [match.start() for match in _WORD.finditer(self.text)]
        return self.at + starts[word]


def read_ndr(
    source: Source, *, drop_time: bool = False, max_flat_size: int | None = None
) -> SleptsovNet:
    """The net of a Tina `.ndr` file, linked where labels name sub-nets.

    - `max_flat_size`: as in `link`; `None` is its default.
    """
    report = Report(source)
    reader = _Reader(report, drop_time)
    reader.read(source.text)
    # Sub-nets are those of Sleptsov nets; all other drawings are of Petri nets.
    usual = Sleptsov() if reader.blocks else Petri()
    rule = Remark(source, 0, "#", NO_SIZES, 0, report).rule(usual)
    arguments = {**reader.arguments(), "rule": rule}
    if not reader.blocks:
        return build_net(report, **arguments)
    draft = reader.draft
    nesting = Nesting.of(source, max_flat_size)
    high = build_high_net(report, reader.blocks, nesting, arguments, draft.pair_offset)
    return nesting.link(high)


def write_ndr(net: SleptsovNet, losses: Losses) -> str:
    """The text of an `.ndr` file. Nodes stand where the notes say, else in a grid."""
    net = with_pairs_for_order(net, losses)
    places, transitions = (
        written_names(names, losses) for names in (net.place_names, net.transition_names)
    )
    shared = set(net.place_names) & set(net.transition_names)
    if shared:
        for name in sorted(shared):
            losses.add(f"a place and a transition of one name, {name!r}", "renamed in the file")
        transitions = written_names(_apart(net.transition_names, set(net.place_names)), losses)
    positions = _positions(net)
    lines = [
        f"p {x} {y} {name} {tokens} n"
        for (x, y), name, tokens in zip(positions, places, net.marking.tolist(), strict=False)
    ]
    at_transitions = positions[len(places) :]
    lines += [
        f"t {x} {y} {name} 0 w n" for (x, y), name in zip(at_transitions, transitions, strict=True)
    ]
    for mark, arcs in (("", net.inputs), ("?", net.tests), ("?-", net.inhibitors)):
        for place, t, weight in arcs.triples():
            lines.append(f"e {places[place]} {transitions[t]} {mark}{weight} n")
    for place, t, weight in net.outputs.triples():
        lines.append(f"e {transitions[t]} {places[place]} {weight} n")
    lines += [f"e {transitions[a]} {transitions[b]} 1 n" for a, b in net.priorities.tolist()]
    lines.append(f"h {written_names([net.name], losses)[0]}")
    return "".join([*(f"{line}\n" for line in lines), rule_remark(net)])


def _apart(names: Sequence[str], taken: set[str]) -> list[str]:
    """The names, with primes where a node of another kind has one."""
    all_taken, found = taken | set(names), []
    for name in names:
        new = name
        while name in taken and new in all_taken:
            new += "'"
        all_taken.add(new)
        found.append(new)
    return found


class _Reader:
    def __init__(self, report: Report, drop_time: bool):
        self.report, self.drop = report, Dropping(report, drop_time)
        self.draft = NetDraft(report)
        self.blocks: list[PlacedSubstitution] = []
        self.positions: dict[str, list[float]] = {}
        self.name = ""
        self._nodes: dict[str, _Line] = {}
        self._edges: list[_Line] = []
        self._labels: list[tuple[int, _Line]] = []

    def arguments(self) -> dict[str, Any]:
        notes = {"positions": self.positions} if self.positions else {}
        return {**self.draft.arguments(), "name": self.name, "notes": notes}

    def read(self, text: str) -> None:
        at = 0
        for text_of_line in text.split("\n"):
            if not text_of_line.startswith("#"):
                line = _Line(text_of_line, at)
                if line.words:
                    self._line(line)
                    if self.report.is_full:
                        return
            at += len(text_of_line) + 1
        for line in self._edges:  # nodes may follow
            self._edge(line)
        for transition, line in self._labels:
            self._substitution(transition, line)

    def _line(self, line: _Line) -> None:
        words = line.words
        letter = words[0]
        if letter not in _LINES:
            known = ", ".join(_LINES.values())
            message = f"{shortened(letter)!r} begins no line of a drawing (known: {known})"
            self.report.error(line.offset(0), message)
            return
        unclosed = [i for i, word in enumerate(words) if word[0] == "{" and word[-1] != "}"]
        if unclosed:
            message = "'{' begins a name that no '}' ends in its line"
            self.report.error(line.offset(unclosed[0]), message)
        elif len(words) not in _LENGTHS[letter]:
            message = f"{plural(len(words), 'word')}: {_LINES[letter]} is expected"
            self.report.error(line.offset(0), message)
        elif letter == "e":
            self._edges.append(line)
        elif letter == "h":
            self.name = name_of(words[1])
        else:
            self._node(letter, line)

    def _node(self, letter: str, line: _Line) -> None:
        words = line.words
        name = name_of(words[3])
        first = self._nodes.setdefault(name, line)
        if first is not line:
            number, _ = self.report.source.position(first.at)
            message = f"two nodes have the name {name!r}: first in line {number} (rename one)"
            self.report.error(line.offset(3), message)
            return
        if not name:
            self.report.error(line.offset(3), "a node has an empty name")
            return
        self.positions[name] = [self._coordinate(line, word, name) for word in (1, 2)]
        if letter == "p":
            place = self.draft.place(name)
            tokens = number_of(words[4])
            if tokens is None:
                message = (
                    f"{shortened(words[4])!r} is not a marking (write a number from 0 that fits in "
                    "int64)"
                )
                self.report.error(line.offset(4), message)
            else:
                self.draft.mark(place, tokens, line.at)
            return
        transition = self.draft.transition(name)
        eft = 4 if len(words) == 7 else 5
        interval = words[eft : eft + 2]
        if interval != ["0", "w"]:
            what = f"the interval {shortened(' '.join(interval))} of transition {shortened(name)!r}"
            self.drop(line.offset(eft), what, "0 w")
        if len(words) == 10 and name_of(words[_LABEL]).startswith(_SUBSTITUTION):
            self._labels.append((transition, line))

    def _coordinate(self, line: _Line, word: int, name: str) -> float:
        try:
            number = float(line.words[word])
        except ValueError:
            number = math.nan
        if is_coordinate(number):
            return number
        message = f"{shortened(line.words[word])!r} is not a coordinate (write one)"
        if math.isfinite(number):
            message = out_of_range(number, name)
        self.report.error(line.offset(word), message)
        return 0.0

    def _edge(self, line: _Line) -> None:
        words, transitions = line.words, self.draft.transitions
        if len(words) == 5 and _WEIGHT.fullmatch(words[3]):  # as nearly all are
            places, (_, source, target, weight, _) = self.draft.places, words
            if source in places and target in transitions:
                numbers = places[source], transitions[target]
                self.draft.arc("input", *numbers, int(weight), line.at)
                return
            if source in transitions and target in places:
                numbers = places[target], transitions[source]
                self.draft.arc("output", *numbers, int(weight), line.at)
                return
        # Angle and radius of a curve may follow the source, the target, or both.
        has_curve = len(words) == 9 or (len(words) == 7 and name_of(words[4]) in self._nodes)
        ends = 1, (4 if has_curve else 2)
        source, target = (name_of(words[end]) for end in ends)
        is_known = True
        for end, name in zip(ends, (source, target), strict=True):
            if name not in self._nodes:
                self.report.error(line.offset(end), f"there is no node {name!r} (draw it)")
                is_known = False
        if not is_known:
            return
        weight, at = words[-2], len(words) - 2
        if source in transitions and target in transitions:
            if weight != "1":
                message = f"a priority has the weight 1, not {shortened(weight)} (write 1)"
                self.report.error(line.offset(at), message)
            self.draft.priority(transitions[source], transitions[target], line.at)
            return
        if source not in transitions and target not in transitions:
            message = f"an edge joins the places {source!r} and {target!r} (no arc does)"
            self.report.error(line.offset(1), message)
            return
        is_input = target in transitions
        mark = mark_of(weight if weight[0] in "?!" else f"*{weight}", may_test=is_input)
        place, transition = (source, target) if is_input else (target, source)
        if isinstance(mark, str):
            self.report.error(line.offset(at), mark)
        else:
            kind = mark.kind if is_input else "output"
            numbers = self.draft.places[place], transitions[transition]
            self.draft.arc(kind, *numbers, mark.weight, line.at)

    def _substitution(self, transition: int, line: _Line) -> None:
        """A label `{*HSN(file i hp lp ... o hp lp s hp lp f hp lp)}`, places hp by name."""
        text, at = name_of(line.words[_LABEL]), line.offset(_LABEL)
        words = _WORD.findall(text[len(_SUBSTITUTION) : -1])
        triples = [words[first : first + 3] for first in range(1, len(words), 3)]
        if not text.endswith(")") or not triples or len(triples[-1]) != 3:
            message = (
                f"the label {shortened(text)} is not a substitution (write "
                "{*HSN(file i place number o place number s place number f place number)})"
            )
            self.report.error(at, message)
            return
        block = PlacedSubstitution(transition, at, words[0], at)
        for role, place, number in triples:
            found = self.draft.places.get(name_of(place))
            lp = number_of(number)
            if role not in _ROLES:
                message = f"{role!r} in a substitution is none of i, o, s and f"
            elif found is None:
                message = f"there is no place {name_of(place)!r} for a substitution"
            elif not lp:
                message = f"{number!r} is not a place of a sub-net (write a number from 1)"
            else:
                block.mapped.append(Mapped(_ROLES[role], (found, lp - 1), at))
                continue
            self.report.error(at, message)
        self.blocks.append(block)


def _positions(net: SleptsovNet) -> list[tuple[float, float]]:
    """Where nodes are drawn, places first."""
    found: list[tuple[float, float]] = []
    for number, name in enumerate([*net.place_names, *net.transition_names]):
        row, column = divmod(number, _COLUMNS)
        x, y = noted_position(net.notes, name) or ((column + 1) * _GAP, (row + 1) * _GAP)
        found.append((float(x), float(y)))
    return found
