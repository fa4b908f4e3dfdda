"""Elements of PNML files with what stands in them."""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple


class PnmlLabel(NamedTuple):
    """What the text of a label says, and where it stands."""

    text: str
    offset: int
    is_value: bool = False  # in a `<value>` of PIPE, which may be empty


class PnmlPosition(NamedTuple):
    """Where a node is drawn, and where that stands."""

    x: float
    y: float
    offset: int


def position_of(attributes: Mapping[str, str], x: str, y: str, offset: int) -> PnmlPosition | None:
    """A position in two attributes. It is decoration, so that anything else is no error."""
    try:
        found = PnmlPosition(float(attributes[x]), float(attributes[y]), offset)
    except (KeyError, ValueError):
        return None
    return found if math.isfinite(found.x) and math.isfinite(found.y) else None


class PnmlElement:
    """A node, an arc, a page or a net, with its attributes and labels."""

    __slots__ = ("kind", "attributes", "offset", "source", "id", "labels", "beats", "position")

    def __init__(self, kind: str, attributes: Mapping[str, str], offset: int, source: str):
        self.kind, self.attributes, self.offset = kind, attributes, offset
        self.source = source  # the text of the file
        self.id = attributes.get("id", "")
        self.labels: dict[str, PnmlLabel] = {}
        self.beats: list[PnmlLabel] = []
        # As TAPAAL writes it.
        self.position = position_of(attributes, "positionX", "positionY", offset)

    def attribute(self, name: str) -> PnmlLabel | None:
        """An attribute as a label."""
        text = self.attributes.get(name)
        return None if text is None else PnmlLabel(text.strip(), self.offset_of(name))

    def offset_of(self, attribute: str) -> int:
        """Where an attribute stands."""
        match = re.compile(rf"\s({re.escape(attribute)})\s*=").search(self.source, self.offset)
        return match.start(1) if match else self.offset

    def label(self, name: str) -> PnmlLabel | None:
        """A label, or the attribute of that name."""
        return self.labels.get(name) or self.attribute(name)
