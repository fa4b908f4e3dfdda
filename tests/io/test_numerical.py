"""Files of Numerical WebSnapse: read whole, or refused at their places."""

import json
from copy import deepcopy
from fractions import Fraction

import pytest

import snpjax as snp
from snpjax.numerical import NumericalInput, NumericalNeuron, Production


def node(number, kind, label, var_=(), prf=(), train=()):
    data = {"var_": var_, "prf": prf, "train": train, "label": label, "type": kind, "x": 0, "y": 1}
    return {"id": number, "data": data}


NODES = [
    node("a", "reg", "p", [["x", "1"], ["y", 2]], [["f", "1", [["x", "1/3"], ["y", "0"]]]]),
    node("b", "reg", "q", [["x", "-0.5"]], [["f", None, [["x", "2"]]], ["g", "", [["x", -1]]]]),
    node("c", "in", "in", train=["1", 0, "1/2"]),
    node("d", "out", "q"),
]
PAIRS = [("a", "b"), ("b", "a"), ("c", "a"), ("b", "d")]
EDGES = [{"id": f"{s}{t}", "source": s, "target": t} for s, t in PAIRS]
FILE = {"nodes": NODES, "edges": EDGES}


def write(folder, value):
    path = folder / "numerical.json"
    path.write_text(json.dumps(value))
    return path


def test_a_file_is_read_whole(tmp_path):
    system = snp.io.read_numerical(write(tmp_path, FILE))
    # Two nodes are called q.
    factors = {"x": Fraction(1, 3), "y": 0}
    assert system.neurons == (
        NumericalNeuron("p", {"x": 1, "y": 2}, [Production(factors, 1, "f")]),
        NumericalNeuron(
            "q (b)",
            {"x": Fraction(-1, 2)},
            [Production({"x": 2}, None, "f"), Production({"x": -1}, None, "g")],
        ),
    )
    assert system.synapses == (("p", "q (b)"), ("q (b)", "p"))
    assert system.outputs == {"q (d)": ("q (b)",)}
    assert system.inputs == {"in": NumericalInput((1, 0, Fraction(1, 2)), ("p",))}


@pytest.mark.parametrize(
    "where, value, message",
    [
        (("nodes", 0, "data", "type"), "neuron", "the type is 'neuron' (write \"reg\""),
        (("nodes", 1, "id"), "a", "the id 'a' stands twice"),
        (("nodes", 0, "data", "var_", 1, 0), "x", "neuron 'p' has the variable 'x' twice"),
        (("nodes", 0, "data", "var_", 0, 1), "1e5", "neuron 'p', variable 'x' is '1e5' (write"),
        (("nodes", 0, "data", "prf", 0, 1), "1/0", "the threshold is '1/0' (write a number"),
        (("nodes", 0, "data", "prf", 0, 2, 0, 0), "z", "coefficients are not those of x, y"),
        (("nodes", 0, "data", "prf", 0, 2), [["x", "1"]], "coefficients are not those of x, y"),
        (("nodes", 0, "data", "delay"), 1, "the data has the unknown key 'delay'"),
        (("nodes", 0, "data", "train"), ["1"], "neuron 'p' has a train"),
        (("nodes", 3, "data", "var_"), [["x", "1"]], "output 'q (d)' has 'var_'"),
        (("edges", 0, "target"), "e", "there is no node 'e'"),
        (("edges", 0), EDGES[1], "this edge stands twice"),
        (("edges", 2, "target"), "d", 'an edge from "in" to "out"'),
        (("notes",), 1, "the file has the unknown key 'notes'"),
        (("nodes", 2, "data", "train", 0), "9" * 320, "input 'in' is"),
        (("nodes", 2, "data", "train", 0), 10**320, "input 'in' is"),
    ],
)
def test_mistakes_have_places(tmp_path, where, value, message):
    changed = deepcopy(FILE)
    inner = changed
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    with pytest.raises(snp.ReadError) as caught:
        snp.io.read_numerical(write(tmp_path, changed))
    assert any(message in found.message for found in caught.value.diagnostics), str(caught.value)
    assert all(found.line == 1 for found in caught.value.diagnostics)


def test_other_readers_name_the_file(tmp_path):
    path = write(tmp_path, FILE)
    for read in (snp.read, snp.read_net):
        with pytest.raises(snp.ReadError, match=r"this is a numerical SN P system \(use: snp.io"):
            read(path)
    for value in ({"NSNP": {}}, {"C": [], "VL": [], "F": [], "L": []}):
        with pytest.raises(snp.ReadError, match=r"a numerical SN P system \(NSNP\) as"):
            snp.io.read_numerical(write(tmp_path, value))
    with pytest.raises(snp.ReadError, match="this is a file of a spiking system"):
        snp.io.read_numerical(write(tmp_path, {"neurons": [], "synapses": []}))
