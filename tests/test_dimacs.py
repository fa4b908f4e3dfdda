"""DIMACS files: what is read, and where mistakes are."""

import random

import pytest
from dimacs import Formula, read_dimacs
from hypothesis import given, strategies as st

import snpjax as snp


TWO = Formula(3, [(1, -2), (2, 3, -1)])


@pytest.mark.parametrize(
    "text",
    [
        "p cnf 3 2\n1 -2 0\n2 3 -1 0\n",
        "c a formula\n\np cnf 3 2\nc of two\n1 -2 0\n2 3 -1 0",
        "p cnf 3 2\n1\n-2 0 2\n\n3\nc within a clause\n -1\n0\n",
        "  p   cnf 3 2\n\t1 -2 0 2 3 -1 0\n",
        "p cnf 3 2\r\n1 -2 0\r\n2 3 -1 0\r\n%\r\n0\r\n\r\n",
        "\ufeffp cnf 3 2\n01 -02 0 2 3 -1 0\n% anything [ 9",
    ],
)
def test_texts(text, tmp_path):
    assert read_dimacs(text) == TWO
    path = tmp_path / "two.cnf"
    path.write_bytes(text.encode())
    assert read_dimacs(path) == read_dimacs(str(path)) == TWO


def test_odd_formulas():
    assert read_dimacs("p cnf 0 0\n") == Formula(0, [])
    assert read_dimacs("p cnf 5 1\n0\n") == Formula(5, [()])
    assert read_dimacs("p cnf 2 1\n1 1 -1 0\n") == Formula(2, [(1, 1, -1)])


@given(st.integers(1, 5), st.data())
def test_written_clauses_are_read(num_variables, data):
    literals = st.integers(1, num_variables).flatmap(lambda v: st.sampled_from([v, -v]))
    clauses = data.draw(st.lists(st.lists(literals, max_size=4), max_size=4))
    words = [str(word) for clause in clauses for word in (*clause, 0)]
    blanks = data.draw(st.lists(st.sampled_from([" ", "\n", "\nc x\n", "\t"]), min_size=1))
    body = "".join(word + blanks[i % len(blanks)] for i, word in enumerate(words))
    text = f"p cnf {num_variables} {len(clauses)}\n{body}"
    assert read_dimacs(text) == Formula(num_variables, clauses)


@pytest.mark.parametrize(
    "text, errors",
    [
        ("1 -2 0\n", ["1:1: there is no header"]),
        ("c nothing\n\n", ["1:10: there is no header"]),
        ("p sat 3 2\n", ["1:1: this is not a header of clauses"]),
        (
            "c\np cnf 3\n1 0\n",
            ['2:1: this is not a header of clauses (write "p cnf VARIABLES CLAUSES"'],
        ),
        ("p cnf 3 1 1 0\n", ["1:1: this is not a header"]),
        ("p cnf x 1\n1 0", ["1:7: the number of variables is 'x' (write an integer"]),
        ("p cnf 3 -1\n1 0", ["1:9: the number of clauses is '-1'"]),
        (f"p cnf {'9' * 5000} 1\n", ["1:7: the number of variables is '9999"]),
        ("p cnf 1 1\n1 0\np cnf 1 1\n", ["3:1: there is a second header (remove it)"]),
        ("p cnf 3 1\n1 4 0\n", ["2:3: there is no literal '4' (the variables are 1 to 3)"]),
        ("p cnf 3 1\n 1 -4 0\n", ["2:4: there is no literal '-4'"]),
        (f"p cnf 3 1\n{'9' * 5000} 0\n", ["2:1: there is no literal '9999"]),
        ("p cnf 0 1\n1 0\n", ["2:1: there is no literal '1' (there are no variables)"]),
        ("p cnf 3 1\n1 x 0\n", ["2:3: 'x' is not a literal (write v or -v"]),
        ("p cnf 3 1\n1 2.5 -0 0\n", ["2:3: '2.5' is not a literal", "2:7: '-0' is not a literal"]),
        ("p cnf 3 1\n1 2\nc end\n", ["2:3: the last clause does not end (write 0 after it)"]),
        ("p cnf 3 3\n1 0 2 0\n", ["1:9: the header says 3 clauses, and there are 2 (correct"]),
        ("p cnf 3 1\n1 0\n2 0\n", ["1:9: the header says 1 clauses, and there are 2"]),
        ("p cnf 3 9\n7 x 0\n2\n", ["1:9: ", "2:1: ", "2:3: ", "3:1: "]),
    ],
)
def test_mistakes_are_located(text, errors):
    with pytest.raises(snp.ReadError) as refusal:
        read_dimacs(text)
    lines = str(refusal.value).splitlines()
    assert len(lines) == len(errors)
    for line, start in zip(lines, errors, strict=True):
        assert line.startswith(f"<text>:{start}")


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "x.cnf"
    with pytest.raises(snp.ReadError, match="x.cnf: there is no such file"):
        read_dimacs(path)
    path.write_bytes(b"p cnf 1 1\n\xff 0\n")
    with pytest.raises(snp.ReadError, match="x.cnf:2:1: not UTF-8"):
        read_dimacs(path)


def test_a_file_of_another_kind_gives_few_errors():
    words = " ".join(random.Random(0).choices(["x", "y,", "{"], k=5_000))
    with pytest.raises(snp.ReadError) as refusal:
        read_dimacs(f"p cnf 3 1\n{words}\n")
    assert len(refusal.value.diagnostics) == 1_000
    assert str(refusal.value).splitlines()[-1] == "and 980 more"


def test_formulas_hold_literals_of_their_variables():
    for literal in (0, 4, -4):
        with pytest.raises(ValueError, match=f"clause 2: there is no literal {literal} "):
            Formula(3, [(1,), (2, literal)])
