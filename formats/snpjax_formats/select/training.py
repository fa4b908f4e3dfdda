"""From timings to a cost model, and to a report of how well it chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .candidates import CANDIDATES
from .evaluation import report_of, timed
from .gathering import Measured, read_timings
from .inputs import input_table
from .model import CostModel
from .trees import Trees


# A candidate needs so many timings to be predicted at all.
_FEWEST = 15

# Timings far from the best hardly matter: weights fall with the ratio, to this.
_LEAST_WEIGHT = 0.03

_RIDGE = 1e-2
# Trees that are averaged follow noise less than boosted ones: on two CPU cores a geometric mean of
# 1.044 to 1.050 against 1.059 to 1.063 (5 folds, several settings, other splits than reported).
_TREES = {"n_estimators": 60, "max_leaf_nodes": 64, "max_features": 1.0, "random_state": 0}


def train(
    paths: Sequence[Path], *, title: str, folds: int = 5, families: bool = False
) -> tuple[CostModel, dict[str, Any]]:
    """A model of all timings in the files, and the report of models that were each trained without
    a part of the cells, on that part; with `families` also of models that were each trained without
    a family of graphs, on that family.

    Settings of the trees are constants of this module, chosen on other splits than those reported.

    **Raises:** `ValueError` if there are too few timings; `ImportError` without scikit-learn.
    """
    measured = _merged([m for path in paths for m in read_timings(path)])
    if len({m.configuration.cell for m in measured}) < 2 * folds:
        raise ValueError(
            f"There are timings of {len(measured)} configurations, too few for {folds} folds. "
            "Gather more with `snpjax formats time`, or ask for fewer folds."
        )
    data = timed(measured)
    x = np.stack([input_table(m.features, m.configuration.workload) for m in measured])
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
    """One linear function and one sum of trees for each candidate that was timed often enough; NaN
    is a candidate that was not."""
    best = np.nanmin(log_seconds, axis=1)
    kept = [c for c in range(len(CANDIDATES)) if _is_timed(log_seconds[:, c]).sum() >= _FEWEST]
    parts, rows = [], []
    for c in kept:
        of = _is_timed(log_seconds[:, c])
        y, inputs = log_seconds[of, c], x[of, c]
        weight = np.exp(best[of] - y) + _LEAST_WEIGHT
        rows.append(_linear(inputs, y, weight))
        center, scale, slope, offset = rows[-1]
        standard = np.clip((inputs - center) / scale, -4, 4)
        parts.append(_averaged(inputs, y - offset - standard @ slope, weight))
    center, scale, slope, offset = (np.asarray(column) for column in zip(*rows, strict=True))
    return CostModel(
        title=title,
        names=tuple(CANDIDATES[c].name for c in kept),
        low=x.min(axis=(0, 1)),
        high=x.max(axis=(0, 1)),
        center=center,
        scale=scale,
        slope=slope,
        offset=offset,
        trees=_joined(parts),
    )


def _is_timed(column: Float[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
    return ~np.isnan(column)


def _linear(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[Any, Any, Any, float]:
    """Weighted ridge regression: center, scale, slope, offset."""
    center, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    z = np.concatenate([np.ones((len(x), 1)), (x - center) / scale], axis=1)
    left = z.T @ (z * weight[:, None]) + _RIDGE * weight.sum() * np.eye(z.shape[1])
    solved = np.linalg.solve(left, z.T @ (weight * y))
    return center, scale, solved[1:], float(solved[0])


def _averaged(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> list[Any]:
    """Each tree as (feature, threshold, left, right, value), from scikit-learn's arrays."""
    try:
        from sklearn.ensemble import ExtraTreesRegressor  # pyright: ignore[reportMissingImports]
    except ImportError:
        text = "scikit-learn is not installed (pip install 'snpjax[select]')"
        raise ImportError(text) from None
    found = ExtraTreesRegressor(**_TREES).fit(x, y, sample_weight=weight)
    trees = []
    for regressor in found.estimators_:
        tree = regressor.tree_
        itself = np.arange(tree.node_count)
        is_leaf = tree.children_left < 0
        trees.append(
            (
                np.where(is_leaf, 0, tree.feature),
                np.where(is_leaf, 0, tree.threshold),
                np.where(is_leaf, itself, tree.children_left),
                np.where(is_leaf, itself, tree.children_right),
                np.where(is_leaf, tree.value[:, 0, 0] / len(found.estimators_), 0),
            )
        )
    return trees


def _joined(parts: list[list[Any]]) -> Trees:
    """The trees of all candidates, one after the other."""
    trees = [tree for part in parts for tree in part]
    sizes = [len(tree[0]) for tree in trees]
    root = np.cumsum([0, *sizes])[:-1]
    feature, threshold, left, right, value = (
        np.concatenate([np.zeros(0), *(tree[i] for tree in trees)]) for i in range(5)
    )
    start = np.repeat(root, sizes)
    return Trees(
        feature=feature.astype(np.int16),
        threshold=threshold.astype(np.float32),
        left=(left + start).astype(np.int32),
        right=(right + start).astype(np.int32),
        value=value.astype(np.float32),
        root=root.astype(np.int32),
        output=np.repeat(np.arange(len(parts)), [len(part) for part in parts]).astype(np.int16),
    )


def _predicted(
    model: CostModel, x: Float[np.ndarray, "rows candidates inputs"]
) -> Float[np.ndarray, "rows candidates"]:
    logs = np.full(x.shape[:2], np.inf)
    for place, name in enumerate(model.names):
        column = next(i for i, c in enumerate(CANDIDATES) if c.name == name)
        logs[:, column] = model.logs(x[:, column], np.full(len(x), place))
    return logs


def _folds(cell: Int[np.ndarray, " rows"], folds: int) -> Int[np.ndarray, " rows"]:
    """A fold for every cell, by a shuffle of the cells, so that no cell is on both sides."""
    cells, of = np.unique(cell, return_inverse=True)
    return np.random.default_rng(2).permutation(len(cells))[of] % folds


def _merged(measured: list[Measured]) -> list[Measured]:
    """What was timed several times, once, with all samples."""
    found: dict[Any, Measured] = {}
    for m in measured:
        before = found.get(m.configuration)
        found[m.configuration] = m if before is None else before.joined(m)
    return list(found.values())
