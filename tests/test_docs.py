"""What the documentation states is so."""

import re

import pytest

from snpjax.check.exports import EXPORTS
from snpjax.io.formats import FORMATS

from .format_table import table
from .helpers import REPOSITORY


FILES = (REPOSITORY / "docs" / "files.md").read_text()


def test_what_each_format_holds():
    """After a change: `python -m tests.format_table`."""
    assert table() in FILES


def test_every_format_has_its_row():
    for name, record in FORMATS.items():
        (row,) = (line for line in FILES.splitlines() if f"`{name}`" in line and "| `" in line)
        _, _, _, suffixes, read, written, tests, _ = row.split("|")
        assert all(f"`{suffix}`" in suffixes for suffix in record.suffixes), row
        assert (read.strip() != "no") == (record.reader is not None), row
        assert (written.strip() != "no") == (record.writer is not None), row
        for pattern in tests.replace("`", "").split(","):
            assert list((REPOSITORY / "tests").glob(pattern.strip())), row


EXPLORING = (REPOSITORY / "docs" / "exploring.md").read_text()


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("exploring", "Graph("),
        ("numbers", "After 0 steps, every step can"),
        pytest.param("networks", "Solution of SpikingSystem(", marks=pytest.mark.slow),
        pytest.param("variants", "[0 0 1 2 3 3 2]", marks=pytest.mark.slow),
        pytest.param("proliferation", "Model(", marks=pytest.mark.slow),
        ("rate", "RateSolution of pre (100), post (100)"),
        ("selecting", ""),
        pytest.param(
            "learning", "Synapse(source='x', target='y', weight=3) 4", marks=pytest.mark.slow
        ),
        ("sleptsov", "{'p3': 12} 2"),
        ("sleptsov_files", "[[19 22]"),
        pytest.param("viewing", "True", marks=pytest.mark.slow),
    ],
)
def test_code_of_a_page_runs(page, printed, capsys):
    names: dict[str, object] = {}
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, f"docs/{page}.md", "exec"), names)
    assert capsys.readouterr().out.startswith(printed)


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_has_its_row(name):
    (row,) = (line for line in EXPLORING.splitlines() if f"| `{name}` |" in line)
    assert all(f"`{suffix}`" in row for suffix in EXPORTS[name].suffixes), row
