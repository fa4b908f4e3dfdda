"""What the documentation states is so."""

import re
import tomllib

import pytest
import yaml

from tests.support.code_blocks import differing, outputs, rewritten
from tests.support.format_tables import TABLES
from tests.support.helpers import REPOSITORY
from tests.support.public_names import (
    items_of,
    listed_names,
    missing_in_function,
    missing_in_method,
    public_names,
    undocumented,
)


@pytest.mark.parametrize("page", TABLES)
def test_tables_of_formats_are_generated(page):
    """After a change: `python -m tests.support.format_tables`."""
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    for table in TABLES[page]:
        assert table() in text


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("compiling", ""),
        ("exploring", "Graph("),
        ("extending", "ELL: predicted"),
        ("numbers", "After 0 steps, every step can"),
        ("long_runs", "SolutionBatch("),
        pytest.param("many_devices", "SolutionBatch(", marks=pytest.mark.slow),
        pytest.param("networks", "Solution of SpikingSystem(", marks=pytest.mark.slow),
        pytest.param("running", "Solution of SpikingSystem(", marks=pytest.mark.slow),
        pytest.param("variants", "[0 0 1 2 3 3 2]", marks=pytest.mark.slow),
        pytest.param("proliferation", "ProliferationModel(", marks=pytest.mark.slow),
        ("numerical", "NumericalSolution of NumericalSystem(neurons=2"),
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
def test_code_of_a_page_runs(page, printed):
    text = "".join(output for _, output in outputs(REPOSITORY / "docs" / f"{page}.md"))
    assert text.startswith(printed)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/getting_started.md",
        "docs/index.md",
        "docs/plingua.md",
        "docs/populations.md",
        "docs/semantics.md",
    ],
)
def test_outputs_of_a_page_are_what_its_code_prints(page):
    """After a change: `python -m tests.support.code_blocks PAGE`."""
    assert differing(REPOSITORY / page) == []


def test_another_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    assert differing(page) == [("2\n", "1\n")]
    page.write_text(rewritten(page))
    assert differing(page) == [] and "```text\n1\n```" in page.read_text()


def test_the_reference_lists_each_public_name_once():
    listed = [item for path in listed_names() for item in items_of(path)]
    public = public_names()
    names = {public.get(key, key[0]) for key in listed}
    assert {path for key, path in public.items() if key not in listed} == set(), "in docs/api"
    assert names == {*public.values()}, "not public, or under another name"
    assert len(listed) == len(set(listed)), "twice"


def test_public_names_state_their_arguments_and_results():
    assert [*undocumented()] == []


def test_what_a_docstring_does_not_state_is_found():
    def stale(first: int, second: int = 0) -> int:
        """Sum.

        **Arguments:**

        - `first`: a number.
        - `third`: no longer a parameter.
        """
        if first < 0:
            raise ValueError("negative")
        return first + second

    def complete(*, first: int, second: int = 0) -> int:
        """Sum.

        **Arguments:**

        - `first`, `second`: numbers, such as `third`: of the same
          sign as `fourth`.

        **Returns:** a number.

        - `fifth`: of another list.
        """
        return first + second

    assert [*missing_in_function("stale", stale)] == [
        "stale: no description of `second`",
        "stale: no parameter `third`",
        "stale: no **Returns:**",
        "stale: no **Raises:**",
    ]
    assert [*missing_in_function("complete", complete)] == []

    def method(self, first, second):
        """From `first` on."""

    own = ["first", "second"]
    found = [*missing_in_method("method", method, own, set())]
    assert found == ["method: no description of `second`"]
    assert [*missing_in_method("method", method, own, {"second"})] == []  # of a base class


def test_files_of_the_project_name_one_version():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    assert citation["version"] == project["version"]
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == project["version"]


def test_files_of_the_repository_are_yaml():
    files = [*REPOSITORY.glob(".github/**/*.yml"), REPOSITORY / ".pre-commit-config.yaml"]
    assert len(files) >= 6
    for path in files:
        assert isinstance(yaml.safe_load(path.read_text()), dict), path


def test_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 160


#: Phrases that are not idiomatic, and what to write.
_PHRASES = {
    r"\bso (many|few)\b(?! that)": "this many, that many, n",
    r"\bthat there is not\b": "an unknown ..., an out-of-range ...",
    r"\bwhole,? or not there\b": "written atomically",
    r"\banew\b": "again, re-...",
    r"\bgive one of them\b": "use either ... or ...",
    r"\bcorrect this place\b": "expected ..., fix the syntax here",
    r"\bsays? the rest\b": "see ...",
    r"\botherwise than\b": "differently from",
    r"\bvain\b": "redundant",
    r"\bof account\b": "to matter",
    r"\bkin\b": "related",
}


def test_phrases_that_are_not_idiomatic():
    texts = [
        path
        for folder in ("snpjax", "formats", "docs", "examples", "bench")
        for suffix in ("*.py", "*.md", "*.js", "*.html", "schema.json")
        for path in (REPOSITORY / folder).rglob(suffix)
        if "vendor" not in path.parts
    ]
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {match[0]!r} (write {instead})"
        for path in [*texts, REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for pattern, instead in _PHRASES.items()
        if (match := re.search(pattern, line, re.IGNORECASE))
    ]
    assert not found, "\n".join(found)
