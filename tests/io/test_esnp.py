"""The ESNP line dialect: statements, quoted counts, and what belongs to P-Lingua."""

import pytest

import snpjax as snp
from tests.io.tables.esnp import LINES
from tests.io.tables.mistakes import findings, quietly, read_text
from tests.io.tables.pairs import PAIRS, SYSTEM
from tests.support.helpers import PAIR, SHARED, case_neurons, load_cases, needs_shared


ESNP = PAIRS["esnp"]
DIALECT = "this file has no @model, so it is read in the ESNP line dialect"


def read(text, level="extended"):
    return read_text("esnp", text, level)


def test_the_model_line_decides(tmp_path):
    """The same quoted text is a count here, and no regular expression of P-Lingua."""
    path = tmp_path / "model.pli"
    for text in (ESNP, PAIR):
        path.write_text(text)
        assert snp.read(path) == SYSTEM
    with_model = PAIR.replace('"a{2}"', '"a*2"')
    assert "the guard does not parse" in findings("plingua", with_model)["8:18"]
    found = findings("esnp", with_model)
    assert list(found) == ["1:1"] and found["1:1"].startswith("there is @model, so this is P-Lin")
    assert "there is no @model<spiking_psystems>" in findings("plingua", ESNP)["1:1"]


def test_what_belongs_to_plingua_says_so():
    rows = [row.split(" ⇒ ")[0] for row in LINES.splitlines() if "not supported: " in row]
    for row in rows:
        (message,) = findings("esnp", f"@mu = x, y, z\n{row.replace('§', '')}").values()
        if "anti-spikes" not in row and "_a" not in row:
            assert DIALECT in message and "begin the file with @model" in message
    assert len(rows) == 17


@pytest.mark.parametrize(
    "text",
    [
        ESNP.rstrip("\n"),
        ESNP.replace("\n", ";\n"),
        ESNP.replace("\n", " ; ;\t\n\n"),
        ESNP.replace("@m", "@M").replace("@Mu", "@MU"),
        ESNP.replace("@marcs =", "@marcs +="),
        ESNP.replace(",", " , ").replace("(", "( ").replace("*", " * ").replace("=", "  ="),
        ESNP.replace(")\n@marcs = ", "), "),
        ESNP.replace("[a -->", "[a*1-->"),
        "\n".join(reversed(ESNP.splitlines()[:6])) + "\n" + "\n".join(ESNP.splitlines()[6:]),
    ],
)
def test_pair(text):
    system = read(text)
    synapses = sorted(system.synapses)
    assert (system.neurons, synapses) == (SYSTEM.neurons, list(SYSTEM.synapses))
    assert system.output == ("q",) and not system.input and not system.notes


def test_a_quoted_text_is_a_count():
    text = '@mu = x\n[a --> a]\'x "a"\n[a --> a]\'x " a * 3 "\n[a*2 --> a*3]\'x\n[a --> #]\'x "a*5"'
    assert read(text).rules == (
        snp.Rule(1, 1, 1),
        snp.Rule(3, 1, 1),
        snp.Rule(2, 2, 3),
        snp.Rule(5, 1, 0),
    )


def test_header():
    text = "precision: 0\nnum_neurons = 10\nempty =\n\n" + ESNP
    system = read(text)
    assert system == SYSTEM
    assert system.notes == {"header": {"precision": "0", "num_neurons": "10", "empty": ""}}


def test_inputs_wait_for_their_trains():
    system = read("@mu = p, q, r\n@min = r, p\n@min = q\n@mout = p\n@mout += q, p\n")
    assert system.input == {"r": (), "p": (), "q": ()}
    assert system.output == ("p", "q")


def test_contents_are_replaced_or_added_to():
    text = "@mu = x, y\n@ms(x) = a*5\n@ms(x) = a*2\n@ms(y) += a\n@ms(x) += a*3\n@ms(y) += a*0"
    assert [n.spikes for n in read(text).neurons] == [5, 1]


def test_a_cut_file_is_no_half_a_system():
    """A file of lines may end anywhere."""
    for length in range(1, len(ESNP)):
        try:
            system = quietly(read, ESNP[:length])
        except snp.ReadError:
            continue
        assert set(system.neurons[0].rules) <= {*SYSTEM.rules, snp.Rule(2, 1, 1)}, length


def test_broken_files_end_soon():
    assert len(findings("esnp", "@mu = x\n" + "@oops\n" * 5000)) == 1000


SIZES = {
    "add_small": (6, 11, 10),
    "sub_small": (9, 16, 15),
    "add_adv": (11, 27, 22),
    "sub_adv": (17, 42, 59),
    "add_large": (12, 24, 14),
}


@needs_shared
@pytest.mark.parametrize("name", SIZES)
def test_samples(name):
    system = snp.read(SHARED / f"samples/esnp/{name}.pli")
    assert (system.num_neurons, system.num_rules, system.num_synapses) == SIZES[name]
    assert list(system.input) == ["in1", "in2"]
    assert ("header" in system.notes) == name.endswith("adv")


@pytest.mark.parametrize("case", load_cases("websnapse/esnp", schema="snpjax-batch/1"))
def test_samples_are_the_systems_of_the_cases(case):
    """The runs on a hundred inputs are in tests/spiking/test_cases.py; here one, of the file."""
    name = {"binary_adder": "add_small", "binary_subtractor": "sub_small"}[case["name"][:-11]]
    system = snp.read(SHARED / f"samples/esnp/{name}.pli")
    assert system.neurons == tuple(case_neurons(case))
    assert sorted(system.synapses) == sorted(map(tuple, case["synapses"]))
    assert list(system.input) == case["input_neurons"]
    assert system.output == (case["output_neuron"],)
    one = case["cases"][0]
    trains = [[int(bit) for bit in train] for train in one["inputs"]]
    fed = snp.SpikingSystem(
        system.neurons,
        system.synapses,
        input=dict(zip(case["input_neurons"], trains, strict=True)),
        output=system.output,
    )
    solution = snp.run(fed, max_steps=len(one["output"]))
    listed = one["spikes"][: solution.steps + 1]
    assert solution.configurations[: len(listed)].tolist() == listed
