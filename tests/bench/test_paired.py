"""The comparison with a baseline commit: when it fails, and when it is skipped."""

import io
from importlib import import_module

import figures
import paired
import pytest
from paired import Found

from tests.support.processes import finished


def test_what_seems_slow_once_is_measured_again(capsys):
    measured = []

    def measure(names):
        measured.append(names)
        factor = {"steady": 1.0, "noisy": 3.0 if len(measured) == 1 else 1.1, "slow": 1.4}
        return {name: Found(1.0, factor[name]) for name in names}

    assert paired.compare(["steady", "noisy", "slow"], measure) == ["slow"]
    assert measured[:2] == [["steady", "noisy", "slow"], ["noisy", "slow"]]
    assert all(names == ["slow"] for names in measured[2:]) and len(measured) > 2
    assert "slow" in capsys.readouterr().out.splitlines()[-1]


def test_the_least_of_all_attempts_counts_for_both_sides():
    found = iter([Found(1.0, 1.5), Found(2.0, 1.2)])
    assert paired.compare(["x"], lambda names: {"x": next(found)}) == []


def test_the_ten_figures_are_declared_and_the_baseline_is_a_commit():
    assert len(paired.FIGURES) == 10
    for name, module in paired.FIGURES.items():
        import_module(module)
        assert figures.FIGURES[name].module == module
    commit, *reason = paired.BASELINE.read_text().split()
    assert len(commit) == 40 and set(commit) <= set("0123456789abcdef") and reason


def test_a_worker_answers_every_request(monkeypatch):
    monkeypatch.setattr(figures, "_SETTLING", 0)
    requests = io.StringIO("where\nbuild nine steps of ten neurons\nturn\n")
    answers = io.StringIO()
    paired.work(requests, answers)
    where, ready, seconds = answers.getvalue().splitlines()
    assert where.endswith("snpjax/__init__.py") and ready == "ready" and float(seconds) > 0


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A repository with one commit, and no other to fetch from."""
    root = tmp_path / "clone"
    for folder in ("snpjax", "formats"):
        (root / folder).mkdir(parents=True)
        (root / folder / "code.py").write_text(folder)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        assert finished(*git, *command).returncode == 0
    monkeypatch.setattr(paired, "ROOT", root)
    return finished(*git, "rev-parse", "HEAD").stdout.strip()


def test_the_packages_of_the_baseline_are_checked_out(clone, tmp_path):
    assert paired.checked_out(clone, tmp_path)
    assert (tmp_path / "snpjax/code.py").read_text() == "snpjax"
    assert (tmp_path / "formats/code.py").read_text() == "formats"


def test_a_clone_without_the_baseline_skips(clone, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["paired.py", "--baseline", "0" * 40])
    paired.main()
    assert capsys.readouterr().out.startswith("skipped: the baseline 000")
