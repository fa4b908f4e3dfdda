"""What is timed, in which order, and what is written."""

import json
import re
from importlib import import_module

import compare
import figures
import pytest
import run
from figures import Anchor, Case, Clock, Missing, Setup

from tests.support.processes import python


SETUP = Setup("abc")


@pytest.fixture
def declared(monkeypatch):
    """Declare a figure for this test; its lines."""

    monkeypatch.setattr(figures, "_SETTLING", 0.0)

    def declare(case: Case) -> list:
        own = figures.Figure("test", "test", (), lambda: case)
        monkeypatch.setitem(figures.FIGURES, "test", own)
        return list(figures.measure("test", SETUP, seconds=0.0))

    return declare


def test_first_call_is_cold_and_the_others_take_turns(declared):
    calls = []

    def called(name):
        return lambda: calls.append(name)

    case = Case(
        called("public"),
        lambda _: calls.append("check"),
        kept=lambda _: called("kept"),
        anchor=lambda: Anchor("tool", called("tool")),
    )
    lines = declared(case)
    assert calls[:2] == ["public", "check"], "the answer is checked before anything else is timed"
    turns = ["public", "kept", "tool"]
    assert calls[2:] == turns * (len(calls[2:]) // 3) and len(calls) >= 2 + 3 * 4
    assert [line.kind for line in lines] == ["cold", "warm", "kept", "tool"]
    assert {line.unit for line in lines} == {"ms"} and all(line.value > 0 for line in lines)


def test_wrong_answers_are_never_timed(declared):
    def check(answer):
        assert answer == 2

    with pytest.raises(AssertionError):
        declared(Case(lambda: 1, check))


def test_what_is_missing_is_one_line_and_the_rest_is_measured(declared):
    def anchor():
        raise Missing("no such tool")

    cold, missing, warm = declared(Case(lambda: None, lambda _: None, anchor=anchor))
    assert (cold.kind, str(missing), warm.kind) == ("cold", "no such tool", "warm")


def test_a_tool_reports_its_own_time_and_amounts_are_rates(declared):
    anchor = Anchor("tool", lambda: Clock(0.5, 0.25))
    case = Case(lambda: None, lambda _: 100.0, unit="steps/s", anchor=lambda: anchor)
    *_, tool = declared(case)
    assert (tool.value, tool.cpu) == (200.0, 400.0)


@pytest.mark.parametrize(
    ("unit", "value"), [("s", 0.5), ("ms", 500.0), ("us per path", 5e5), ("paths/s", 2.0)]
)
def test_units(unit, value):
    assert figures.in_unit(2.0, 4.0, unit) == value


def test_every_figure_names_devices_and_is_of_a_known_module():
    for module in run.MODULES:
        import_module(module)
    for name, own in figures.FIGURES.items():
        assert own.name == name and own.module in run.MODULES
        assert set(own.devices) <= {"cpu", "gpu"}


def test_figures_are_chosen_by_module_and_by_name():
    import_module("small_runs")
    import_module("sorting")
    assert run.chosen(["small_runs"], "cpu") == ["natural numbers", "nine steps of ten neurons"]
    assert run.chosen(["sort 1?0", "nat*"], "gpu") == ["natural numbers", "sort 100"]
    assert "sort 5,000" in run.chosen([], "gpu") and "sort 5,000" not in run.chosen([], "cpu")
    with pytest.raises(SystemExit, match="There is no figure 'sort 3'"):
        run.chosen(["sort 3"], "cpu")


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        run.parsed(["--out", str(tmp_path)])
    assert end.value.code == 2 and "Is a directory" in capsys.readouterr().err


def test_a_figure_is_measured_and_reported(monkeypatch, capsys):
    monkeypatch.setattr(figures, "_SETTLING", 0.0)
    import_module("small_runs")
    name = "nine steps of ten neurons"
    run.alone(run.parsed(["--alone", name, "--seconds", "0", "--commit", "abc"]))
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["cold", "warm", "kept"]
    run.report(name, lines)
    assert re.search(rf"^{name} .* x kept$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.slow
def test_a_figure_from_its_process_to_its_file(tmp_path):
    file = tmp_path / "new" / "figures.jsonl"
    options = "--seconds", "0", "-o", file, "--commit", "abc"
    out = python("bench/run.py", "nine steps*", *options)
    assert "nine steps of ten neurons" in out and "x kept" in out
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["cold", "warm", "kept"]
    assert {line["commit"] for line in lines} == {"abc"}
    assert {"python", "jax", "numpy", "snpjax"} <= lines[0]["versions"].keys()
    assert len(compare.read(file)) == 3
