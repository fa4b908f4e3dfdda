"""Names of neurons as labels of P-Lingua, and the comment that keeps them."""

import json
import re
from collections.abc import Container, Iterable

from ..._text.surrogates import HALF, lone_escape
from ..losses import Losses
from ..source import Report, shortened


# Canonical: the label that is read back is the text itself.
_INDEX = r"(?:0|-?[1-9][0-9]{0,98})"
_IDENTIFIER = r"[A-Za-z_][A-Za-z_0-9]*"
_LABEL = re.compile(rf"{_IDENTIFIER}(?:\{{{_INDEX}(?:,{_INDEX})*\}})?|0|[1-9][0-9]{{0,98}}")
_PLAIN = re.compile(_IDENTIFIER)
_HEAD = "/* names that are not labels of P-Lingua:"
_TABLE = re.compile(re.escape(_HEAD) + r"(\n.*?)\*/", re.DOTALL)
_MODEL_LINE = re.compile(r"@model\s*<[^<>\n]*>[^\S\n]*\n", re.IGNORECASE)
_LINE = re.compile(rf"\s*({_LABEL.pattern}) = (\".*\")\s*")


class LabelsOf:
    """Labels of names, each name its own: `env_{out}` becomes `env_out`, and `env_out_2` where that
    is taken.

    `families` are those of the names that bear indices: they are identifiers, and where there are
    any, no other name is one of their labels.
    """

    def __init__(self, names: Iterable[str], families: Container[str] = ()):
        distinct = dict.fromkeys(names)
        self._labels = {
            name: name
            for name in distinct
            if (_PLAIN.fullmatch(name) if name in families else self._is_free(name, families))
        }
        taken = set(self._labels)
        for name in distinct:
            if name not in self._labels:
                label = _free(_plain(name), taken)
                taken.add(label)
                self._labels[name] = label

    @staticmethod
    def _is_free(name: str, families: Container[str]) -> bool:
        return bool(_LABEL.fullmatch(name)) and name.partition("{")[0] not in families

    def __getitem__(self, name: str) -> str:
        return self._labels[name]

    def table(self, losses: Losses) -> str:
        """A comment with the names that are not labels; empty if all are. Those that no file may
        hold are noted."""
        lines = ""
        for name, label in self._labels.items():
            text = json.dumps(name)
            if name == label:
                continue
            if lone_escape(text) is None:
                lines += f"\n   {label} = {text}".replace("*/", "*\\/")
            else:
                losses.rename(f"name {name!r} of a neuron", f"written as {label!r}")
        return f"{_HEAD}{lines} */\n" if lines else ""


def with_table_of(text: str, other: str) -> str:
    """A file with the table of names of another one, if that has one."""
    table = _TABLE.search(other)
    if table is None:
        return text
    own, line = _TABLE.search(text), _MODEL_LINE.search(text)
    if own is not None:
        return text[: own.start()] + table[0] + text[own.end() :]
    at = 0 if line is None else line.end()
    return f"{text[:at]}{table[0]}\n{text[at:]}"


def names_of_labels(report: Report) -> dict[str, tuple[str, int]]:
    """The names in the comment that `LabelsOf.table` wrote, by label, and where each stands; what
    is wrong with its lines is reported."""
    table, names = _TABLE.search(report.source.text), {}
    if table is None:
        return names
    offset = table.start(1)
    for line in table[1].split("\n"):
        entry, at = _LINE.fullmatch(line), offset + len(line) - len(line.lstrip())
        offset += len(line) + 1
        if not line.strip():
            continue
        try:
            name = None if entry is None else json.loads(entry[2])
        except ValueError:
            name = None
        fix = "correct the line, or remove it"
        if entry is None or not name:
            message = f'table of names: {shortened(line.strip())} is not `label = "name"` ({fix})'
            report.error(at, message)
        elif lone_escape(entry[2]) is not None:
            report.error(at, f"table of names: this contains {HALF} ({fix})")
        else:
            names[entry[1]] = name, at
    return names


def _plain(name: str) -> str:
    label = re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
    return label if label[:1].isalpha() else f"n{label}"


def _free(label: str, taken: set[str]) -> str:
    free, number = label, 2
    while free in taken:
        free, number = f"{label}_{number}", number + 1
    return free
