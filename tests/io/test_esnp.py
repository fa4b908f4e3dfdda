"""The ESNP line dialect: statements, quoted counts, and what belongs to P-Lingua."""

import warnings

import pytest

import snpjax as snp
from tests.support.helpers import PAIR, SHARED, case_neurons, load_cases, needs_shared


ESNP = """@mu = p, q
@ms(p) = a*2
@ms(q) = a
@marcs = (p,q)
@marcs = (q,p)
@mout = q
[a --> a]'p "a*2" :: 1
[a --> #]'p
[a --> a]'q
[a*2 --> #]'q
"""

PAIR_SYSTEM = snp.SpikingSystem(
    [
        snp.Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"]),
        snp.Neuron("q", 1, ["a -> a", "a^2 -> lambda"]),
    ],
    [("p", "q"), ("q", "p")],
    output="q",
)


@pytest.fixture
def read(tmp_path):
    def of(text, level="extended", **options):
        path = tmp_path / "model.pli"
        path.write_bytes(text.encode())
        return snp.read(path, level=level, **options)

    return of


@pytest.fixture
def errors(read):
    """`line:column` and message of every error."""

    def of(text, level="extended", **options):
        with pytest.raises(snp.ReadError) as caught:
            read(text, level, **options)
        return {f"{d.line}:{d.column}": d.message for d in caught.value.diagnostics}

    return of


@pytest.mark.parametrize(
    "text",
    [
        ESNP,
        ESNP.rstrip("\n"),
        ESNP.replace("\n", "\r\n"),
        ESNP.replace("\n", ";\n"),
        ESNP.replace("\n", " ; ;\t\n\n"),
        ESNP.replace("@m", "@M").replace("@Mu", "@MU"),
        ESNP.replace("@marcs =", "@marcs +="),
        ESNP.replace(",", " , ").replace("(", "( ").replace("*", " * ").replace("=", "  ="),
        ESNP.replace(")\n@marcs = ", "), "),
        ESNP.replace("[a -->", "[a*1-->"),
        "\n".join(reversed(ESNP.splitlines()[:6])) + "\n" + "\n".join(ESNP.splitlines()[6:]),
        "\ufeff" + ESNP,
    ],
)
def test_pair(read, text):
    system = read(text)
    synapses = sorted(system.synapses)
    assert (system.neurons, synapses) == (PAIR_SYSTEM.neurons, list(PAIR_SYSTEM.synapses))
    assert system.output == ("q",) and not system.input and not system.notes


def test_the_model_line_decides(read, errors, tmp_path):
    """The same quoted text is a count here, and no regular expression of P-Lingua."""
    assert read(ESNP) == read(PAIR) == PAIR_SYSTEM
    with_model = PAIR.replace('"a{2}"', '"a*2"')
    assert "the guard does not parse" in errors(with_model)["8:18"]
    found = errors(with_model, format="esnp")
    assert list(found) == ["1:1"] and found["1:1"].startswith("there is @model, so this is P-Lin")
    with pytest.raises(snp.ReadError, match="there is no @model<spiking_psystems>"):
        read(ESNP, format="plingua")


def test_a_quoted_text_is_a_count(read):
    text = '@mu = x\n[a --> a]\'x "a"\n[a --> a]\'x " a * 3 "\n[a*2 --> a*3]\'x\n[a --> #]\'x "a*5"'
    assert read(text).rules == (
        snp.Rule(1, 1, 1),
        snp.Rule(3, 1, 1),
        snp.Rule(2, 2, 3),
        snp.Rule(5, 1, 0),
    )


def test_header(read):
    text = "precision: 0\nnum_neurons = 10\nempty =\n\n" + ESNP
    system = read(text)
    assert system == PAIR_SYSTEM
    assert system.notes == {"header": {"precision": "0", "num_neurons": "10", "empty": ""}}


def test_inputs_wait_for_their_trains(read):
    system = read("@mu = p, q, r\n@min = r, p\n@min = q\n@mout = p\n@mout += q, p\n")
    assert system.input == {"r": (), "p": (), "q": ()}
    assert system.output == ("p", "q")


def test_contents_are_replaced_or_added_to(read):
    text = "@mu = x, y\n@ms(x) = a*5\n@ms(x) = a*2\n@ms(y) += a\n@ms(x) += a*3\n@ms(y) += a*0"
    assert [n.spikes for n in read(text).neurons] == [5, 1]


DIALECT = "this file has no @model, so it is read in the ESNP line dialect"


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        # P-Lingua
        ("def main()", "2:1", "not supported: modules; "),
        ("call ring(4);", "2:1", "not supported: modules; "),
        ("let n = 4;", "2:1", "not supported: variables; "),
        ("/* a comment */", "2:1", "not supported: comments; "),
        ("@ms(x) = a // a comment", "2:12", "not supported: comments; "),
        ("{", "2:1", "not supported: indexed labels and blocks; "),
        ("}", "2:1", "not supported: blocks; "),
        ("@mu = in{1}", "2:9", "not supported: indexed labels and blocks; "),
        ("@ms(x) = a : 1<=i<=3", "2:12", "not supported: ranges; "),
        ("[a --> a]'x :: 2 : 1<=i<=3", "2:18", "not supported: ranges; "),
        ("[a*n --> a]'x", "2:4", "not supported: variables; "),
        ("[a*(2+1) --> a]'x", "2:4", "not supported: expressions; "),
        ("[]'x --> []'y || []'x", "2:1", "not supported: division and budding; "),
        ("@minst = (1,2)", "2:1", "not supported: input spikes (@minst; in the ESNP dialect tr"),
        ("@mdict = (x,y)", "2:1", "not supported: the synapse dictionary; "),
        ("@masth = x", "2:1", "not supported: astrocytes; "),
        ("[a --> a]'x \"a+\"", "2:14", '"a+" is not a count: ' + DIALECT),
        ("[a --> a]'x \"a{3}\"", "2:14", '"a{3}" is not a count: ' + DIALECT),
        # the usual mistakes
        ("@foo = x", "2:1", "unknown keyword @foo (did you mean @mout"),
        ("@mu x", "2:5", "expected '=', not 'x'"),
        ("@mu =", "2:6", "expected a label, but the line ends"),
        ("@mu = \u00e9", "2:7", "expected a label, not '\u00e9'"),
        ("@ms(x) = 3", "2:10", "expected spikes (a, a*2), not '3'"),
        ("@ms(x) = a3", "2:10", "expected spikes (a, a*2), not 'a3' (write a*3)"),
        ("@ms(x) = a*-3", "2:12", "expected a number of spikes, not '-'"),
        ("@ms(x) = a*" + "9" * 101, "2:12", "this is a number of 101 digits"),
        ("@ms(x) = _a", "2:10", "not supported: anti-spikes (_a)"),
        ("@marcs = x, y", "2:10", "expected '(', not 'x'"),
        ("@marcs = (x,y", "2:14", "expected ')', but the line ends"),
        ("[2a --> a]'x", "2:2", "expected spikes (a, a*2), not '2a'"),
        ("[aa --> a]'x", "2:2", "expected spikes (a, a*2), not 'aa' (write a*2)"),
        ("[a^2 --> a]'x", "2:3", "expected '-->', not '^' (spikes are written a*2)"),
        ("[a{2} --> a]'x", "2:3", "expected '-->', not '{' (spikes are written a*2)"),
        ("[a -> a]'x", "2:4", "expected '-->', not '->' (the arrow is written -->)"),
        ("[a --> lambda]'x", "2:8", "expected spikes (a, a*2) or '#', not 'lambda' (write #"),
        ("[a --> a]x", "2:10", "expected ' and a label, not 'x'"),
        ("[a --> a]'x \"a*3", "2:13", "expected a count in quotes that end in this line"),
        ("[a --> a]'x ::", "2:15", "expected a delay, but the line ends"),
        ("[a --> a]'x :: -1", "2:16", "expected a delay, not '-'"),
        ("[a --> a]'x [a --> a]'y", "2:13", "this is a second statement (write one a line)"),
        ("@ms(x) = a; @ms(y) = a", "2:13", "this is a second statement (write one a line)"),
        ("@mout = x y", "2:11", "expected the end of the line, not 'y'"),
        ("hello", "2:1", "expected a statement (@mu, @ms, @marcs, @min, @mout or a rule), not"),
        ("late: header", "2:1", "expected a statement"),
        # names and numbers
        ("@marcs = (x,zz)", "2:13", "synapse (x, zz): there is no neuron 'zz' (did you mean 'z'"),
        ("@ms(zz) = a", "2:5", "contents: there is no neuron 'zz'"),
        ("@min = x, zz", "2:11", "input: there is no neuron 'zz'"),
        ("@mout = zz", "2:9", "output: there is no neuron 'zz'"),
        ("  [a --> a] ' zz", "2:15", "rule: there is no neuron 'zz'"),
        ("@mu = k, x", "2:10", "neuron 'x' is declared twice (give each neuron its own"),
        ("@marcs = (x,y), (x,y)", "2:17", "synapse (x, y) is listed twice (remove one)"),
        ("[a*0 --> a]'x", "2:2", "neuron 'x', rule 1: the number of spikes consumed is 0"),
        ("[a --> #]'x :: 2", "2:16", "neuron 'x', rule 1: a forgetting rule has no delay"),
        ("[a*9999999 --> a]'x", "2:2", "the guard needs a tail + period above the limit"),
        ("[a*9999999 --> a]'x\n[a*9999999 --> a]'x", "3:2", "the guard needs a tail"),  # again
    ],
)  # fmt: skip
def test_errors(errors, line, place, message):
    found = errors(f"@mu = x, y, z\n{line}\n")
    assert place in found and found[place].startswith(message), found
    if message.endswith("; "):
        assert DIALECT in found[place] and "begin the file with @model" in found[place]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("[a --> a*2]'x", "2:8", "neuron 'x', rule 1 produces 2 but consumes 1"),
        ("@marcs = (x,x)", "2:10", "synapse (x, x) leads to its own neuron"),
        ('[a --> #]\'x "a*2"', "2:1", "neuron 'x', rule 1: the guard a{2} of a forgetting rule"),
    ],
)
def test_strict(read, errors, line, place, message):
    assert read(f"@mu = x\n{line}").level == "extended"
    found = errors(f"@mu = x\n{line}", "strict")
    assert list(found) == [place] and found[place].startswith(message)


def test_several_errors_at_once(errors):
    text = ESNP.replace("a*2\n", "a2\n").replace("(q,p)", "(q,r)").replace('"a*2"', '"a+"')
    assert list(errors(text)) == ["2:10", "5:13", "7:14"]


def test_names_are_no_errors_while_neurons_may_be_missing(errors):
    assert list(errors("@mu = x, y{1}\n@ms(y) = a\n@marcs = (x, z)\n")) == ["1:11"]


def test_a_repeated_neuron_is_told_with_both_places(errors):
    assert errors("@mu = x, y\n@mu += x\n")["2:8"].endswith("; first at 1:7")


def test_an_unknown_name_is_told_once(errors):
    assert list(errors("@mu = x\n" + "[a --> a]'y\n" * 5 + "@mout = y\n")) == ["7:9"]


def test_repeated_rules_are_told_with_both_places(read):
    with pytest.warns(snp.ReadWarning, match=r":8:1: neuron 'p', rule 2 repeats .*first at 7:1$"):
        read(ESNP.replace("[a --> #]'p", '[a --> a]\'p "a*2" :: 1'))


def test_bounds(errors, monkeypatch):
    found = errors("@mu = x\n" + "@oops\n" * 5000)
    assert len(found) == 1000
    monkeypatch.setattr("snpjax.io.esnp.most_listed", lambda: 5)
    assert errors(ESNP)["5:10"].startswith("there are 2 neurons and 2 synapses up to here, and")
    monkeypatch.undo()
    monkeypatch.setattr("snpjax.io.rule_lines.MAX_KINDS", 3)
    assert errors(ESNP)["10:1"].startswith("from here on there are more than 3 different")


@pytest.mark.parametrize("length", range(1, len(ESNP)))
def test_truncated_files_are_read_or_refused(read, length):
    """A file of lines may end anywhere: never another exception, nor half a system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        try:
            system = read(ESNP[:length])
        except snp.ReadError:
            return
    assert set(system.neurons[0].rules) <= {*PAIR_SYSTEM.rules, snp.Rule(2, 1, 1)}


@needs_shared
@pytest.mark.parametrize(
    ("name", "neurons", "rules", "synapses"),
    [
        ("add_small", 6, 11, 10),
        ("sub_small", 9, 16, 15),
        ("add_adv", 11, 27, 22),
        ("sub_adv", 17, 42, 59),
        ("add_large", 12, 24, 14),
    ],
)
def test_samples(name, neurons, rules, synapses):
    system = snp.read(SHARED / f"samples/esnp/{name}.pli")
    assert (system.num_neurons, system.num_rules, system.num_synapses) == (
        neurons,
        rules,
        synapses,
    )
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
