"""The line dialect of ESNP: `.pli` files without `@model`, one statement a line.

`@mu`, `@ms`, `@marcs`, `@min`, `@mout` and rules are written as in P-Lingua 4, without semicolons
(they are tolerated), modules, ranges, variables and comments. What differs: every `@min` and
`@mout` line adds; input trains are given separately, so an input neuron has an empty train here;
and a quoted text after a label is a count, `"a*3"` means exactly 3. Lines `key: value` or `key =
value` before the first statement are kept as the note "header".
"""

import re
from array import array
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from ..spiking.model.system import Neuron, SpikingSystem
from ..spiking.model.validity import Level, Place
from .building import (
    LARGE,
    KnownNames,
    most_listed,
    read_reported,
    size_message,
    tell_problems,
    try_to_build,
)
from .rule_lines import RuleLines
from .source import Mistake, Report, Source


_MAX_ERRORS = 1_000
_MAX_DIGITS = 100
_MAX_HEADER = 1_000  # entries that are kept
_MAX_TEXTS = 600_000  # spellings of rules that are remembered
_HEADER = re.compile(r"\s*([A-Za-z_]\w*)[ \t]*[:=](.*)", re.ASCII)
_MODEL = re.compile("@model", re.IGNORECASE)
_BLANKS = re.compile(r"[^\S\n]*")
_ANY_BLANKS = re.compile(r"\s*")
_END = re.compile(r"[\s;]*")
_LABEL = re.compile("[A-Za-z_0-9]+")
_KEYWORD = re.compile("@[A-Za-z_]*")
_DIGITS = re.compile("[0-9]+")
_SPIKE = re.compile("a(?![A-Za-z_0-9])")
_STRING = re.compile('"[^"\n]*"')
_COUNT = re.compile(r"\s*a\s*(?:\*\s*([0-9]+)\s*)?")

#: Statements that are written as programs write them; the last group says which.
_B, _L = r"[^\S\n]*+", "[A-Za-z_0-9]++"
_ARC = rf"\({_B}{_L}{_B},{_B}{_L}{_B}\)"
_LABELS = rf"{_L}(?:{_B},{_B}{_L})*+"
_PLAIN = re.compile(
    rf"@(?:mu{_B}={_B}(?P<neurons>{_LABELS})"
    rf"|ms{_B}\({_B}(?P<owner>{_L}){_B}\){_B}={_B}a{_B}(?:\*{_B}(?P<spikes>[0-9]{{1,18}}))?"
    rf"|min{_B}={_B}(?P<inputs>{_LABELS})|mout{_B}={_B}(?P<outputs>{_LABELS})"
    rf"|marcs{_B}={_B}(?P<arcs>{_ARC}(?:{_B},{_B}{_ARC})*+))"
    rf"{_B};*(?=\n|\Z)"
)
_PLAIN_ARC = re.compile(rf"\({_B}({_L}){_B},{_B}({_L}){_B}\)")

_DIALECT = "this file has no @model, so it is read in the ESNP line dialect"
_FIX = "begin the file with @model<spiking_psystems> for P-Lingua 4"
_COMMENTS_AND_BRACES = {
    "/*": "comments",
    "//": "comments",
    "{": "indexed labels and blocks",
    "}": "blocks",
}
_PROGRAM = {"def": "modules", "call": "modules", "let": "variables"}
_ONLY_PLINGUA = {
    "@minst": "input spikes (@minst; in the ESNP dialect trains are given separately)",
    "@mdict": "the synapse dictionary",
    "@moutres_binary": "the form of the output",
    "@moutres_natural": "the form of the output",
    "@moutres_summatories": "the form of the output",
}


def read_esnp(source: Source, level: Level) -> SpikingSystem:
    """The system that a file in the ESNP line dialect describes."""
    return read_reported(source, lambda report: _Reader(report).read(level), last=_MAX_ERRORS)


class _RuleParts(NamedTuple):
    """A rule, and where its parts stand; `guard` is a count."""

    label: str
    consume: int
    produce: int
    guard: int
    delay: int
    label_at: int
    consume_at: int
    produce_at: int
    delay_at: int


class _Line:
    """The words of one line, taken one after another."""

    def __init__(self, text: str, start: int, end: int):
        self.text, self.position, self.end = text, start, end

    def skip(self) -> int:
        """The offset of the next word."""
        match = _BLANKS.match(self.text, self.position, self.end)
        self.position = self.position if match is None else match.end()
        return self.position

    def has(self, words: str) -> bool:
        """Whether this comes next; it is taken then."""
        is_next = self.text.startswith(words, self.skip(), self.end)
        self.position += len(words) if is_next else 0
        return is_next

    def take(self, pattern: re.Pattern[str], wanted: str, *terminals: str) -> tuple[int, str]:
        """Offset and text of the next word. `terminals` are names of the grammar of P-Lingua for
        what is wanted, which find the hint in a message."""
        match = pattern.match(self.text, self.skip(), self.end)
        if match is None:
            raise self.mistake(wanted, *terminals)
        self.position = match.end()
        return match.start(), match.group()

    def need(self, words: str, *terminals: str) -> None:
        if not self.has(words):
            raise self.mistake(f"'{words}'" if "'" not in words else "' and a label", *terminals)

    def mistake(self, wanted: str, *terminals: str) -> Mistake:
        from .plingua.messages import WORD, hint_for, quoted_word  # only on the way to an error

        offset = self.skip()
        match = WORD.match(self.text, offset, self.end)
        if match is None:
            return Mistake(offset, f"expected {wanted}, but the line ends (complete the statement)")
        found = match.group()
        found = "/*" if self.text.startswith("/*", offset) else found
        if found in _COMMENTS_AND_BRACES and not terminals:
            return Mistake(offset, only_plingua(_COMMENTS_AND_BRACES[found]))
        hint = hint_for(found, frozenset(terminals), self.text[offset : min(self.end, offset + 80)])
        return Mistake(offset, f"expected {wanted}, not {quoted_word(found)}{hint}")

    def finish(self) -> None:
        """Nothing but semicolons is left."""
        match = _END.match(self.text, self.position, self.end)
        self.position = offset = self.position if match is None else match.end()
        if offset == self.end:
            return
        if self.text[offset] in "@[":
            raise Mistake(offset, "this is a second statement (write one a line)")
        if self.text[offset] == ":" and not self.text.startswith("::", offset):
            raise Mistake(offset, only_plingua("ranges"))
        raise self.mistake("the end of the line")

    # Pieces

    def assign(self) -> bool:
        """Whether this adds."""
        if self.has("+="):
            return True
        self.need("=")
        return False

    def labels(self) -> Iterator[tuple[int, str]]:
        yield self.label()
        while self.has(","):
            yield self.label()

    def label(self) -> tuple[int, str]:
        offset, label = self.take(_LABEL, "a label")
        if self.text.startswith("{", self.position, self.end):
            raise self.mistake("")
        return offset, label

    def arcs(self) -> Iterator[tuple[int, tuple[int, str], tuple[int, str]]]:
        while True:
            offset = self.skip()
            self.need("(")
            source = self.label()
            self.need(",")
            target = self.label()
            self.need(")")
            yield offset, source, target
            if not self.has(","):
                return

    def spikes(self, *terminals: str) -> tuple[int, int]:
        """Offset and number of the spikes `a` or `a*3`."""
        wanted = "spikes (a, a*2) or '#'" if "HASH" in terminals else "spikes (a, a*2)"
        if self.text.startswith("_a", self.skip()):
            raise Mistake(self.position, "not supported: anti-spikes (_a)")
        offset, _ = self.take(_SPIKE, wanted, "SPIKE", *terminals)
        if not self.has("*"):
            return offset, 1
        at = self.skip()
        if self.text.startswith("(", at, self.end):
            raise Mistake(at, only_plingua("expressions"))
        if _LABEL.match(self.text, at, self.end) and not _DIGITS.match(self.text, at):
            raise Mistake(at, only_plingua("variables"))
        return offset, self.number("a number of spikes")

    def number(self, wanted: str) -> int:
        offset, digits = self.take(_DIGITS, wanted)
        if len(digits) > _MAX_DIGITS:
            raise Mistake(offset, f"this is a number of {len(digits)} digits (write a smaller one)")
        return int(digits)

    def rule(self) -> _RuleParts:
        self.need("[")
        if self.has("]"):
            raise Mistake(self.position - 2, only_plingua("division and budding"))
        consume_at, consume = self.spikes()
        self.need("-->", "ARROW", "STAR")
        produce_at, produce = self.skip(), 0
        if not self.has("#"):
            produce_at, produce = self.spikes("HASH")
        self.need("]", "RSQB", "STAR")
        self.need("'")
        label_at, label = self.label()
        guard = consume
        if self.text.startswith('"', self.skip(), self.end):
            guard = self.count()
        delay_at, delay = self.skip(), 0
        if self.has("::"):
            delay_at, delay = self.skip(), self.number("a delay")
        return _RuleParts(
            label, consume, produce, guard, delay, label_at, consume_at, produce_at, delay_at
        )

    def count(self) -> int:
        """The count that a quoted text is in this dialect."""
        offset, quoted = self.take(_STRING, "a count in quotes that end in this line")
        match = _COUNT.fullmatch(quoted, 1, len(quoted) - 1)
        if match is None:
            raise Mistake(
                offset + 1,
                f"{quoted[:40]} is not a count: {_DIALECT}, where a quoted text is a count "
                f'(write "a*3" for exactly 3, or {_FIX} and regular expressions)',
            )
        if len(match[1] or "") > _MAX_DIGITS:
            raise Mistake(offset + 1, "the count is too large (write a smaller one)")
        return int(match[1] or 1)


def _after_blanks(text: str, start: int) -> int:
    match = _ANY_BLANKS.match(text, start)
    return start if match is None else match.end()


def only_plingua(what: str) -> str:
    """The message for what this dialect does not have."""
    return f"not supported: {what}; {_DIALECT} ({_FIX})"


class _Reader:
    """Collects what the statements say, by labels, with the offset of each."""

    def __init__(self, report: Report):
        self.report = report
        self.text = report.source.text
        self.most = most_listed()
        self.kinds: dict[tuple[str, str], int] = {}  # of rules, by the texts around the label
        self.header: dict[str, str] = {}
        self.neurons: list[tuple[str, int]] = []
        self.contents: dict[str, tuple[int, int]] = {}
        self.inputs: dict[str, int] = {}
        self.outputs: dict[str, int] = {}
        self.ids: dict[str, int] = {}  # of labels in rules and synapses
        self.sources, self.targets = array("i"), array("i")
        self.arc_offsets = array("q")
        self.kept_arcs = array("i")  # those between known neurons
        self.rules = RuleLines(report)
        self.are_names_known = True

    def read(self, level: Level) -> SpikingSystem | None:
        model = _MODEL.search(self.text)
        if model is not None:
            message = 'there is @model, so this is P-Lingua 4 (read it without format="esnp")'
            self.report.fail(model.start(), message)
        self._read_lines()
        return self._build(level)

    # Lines

    def _read_lines(self) -> None:
        text, size, in_header = self.text, len(self.text), True
        start = _after_blanks(text, 0)
        while start < size:
            plain = _PLAIN.match(text, start)
            if plain is not None:
                in_header, end = False, plain.end()
                self._read_plain(plain)
            else:
                end = text.find("\n", start)
                end = size if end < 0 else end
                in_header = in_header and text[start] not in "@["
                header = _HEADER.fullmatch(text, start, end) if in_header else None
                if header is None:
                    if text[start] != "[" or not self._read_known_rule(start, end):
                        self._read_statement(_Line(text, start, end))
                elif len(self.header) < _MAX_HEADER:
                    self.header[header[1]] = header[2].strip()
            start = _after_blanks(text, end)

    def _read_plain(self, line: re.Match[str]) -> None:
        """One of the statements of which files have millions, or which have millions of items."""
        kind = line.lastgroup or ""
        start, end = line.span(kind)
        if kind == "neurons":
            labels = _LABEL.finditer(self.text, start, end)
            self.neurons += [(label[0], label.start()) for label in labels]
            self._check_size(start)
        elif kind == "arcs":
            ids = self.ids
            for arc in _PLAIN_ARC.finditer(self.text, start, end):
                self.sources.append(ids.setdefault(arc[1], len(ids)))
                self.targets.append(ids.setdefault(arc[2], len(ids)))
                self.arc_offsets.append(arc.start())
            self._check_labels(len(ids), start)
            self._check_size(start)
        elif kind in ("inputs", "outputs"):
            known = self.inputs if kind == "inputs" else self.outputs
            for label in _LABEL.finditer(self.text, start, end):
                known.setdefault(label[0], label.start())
                self._check_labels(len(known), label.start())
        else:
            offset = line.start("owner")
            self.contents[line["owner"]] = int(line["spikes"] or 1), offset
            self._check_labels(len(self.contents), offset)

    def _read_known_rule(self, start: int, end: int) -> bool:
        """Whether this line is one that was read before but for its label; files have few kinds of
        rules and may have millions of lines."""
        head, _, rest = self.text[start:end].partition("'")
        label = _LABEL.match(rest)
        if label is None:
            return False
        kind = self.kinds.get((head, rest[label.end() :]))
        if kind is None:
            return False
        self.rules.add(self._id(label.group(), start), kind, start)
        return True

    def _read_statement(self, line: _Line) -> None:
        start = line.skip()
        try:
            if self.text[start] == "[":
                self._rule(line)
            elif self.text[start] == "@":
                offset, keyword = line.take(_KEYWORD, "a statement")
                _STATEMENTS.get(keyword.lower(), _unknown(offset, keyword))(self, line)
            else:
                word = _LABEL.match(self.text, start)
                if word is not None and word.group().lower() in _PROGRAM:
                    raise Mistake(start, only_plingua(_PROGRAM[word.group().lower()]))
                raise line.mistake("a statement (@mu, @ms, @marcs, @min, @mout or a rule)")
            line.finish()
        except Mistake as mistake:
            if self.text[start : start + 3].lower() == "@mu":
                self.are_names_known = False
            self.report.error(mistake.offset, mistake.message)

    def _new_neurons(self, line: _Line) -> None:
        line.assign()
        for offset, label in line.labels():
            self.neurons.append((label, offset))
            self._check_size(offset)

    def _contents(self, line: _Line) -> None:
        line.need("(")
        offset, label = line.label()
        line.need(")")
        adds = line.assign()
        _, spikes = line.spikes()
        if adds and label in self.contents:
            spikes += self.contents[label][0]
        self.contents[label] = spikes, offset
        self._check_labels(len(self.contents), offset)

    def _synapses(self, line: _Line) -> None:
        line.assign()
        for offset, (_, source), (_, target) in line.arcs():
            self.sources.append(self._id(source, offset))
            self.targets.append(self._id(target, offset))
            self.arc_offsets.append(offset)
            self._check_size(offset)

    def _labels(self, line: _Line, known: dict[str, int]) -> None:
        """Inputs or outputs."""
        line.assign()
        for offset, label in line.labels():
            known.setdefault(label, offset)
            self._check_labels(len(known), offset)

    def _rule(self, line: _Line) -> None:
        offset = line.skip()
        rule = line.rule()
        try:
            kind = self.rules.kind(rule.guard, rule.consume, rule.produce, rule.delay, offset)
        except ValueError as error:
            raise Mistake(rule.consume_at, str(error)) from None
        line.finish()
        self.rules.add(self._id(rule.label, rule.label_at), kind, offset)
        head, _, rest = self.text[offset : line.end].partition("'")
        if rest.startswith(rule.label) and len(self.kinds) < _MAX_TEXTS:
            self.kinds[head, rest[len(rule.label) :]] = kind

    def _id(self, label: str, offset: int) -> int:
        self._check_labels(len(self.ids), offset)
        return self.ids.setdefault(label, len(self.ids))

    def _check_labels(self, num_labels: int, offset: int) -> None:
        if num_labels > self.most // 2:
            message = f"there are more than {self.most // 2:,} labels up to here (use fewer)"
            self.report.fail(offset, message)

    def _check_size(self, offset: int) -> None:
        if 2 * len(self.neurons) + len(self.sources) > self.most:
            synapses = f" and {len(self.sources):,} synapses up to here"
            self.report.fail(offset, size_message(len(self.neurons), synapses, self.most))

    # The system

    def _build(self, level: Level) -> SpikingSystem | None:
        names = {label: index for index, (label, _) in enumerate(self.neurons)}
        if self.are_names_known:
            self._check_names(KnownNames(names, self.report.error))
        size = len(self.neurons) + len(self.sources) + len(self.rules)
        if len(names) < len(self.neurons) and size > LARGE:
            self._tell_repeated()
        if self.report.has_errors and size > LARGE:
            return None
        rules = self.rules.rules(len(self.ids))
        spikes, ids = self.contents, self.ids
        neurons = [
            Neuron(x, spikes[x][0] if x in spikes else 0, rules[ids[x]] if x in ids else ())
            for x, _ in self.neurons
        ]
        synapses: Any = self._arcs(names)  # gone through once: there may be millions
        system, problems = try_to_build(
            lambda: SpikingSystem(
                neurons,
                synapses,
                input={label: () for label in self.inputs if label in names},
                output=[label for label in self.outputs if label in names],
                level=level,
                notes={"header": self.header} if self.header else {},
            )
        )
        tell_problems(self.report, problems, self._offset)
        return system

    def _tell_repeated(self) -> None:
        """Tell what the system would, without making a million neurons."""
        seen: dict[str, int] = {}
        for label, offset in self.neurons:
            first = seen.setdefault(label, offset)
            if first != offset:
                message = f"neuron {label!r} is declared twice (give each neuron its own name)"
                self.report.error(offset, message, first)

    def _check_names(self, known: KnownNames[int]) -> None:
        """Report the labels that no neuron has, each where it stands first."""
        for label, (_, offset) in self.contents.items():
            known.has(label, offset, "contents")
        for label, offset in self.inputs.items():
            known.has(label, offset, "input")
        for label, offset in self.outputs.items():
            known.has(label, offset, "output")
        unknown = {index: x for x, index in self.ids.items() if x not in known.names}
        if not unknown:
            return
        arcs = zip(self.sources, self.targets, self.arc_offsets, strict=True)
        for source, target, offset in arcs:
            if source in unknown or target in unknown:
                _, first, second = next(self._line_at(offset).arcs())
                for at, label in (first, second):
                    known.has(label, at, f"synapse ({first[1]}, {second[1]})")
            if known.are_enough:
                return
        for owner, offset in zip(self.rules.owners, self.rules.offsets, strict=True):
            label = unknown.pop(owner, None)
            if label is not None:
                known.has(label, self._line_at(offset).rule().label_at, "rule")

    def _arcs(self, names: dict[str, int]) -> Iterator[tuple[str, str, int]]:
        """The synapses between known neurons."""
        labels = list(self.ids)
        for index, (source, target) in enumerate(zip(self.sources, self.targets, strict=True)):
            if labels[source] in names and labels[target] in names:
                self.kept_arcs.append(index)
                yield labels[source], labels[target], 1

    def _line_at(self, offset: int) -> _Line:
        end = self.text.find("\n", offset)
        return _Line(self.text, offset, len(self.text) if end < 0 else end)

    def _offset(self, place: Place, code: str) -> int:
        if isinstance(place.index, str):
            return (self.inputs if place.kind == "input" else self.outputs)[place.index]
        if place.kind == "rule":
            owner = self.ids[self.neurons[place.index][0]]
            start = self.rules.offset(owner, place.rule or 0)
            rule = self._line_at(start).rule()
            parts = {
                "produce_exceeds_consume": rule.produce_at,
                "forgetting_delay": rule.delay_at,
                "bad_number": rule.consume_at,
            }
            return parts.get(code, start)
        if place.kind == "neuron":
            return self.neurons[place.index][1]
        return self.arc_offsets[self.kept_arcs[place.index]]


def _unknown(offset: int, keyword: str) -> Callable[[_Reader, _Line], NoReturn]:
    """The statement of a keyword that this dialect does not have."""

    def mistake(reader: _Reader, line: _Line) -> NoReturn:
        del reader, line
        from .plingua.messages import UNSUPPORTED  # only on the way to an error

        only = _ONLY_PLINGUA | UNSUPPORTED
        if keyword.lower() in only:
            raise Mistake(offset, only_plingua(only[keyword.lower()]))
        near = get_close_matches(keyword.lower(), _STATEMENTS, n=2, cutoff=0.4)
        meant = f"did you mean {' or '.join(near)}?" if near else "the first ones are @mu and @ms"
        raise Mistake(offset, f"unknown keyword {keyword[:40]} ({meant})")

    return mistake


_STATEMENTS: dict[str, Callable[[_Reader, _Line], None]] = {
    "@mu": _Reader._new_neurons,
    "@ms": _Reader._contents,
    "@marcs": _Reader._synapses,
    "@min": lambda reader, line: reader._labels(line, reader.inputs),
    "@mout": lambda reader, line: reader._labels(line, reader.outputs),
}
