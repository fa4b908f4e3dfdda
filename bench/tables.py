"""Write the tables of bench/README.md from the files of `run.py`.

    python bench/tables.py [--readme FILE]

Below each line `<!-- FILE -->` of the README, up to the next `<!-- end -->`, stands the table of
that file of `bench/measured`, with commit, device, date and versions. Of a figure that the file
holds several times, the last counts.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from compare import BadFile, read


HERE = Path(__file__).parent
_PLACE = re.compile(r"<!-- (\S+\.jsonl) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/tables.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--readme", type=Path, default=HERE / "README.md")
    path = parser.parse_args().readme
    try:
        text = path.read_text(encoding="utf-8")
        path.write_text(_PLACE.sub(filled, text), encoding="utf-8")
    except OSError as error:
        sys.exit(f"error: {path}: {error.strerror}")
    except BadFile as error:
        sys.exit(f"error: {error}")


def filled(place: re.Match[str]) -> str:
    body = "\n".join(table(HERE / "measured" / place[1]))
    return f"<!-- {place[1]} -->\n\n{body}\n\n<!-- end -->"


def table(path: Path) -> list[str]:
    """The lines of the tables, one for each commit, device, date and set of versions."""
    read(path)  # refuses other files
    kinds: dict[str, dict[str, dict]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        figure = json.loads(line)
        kinds.setdefault(figure["name"], {})[figure["kind"]] = figure
    groups: dict[str, list[str]] = {}
    for name, own in kinds.items():
        first = next(iter(own.values()))
        versions = ", ".join(f"{key} {value}" for key, value in first["versions"].items())
        head = f"Commit {first['commit']}, {first['device']}, {first['date']}; {versions}."
        groups.setdefault(head, []).append(row(name, own))
    lines = []
    for head, rows in groups.items():
        lines += [head, "", "| figure | unit | cold | warm | its CPU | kept | beside |"]
        lines += ["|---|---|---|---|---|---|---|", *rows, ""]
    return lines[:-1]


def row(name: str, kinds: dict[str, dict]) -> str:
    """Ratios are times of the warm call over those of what is beside it."""
    warm = kinds.get("warm", {})
    unit = next(iter(kinds.values()))["unit"]

    def cell(kind: str, field: str = "value") -> str:
        own = kinds.get(kind)
        if own is None:
            return ""
        if kind in ("cold", "warm"):
            return number(own[field])
        times = own["value"] / warm["value"]
        return f"{number(own['value'])} ({(times if unit.endswith('/s') else 1 / times):.3g})"

    others = [kind for kind in kinds if kind not in ("cold", "warm", "kept")]
    beside = ", ".join(f"{kind} {cell(kind)}" for kind in others)
    cells = (name, unit, cell("cold"), cell("warm"), cell("warm", "cpu"), cell("kept"), beside)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def number(value: float) -> str:
    """Three digits, without an exponent below a million."""
    digits = float(f"{value:.3g}")
    return f"{digits:.2e}" if digits >= 1e6 else f"{digits:,.10g}"


if __name__ == "__main__":
    main()
