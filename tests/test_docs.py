"""What the documentation states is so."""

import re
import tomllib

import pytest
import yaml

from tests.support.code_blocks import differing, rewritten
from tests.support.format_tables import TABLES
from tests.support.helpers import REPOSITORY
from tests.support.public_names import items_of, listed_names, public_names, undocumented


@pytest.mark.parametrize("page", TABLES)
def test_tables_of_formats_are_generated(page):
    """After a change: `python -m tests.support.format_tables`."""
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    for table in TABLES[page]:
        assert table() in text


#: Pages that take more than three seconds.
SLOW = {"learning", "many_devices", "networks", "proliferation", "running", "variants", "viewing"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else [])
        for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
        if path.stem != "testing"  # tests/testing/test_testing.py
    ],
)
def test_outputs_of_a_page_are_what_its_code_prints(page):
    """After a change: `python -m tests.support.code_blocks PAGE`."""
    assert differing(page) == []


@pytest.mark.parametrize("stated", ["2\n", "1 ...\n", ".\n", "", None])
def test_another_output_is_found(stated, tmp_path):
    page = tmp_path / "page.md"
    output = "" if stated is None else f"\n```text\n{stated}```\n"
    page.write_text(f"# Page\n\n```python\nprint(1)\n```\n{output}\nThe end.\n")
    assert differing(page) == [(stated or "", "1\n")]
    page.write_text(rewritten(page))
    assert page.read_text() == (
        "# Page\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nThe end.\n"
    )
    assert differing(page) == []


def test_dots_stand_for_what_depends_on_the_machine(tmp_path):
    page = tmp_path / "page.md"
    code = "print('took 3 s')\nprint(1)\nprint(2)\nprint('done')\n"
    page.write_text(f"```python\n{code}```\n\n```text\ntook ... s\n...\ndone\n```\n")
    assert differing(page) == [] and rewritten(page) == page.read_text()


def test_the_reference_lists_each_public_name_once():
    listed = [item for path in listed_names() for item in items_of(path)]
    public = public_names()
    names = {public.get(key, key[0]) for key in listed}
    assert {path for key, path in public.items() if key not in listed} == set(), "in docs/api"
    assert names == {*public.values()}, "not public, or under another name"
    assert len(listed) == len(set(listed)), "twice"


def test_public_names_state_their_arguments_and_results():
    assert [*undocumented()] == []


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
