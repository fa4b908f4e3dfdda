"""The text files of cuSNP (`.in`): numbers line by line, without names, inputs and outputs.

The number of neurons, that of rules, a number of steps (kept as the note "steps"), the initial
spikes of all neurons, a line `outdegree target ...` for every neuron, a line `neuron guard consume
produce delay` for every rule. Neurons are numbered from 0; a guard is `a*`, any count, or `aN`,
exactly N. Blank lines are passed over.
"""

import json
import re
from array import array
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from .._text.counts import plural
from ..spiking.model.guard import Guard
from ..spiking.model.population import AnySystem
from ..spiking.model.rule import AnyRule, Rule
from ..spiking.model.system import Neuron, SpikingSystem, Synapse
from ..spiking.model.validity import Level, Place
from .building import most_listed, read_reported, size_message, tell_problems, try_to_build
from .losses import Losses
from .rule_lines import RuleLines
from .source import Report, Source, Unreadable, shortened


_MAX_ERRORS = 1_000  # of one file; nobody corrects more, and each takes memory
_MAX_DIGITS = 100
_MAX_TEXTS = 2 * 300_000  # spellings of rules that are remembered
_DEFAULT_STEPS = 100  # of `snpjax run`
_WORD = re.compile(r"\S+")
_CHARACTER = re.compile(r"\S")
_RULE = re.compile(r"\s*\S+\s+(?![0-9-])\S")
_RULE_LINE = re.compile(r"^[^\S\n]*+[^\s]++[^\S\n]++(?![0-9-])\S", re.MULTILINE)
_NUMBERS = re.compile(r"[0-9 \t]*")
_DIGIT_LINES = re.compile(r"[0-9 \n]*")
_MAX_INDEX = 9  # digits
_GUARD = re.compile(r"a(?:(\*)|([0-9]+))")
_COLUMN = {  # of a rule's line: what a problem is about
    "produce_exceeds_consume": 3,
    "forgetting_delay": 4,
    "forgetting_guard": 1,
    "forgetting_overlap": 2,
    "dead_rule": 1,
}


def read_cusnp(source: Source, level: Level) -> SpikingSystem:
    """The system that a cuSNP file describes. Its neurons are named `0`, `1`, ...."""
    return read_reported(source, lambda report: _Reader(report).read(level), last=_MAX_ERRORS)


class _Reader:
    """Goes through the lines once; a line without mistakes is never cut into pieces twice."""

    def __init__(self, report: Report):
        self.report = report
        self.text = report.source.text
        self.most = most_listed()
        self.position = 0
        self.num_neurons = self.num_rules = self.steps = 0
        self.announcements: list[int] = []  # offsets of the three numbers
        self.spikes: list[int] = []
        self.spikes_offset = 0
        self.targets = array("i")
        self.out_degrees = array("i")  # of the neurons read so far
        self.line_offsets = array("q")
        self.rules = RuleLines(report)
        self._words: tuple[int, array] = -1, array("q")  # the words of one line

    # Lines and words

    def _line(self) -> tuple[int, int] | None:
        """Start and end of the next line that is not blank, which stays the next."""
        return self._line_from(self.position)

    def _line_from(self, position: int) -> tuple[int, int] | None:
        match = _CHARACTER.search(self.text, position)
        if match is None:
            return None
        end = self.text.find("\n", match.start())
        return match.start(), len(self.text) if end < 0 else end

    def _words_of(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        for match in _WORD.finditer(self.text, start, end):
            yield match.start(), match.group()

    def _number(self, offset: int, word: str, what: str) -> int | None:
        if word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS:
            return int(word)
        shown = repr(shortened(word))
        if word.isascii() and word.isdigit():
            shown = f"a number of {len(word)} digits"
        is_negative = word[:1] == "-" and word[1:].isascii() and word[1:].isdigit()
        fix = "write 0 or more" if is_negative else "write an integer in digits"
        self.report.error(offset, f"{what} is {shown} ({fix})")
        return None

    # The parts of a file

    def read(self, level: Level) -> SpikingSystem | None:
        announced = [
            self._announced(what)
            for what in ("the number of neurons", "the number of rules", "the number of steps")
        ]
        self.num_neurons, self.num_rules, self.steps = announced
        if self.num_neurons > len(self.text):  # each takes a few characters
            message = (
                f"there are {self.num_neurons:,} neurons in a file of {len(self.text):,} "
                "characters (correct the number)"
            )
            self.report.fail(self.announcements[0], message)
        if 2 * self.num_neurons > self.most:
            self.report.fail(self.announcements[0], size_message(self.num_neurons, "", self.most))
        if self.num_neurons:
            self._read_spikes()
        self._read_synapses()
        self._read_rules()
        return None if self.report.has_errors else self._build(level)

    def _announced(self, what: str) -> int:
        line = self._line()
        if line is None:
            self.report.fail(self._end(), f"{what} is missing (write it in a line of its own)")
        (offset, word), *rest = islice(self._words_of(*line), 2)
        number = self._number(offset, word, what)
        if number is None:
            raise Unreadable
        if rest:
            message = f"there is text after {what} (write it in a line of its own)"
            self.report.fail(rest[0][0], message)
        self.announcements.append(offset)
        self.position = line[1] + 1
        return number

    def _read_spikes(self) -> None:
        line, fix = self._line(), self._or_correct(f"{self.num_neurons}")
        if line is None:
            self.report.fail(self._end(), f"the initial spikes are missing{fix}")
        start, end = line
        self.spikes_offset, self.position = start, end + 1
        if _NUMBERS.fullmatch(self.text, start, end):
            plain = self.text[start:end].split()
            if len(plain) == self.num_neurons and max(map(len, plain)) <= _MAX_DIGITS:
                self.spikes = list(map(int, plain))
                return
        words = self._words_of(start, end)
        for offset, word in islice(words, self.num_neurons):
            number = self._number(offset, word, f"the spikes of neuron {len(self.spikes)}")
            self.spikes.append(number or 0)
        extra = next(words, None)
        if extra is not None:
            message = f"there are more initial spikes than neurons{fix}"
            self.report.error(extra[0], message)
        elif len(self.spikes) < self.num_neurons:
            message = f"there are only {len(self.spikes)} initial spikes{fix}"
            self.report.error(end, message)

    def _or_correct(self, needed: str, what: str = "neurons") -> str:
        """What to write, or to correct at the head of the file."""
        at = self.report.at(self.announcements[0 if what == "neurons" else 1])
        return f" (write {needed}, or correct the number of {what} at {at})"

    def _end(self) -> int:
        return len(self.text.rstrip())

    def _is_rule(self, start: int, end: int) -> bool:
        return _RULE.match(self.text, start, end) is not None

    def _read_synapses(self) -> None:
        if self._read_plain_synapses():
            return
        fix = self._or_correct(f"{self.num_neurons} such lines")
        while len(self.out_degrees) < self.num_neurons:
            line = self._line()
            if line is None or self._is_rule(*line):
                neuron = len(self.out_degrees)
                at = self._end() if line is None else line[0]
                self.report.error(
                    at,
                    f"the synapses of neuron {neuron} are missing: expected a line of its "
                    f"out-degree and its targets{fix}",
                )
                if line is None:
                    raise Unreadable
                return
            self._read_targets(*line)
            self.position = line[1] + 1
        line = self._line() if self.num_rules else None
        if line is not None and not self._is_rule(*line):
            message = "there are more lines of synapses than neurons"
            self.report.error(line[0], message + fix)
            rule = _RULE_LINE.search(self.text, line[0])
            self.position = len(self.text) if rule is None else rule.start()

    def _read_plain_synapses(self) -> bool:
        """Read all lines of synapses at once; nothing where one of them is not as it should be."""
        text, start = self.text, self.position
        lines = text[start:].split("\n", self.num_neurons)
        if len(lines) <= self.num_neurons:
            return False
        end = len(text) - len(lines.pop())
        following = self._line_from(end)
        is_last = not self.num_rules or following is None or self._is_rule(*following)
        if not is_last or not _DIGIT_LINES.fullmatch(text, start, end):
            return False
        words = text[start:end].split()
        size = self.num_neurons + len(words)  # 2 * neurons + synapses
        if max(map(len, words), default=0) > _MAX_INDEX or size > self.most:
            return False
        numbers = np.array(words, np.int64)
        counts = np.fromiter(map(len, map(str.split, lines)), np.int64, len(lines))
        firsts = np.cumsum(counts) - counts
        if not np.all(counts) or not np.array_equal(numbers[firsts], counts - 1):
            return False
        is_target = np.ones(len(numbers), bool)
        is_target[firsts] = False
        targets = numbers[is_target]
        if np.any(targets >= self.num_neurons):
            return False
        sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
        self.line_offsets.frombytes((start + np.cumsum(sizes) - sizes).tobytes())
        self.out_degrees.frombytes((counts - 1).astype(np.int32).tobytes())
        self.targets.frombytes(targets.astype(np.int32).tobytes())
        self.position = end
        return True

    def _read_targets(self, start: int, end: int) -> None:
        left = self.most - 2 * self.num_neurons - len(self.targets)
        numbers: list[int] = []
        if _NUMBERS.fullmatch(self.text, start, end):
            words = self.text[start:end].split(None, left + 1)
            if len(words) > left + 1:
                most = self.most - 2 * self.num_neurons
                synapses = f" and more than {plural(most, 'synapse')}"
                self.report.fail(start, size_message(self.num_neurons, synapses, self.most))
            if max(map(len, words)) <= _MAX_DIGITS:
                numbers = list(map(int, words))
        self.line_offsets.append(start)
        is_right = numbers and numbers[0] == len(numbers) - 1
        if is_right and (len(numbers) == 1 or max(numbers[1:]) < self.num_neurons):
            self.out_degrees.append(numbers[0])
            self.targets.extend(numbers[1:])
        else:
            self._explain_targets(start, end)
            self.out_degrees.append(0)

    def _explain_targets(self, start: int, end: int) -> None:
        """Report what is wrong in a line of synapses."""
        neuron = len(self.out_degrees)
        words = self._words_of(start, end)
        first, word = next(words)
        degree = self._number(first, word, f"the out-degree of neuron {neuron}")
        count = 0
        for count, (offset, word) in enumerate(words, start=1):  # noqa: B007
            target = self._number(offset, word, f"a target of neuron {neuron}")
            if target is not None and target >= self.num_neurons:
                self.report.error(offset, self._no_neuron(word))
        if degree is not None and degree != count:
            followed = f"{plural(count, 'target')} follow{'s' if count == 1 else ''}"
            message = (
                f"the out-degree of neuron {neuron} is {degree}, but {followed} "
                f"(write {count}, or correct the targets)"
            )
            self.report.error(first, message)

    def _no_neuron(self, word: str) -> str:
        last = self.num_neurons - 1
        numbered = f"they are numbered 0 to {last}" if last >= 0 else "there are none"
        return f"there is no neuron {word.lstrip('0') or '0'} ({numbered})"

    def _read_rules(self) -> None:
        text, rules, size = self.text, self.rules, len(self.text)
        neurons = {str(neuron): neuron for neuron in range(self.num_neurons)}
        kinds: dict[str, int] = {}  # by the text after the neuron
        num_read, start = 0, self.position
        while num_read < self.num_rules and start < size:
            end = text.find("\n", start)
            end = size if end < 0 else end
            number, _, rest = text[start:end].partition(" ")
            neuron, kind = neurons.get(number), kinds.get(rest)
            if neuron is not None and kind is not None:
                rules.add(neuron, kind, start)
                num_read += 1
            elif _WORD.search(text, start, end):
                read = self._read_rule(start, end)
                if read is not None:
                    rules.add(*read, start)
                    if neuron is not None and len(kinds) < _MAX_TEXTS:
                        kinds[rest] = read[1]
                num_read += 1
            start = end + 1
        self.position = start
        line = self._line()
        if num_read < self.num_rules:
            fix = self._or_correct(f"{self.num_rules}", "rules")
            self.report.error(self._end(), f"there are {num_read} rules{fix}")
        elif line is not None:
            message = (
                f"there is text after the last rule (remove it, or correct the number of rules, "
                f"{self.num_rules}, at {self.report.at(self.announcements[1])})"
            )
            self.report.error(next(self._words_of(*line))[0], message)

    def _read_rule(self, start: int, end: int) -> tuple[int, int] | None:
        """Neuron and kind of the rule in a line; `None` after a mistake, which is reported."""
        words = list(islice(self._words_of(start, end), 6))
        if len(words) != 5:
            message = (
                "expected a rule (write five words: neuron guard consume produce delay, such as "
                "0 a2 2 1 0)"
            )
            if len(words) == 6:
                message = f"there is text after the rule: {message}"
            self.report.error(words[5][0] if len(words) == 6 else words[0][0], message)
            return None
        neuron = self._number(*words[0], "the neuron of a rule")
        if neuron is not None and neuron >= self.num_neurons:
            self.report.error(words[0][0], self._no_neuron(words[0][1]))
        offset, word = words[1]
        match = _GUARD.fullmatch(word)
        if match is None:
            self.report.error(offset, _unknown_guard(word))
        consume = self._number(*words[2], "the number of spikes consumed")
        produce = self._number(*words[3], "the number of spikes produced")
        delay = self._number(*words[4], "the delay")
        guard = None
        if match is not None and match[2] is not None:
            guard = self._number(offset + 1, match[2], "the count of a guard")
            if guard is None:
                return None
        if match is None or neuron is None or neuron >= self.num_neurons:
            return None
        if consume is None or produce is None or delay is None:
            return None
        try:
            return neuron, self.rules.kind(guard, consume, produce, delay, start)
        except ValueError as error:
            self.report.error(offset + 1, str(error))
        return None

    # The system

    def _build(self, level: Level) -> SpikingSystem | None:
        names = [str(neuron) for neuron in range(self.num_neurons)]
        rules = self.rules.rules(self.num_neurons)
        neurons = list(map(Neuron, names, self.spikes, rules))
        synapses: Any = self._synapses(names)  # gone through once: there may be millions
        notes = {"steps": self.steps}
        system, problems = try_to_build(
            lambda: SpikingSystem(neurons, synapses, level=level, notes=notes)
        )
        tell_problems(self.report, problems, self._offset)
        return system

    def _synapses(self, names: list[str]) -> Iterator[Synapse]:
        targets = iter(self.targets)
        for name, degree in zip(names, self.out_degrees, strict=True):
            for target in islice(targets, degree):
                yield Synapse(name, names[target], 1)

    def _offset(self, place: Place, code: str) -> int:
        assert isinstance(place.index, int)
        if place.kind == "rule":
            line = self.rules.offset(place.index, place.rule or 0)
            return self._nth_word(line, _COLUMN.get(code, 0))
        if place.kind == "neuron":
            return self._nth_word(self.spikes_offset, place.index)
        neuron = int(np.searchsorted(self._first_synapses, place.index, side="right")) - 1
        number = place.index - int(self._first_synapses[neuron])
        return self._nth_word(self.line_offsets[neuron], number + 1)

    @cached_property
    def _first_synapses(self) -> np.ndarray:
        return np.cumsum([0, *self.out_degrees])

    def _nth_word(self, start: int, number: int) -> int:
        if self._words[0] != start:  # thousands of problems may be in one line
            end = self.text.find("\n", start)
            end = len(self.text) if end < 0 else end
            offsets = (offset for offset, _ in self._words_of(start, end))
            self._words = start, array("q", offsets)
        return self._words[1][number]


def _unknown_guard(word: str) -> str:
    hint = "write a* for any count, or a3 for exactly 3"
    if word == "a":
        hint = "write a1 for exactly 1"
    elif word == "a+":
        hint = "write a*: a rule also needs the spikes that it consumes"
    return f"unknown guard {word[:40]!r} ({hint})"


def write_cusnp(system: SpikingSystem, losses: Losses) -> str:
    """The text of a cuSNP file.

    Neurons are written by their positions, so names are not kept (`name_table` gives them), and
    synapses come sorted by their sources. Rules that apply whenever there are the spikes to
    consume, as with the guard `a+`, get the guard `a*`. The note "steps" is the number of steps.
    """
    positions = {neuron.name: index for index, neuron in enumerate(system.neurons)}
    targets: list[list[int]] = [[] for _ in system.neurons]
    spikes, rules = [], []
    others = sum(x.name != f"{i}" or x.label != f"{i}" for i, x in enumerate(system.neurons))
    if others:
        losses.rename(f"the names of {plural(others, 'neuron')}", "they are numbered from 0")
    if system.signed:
        losses.add("that counts may be negative (signed)", "left out")
    for index, neuron in enumerate(system.neurons):
        if neuron.spikes < 0:
            losses.add(f"{neuron.spikes} spikes of neuron {neuron.name!r}", "0 is written")
        spikes.append(str(max(0, int(neuron.spikes))))
        for number, rule in enumerate(neuron.rules, start=1):
            words = _rule_words(rule)
            if words is not None:
                rules.append(f"{index} {words}")
            elif isinstance(rule, Rule) and not rule.has_anti_spikes:
                item = f"guard {rule.guard} of neuron {neuron.name!r}, rule {number}"
                losses.add(item, "the rule is left out")
            else:
                text = system.rule_text(index, number - 1)
                losses.add(f"neuron {neuron.name!r}, rule {number}: {text}", "left out")
    for source, target, weight in system.synapses:
        if weight != 1:
            losses.add(f"weight {weight} of synapse ({source}, {target})", "1 is written")
        targets[positions[source]].append(positions[target])
    for name in system.input:
        losses.add(f"input of neuron {name!r}", "left out")
    for name in system.output:
        losses.add(f"output neuron {name!r}", "left out")
    for label, of_label in system.rules_by_label.items():
        losses.add(f"{plural(len(of_label), 'rule')} of label {label!r}", "left out")
    for pair in system.dictionary:
        losses.add(f"pair ({', '.join(pair)}) of the dictionary", "left out")
    steps = system.notes.get("steps")
    lines = [
        str(len(spikes)),
        str(len(rules)),
        str(steps if type(steps) is int and steps >= 0 else _DEFAULT_STEPS),
        " ".join(spikes),
        *(" ".join(map(str, [len(its), *its])) for its in targets),
        *rules,
    ]
    return "\n".join(lines) + "\n"


def name_table(system: AnySystem) -> str:
    """The neurons that a cuSNP file numbers: a line `number name` for each, names as JSON texts."""
    names = (system.name_of(number) for number in range(system.num_neurons))
    return "".join(f"{number} {json.dumps(name)}\n" for number, name in enumerate(names))


@lru_cache(maxsize=4096)
def _rule_words(rule: AnyRule | str) -> str | None:
    """Guard, consume, produce and delay; `None` when the format has no such rule."""
    if not isinstance(rule, Rule) or rule.has_anti_spikes:
        return None
    least = rule.guard.minimum
    if Guard.interval(rule.consume).issubset(rule.guard):
        guard = "a*"
    elif least is not None and rule.guard.is_exactly(least):
        guard = f"a{least}"
    else:
        return None
    return f"{guard} {int(rule.consume)} {int(rule.produce)} {int(rule.delay)}"
