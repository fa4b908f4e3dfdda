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

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = {
    "snpjax": REPOSITORY / "snpjax",
    "snpjax_formats": REPOSITORY / "formats/snpjax_formats",
}


def package_files() -> set[str]:
    """Names in a wheel of all files of both packages."""
    return {
        f"{root}/{path.relative_to(folder).as_posix()}"
        for root, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def check_wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = wheel.read(metadata).decode()
    files = {name for name in names if ".dist-info/" not in name}
    expected = package_files()
    assert files == expected, f"missing: {expected - files}, unexpected: {files - expected}"
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
