r"""The files of Numerical WebSnapse: `{"nodes": [...], "edges": [...]}`.

A node is `{"id", "data"}`. The data of a neuron (`"type": "reg"`) are its `label`, the variables
`var_` as pairs of a name and a value, and the production functions `prf` as triples of a name, a
threshold (`null` or empty for none) and a pair of a variable and a coefficient for each variable,
in their order. An input (`"in"`) sends its `train`, an output (`"out"`) records. Numbers are texts,
also fractions such as `"1/2"`, or JSON numbers; x and y place the node in the picture.

??? cite "Source"
    numerical-websnapse/numerical-websnapse-client and -server, whose validation this is. Differs
    from them in: 1. coefficients must stand in the order of the variables, which the server
    supposes without looking at their names.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, TypeAlias

from ..numerical.model import (
    InvalidNumericalSystem,
    NumericalInput,
    NumericalNeuron,
    NumericalSystem,
    Production,
)
from .formats import refuse_other_kind
from .json_checks import Entries, Findings, abbreviated, read_values
from .json_text import JsonPath
from .kinds import NumericalForm, numerical_form, numerical_text
from .source import Report, load, reading


Number: TypeAlias = float | Fraction
_Type: TypeAlias = Literal["reg", "in", "out"]

_NODE = ("id", "data")
_DATA = ("label", "type", "var_", "prf", "train", "x", "y")
#: A number as a text.
NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300}|/0{0,300}[1-9]\d{0,300})?", re.ASCII)


def read_numerical(path: str | os.PathLike[str]) -> NumericalSystem:
    """Read a numerical SN P system from a file of Numerical WebSnapse.

    Neurons, inputs and outputs are named by their labels; where several have the same label, by the
    label and the id.

    **Arguments:**

    - `path`: the file.

    **Returns:** the system.

    **Raises:** `ReadError` with every error of the file, each `path:line:column: problem (fix)`.
    """
    source = load(path)
    report = Report(source)
    form = None

    def read(findings: Findings, value: object) -> NumericalSystem | None:
        nonlocal form
        form = numerical_form(value)
        return _Reader(findings).read(value, form)

    with reading():
        system = read_values(report, read)
    if form is None:
        refuse_other_kind(source, "numerical")
    report.finish()
    assert system is not None
    return system


class _Reader:
    def __init__(self, findings: Findings):
        self.findings = findings
        self.kinds: dict[str, _Type] = {}  # by id
        self.names: dict[str, str] = {}  # by id
        self.neurons: list[NumericalNeuron] = []
        self.trains: dict[str, tuple[Number, ...]] = {}  # by id
        self.is_complete = True  # every node has an id, a label and a type

    def read(self, value: object, form: NumericalForm | None) -> NumericalSystem | None:
        if form is not None and form != "nodes":
            return self.findings.error((), numerical_text(form))
        top = self.findings.entries(value, (), "the file", ("nodes", "edges"), ("nodes", "edges"))
        if top is None:
            return None
        items = top.items("nodes")
        entries = [self.findings.entries(x, at, "the node", _NODE, _NODE) for at, x in items]
        data = [(node, own) for node in entries if node and (own := self._named(node))]
        self.is_complete = len(data) == len(items)
        self._name(data)
        for node, own in data:
            self._node(f"{node.values['id']}", own)
        if not self.kinds:
            self.findings.error((), "there are no neurons (add one)")
        synapses, outputs, targets = self._edges(top)
        if self.findings.has_errors:
            return None
        inputs = {
            self.names[i]: NumericalInput(train, targets[i]) for i, train in self.trains.items()
        }
        try:
            return NumericalSystem(self.neurons, synapses, outputs=outputs, inputs=inputs)
        except InvalidNumericalSystem as error:
            for problem in error.problems:
                self.findings.error((), problem)
            return None

    def _named(self, node: Entries) -> Entries | None:
        """The data of a node with a new id, a label and a type."""
        number = node.text("id", "the id of a node")
        own = self.findings.entries(
            node.values["data"], node.at("data"), "the data", _DATA, ("label", "type")
        )
        if number is None or own is None:
            return None
        label = own.text("label", "the label of a node")
        kind = own.text("type", "the type of a node")
        if number in self.kinds:
            self.findings.error(
                node.at("id"), f"the id {number!r} appears twice (give another one)"
            )
            return None
        if kind is not None and kind not in ("reg", "in", "out"):
            self.findings.wrong(kind, own.at("type"), "the type", 'write "reg", "in" or "out"')
            return None
        if kind is None or label is None:
            return None
        self.kinds[number] = kind  # pyright: ignore[reportArgumentType]
        return own

    def _name(self, data: list[tuple[Entries, Entries]]) -> None:
        """Nodes are called by their labels, and by their ids, too, where others of their type have
        the label."""
        times = Counter((own.values["type"], own.values["label"]) for _, own in data)
        for node, own in data:
            kind, label, number = own.values["type"], own.values["label"], f"{node.values['id']}"
            name = f"{label}" if times[kind, label] == 1 else f"{label} ({number})"
            if (kind, name) in times and times[kind, label] > 1:
                message = f"several nodes are called {label!r}, another one {name!r} (rename one)"
                self.findings.error(own.at("label"), message)
            self.names[number] = name

    def _node(self, number: str, own: Entries) -> None:
        kind, name = self.kinds[number], self.names[number]
        what = {"reg": "neuron", "in": "input", "out": "output"}[kind] + f" {name!r}"
        if kind == "reg":
            variables = self._variables(own, what)
            functions = [
                self._production(item, place, variables, what) for place, item in own.items("prf")
            ]
            if own.values.get("train") not in (None, []):
                self.findings.error(own.at("train"), f"{what} has a train (only inputs have one)")
            known = [f for f in functions if f is not None]
            self.neurons.append(NumericalNeuron(name, variables, known))
            return
        for key in ("var_", "prf"):
            if own.values.get(key) not in (None, []):
                fix = 'leave it empty, or write the type "reg"'
                self.findings.error(own.at(key), f"{what} has {abbreviated(key)} ({fix})")
        if kind == "in":
            if own.has("train"):
                train = [self._number(x, at, what) for at, x in own.items("train")]
                self.trains[number] = tuple(x for x in train if x is not None)
        elif own.values.get("train") not in (None, []):
            self.findings.error(own.at("train"), f"{what} has a train (only inputs have one)")

    def _variables(self, own: Entries, what: str) -> dict[str, Number]:
        found: dict[str, Number] = {}
        for place, item in own.items("var_"):
            pair = self._items(item, place, f"a variable of {what}", 2)
            if pair is None:
                continue
            name = self.findings.text(pair[0], (*place, 0), f"a variable of {what}")
            if name is None:
                continue
            if name in found:
                message = f"{what} has the variable {name!r} twice (rename one)"
                self.findings.error((*place, 0), message)
            value = self._number(pair[1], (*place, 1), f"{what}, variable {name!r}")
            found[name] = 0 if value is None else value
        return found

    def _production(
        self, item: object, place: JsonPath, variables: Mapping[str, Number], what: str
    ) -> Production | None:
        triple = self._items(item, place, f"a production function of {what}", 3)
        if triple is None:
            return None
        name = self.findings.text(triple[0], (*place, 0), f"a production function of {what}")
        here = f"{what}, production function {name!r}"
        threshold = None
        if triple[1] not in (None, ""):
            threshold = self._number(triple[1], (*place, 1), f"{here}: the threshold")
        factors: list[tuple[str | None, Number]] = []
        for at, given in self.findings.items(triple[2], (*place, 2), f"{here}: the coefficients"):
            pair = self._items(given, at, f"{here}: a coefficient", 2)
            if pair is None:
                return None
            factor = self._number(pair[1], (*at, 1), f"{here}: the coefficient of {pair[0]!r:.40}")
            of = self.findings.text(pair[0], (*at, 0), f"{here}: a variable")
            factors.append((of, 0 if factor is None else factor))
        if [of for of, _ in factors] != [*variables]:
            fix = "write one for each variable of the neuron, in their order"
            names = ", ".join(variables) or "no variable"
            message = f"{here}: the coefficients are not those of {names} ({fix})"
            return self.findings.error((*place, 2), message)
        return Production({f"{of}": factor for of, factor in factors}, threshold, name)

    def _items(self, item: object, place: JsonPath, what: str, size: int) -> list | None:
        items = self.findings.sequence(item, place, what)
        if items is None or len(items) == size:
            return items
        self.findings.error(place, f"{what} has {len(items)} items (write {size})")
        return None

    def _number(self, value: object, place: JsonPath, what: str) -> Number | None:
        if isinstance(value, str) and NUMBER.fullmatch(value):
            value = Fraction(value)
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            try:
                if abs(float(value)) < float("inf"):
                    return value
            except OverflowError:
                pass
            fix = "write a number that float64 holds"
            return self.findings.error(place, f"{what} is too large ({fix})")
        fix = 'write a number, such as "2", "0.5" or "1/2"'
        return self.findings.wrong(value, place, what, fix)

    def _edges(
        self, top: Entries
    ) -> tuple[list[tuple[str, str]], dict[str, list[str]], dict[str, list[str]]]:
        """Synapses, what sends to each output, and where each input goes, by its id."""
        synapses: list[tuple[str, str]] = []
        outputs = {self.names[i]: [] for i, kind in self.kinds.items() if kind == "out"}
        targets: dict[str, list[str]] = {i: [] for i in self.trains}
        seen: dict[tuple[str, str], JsonPath] = {}
        for place, item in top.items("edges"):
            keys = ("id", "source", "target", "data")
            edge = self.findings.entries(item, place, "the edge", keys, ("source", "target"))
            if edge is None:
                continue
            ends = [edge.text(key, f"the {key} of an edge") for key in ("source", "target")]
            source, target = ends
            if source is None or target is None:
                continue
            for key, number in (("source", source), ("target", target)):
                if number not in self.kinds and self.is_complete:
                    self.findings.error(edge.at(key), f"there is no node {number!r} (correct it)")
            if source not in self.kinds or target not in self.kinds:
                continue
            if (source, target) in seen:
                message = "this edge appears twice (remove one)"
                self.findings.error(place, message, seen[source, target])
                continue
            seen[source, target] = place
            match self.kinds[source], self.kinds[target]:
                case "reg", "reg":
                    synapses.append((self.names[source], self.names[target]))
                case "reg", "out":
                    outputs[self.names[target]].append(self.names[source])
                case "in", "reg":
                    targets.setdefault(source, []).append(self.names[target])
                case of, to:
                    message = f'an edge from "{of}" to "{to}" (inputs lead to neurons, and only '
                    self.findings.error(place, f"{message}neurons to outputs)")
        return synapses, outputs, targets
