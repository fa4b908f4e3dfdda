"""The figures of the digits agree: what the script prints, the notebook and the documentation."""

import json
import re
import runpy
import sys

import jax
import pytest

from tests.support.helpers import REPOSITORY


SCRIPT = REPOSITORY / "examples" / "14_digits.py"
#: Three of the 450 test images: training rounds differently on other processors.
NEAR = 0.7


def shares(text: str) -> list[float]:
    """Of right answers, in percent: trained with seed 0, logistic regression, network of floats."""
    seed = re.search(r"([\d.]+)% of 450 test images", text)
    others = re.search(r"logistic regression ([\d.]+)%.* ([\d.]+)%", text)
    assert seed is not None and others is not None, text
    return [float(seed[1]), *map(float, others.groups())]


def in_the_notebook() -> list[float]:
    cells = json.loads(SCRIPT.with_name("digits.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return shares("".join(line for output in outputs for line in output.get("text", [])))


def test_documentation_states_the_figures_of_the_notebook():
    page = (REPOSITORY / "docs" / "learning_reference.md").read_text()
    (paragraph,) = (
        part for part in page.split("\n\n") if part.startswith(f"`examples/{SCRIPT.name}`")
    )
    stated = [float(share) for share in re.findall(r"([\d.]+) %", paragraph)]
    assert stated == [round(share, 1) for share in in_the_notebook()]


@pytest.mark.slow
def test_script_prints_the_figures_of_the_notebook(monkeypatch, capsys):
    pytest.importorskip("optax")
    pytest.importorskip("sklearn")
    monkeypatch.setattr(sys, "argv", [SCRIPT.name])
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert shares(capsys.readouterr().out) == pytest.approx(in_the_notebook(), abs=NEAR)
