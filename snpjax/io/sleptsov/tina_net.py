"""Tina `.net`: declarations, nodes in order of their first mention. Line ends are blanks, but for
comments."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from ...sleptsov import Petri, SleptsovNet
from ..losses import Losses
from ..source import Report, Source, Unreadable, shortened
from .build_net import build_net
from .comment_data import NO_SIZES, Remark, rule_remark
from .draft import MAX_PAIRS, Dropping, NetDraft
from .flattening import with_pairs_for_order
from .tina import NAME, PLAIN_ARC, Mark, mark_of, name_of, number_of, written_names


_WORD = re.compile(
    rf"""\s*(?:
        (?P<arrow>->)
      | (?P<name>{NAME})(?P<mark>[*?!]-?\w*)?
      | (?P<colon>:)
      | \((?P<tokens>[^()\n]*)\)
      | (?P<interval>[\[\]]\s*\w+\s*,\s*\w+\s*[\[\]])
      | (?P<beats>[<>])
      | (?P<comment>\#)
      | (?P<other>\S)
    )""",
    re.VERBOSE,
)
_UNTIMED = re.compile(r"\[\s*0\s*,\s*w\s*\[")
_TOLD = ("tr", "pl", "pr", "net")
_KEYWORDS = (*_TOLD, "lb", "nt")
_KEYWORD = rf"(?:{'|'.join(_KEYWORDS)})(?![^\s#{{])"
_SIDE = rf"(?: (?!{_KEYWORD})[\w']+(?:\*[1-9][0-9]{{0,17}})?)*+"
_PLAIN = re.compile(
    r"pl (?P<place>[\w']+)(?: \((?P<tokens>[0-9]{1,18})\))?"
    rf"|tr (?P<transition>[\w']+)(?P<input>{_SIDE}) ->(?P<output>{_SIDE})"
)
_BEGINNING = re.compile(rf"\s*{_KEYWORD}")
#: Lines that say nothing about the net.
_SKIPPED = re.compile(
    rf"\s*(?:#.*|lb(?:\s+(?:{NAME}|\S+)){{0,2}}\s*|nt(?:\s+(?:{NAME}|\S+)){{0,3}}\s*)?"
)


class _Word(NamedTuple):
    kind: str
    text: str
    mark: str
    offset: int


def read_net_format(source: Source, *, drop_time: bool = False) -> SleptsovNet:
    """The net of a Tina `.net` file."""
    report = Report(source)
    reader = _Reader(report, drop_time)
    reader.read(source.text)
    rule = Remark(source, 0, "#", NO_SIZES, 0, report).rule(Petri())
    return build_net(report, **reader.draft.arguments(), name=reader.name, rule=rule)


def write_net_format(net: SleptsovNet, losses: Losses) -> str:
    """The text of a `.net` file: places, so that they keep their order, transitions, priorities."""
    net = with_pairs_for_order(net, losses)
    places, transitions = (
        [f"{{{name}}}" if name in _KEYWORDS else name for name in written_names(names, losses)]
        for names in (net.place_names, net.transition_names)
    )
    sides: list[tuple[list[str], list[str]]] = [([], []) for _ in transitions]
    for kind, arcs in (("*", net.inputs), ("?", net.tests), ("?-", net.inhibitors)):
        for place, transition, weight in arcs.triples():
            mark = "" if kind == "*" and weight == 1 else f"{kind}{weight}"
            sides[transition][0].append(places[place] + mark)
    for place, transition, weight in net.outputs.triples():
        sides[transition][1].append(places[place] + (f"*{weight}" if weight > 1 else ""))
    lines = [f"net {written_names([net.name], losses)[0]}"] if net.name else []
    lines += [
        f"pl {name}" + (f" ({tokens})" if tokens else "")
        for name, tokens in zip(places, net.marking.tolist(), strict=True)
    ]
    lines += [
        " ".join(["tr", name, *inputs, "->", *outputs])
        for name, (inputs, outputs) in zip(transitions, sides, strict=True)
    ]
    lines += [f"pr {transitions[a]} > {transitions[b]}" for a, b in net.priorities.tolist()]
    text = "".join([f"{line}\n" for line in lines]) or "# an empty net\n"
    return text + rule_remark(net)


def _begins_declaration(words: list[_Word], at: int) -> bool:
    """Whether a word is a keyword, which is followed by a name, and not a name itself."""
    word, before = words[at], words[at - 1]
    if word.text not in _KEYWORDS or word.mark or before.kind == "colon":
        return False
    is_named = at + 1 < len(words) and words[at + 1].kind == "name"
    is_name = before.text in _KEYWORDS and (at == 1 or _begins_declaration(words, at - 1))
    return is_named and not is_name


class _Reader:
    def __init__(self, report: Report, drop_time: bool):
        self.report, self.drop = report, Dropping(report, drop_time)
        self.draft = NetDraft(report)
        self.name = ""
        self._priorities: list[tuple[list[_Word], list[_Word]]] = []

    def read(self, text: str) -> None:
        lines: list[tuple[str, int]] = []  # of the last declaration, and where they begin
        at = 0
        for line in text.split("\n"):
            if _BEGINNING.match(line):
                self._lines(lines)
                lines = []
                if self.report.is_full:
                    break
            if not _SKIPPED.fullmatch(line):
                lines.append((line, at))
            at += len(line) + 1
        self._lines(lines)
        self._take_priorities()

    def _lines(self, lines: list[tuple[str, int]]) -> None:
        """Take lines of which only the first begins with a keyword."""
        if len(lines) == 1 and (plain := _PLAIN.fullmatch(lines[0][0])) is not None:
            self._plain_declaration(plain, lines[0][1])
            return
        with suppress(Unreadable):
            words = [word for line, at in lines for word in self._words(line, at)]
            starts = [i for i in range(1, len(words)) if _begins_declaration(words, i)]
            for start, end in pairwise([0, *starts, len(words)]):
                with suppress(Unreadable):
                    self._declaration(words[start:end])

    def _plain_declaration(self, line: re.Match[str], at: int) -> None:
        """A declaration as programs write it, of which files have millions."""
        draft = self.draft
        if line["place"] is not None:
            place = draft.place(line["place"])
            if line["tokens"]:
                draft.mark(place, int(line["tokens"]), at + line.start("tokens"))
            return
        transition = draft.transition(line["transition"])
        for kind in ("input", "output"):
            offset = at + line.start(kind) + 1
            for word in line[kind].split():
                name, _, weight = word.partition("*")
                draft.arc(kind, draft.place(name), transition, int(weight or 1), offset)
                offset += len(word) + 1

    def _words(self, line: str, at: int) -> Iterator[_Word]:
        end = 0
        while end < len(line):
            match = _WORD.match(line, end)
            if match is None or match.lastgroup == "comment":
                return  # blanks at the end, or a comment
            kind = "name" if match.lastgroup == "mark" else str(match.lastgroup)
            yield _Word(kind, match[kind], match["mark"] or "", at + match.start(kind))
            end = match.end()
            if kind == "other" and match["other"] == "{":
                self.report.fail(
                    at + match.start("other"), "'{' begins a name that no '}' ends in its line"
                )

    def _declaration(self, words: list[_Word]) -> None:
        if not words:
            return
        keyword, *rest = words
        if keyword.text not in _KEYWORDS or keyword.mark:
            known = ", ".join(_KEYWORDS)
            message = f"{shortened(keyword.text)!r} begins no declaration (known: {known})"
            self.report.fail(keyword.offset, message)
        if keyword.text not in _TOLD:
            return
        for word in rest:
            if word.kind == "other":
                message = f"{word.text!r} is not expected in a declaration (names may need braces)"
                self.report.fail(word.offset, message)
        {
            "tr": self._transition,
            "pl": self._place,
            "pr": self._priority,
            "net": self._net,
        }[keyword.text](keyword, rest)

    def _net(self, keyword: _Word, words: list[_Word]) -> None:
        self.name = self._node(keyword, words)
        self._refuse_more(words)

    def _transition(self, keyword: _Word, words: list[_Word]) -> None:
        name = self._node(keyword, words)
        transition = self.draft.transition(name)
        self._skip_label(words)
        if words and words[0].kind == "interval":
            interval = words.pop(0)
            if not _UNTIMED.fullmatch(interval.text):
                what = f"the interval {shortened(interval.text)} of transition {shortened(name)!r}"
                self.drop(interval.offset, what, "[0,w[")
        for word, mark, is_output in self._arcs(words):
            place = self.draft.place(name_of(word.text))
            if mark is not None:
                kind = "output" if is_output else mark.kind
                self.draft.arc(kind, place, transition, mark.weight, word.offset)

    def _place(self, keyword: _Word, words: list[_Word]) -> None:
        place = self.draft.place(self._node(keyword, words))
        self._skip_label(words)
        if words and words[0].kind == "tokens":
            marking = words.pop(0)
            tokens = number_of(marking.text.strip())
            if tokens is None:
                message = (
                    f"({shortened(marking.text)}) is not a marking (write a number from 0 that "
                    "fits in int64, as in (3) or (2K))"
                )
                self.report.error(marking.offset, message)
            else:
                self.draft.mark(place, tokens, marking.offset)
        for word, mark, is_consumer in self._arcs(words, inputs_first=False):
            transition = self.draft.transition(name_of(word.text))
            if mark is not None:
                kind = mark.kind if is_consumer else "output"
                self.draft.arc(kind, place, transition, mark.weight, word.offset)

    def _priority(self, keyword: _Word, words: list[_Word]) -> None:
        signs = [at for at, word in enumerate(words) if word.kind == "beats"]
        names = [word for word in words if word.kind != "beats"]
        if len(signs) != 1 or not 0 < signs[0] < len(words) - 1:
            message = "a priority is written `pr t ... > u ...`, or with <"
            self.report.fail(keyword.offset, message)
        for word in names:
            if word.kind != "name" or word.mark:
                self.report.fail(word.offset, f"{word.text + word.mark!r} is not a transition")
        left, right = words[: signs[0]], words[signs[0] + 1 :]
        self._priorities.append((left, right) if words[signs[0]].text == ">" else (right, left))

    def _take_priorities(self) -> None:
        """Transitions of priorities are declared elsewhere, perhaps later."""
        for left, right in self._priorities:
            sides = []
            for side in (left, right):
                known = []
                for word in side:
                    transition = self.draft.transitions.get(name_of(word.text))
                    if transition is None:
                        message = f"there is no transition {name_of(word.text)!r} (declare it)"
                        self.report.error(word.offset, message)
                    else:
                        known.append((transition, word.offset))
                sides.append(known)
            if self.draft.num_pairs + len(sides[0]) * len(sides[1]) > MAX_PAIRS:
                message = f"there are more than {MAX_PAIRS} priorities (chain them: a > b, b > c)"
                self.report.error(left[0].offset, message)
                return
            for beats, _ in sides[0]:
                for beaten, offset in sides[1]:
                    self.draft.priority(beats, beaten, offset)

    # Parts of declarations

    def _node(self, keyword: _Word, words: list[_Word]) -> str:
        if not words or words[0].kind != "name" or words[0].mark:
            at = words[0].offset if words else keyword.offset
            self.report.fail(at, f"a name is expected after `{keyword.text}`")
        word = words.pop(0)
        if word.text == "{}":
            self.report.fail(word.offset, "a name is empty")
        return name_of(word.text)

    def _skip_label(self, words: list[_Word]) -> None:
        if words and words[0].kind == "colon":
            colon = words.pop(0)
            if not words or words[0].kind != "name":
                self.report.fail(colon.offset, "a label is expected after ':'")
            words.pop(0)

    def _arcs(
        self, words: list[_Word], *, inputs_first: bool = True
    ) -> Iterator[tuple[_Word, Mark | None, bool]]:
        """The names beside the arrow, their marks, and whether they stand after it."""
        arrows = [at for at, word in enumerate(words) if word.kind == "arrow"]
        if words and len(arrows) != 1:
            found = "no" if not arrows else "more than one"
            self.report.fail(words[0].offset, f"{found} `->` (write inputs -> outputs)")
        others = [word for word in words if word.kind not in ("name", "arrow")]
        self._refuse_more(others)
        is_after = False
        for word in words:
            if word.kind == "arrow":
                is_after = True
            else:
                yield word, self._mark(word, may_test=is_after != inputs_first), is_after

    def _mark(self, word: _Word, *, may_test: bool = True) -> Mark | None:
        if word.text == "{}":
            self.report.error(word.offset, "a name is empty")
            return None
        if not word.mark:
            return PLAIN_ARC
        mark = mark_of(word.mark, may_test=may_test)
        if isinstance(mark, str):
            self.report.error(word.offset, f"{shortened(word.text + word.mark)}: {mark}")
            return None
        return mark

    def _refuse_more(self, words: list[_Word]) -> None:
        if words:
            message = f"{shortened(words[0].text)!r} is not expected here"
            self.report.fail(words[0].offset, message)
