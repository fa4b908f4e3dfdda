"""Tutorials run from their first cell to the last; what they state is asserted in them."""

import re
import runpy
import sys

import jax
import pytest

from tests.support.helpers import REPOSITORY, needs_execution


TUTORIALS = REPOSITORY / "docs" / "tutorials"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.py"))
#: Those that take about two seconds, or less.
SHORT = {"nets_as_programs"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[] if x in SHORT else [pytest.mark.slow, needs_execution])
        for x in NAMES
    ],
)
def test_tutorial_runs(name, monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with jax.numpy_dtype_promotion("standard"):  # JAX's own default, which readers have
        runpy.run_path(str(TUTORIALS / f"{name}.py"), run_name="tutorial")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_tutorial_ends_with_what_next(name):
    text = (TUTORIALS / f"{name}.py").read_text()
    *_, last = re.split(r"^# %% \[markdown\]\n", text, flags=re.MULTILINE)
    assert "# ## What next\n" in last
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (TUTORIALS / link).exists(), link


def test_coming_from_has_one_example_for_each_tool():
    text = (REPOSITORY / "docs" / "coming_from.md").read_text()
    sections = text.split("\n## ")[1:]
    assert len(sections) == 6 and all(x.count("```python\n") == 1 for x in sections)
