"""Coordinates of nodes: those that a file may have, the page can move."""

import pytest

from snpjax.io import ReadError
from snpjax.viz.page.models import changed_model
from snpjax.viz.page.texts import MODEL_FORMATS, OpenedModel, open_model, serialize


INSIDE = 999_999_999.5
OUTSIDE = 1_000_000_000

_WEBSNAPSE = """{{"neurons": [
{{"id": "x", "type": "regular", "position": {{"x": 1,
"y": {0}}}, "content": 0, "rules": []}}
], "synapses": []}}"""
_XMP = """<content>
<x><id>x</id><position><x>1</x>
<y>{0}</y></position><rules/><startingSpikes>0</startingSpikes>
<delay>0</delay><spikes>0</spikes><isOutput>false</isOutput><isInput>false</isInput></x>
</content>"""
_PNML = """<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
<net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g"><place id="x">
<graphics><position x="1" y="{0}"/></graphics></place></page></net></pnml>"""
_NATIVE = """{{"schema": "snpjax/1", "neurons": [{{"id": "x"}}], "synapses": [],
"notes": {{"positions": {{"x":
[1, {0}]}}}}}}"""
_YAML = """neurons:
- {{id: x, type: regular, content: 0, rules: [], position:
  {{x: 1, y: {0}}}}}
synapses: []"""

#: Texts with a neuron or place `x` at `[1, y]`, by format, and where `y` is in them.
TEXTS = {
    "lsn": ('1 0 0 0 0\n; snpjax {{"places": ["x"], "positions": [[1, {0}]]}}', (2, 1)),
    "mcc": ('1 0 0\n0\n# snpjax {{"places": ["x"], "positions": [[1, {0}]]}}', (3, 1)),
    "msn": ('1 0\n0\n# snpjax {{"places": ["x"], "positions": [[1, {0}]]}}', (3, 1)),
    "ndr": ("\np 1 {0} x 0 n", (2, 5)),
    "websnapse": (_WEBSNAPSE, (3, 6)),
    "factory-yaml": (_YAML, (3, 13)),
    "pnml": (_PNML, (3, 11)),
    "xmp": (_XMP, (3, 4)),
    "native": (_NATIVE, (3, 5)),
}
#: Where a position that cannot be read is left out with a warning.
LENIENT = {"pnml", "xmp", "native"}


def opened(format: str, y: object) -> OpenedModel:
    text = TEXTS[format][0].format(f"{y}".replace("e", ".0e"))  # as YAML has it
    return open_model("file", text, format=format, level="extended")


def test_every_format_with_positions_has_a_text():
    readable = {name for name, format in MODEL_FORMATS.items() if "positions" in format.keeps}
    assert readable <= set(TEXTS)


@pytest.mark.parametrize("format", TEXTS)
def test_what_is_in_range_is_read_moved_and_written(format):
    for y in (INSIDE, -INSIDE, 1e7):
        found = opened(format, y)
        assert not found.warnings and found.system.notes["positions"] == {"x": [1, y]}
        move = {"do": "move", "positions": [[y, 1]]}
        moved, findings = changed_model(found.system, [move])
        assert not findings and moved is not None and moved.notes["positions"] == {"x": [y, 1]}
        own = found.format if found.format.writer else MODEL_FORMATS["native"]
        text, losses = serialize(moved, own, lossy=False)
        again = open_model("file", text, format=own.name, level="extended")
        assert not losses and again.system.notes["positions"] == {"x": [y, 1]}


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("y", [OUTSIDE, -OUTSIDE, 10**30, -1e300])
def test_what_is_out_of_range_is_reported_where_it_is(format, y):
    if format in LENIENT:
        found = opened(format, y)
        diagnostics = found.warnings
        moved, _ = changed_model(found.system, [{"do": "move", "positions": [[2, 1]]}])
        assert moved is not None and moved.notes["positions"] == {"x": [2, 1]}
    else:
        with pytest.raises(ReadError) as caught:
            opened(format, y)
        diagnostics = caught.value.diagnostics
    (one,) = diagnostics
    assert (one.line, one.column) == TEXTS[format][1]
    assert "of 'x' is out of range (write one between -10^9 and 10^9)" in one.message
