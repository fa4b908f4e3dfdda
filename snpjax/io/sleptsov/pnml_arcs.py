"""Elements of PNML files, and arcs in the dialects of pm4py, GreatSPN, PIPE, Tina and TAPAAL."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..tell import AtOffsets
from .draft import Draft, Kind
from .numbers import integer, shortened


DEFAULT_COLOUR = "Default,"  # PIPE writes the colour before the number
_KINDS: dict[str, Kind] = {
    "": "input",
    "normal": "input",
    "regular": "input",
    "timed": "input",
    "inhibitor": "inhibitor",
    "tapninhibitor": "inhibitor",
    "read": "test",
    "test": "test",
}
_REFUSED = {
    "reset": "reset arcs are not part of a Sleptsov net",
    "transport": "transport arcs are of nets with time",
    "stopwatch": "stopwatch arcs are of nets with time",
    "stopwatch-inhibitor": "stopwatch arcs are of nets with time",
}
_NO_TIME = re.compile(r"\[\s*0\s*,\s*inf\s*\)")


class Label(NamedTuple):
    """What the text of a label says, and where it stands."""

    text: str
    offset: int


class Element:
    """A node, an arc, a page or a net, with its attributes and labels."""

    __slots__ = ("kind", "attributes", "offset", "id", "labels", "beats")

    def __init__(self, kind: str, attributes: Mapping[str, str], offset: int):
        self.kind, self.attributes, self.offset = kind, attributes, offset
        self.id = attributes.get("id", "")
        self.labels: dict[str, Label] = {}
        self.beats: list[Label] = []

    def label(self, name: str) -> Label | None:
        """A label, or the attribute of that name."""
        if name in self.labels:
            return self.labels[name]
        text = self.attributes.get(name)
        return None if text is None else Label(text, self.offset)


def take_arc(
    arc: Element, ends: Mapping[str, tuple[str, int]], draft: Draft, tell: AtOffsets
) -> None:
    named = f"arc {shortened(arc.id)!r}" if arc.id else "an arc"
    found = []
    for end in ("source", "target"):
        id = arc.attributes.get(end, "")
        if id not in ends:
            tell.error(arc.offset, f"{named}: there is no {end} {shortened(id)!r} (add the node)")
        else:
            found.append(ends[id])
    kind, weight = _kind(arc, named, tell), _weight(arc, named, tell)
    if len(found) < 2:
        return
    (from_kind, from_node), (to_kind, to_node) = found
    if from_kind == to_kind:
        message = f"{named} joins two {from_kind}s (arcs join a place and a transition)"
        tell.error(arc.offset, message)
    elif kind is None or weight is None:
        pass
    elif from_kind == "place":
        draft.arc(kind, from_node, to_node, weight, arc.offset)
    elif kind != "input":
        message = f"{named} is of the kind {kind}, but leads to a place (only inputs can be)"
        tell.error(arc.offset, message)
    else:
        draft.arc("output", to_node, from_node, weight, arc.offset)


def _kind(arc: Element, named: str, tell: AtOffsets) -> Kind | None:
    """The kind of an arc, in any of the dialects; `None` if it is refused, which is told."""
    if arc.kind == "inhibitorArc":
        return "inhibitor"
    label = arc.labels.get("arctype") or arc.label("type") or Label("", arc.offset)
    kind = label.text.strip().lower()
    if kind in _KINDS:
        return _KINDS[kind]
    reason = _REFUSED.get(kind)
    if reason is not None:
        tell.error(label.offset, f"{named} is a {kind} arc: {reason} (remove it)")
    else:
        known = "normal, inhibitor, read"
        message = f"{named} is of the unknown kind {shortened(label.text)!r} (known: {known})"
        tell.error(label.offset, message)
    return None


def _weight(arc: Element, named: str, tell: AtOffsets) -> int | None:
    """The weight or threshold of an arc; `None` if it is none, which is told."""
    label = arc.labels.get("inscription") or arc.label("weight") or arc.label("inscription")
    if label is None or _NO_TIME.fullmatch(label.text):
        weight = arc.label("weight")
        if weight is None or weight is label:
            return 1
        label = weight
    number = integer(label.text.strip().removeprefix(DEFAULT_COLOUR))
    if isinstance(number, str):
        tell.error(label.offset, f"the inscription of {named}: {number}")
        return None
    if number < 1:
        tell.error(label.offset, f"the inscription of {named} is {number} (write 1 or more)")
        return None
    return number
