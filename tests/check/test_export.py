"""Graphs for other programs: networkx, GraphML and DOT, whatever the names."""

import re
import sys
import warnings

import networkx
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.testing import dividing_systems, plastic_systems, systems


SYSTEM = snp.SpikingSystem(
    [
        snp.Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"], "left"),
        snp.Neuron("q", 1, ["a -> a"]),
        snp.Neuron("r"),
    ],
    [("p", "q", 3), ("q", "p"), ("q", "q"), ("q", "r")],
    input={"p": (1, 0, 2), "r": ()},
    output=("q", "r"),
    name="pair & more",
)

#: What would end a text, start an entity or be lost in one format or the other.
NAMES = [
    *('"', "\\", '\\"', 'a\\', "\\n", "\\N", "&amp;", "&lt", "<b>", "]]>", "-->", "/*", "//", "#"),
    *("{", "|", ";", "node", "digraph", "n0", "", " ", " x ", "\n", "\r", "\t", "\x00", "\x1b[31m"),
    *("\x85", "\u2028", "\ufeff", "\ufffe", "\ud800", "\U0001d4d0", "\u00e9", "\u202e", "'"),
]  # fmt: skip


def named(names):
    chain = list(zip(names, names[1:], strict=False))
    return snp.SpikingSystem([snp.Neuron(name, 1, ["a -> a"]) for name in names], chain)


# ---- networkx ----


def test_networkx():
    graph = snp.to_networkx(SYSTEM)
    assert isinstance(graph, networkx.DiGraph)
    assert dict(graph.nodes(data=True)) == {
        "p": {
            "name": "p",
            "spikes": 2,
            "rules": ("a^2/a -> a; 1", "a -> lambda"),
            "label": "left",
            "input": (1, 0, 2),
            "is_output": False,
        },
        "q": {
            "name": "q",
            "spikes": 1,
            "rules": ("a -> a",),
            "label": "q",
            "input": None,
            "is_output": True,
        },
        "r": {
            "name": "r",
            "spikes": 0,
            "rules": (),
            "label": "r",
            "input": (),
            "is_output": True,
        },
    }
    assert list(graph.edges(data="weight")) == [
        ("p", "q", 3),
        ("q", "p", 1),
        ("q", "q", 1),
        ("q", "r", 1),
    ]
    assert graph.graph["name"] == "pair & more" and graph.graph["level"] == "extended"


def test_networkx_keeps_what_labels_grow_into():
    system = snp.SpikingSystem(
        [snp.Neuron("i", 1, [snp.DivisionRule("a", "j", "k")])],
        dictionary=[("j", "k")],
        rules_by_label={"j": ["a -> a"]},
    )
    graph = snp.to_networkx(system)
    assert graph.nodes["i"]["rules"] == ("[a]_i -> []_j || []_k",)
    assert graph.graph["dictionary"] == (("j", "k"),)
    assert graph.graph["rules_by_label"] == {"j": ("a -> a",)}


def test_populations_are_listed():
    system = snp.PopulationSystem(
        [snp.Population("x", 2, 1, ["a -> a"]), snp.Population("y", 2)],
        [snp.Projection("x", "y", snp.graphs.OneToOne())],
        output="y",
    )
    names = [neuron.name for neuron in system.expand().neurons]
    graph = snp.to_networkx(system)
    assert list(graph) == names
    assert list(graph.edges) == [(names[0], names[2]), (names[1], names[3])]
    assert snp.to_dot(system) == snp.to_dot(system.expand())


def test_without_networkx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "networkx", None)
    message = r"networkx is not installed \(pip install '.\[io\]' in a clone of snpjax\)"
    with pytest.raises(ImportError, match=message):
        snp.to_networkx(SYSTEM)
    with pytest.raises(ImportError, match=message):
        snp.write(SYSTEM, tmp_path / "model.graphml")
    assert list(tmp_path.iterdir()) == []
    snp.write(SYSTEM, tmp_path / "model.dot")  # needs nothing


# ---- GraphML ----


def test_graphml(tmp_path):
    path = tmp_path / "model.graphml"
    snp.write(SYSTEM, path)
    graph = networkx.read_graphml(path)
    assert graph.is_directed() and not graph.is_multigraph()
    assert dict(graph.nodes(data=True)) == {
        "n0": {
            "name": "p",
            "spikes": 2,
            "rules": "a^2/a -> a; 1\na -> lambda",
            "label": "left",
            "input": "1 0 2",
            "is_output": False,
        },
        "n1": {"name": "q", "spikes": 1, "rules": "a -> a", "label": "q", "is_output": True},
        "n2": {
            "name": "r",
            "spikes": 0,
            "rules": "",
            "label": "r",
            "input": "",
            "is_output": True,
        },
    }
    assert set(graph.edges(data="weight")) == {
        ("n0", "n1", 3),
        ("n1", "n0", 1),
        ("n1", "n1", 1),
        ("n1", "n2", 1),
    }
    assert graph.graph["name"] == "pair & more"


@pytest.mark.parametrize("name", NAMES)
def test_names_in_graphml(tmp_path, name):
    path = tmp_path / "model.graphml"
    system = named([name, "other"])
    written = re.sub(
        "[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]", lambda m: ascii(m[0])[1:-1], name
    )
    if written == name:
        snp.write(system, path)
    else:
        with pytest.raises(snp.WriteError, match="that XML cannot hold"):
            snp.write(system, path)
        with pytest.warns(snp.WriteWarning, match="written as escapes"):
            snp.write(system, path, lossy=True)
    graph = networkx.read_graphml(path)
    assert [data["name"] for _, data in graph.nodes(data=True)] == [written, "other"]
    assert list(graph.edges) == [("n0", "n1")]


def test_rules_without_a_neuron_are_losses_of_drawings(tmp_path):
    system = snp.SpikingSystem(
        [snp.Neuron("i", 1, [snp.DivisionRule("a", "j", "k")])],
        dictionary=[("j", "k")],
        rules_by_label={"j": ["a -> a", "a^2 -> a"]},
        input={"j": [1], "i": [2]},
        output=("k", "i"),
    )
    for name in ("model.dot", "model.graphml"):
        with pytest.raises(snp.WriteError) as caught:
            snp.write(system, tmp_path / name)
        assert caught.value.items == (
            "2 rules of label 'j', which no neuron bears (left out)",
            "pair (j, k) of the dictionary (left out)",
            "the input of label 'j', which no neuron bears (left out)",
            "the output of label 'k', which no neuron bears (left out)",
        )


# ---- DOT ----


#: The words of the language, as its definition has them.
DOT = re.compile(
    r'\s+|(?P<id>[A-Za-z_\x80-\uffff][A-Za-z_0-9\x80-\uffff]*|-?[0-9]+)|'
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>->|[{}\[\];,=])',
    re.DOTALL,
)  # fmt: skip


def parsed(text):
    """Nodes and edges with their attributes, by a parser of what `to_dot` uses of DOT."""
    words, offset = [], 0
    while offset < len(text):
        match = DOT.match(text, offset)
        assert match is not None, text[offset : offset + 40]
        if not match.group().isspace():
            words.append(match.group())
        offset = match.end()
    assert words[:2] == ["digraph", "{"] and words[-1] == "}"
    nodes, edges = {}, {}
    for statement in split(words[2:-1]):
        ends, attributes = statement, {}
        if "[" in statement:
            start = statement.index("[")
            ends, inner = statement[:start], statement[start + 1 :]
            assert inner.pop() == "]"
            for i in range(0, len(inner), 4):
                assert inner[i + 1] == "=" and inner[i + 3 : i + 4] in ([","], [])
                attributes[inner[i]] = inner[i + 2]
        if len(ends) == 3 and ends[1] == "->":
            edges[ends[0], ends[2]] = attributes
        elif len(ends) == 1:
            nodes[ends[0]] = attributes
        else:
            assert ends[1] == "=" and ends[0] in ("rankdir", "label"), ends
    nodes.pop("node")
    return nodes, edges


def split(words):
    statement = []
    for word in words:
        if word == ";":
            yield statement
            statement = []
        else:
            statement.append(word)
    assert not statement


def test_dot():
    text = snp.to_dot(SYSTEM)
    nodes, edges = parsed(text)
    assert nodes == {
        "n0": {"label": r'"p\nlabel left\n2 spikes\na^2/a -> a; 1\na -> lambda"'},
        "n1": {"label": r'"q\n1 spike\na -> a"', "peripheries": "2"},
        "n2": {"label": '"r"', "peripheries": "2"},
        "i0": {"shape": "plaintext", "label": '"input 1 0 2"'},
        "i2": {"shape": "plaintext", "label": '"input"'},
    }
    assert edges == {
        ("i0", "n0"): {"style": "dashed"},
        ("i2", "n2"): {"style": "dashed"},
        ("n0", "n1"): {"label": '"3"'},
        ("n1", "n0"): {},
        ("n1", "n1"): {},
        ("n1", "n2"): {},
    }
    assert '  label="pair &amp; more";' in text


def test_drawings_stay_readable():
    rules = [f"a^{n} -> a" for n in range(1, 31)]
    system = snp.SpikingSystem([snp.Neuron("x", 0, rules)], input={"x": [1] * 50})
    nodes, _ = parsed(snp.to_dot(system))
    assert nodes["n0"]["label"].endswith(r'a^10 -> a\nand 20 more rules"')
    assert nodes["i0"]["label"] == f'"input{" 1" * 20} ..."'


@pytest.mark.parametrize("name", NAMES)
def test_names_in_dot(tmp_path, name):
    path = tmp_path / "model.dot"
    snp.write(named([name, "other"]), path)
    nodes, edges = parsed(path.read_text("utf-8"))
    assert list(nodes) == ["n0", "n1"] and list(edges) == [("n0", "n1")]
    assert shown(nodes["n0"]["label"]) == "".join(
        c if c.isprintable() else ascii(c)[1:-1] for c in name
    )


def shown(label):
    """The first line of a label as Graphviz draws it."""
    first = re.match(r'"((?:\\\\|\\"|[^"\\])*)(?:\\n|"$)', label)[1]
    assert "&" not in first.replace("&amp;", "")
    return first.replace("&amp;", "&").replace(r"\"", '"').replace(r"\\", "\\")


@settings(max_examples=12)
@given(systems(signed=None), st.lists(st.text(max_size=4), min_size=6, max_size=6, unique=True))
def test_random_systems_are_drawn(system, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        by_name = dict(zip((n.name for n in system.neurons), names, strict=False))
        renamed = snp.SpikingSystem(
            [snp.Neuron(by_name[n.name], n.spikes, n.rules) for n in system.neurons],
            [(by_name[x], by_name[y], w) for x, y, w in system.synapses],
            input={by_name[x]: train for x, train in system.input.items()},
            output=[by_name[x] for x in system.output],
            signed=system.signed,
        )
    nodes, edges = parsed(snp.to_dot(renamed))
    assert len(nodes) == system.num_neurons + len(system.input)
    assert len(edges) == system.num_synapses + len(system.input)
    graph = snp.to_networkx(renamed)
    assert list(graph) == [neuron.name for neuron in renamed.neurons]
    assert {(x, y, w) for x, y, w in graph.edges(data="weight")} == set(renamed.synapses)


@settings(max_examples=12)
@given(dividing_systems() | plastic_systems())
def test_systems_that_change_are_drawn(system):
    """The environment of a label is that of its neurons."""
    called = [n.label if system.is_growing else n.name for n in system.neurons]
    nodes, edges = parsed(snp.to_dot(system))
    fed = [name in system.input for name in called]
    assert len(nodes) == system.num_neurons + sum(fed)
    assert len(edges) == system.num_synapses + sum(fed)
    graph = snp.to_networkx(system)
    assert [node["input"] is not None for _, node in graph.nodes(data=True)] == fed
    assert [x for _, x in graph.nodes(data="is_output")] == [x in system.output for x in called]


@pytest.mark.parametrize("name", ["model.dot", "model.gv", "model.graphml"])
def test_drawings_are_not_read(tmp_path, name):
    snp.write(SYSTEM, tmp_path / name)
    with pytest.raises(snp.ReadError, match="is written, not read"):
        snp.read(tmp_path / name)
