"""Versions of the dependencies, as constraints of pip (`pip install '.[test]' -c FILE`).

`python .ci/versions.py oldest` prints the oldest ones that pyproject.toml allows, and
`python .ci/versions.py installed` those beside this Python: `.ci/constraints.txt` has those with
which the gate has passed.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
_REQUIREMENT = re.compile(r"([\w.-]+)(\[[^]]*\])?\s*([^;]*)(;.*)?")


def requirements() -> list[str]:
    """Those of the project, with and without extras."""
    return [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]


def oldest() -> Iterator[str]:
    for requirement in requirements():
        found = re.fullmatch(r"([\w.-]+)>=([\d.]+)(,<[\d.]+)?", requirement)
        if found:
            yield f"{found[1]}=={found[2]}"


def installed() -> Iterator[str]:
    """All that the project needs, directly or not, as far as it is there."""
    seen, waiting = {PROJECT["name"]}, requirements()
    while waiting:
        found = _REQUIREMENT.match(waiting.pop())
        assert found is not None
        name, marker = re.sub(r"[-_.]+", "-", found[1]).lower(), found[4] or ""
        if name in seen or "extra ==" in marker:
            continue
        seen.add(name)
        try:
            own = distribution(name)
        except PackageNotFoundError:  # of another platform, or of an extra
            continue
        yield f"{name}=={own.version}"
        waiting += own.requires or []


if __name__ == "__main__":
    print(*sorted({"oldest": oldest, "installed": installed}[sys.argv[1]]()), sep="\n")
