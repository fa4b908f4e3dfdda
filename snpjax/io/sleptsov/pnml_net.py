"""A net of a PNML file: its nodes, arcs and final markings, and the arguments they make."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...drawing.coordinates import is_coordinate
from ...sleptsov import AbstractRule, Petri
from ...sleptsov.model.rules import RULES
from ..json_checks import out_of_range
from ..source import MAX_FINDINGS, Report, shortened
from .draft import Dropping, NetDraft
from .numbers import MAX_NODES, integer
from .pnml_arcs import take_arc
from .pnml_elements import PnmlElement, PnmlLabel
from .pnml_vocabulary import ARCS, NEUTRAL, NODES


TYPE = "http://www.pnml.org/version-2009/grammar/ptnet"

#: Types of nets whose tokens are plain: those of the standard, of its drafts and of older tools.
#: The core model has no types; what stands in such a net is what counts.
_PLAIN_TYPES = re.compile(
    r"(pt-?net|p/t|place/?transition|basicpnml|epnml|stnet|pnmlcoremodel|laas\.fr/tina/)",
    re.IGNORECASE,
)
_HIGH_LEVEL = re.compile(r"(hlpn|highlevel|symmetric|coloured|colored)", re.IGNORECASE)


class PnmlNumbers:
    """The numbers of a net, as its labels write them; what is wrong with them is reported.

    **Arguments:**

    - `constants`: the named numbers of the file.
    - `drop_time`: see `Dropping`.
    """

    def __init__(self, report: Report, constants: Mapping[str, PnmlLabel], drop_time: bool):
        self.report, self.constants = report, constants
        self.drop = Dropping(report, drop_time)
        self._colours: dict[str, int] = {}  # of tokens in use, and where each is first

    def count(self, label: PnmlLabel, what: str, *, least: int) -> int | None:
        """The number that a label says, at least `least`; `None` if it is none, which is
        reported."""
        text = label.text
        if text in self.constants:
            text = self.constants[text].text
        if not text and label.is_value and least == 0:
            return 0
        if "," in text:  # PIPE: the tokens of each colour
            number = self._coloured(text, label.offset, what)
        else:
            number = integer(text)
        if number is None:
            return None
        if isinstance(number, str):
            self.report.error(label.offset, f"{what}: {number}")
            return None
        if number < least:
            self.report.error(label.offset, f"{what} is {number} (write {least} or more)")
            return None
        return number

    def _coloured(self, text: str, offset: int, what: str) -> int | str | None:
        words = [word.strip() for word in text.split(",")]
        if len(words) % 2:
            return f"{shortened(text)!r} is not a number, nor colours with the number of each"
        total = 0
        for colour, word in zip(words[::2], words[1::2], strict=True):
            number = integer(word)
            if isinstance(number, str):
                return number
            if number:
                self._colours.setdefault(colour, offset)
            total += number
        if len(self._colours) > 1:
            colours = ", ".join(map(shortened, list(self._colours)[:2]))
            message = (
                f"{what} has tokens of another colour: coloured content ({colours}); only nets "
                "with plain tokens are read (unfold the net first)"
            )
            self.report.error(offset, message, next(iter(self._colours.values())))
            return None
        return total


@dataclass
class Shared:
    """What stands beside the nets of a file: constants, and the nodes that nets of TAPAAL share."""

    constants: dict[str, PnmlLabel] = field(default_factory=dict)
    places: dict[str, PnmlElement] = field(default_factory=dict)
    transitions: dict[str, PnmlElement] = field(default_factory=dict)


class FileNet:
    """A net of the file: its nodes and arcs in order.

    Findings are kept until the net is chosen: those of other nets do not matter. `final` are the
    places of each final marking, by their ids.

    - `repeats_ids`: ids of arcs may be there twice, as TAPAAL writes them: nothing refers to them.
    """

    def __init__(self, owner: PnmlElement, report: Report, *, repeats_ids: bool):
        self.owner, self.report, self.repeats_ids = owner, report, repeats_ids
        self.nodes: dict[str, PnmlElement] = {}
        self.arcs: list[PnmlElement] = []
        self.ids: dict[str, PnmlElement] = {owner.id: owner}
        self.final: list[list[PnmlElement]] = []
        self._times: list[tuple[int, str]] = []
        self._findings: list[Callable[[], None]] = []

    @property
    def is_active(self) -> bool:
        """Whether TAPAAL takes part of the net in verification."""
        return self.owner.attributes.get("active", "true").lower() != "false"

    def tell(self, tell: Callable[..., None], *finding: int | str | None) -> None:
        """Note an error or a warning, with what tells it."""
        if len(self._findings) <= MAX_FINDINGS:
            self._findings.append(partial(tell, *finding))

    def add_time(self, offset: int, what: str) -> None:
        """Note an element about time."""
        if len(self._times) <= MAX_FINDINGS:
            self._times.append((offset, what))

    def add(self, owner: PnmlElement) -> None:
        """Take a node, an arc, a page or a final marking."""
        if owner.kind == "marking":
            self.final.append([])
        elif owner.kind == "finalPlace":
            self.final[-1].append(owner)
        elif not owner.id and owner.kind in NODES:
            message = f"a <{owner.kind}> has no id (give it one)"
            self.tell(self.report.error, owner.offset, message)
        elif self.repeats_ids and owner.kind in ARCS:
            self.arcs.append(owner)
        else:
            first = self.ids.setdefault(owner.id, owner) if owner.id else owner
            if first is not owner:
                message = f"the id {shortened(owner.id)!r} is there twice (give each its own)"
                self.tell(self.report.error, owner.offset, message, first.offset)
            elif owner.kind in NODES:
                self.nodes[owner.id] = owner
            elif owner.kind in ARCS:
                self.arcs.append(owner)

    def arguments(self, shared: Shared, *, drop_time: bool) -> dict[str, Any]:
        """The arguments of the net; whatever is wrong is reported."""
        for tell in self._findings:
            tell()
        numbers = PnmlNumbers(self.report, shared.constants, drop_time)
        for offset, what in self._times:
            numbers.drop(offset, what)
        return _Builder(self, shared, numbers).arguments()


class _Builder:
    """Makes the arguments of a net from its elements, whatever their order in the file."""

    def __init__(self, net: FileNet, shared: Shared, numbers: PnmlNumbers):
        self.net, self.shared, self.numbers = net, shared, numbers
        self.report = numbers.report
        self.draft = NetDraft(self.report)
        self.ends: dict[str, tuple[str, int]] = {}  # kind and number of nodes, by their ids

    def arguments(self) -> dict[str, Any]:
        nodes, draft = self.net.nodes, self.draft
        self._check_type()
        for node in nodes.values():
            check_neutral(node, self.numbers)
            if node.kind == "place":
                self.ends[node.id] = "place", draft.place(node.id)
                self._mark(node)
            elif node.kind == "transition":
                self.ends[node.id] = "transition", draft.transition(node.id)
                self._shared_node(self.shared.transitions, node)
        for node in nodes.values():
            if node.kind.startswith("reference"):
                self._resolve(node)
        for arc in self.net.arcs:
            check_neutral(arc, self.numbers)
            take_arc(arc, self.ends, draft, self.numbers)
        for node in nodes.values():
            for beats in node.beats:
                self._take_priority(node, beats)
        self._take_levels()
        arguments = draft.arguments()
        name = self.net.owner.labels.get("name")
        ids = {f"{kind}s": arguments[f"{kind}_names"] for kind in ("place", "transition")}
        names = {f"{of[:-1]}_names": self._names(its_ids) for of, its_ids in ids.items()}
        notes: dict[str, Any] = {}
        if tuple(names.values()) != tuple(ids.values()):
            notes["ids"] = {of: list(its) for of, its in ids.items()}
        if positions := self._positions(ids, names):
            notes["positions"] = positions
        return {
            **arguments,
            **names,
            "final_markings": self._final_markings(),
            "name": name.text if name else "",
            "rule": self._rule(),
            "notes": notes,
        }

    def _positions(
        self, ids: Mapping[str, tuple[str, ...]], names: Mapping[str, tuple[str, ...]]
    ) -> dict[str, list[float]]:
        """The positions by name, where all nodes have some: pages have coordinates of their own."""
        if sum(element.kind == "page" for element in self.net.ids.values()) > 1:
            return {}
        found: dict[str, list[float]] = {}
        are_in_range = True
        for own_ids, own_names in zip(ids.values(), names.values(), strict=True):
            for id, name in zip(own_ids, own_names, strict=True):
                position = self.net.nodes[id].position
                if position is None or name in found:
                    return {}
                found[name] = [position.x, position.y]
                for far in (x for x in found[name] if not is_coordinate(x)):
                    self.report.warning(position.offset, out_of_range(far, name))
                    are_in_range = False
        return found if are_in_range else {}

    def _rule(self) -> AbstractRule:
        """The rule that snpjax wrote; nets of all other tools are Petri nets."""
        label = self.net.owner.labels.get("rule")
        if label is None or label.text in RULES:
            return Petri() if label is None else RULES[label.text]
        message = f"the rule is {shortened(label.text)!r} (write {', '.join(RULES)})"
        self.report.error(label.offset, message)
        return Petri()

    def _check_type(self) -> None:
        type = self.net.owner.attributes.get("type", "")
        if _HIGH_LEVEL.search(type):
            message = f"a net of the type {type} is a high-level net (only plain ones are read)"
        elif type and not _PLAIN_TYPES.search(type):
            message = f"unknown type of nets {shortened(type)!r} (read are those like {TYPE})"
        else:
            return
        self.report.error(self.net.owner.offset_of("type"), message)

    def _shared_node(
        self, shared: Mapping[str, PnmlElement], node: PnmlElement
    ) -> PnmlElement | None:
        """The node that TAPAAL shares under the name of this one."""
        other = shared.get(node.attributes.get("name", ""))
        if other is not None:
            check_neutral(other, self.numbers)
        return other

    def _names(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """The names of nodes; of those that are there twice, the ids from the second on."""
        labels = [self.net.nodes[id].label("name") for id in ids]
        given = [
            label.text if label and label.text else id
            for id, label in zip(ids, labels, strict=True)
        ]
        known, names = set(given), {}
        for id, name in zip(ids, given, strict=True):
            if name in names:
                message = (
                    f"the name {shortened(name)!r} is there twice (the id {shortened(id)!r} is "
                    "taken instead)"
                )
                self.report.warning(self.net.nodes[id].offset, message)
                name = id
                while name in known:
                    name += "'"
                known.add(name)
            names[name] = None
        return tuple(names)

    def _mark(self, node: PnmlElement) -> None:
        """The tokens of a place, which an element, an attribute or a shared place says."""
        what = f"the marking of {shortened(node.id)!r}"
        found = [node.labels.get("initialMarking"), node.attribute("initialMarking")]
        other = self._shared_node(self.shared.places, node)
        if other is not None:
            found.append(other.attribute("initialMarking"))
        labels = [label for label in found if label is not None]
        counts = [self.numbers.count(label, what, least=0) for label in labels]
        if None in counts or not counts:
            return
        if len(set(counts)) > 1:
            message = f"{what} is declared twice, {counts[0]} and {counts[-1]} tokens (remove one)"
            self.report.error(labels[0].offset, message, labels[-1].offset)
        else:
            self.draft.mark(self.draft.place(node.id), counts[0] or 0, labels[0].offset)

    def _resolve(self, node: PnmlElement) -> None:
        """Let a reference node stand for the node that it, or the one it refers to, refers to."""
        here = f"the {node.kind} {shortened(node.id)!r}"
        seen, found = {node.id}, node
        while found.kind.startswith("reference"):
            id = found.attributes.get("ref", "")
            if id not in self.net.nodes:
                message = f"{here} refers to {shortened(id)!r}, which there is not"
                return self.report.error(node.offset, message)
            if id in seen:
                return self.report.error(node.offset, f"{here} refers to itself")
            seen.add(id)
            found = self.net.nodes[id]
        if found.kind != node.kind.removeprefix("reference").lower():
            self.report.error(node.offset, f"{here} refers to a {found.kind}")
        elif found.id in self.ends:
            self.ends[node.id] = self.ends[found.id]

    def _take_priority(self, node: PnmlElement, beats: PnmlLabel) -> None:
        kind, number = self.ends.get(node.id, ("", -1))
        other, beaten = self.ends.get(beats.text, ("", -1))
        if kind == other == "transition":
            self.draft.priority(number, beaten, beats.offset)
            return
        message = (
            f"a priority of {shortened(node.id)!r} over {shortened(beats.text)!r} (both must "
            "be transitions)"
        )
        self.report.error(beats.offset, message)

    def _take_levels(self) -> None:
        """The priorities that follow from `<timed>` and `<priority>`, as PIPE has them: immediate
        transitions beat timed ones, and among immediate ones the larger priority wins."""
        transitions = [node for node in self.net.nodes.values() if node.kind == "transition"]
        # TAPAAL writes 0 or 1 at every transition, and means nothing by it.
        attributes = [node for node in transitions if "priority" in node.attributes]
        values = {node.attributes["priority"] for node in attributes}
        if len(values) > 1 or not values <= {"0", "1"}:
            message = (
                "attributes `priority` that differ (write elements <timed> and <priority>, or "
                "remove the attributes)"
            )
            self.report.error(attributes[0].offset_of("priority"), message)
        if not any("timed" in node.labels for node in transitions):
            said = [node.labels["priority"] for node in transitions if "priority" in node.labels]
            if len({label.text for label in said}) > 1 or 0 < len(said) < len(transitions):
                message = (
                    "a <priority> without a <timed> (write <timed> for every transition: the "
                    "larger priority wins among those that are not timed)"
                )
                self.report.error(said[0].offset, message)
            return
        levels: dict[int, tuple[int, int]] = {}
        for node in transitions:
            named = f"transition {shortened(node.id)!r}"
            timed, priority = node.labels.get("timed"), node.labels.get("priority")
            if timed is None:
                message = f"{named} has no <timed>, but others have (write it)"
                self.report.error(node.offset, message)
            elif timed.text.lower() not in ("true", "false"):
                message = f"the <timed> of {named} is {shortened(timed.text)!r}"
                self.report.error(timed.offset, f"{message} (write true or false)")
            elif timed.text.lower() == "true":
                levels[self.draft.transition(node.id)] = 0, timed.offset
            else:
                level = 1
                if priority is not None:
                    level = self.numbers.count(priority, f"the priority of {named}", least=0)
                if level is not None:
                    levels[self.draft.transition(node.id)] = 1 + level, timed.offset
        self.draft.levels(levels)

    def _final_markings(self) -> list[list[int]]:
        final, num_places = self.net.final, len(self.draft.places)
        if len(final) * num_places > MAX_NODES:
            message = (
                f"{len(final)} final markings of {num_places} places are more than the "
                f"{MAX_NODES} numbers that are read (keep fewer)"
            )
            self.report.error(self.net.owner.offset, message)
            return []
        return [self._final(marking) for marking in final]

    def _final(self, marking: list[PnmlElement]) -> list[int]:
        """A final marking; the places that it does not name hold no tokens."""
        tokens = [0] * len(self.draft.places)
        seen: dict[int, int] = {}
        for place in marking:
            id, what = place.attributes.get("idref", ""), "a final marking"
            kind, number = self.ends.get(id, ("", -1))
            label = place.labels.get("text")
            if kind != "place":
                message = f"{what} names {shortened(id)!r}, which is not a place (add the place)"
                self.report.error(place.offset, message)
            elif seen.setdefault(number, place.offset) != place.offset:
                message = f"{what} names {shortened(id)!r} twice (remove one)"
                self.report.error(place.offset, message, seen[number])
            elif label is None:
                message = f"{what} does not set the tokens of {shortened(id)!r} (write <text>)"
                self.report.error(place.offset, message)
            else:
                count = self.numbers.count(label, f"{what} of {shortened(id)!r}", least=0)
                tokens[number] = count or 0
        return tokens


def check_neutral(element: PnmlElement, numbers: PnmlNumbers) -> None:
    """Tell elements and attributes of which only the values that change nothing are read."""
    known = NEUTRAL.get(element.kind, {})
    if known.keys().isdisjoint(element.attributes) and known.keys().isdisjoint(element.labels):
        return
    for name, neutral in known.items():
        for label in (element.labels.get(name), element.attribute(name)):
            if label is None or _plain(label.text) in neutral.values:
                continue
            id = element.id or element.attributes.get("name", "")
            what = f"the {name} {shortened(label.text)!r} of {element.kind} {shortened(id)!r}"
            if neutral.reason:
                numbers.report.error(label.offset, f"{what}: {neutral.reason}")
            else:
                numbers.drop(label.offset, what, *neutral.values)


def _plain(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return "".join(text.lower().split())
