"""List the figures that changed between two files of `run.py`.

    python bench/compare.py OLD NEW [--limit 10] [--cpu]

A figure that a file holds several times is compared by its best value. Figures that only one file
holds are counted at the end.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple


class Value(NamedTuple):
    """The best value of a figure, and where it was measured."""

    value: float
    unit: str
    device: str


_NEEDED = {"name": str, "kind": str, "value": (int, float), "unit": str, "device": str}


class BadFile(Exception):
    """A file that is not of `run.py`; the message has the line and the fix."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/compare.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--limit", type=float, default=10.0, help="percent; default: 10")
    parser.add_argument("--cpu", action="store_true", help="compare CPU times, not wall times")
    arguments = parser.parse_args()
    field = "cpu" if arguments.cpu else "value"
    try:
        old, new = (read(path, field) for path in (arguments.old, arguments.new))
    except BadFile as error:
        sys.exit(f"error: {error}")
    print("\n".join(compared(old, new, arguments.limit)))


def read(path: Path, field: str = "value") -> dict[tuple[str, str], Value]:
    """The best value of each figure and kind.

    **Raises:** `BadFile`, with the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{path}: this is not a text. Give a file that run.py wrote.") from None
    found: dict[tuple[str, str], Value] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            figure = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadFile(f"{path}:{number}:{error.colno}: this is no JSON: {error.msg}") from None
        if not isinstance(figure, dict):
            raise BadFile(f"{path}:{number}: expected an object with the fields of a figure")
        for name, kind in {**_NEEDED, field: (int, float)}.items():
            if not isinstance(figure.get(name), kind) or isinstance(figure[name], bool):
                raise BadFile(f"{path}:{number}: the figure has no valid `{name}`")
        if not figure[field] > 0:
            raise BadFile(f"{path}:{number}: `{field}` is {figure[field]}; expected more than 0")
        value = Value(figure[field], figure["unit"], figure["device"])
        key = figure["name"], figure["kind"]
        if key in found and found[key].unit != value.unit:
            raise BadFile(f"{path}:{number}: {key[0]!r} has another unit than in a line before")
        if key not in found or slowdown(found[key], value) < 1:
            found[key] = value
    if not found:
        raise BadFile(f"{path}: the file holds no figure")
    return found


def slowdown(old: Value, new: Value) -> float:
    """How many times as long the new one takes."""
    return old.value / new.value if old.unit.endswith("/s") else new.value / old.value


def compared(
    old: dict[tuple[str, str], Value], new: dict[tuple[str, str], Value], limit: float
) -> list[str]:
    """Lines about what changed by more than `limit` percent, slower ones first."""
    lines = []
    devices = [sorted({value.device for value in some.values()}) for some in (old, new)]
    if devices[0] != devices[1]:
        lines.append(f"other devices: {', '.join(devices[0])} and {', '.join(devices[1])}")
    both = [key for key in new if key in old and old[key].unit == new[key].unit]
    times = {key: slowdown(old[key], new[key]) for key in both}
    changed = [key for key in both if not 1 / (1 + limit / 100) <= times[key] <= 1 + limit / 100]
    for key in sorted(changed, key=lambda key: -times[key]):
        factor = times[key]
        how = f"{factor:.2f} times slower" if factor > 1 else f"{1 / factor:.2f} times faster"
        values = f"{old[key].value:.4g} -> {new[key].value:.4g} {new[key].unit}"
        lines.append(f"{key[0]}, {key[1]}: {values}, {how}")
    lines.append(f"{len(changed)} of {len(both)} figures changed by more than {limit:g} %")
    for name, these in (("old", old), ("new", new)):
        alone = [key for key in these if key not in both]
        if alone:
            kinds = ", ".join(f"{key[0]} ({key[1]})" for key in alone[:5])
            more = ", ..." if len(alone) > 5 else ""
            lines.append(f"not compared, {len(alone)} of the {name} file: {kinds}{more}")
    return lines


if __name__ == "__main__":
    main()
