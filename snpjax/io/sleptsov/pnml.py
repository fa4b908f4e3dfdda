"""PNML, place/transition nets of ISO/IEC 15909-2, with the inhibitor arcs of several tools.

The standard type of nets has neither inhibitor arcs nor priorities. Inhibitor and test arcs are
read in many dialects, priorities in that of snpjax.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...sleptsov import SleptsovNet
from ..source import Report, Source
from ..tell import AtOffsets
from .built import build_net
from .draft import Draft
from .numbers import integer, shortened
from .pnml_arcs import DEFAULT_COLOUR, Element, Label, take_arc
from .xml_elements import read_elements


TYPE = "http://www.pnml.org/version-2009/grammar/ptnet"
TOOL = "snpjax"

#: Types of nets whose tokens are plain: those of the standard, of its drafts and of older tools.
_PLAIN_TYPES = re.compile(r"(pt-?net|p/t|place/?transition|basicpnml|epnml|stnet)", re.IGNORECASE)
_HIGH_LEVEL = re.compile(r"(hlpn|highlevel|symmetric|coloured|colored)", re.IGNORECASE)
_NODES = ("place", "transition", "referencePlace", "referenceTransition")
_ARCS = ("arc", "inhibitorArc")
_OWNERS = (*_NODES, *_ARCS, "net", "page")
#: Elements whose `<text>` or `<value>` says something about the element around them.
_LABELS = ("name", "initialMarking", "inscription", "arctype", "type")


def read_pnml(source: Source, *, net: str | None = None) -> SleptsovNet:
    """The net of a PNML file, all pages as one.

    Names are those in the file, ids where there are none or one is there twice; the notes keep the
    `ids`.

    **Arguments:**

    - `net`: the id of the net, in a file that has several.

    **Raises:** `ReadError` with every error of the file.
    """
    report = Report(source)
    tell = AtOffsets(report)
    reader = _Reader(tell)
    read_elements(tell, reader.start, reader.end)
    chosen = reader.chosen(net)
    if chosen is None:
        report.finish()
        raise AssertionError("a file without a net is told; please report this as a bug of snpjax")
    return build_net(report, **chosen.arguments(tell))


class _Net:
    """A net of the file: its nodes and arcs in order."""

    def __init__(self, owner: Element):
        self.owner = owner
        self.nodes: dict[str, Element] = {}
        self.arcs: list[Element] = []
        self.ids: dict[str, Element] = {owner.id: owner}

    def add(self, owner: Element, tell: AtOffsets) -> None:
        """Take a node, an arc or a page."""
        if not owner.id and owner.kind in _NODES:
            tell.error(owner.offset, f"a <{owner.kind}> has no id (give it one)")
            return
        first = self.ids.setdefault(owner.id, owner) if owner.id else owner
        if first is not owner:
            message = f"the id {shortened(owner.id)!r} is there twice (give each its own)"
            tell.error(owner.offset, message, first.offset)
            return
        if owner.kind in _NODES:
            self.nodes[owner.id] = owner
        elif owner.kind in _ARCS:
            self.arcs.append(owner)

    def arguments(self, tell: AtOffsets) -> dict[str, Any]:
        """The arguments of the net; whatever is wrong is told."""
        self._check_type(tell)
        draft = Draft(tell)
        ends: dict[str, tuple[str, int]] = {}
        for node in self.nodes.values():
            if node.kind == "place":
                ends[node.id] = "place", draft.place(node.id)
                self._mark(node, draft, tell)
            elif node.kind == "transition":
                ends[node.id] = "transition", draft.transition(node.id)
        for node in self.nodes.values():
            if node.kind.startswith("reference"):
                self._resolve(node, ends, tell)
        for arc in self.arcs:
            take_arc(arc, ends, draft, tell)
        for node in self.nodes.values():
            for beats in node.beats:
                self._take_priority(node, beats, ends, draft, tell)
        arguments = draft.arguments()
        name = self.owner.labels.get("name")
        names = {
            kind: self._names(arguments[f"{kind}_names"], tell) for kind in ("place", "transition")
        }
        ids = {f"{kind}s": list(arguments[f"{kind}_names"]) for kind in names}
        is_named = any(tuple(ids[f"{kind}s"]) != names[kind] for kind in names)
        return {
            **arguments,
            **{f"{kind}_names": of_kind for kind, of_kind in names.items()},
            "name": name.text if name else "",
            "notes": {"ids": ids} if is_named else {},
        }

    def _check_type(self, tell: AtOffsets) -> None:
        type = self.owner.attributes.get("type", "")
        if _HIGH_LEVEL.search(type):
            message = f"a net of the type {type} is a high-level net (only plain ones are read)"
        elif type and not _PLAIN_TYPES.search(type):
            message = f"unknown type of nets {shortened(type)!r} (read are those like {TYPE})"
        else:
            return
        tell.error(self.owner.offset, message)

    def _names(self, ids: tuple[str, ...], tell: AtOffsets) -> tuple[str, ...]:
        """The names of nodes; of those that are there twice, the ids from the second on."""
        labels = [self.nodes[id].label("name") for id in ids]
        given = [
            label.text if label and label.text else id
            for id, label in zip(ids, labels, strict=True)
        ]
        known, names = set(given), []
        first: set[str] = set()
        for id, name in zip(ids, given, strict=True):
            if name in first:
                message = (
                    f"the name {shortened(name)!r} is there twice (the id {shortened(id)!r} is "
                    "taken instead)"
                )
                tell.warning(self.nodes[id].offset, message)
                name = id
                while name in known:
                    name += "'"
                known.add(name)
            first.add(name)
            names.append(name)
        return tuple(names)

    def _mark(self, node: Element, draft: Draft, tell: AtOffsets) -> None:
        label = node.label("initialMarking")
        if label is None:
            return
        tokens = integer(label.text.removeprefix(DEFAULT_COLOUR))
        if isinstance(tokens, str) or tokens < 0:
            problem = tokens if isinstance(tokens, str) else f"{tokens} tokens (write 0 or more)"
            tell.error(label.offset, f"the marking of {shortened(node.id)!r}: {problem}")
        else:
            draft.mark(draft.place(node.id), tokens, label.offset)

    def _resolve(self, node: Element, ends: dict[str, tuple[str, int]], tell: AtOffsets) -> None:
        """Let a reference node stand for the node that it, or the one it refers to, refers to."""
        wanted = node.kind.removeprefix("reference").lower()
        seen, at = {node.id}, node
        while True:
            id = at.attributes.get("ref", "")
            found = self.nodes.get(id)
            if found is None or id in seen:
                what = f"refers to {shortened(id)!r}, which there is not"
                what = what if found is None else "refers to itself"
                tell.error(node.offset, f"the {node.kind} {shortened(node.id)!r} {what}")
                return
            seen.add(id)
            if not found.kind.startswith("reference"):
                break
            at = found
        if found.kind != wanted:
            message = f"the {node.kind} {shortened(node.id)!r} refers to a {found.kind}"
            tell.error(node.offset, message)
        elif found.id in ends:
            ends[node.id] = ends[found.id]

    def _take_priority(
        self,
        node: Element,
        beats: Label,
        ends: Mapping[str, tuple[str, int]],
        draft: Draft,
        tell: AtOffsets,
    ) -> None:
        (kind, number), end = ends.get(node.id, ("", -1)), ends.get(beats.text, ("", -1))
        if kind != "transition" or end[0] != "transition":
            message = (
                f"a priority of {shortened(node.id)!r} over {shortened(beats.text)!r} (both must "
                "be transitions)"
            )
            tell.error(beats.offset, message)
        else:
            draft.priority(number, end[1], beats.offset)


class _Reader:
    """Takes the elements of the file, one by one."""

    def __init__(self, tell: AtOffsets):
        self.tell = tell
        self.nets: list[_Net] = []
        self._open: list[Element | None] = []  # by depth: what an element belongs to
        self._names: list[str] = []
        self._offsets: list[int] = []

    def start(self, name: str, attributes: Mapping[str, str], offset: int) -> None:
        owner = self._open[-1] if self._open else None
        if not self._names and name != "pnml":
            self.tell.error(offset, f"the root element is <{shortened(name)}> (<pnml> is expected)")
        is_inside_tool = "toolspecific" in self._names or "graphics" in self._names
        if is_inside_tool:
            if name == "beats" and owner is not None and self._is_own_tool:
                owner.beats.append(Label(attributes.get("ref", ""), offset))
        elif name in _OWNERS:
            owner = self._new(Element(name, attributes, offset))
        elif name == "type" and "value" in attributes and owner is not None:
            owner.labels["type"] = Label(attributes["value"], offset)
        elif name == "toolspecific":
            self._is_own_tool = attributes.get("tool") == TOOL
        self._open.append(owner)
        self._names.append(name)
        self._offsets.append(offset)

    def _new(self, owner: Element) -> Element:
        if owner.kind == "net":
            self.nets.append(_Net(owner))
        elif self.nets:
            self.nets[-1].add(owner, self.tell)
        else:
            self.tell.error(owner.offset, f"a <{owner.kind}> outside of a <net>")
        return owner

    def end(self, name: str, text: str) -> None:
        self._names.pop()
        owner, offset = self._open.pop(), self._offsets.pop()
        if owner is None or name not in ("text", "value") or not self._names:
            return
        label = self._names[-1]
        if label in _LABELS and len(self._names) > 1 and self._names[-2] == owner.kind:
            owner.labels[label] = Label(text.strip(), offset)

    def chosen(self, id: str | None) -> _Net | None:
        """The net that is meant; if there is none, that is told."""
        ids = ", ".join(net.owner.id for net in self.nets)
        if id is not None:
            for net in self.nets:
                if net.owner.id == id:
                    return net
            self.tell.error(0, f"there is no net {id!r} in this file (it has {ids or 'none'})")
        elif len(self.nets) > 1:
            message = f"the file has {len(self.nets)} nets (choose one by net=, --net: {ids})"
            self.tell.error(self.nets[1].owner.offset, message)
        elif self.nets:
            return self.nets[0]
        elif not self.tell.report.has_errors:
            self.tell.error(0, "the file has no <net>")
        return None
