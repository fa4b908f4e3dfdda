"""What the documentation states is so."""

import re
import tomllib

import jax
import numpy as np
import pytest
import yaml

import snpjax as snp
from tests.support.code_blocks import differing, distance, rewritten
from tests.support.format_tables import TABLES
from tests.support.helpers import REPOSITORY
from tests.support.public_names import missing_in_function, missing_in_method, undocumented


@pytest.mark.parametrize("page", TABLES)
def test_tables_of_formats_are_generated(page):
    """After a change: `python -m tests.support.format_tables`."""
    text = (REPOSITORY / "docs" / f"{page}.md").read_text()
    for table in TABLES[page]:
        assert table() in text


#: Pages that take more than two seconds.
SLOW = {
    "checking",
    "coming_from",
    "inference",
    "interchange",
    "learning",
    "learning_reference",
    "learning_tools",
    "many_devices",
    "networks",
    "proliferation",
    "running",
    "variants",
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else [])
        for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
        # tests/testing/test_testing.py and tests/test_extending.py use the names of these.
        if path.stem not in ("testing", "extending")
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
    generated = {root / folder for folder in ("gallery", "benchmarks")}
    pages = {page for page in root.rglob("*.md") if generated.isdisjoint(page.parents)}
    pages |= {*root.glob("tutorials/*.py")}
    assert pages - seen == set()


def test_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 160
