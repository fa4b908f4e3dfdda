"""PNML, written: inhibitor and test arcs as `<arctype>`, priorities as elements of this tool."""

from xml.sax.saxutils import escape

from ..._text.model_warning import ModelWarning
from ..._text.quoting import without_controls
from ..._text.warn import warn
from ...sleptsov import Petri, SleptsovNet
from ..json_checks import noted_position
from ..losses import Losses
from .flattening import with_pairs_for_order
from .pnml import TOOL
from .pnml_net import TYPE


_NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"


def write_pnml(net: SleptsovNet, losses: Losses) -> str:
    """The text of a PNML file, inhibitor and test arcs as `<arctype>`."""
    net = with_pairs_for_order(net, losses)
    if len(net.priorities):
        message = (
            f"PNML has no priorities: {len(net.priorities):,} are written as elements specific to "
            "snpjax, which other tools do not see"
        )
        warn(ModelWarning(message))
    beaten: list[list[int]] = [[] for _ in range(net.num_transitions)]
    for a, b in net.priorities.tolist():
        beaten[a].append(b)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<pnml xmlns="{_NAMESPACE}">',
        f'<net id="net" type="{TYPE}">{_name(net.name, losses)}{_rule(net)}<page id="page">',
    ]
    for number, (name, tokens) in enumerate(
        zip(net.place_names, net.marking.tolist(), strict=True), start=1
    ):
        marking = f"<initialMarking>{_text(tokens)}</initialMarking>" if tokens else ""
        at = _graphics(net, name)
        lines.append(f'<place id="p{number}">{_name(name, losses)}{at}{marking}</place>')
    for number, name in enumerate(net.transition_names, start=1):
        beats = "".join([f'<beats ref="t{b + 1}"/>' for b in beaten[number - 1]])
        tool = _of_this_tool(beats)
        inside = f"{_name(name, losses)}{_graphics(net, name)}{tool}"
        lines.append(f'<transition id="t{number}">{inside}</transition>')
    arcs = [
        *((f"p{p + 1}", f"t{t + 1}", w, "") for p, t, w in net.inputs.triples()),
        *((f"p{p + 1}", f"t{t + 1}", w, "inhibitor") for p, t, w in net.inhibitors.triples()),
        *((f"p{p + 1}", f"t{t + 1}", w, "read") for p, t, w in net.tests.triples()),
        *((f"t{t + 1}", f"p{p + 1}", w, "") for p, t, w in net.outputs.triples()),
    ]
    for number, (start, end, weight, kind) in enumerate(arcs, start=1):
        inside = f"<inscription>{_text(weight)}</inscription>" if weight != 1 else ""
        inside += f"<arctype>{_text(kind)}</arctype>" if kind else ""
        lines.append(f'<arc id="a{number}" source="{start}" target="{end}">{inside}</arc>')
    lines.append("</page>")
    if len(net.final_markings):
        lines.append("<finalmarkings>")
        for marking in net.final_markings.tolist():
            places = [
                f'<place idref="p{number}">{_text(tokens)}</place>'
                for number, tokens in enumerate(marking, start=1)
                if tokens
            ]
            lines.append(f"<marking>{''.join(places)}</marking>")
        lines.append("</finalmarkings>")
    return "".join([f"{line}\n" for line in [*lines, "</net>", "</pnml>"]])


def _of_this_tool(elements: str) -> str:
    if not elements:
        return ""
    return f'<toolspecific tool="{TOOL}" version="1.0">{elements}</toolspecific>'


def _rule(net: SleptsovNet) -> str:
    return _of_this_tool("" if isinstance(net.rule, Petri) else f'<rule name="{net.rule.name}"/>')


def _graphics(net: SleptsovNet, name: str) -> str:
    position = noted_position(net.notes, name)
    if position is None:
        return ""
    x, y = position
    return f'<graphics><position x="{x:.10g}" y="{y:.10g}"/></graphics>'


def _text(value: object) -> str:
    return f"<text>{value}</text>"


def _name(name: str, losses: Losses) -> str:
    if not name:
        return ""
    written = without_controls(name)
    if written != name or name != name.strip() or "\r" in name:
        losses.add(f"the blanks or control characters of the name {name!r}", f"{written.strip()!r}")
    return f"<name>{_text(escape(written.strip()))}</name>"
