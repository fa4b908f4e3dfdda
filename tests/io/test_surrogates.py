"""Half of a character, which a text of Python may hold: no reader takes it, no writer writes it."""

import re

import pytest
import yaml

import snpjax as snp
from snpjax.io import decoded
from snpjax.io.formats import formats_of
from snpjax.io.proliferation import read_model
from tests.io.tables.mistakes import findings, marked, quietly
from tests.io.test_conformance import BOTH, READ, SEEDS


#: By format: a text, in which what stands between the marks is refused, at the first.
ESCAPED = {
    "native": [
        r'{"schema": "snpjax/1", "neurons": [{"id": "a§\ud800§b"}]}',
        r'{"schema": "snpjax/1", "neurons": [{"id": "\ud834\udd1e§\uDFFF§"}]}',
        r'{"schema": "snpjax/1", "neurons": [{"id": "\\ud800 §\ud800§"}]}',
        r'{"schema": "snpjax/1", "name": "§\udbff§\u0041", "neurons": []}',
        r'{"schema": "snpjax/1", "neurons": [], "notes": {"§\ud800§": 1}}',
        r'{"schema": "snpjax/1", "populations": [{"name": "§\ud800§", "size": 3}]}',
    ],
    "websnapse": [
        r'{"neurons": [{"id": "§\udead§", "type": "regular", "content": 1, "rules": []}], '
        r'"synapses": []}'
    ],
    "factory-yaml": [
        r'{neurons: [{id: "a§\ud800§", type: regular, content: 1, rules: []}], synapses: []}',
        r'{neurons: [{id: "a§\U0000dfff§", type: regular, content: 1, rules: []}], synapses: []}',
        r'{"§\ud83d\ude00§": 1, neurons: [], synapses: []}',  # YAML has no pairs
    ],
    "xmp": ["<content><x><id>a§&#xD800;§</id></x></content>"],
    "factory-xml": ["<content><x><id>a§&#56832;§</id></x></content>"],
    "lsn": ['1 0 0 0 0\n; snpjax {"places": ["a§\\ud800§"]}\n'],
    "mcc": [SEEDS["mcc"][0].split("# snpjax")[0] + '# snpjax {"name": "§\\ud800§"}\n'],
    "pnml": ['<pnml><net id="n"><page id="p"><place id="a§&#xD800;§"/></page></net></pnml>'],
    "tapn": ['<pnml><net id="n"><place id="a§&#xDFFF;§"/></net></pnml>'],
    "pipe": ['<pnml><net id="n"><place id="a§&#xDFFF;§"/></net></pnml>'],
}


@pytest.mark.parametrize("format", READ)
def test_half_a_character_is_refused_at_its_place(format):
    for row in ESCAPED.get(format, ()):
        text, places = marked(row)
        ((place, message),) = findings(format, text).items()
        line, column = map(int, place.split(":"))
        first = int(places[0].split(":")[1])
        assert f"{line}:{first}" == places[0]
        assert first <= column <= first + 2, message  # libyaml counts to the digits
        assert re.search("half of a character|invalid character|invalid Unicode", message)
    # As a character of a text, which can come from a program only.
    seed = SEEDS[format][0]
    (message,) = findings(format, seed + "\udead").values()
    assert "half of a character" in message
    with pytest.raises(snp.ReadError, match="not UTF-8"):
        decoded("file", seed.encode() + "\udead".encode("utf-8", "surrogatepass"))


def test_yaml_without_libyaml(monkeypatch):
    monkeypatch.delattr(yaml, "CSafeLoader")
    for row in ESCAPED["factory-yaml"]:
        text, places = marked(row)
        ((place, message),) = findings("factory-yaml", text).items()
        assert place == places[0] and "half" in message


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_models_of_proliferation(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_text(r'{"populations": [{"name": "\ud800", "proportion": 1, "mean": 20, "std": 2}]}')
    with pytest.raises(snp.ReadError, match=r":1:(28|30): .*(half of a char|invalid Unicode)"):
        read_model(path)


def test_names_in_rules():
    with pytest.raises(snp.InvalidSystem, match="half of a character"):
        snp.SpikingSystem([snp.Neuron("x", 1, [r'[a]_"\ud800" -> []_"y" || []_"z"'])])
    rule = r'[a]_"\ud834\udd1e" -> []_"y" || []_"z"'
    assert snp.SpikingSystem([snp.Neuron("x", 1, [rule], label="\U0001d11e")]).neurons


@pytest.mark.parametrize("format", ["native", "websnapse", "factory-yaml", "plingua", "cusnp"])
def test_names_that_cannot_be_read_again_are_not_written(tmp_path, format):
    """A program may name a neuron so; formats that map names map these."""
    system = snp.SpikingSystem([snp.Neuron("x\ud800", 1, ["a -> a"])], notes={"expected": "\ud800"})
    target = tmp_path / "file"
    if format == "native":
        with pytest.raises(ValueError, match=r"'.*x\\ud800' ends with half of a character"):
            snp.write(system, target, format=format, lossy=True)
        assert not target.exists()
        return
    quietly(snp.write, system, target, format=format, lossy=True)
    assert quietly(snp.read, target, format=format).num_neurons == 1


def test_nets_with_such_names_are_not_written(tmp_path):
    arcs = snp.sleptsov.Arcs.of([(0, 0, 1)])
    net = snp.SleptsovNet([1], inputs=arcs, outputs=arcs, place_names=("x\ud800",))
    for format in (name for name in BOTH if name in formats_of("net")):
        target = tmp_path / "file"
        try:
            quietly(snp.write_net, net, target, format=format, lossy=True)
        except ValueError as error:
            assert "half of a character" in str(error), format
        else:  # it wrote an escape of its own
            assert quietly(snp.read_net, target, format=format).place_names[0].encode()
