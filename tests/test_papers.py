"""Scripts that compare papers with us report nothing that is not explained."""

import importlib
import runpy
import sys

import pytest

from tests.support.helpers import REPOSITORY, SHARED, needs_shared


PAPERS = REPOSITORY / "examples" / "papers"
SCRIPTS = sorted(path.stem for path in PAPERS.glob("*.py") if path.stem != "comparison")
#: Those that take no more than two seconds.
SHORT = {"sparse_formats"}
MEASURED = SHARED / "cases" / "proliferation" / "histograms"


@pytest.fixture
def papers(monkeypatch):
    monkeypatch.syspath_prepend(str(PAPERS))
    monkeypatch.setattr(sys, "argv", ["script"])


@pytest.mark.parametrize(
    "script",
    [pytest.param(x, marks=[] if x in SHORT else pytest.mark.slow) for x in SCRIPTS],
)
def test_no_number_of_a_paper_differs_without_a_reason(script, papers, capsys):
    runpy.run_path(str(PAPERS / f"{script}.py"), run_name="__main__")
    assert capsys.readouterr().out.strip().endswith(" 0 unexplained")


@needs_shared
@pytest.mark.slow
def test_published_models_of_proliferation_are_fitted(papers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["script", "--data", str(MEASURED)])
    runpy.run_path(str(PAPERS / "cell_proliferation.py"), run_name="__main__")
    assert "slow: mean, hours" in capsys.readouterr().out


@pytest.fixture
def table(papers):
    return importlib.import_module("comparison").Comparison("title", "citation")


def test_difference_without_a_reason_fails(table, capsys):
    table.compare("neurons", 3, 4)
    assert "DIFFERS, unexplained" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit:
        table.finish()
    assert exit.value.code == 1


def test_reason_for_numbers_that_agree_fails(table):
    table.compare("neurons", 3, 3, why="it was 4 once")
    with pytest.raises(SystemExit):
        table.finish()


def test_printed_decimals_are_those_that_must_agree(table, capsys):
    table.compare("mean", "49.5", 49.52)
    table.compare("mean", "49.52", 49.526, why="rounded down")
    table.report("seconds", 10, 1, "another machine")
    table.finish()
    out = capsys.readouterr().out
    assert "1 agree, 1 differ for a known reason, 1 not compared, 0 unexplained" in out
