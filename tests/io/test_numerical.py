"""Files of Numerical WebSnapse: read whole, or refused at their places."""

import json
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax.numerical import NumericalInput, NumericalNeuron, NumericalSystem, Production


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
    # A neuron and an output are called q, which is no ambiguity.
    factors = {"x": Fraction(1, 3), "y": 0}
    assert system.neurons == (
        NumericalNeuron("p", {"x": 1, "y": 2}, [Production(factors, 1, "f")]),
        NumericalNeuron(
            "q",
            {"x": Fraction(-1, 2)},
            [Production({"x": 2}, None, "f"), Production({"x": -1}, None, "g")],
        ),
    )
    assert system.synapses == (("p", "q"), ("q", "p"))
    assert system.outputs == {"q": ("q",)}
    assert system.inputs == {"in": NumericalInput((1, 0, Fraction(1, 2)), ("p",))}


def test_nodes_of_one_type_and_label_are_told_apart_by_their_ids(tmp_path):
    changed = deepcopy(FILE)
    changed["nodes"][1]["data"]["label"] = "p"
    system = snp.io.read_numerical(write(tmp_path, changed))
    assert [neuron.name for neuron in system.neurons] == ["p (a)", "p (b)"]
    assert system.outputs == {"q": ("p (b)",)}


@pytest.mark.parametrize(
    "where, value, message",
    [
        (("nodes", 0, "data", "type"), "neuron", "the type is 'neuron' (write \"reg\""),
        (("nodes", 1, "id"), "a", "the id 'a' appears twice"),
        (("nodes", 0, "data", "var_", 1, 0), "x", "neuron 'p' has the variable 'x' twice"),
        (("nodes", 0, "data", "var_", 0, 1), "1e5", "neuron 'p', variable 'x' is '1e5' (write"),
        (("nodes", 0, "data", "prf", 0, 1), "1/0", "the threshold is '1/0' (write a number"),
        (("nodes", 0, "data", "prf", 0, 2, 0, 0), "z", "coefficients are not those of x, y"),
        (("nodes", 0, "data", "prf", 0, 2), [["x", "1"]], "coefficients are not those of x, y"),
        (("nodes", 0, "data", "delay"), 1, "the data has the unknown key 'delay'"),
        (("nodes", 0, "data", "train"), ["1"], "neuron 'p' has a train"),
        (("nodes", 3, "data", "var_"), [["x", "1"]], "output 'q' has 'var_'"),
        (("edges", 0, "target"), "e", "there is no node 'e'"),
        (("edges", 0), EDGES[1], "this edge appears twice"),
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
        with pytest.raises(
            snp.ReadError,
            match=r"this is a numerical SN P system, whose values are real numbers \(use: snp.io",
        ):
            read(path)
    for value in ({"NSNP": {}}, {"C": [], "VL": [], "F": [], "L": []}):
        with pytest.raises(snp.ReadError, match=r"a numerical SN P system \(NSNP\) as"):
            snp.io.read_numerical(write(tmp_path, value))
    with pytest.raises(snp.ReadError, match="this is a file of a spiking system"):
        snp.io.read_numerical(write(tmp_path, {"neurons": [], "synapses": []}))


NUMBERS = st.one_of(
    st.integers(-(10**305), 10**305),
    st.fractions(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
    st.integers(-9, 9).map(np.int64),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@st.composite
def written_systems(draw):
    """Of any names, those of neurons, inputs and outputs alike, and of numbers of every type."""

    def some(values, **options):
        return draw(st.lists(st.sampled_from([*values]), unique=True, **options)) if values else []

    neurons = []
    for name in draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True)):
        variables = draw(st.dictionaries(TEXTS, NUMBERS, max_size=3))
        functions = [
            Production(
                {x: draw(NUMBERS) for x in some(variables)},
                draw(st.none() | NUMBERS),
                draw(st.none() | TEXTS),
            )
            for _ in range(draw(st.integers(0, 2)))
        ]
        neurons.append(NumericalNeuron(name, variables, functions))
    names = [neuron.name for neuron in neurons]
    ends = [*names, *draw(st.lists(TEXTS, max_size=2))]
    return NumericalSystem(
        neurons,
        some([(x, y) for x in names for y in names]),
        outputs={name: some(names) for name in some(ends)},
        inputs={
            name: NumericalInput(draw(st.lists(NUMBERS, max_size=3)), some(names))
            for name in some(ends)
        },
    )


def as_written(system):
    """Its parts with the names and coefficients that a file has, numbers as runs round them."""

    def rounded(numbers):
        return {name: float(number) for name, number in numbers.items()}

    neurons = [
        (
            neuron.name,
            list(rounded(neuron.variables).items()),
            [
                (
                    f"{number}" if x.name is None else x.name,
                    None if x.threshold is None else float(x.threshold),
                    {name: float(x.coefficients.get(name, 0)) for name in neuron.variables},
                )
                for number, x in enumerate(neuron.productions)
            ],
        )
        for neuron in system.neurons
    ]
    inputs = {name: ([*map(float, x.values)], x.targets) for name, x in system.inputs.items()}
    return neurons, system.synapses, system.outputs, inputs


@given(written_systems())
def test_what_is_written_is_read_again(system):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "numerical.json"
        snp.io.write_numerical(system, path)
        once = snp.io.read_numerical(path)
        assert as_written(once) == as_written(system)
        text = path.read_text()
        snp.io.write_numerical(once, path)
        assert path.read_text() == text


def test_fractions_are_written_as_they_are(tmp_path):
    system = NumericalSystem([NumericalNeuron("p", {"x": Fraction(1, 3), "y": 2.0, "z": 0.1})])
    snp.io.write_numerical(system, tmp_path / "numerical.json")
    (neuron,) = snp.io.read_numerical(tmp_path / "numerical.json").neurons
    assert neuron.variables == {"x": Fraction(1, 3), "y": 2, "z": 0.1}


@pytest.mark.parametrize("name, words", [(1, "is not a string"), ("\ud800", "half of")])
def test_names_that_no_file_holds_are_refused(tmp_path, name, words):
    system = NumericalSystem([NumericalNeuron("p", {name: 1})])
    with pytest.raises(ValueError, match=words):
        snp.io.write_numerical(system, tmp_path / "numerical.json")
    assert not any(tmp_path.iterdir())


def test_writers_of_other_models_name_the_right_one(tmp_path):
    system = snp.numerical.NumericalSystem([snp.numerical.NumericalNeuron("n", {"x": 1.0}, [])], [])
    for write in (snp.write, snp.write_net):
        with pytest.raises(TypeError, match="snpjax.io.write_numerical"):
            write(system, tmp_path / "system.json")
    assert not any(tmp_path.iterdir())
