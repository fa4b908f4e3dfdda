"""`snpjax sleptsov run` and `info`."""

import json

import pytest
from typer.testing import CliRunner, Result

from snpjax.cli.app import app
from tests.support.helpers import REPOSITORY


# 7 + 5 in 5 places; t3 signals the end by taking the token of p5.
ADD = """; m n k l nst
5 3 11 3 0
1 1 1
4 1 -1
-3 1 1
2 2 1
4 2 -1
-3 2 1
5 3 1
1 3 -1
2 3 -1
4 3 -1
-4 3 1
1 7
2 5
5 1
"""


@pytest.fixture
def add(tmp_path):
    path = tmp_path / "add.lsn"
    path.write_text(ADD)
    return path


def invoke(*arguments: object) -> Result:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["sleptsov", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_run_is_shown(add):
    result = invoke("run", add, "--trace", "--counts")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{add}: halted after 3 steps under the Sleptsov rule"
    assert lines[1:4] == ["  step 1: t1 x 7", "  step 2: t2 x 5", "  step 3: t3"]
    assert lines[-3:] == ["  marking:", "    p3 = 12", "    p4 = 1"]


def test_a_run_as_json(add):
    found = json.loads(invoke("run", add, "--start", "p1=30", "--trace", "--json").stdout)
    assert found["status"] == "halted" and found["steps"] == 3
    assert found["tokens"] == {"p3": 35, "p4": 1} and found["marking"] == [0, 0, 35, 1, 0]
    assert found["trace"][0] == [0, "t1", 30]
    rounds = json.loads(invoke("run", add, "--rule", "disjoint", "--json").stdout)
    assert (rounds["steps"], rounds["firings"], rounds["widest"]) == (3, 3, 1)


def test_a_run_that_fails_shows_the_marking_before(add):
    result = invoke("run", add, "--start", "p1=2147483647", "--int32", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["status"] == "token_overflow" and found["steps"] == 1
    assert found["failure"] == {"transition": "t2", "multiplicity": 5, "place": "p3"}
    assert "Leave --int32 out" in result.stderr
    assert invoke("run", add, "--start", "p1=2147483647").exit_code == 0


def test_a_run_stops_at_its_limit(add):
    result = invoke("run", add, "--steps", "2", "--rule", "petri", "--seed", "3")
    assert result.exit_code == 0
    assert "not halted after 2 steps" in result.stdout


@pytest.mark.parametrize(
    "options, part",
    [
        (["--rule", "fast"], "(write one of sleptsov, petri, disjoint)"),
        (["--engine", "x"], "(write one of auto, event, scan)"),
        (["--start", "p1"], "is not PLACE=N"),
        (["--start", "p9=1"], "no place 'p9' (the first places are 'p1'"),
        (["--rule", "disjoint", "--engine", "event"], "Only FullScan() knows"),
        (["--rule", "disjoint", "--seed", "1"], "Give no choice"),
    ],
)
def test_options_that_make_no_sense(add, options, part):
    result = invoke("run", add, *options)
    assert result.exit_code == 2 and part in result.stderr


def test_unknown_places_list_near_ones(add):
    result = invoke("run", add, "--start", "pp1=3")
    assert result.exit_code == 2 and result.stdout == ""
    message = " ".join(result.stderr.split())
    assert "--start: The net has no place 'pp1' (did you mean 'p1'?)" in message


def test_the_example_computes_something():
    """9 div 2, and other numbers from the command line."""
    file = REPOSITORY / "examples/half.lsn"
    assert invoke("run", file).stdout.splitlines()[1:] == ["  marking:", "    p2 = 4", "    p3 = 1"]
    found = json.loads(invoke("run", file, "--start", "p1=40", "--json").stdout)
    assert found["tokens"] == {"p2": 20, "p3": 1}


def test_info(add, tmp_path):
    text = invoke("info", add).stdout
    assert text.splitlines()[0] == f"{add}: 5 places, 3 transitions; the Sleptsov rule"
    found = json.loads(invoke("info", add, "--json").stdout)
    assert (found["input_arcs"], found["inhibitor_arcs"], found["output_arcs"]) == (3, 5, 3)
    assert (found["tokens"], found["marked"], found["widest"]) == (13, 3, 4)
    assert (found["layers"], found["has_order"], found["dead"]) == (1, False, [])
    broken = tmp_path / "broken.lsn"
    broken.write_text(ADD.replace("-3 1 1", "-9 1 1"))
    result = invoke("run", broken)
    assert result.exit_code == 2 and f"{broken}:5" in result.stderr
