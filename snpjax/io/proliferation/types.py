"""Cell types as cuda-pro-cell has them: `proportion mean sd` on a line, `-1 -1` for quiescent."""

import os
from contextlib import suppress
from pathlib import Path

from snpjax_formats.atomic import atomic_write

from ...proliferation.law import Fixed, Gamma, Normal
from ...proliferation.model import CellType, problems_of_types
from ..errors import file_error
from ..formats import refuse_other_kind
from ..source import Report, Unreadable, load, reading
from .histogram import MAX_ERRORS, HistogramRow, rows


_QUIESCENT = (-1.0, -1.0)


def read_types(path: str | os.PathLike[str], *, gamma: bool = False) -> tuple[CellType, ...]:
    """Read cell types from a file of three columns.

    **Arguments:**

    - `path`: the file: a row `proportion mean sd` for each type, `-1 -1` for a quiescent one.
    - `gamma`: the second and third column are shape and scale.

    **Returns:** the types, named by the numbers of their lines, from 0.

    **Raises:** `ReadError` with every error, each `path:line:column: problem (fix)`.
    """
    source = load(path)
    report = Report(source, last=MAX_ERRORS)
    found = []
    names = ("proportion", "shape" if gamma else "mean", "scale" if gamma else "sd")
    with suppress(Unreadable), reading():
        for row in rows(report, names, "write proportion, mean and sd, or proportion -1 -1"):
            p, first, second = row.numbers
            if p < 0:
                _tell(report, row, 0, "proportion", "negative (write 0 to 1)")
            if (first, second) != _QUIESCENT:
                if first <= 0:
                    _tell(report, row, 1, names[1], "not positive (or write -1 -1)")
                if second < 0 or (gamma and second == 0):
                    _tell(report, row, 2, names[2], "not positive (or write -1 -1)")
            found.append((p, first, second))
    if report.has_errors:
        refuse_other_kind(source, "cell types")
    report.finish()
    types = tuple(
        CellType(f"{i}", p, None if (a, b) == _QUIESCENT else law_of(a, b, gamma))
        for i, (p, a, b) in enumerate(found)
    )
    problems = problems_of_types(types)
    if problems:
        raise file_error(source.path, "; ".join(problems))
    return types


def _tell(report: Report, row: HistogramRow, column: int, name: str, problem: str) -> None:
    offset, word = row.words[column]
    report.error(offset, f"{name} {word} is {problem}")


def law_of(first: float, second: float, gamma: bool) -> Normal | Gamma | Fixed:
    """The law of two columns; without spread it is fixed."""
    if gamma:
        return Gamma(first, second)
    return Normal(first, second) if second else Fixed(first)


def columns_of(law: Normal | Gamma | Fixed) -> tuple[float, float]:
    """The two columns of a law."""
    if isinstance(law, Fixed):
        return law.mean, 0.0
    return (law.shape, law.scale) if isinstance(law, Gamma) else (law.mean, law.sd)


def write_types(types: tuple[CellType, ...], path: str | os.PathLike[str]) -> None:
    """Write cell types in their order; the file does not hold their names, nor which law they have.

    **Arguments:**

    - `types`: the types.
    - `path`: the file, which is replaced if it exists.
    """
    lines = []
    for cell_type in types:
        first, second = _QUIESCENT if cell_type.law is None else columns_of(cell_type.law)
        lines.append(f"{cell_type.proportion!r} {first:.17g} {second:.17g}\n")
    atomic_write(Path(path), "".join(lines))
