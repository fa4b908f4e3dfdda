"""Check what the wheel and the source distribution contain: `distributions.py FILE...`."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path


#: Files and folders of the repository that a source distribution has.
SOURCES = """
    snpjax/py.typed formats/snpjax_formats/py.typed tests/conftest.py examples/natural_numbers.pli
    bench/README.md docs/index.md docs/api/index.md docs/pictures/natural_numbers.svg mkdocs.yml
    hatch_build.py .ci/run README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md CITATION.cff LICENSE
""".split()
PACKAGED = """
    snpjax/py.typed snpjax_formats/py.typed snpjax/viz/page/static/main.js
    snpjax/viz/page/static/index.html snpjax/viz/page/vendor/dagre.esm.js
""".split()


def check_wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = wheel.read(metadata).decode()
    roots = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert roots == {"snpjax", "snpjax_formats"}, roots
    assert {*PACKAGED} <= {*names}, {*PACKAGED} - {*names}
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links and all(link.startswith("https://") for link in links), links
    assert "Project-URL: Repository, https://" in text


def check_source(path: Path) -> None:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*SOURCES} <= names, {*SOURCES} - names
    built = {name for name in names if re.match(r"docs/(gallery|benchmarks)/|site/", name)}
    assert not built, built


if __name__ == "__main__":
    for argument in map(Path, sys.argv[1:]):
        (check_wheel if argument.suffix == ".whl" else check_source)(argument)
