"""PNML, place/transition nets of ISO/IEC 15909-2, in the dialects of several tools.

The standard type of nets has neither inhibitor arcs nor priorities. Inhibitor and test arcs are
read in many dialects, priorities in those of snpjax and of PIPE. Whatever else stands in a net, and
is not known to be decoration, is an error: it could change how the net behaves.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...sleptsov import SleptsovNet
from ..source import Report, Source, shortened
from ..xml_text import XmlReader
from .build_net import build_net
from .pnml_elements import PnmlElement, PnmlLabel, position_of
from .pnml_net import FileNet, Shared
from .pnml_vocabulary import (
    ATTRIBUTES,
    CHILDREN,
    DECORATION,
    DECORATION_OF,
    LABELS,
    NEUTRAL,
    NO_DELAY,
    REFUSED,
    TIMES,
)


TOOL = "snpjax"
MAX_DEPTH = 100

_TEXTS = ("text", "value")
_ANY = ("xml:", "xmlns:", "xsi:")  # prefixes of attributes about XML itself


def read_pnml(
    source: Source,
    *,
    net: str | None = None,
    drop_time: bool = False,
    ignore_unknown: bool = False,
    repeats_ids: bool = False,
) -> SleptsovNet:
    """The net of a PNML file, all pages as one.

    Names are those in the file, ids where there are none or one is there twice; the notes keep the
    `ids`, and the `positions` of a net of one page.

    - `repeats_ids`: see `FileNet`.
    """
    report = Report(source)
    reader = _Reader(report, ignore_unknown, repeats_ids)
    XmlReader(report, reader.start, reader.end, max_depth=MAX_DEPTH, refuses_encodings=True).read()
    chosen = reader.chosen(net)
    if chosen is None:
        report.finish()
        raise AssertionError("a file without a net is told; please report this as a bug of snpjax")
    return build_net(report, **chosen.arguments(reader.shared, drop_time=drop_time))


def read_tapn(source: Source, **options: Any) -> SleptsovNet:
    """The net of a TAPAAL file, see `read_pnml`."""
    return read_pnml(source, **options, repeats_ids=True)


class _Frame(NamedTuple):
    """An element that is open.

    - `role`: "owner" of other elements, "label", "text" of a label, or "skipped".
    - `owner`: the element that it is, or belongs to.
    - `name`: as it stands in the file.
    """

    role: str
    owner: PnmlElement | None
    name: str
    offset: int


class _Reader:
    """Takes the elements of the file, one by one."""

    def __init__(self, report: Report, ignore_unknown: bool, repeats_ids: bool):
        self.report, self.ignore_unknown, self.repeats_ids = report, ignore_unknown, repeats_ids
        self.nets: list[FileNet] = []
        self.shared = Shared()
        self._open: list[_Frame] = []
        self._own_tool = 0  # the depth of an open <toolspecific> of snpjax
        self._net: FileNet | None = None  # the one that is open
        self._namespace = ""
        self._prefix = ""  # of the name space of the root element

    def start(self, name: str, attributes: Mapping[str, str], offset: int) -> None:
        if not self._open and ":" in name:
            self._prefix = name[: name.index(":") + 1]
        name = name.removeprefix(self._prefix)
        self._open.append(self._taken(name, attributes, offset))

    def _taken(self, name: str, attributes: Mapping[str, str], offset: int) -> _Frame:
        """The frame of an element that begins; what cannot stand here is reported."""
        if not self._open:
            return self._root(name, attributes, offset)
        above = self._open[-1]
        owner = above.owner
        skipped = _Frame("skipped", owner, name, offset)
        if above.role == "skipped" or owner is None:
            if name == "beats" and self._own_tool and owner is not None:
                owner.beats.append(PnmlLabel(attributes.get("ref", ""), offset))
            elif name == "rule" and self._own_tool and owner is not None:
                owner.labels["rule"] = PnmlLabel(attributes.get("name", ""), offset)
            elif name == "position" and owner is not None and self._is_in_graphics():
                owner.position = position_of(attributes, "x", "y", offset) or owner.position
            return skipped
        if name in DECORATION and above.role != "text":
            if name == "toolspecific" and attributes.get("tool") == TOOL:
                self._own_tool = len(self._open)
            return skipped
        if above.role == "owner":
            if name in DECORATION_OF.get(owner.kind, ()):
                return skipped
            if owner.kind == "pnml" and name in CHILDREN["net"]:
                self.report.error(offset, f"a <{name}> outside of a <net> (move it into one)")
                return skipped
            if name in CHILDREN.get(owner.kind, ()):
                return _Frame("owner", self._owner(owner, name, attributes, offset), name, offset)
            elif name in LABELS.get(owner.kind, ()):
                return self._label(owner, name, attributes, offset)
            elif owner.kind == "finalPlace" and name == "text":
                self._check_attributes("text", attributes, offset)
                return _Frame("text", owner, name, offset)
        elif above.role == "label" and name in _TEXTS:
            self._check_attributes(name, attributes, offset)
            return _Frame("text", owner, name, offset)
        self._refuse(f"<{shortened(name)}>", name, above.name, offset)
        return skipped

    def _is_in_graphics(self) -> bool:
        """Whether the open elements end with the `<graphics>` of a node."""
        above = self._open[-2:]
        return [frame.name for frame in above[1:]] == ["graphics"] and above[0].role == "owner"

    def _root(self, name: str, attributes: Mapping[str, str], offset: int) -> _Frame:
        if name != "pnml":
            self.report.error(
                offset, f"the root element is <{shortened(name)}> (<pnml> is expected)"
            )
            return _Frame("skipped", None, name, offset)
        self._namespace = attributes.get("xmlns", "")
        return _Frame("owner", PnmlElement("pnml", attributes, offset, self._text), name, offset)

    @property
    def _text(self) -> str:
        return self.report.source.text

    def _owner(
        self, above: PnmlElement, name: str, attributes: Mapping[str, str], offset: int
    ) -> PnmlElement:
        """An element that has others."""
        kind = "finalPlace" if above.kind == "marking" else name
        element = PnmlElement(kind, attributes, offset, self._text)
        if name == "net":
            self._net = FileNet(element, self.report, repeats_ids=self.repeats_ids)
            self.nets.append(self._net)
        elif self._net is not None:
            self._net.add(element)
        else:
            self._share(element)
        self._check_attributes(kind, attributes, offset)
        return element

    def _share(self, element: PnmlElement) -> None:
        name = element.attributes.get("name", "")
        shared = self.shared
        if element.kind == "constant":
            value = element.attribute("value") or PnmlLabel("", element.offset)
            shared.constants[name] = value
        else:
            nodes = shared.places if element.kind == "shared-place" else shared.transitions
            nodes[name] = element

    def _label(
        self, owner: PnmlElement, name: str, attributes: Mapping[str, str], offset: int
    ) -> _Frame:
        if name in owner.labels:
            message = f"a second <{name}> in <{self._open[-1].name}> (remove one)"
            self._error(offset, message, owner.labels[name].offset)
            return _Frame("skipped", owner, name, offset)
        if name == "type" and "value" in attributes:
            owner.labels[name] = PnmlLabel(attributes["value"].strip(), offset)
            attributes = {key: text for key, text in attributes.items() if key != "value"}
        self._check_attributes(name, attributes, offset)
        return _Frame("label", owner, name, offset)

    def end(self, name: str, text: str) -> None:
        frame, name = self._open.pop(), name.removeprefix(self._prefix)
        if len(self._open) == self._own_tool:
            self._own_tool = 0
        owner = frame.owner
        if frame.role == "skipped" or owner is None:
            return
        if frame.role == "text":
            label = self._open[-1].name if self._open[-1].role == "label" else "text"
            if label in owner.labels:
                self._error(frame.offset, f"a second <{name}> in <{label}> (remove one)")
            owner.labels[label] = PnmlLabel(text.strip(), frame.offset, name == "value")
            return
        if text.strip():
            where = "(write <text> around it)" if frame.role == "label" else "(remove it)"
            message = f"the text {shortened(text.strip())!r} stands in <{frame.name}> {where}"
            self._error(frame.offset, message)
        elif frame.role == "label" and name not in owner.labels and name != "name":
            self._error(frame.offset, f"<{name}> has no <text> (write one, or remove it)")
        if frame.role == "owner" and owner.kind == "net":
            self._net = None

    def _check_attributes(self, kind: str, attributes: Mapping[str, str], offset: int) -> None:
        """Tell the attributes that are not known of elements of a kind."""
        if not attributes:
            return
        known = ATTRIBUTES.get(kind, frozenset())
        if known.issuperset(attributes):
            return
        for name, text in attributes.items():
            if name in known or name in NEUTRAL.get(kind, ()) or name.startswith(_ANY):
                continue
            if name == "xmlns" and (kind == "net" or text == self._namespace):
                continue
            at = PnmlElement(kind, attributes, offset, self._text).offset_of(name)
            shown = "place" if kind == "finalPlace" else kind
            self._refuse(f"the attribute {shortened(name)!r}", name, shown, at)

    def _refuse(self, what: str, name: str, above: str, offset: int) -> None:
        """Tell what cannot be read; `ignore_unknown` is about what nothing is known of."""
        where = f"{what} of <{above}>" if what.startswith("the") else f"{what} in <{above}>"
        net = self._net
        if name in REFUSED:
            self._error(offset, f"{where} is {REFUSED[name]}")
        elif name in TIMES and net is not None:
            if not NO_DELAY.match(self._text, offset):
                net.add_time(offset, where)
        elif self.ignore_unknown:
            self._tell(self.report.warning, offset, f"{where} is not known, and ignored")
        else:
            message = (
                f"{where} is not known, and could change how the net behaves (remove it, or read "
                "the net without it: ignore_unknown=True, --ignore-unknown)"
            )
            self._error(offset, message)

    def _error(self, offset: int, message: str, first: int | None = None) -> None:
        self._tell(self.report.error, offset, message, first)

    def _tell(self, tell: Callable[..., None], *finding: int | str | None) -> None:
        """Tell it now, or when the net around it is chosen."""
        if self._net is None:
            tell(*finding)
        else:
            self._net.tell(tell, *finding)

    def chosen(self, id: str | None) -> FileNet | None:
        """The net that is meant; if there is none, that is reported."""
        nets = self.nets if id is not None else [net for net in self.nets if net.is_active]
        ids = ", ".join(shortened(net.owner.id) for net in self.nets)
        shares = self.shared.places or self.shared.transitions
        if shares and sum(net.is_active for net in self.nets) > 1:
            at = next(iter(shares.values())).offset
            message = (
                f"the {len(self.nets)} nets of this file are components that share nodes (compose "
                "them in TAPAAL, and save one net)"
            )
            self.report.error(at, message)
        elif id is not None:
            for net in nets:
                if net.owner.id == id:
                    return net
            self.report.error(0, f"there is no net {id!r} in this file (it has {ids or 'none'})")
        elif len(nets) > 1:
            message = f"the file has {len(nets)} nets (choose one by net=, --net: {ids})"
            self.report.error(nets[1].owner.offset, message)
        elif nets:
            return nets[0]
        elif not self.report.has_errors:
            self.report.error(0, "the file has no <net>")
        return None
