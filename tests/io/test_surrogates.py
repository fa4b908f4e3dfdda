"""Half of a character, which a text of Python may hold: no reader takes it, no writer writes it."""

import re
import warnings
from pathlib import Path

import pytest
import yaml

import snpjax as snp
from snpjax.io import decoded
from snpjax.io.formats import FORMATS
from snpjax.io.proliferation import read_model
from snpjax.io.read import read_net_source, read_source
from snpjax.io.source import Source
from tests.support.fuzz_seeds import SEEDS
from tests.support.sleptsov_seeds import SEEDS as NET_SEEDS


#: By format: a text, in which what is between the marks is refused in place of a name.
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
    "mcc": [NET_SEEDS["mcc"][0].split("# snpjax")[0] + '# snpjax {"name": "§\\ud800§"}\n'],
    "pnml": ['<pnml><net id="n"><page id="p"><place id="a§&#xD800;§"/></page></net></pnml>'],
    "tapn": ['<pnml><net id="n"><place id="a§&#xDFFF;§"/></net></pnml>'],
    "pipe": ['<pnml><net id="n"><place id="a§&#xDFFF;§"/></net></pnml>'],
}


def refused(text: str, format: str, holds: str) -> list[tuple[int | None, str]]:
    """Columns and messages."""
    read = read_net_source if holds == "net" else read_source
    level = [] if holds == "net" else ["extended"]
    with warnings.catch_warnings(), pytest.raises(snp.ReadError) as caught:
        warnings.simplefilter("ignore", snp.ModelWarning)
        read(Source("file", text), format, *level)
    return [(found.column, found.message) for found in caught.value.diagnostics]


@pytest.mark.parametrize("known", [x for x in FORMATS if x.reader], ids=lambda x: x.name)
def test_half_a_character_is_refused_at_its_place(known):
    for marked in ESCAPED.get(known.name, ()):
        before, half, after = marked.split("§")
        found = refused(before + half + after, known.name, known.holds)
        column = len(before) - (before.rfind("\n") + 1) + 1
        assert len(found) == 1 and found[0][0] is not None, found
        assert column <= found[0][0] <= column + 2, found  # libyaml counts to the digits
        words = "half of a character|invalid character|invalid Unicode"
        assert re.search(words, found[0][1]), found
    # As a character of a text, which can come from a program only.
    seed = (NET_SEEDS if known.holds == "net" else SEEDS)[known.name][0]
    assert "half of a character" in refused(seed + "\udead", known.name, known.holds)[0][1]
    with pytest.raises(snp.ReadError, match="not UTF-8"):
        decoded("file", seed.encode() + "\udead".encode("utf-8", "surrogatepass"))


def test_yaml_without_libyaml(monkeypatch):
    monkeypatch.delattr(yaml, "CSafeLoader")
    for marked in ESCAPED["factory-yaml"]:
        before, half, after = marked.split("§")
        found = refused(before + half + after, "factory-yaml", "system")
        assert [(column, "half" in text) for column, text in found] == [(len(before) + 1, True)]


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        snp.write(system, target, format=format, lossy=True)
        assert snp.read(target, format=format).num_neurons == 1


def test_nets_with_such_names_are_not_written(tmp_path):
    arcs = snp.sleptsov.Arcs.of([(0, 0, 1)])
    net = snp.SleptsovNet([1], inputs=arcs, outputs=arcs, place_names=("x\ud800",))
    for format in (x.name for x in FORMATS if x.holds == "net" and x.writer):
        if format != "hsn":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", snp.ModelWarning)
                target = Path(tmp_path / "file")
                try:
                    snp.write_net(net, target, format=format, lossy=True)
                except ValueError as error:
                    assert "half of a character" in str(error), format
                else:  # it wrote an escape of its own
                    assert snp.read_net(target, format=format).place_names[0].encode()
