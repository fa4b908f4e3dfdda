"""Results as text: final histograms as columns, calibrations as JSON."""

import json
import math
import os
from pathlib import Path

import numpy as np

from snpjax_formats.atomic import atomic_write

from ...proliferation.calibrate import Calibration
from ...proliferation.law import Law
from ...proliferation.table import SparseHistogram, merged
from ...proliferation.uncertainty import Goodness, Uncertainty
from .types import columns_of


def table_text(
    table: SparseHistogram, *, names: tuple[str, ...] | None = None, separator: str = "\t"
) -> str:
    """Format a histogram as rows in ascending order, with ten significant digits.

    A row has the fluorescence and the total, then a column for each type, then the sd where there
    is one. Fluorescences that are equal in these digits share a row, in which their cells are
    added.

    **Arguments:**

    - `table`: the histogram.
    - `names`: the names of the types, whose columns are included only with them.
    - `separator`: what separates columns; with `","` there is a header.

    **Returns:** the text.
    """
    table = _with_written_values(table)
    lines = []
    if separator == ",":
        header = ["fluorescence", "cells", *(names or ())]
        lines.append(separator.join([*header, *(["sd"] if table.sd is not None else [])]))
    by_type = table.by_type if names else None
    columns = [table.fluorescence, table.total, *(() if by_type is None else by_type)]
    if table.sd is not None:
        columns.append(table.sd)
    for row in zip(*(column.tolist() for column in columns), strict=True):
        lines.append(separator.join(_number(value) for value in row))
    return "".join(f"{line}\n" for line in lines)


def write_table(
    table: SparseHistogram, path: str | os.PathLike[str], *, names: tuple[str, ...] | None = None
) -> None:
    """Write a histogram as a table, with commas and a header if the suffix is `.csv`, otherwise
    with tabs.

    **Arguments:**

    - `table`: the histogram.
    - `path`: the file, which is replaced if it exists.
    - `names`: the names of the types, whose columns are included only with them.
    """
    separator = "," if Path(path).suffix.lower() == ".csv" else "\t"
    atomic_write(Path(path), table_text(table, names=names, separator=separator))


def _with_written_values(table: SparseHistogram) -> SparseHistogram:
    """Merge the rows whose fluorescences are written with equal digits; other tables stay."""
    written = np.array([float(_number(value)) for value in table.fluorescence.tolist()])
    if np.unique(written).size == written.size:
        return table
    variance = None if table.sd is None else table.sd**2
    return merged(written, table.total, table.by_type, variance=variance)


def _number(value: float | int) -> str:
    return f"{value}" if isinstance(value, int) else f"{value:.10g}"


def calibration_record(
    calibration: Calibration,
    errors: Uncertainty | None = None,
    goodness: Goodness | None = None,
) -> dict[str, object]:
    """Convert a calibration to objects that JSON can represent.

    **Arguments:**

    - `calibration`: the result of `calibrate`.
    - `errors`: its `uncertainty`, to be included.
    - `goodness`: its goodness of fit, to be included.

    **Returns:** a dictionary; infinite errors are `None`. If the model does not fit, it begins with
    a `warning`, and the errors and intervals are widened by `overdispersion`.
    """
    record: dict[str, object] = {
        "hellinger": calibration.distance,
        "hellinger_normalised": calibration.normalised,
        "values": calibration.values,
        "on_a_bound": list(calibration.active),
        "types": [
            {"name": x.name, "proportion": x.proportion, **_law(x.law)}
            for x in calibration.model.types
        ],
        "starts": list(calibration.starts),
        "evaluations": calibration.evaluations,
        "edges": calibration.bins.edges.tolist(),
        "observed": calibration.observed.tolist(),
        "expected": calibration.expected.tolist(),
    }
    if errors is not None:
        found = map(_finite, errors.standard_errors.tolist())
        record["standard_errors"] = dict(zip(errors.names, found, strict=True))
        record["intervals_95"] = errors.intervals()
        record["undetermined_types"] = list(errors.undetermined_types)
        record["correlations"] = errors.correlations.tolist()
        record["overdispersion"] = _finite(errors.overdispersion)
        goodness = errors.goodness if goodness is None else goodness
    if goodness is not None:
        if goodness.advice is not None:
            record = {"warning": goodness.advice, **record}
        record["goodness_of_fit"] = {
            "statistic": _finite(goodness.statistic),
            "degrees": goodness.degrees,
            "p_value": goodness.p_value,
            "is_rejected": goodness.is_rejected,
            "deviance": float(goodness.deviance),
        }
    return record


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _law(law: Law | None) -> dict[str, object]:
    if law is None:
        return {"quiescent": True}
    return dict(zip((*law.fields, "sd"), columns_of(law), strict=False))


def write_calibration(
    calibration: Calibration,
    path: str | os.PathLike[str],
    errors: Uncertainty | None = None,
    goodness: Goodness | None = None,
) -> None:
    """Write a calibration as JSON.

    **Arguments:**

    - `calibration`: the result of `calibrate`.
    - `path`: the file, which is replaced if it exists.
    - `errors`: its `uncertainty`, to be included.
    - `goodness`: its goodness of fit, to be included.
    """
    atomic_write(Path(path), calibration_json(calibration, errors, goodness))


def calibration_json(
    calibration: Calibration,
    errors: Uncertainty | None = None,
    goodness: Goodness | None = None,
) -> str:
    """Format a calibration as JSON.

    **Arguments:**

    - `calibration`: the result of `calibrate`.
    - `errors`: its `uncertainty`, to be included.
    - `goodness`: its goodness of fit, to be included.

    **Returns:** the text of a file that `write_calibration` writes.
    """
    return json.dumps(calibration_record(calibration, errors, goodness), indent=1) + "\n"
