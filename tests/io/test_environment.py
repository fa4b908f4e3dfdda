"""Input and output nodes, which the formats of WebSnapse and of sn-p-factory have alike."""

import json

import pytest

from snpjax import Neuron, SpikingSystem
from tests.io.tables.mistakes import findings, quietly, read_text, reread


def in_json(nodes, wires):
    """A file of nodes by their names: `None` is a neuron, a list an input, "output" an output."""
    regular, output = {"type": "regular", "content": 0, "rules": []}, {"type": "output"}
    parts = {None: regular, "output": output}
    neurons = [
        {"id": x, **({"type": "input", "content": y} if isinstance(y, list) else parts[y])}
        for x, y in nodes.items()
    ]
    synapses = [dict(zip(("from", "to", "weight"), wire, strict=True)) for wire in wires]
    return json.dumps({"neurons": neurons, "synapses": synapses})


def in_xml(nodes, wires):
    text = ""
    for name, kind in nodes.items():
        inside = "<isOutput>true</isOutput>" if kind == "output" else ""
        if isinstance(kind, list):
            train = ",".join(map(str, kind))
            inside = f"<isInput>true</isInput><bitstring>{train}</bitstring>"
        its = [(target, weight) for source, target, weight in wires if source == name]
        inside += "".join(f"<out>{target}</out>" for target, _ in its)
        inside += f"<outWeights>{''.join(f'<{t}>{w}</{t}>' for t, w in its)}</outWeights>"
        text += f"<{name}><id>{name}</id>{inside}</{name}>"
    return f"<content>{text}</content>"


#: JSON is YAML.
FILES = {"websnapse": in_json, "factory-yaml": in_json, "xmp": in_xml, "factory-xml": in_xml}
every_format = pytest.mark.parametrize("format", FILES)


@every_format
def test_input_nodes_become_trains(format):
    inputs = {"i": [1, 0, 2, 12], "j": [1, 1], "k": [], "l": [5, 5, 5, 5, 5]}
    wires = [("i", "x", 1), ("i", "y", 3), ("j", "x", 1), ("k", "y", 1), ("l", "x", 2)]
    system = read_text(format, FILES[format]({**inputs, "x": None, "y": None}, wires))
    trains = {"x": (12, 11, 12, 22, 10), "y": (3, 0, 6, 36)}
    assert system == SpikingSystem([Neuron("x"), Neuron("y")], input=trains)
    assert system.notes["inputs"] == {
        name: {"train": train, "targets": [[t, w] for s, t, w in wires if s == name]}
        for name, train in inputs.items()
    }


@every_format
def test_output_nodes_name_their_sources_in_the_order_of_the_nodes(format):
    nodes = {**dict.fromkeys("xyz"), **dict.fromkeys(("o1", "o2", "o3"), "output")}
    wires = [("x", "o2", 1), ("x", "o1", 1), ("y", "o2", 3), ("z", "o1", 1)]
    text = FILES[format](nodes, wires)
    (message,) = findings(format, text, of="warnings").values()
    assert "has weight 3, but an output lists" in message
    system = quietly(read_text, format, text)
    assert system.output == ("x", "z", "y")
    outputs = {"o1": [["x", 1], ["z", 1]], "o2": [["x", 1], ["y", 3]], "o3": []}
    assert system.notes["outputs"] == outputs


@every_format
def test_a_chain_from_input_to_output_is_kept(format):
    nodes, wires = {"i": [1, 0, 2], "x": None, "o": "output"}, [("i", "o", 3), ("i", "x", 1)]
    text = FILES[format](nodes, wires)
    system = quietly(read_text, format, text)
    if FILES[format] == in_json:
        text, again = reread(format, system)
        assert again == system and again.notes["direct"] == system.notes["direct"]
    assert "past all neurons" in str(findings(format, text, of="warnings"))
    assert system.notes["direct"] == {"o": {"i": [3, 0, 6]}}
    assert system.input == {"x": (1, 0, 2)} and system.output == ()
    assert system.notes["outputs"] == {"o": []}
