"""What the documentation states is so."""

import re
import tomllib
from collections.abc import Sequence

import jax
import numpy as np
import pytest
import yaml

import snpjax as snp
from tests.support.code_blocks import differing, distance, rewritten
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


#: Pages that take more than three seconds.
SLOW = {
    "interchange",
    "learning",
    "learning_reference",
    "learning_tools",
    "many_devices",
    "networks",
    "proliferation",
    "running",
    "variants",
    "viewing",
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else [])
        for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
        if path.stem != "testing"  # tests/testing/test_testing.py
    ],
)
def test_outputs_of_a_page_are_what_its_code_prints(page, monkeypatch):
    """After a change: `python -m tests.support.code_blocks PAGE`. No page may depend on the
    processor, which is one that no cost model knows."""
    monkeypatch.setattr("snpjax_formats.select.device._processor", lambda: "unknown cpu")
    is_strict = "import optax" not in page.read_text()  # optax mixes types
    promotion = ("strict", "raise") if is_strict else ("standard", "allow")
    with jax.numpy_dtype_promotion(promotion[0]), jax.numpy_rank_promotion(promotion[1]):
        assert differing(page) == []


def test_code_of_the_tutorials_writes_their_pictures():
    page = REPOSITORY / "docs" / "learning.md"
    shown = re.findall(r"\]\(pictures/(\S+)\)", page.read_text())
    written = re.findall(r"^figure.savefig\(\"(\S+)\"", page.read_text(), re.MULTILINE)
    assert len(shown) == 3 and shown == written
    for name in shown:
        assert (page.parent / "pictures" / name).stat().st_size < 150_000, name


def test_another_picture_is_found(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    (tmp_path / "pictures").mkdir()
    page, kept = tmp_path / "page.md", tmp_path / "pictures" / "noise.png"
    page.write_text(
        "```python\nimport matplotlib.pyplot as plt\nimport numpy as np\n\n"
        "plt.imsave('noise.png', np.random.default_rng(0).random((64, 64)))\n```\n\n"
        "![Noise](pictures/noise.png)\n"
    )
    pyplot.imsave(kept, np.zeros((64, 64)))
    assert [name for name, _ in differing(page)] == ["noise.png"]
    page.write_text(rewritten(page, kept.parent))
    assert differing(page) == []
    pyplot.imsave(tmp_path / "larger.png", np.zeros((64, 72)))
    assert distance(kept, tmp_path / "larger.png") == np.inf


def test_native_files_of_the_page_are_read(tmp_path):
    page = (REPOSITORY / "docs" / "files.md").read_text()
    texts = re.findall(r"^```json\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(texts) >= 6
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.snp.json"
        path.write_text(text)
        snp.write(snp.read(path), path)
        written = path.read_text()
        snp.write(snp.read(path), path)
        assert path.read_text() == written


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
    public = public_names()  # first: using the name of a lazy package changes its function
    listed = [item for path in listed_names() for item in items_of(path)]
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


def test_index_leads_to_every_page():
    root = REPOSITORY / "docs"
    seen, waiting = set(), [root / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\(([\w./]+\.(?:md|py))", page.read_text(encoding="utf-8"))
            paths = ((page.parent / link).resolve() for link in links if page.suffix == ".md")
            waiting += [path for path in paths if path.is_relative_to(root) and path.exists()]
    generated = {root / folder for folder in _GENERATED}
    pages = {page for page in root.rglob("*.md") if generated.isdisjoint(page.parents)}
    pages |= {*root.glob("tutorials/*.py")}
    assert pages - seen == set()


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


#: Folders of `docs` that the site's build writes.
_GENERATED = ("gallery", "benchmarks")

#: The same for what users read: the documentation and the examples.
_PHRASES_OF_PAGES = {
    r"\b(is|are|was|were) told\b": "takes, receives, knows",
    r"\btold apart\b|\btells? (\S+ ){1,4}apart\b": "distinguish",
    r"\bknows? nothing of\b": "is independent of",
    r"\bgo(es)? on\b": "continue",
    r"\blooked at\b": "examined, evaluated",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b)[a-z]": "is not a ...",
    r"\ba \w+ a (column|neuron|node|path|place|row|rule|step)\b": "one ... for each ...",
    r"\bhears?\b": "listens to, receives from",
    r"\bwhat (is|was) (asked|given|meant|said|told|wrong)\b": "name it",
    r"\bstands? (after|among|at|before|behind|in)\b": "is in, follows",
    r"\b(is|are|was|were) asked (for|of)\b": "request, pass",
    r"\bwhich \w+ says\b": "as ... states; ... says so",
    r"\ball the same\b": "nevertheless",
    r"\blikewise\b": "in the same way",
    r"\bmade up\b(?! of)": "invented",
    r"\bin the end\b": "at the end, finally",
    r"\bother ones\b": "others",
    r"\bbeside\b": "next to, compared with",
    r"\bwhoever\b": "name the actor",
    r"\bof (our|one's) own\b": "of your own",
    r"\bwhole numbers?\b": "integers",
}


def _found(phrases: dict[str, str], folders: Sequence[str], names: Sequence[str]) -> list[str]:
    """Where the files of the folders, and the files with these names, have such a phrase."""
    texts = [
        path
        for folder in folders
        for suffix in ("*.py", "*.md", "*.js", "*.html", "schema.json")
        for path in (REPOSITORY / folder).rglob(suffix)
        if not {"vendor", *_GENERATED} & {*path.parts}
    ]
    return [
        f"{path.relative_to(REPOSITORY)}:{number}: {match[0]!r} (write {instead})"
        for path in [*texts, *(REPOSITORY / name for name in names)]
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for pattern, instead in phrases.items()
        if (match := re.search(pattern, line, re.IGNORECASE))
    ]


@pytest.mark.parametrize(
    ("phrases", "folders"),
    [
        (_PHRASES, ("snpjax", "formats", "docs", "examples", "bench")),
        (_PHRASES_OF_PAGES, ("docs", "examples")),
    ],
)
def test_phrases_that_are_not_idiomatic(phrases, folders):
    found = _found(phrases, folders, ["README.md", "CONTRIBUTING.md"])
    assert not found, "\n".join(found)
