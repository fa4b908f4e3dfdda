"""Parameters of P-Lingua files from outside: what they change, and which ones are refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax.io.plingua import read_plingua
from snpjax.io.source import Source


BODY = """
def ring(n, rest)
{
  @mu = cell{i} : 1<=i<=n;
  @ms(cell{1}) = a*(rest + 1);
  @marcs = (cell{i}, cell{i % n + 1}) : 1<=i<=n;
  [a --> a]'cell{i} "a+" : 1<=i<=n;
}
"""
CALL = "  call ring(n, rest);\n"


def file(head, parameters="", call=CALL):
    return f"@model<spiking_psystems>\n{head}def main({parameters})\n{{\n{call}}}\n{BODY}"


def read(text, **given):
    return read_plingua(Source("f.pli", text), "extended", **given)


def single(system):
    """The system of single neurons, which can be compared."""
    return system.expand() if isinstance(system, snp.PopulationSystem) else system


def errors(text, parameters):
    """`line:column` and message of every error."""
    with pytest.raises(snp.ReadError) as caught:
        read(text, parameters=parameters)
    return [f"{d.line}:{d.column} {d.message}" for d in caught.value.diagnostics]


GLOBAL = file("n = 4;\nlet rest = n - 4;\n")
OF_MAIN = file("", "n, rest")


@given(n=st.integers(1, 9), rest=st.integers(0, 9), families=st.booleans())
def test_values_are_those_written_in_the_file(n, rest, families):
    values = {"n": n, "rest": rest}
    written = read(file("", call=f"  call ring({n}, {rest});\n"), families=families)
    for text in (OF_MAIN, GLOBAL):
        found = read(text, parameters=values, families=families)
        assert isinstance(found, snp.PopulationSystem) == families
        assert single(found) == single(written)


def test_definitions_that_are_not_given_follow():
    """`rest` is n - 4, whatever n is."""
    assert read(GLOBAL, parameters={"n": np.int64(6)}) == read(
        OF_MAIN, parameters={"n": 6, "rest": 2}
    )


def test_texts_are_guards():
    text = file("", "g", "  @mu = x;\n  [a --> a]'x g;\n")
    (neuron,) = read(text, parameters={"g": "a(aa)*"}).neurons
    assert neuron.rules == (snp.Rule("a(aa)*", 1, 1),)


def test_a_large_member_is_read_as_populations():
    system = read(file("rest = 0;\n", "n"), parameters={"n": 200_000})
    assert isinstance(system, snp.PopulationSystem) and system.num_neurons == 200_000


@pytest.mark.parametrize(
    "text, parameters, expected",
    [
        (
            OF_MAIN,
            {},
            '2:5 main has no value for n, rest (give parameters={"n": 8, "rest": 8})',
        ),
        (OF_MAIN, {"n": 3}, '2:5 main has no value for rest (give parameters={"rest": 8})'),
        (
            GLOBAL,
            {"reset": 1},
            "4:5 there is no parameter 'reset' (did you mean 'rest'?)",
        ),
        (
            file("", call="  call ring(4, 0);\n"),
            {"n": 8},
            "2:5 there is no parameter 'n' (the file has none; write def main(n), or define n "
            "before the modules)",
        ),
        (
            file("n = 4;\n", call="  call ring(4, 0); /* n */\n"),
            {"n": 8},
            "2:5 the parameter n is not used in the file (leave it out)",
        ),
        (
            file("", "n", "  call ring(4, 0);\n"),
            {"n": 8},
            "2:5 the parameter n is not used in the file (leave it out)",
        ),
    ],
)
def test_what_the_file_does_not_take_is_refused(text, parameters, expected):
    assert errors(text, parameters) == [expected]


def test_values_of_other_types_are_refused(tmp_path):
    path = tmp_path / "f.pli"
    path.write_text(GLOBAL)
    for value in (2.5, True, None, [1]):
        with pytest.raises(TypeError, match="The parameter 'n' is .* Give an integer or a text"):
            snp.read(path, parameters={"n": value})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match='Give a mapping, such as {"n": 8}'):
        snp.read(path, parameters=8)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="has more than 100 digits"):
        snp.read(path, parameters={"n": 10**100})


def test_formats_without_parameters_refuse_them(tmp_path):
    system = snp.SpikingSystem([snp.Neuron("x", 1)])
    for name in ("x.json", "x.in", "x.yaml"):
        snp.write(system, tmp_path / name)
        with pytest.raises(ValueError, match="has no option `parameters`"):
            snp.read(tmp_path / name, parameters={"n": 8})
    (tmp_path / "x.pli").write_text("neuron 1\n")
    with pytest.raises(ValueError, match="the ESNP line dialect has no option `parameters`"):
        snp.read(tmp_path / "x.pli", parameters={"n": 8})
