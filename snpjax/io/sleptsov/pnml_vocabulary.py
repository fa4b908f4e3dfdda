"""The elements and attributes of PNML files that are known: of the standard, and of the dialects of
pm4py, ProM, PIPE, GreatSPN, Tina, WoPeD and TAPAAL."""

import re
from collections.abc import Mapping
from typing import NamedTuple


PLACES = ("place", "referencePlace")
TRANSITIONS = ("transition", "referenceTransition")
NODES = (*PLACES, *TRANSITIONS)
ARCS = ("arc", "inputArc", "outputArc", "inhibitorArc")

#: What stands inside what: elements with elements of their own. A `<place>` inside a `<marking>` is
#: a `finalPlace` here, so that it has other contents.
CHILDREN: dict[str, frozenset[str]] = {
    "pnml": frozenset({"net", "shared-place", "shared-transition", "constant"}),
    "net": frozenset({"page", "finalmarkings", *NODES, *ARCS}),
    "page": frozenset({"page", *NODES, *ARCS}),
    "finalmarkings": frozenset({"marking"}),
    "marking": frozenset({"place"}),
}

#: Elements that say something of the element around them, by a `<text>` or `<value>`.
_OF_ARCS = frozenset({"name", "inscription", "arctype", "type", "tagged"})
LABELS: dict[str, frozenset[str]] = {
    "net": frozenset({"name"}),
    "page": frozenset({"name"}),
    "place": frozenset({"name", "initialMarking", "capacity", "tagged"}),
    "transition": frozenset({"name", "timed", "priority", "rate", "infiniteServer", "player"}),
    **dict.fromkeys(("referencePlace", "referenceTransition"), frozenset({"name"})),
    **dict.fromkeys(ARCS, _OF_ARCS),
}

#: Elements that say nothing of how a net behaves: they are skipped, whatever is inside.
DECORATION = frozenset({"graphics", "toolspecific"})
DECORATION_OF: dict[str, frozenset[str]] = {
    "net": frozenset({"token", "labels", "stategroup"}),
    "transition": frozenset({"orientation"}),
    "pnml": frozenset({"query", "queries", "k-bound", "feature"}),
    **dict.fromkeys(ARCS, frozenset({"arcpath"})),
}

_POSITIONS = frozenset({"positionX", "positionY", "nameOffsetX", "nameOffsetY", "displayName"})
ATTRIBUTES: dict[str, frozenset[str]] = {
    "net": frozenset({"id", "type", "active"}),
    "page": frozenset({"id"}),
    "place": frozenset({"id", "name", "initialMarking", "markingOffsetX", "markingOffsetY"})
    | _POSITIONS,
    # TAPAAL has `priority` and `timed` from an old version of PIPE and gives them no meaning.
    "transition": frozenset({"id", "name", "angle", "priority", "timed"}) | _POSITIONS,
    "referencePlace": frozenset({"id", "ref"}),
    "referenceTransition": frozenset({"id", "ref"}),
    "finalPlace": frozenset({"idref"}),
    **dict.fromkeys(
        ARCS, frozenset({"id", "source", "target", "type", "inscription", "weight"}) | _POSITIONS
    ),
}


class Neutral(NamedTuple):
    """The values of an element or attribute that change nothing; others are not read.

    - `values`: in lower case and without blanks, numbers as `%g` writes them.
    - `reason`: why others are refused, and what to do; none where they are about time, which can be
      dropped.
    """

    values: frozenset[str]
    reason: str = ""


_NEVER = Neutral(frozenset())
_ONE = Neutral(frozenset({"1"}))
_OFF = Neutral(frozenset({"false"}))
_UNBOUNDED = Neutral(frozenset({"<inf"}))
_GAME = Neutral(frozenset({"0"}), "games of two players are not supported (write 0)")
_TAGGED = Neutral(frozenset({"false"}), "tagged tokens are not supported (write false)")
_CAPACITY = Neutral(
    frozenset({"0"}), "bounded places are not supported (write 0, and a place for the free room)"
)
_DISTRIBUTIONS = ("distribution", "firingMode", "value", "a", "b", "mean", "stddev", "shape")

#: By the kind of element.
NEUTRAL: dict[str, Mapping[str, Neutral]] = {
    "place": {"invariant": _UNBOUNDED, "capacity": _CAPACITY, "tagged": _TAGGED},
    "transition": {
        "rate": _ONE,
        "weight": _ONE,
        "infiniteServer": _OFF,
        "urgent": _OFF,
        "player": _GAME,
        **dict.fromkeys(_DISTRIBUTIONS, _NEVER),
    },
    "shared-place": {"invariant": _UNBOUNDED},
    "shared-transition": {"urgent": _OFF, "player": _GAME},
    **dict.fromkeys(ARCS, {"tagged": _TAGGED}),
}
ATTRIBUTES["shared-place"] = frozenset({"name", "initialMarking"})
ATTRIBUTES["shared-transition"] = frozenset({"name"})
ATTRIBUTES["constant"] = frozenset({"name", "value"})

_COLOURED = "coloured content: only nets with plain tokens are read (unfold the net first)"
_DATA = "part of a net with data (only nets with plain tokens are read)"
_TRANSPORT = "a transport arc, which only nets with time have (replace it by plain arcs)"
#: Elements and attributes of which it is known that they change how a net behaves.
REFUSED: dict[str, str] = {
    **dict.fromkeys(("hlinitialMarking", "hlinscription", "structure", "declaration"), _COLOURED),
    **dict.fromkeys(("condition", "colorinterval", "colorinvariant", "type"), _COLOURED),
    **dict.fromkeys(("declarations", "variables"), _COLOURED),
    **dict.fromkeys(("guard", "readVariable", "writeVariable"), _DATA),
    **dict.fromkeys(("transportArc", "transportID"), _TRANSPORT),
    "definition": "a parameter of PIPE, on which rates or markings depend (write numbers instead)",
    "net": "a net inside a net, such as a subprocess (write one net with pages)",
}
#: Elements about time, which can be dropped.
#: A `<delay>` of Tina that says nothing, [0, w[.
NO_DELAY = re.compile(
    r"""<(?:\w+:)?delay\s*>\s*<(?:\w+:)?interval\s(?=[^>]*\bclosure\s*=\s*["']closed-open["'])[^>]*>
    \s*<(?:\w+:)?cn\s*>\s*0(?:\.0*)?\s*</(?:\w+:)?cn\s*>
    \s*<(?:\w+:)?ci\s*>\s*(?:infty|inf|infinity|w)\s*</(?:\w+:)?ci\s*>
    \s*</(?:\w+:)?interval\s*>\s*</(?:\w+:)?delay\s*>""",
    re.VERBOSE,
)
TIMES = frozenset({"delay", "interval", "time", "timeInterval"})
