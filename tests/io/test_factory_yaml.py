"""The YAML of sn-p-factory: YAML with places, with and without libyaml, and writing. What holds for
all formats is in test_conformance.py, and files of other authors are in test_samples.py."""

import builtins
import json
import sys

import pytest
import yaml

import snpjax as snp
from snpjax import DivisionRule, Neuron, Rule, SpikingSystem
from snpjax.io import ReadError, WriteError, yaml_text as yaml_module
from snpjax.io.json_text import InString, Key
from snpjax.io.read import model_text
from snpjax.io.source import Report, Source
from snpjax.io.yaml_text import Plain, load_yaml
from tests.io.tables import MISTAKES
from tests.io.tables.factory_yaml import BOMB
from tests.io.tables.mistakes import findings, read_silently, reread
from tests.io.tables.odd_systems import WEBSNAPSE
from tests.io.tables.pairs import PAIRS, SYSTEM, WRITTEN


def parse(text):
    return read_silently("factory-yaml", text)


def model(neurons, rest="synapses: []"):
    """A block of neurons from line 2 on."""
    return f"neurons:\n{neurons}\n{rest}\n"


@pytest.fixture(params=["C", "Python"])
def loader(request, monkeypatch):
    """PyYAML with and without libyaml."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML is built without libyaml here")


# What is read


@pytest.mark.usefixtures("loader")
def test_with_and_without_libyaml():
    failures = [x for table in MISTAKES["factory-yaml"] for x in table.failures("factory-yaml")]
    assert not failures, "\n".join(failures)
    assert parse(PAIRS["factory-yaml"]) == SYSTEM
    (message,) = findings("factory-yaml", BOMB).values()
    assert f"more than {yaml_module.MAX_VALUES:,} values" in message
    # Some versions of libyaml stop before they say what they have read.
    (message,) = findings("factory-yaml", "[" * 3000).values()
    assert "nested more than 100 deep" in message


@pytest.mark.usefixtures("loader")
def test_names_are_what_is_written():
    names = ["1", "yes", "0x10", "1.50", "null", "~", "2001-01-01", "1_000", "a b", "é"]
    nodes = "\n".join(f"- {{id: {x}, type: regular, content: 0}}" for x in names)
    wires = "\n".join(f"- {{from: {x}, to: {y}}}" for x, y in zip(names, names[1:], strict=False))
    system = parse(model(nodes, f"synapses:\n{wires}"))
    assert [n.name for n in system.neurons] == names
    assert [synapse[:2] for synapse in system.synapses] == list(zip(names, names[1:], strict=False))


@pytest.mark.usefixtures("loader")
def test_every_style_of_text():
    nodes = r"""- id: "x\u00e9\
    \x41"
  type: 'regular'
  content: 2.0
  rules:
  - a\to a;0
  - "a^{2}\\to\\lambda"
  - |
    a^{3}\to a;1
  - >-
    a^{4}
    \to a;2
  - a^{5}
    \to a
- id: 'it''s'
  type: regular
  content: '7'
  rules:"""
    first, second = parse(model(nodes)).neurons
    assert (first.name, first.spikes, second) == ("xéA", 2, Neuron("it's", 7))
    assert first.rules == (
        *(Rule(None, 1, 1), Rule(None, 2), Rule(None, 3, 1, 1)),
        *(Rule(None, 4, 1, 2), Rule(None, 5, 1)),
    )


def test_aliases_repeat_what_is_complete():
    text = model(
        r"""- {id: x, type: regular, content: 0, rules: &rules ['a\to a', &forget 'aa\to\lambda']}
- {id: y, type: regular, content: 0, rules: *rules}
- {id: z, type: regular, content: 0, rules: [*forget]}"""
    )
    one, two = Rule(None, 1, 1), Rule(None, 2)
    assert [n.rules for n in parse(text).neurons] == [(one, two), (one, two), (two,)]


def test_notes_are_values():
    rest = "synapses: []\nexpected: [1, 1.5, yes, true, ~, '1', 0110, {a: b, 1: [2]}]"
    assert parse(model("- {id: x, type: output}", rest)).notes["expected"] == [
        *(1, 1.5, "yes", True, None, "1", "0110", {"a": "b", "1": [2]})
    ]


def test_division():
    rule = r"\left[a\right]%s\to\left[\ \right]_{j}\ ||\ \left[\ \right]_{k}"
    text = model(
        f"- {{id: i, type: regular, content: 0, rules: ['{rule % ''}']}}",
        f"synapses:\n- {{from: j, to: k}}\nrule_dict:\n- '{rule % '_{j}'}'",
    )
    system = parse(text)
    assert system.rules == (DivisionRule("a", "j", "k"),)
    assert system.rules_by_label == {"j": (DivisionRule("a", "j", "k"),)}
    assert system.dictionary == (("j", "k"),)


# Mistakes


@pytest.mark.parametrize("text", [r'a: "\UFFFFFFFF"', r'a: "\ud800"', "%YAML " + "9" * 5000 + ".1"])
@pytest.mark.usefixtures("loader")
def test_what_pyyaml_stumbles_over(text):
    with pytest.raises(ReadError):
        parse(text)


def test_pyyaml_is_optional(monkeypatch, tmp_path):
    real = builtins.__import__

    def without_yaml(name, *arguments, **keywords):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    monkeypatch.delitem(sys.modules, "yaml")
    with pytest.raises(ReadError, match=r"needs PyYAML \(pip install '\.\[io\]' in a clone"):
        parse(PAIRS["factory-yaml"])
    snp.write(SYSTEM, tmp_path / "pair.yaml")  # which needs none


# YAML with places


@pytest.mark.usefixtures("loader")
def test_places():
    text = 'a:\n- 1\n- {"b": "c\\td", e: f, e: g}\n'
    document = load_yaml(Report(Source("f", text)))
    assert document is not None
    assert document.value == {"a": [Plain("1"), {"b": "c\td", "e": Plain("g")}]}
    places = {
        (): "a:",
        ("a",): "- 1",
        ("a", 0): "1",
        ("a", 1): "{",
        ("a", 1, Key("b")): '"b"',
        ("a", 1, "b"): '"c',
        ("a", 1, "b", InString(0)): "c\\",
        ("a", 1, "b", InString(1)): "\\t",
        ("a", 1, "b", InString(2)): 'd"',
        ("a", 1, "b", InString(3)): '", e',
        ("a", 1, "b", InString(9)): '", e',
        ("a", 1, Key("e", 1)): "e: g",
        ("a", 1, Key("e", 2)): "{",
        ("a", 1, "e"): "g}",
        ("a", 1, "x", "y"): "{",
        ("a", 7): "- 1",
        ("a", "x"): "- 1",
    }
    for path, start in places.items():
        offset = document.locate([path])[path]
        assert text[offset:].startswith(start), path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("-3", -3), ("1.0", 1.0), ("1e3", 1000.0), ("1.", 1.0), ("true", True),
        ("False", False), ("~", None), ("", None), ("null", None), ("012", "012"), ("yes", "yes"),
        ("0x1", "0x1"), ("1_0", "1_0"), ("1:30", "1:30"), (".5", ".5"), ("+1", 1),
    ],
)  # fmt: skip
def test_plain_scalars(text, value):
    found = Plain(text).value
    assert found == value and type(found) is type(value)


# Writing


@pytest.mark.usefixtures("loader")
def test_odd_systems_are_written_and_read():
    noted = [{"positions": {"x": [1e-07, -2.5]}}]
    noted.append({"expected": {"no": [None, True, "é", 1e16], "a b": ""}})
    systems = [*WEBSNAPSE, SYSTEM, *(SpikingSystem([Neuron("x")], notes=x) for x in noted)]
    for system in systems:
        text, again = reread("factory-yaml", system, system.level)
        assert again == system and again.notes.items() >= system.notes.items()
        in_json = json.loads(model_text(system, "websnapse")[0])
        assert yaml.safe_load(text) == in_json  # as other readers of YAML understand it
    assert reread("factory-yaml", SYSTEM)[0] == WRITTEN["factory-yaml"]


def test_half_a_character_is_lost(tmp_path):
    system = SpikingSystem([Neuron("x\ud800"), Neuron("x\ufffd")], output="x\ud800")
    with pytest.raises(WriteError, match=r"neuron name 'x\\ud800' \(written as 'x\ufffd'\)"):
        snp.write(system, tmp_path / "m.yaml")
    with pytest.warns(snp.ModelWarning):
        snp.write(system, tmp_path / "m.yaml", lossy=True)
    assert [n.name for n in snp.read(tmp_path / "m.yaml").neurons] == ["x\ufffd", "x\ufffd'"]
