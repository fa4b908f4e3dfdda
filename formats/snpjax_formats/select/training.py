"""From timings to a cost model, and to a report of how well it chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .candidates import CANDIDATES
from .evaluation import check_reports, report_of, timed
from .gathering import Measured, read_timings
from .gaussian import fitted
from .inputs import NUM_OWN, input_table
from .model import CostModel, standard


# A candidate needs so many timings to be predicted at all.
_FEWEST = 15

_SAME = 1e-6  # a standard deviation below which an input says nothing

# Timings far from the best hardly matter: their variance is taken to be larger by the square of the
# ratio, up to so much.
_MOST_VARIANCE = 30.0


def train(
    paths: Sequence[Path], *, title: str, folds: int = 5, families: bool = False
) -> tuple[CostModel, dict[str, Any]]:
    """A model of all timings in the files, and the report of models that were each trained without
    a part of the cells, on that part; with `families` also of models that were each trained without
    a family of graphs, on that family.

    **Raises:** `ValueError` if there are too few timings; `ImportError` without scikit-learn, which
    makes the tree of depth 3 that the report compares with.
    """
    check_reports()
    measured = _merged([m for path in paths for m in read_timings(path)])
    if len({m.configuration.cell for m in measured}) < 2 * folds:
        raise ValueError(
            f"There are timings of {len(measured)} configurations, too few for {folds} folds "
            "(those of other versions of the layouts do not count). Gather more with `snpjax "
            "formats time`, or ask for fewer folds."
        )
    data = timed(measured)
    x = np.stack([input_table(m.features, m.configuration.workload, m.device) for m in measured])
    fold = _folds(data.cell, folds)

    def crossed(part_of: np.ndarray) -> np.ndarray:
        predicted = np.full(data.log_seconds.shape, np.inf)
        for part in np.unique(part_of):
            is_test = part_of == part
            model = fit(x[~is_test], data.log_seconds[~is_test], title=title)
            predicted[is_test] = _predicted(model, x[is_test])
        return predicted

    unseen = crossed(data.family) if families else None
    report = report_of(data, crossed(fold), fold, x, unseen)
    return fit(x, data.log_seconds, title=title), {"title": title, "folds": folds, **report}


def fit(
    x: Float[np.ndarray, "configurations candidates inputs"],
    log_seconds: Float[np.ndarray, "configurations candidates"],
    *,
    title: str,
) -> CostModel:
    """One Gaussian process for each candidate that was timed often enough; NaN is a candidate that
    was not."""
    best = np.nanmin(log_seconds, axis=1)
    kept = [c for c in range(len(CANDIDATES)) if _is_timed(log_seconds[:, c]).sum() >= _FEWEST]
    if not kept:
        raise ValueError(f"No layout was timed on {_FEWEST} configurations. Gather more.")
    table = x[:, kept].swapaxes(0, 1)
    center, spread = table.mean(axis=1), table.std(axis=1)
    scale = np.where(spread > _SAME, spread, np.inf)
    z = standard(table, center[:, None], scale[:, None])
    weight = np.zeros(z.shape[:2])
    processes = []
    for place, c in enumerate(kept):
        of = _is_timed(log_seconds[:, c])
        y = log_seconds[of, c]
        noise = 1 / (np.exp(2 * (best[of] - y)) + 1 / _MOST_VARIANCE)
        processes.append(fitted(z[place, of], y, noise))
        weight[place, of] = processes[-1].weight
    shared = z.shape[2] - NUM_OWN
    return CostModel(
        title=title,
        names=tuple(CANDIDATES[c].name for c in kept),
        low=x.min(axis=(0, 1)),
        high=x.max(axis=(0, 1)),
        center=center,
        scale=scale,
        offset=np.asarray([p.offset for p in processes]),
        slope=np.stack([p.slope for p in processes]),
        length=np.stack([p.length for p in processes]),
        weight=weight,
        shared=z[0, :, :shared].astype(np.float32),
        own=z[:, :, shared:].astype(np.float32),
    )


def _is_timed(column: Float[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
    return ~np.isnan(column)


def _predicted(
    model: CostModel, x: Float[np.ndarray, "configurations candidates inputs"]
) -> Float[np.ndarray, "configurations candidates"]:
    """Infinity for a candidate that the model does not know."""
    names = [c.name for c in CANDIDATES]
    known = np.asarray([names.index(name) for name in model.names])
    predicted = np.full(x.shape[:2], np.inf)
    for row, table in enumerate(x):
        predicted[row, known] = model.logs(table[known], np.arange(len(known)))
    return predicted


def _folds(cell: Int[np.ndarray, " rows"], folds: int) -> Int[np.ndarray, " rows"]:
    """A fold for every cell, by a shuffle of the cells, so that no cell is on both sides."""
    cells, of = np.unique(cell, return_inverse=True)
    return np.random.default_rng(2).permutation(len(cells))[of] % folds


def _merged(measured: list[Measured]) -> list[Measured]:
    """What was timed several times on a kind of device, once, with all samples."""
    found: dict[Any, Measured] = {}
    for m in measured:
        before = found.get((m.device, m.configuration))
        found[m.device, m.configuration] = m if before is None else before.joined(m)
    return list(found.values())
