"""Reading the XML of WebSnapse v1 and v2 and of sn-p-factory: a `<content>` of neurons.

An element is one neuron, input node or output node: `<id>`, `<position>`, `<rules>`, the initial
`<startingSpikes>` (else `<spikes>`), `<isInput>` and `<isOutput>`, an `<out>` for each target,
`<outWeights>` by target, and for input nodes the `<bitstring>`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from snpjax_formats.strict_json import MAX_DIGITS

from ...drawing.coordinates import is_coordinate
from ...spiking.model.system import Json, SpikingSystem
from ...spiking.model.validity import Level
from ..building import read_reported
from ..environment import (
    MAX_INPUT_ENTRIES,
    InputNode,
    NeuronNode,
    Node,
    OutputNode,
    Wire,
    build_system,
)
from ..json_checks import out_of_range
from ..source import Report, Source, shortened
from .elements import XmlElement, read_children
from .rules import Dialect, XmpRuleReader


MAX_NAME = 1000

_ACCEPTED = "read are the files of WebSnapse v1 and v2 and of sn-p-factory, whose root is <content>"
_PARTS = (
    "id position rules startingSpikes delay spikes isOutput isInput out outWeights bitstring "
    "currentRule chosenRule"
).split()
_REPEATABLE = ("out",)
_WITH_CHILDREN = ("position", "outWeights")
_INTEGER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?", re.ASCII)
_ENTRY = re.compile("(?:^|,)([^,]*)")
_IDLE = ("", "0", "-1")  # WebSnapse leaves -1 after an emission


def read_xmp(source: Source, level: Level) -> SpikingSystem:
    """The system that a WebSnapse v1 or v2 file (`.xmp`) describes.

    Input and output nodes become trains and outputs according to `snpjax.io.environment`. The file
    may have been saved while it ran: the system starts from `<startingSpikes>`, every neuron open.
    """
    return read_reported(source, lambda report: _Reader("websnapse", report).read(level))


def read_factory_xml(source: Source, level: Level) -> SpikingSystem:
    """The system that an XML file of sn-p-factory describes.

    It is like a WebSnapse file, but `ka+` in a guard means the positive multiples of k, the initial
    spikes are `<spikes>`, and a target in `<outWeights>` needs no `<out>`.
    """
    return read_reported(source, lambda report: _Reader("factory", report).read(level))


@dataclass(slots=True)
class _Links:
    """What an element says about its synapses: places by target, and weights by element name."""

    source: str
    targets: list[tuple[str, int]] = field(default_factory=list)
    weights: dict[str, tuple[int, int]] = field(default_factory=dict)


class _Reader:
    """Makes nodes and wires of the elements; weights wait until all names are known."""

    def __init__(self, dialect: Dialect, report: Report):
        self.dialect: Dialect = dialect
        self.report = report
        self.rules = XmpRuleReader(dialect, report)
        self.nodes: list[Node[int]] = []
        self.links: list[_Links] = []
        self.ids: set[str] = set()
        self.id_of_element: dict[str, str] = {}  # where they differ
        self.positions: dict[str, Json] = {}
        self.are_names_known = True
        self._entries = 0

    def read(self, level: Level) -> SpikingSystem | None:
        if not read_children(self.report, "content", _ACCEPTED, self._take):
            self.are_names_known = False
        notes: dict[str, Json] = {"positions": self.positions} if self.positions else {}
        return build_system(
            self.nodes,
            [wire for links in self.links for wire in self._wires(links)],
            self.report,
            level=level,
            notes=notes,
            are_names_known=self.are_names_known,
        )

    def _take(self, element: XmlElement) -> None:
        parts = self._parts(element)
        name = self._name(parts["id"], "the <id>") if "id" in parts else None
        if "id" not in parts:
            message = f"the neuron <{shortened(element.name)}> has no <id> (add it)"
            self.report.error(element.offset, message)
        if name is None:
            self.are_names_known = False
            name = element.name  # so that what else is wrong is reported too
            if name in self.ids:
                name += f" at {element.offset}"
        place = parts["id"].start if "id" in parts else element.offset
        self.ids.add(name)
        if name != element.name:
            self.id_of_element.setdefault(element.name, name)
        self._take_position(name, parts.get("position"))
        is_input, is_output = self._truth(parts.get("isInput")), self._truth(parts.get("isOutput"))
        if is_input and is_output:
            message = f"neuron {shortened(name)!r} is both input and output (make it one of them)"
            self.report.error(place, message)
        if is_input:
            self.nodes.append(InputNode(name, place, self._train(parts.get("bitstring"))))
        elif is_output:
            self.nodes.append(OutputNode(name, place))
        else:
            self.nodes.append(self._neuron(name, place, parts))
        rules = parts.get("rules")
        if (is_input or is_output) and rules is not None and rules.text.strip():
            owner = "an input node" if is_input else "an output node"
            message = f"{owner} has no rules, so these are not read (remove them)"
            self.report.warning(rules.start, message)
        self._take_links(name, element, parts)

    def _parts(self, element: XmlElement) -> dict[str, XmlElement]:
        """The children by name; of an `<out>` the last, since they may repeat."""
        self._refuse_text(element)
        parts: dict[str, XmlElement] = {}
        for child in element.children:
            if child.name not in _PARTS:
                known = ", ".join(_PARTS[:-2])
                message = f"unknown element <{shortened(child.name)}> in a neuron (known: {known})"
                self.report.error(child.offset, message)
            elif child.name in parts and child.name not in _REPEATABLE:
                message = f"<{child.name}> appears twice in a neuron (remove one)"
                self.report.error(child.offset, message, parts[child.name].offset)
                continue
            parts[child.name] = child
            if child.children and child.name not in _WITH_CHILDREN:
                self._refuse_child(child.children[0], child)
        return parts

    def _neuron(self, name: str, place: int, parts: Mapping[str, XmlElement]) -> NeuronNode[int]:
        spikes = parts.get("startingSpikes", parts.get("spikes"))
        count = None if spikes is None else self._integer(spikes, "the number of spikes")
        rules = self.rules.read_all(parts["rules"]) if "rules" in parts else []
        if "bitstring" in parts and parts["bitstring"].text.strip():
            message = "the <bitstring> of a neuron that is not an input is not read (remove it)"
            self.report.warning(parts["bitstring"].start, message)
        self._warn_of_running(parts)
        place_of_spikes = place if spikes is None else spikes.start
        return NeuronNode(name, place, count or 0, place_of_spikes, rules)

    def _warn_of_running(self, parts: Mapping[str, XmlElement]) -> None:
        rule, delay = parts.get("currentRule"), parts.get("delay")
        running = rule if rule is not None and rule.text.strip() else None
        if running is None and delay is not None and delay.text.strip() not in _IDLE:
            running = delay
        if running is not None:
            start = "startingSpikes" if "startingSpikes" in parts else "spikes"
            message = (
                "the file was saved while this neuron was closed (it is read as open, with its "
                f"<{start}>)"
            )
            self.report.warning(running.start, message)

    # Synapses

    def _take_links(self, name: str, element: XmlElement, parts: Mapping[str, XmlElement]) -> None:
        links = _Links(name)
        for child in element.children:
            if child.name == "out" and child.text.strip():  # an empty list is written `<out/>`
                target = self._name(child, "the <out>")
                if target is not None:
                    links.targets.append((target, child.start))
        if "outWeights" in parts:
            self._refuse_text(parts["outWeights"])
            for child in parts["outWeights"].children:
                if child.children:
                    self._refuse_child(child.children[0], child)
                if child.name in links.weights:
                    message = f"the weight of <{shortened(child.name)}> appears twice (remove one)"
                    self.report.error(child.offset, message, links.weights[child.name][1])
                    continue
                weight = self._integer(child, "the weight of a synapse")
                links.weights[child.name] = (1 if weight is None else weight, child.start)
        if links.targets or links.weights:
            self.links.append(links)

    def _wires(self, links: _Links) -> list[Wire[int]]:
        # An element in `<outWeights>` is named by an id, or by an element that has this id.
        weights = {
            name if name in self.ids else self.id_of_element.get(name, name): weight
            for name, weight in links.weights.items()
        }
        wires = []
        for target, place in links.targets:
            weight, weight_place = weights.get(target, (1, place))
            wires.append(Wire(links.source, target, weight, place, place, place, weight_place))
        for target, _ in links.targets:
            weights.pop(target, None)
        return wires + self._wires_of_weights(links.source, weights)

    def _wires_of_weights(
        self, source: str, weights: Mapping[str, tuple[int, int]]
    ) -> list[Wire[int]]:
        """Weights without an `<out>`: synapses for sn-p-factory, leftovers of WebSnapse."""
        if self.dialect == "factory":
            return [
                Wire(source, target, weight, place, place, place, place)
                for target, (weight, place) in weights.items()
            ]
        for target, (_, place) in weights.items():
            target = shortened(target)
            message = (
                f"there is no <out> to {target!r}, so this weight is not read "
                f"(remove it, or add <out>{target}</out>)"
            )
            self.report.warning(place, message)
        return []

    # Values

    def _name(self, element: XmlElement, what: str) -> str | None:
        name = element.text.strip()
        if not name:
            self.report.error(element.offset, f"{what} is empty (write a name)")
        if len(name) > MAX_NAME:
            message = f"{what} has {len(name)} characters (write at most {MAX_NAME})"
            self.report.error(element.start, message)
            return None
        return name or None

    def _integer(self, element: XmlElement, what: str) -> int | None:
        return self._number(element.text.strip(), element.start, what)

    def _number(self, text: str, place: int, what: str) -> int | None:
        match = _INTEGER.fullmatch(text)
        if match is None:
            found = repr(shortened(text)) if text else "missing"
            self.report.error(place, f"{what} is {found} (write an integer)")
        elif len(match[1]) > MAX_DIGITS:
            message = f"{what} has {len(match[1])} digits (write at most {MAX_DIGITS})"
            self.report.error(place, message)
        else:
            return int(match[1])
        return None

    def _truth(self, element: XmlElement | None) -> bool:
        text = "false" if element is None else element.text.strip().lower()
        if element is not None and text not in ("true", "false"):
            message = (
                f"<{element.name}> is {shortened(element.text.strip())!r} (write true or false)"
            )
            self.report.error(element.start, message)
        return text == "true"

    def _train(self, element: XmlElement | None) -> list[int]:
        """The numbers of a bitstring."""
        if element is None or not element.text.strip():
            return []
        text = element.text
        self._entries += text.count(",") + 1
        if self._entries > MAX_INPUT_ENTRIES:
            message = (
                f"the bitstrings have more than {MAX_INPUT_ENTRIES} entries (shorten the trains)"
            )
            self.report.error(element.start, message)
            return []
        train = []
        what = "an entry of the bitstring"
        for entry in _ENTRY.finditer(text):
            place = element.place(entry.end() - len(entry[1].lstrip()))
            number = self._number(entry[1].strip(), place, what)
            if number is not None and number < 0:
                self.report.error(place, f"{what} is {number} (write an integer, 0 or more)")
            train.append(max(number or 0, 0))
        if len(train) == 1 and len(text.strip()) > 1 and set(text.strip()) <= {"0", "1"}:
            message = (
                f"the bitstring is one number, {train[0]} spikes in step 1 (separate steps by "
                "commas: 1,0,1)"
            )
            self.report.warning(element.start, message)
        return train

    def _take_position(self, name: str, position: XmlElement | None) -> None:
        if position is None:
            return
        self._refuse_text(position)
        place: dict[str, int | float] = {}
        for child in position.children:
            if child.name not in ("x", "y"):
                self._refuse_child(child, position)
                continue
            if child.name in place:
                message = f"<{child.name}> appears twice in a position (remove one)"
                self.report.error(child.offset, message)
                continue
            number = _coordinate(child.text.strip())
            if is_coordinate(number):
                place[child.name] = number
                continue
            message = f"the position is {shortened(child.text.strip())!r} (write a number)"
            if number is not None:
                message = out_of_range(number, name)
            self.report.warning(child.start, message)
        if len(place) == 2:
            self.positions.setdefault(name, [place["x"], place["y"]])

    # What does not belong

    def _refuse_text(self, element: XmlElement) -> None:
        text = element.text.strip()
        if text:
            message = f"the text {shortened(text)!r} stands outside of all parts (remove it)"
            self.report.error(element.start, message)

    def _refuse_child(self, child: XmlElement, parent: XmlElement) -> None:
        message = (
            f"unknown element <{shortened(child.name)}> in <{shortened(parent.name)}> (remove it)"
        )
        self.report.error(child.offset, message)


def _coordinate(text: str) -> int | float | None:
    if len(text) > MAX_DIGITS:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(text) if text.lstrip("-").isdecimal() else number
