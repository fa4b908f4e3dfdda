"""LSN, low-level nets: a line for each arc, by numbers from 1.

Lines of millions of arcs are read as one matrix; only what is wrong is examined line by line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ..._text.counts import plural
from ...sleptsov import Arcs, SleptsovNet
from ..losses import Losses
from ..source import MAX_FINDINGS, Report, Source, shortened
from .build_net import build_net
from .comment_data import Remark, remark
from .flattening import with_pairs_for_order, without_thresholds
from .numbers import MAX_NODES, Words, as_bytes, lines_of, starts_of
from .priorities import tell_cycles


_MAX_HEADER = 1_000  # characters; the rest of a longer line is not examined
HEADER = "the header `m n k l nst`"
_REGULAR, _INHIBITOR, _OUTPUT, _PRIORITY, _NONE = range(5)
_LETTERS = {_REGULAR: "input", _INHIBITOR: "inhibitor", _OUTPUT: "output", _PRIORITY: "priority"}


def read_lsn(source: Source) -> SleptsovNet:
    """The net of an LSN file."""
    report = Report(source)
    low = LowLevel(source, report)
    if low.num_substitutions:
        message = (
            f"nst is {low.num_substitutions}: with substitutions this is an HSN, not an LSN "
            "(name it .hsn, or write 0)"
        )
        report.error(low.offset(0), message)
    return build_net(report, **low.arguments())


def write_lsn(net: SleptsovNet, losses: Losses) -> str:
    """The text of an LSN file, arcs by transition."""
    net = with_pairs_for_order(without_thresholds(net, losses), losses)
    head, arcs, tokens = lsn_parts(net)
    head += " 0\n"
    return "".join(["; m n k l nst\n", head, arcs, tokens, remark(net, ";", 1)])


def lsn_parts(net: SleptsovNet) -> tuple[str, str, str]:
    """The header without the number of substitutions, the lines of arcs, and of the marking."""
    kinds = [
        (net.inputs.place + 1, net.inputs.transition + 1, net.inputs.weight),
        (net.inhibitors.place + 1, net.inhibitors.transition + 1, -net.inhibitors.weight),
        (-net.outputs.place - 1, net.outputs.transition + 1, net.outputs.weight),
    ]
    rows = np.concatenate([np.stack(kind, axis=1) for kind in kinds])
    rows = rows[np.argsort(rows[:, 1], kind="stable")]
    pairs = -net.priorities - 1
    pairs = np.concatenate([pairs, np.zeros((len(pairs), 1), np.int64)], axis=1)
    marked = np.flatnonzero(net.marking)
    head = f"{net.num_places} {net.num_transitions} {len(rows) + len(pairs)} {len(marked)}"
    tokens = np.stack([marked + 1, net.marking[marked]], axis=1)
    return head, lines_of(rows) + lines_of(pairs), lines_of(tokens)


@dataclass(frozen=True)
class _Lines:
    """The lines of a text that are not comments: where they begin and end. Blank ones are apart."""

    starts: Int[np.ndarray, " lines"]
    ends: Int[np.ndarray, " lines"]
    blank: Int[np.ndarray, " blank_lines"]

    @classmethod
    def of(cls, data: bytes) -> "tuple[_Lines, bytes]":
        """The lines, and the text with blanks in place of comments."""
        characters = np.frombuffer(data, np.uint8)
        newlines = np.flatnonzero(characters == ord("\n"))
        starts = np.concatenate([np.zeros(1, np.int64), newlines + 1])
        ends = np.append(newlines, len(data))
        if starts[-1] == len(data):  # nothing stands after the last line end
            starts, ends = starts[:-1], ends[:-1]
        is_comment = characters[starts] == ord(";")
        if np.any(is_comment):
            blanked = bytearray(data)
            for line in np.flatnonzero(is_comment):
                blanked[starts[line] : ends[line]] = b" " * (ends[line] - starts[line])
            data = bytes(blanked)
        starts, ends = starts[~is_comment], ends[~is_comment]
        words = starts_of(data)
        is_blank = np.searchsorted(words, starts) == np.searchsorted(words, ends)
        return cls(starts[~is_blank], ends[~is_blank], starts[is_blank]), data

    def __len__(self) -> int:
        return len(self.starts)


class LowLevel:
    """The header, arcs and marking of an LSN or HSN file, with what is wrong reported.

    `end` is the number of lines that they take, `lines` those of the whole file.
    """

    def __init__(self, source: Source, report: Report):
        self.source, self.report = source, report
        self.lines, self.data = _Lines.of(as_bytes(source.text))
        self.num_places = self.num_transitions = self.num_substitutions = self.end = 0
        self.rows: Int[np.ndarray, "arcs 3"] = np.zeros((0, 3), np.int64)
        self.kinds: Int[np.ndarray, " arcs"] = np.zeros(0, np.int64)
        self._lines_of_rows: Int[np.ndarray, " arcs"] = self.kinds
        self.marking: Int[np.ndarray, " places"] = np.zeros(0, np.int64)
        counts = self._read_header()
        self.is_whole = counts is not None
        if counts is not None:
            self._read_body(*counts)

    def offset(self, line: int) -> int:
        """Where a line stands, comments not counted; past the end it is the last line."""
        if line < len(self.lines):
            return int(self.lines.starts[line])
        return self.end_offset

    @property
    def end_offset(self) -> int:
        """The end of the last line of the file."""
        return max(len(self.source.text.rstrip("\n")), 0)

    def pair_offset(self, pair: int) -> int:
        """Where a priority stands."""
        return self.offset(int(self._lines_of_rows[self.kinds == _PRIORITY][pair]))

    def text(self, line: int) -> str:
        """A line without the blanks around it."""
        return self.source.text[self.lines.starts[line] : self.lines.ends[line]].strip()

    def arguments(self) -> dict[str, Any]:
        """The arguments of the net."""
        sizes = {"places": self.num_places, "transitions": self.num_transitions}
        end = int(self.lines.ends[self.end - 1]) if 0 < self.end <= len(self.lines) else 0
        said = Remark(self.source, end, ";", sizes, 1, self.report)
        return {
            "marking": self.marking,
            "inputs": self._arcs(_REGULAR),
            "outputs": self._arcs(_OUTPUT),
            "inhibitors": self._arcs(_INHIBITOR),
            "priorities": -self.rows[self.kinds == _PRIORITY, :2] - 1,
            "num_transitions": self.num_transitions,
            **said.names(),
        }

    def _arcs(self, kind: int) -> Arcs:
        place, transition, weight = self.rows[self.kinds == kind].T
        return Arcs(np.abs(place) - 1, transition - 1, np.abs(weight))

    def _read_header(self) -> tuple[int, int] | None:
        if len(self.lines) == 0:
            self.report.error(self.end_offset, f"the file has no header ({HEADER} is expected)")
            return None
        end = min(int(self.lines.ends[0]), int(self.lines.starts[0]) + _MAX_HEADER)
        words = Words(self.source, self.data[:end])
        if len(words.values) != 5 or words.wrong:
            if words.wrong:
                for word, problem in words.wrong.items():
                    self.report.error(words.offset(word), f"in {HEADER}: {problem}")
            else:
                found = plural(len(words.values), "number")
                message = f"{found} in the header (5 are expected: m n k l nst)"
                self.report.error(self.offset(0), message)
            return None
        names = ("m", "n", "k", "l", "nst")
        for word, (name, number) in enumerate(zip(names, words.values.tolist(), strict=True)):
            if number < 0:
                message = f"{name} is {number} in the header (write 0 or more)"
            elif name in "mn" and number > MAX_NODES:
                what = "places" if name == "m" else "transitions"
                message = f"{number} {what} are more than the {MAX_NODES} that are read"
            else:
                continue
            self.report.error(words.offset(word), message)
        if self.report.has_errors:
            return None
        self.num_places, self.num_transitions, *counts, self.num_substitutions = (
            words.values.tolist()
        )
        self.marking = np.zeros(self.num_places, np.int64)
        return counts[0], counts[1]

    def _read_body(self, num_arcs: int, num_marked: int) -> None:
        self.end = 1 + num_arcs + num_marked
        last_arc = min(1 + num_arcs, len(self.lines))
        last = min(self.end, len(self.lines))
        stop = int(self.lines.ends[last - 1])
        start = int(self.lines.ends[0])
        self.words = Words(self.source, self.data[start:stop], start)
        begins = self.words.starts + start
        first = np.searchsorted(begins, self.lines.starts[:last])
        counts = np.diff(np.append(first, len(begins)))
        for at in self.lines.blank[self.lines.blank < stop][:MAX_FINDINGS].tolist():
            message = "a blank line among those of the net (remove it; converters misread it)"
            self.report.error(at, message)
        has_shape = self._tell_shapes(range(1, last_arc), counts, 3, "arc", num_arcs)
        arcs = np.flatnonzero(has_shape) + 1
        has_shape = self._tell_shapes(range(last_arc, last), counts, 2, "marking", num_marked)
        marked = np.flatnonzero(has_shape) + last_arc
        is_shaped = len(arcs) + len(marked) == last - 1
        for word, problem in list(self.words.wrong.items())[:MAX_FINDINGS]:
            self.report.error(self.words.offset(word), problem)
        is_sound = np.append(self.words.is_sound, np.ones(3, bool))
        arcs = arcs[np.all(is_sound[first[arcs, None] + np.arange(3)], axis=1)]
        marked = marked[np.all(is_sound[first[marked, None] + np.arange(2)], axis=1)]
        self._take_arcs(arcs, self.words.values[first[arcs, None] + np.arange(3)])
        self._take_marking(marked, self.words.values[first[marked, None] + np.arange(2)])
        # A line that was left out or is too short moves all others.
        if self.end > len(self.lines) and is_shaped:
            found_arcs, found_marked = last_arc - 1, last - last_arc
            message = (
                f"unexpected end of file after {plural(found_arcs, 'line')} of arcs and "
                f"{found_marked} of the marking (the header promises {num_arcs} and {num_marked})"
            )
            self.report.error(self.end_offset, message)
            self.is_whole = False
        elif not is_shaped:
            self.is_whole = False

    def _tell_shapes(
        self, lines: range, counts: np.ndarray, expected: int, what: str, promised: int
    ) -> Bool[np.ndarray, " lines"]:
        """Which lines have as many words as expected; the others are reported."""
        here = counts[lines.start : lines.stop]
        of = "v1 v2 w" if what == "arc" else "place tokens"
        for line in (np.flatnonzero(here != expected)[:MAX_FINDINGS] + lines.start).tolist():
            words = plural(int(counts[line]), "word")
            message = (
                f"{words} in the {what} line {shortened(self.text(line))!r}: {expected} are "
                f"expected, `{of}` (the header promises {plural(promised, f'{what} line')})"
            )
            self.report.error(self.offset(line), message)
        return here == expected

    # Arcs

    def _take_arcs(self, lines: Int[np.ndarray, " arcs"], rows: Int[np.ndarray, "arcs 3"]) -> None:
        m, n = self.num_places, self.num_transitions
        v1, v2, w = rows.T
        kinds = np.full(len(rows), _NONE)
        to_transition = (v2 > 0) & (v2 <= n)
        from_place = (v1 > 0) & (v1 <= m) & to_transition
        kinds[from_place & (w > 0)] = _REGULAR
        kinds[from_place & (w == -1)] = _INHIBITOR
        kinds[(v1 < 0) & (v1 >= -m) & to_transition & (w > 0)] = _OUTPUT
        kinds[(v1 < 0) & (v1 >= -n) & (v2 < 0) & (v2 >= -n) & (w == 0)] = _PRIORITY
        bad = np.flatnonzero(kinds == _NONE)
        for arc in bad[:MAX_FINDINGS].tolist():
            for problem in _arc_problems(rows[arc].tolist(), m, n):
                self.report.error(self.offset(int(lines[arc])), problem)
        self._tell_duplicates(lines, rows, kinds)
        keep = kinds != _NONE
        self.rows, self.kinds, self._lines_of_rows = rows[keep], kinds[keep], lines[keep]
        is_pair = self.kinds == _PRIORITY
        tell_cycles(
            -self.rows[is_pair, :2] - 1,
            n,
            self.report,
            self.pair_offset,
            lambda transition: f"{transition + 1}",
        )

    def _tell_duplicates(self, lines: np.ndarray, rows: np.ndarray, kinds: np.ndarray) -> None:
        # Each of both numbers takes 26 bits at most, see MAX_NODES.
        keys = (kinds << 52) | (np.abs(rows[:, 0]) << 26) | np.abs(rows[:, 1])
        keys[kinds == _NONE] = -1 - np.arange(np.sum(kinds == _NONE))
        order = np.argsort(keys, kind="stable")
        same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) + 1
        if len(same) == 0:
            return
        first_of_key = {}
        for position in same[:MAX_FINDINGS].tolist():
            arc = int(order[position])
            first = first_of_key.setdefault(int(keys[arc]), int(order[position - 1]))
            line, _ = self.source.position(self.offset(int(lines[first])))
            message = (
                f"duplicate {_LETTERS[int(kinds[arc])]} arc {' '.join(map(str, rows[arc, :2]))}: "
                f"first in line {line} (remove one, or add their weights up)"
            )
            self.report.error(self.offset(int(lines[arc])), message)

    # Marking

    def _take_marking(
        self, lines: Int[np.ndarray, " marked"], rows: Int[np.ndarray, "marked 2"]
    ) -> None:
        place, tokens = rows.T
        is_place = (place >= 1) & (place <= self.num_places)
        for row in np.flatnonzero(~is_place | (tokens < 0))[:MAX_FINDINGS].tolist():
            for problem in _marking_problems(rows[row].tolist(), self.num_places):
                self.report.error(self.offset(int(lines[row])), problem)
        lines, place, tokens = lines[is_place], place[is_place], tokens[is_place]
        _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
        again = np.flatnonzero(first[inverse] != np.arange(len(place)))
        for row in again[:MAX_FINDINGS].tolist():
            line, _ = self.source.position(self.offset(int(lines[first[inverse[row]]])))
            message = f"place {place[row]} is marked again: first in line {line} (remove one)"
            self.report.error(self.offset(int(lines[row])), message)
        self.marking[place - 1] = tokens


def _arc_problems(row: list[int], m: int, n: int) -> Iterator[str]:
    """Why a line is not an arc."""
    v1, v2, w = row
    if v1 == 0 or v2 == 0:
        yield f"index 0 in the arc {v1} {v2} (indices start at 1)"
        return
    if v1 > 0 and v2 < 0:
        yield (
            f"the signs of {v1} {v2} mean no arc (write place transition, -place transition, or "
            "-transition -transition for a priority)"
        )
        return
    if v2 < 0:
        for transition in (-v1, -v2):
            if transition > n:
                yield f"transition {transition} is out of range (there are {n})"
        if w != 0:
            yield f"a priority has the weight 0, not {w} (write 0)"
        return
    if abs(v1) > m:
        yield f"place {abs(v1)} is out of range (there are {m})"
    if v2 > n:
        yield f"transition {v2} is out of range (there are {n})"
    if v1 > 0 and (w == 0 or w < -1):
        yield f"an input arc has the weight {w} (write 1 or more, or -1 for an inhibitor)"
    if v1 < 0 and w <= 0:
        yield f"an output arc has the weight {w} (write 1 or more; only input arcs inhibit)"


def _marking_problems(row: list[int], m: int) -> Iterator[str]:
    place, tokens = row
    if place < 1:
        yield f"place {place} is out of range (indices start at 1)"
    elif place > m:
        yield f"place {place} is out of range (there are {m})"
    if tokens < 0:
        yield f"place {place} holds {tokens} tokens (write 0 or more)"
