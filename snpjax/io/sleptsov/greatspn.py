"""GreatSPN `.net`: generalised stochastic Petri nets, a line for each node and arc.

    |0|
    |
    f  marking parameters  places  rate parameters  transitions  groups  0  0
    (marking parameter)  name  value  x y  layer
    (place)  name  tokens  x y  x y  layers
    (rate parameter)  name  value  x y  layer
    (group of immediate transitions)  name  x y  priority
    (transition)  name  rate  servers  group  input arcs  orientation  x y  x y  x y  layers
        (input arc)  weight  place  points  layers  and a line for each point
        the number of output arcs, and these; that of inhibitor arcs, and these

Places count from 1. Layers end with a 0; what follows them are colours, or functions of the
marking, which are refused: nets have plain tokens. Group 0 are timed transitions, 127 those with
any other distribution. A negative number of tokens, or rate, is that of a parameter, and so is a
weight from 20,000 on.

??? cite "Source"
    Amparore, Balbo, Beccuti, Donatelli, Franceschinis 2016; read as the tool itself does.
"""

import re
from contextlib import suppress
from typing import NoReturn, TypeVar

from ...sleptsov import Petri, SleptsovNet
from ..source import Report, Source, Unreadable, shortened
from .build_net import build_net
from .draft import Dropping, Kind, NetDraft
from .numbers import MAX_NODES, integer


_BAR = re.compile(r"^\|[^\S\n]*(?:\n|\Z)", re.MULTILINE)
#: An arc without points and layers, as nearly all are.
_ARC_LINE = re.compile(r"\s*([1-9][0-9]{0,17})\s+([1-9][0-9]{0,8})\s+0\s+0\s*")
_REAL = r"\s*[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?(?=\s|\Z)"
_REALS = {count: re.compile(rf"(?:{_REAL}){{{count}}}") for count in (2, 4, 6)}
_WORD = re.compile(r"\S+")
_COUNTS = ("marking parameters", "places", "rate parameters", "transitions", "groups")
_OTHER_DISTRIBUTION = 127
_OF_MARKING = -510.0  # in place of a rate: a function of the marking, in a .def file
_NO_VALUE = -7134.0  # of a parameter
_FIRST_PARAMETER = 20_000  # as a weight
_COLOURED = -10_000  # less than this, as tokens
_ARCS: tuple[Kind, ...] = ("input", "output", "inhibitor")
_PLAIN = "only nets with plain tokens are read (unfold the net first)"


Number = TypeVar("Number", int, float)


def read_greatspn(source: Source, *, drop_time: bool = False) -> SleptsovNet:
    """The net of a GreatSPN `.net` file. Immediate transitions beat timed ones, and those of a
    larger priority beat the others.
    """
    report = Report(source)
    reader = _Reader(report, drop_time)
    with suppress(Unreadable):
        reader.read()
    return build_net(report, **reader.draft.arguments(), rule=Petri())


class _Line:
    """A line and its words, taken one by one."""

    def __init__(self, text: str, at: int, report: Report):
        self.text, self.at, self.report = text, at, report
        self._end = 0
        self.offset = at  # of the word that was taken last

    def word(self, what: str) -> str:
        """The next word. **Raises:** `Unreadable` if there is none."""
        match = _WORD.search(self.text, self._end)
        if match is None:
            end = self.at + max(len(self.text.rstrip()) - 1, 0)
            self.fail(f"{what} is expected at the end of this line", end)
        self._end = match.end()
        self.offset = self.at + match.start()
        return match.group()

    def integer(self, what: str) -> int:
        number = integer(self.word(what))
        if isinstance(number, str):
            self.fail(f"{what}: {number}")
        return number

    def count(self, what: str) -> int:
        """A number of things that follow."""
        number = self.integer(f"the number of {what}")
        if not 0 <= number <= MAX_NODES:
            self.fail(f"the number of {what} is {number} (write 0 to {MAX_NODES})")
        return number

    def real(self, what: str) -> float:
        word = self.word(what)
        try:
            return float(word)
        except ValueError:
            self.fail(f"{what}: {shortened(word)!r} is not a number (write one)")

    def skip_reals(self, count: int) -> None:
        plain = _REALS[count].match(self.text, self._end)
        if plain is not None:
            self._end = plain.end()
            return
        for _ in range(count):
            self.real("a coordinate")

    def rest(self) -> str:
        """What follows the layers, where anything does."""
        while self.integer("a layer, or the 0 after the last one"):
            pass
        match = _WORD.search(self.text, self._end)
        if match is None:
            return ""
        self.offset = self.at + match.start()
        return self.text[match.start() :].strip()

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        self.report.fail(self.offset if offset is None else offset, message)


class _Reader:
    def __init__(self, report: Report, drop_time: bool):
        self.report, self._drop = report, Dropping(report, drop_time)
        self.draft = NetDraft(report)
        self._text = report.source.text
        self._at = 0  # where the next line begins
        self._tokens: list[int | None] = []  # the values of marking parameters
        self._rates: list[float | None] = []
        self._groups: list[tuple[int, int]] = []  # priority and place of each
        self._levels: dict[int, tuple[int, int]] = {}  # of transitions, see `NetDraft.levels`

    def read(self) -> None:
        num_tokens, num_places, num_rates, num_transitions, num_groups = self._header()
        for _ in range(num_tokens):
            line = self._line("a marking parameter")
            name, value = line.word("a name"), line.integer("its value")
            self._tokens.append(self._given(line, name, value))
        for _ in range(num_places):
            self._place()
        for _ in range(num_rates):
            line = self._line("a rate parameter")
            name, rate = line.word("a name"), line.real("its value")
            self._rates.append(self._given(line, name, rate))
        for _ in range(num_groups):
            line = self._line("a group")
            line.word("a name")
            line.skip_reals(2)
            self._groups.append((line.integer("its priority"), line.offset))
        for _ in range(num_transitions):
            self._transition(num_places)
        match = _WORD.search(self._text, self._at)
        if match is not None:
            message = "there is more after the last transition (correct the numbers of the header)"
            self.report.error(match.start(), message)
        self._check_groups()
        self.draft.levels(self._levels)

    def _line(self, what: str) -> _Line:
        """The next line. **Raises:** `Unreadable` at the end of the file."""
        if self._at >= len(self._text):
            at = max(len(self._text.rstrip()) - 1, 0)
            self.report.fail(at, f"unexpected end of file: {what} is expected")
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        line = _Line(self._text[self._at : end], self._at, self.report)
        self._at = end + 1
        return line

    def _header(self) -> list[int]:
        first = self._line("|0|")
        if not first.text.startswith("|"):
            first.fail("this is no GreatSPN net (which begins with |0|)")
        bar = _BAR.search(self._text, self._at)
        self._at = len(self._text) if bar is None else bar.end()
        if bar is None:
            self._line("a line | before the header")
        line = self._line("the header")
        if line.word("f") != "f":
            line.fail("the header begins with f (write f and the numbers of nodes)")
        return [line.count(what) for what in _COUNTS]

    def _given(self, line: _Line, name: str, value: Number) -> Number | None:
        """The value of a parameter, which is reported if there is none."""
        if value != _NO_VALUE:
            return value
        self.report.error(
            line.offset, f"the parameter {shortened(name)!r} has no value (write one)"
        )
        return None

    def _name(self, line: _Line, what: str, known: dict[str, int]) -> str:
        """The name of a node, without the tags by which nets are composed."""
        name = line.word(f"the name of a {what}").partition("|")[0]
        if not name or name in known:
            problem = "is there twice (give each its own)" if name else "is empty (write one)"
            line.fail(f"the name {shortened(name)!r} of a {what} {problem}")
        return name

    def _place(self) -> None:
        line = self._line("a place")
        name = self._name(line, "place", self.draft.places)
        place = self.draft.place(name)
        tokens = line.integer("the number of tokens")
        offset = line.offset
        line.skip_reals(4)
        if line.rest() or tokens < _COLOURED:
            at = offset if tokens < _COLOURED else line.offset
            self.report.error(at, f"place {shortened(name)!r} is coloured content: {_PLAIN}")
            return
        found = tokens if tokens >= 0 else self._parameter(-tokens - 1, offset)
        if found is not None and found < 0:
            message = f"the marking of {shortened(name)!r} is {found} (write 0 or more)"
            self.report.error(offset, message)
        elif found is not None:
            self.draft.mark(place, found, offset)

    def _parameter(self, number: int, offset: int) -> int | None:
        if number < len(self._tokens):
            return self._tokens[number]
        there_are = f"there are {len(self._tokens)}; a number of tokens is 0 or more"
        self.report.error(offset, f"there is no marking parameter {number + 1} ({there_are})")
        return None

    def _transition(self, num_places: int) -> None:
        line = self._line("a transition")
        name = self._name(line, "transition", self.draft.transitions)
        transition, at = self.draft.transition(name), line.offset
        named = f"transition {shortened(name)!r}"
        word = line.word("a rate")
        if word == "*":
            self._drop(line.offset, f"the function of the marking as the rate of {named}")
        else:
            self._rate(line, word, named)
        servers = line.integer("the number of servers")
        if servers not in (0, 1):
            self._drop(line.offset, f"{servers} as the number of servers of {named}")
        group = line.integer("the group")
        if group == _OTHER_DISTRIBUTION:
            self._drop(line.offset, f"the distribution of {named}")
        elif not 0 <= group <= len(self._groups):
            line.fail(f"{named}: there is no group {group} (there are {len(self._groups)})")
        timed = group in (0, _OTHER_DISTRIBUTION)
        self._levels[transition] = (0 if timed else group), at
        num_arcs = line.count("input arcs")
        line.integer("the orientation")
        line.skip_reals(6)
        if line.rest():
            self.report.error(line.offset, f"{named} has a guard, coloured content: {_PLAIN}")
        if word == "*":
            self._line(f"the rate of {named}")
        for kind in _ARCS:
            if kind != "input":
                num_arcs = self._line(f"the number of {kind} arcs").count(f"{kind} arcs")
            for _ in range(num_arcs):
                self._arc(kind, transition, num_places, f"the {kind} arc of {named}")

    def _arc(self, kind: Kind, transition: int, num_places: int, named: str) -> None:
        line = self._line(named)
        plain = _ARC_LINE.fullmatch(line.text)
        if plain is not None and int(plain[2]) <= num_places and int(plain[1]) < _FIRST_PARAMETER:
            place, weight = int(plain[2]) - 1, int(plain[1])
            self.draft.arc(kind, place, transition, weight, line.at + plain.start(1))
            return
        weight: int | None = abs(line.integer("the weight"))  # negative: it is drawn in two parts
        offset = line.offset
        place = line.integer("the place")
        if not 1 <= place <= num_places:
            line.fail(f"{named}: there is no place {place} (there are {num_places})")
        num_points = line.count("points")
        if line.rest():
            message = f"{named} has a function, of colours or of the marking: {_PLAIN}"
            self.report.error(line.offset, message)
        for _ in range(num_points):
            self._line("a point").skip_reals(2)
        if _FIRST_PARAMETER <= weight < _FIRST_PARAMETER + len(self._tokens):
            weight = self._tokens[weight - _FIRST_PARAMETER]
        if weight is not None and weight < 1:
            self.report.error(offset, f"the weight of {named} is {weight} (write 1 or more)")
        elif weight is not None:
            self.draft.arc(kind, place - 1, transition, weight, offset)

    def _rate(self, line: _Line, word: str, named: str) -> None:
        """Tell a rate, or a weight, that is not 1."""
        try:
            rate: float | None = float(word)
        except ValueError:
            line.fail(f"the rate of {named}: {shortened(word)!r} is not a number (write one)")
        if rate == _OF_MARKING:
            self._drop(line.offset, f"the function of the marking as the rate of {named}")
            return
        if rate < 0:
            number = -rate - 1
            if not number.is_integer() or number >= len(self._rates):
                have = f"there are {len(self._rates)}"
                line.fail(f"{named}: there is no rate parameter {-rate:g} ({have})")
            rate = self._rates[int(number)]
        if rate is not None and rate != 1:
            self._drop(line.offset, f"the rate {rate:g} of {named}", "1")

    def _check_groups(self) -> None:
        """Tell groups of which it is not clear which comes first: some programs of GreatSPN go by
        their order, others by their priorities."""
        for (before, _), (after, offset) in zip(self._groups, self._groups[1:], strict=False):
            if after <= before:
                message = (
                    f"a group of priority {after} after one of priority {before} (write groups in "
                    "the order of their priorities, the smallest first)"
                )
                self.report.error(offset, message)
