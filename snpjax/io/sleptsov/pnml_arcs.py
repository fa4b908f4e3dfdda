"""Arcs of PNML files, in the dialects of pm4py, GreatSPN, PIPE, Tina and TAPAAL."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..source import shortened
from .draft import Kind, NetDraft
from .pnml_elements import PnmlElement, PnmlLabel


if TYPE_CHECKING:
    from .pnml_net import PnmlNumbers


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
_INTERVAL = re.compile(r"[\[(].*,.*[\])]")
_NO_TIME = re.compile(r"\[\s*0\s*,\s*inf\s*\)")
#: The end that an arc must leave, where the element says it.
_SOURCES = {"inputArc": "place", "outputArc": "transition", "inhibitorArc": "place"}


def take_arc(
    arc: PnmlElement, ends: Mapping[str, tuple[str, int]], draft: NetDraft, numbers: "PnmlNumbers"
) -> None:
    """Add an arc to the draft; whatever is wrong with it is reported."""
    report = numbers.report
    named = f"arc {shortened(arc.id)!r}" if arc.id else "an arc"
    found = []
    for end in ("source", "target"):
        id = arc.attributes.get(end, "")
        if id not in ends:
            report.error(arc.offset, f"{named}: there is no {end} {shortened(id)!r} (add the node)")
        else:
            found.append(ends[id])
    kind = _kind(arc, named, numbers)
    weight = None if kind is None else _weight(arc, named, kind, numbers)
    if len(found) < 2:
        return
    (from_kind, from_node), (to_kind, to_node) = found
    if from_kind == to_kind:
        message = f"{named} joins two {from_kind}s (arcs join a place and a transition)"
        report.error(arc.offset, message)
    elif kind is None or weight is None:
        pass
    elif from_kind != _SOURCES.get(arc.kind, from_kind):
        expected = _SOURCES[arc.kind]
        message = (
            f"{named} is an <{arc.kind}>, but leads to a {to_kind} (it must leave a {expected})"
        )
        report.error(arc.offset, message)
    elif from_kind == "place":
        draft.arc(kind, from_node, to_node, weight, arc.offset)
    elif kind != "input":
        message = f"{named} is of the kind {kind}, but leads to a place (only inputs can be)"
        report.error(arc.offset, message)
    else:
        draft.arc("output", to_node, from_node, weight, arc.offset)


def _kind(arc: PnmlElement, named: str, numbers: "PnmlNumbers") -> Kind | None:
    """The kind of an arc, in any of the dialects; `None` if it is refused, which is reported."""
    report = numbers.report
    if "type" not in arc.attributes and arc.labels.keys().isdisjoint(("arctype", "type")):
        return "inhibitor" if arc.kind == "inhibitorArc" else "input"
    told = {}
    for label in (arc.labels.get("arctype"), arc.labels.get("type"), arc.attribute("type")):
        if label is not None:
            told[label.text.lower()] = label
    if len({_KINDS.get(kind, kind) for kind in told}) > 1:
        first, *_, last = told.values()
        message = f"{named} is of two kinds, {shortened(first.text)!r} and {shortened(last.text)!r}"
        report.error(last.offset, f"{message} (remove one)")
        return None
    kind, label = next(iter(told.items()), ("", PnmlLabel("", arc.offset)))
    if kind not in _KINDS:
        reason = _REFUSED.get(kind)
        message = f"{named} is of the unknown kind {shortened(label.text)!r}"
        if reason is not None:
            report.error(label.offset, f"{named} is a {kind} arc: {reason} (remove it)")
        else:
            report.error(label.offset, f"{message} (known: normal, inhibitor, read)")
        return None
    if arc.kind != "inhibitorArc":
        return _KINDS[kind]
    if _KINDS[kind] == "test":
        report.error(label.offset, f"{named} is an <inhibitorArc> of the kind {kind} (remove one)")
        return None
    return "inhibitor"


def _weight(arc: PnmlElement, named: str, kind: Kind, numbers: "PnmlNumbers") -> int | None:
    """The weight or threshold of an arc; `None` if it is none, which is reported.

    TAPAAL writes the weight as an attribute, and as the attribute `inscription` an interval of
    time, or 1 where an arc has none.
    """
    report = numbers.report
    weight, inscription = arc.attribute("weight"), arc.attribute("inscription")
    if inscription is not None and _is_untimed(inscription, named, numbers):
        inscription = None
    if weight is not None and inscription is not None and inscription.text == "1":
        inscription = None
    found = [label for label in (arc.labels.get("inscription"), weight, inscription) if label]
    if kind == "inhibitor":  # PIPE writes none
        found = [label for label in found if label.text]
    if not found:
        return 1
    counted = [numbers.count(label, f"the inscription of {named}", least=1) for label in found]
    if None in counted:
        return None
    if len(set(counted)) > 1:
        message = f"{named} has two weights, {counted[0]} and {counted[-1]} (remove one)"
        report.error(found[-1].offset, message, found[0].offset)
        return None
    return counted[0]


def _is_untimed(inscription: PnmlLabel, named: str, numbers: "PnmlNumbers") -> bool:
    """Whether an attribute `inscription` is not a weight; intervals of time are reported."""
    text = inscription.text
    if not text or _NO_TIME.fullmatch(text):
        return True
    if not _INTERVAL.match(text):
        return False
    numbers.drop(inscription.offset, f"the interval {shortened(text)} of {named}", "[0,inf)")
    return True
