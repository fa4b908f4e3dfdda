"""Names of neurons as labels of P-Lingua."""

import json
import re
from collections.abc import Container, Iterable

from ..losses import Losses


# Canonical: the label that is read back is the text itself.
_INDEX = r"(?:0|-?[1-9][0-9]{0,98})"
_IDENTIFIER = r"[A-Za-z_][A-Za-z_0-9]*"
_LABEL = re.compile(rf"{_IDENTIFIER}(?:\{{{_INDEX}(?:,{_INDEX})*\}})?|0|[1-9][0-9]{{0,98}}")
_PLAIN = re.compile(_IDENTIFIER)


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

    def renamed(self) -> list[tuple[str, str]]:
        """The names that are not labels, each with its label."""
        return [(name, label) for name, label in self._labels.items() if name != label]

    def tell(self, losses: Losses) -> None:
        """Note the names that are not labels."""
        for name, label in self.renamed():
            losses.rename(f"name {name!r} of a neuron", f"written as {label!r}")

    def table(self) -> str:
        """A comment with the names that are not labels; empty if all are."""
        renamed = self.renamed()
        if not renamed:
            return ""
        lines = "".join(f"\n   {label} = {json.dumps(name)}" for name, label in renamed)
        lines = lines.replace("*/", "*\\/")
        return f"/* names that are not labels of P-Lingua:{lines} */\n"


def _plain(name: str) -> str:
    label = re.sub("[^A-Za-z0-9]+", "_", name).strip("_")
    return label if label[:1].isalpha() else f"n{label}"


def _free(label: str, taken: set[str]) -> str:
    free, number = label, 2
    while free in taken:
        free, number = f"{label}_{number}", number + 1
    return free
