"""From timings to a cost model, and to a report of how well it chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .candidates import CANDIDATES, LAYOUT_SET
from .device import is_cpu
from .evaluation import check_reports, report_of, timed
from .gathering import TimingRecord, read_timings
from .gaussian import fitted
from .inputs import NUM_OWN, input_table
from .model import CostModel, standard


# A candidate needs this many timings to be predicted at all.
_FEWEST = 15

# Timings of this set are learned from too where they are of a CPU, but not reported on: what came
# then, indices in 16 bits, changed times there by 5 % in the mean. Slowdown on 1,322 configurations
# of set 4 with 2,380 of set 3 beside them 1.017, and 1.031 without (Xeon, jax 0.10.2, 2026-11).
_NEAR_ON_CPUS = 3
_SETS = (LAYOUT_SET, _NEAR_ON_CPUS)

_SAME = 1e-6  # a standard deviation below which an input says nothing

# Timings far from the best hardly matter: their variance is taken to be larger by the square of the
# ratio, up to so much.
_MOST_VARIANCE = 30.0


def train(
    paths: Sequence[Path], *, title: str, folds: int = 5, families: bool = False
) -> tuple[CostModel, dict[str, Any]]:
    """A model of all timings in the files, and the report of models that were each trained without
    a part of the cells, on that part; with `families` also of models that were each trained without
    a family of graphs, on that family. Timings of older layouts either do not count, or are learned
    from alone.

    **Raises:** `ValueError` if there are too few timings; `ImportError` without scikit-learn, which
    makes the tree of depth 3 that the report compares with.
    """
    check_reports()
    measured = _merged([m for path in paths for m in read_timings(path, sets=_SETS)])
    measured = [m for m in measured if m.layouts == LAYOUT_SET or is_cpu(m.device)]
    is_current = np.asarray([m.layouts == LAYOUT_SET for m in measured], bool)
    if len({m.configuration.cell for m in measured if m.layouts == LAYOUT_SET}) < 2 * folds:
        raise ValueError(
            f"There are timings of {is_current.sum()} configurations, too few for {folds} folds "
            "(those of other versions of the layouts do not count). Gather more with `snpjax "
            "formats time`, or ask for fewer folds."
        )
    data = timed(measured)
    x = np.stack([input_table(m.features, m.configuration.workload, m.device) for m in measured])
    fold = _folds(measured, is_current, folds)

    def crossed(part_of: np.ndarray) -> np.ndarray:
        predicted = np.full(data.log_seconds.shape, np.inf)
        for part in np.unique(part_of[is_current]):
            is_other = part_of != part
            is_test = ~is_other & is_current
            model = fit(x[is_other], data.log_seconds[is_other], title=title)
            predicted[is_test] = _predicted(model, x[is_test])
        return predicted[is_current]

    unseen = crossed(data.family) if families else None
    current = data.only(is_current)
    report = report_of(current, crossed(fold), fold[is_current], x[is_current], unseen)
    report["older layouts"] = int(np.count_nonzero(~is_current))
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
    kept = [c for c in range(len(CANDIDATES)) if (~np.isnan(log_seconds[:, c])).sum() >= _FEWEST]
    if not kept:
        raise ValueError(f"No layout was timed on {_FEWEST} configurations. Gather more.")
    table = x[:, kept].swapaxes(0, 1)
    center, spread = table.mean(axis=1), table.std(axis=1)
    scale = np.where(spread > _SAME, spread, np.inf)
    z = standard(table, center[:, None], scale[:, None])
    z = z.astype(np.float16).astype(np.float64)  # as a file has them
    weight = np.zeros(z.shape[:2])
    processes = []
    for place, c in enumerate(kept):
        of = ~np.isnan(log_seconds[:, c])
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


def _folds(
    measured: Sequence[TimingRecord], is_current: Bool[np.ndarray, " rows"], folds: int
) -> Int[np.ndarray, " rows"]:
    """A fold for every cell, by a shuffle of the cells, so that no cell is on both sides; -1 for
    one of which nothing is reported."""
    cell = np.asarray([(m.configuration.seed, m.configuration.cell) for m in measured])
    cells, of = np.unique(cell, axis=0, return_inverse=True)
    is_reported = np.isin(of, of[is_current])
    fold = np.random.default_rng(2).permutation(len(cells))[of] % folds
    return np.where(is_reported, fold, -1)


def _merged(measured: list[TimingRecord]) -> list[TimingRecord]:
    """What was timed several times on a kind of device, once, with all samples."""
    found: dict[Any, TimingRecord] = {}
    for m in measured:
        key = m.device, m.layouts, m.configuration
        before = found.get(key)
        found[key] = m if before is None else before.joined(m)
    return list(found.values())
