"""Names of neurons as labels of P-Lingua, and the table of names in a comment."""

import json
import re
from collections.abc import Collection, Iterable, Iterator

from snpjax_formats.strict_json import JsonError, JsonSyntaxError, parse_json

from ..._text.surrogates import lone_escape
from ..losses import Losses
from ..source import Report, shortened
from .scan import comments


# Canonical: reading such a label gives the same text.
_INDEX = r"(?:0|-?[1-9][0-9]{0,98})"
_IDENTIFIER = r"[A-Za-z_][A-Za-z_0-9]*"
_LABEL = re.compile(rf"{_IDENTIFIER}(?:\{{{_INDEX}(?:,{_INDEX})*\}})?|0|[1-9][0-9]{{0,98}}")
_PLAIN = re.compile(_IDENTIFIER)
_TITLE = "names that are not labels of P-Lingua:"
_HEAD = re.compile(rf"/\*\s*{re.escape(_TITLE)}")
_MODEL_LINE = re.compile(r"@model\s*<[^<>\n]*>[^\S\n]*\n", re.IGNORECASE)
_LINE = re.compile(rf"\s*({_LABEL.pattern}) = (\".*\")\s*")


class LabelsOf:
    """A unique label for each name: `env_{out}` becomes `env_out`, or `env_out_2` if that is taken.

    `families` are the names of populations whose neurons have indices. Their labels are
    identifiers, and no other name gets a label of one of these neurons.
    """

    def __init__(self, names: Iterable[str], families: Collection[str] = ()):
        distinct = dict.fromkeys(names)
        self._labels = {
            name: name
            for name in distinct
            if (_PLAIN.fullmatch(name) if name in families else self._is_free(name, families))
        }
        taken = set(self._labels)
        if families:  # a family `x` has neurons `x{1}`, ...
            taken |= {label.partition("{")[0] for label in self._labels}
        for name in distinct:
            if name not in self._labels:
                label = _free(_plain(name), taken)
                taken.add(label)
                self._labels[name] = label

    @staticmethod
    def _is_free(name: str, families: Collection[str]) -> bool:
        return bool(_LABEL.fullmatch(name)) and name.partition("{")[0] not in families

    def __getitem__(self, name: str) -> str:
        return self._labels[name]

    def table(self, losses: Losses) -> str:
        """The comment with the table of names that are not labels; empty if all names are labels.
        Names that a file cannot contain are added to `losses.renamed`."""
        lines = ""
        for name, label in self._labels.items():
            text = json.dumps(name)
            if name == label:
                continue
            if lone_escape(text) is None:
                lines += f"\n   {label} = {text}".replace("*/", "*\\/")
            else:
                losses.rename(f"name {name!r} of a neuron", f"written as {label!r}")
        return f"/* {_TITLE}{lines} */\n" if lines else ""


def with_table_of(text: str, other: str) -> str:
    """A file with the table of names of another file, if that has one."""
    table = next(_tables(other), None)
    if table is None:
        return text
    own, line = next(_tables(text), None), _MODEL_LINE.search(text)
    if own is not None:
        return text[: own.start()] + table[0] + text[own.end() :]
    at = 0 if line is None else line.end()
    return f"{text[:at]}{table[0]}\n{text[at:]}"


def names_of_labels(report: Report) -> dict[str, tuple[str, int]]:
    """The names in the table of a file, by label, each with its offset. Mistakes in the table are
    reported, and so is every further table."""
    names: dict[str, tuple[str, int]] = {}
    first = None
    for table in _tables(report.source.text):
        if first is None:
            first = table.start()
        else:
            message = "a file has only one (move the lines of this one into the first one)"
            report.error(table.start(), f"table of names: {message}", first)
        _add_names(report, table, names)
    return names


def _tables(text: str) -> Iterator[re.Match[str]]:
    """The comments with a table of names."""
    if _TITLE in text:
        yield from (comment for comment in comments(text) if _HEAD.match(comment[0]))


def _add_names(report: Report, table: re.Match[str], names: dict[str, tuple[str, int]]) -> None:
    head = _HEAD.match(table[0])
    offset = table.start() + (0 if head is None else head.end())
    lines = report.source.text[offset : table.end()].removesuffix("*/")
    if not lines.strip():
        fix = 'write `label = "name"` on a line for each label, or remove the comment'
        report.error(table.start(), f"table of names: it has no entries ({fix})")
    for line in lines.split("\n"):
        entry, at = _LINE.fullmatch(line), offset + len(line) - len(line.lstrip())
        offset += len(line) + 1
        if not line.strip():
            continue
        name, problem = None, ""
        try:
            name = None if entry is None else parse_json(entry[2])
        except JsonSyntaxError:
            pass
        except JsonError as error:
            problem = error.problem
        fix = "correct the line, or remove it"
        if problem:
            report.error(at, f"table of names: {problem}")
        elif entry is None or not name:
            message = f'{shortened(line.strip())} is not `label = "name"` ({fix})'
            report.error(at, f"table of names: {message}")
        elif entry[1] in names:
            message = f"label {entry[1]!r} is listed twice (remove one of the lines)"
            report.error(at, f"table of names: {message}", names[entry[1]][1])
        else:
            names[entry[1]] = name, at


def _plain(name: str) -> str:
    label = re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
    return label if label[:1].isalpha() else f"n{label}"


def _free(label: str, taken: set[str]) -> str:
    free, number = label, 2
    while free in taken:
        free, number = f"{label}_{number}", number + 1
    return free
