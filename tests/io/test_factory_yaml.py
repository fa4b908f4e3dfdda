"""The YAML of sn-p-factory: its samples, YAML with places, hostile YAML, and writing."""

import builtins
import json
import random
import sys
import warnings

import pytest
import yaml
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import DivisionRule, Neuron, Rule, SpikingSystem
from snpjax.io import ReadError, ReadWarning, WriteError, yaml_text as yaml_module
from snpjax.io.json_text import InString, Key
from snpjax.io.losses import Losses
from snpjax.io.source import Report, Source
from snpjax.io.websnapse import read_factory_yaml, write_factory_yaml, write_websnapse
from snpjax.io.yaml_text import Plain, load_yaml
from snpjax.testing import reference
from tests.io.test_websnapse import (
    PAIR_SYSTEM,
    YAML,
    assert_same_graph,
    assert_same_trace,
    check_case,
    marked,
    published,
    sample,
    write,
)
from tests.support.helpers import case_system, load_cases, needs_shared


PAIR = r"""neurons:
- {id: p, type: regular, position: {x: 0, y: 0}, content: 2, rules: ['a^{2}/a\to a;1', 'a\to\lambda']}
- {id: q, type: regular, position: {x: 150, y: 0}, content: 1, rules: ['a\to a;0', 'a^{2}\to\lambda']}
- {id: out, type: output, position: {x: 300, y: 0}, content: ''}
synapses:
- {from: p, to: q, weight: 1}
- {from: q, to: p, weight: 1}
- {from: q, to: out, weight: 1}
"""  # noqa: E501


@pytest.fixture(params=["C", "Python"])
def loader(request, monkeypatch):
    """PyYAML with and without libyaml."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML is built without libyaml here")


def parse(text, level="extended"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_factory_yaml(Source("model.yaml", text), level)


def errors(text, level="extended"):
    with pytest.raises(ReadError) as caught:
        parse(text, level)
    return {f"{d.line}:{d.column}": d.message for d in caught.value.diagnostics}


def check_places(text, *messages):
    """The errors stand exactly at the marks §, with these messages in order."""
    text, places = marked(text)
    found = errors(text)
    assert list(found) == places
    for message, whole in zip(messages, found.values(), strict=True):
        assert message in whole


def model(neurons, rest="synapses: []"):
    """A block of neurons from line 2 on."""
    return f"neurons:\n{neurons}\n{rest}\n"


# Samples


@needs_shared
def test_generator_sample_gives_its_graph():
    case = published("graphs/wsr_multiples_of_004.json")
    assert_same_graph(sample("factory/multiples_of_4.yaml"), case)


@needs_shared
def test_adder_sample():
    system = sample("factory/bit_adder_5_9_3.yaml")
    adder = ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"]
    assert system == SpikingSystem(
        [
            Neuron("stall_{2,0}", 0, ["a -> a"]),
            Neuron("add_{0,1}", 0, adder),
            Neuron("add_{0,1,2}", 0, adder),
        ],
        [("stall_{2,0}", "add_{0,1,2}"), ("add_{0,1}", "add_{0,1,2}")],
        input={"add_{0,1}": (2, 0, 1, 1), "stall_{2,0}": (1, 1)},
        output="add_{0,1,2}",
    )
    emitted = [row[2] for row in reference.run(system, max_steps=20).emissions]
    assert sum(bit << place for place, bit in enumerate(emitted[2:])) == 5 + 9 + 3


@needs_shared
def test_comparator_sample():
    system = sample("factory/comparator_6_2.yaml")
    case = published("traces/wsr_comparator_4_2.json")
    smaller = SpikingSystem(
        system.neurons,
        system.synapses,
        input={name: (2, 2, 1, 1) for name in system.input},
        output=system.output,
        notes={**system.notes, "inputs": {
            name: {"train": case["inputs"][name], "targets": case["input_targets"][name]}
            for name in "ab"
        }},
    )  # fmt: skip
    assert_same_trace(smaller, case)
    assert dict(system.input) == {name: (2, 2, 1, 1, 1, 1) for name in ("one", "both")}
    recorders = system.notes["outputs"]
    emissions = reference.run(system, max_steps=20).emissions
    counts = {
        recorder: sum(row[system.names[source]] for row in emissions for source, _ in sources)
        for recorder, sources in recorders.items()
    }
    assert counts == {"min": 2, "max": 6}


@needs_shared
def test_decrement_sample():
    system = sample("factory/decrement_3.yaml")
    case = published("traces/wsr_decrement_020.json")
    forty = [Neuron(n.name, 40 if n.name == "r" else n.spikes, n.rules) for n in system.neurons]
    assert_same_trace(SpikingSystem(forty, system.synapses, notes=system.notes), case)
    final = reference.run(system, max_steps=50).configurations[-1]
    assert final.spikes[system.names["r"]] == 4  # the register holds twice its number


# What is read


@pytest.mark.usefixtures("loader")
def test_pair(tmp_path):
    assert parse(PAIR) == PAIR_SYSTEM
    for name in ("pair.yaml", "pair.yml"):
        (tmp_path / name).write_text(PAIR)
        assert snp.read(tmp_path / name) == PAIR_SYSTEM
    (tmp_path / "pair.yaml").write_bytes(b"\xef\xbb\xbf" + PAIR.replace("\n", "\r\n").encode())
    assert snp.read(tmp_path / "pair.yaml") == PAIR_SYSTEM


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model("- {id: x, type: input, content: §0110}"), "is 0110, not quoted (write the spikes"),
        (model("- {id: x, type: input, content: §101}"), "is 101, not quoted (write the spikes"),
        (model("- {id: x, type: input, content: '1§,0'}"), "',' in the train"),
        (model("- {id: x, type: regular, content: §007}"), "the number of spikes is 007"),
        (model("- {id: x, type: regular, content: §0x10}"), "the number of spikes is 0x10"),
        (model("- {id: x, type: regular, content: §1_000}"), "the number of spikes is 1_000"),
        (model("- {id: x, type: regular, content: §1.5}"), "the number of spikes is 1.5"),
        (model("- {id: x, type: regular, content: §.inf}"), "the number of spikes is .inf"),
        (model("- {id: x, type: regular, content: §-1}"), "starts with -1 spikes"),
        (model("- {id: x, type: regular, content: §" + "9" * 200 + "}"), "is 9999"),
        (model("- {id: §, type: output}"), "the id of a neuron is "),
        (model("- {id: §[x], type: output}"), "the id of a neuron is a list"),
        (model("- {id: x, type: §relay}"), "the type of a neuron is 'relay'"),
        (model("- {id: x, type: output, §delay: 1}"), "unknown key 'delay'"),
        (model("- {id: x, type: output, position: {x: §a, y: 0}}"), '"x" is a (write a number)'),
        (model("- §7"), "the neuron is 7"),
        (model("- §{type: output}"), 'the neuron has no "id"'),
        (model("- id: x\n  type: regular\n  content: 1\n  §id: y"), "appears twice in the neuron"),
        (model("- {id: x, type: output}\n- {id: §x, type: output}"), "first at 2:8"),
        (model("- {id: x, type: output}", "synapses:\n- {from: §z, to: x}"), "no neuron 'z'"),
        (model("- {id: x, type: output}", "synapses: §7"), '"synapses" is 7 (write a list'),
        ("§- 1\n- 2\n", "this is a list (a WebSnapse model has"),
        ("§just text\n", "this is just text (a WebSnapse model has"),
        ("§a: 1\n", "there is no \"neurons\" among the keys 'a'"),
        ("neurons: []\nsynapses: []\n§x: 1\n", "unknown key 'x'"),
    ],
)
@pytest.mark.usefixtures("loader")
def test_place_of_one_mistake(text, message):
    check_places(text, message)


@pytest.mark.parametrize(
    "rule",
    [
        r"- a^{2}§bc/a\to a",
        r"- 'a^{2}§bc/a\to a'",
        r'- "a^{2}§bc/a\\to a"',
        r'- "\x61^{2}§\u0062c/a\\to a"',
        r'- "\U00000061^{2}§b\x63/a\\to a"',
        r'- "a\t^{2}\x20 §b\x63/a\\to a"',
        '- "a^{2}\\\n     §bc/a\\\\to a"',
        '- "a^{2}\n\n     §bc/a\\\\to a"',
        "- |\n   a^{2}§bc/a\\to a",
        "- >-\n   a^{2}\n   §bc/a\\to a",
        "- a^{2}\n   §bc/a\\to a",
        r"- &anchor a^{2}§bc/a\to a",
        r"- '§''a^{2}/a\to a'",
        r"- 'a§''''/a\to a'",
        r"- 'a\to a;§'''",
        r"- 'a\to  §''a'",
    ],
)
@pytest.mark.usefixtures("loader")
def test_errors_in_texts_point_into_them(rule):
    """Also where the text is escaped, quoted or folded."""
    text, places = marked(model(f"- id: x\n  type: regular\n  content: 0\n  rules:\n  {rule}"))
    assert list(errors(text)) == places


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("neurons: []\nsynapses: §[1, 2\n", "not well-formed YAML"),
        ("neurons:\n§\t- x\n", "not well-formed YAML"),
        ("- a: 1\n  §b\n- c\n", "not well-formed YAML"),
        ("a: b§: c\n", "not well-formed YAML"),
        ("a: 1\n b§: 2\n", "not well-formed YAML"),
        ("a: §@x\n", "not well-formed YAML"),
        ("a: [1, §}\n", "not well-formed YAML"),
        ("a: [1, §{b: 1 \n\n", "not well-formed YAML"),
        ("a: §'b\n", "not well-formed YAML"),
        ("a: §\"b\nc: d\n", "not well-formed YAML"),
        ('a: "§\\left[a\\right]"\n', r"(in double quotes write a backslash twice: \\)"),
        ("a: \u00a7\x00b\n", "the character '\\x00' cannot stand in YAML"),
        ("a: \u00a7\ufeffb\n", "cannot stand in YAML"),
        ("§# nothing\n", "there is no value, only comments"),
        ("a: 1\n§---\nb: 2\n", "a second document begins here"),
        ("a: §!!python/object:os.system x\n", "the tag 'tag:yaml.org,2002:python/object"),
        ("a: §!x [1]\n", "the tag '!x' is not read"),
        ("§!!map {a: 1}\n", "the tag 'tag:yaml.org,2002:map' is not read"),
        ("a: §*x\n", "the alias *x repeats nothing that is complete before it"),
        ("&x a: §*x\n".replace("&x a", "a").replace("*x", "*a"), "the alias *a repeats nothing"),
        ("&x [§*x]\n", "the alias *x repeats nothing"),
        ("? §[1, 2]\n: 3\n", "a list or mapping as a key"),
        ("a: &x [1]\n§*x : 3\n", "a list or mapping as a key"),
        ("[" * 100 + "§" + "[" * 800, "nested more than 100 deep"),
        ("a: &a [1]\n" + "".join(
            f"a{i}: &a{i} [*a{i - 1 if i else ''}]\n" for i in range(97)
        ) + "z: [[§*a96]]\n", "nested more than 100 deep"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("loader")
def test_refused_yaml(text, message):
    text, places = marked(text)
    found = errors(text)
    assert len(found) == 1 and message in next(iter(found.values()))
    assert list(found) == places


@pytest.mark.usefixtures("loader")
def test_deeper_than_libyaml_reads():
    """Some versions stop before they say what they have read."""
    (message,) = errors("[" * 3000).values()
    assert "nested more than 100 deep" in message


@pytest.mark.parametrize("text", [r'a: "\UFFFFFFFF"', r'a: "\ud800"', "%YAML " + "9" * 5000 + ".1"])
@pytest.mark.usefixtures("loader")
def test_what_pyyaml_stumbles_over(text):
    with pytest.raises(ReadError):
        parse(text)


@pytest.mark.usefixtures("loader")
def test_alias_bombs_are_refused():
    bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for i in range(1, 30):
        bomb += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n"
    (message,) = errors(bomb).values()
    assert f"more than {yaml_module.MAX_VALUES:,} values" in message


def test_sizes_are_bounded(monkeypatch):
    monkeypatch.setattr(yaml_module, "MAX_VALUES", 10)
    (message,) = errors("[" + "1," * 20 + "]").values()
    assert "more than 10 values" in message


def test_pyyaml_is_optional(monkeypatch, tmp_path):
    real = builtins.__import__

    def without_yaml(name, *arguments, **keywords):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    monkeypatch.delitem(sys.modules, "yaml")
    with pytest.raises(ReadError, match=r"needs PyYAML \(pip install '\.\[io\]' in a clone"):
        parse(PAIR)
    snp.write(PAIR_SYSTEM, tmp_path / "pair.yaml")  # which needs none


@pytest.mark.parametrize("length", range(1, len(PAIR) - 40, 23))
def test_truncated_files(length):
    with pytest.raises(ReadError):
        parse(PAIR[:length])


@pytest.mark.usefixtures("loader")
@settings(max_examples=20)
@given(st.integers())
def test_mutations_raise_nothing_but_read_errors(seed):
    choose = random.Random(seed)
    pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        "- ",
        "'",
        '"',
        "&a ",
        "*a",
        "!!x ",
        "\n",
        "\t",
        "|",
        "%",
        "\\",
    ]
    for _ in range(10):
        text = PAIR
        for _ in range(choose.randint(1, 4)):
            start = choose.randint(0, len(text))
            end = start + choose.randint(0, 5)
            text = text[:start] + choose.choice(pieces) + text[end:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadWarning)
            try:
                assert isinstance(read_factory_yaml(Source("f", text), "extended"), SpikingSystem)
            except ReadError as error:
                assert error.diagnostics


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


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_cases_are_written_and_read(case):
    if case["theme"] == "invalid" or case["variant"] not in ("static", "division-budding"):
        pytest.skip(f"not in this YAML: {case['theme']}, {case['variant']}")
    check_case(case_system(case), write_factory_yaml, read_factory_yaml)


@pytest.mark.usefixtures("loader")
def test_pair_is_written():
    text, again = write(PAIR_SYSTEM, format=YAML)
    assert again == PAIR_SYSTEM
    first, *_, last = text.splitlines()[1:]
    assert first == (
        r"- {id: 'p', type: 'regular', position: {x: 0, y: 0}, content: 2, "
        r"rules: ['a^{2}/a\to a;1', 'a\to\lambda']}"
    )
    assert last == "- {from: 'q', to: 'out_q', weight: 1}"


@pytest.mark.parametrize(
    "system",
    [
        SpikingSystem([]),
        SpikingSystem(
            [
                Neuron(x)
                for x in ("", "'", "\n", "\x00", "\x7f", "\ufeff", "\u2028", "\U0001d4d0", "x: #")
            ]
        ),
        SpikingSystem([Neuron("x")], notes={"positions": {"x": [1e-07, -2.5]}}),
        SpikingSystem(
            [Neuron("x")], notes={"expected": {"no": [None, True, "é", 1e16], "a b": ""}}
        ),
    ],
)
@pytest.mark.usefixtures("loader")
def test_odd_systems_are_written_and_read(system):
    text, again = write(system, format=YAML)
    assert again == system and again.notes.items() >= system.notes.items()
    losses = Losses("WebSnapse JSON")
    in_json = json.loads(write_websnapse(system, losses))
    assert yaml.safe_load(text) == in_json  # as other readers of YAML understand it


def test_half_a_character_is_lost(tmp_path):
    system = SpikingSystem([Neuron("x\ud800"), Neuron("x\ufffd")], output="x\ud800")
    with pytest.raises(WriteError, match=r"neuron name 'x\\ud800' \(written as 'x\ufffd'\)"):
        snp.write(system, tmp_path / "m.yaml")
    with pytest.warns(snp.ModelWarning):
        snp.write(system, tmp_path / "m.yaml", lossy=True)
    assert [n.name for n in snp.read(tmp_path / "m.yaml").neurons] == ["x\ufffd", "x\ufffd'"]
