"""How well choosers choose on timings, against the best of each configuration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from .candidates import CANDIDATES
from .decision import Question
from .device import is_cpu
from .features import Features
from .gathering import TimingRecord
from .heuristic import StartingTree
from .workload import Workload


#: Logarithms of seconds; NaN was not timed.
Logs: TypeAlias = Float[np.ndarray, "rows candidates"]
#: A number for each configuration: of a candidate, or of a fold.
Chosen: TypeAlias = Int[np.ndarray, " rows"]

_NAMES = [c.name for c in CANDIDATES]
_COLUMN = {name: i for i, name in enumerate(_NAMES)}
_TIE = 1.05
_PAPERS = ("Dense product", "ELL pull", "CSR pull")


@dataclass(frozen=True, eq=False)
class Timed:
    """Timings as a table.

    Axes: `rows` are configurations, `candidates` as in `CANDIDATES`; NaN was not timed. `by_name`
    has ELL's time where a layout is ELL under another name, for choosers that do not look.
    `halves` are from every second sample, where a candidate has several.
    """

    measured: tuple[TimingRecord, ...]
    log_seconds: Logs
    by_name: Logs
    halves: tuple[Logs, Logs]
    family: Any  # (rows,) of names

    def only(self, rows: Bool[np.ndarray, " rows"]) -> "Timed":
        return Timed(
            tuple(m for m, is_one in zip(self.measured, rows, strict=True) if is_one),
            self.log_seconds[rows],
            self.by_name[rows],
            (self.halves[0][rows], self.halves[1][rows]),
            self.family[rows],
        )


def timed(measured: Sequence[TimingRecord]) -> Timed:
    """The table of all timings."""
    shape = len(measured), len(CANDIDATES)
    tables = [np.full(shape, np.nan) for _ in range(3)]
    for row, m in enumerate(measured):
        for name, timing in m.times.items():
            column = _COLUMN[name]
            tables[0][row, column] = np.log(timing.least)
            if not timing.is_hopeless and len(timing.samples) > 1:
                for half in (0, 1):
                    tables[1 + half][row, column] = np.log(min(timing.samples[half::2]))
    by_name = tables[0].copy()
    for row, m in enumerate(measured):
        for name, is_other in (
            ("SlicedELL pull", m.features.has_slices),
            ("Hybrid pull", m.features.has_overflow),
        ):
            if not is_other:
                by_name[row, _COLUMN[name]] = by_name[row, _COLUMN["ELL pull"]]
    return Timed(
        tuple(measured),
        tables[0],
        by_name,
        (tables[1], tables[2]),
        np.asarray([m.configuration.family for m in measured]),
    )


def report_of(
    data: Timed,
    predicted: Logs,
    fold: Chosen,
    x: Float[np.ndarray, "rows candidates inputs"],
    unseen: Logs | None = None,
) -> dict[str, Any]:
    """Slowdowns against the best, of the model and of the baselines, all on the same
    configurations; each that learns was trained on the other folds. With several kinds of device,
    by kind too."""
    report = _report(data, predicted, fold, x, unseen)
    kind = np.asarray([m.device for m in data.measured])
    parts = {}
    for name in np.unique(kind):
        of = kind == name
        if of.all() or len(np.unique(fold[of])) < 2:
            continue  # nothing to tell apart, or nothing that baselines could learn from
        of_unseen = None if unseen is None else unseen[of]
        parts[str(name)] = _report(data.only(of), predicted[of], fold[of], x[of], of_unseen)
    return {**report, "devices": parts} if parts else report


def _report(
    data: Timed,
    predicted: Logs,
    fold: Chosen,
    x: Float[np.ndarray, "rows candidates inputs"],
    unseen: Logs | None,
) -> dict[str, Any]:
    choices = {
        "learned": _least(predicted, data.log_seconds),
        "best single layout": _single(data, fold),
        "always CSR": np.full(len(fold), _COLUMN["CSR pull"]),
        "heuristic of the paper": _by_rule(data, _paper),
        "starting tree": _by_rule(data, _starting),
        "tree of depth 3": _small_tree(data, fold, x),
    }
    if unseen is not None:
        choices["learned, family unseen"] = _least(unseen, data.log_seconds)
    slowdowns = {name: _slowdown(data.by_name, chosen) for name, chosen in choices.items()}
    for words, most in (("two", 2), ("four", 4)):
        slowdowns[f"learned, best {words} raced"] = _raced(data, predicted, most)
    single = slowdowns["best single layout"]
    report: dict[str, Any] = {
        "configurations": len(data.measured),
        "cells": len({(m.configuration.seed, m.configuration.cell) for m in data.measured}),
        "seeds": sorted({m.configuration.seed for m in data.measured}),
        "noise floor": _noise(data),
        "choosers": {name: _summary(s, single) for name, s in slowdowns.items()},
        "families": {
            str(name): _summary(slowdowns["learned"][data.family == name])
            for name in np.unique(data.family)
        },
        "three formats of the paper": _three(data, predicted),
    }
    return report


def check_reports() -> None:
    """**Raises:** `ImportError` without scikit-learn."""
    try:
        import sklearn.tree  # pyright: ignore[reportMissingImports] # noqa: F401
    except ImportError:
        text = "scikit-learn is not installed (pip install '.[select]' in a clone of snpjax)"
        raise ImportError(text) from None


def _least(predicted: Logs, seconds: Logs) -> Chosen:
    """The candidate with the least prediction, among those that were feasible."""
    return np.where(np.isnan(seconds), np.inf, predicted).argmin(axis=1)


def _raced(data: Timed, predicted: Logs, most: int) -> Float[np.ndarray, " rows"]:
    """The slowdown where the candidates of least prediction are timed: chosen by one half of the
    samples, judged by the other."""
    first, second = data.halves
    known = ~np.isnan(first) & ~np.isnan(second)
    order = np.argsort(np.where(np.isnan(data.log_seconds), np.inf, predicted), axis=1)[:, :most]
    rows = np.arange(len(order))
    times = np.where(known, first, np.inf)
    chosen = order[rows, times[rows[:, None], order].argmin(axis=1)]
    judged = np.where(known, second, data.log_seconds)
    own = judged[rows, chosen]
    return np.exp(own - np.nanmin(judged, axis=1))


def _slowdown(seconds: Logs, chosen: Chosen) -> Float[np.ndarray, " rows"]:
    own = seconds[np.arange(len(chosen)), chosen]
    return np.exp(own - np.nanmin(seconds, axis=1))


def _summary(
    s: Float[np.ndarray, " rows"], single: Float[np.ndarray, " rows"] | None = None
) -> dict[str, Any]:
    mean = float(np.exp(np.log(s).mean()))
    summary: dict[str, Any] = {
        "configurations": len(s),
        "geometric mean": mean,
        "95th percentile": float(np.percentile(s, 95)),
        "largest": float(s.max()),
        "exact": float((s == 1).mean()),
        "within 5 %": float((s <= _TIE).mean()),
        "within 10 %": float((s <= 1.1).mean()),
    }
    if single is not None:
        gain = float(np.log(single).mean())
        summary["gain captured"] = 1 - float(np.log(s).mean()) / gain if gain else 1.0
    return {name: round(x, 4) for name, x in summary.items()}


def _noise(data: Timed) -> dict[str, Any]:
    """The best by every second sample, judged by the others: what no chooser can be better than
    here."""
    first, second = data.halves
    known = ~np.isnan(first) & ~np.isnan(second)
    rows = known.any(axis=1)
    first, second = (np.where(known, of, np.inf)[rows] for of in (first, second))
    found = second[np.arange(len(first)), first.argmin(axis=1)]
    return _summary(np.exp(found - second.min(axis=1)))


def _single(data: Timed, fold: Chosen) -> Chosen:
    """The candidate that is best on average over the other folds, of those always timed."""
    always = ~np.isnan(data.by_name).any(axis=0)
    chosen = np.zeros(len(fold), np.int64)
    excess = data.by_name - np.nanmin(data.by_name, axis=1)[:, None]
    for part in np.unique(fold):
        mean = np.where(always, excess[fold != part].mean(axis=0), np.inf)
        chosen[fold == part] = int(np.argmin(mean))
    return chosen


def _by_rule(data: Timed, rule: Callable[[Features, Workload, str], str]) -> Chosen:
    """The candidate that a rule names; CSR where that was not feasible."""
    chosen = []
    for row, m in enumerate(data.measured):
        device = "cpu" if is_cpu(m.device) else "gpu"
        column = _COLUMN[rule(m.features, m.configuration.workload, device)]
        is_timed = not np.isnan(data.by_name[row, column])
        chosen.append(column if is_timed else _COLUMN["CSR pull"])
    return np.asarray(chosen)


def _paper(f: Features, w: Workload, device: str) -> str:
    """ELLPACK-R computes as ELL here."""
    del w, device
    if f.density >= 0.6:
        return "Dense product"
    return "ELL pull" if f.into.mean <= 128 else "CSR pull"


def _starting(f: Features, w: Workload, device: str) -> str:
    question = Question(None, w, device, device, None)  # pyright: ignore[reportArgumentType]
    question.__dict__["features"] = f
    layout = StartingTree().decide(question).layout
    return next(c.name for c in CANDIDATES if c.layout is layout)


def _small_tree(
    data: Timed, fold: Chosen, x: Float[np.ndarray, "rows candidates inputs"]
) -> Chosen:
    from sklearn.tree import DecisionTreeClassifier  # pyright: ignore[reportMissingImports]

    best, first = np.nanargmin(data.log_seconds, axis=1), x[:, 0]
    chosen = np.zeros(len(fold), np.int64)
    for part in np.unique(fold):
        of = fold != part
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(first[of], best[of])
        chosen[~of] = tree.predict(first[~of])
    rows = np.arange(len(fold))
    is_timed = ~np.isnan(data.by_name[rows, chosen])
    return np.where(is_timed, chosen, _single(data, fold))


def _three(data: Timed, predicted: Logs) -> dict[str, Any]:
    """Random weights and three formats, as the paper has them: how often the best is chosen, a tie
    within 5 % being one."""
    columns = [_COLUMN[name] for name in _PAPERS]
    rows: Bool[np.ndarray, " rows"] = data.family == "paper"
    seconds = data.log_seconds[rows][:, columns]
    if not len(seconds):
        return {}
    heuristic = _by_rule(data, _paper)[rows]
    place = {column: i for i, column in enumerate(columns)}
    choices = {
        "always CSR": np.full(len(seconds), 2),
        "heuristic of the paper": np.asarray([place[column] for column in heuristic]),
        "learned": _least(predicted[rows][:, columns], seconds),
    }
    return {name: _summary(_slowdown(seconds, chosen)) for name, chosen in choices.items()}


def table_of(report: dict[str, Any]) -> str:
    """A report as text."""
    devices = report.get("devices", {})
    tables = [_table(report), *(f"{k}: {_table(r)}" for k, r in devices.items())]
    if report["older layouts"]:
        tables.append(f"Learned from these and {report['older layouts']:,} of older layouts.")
    return "\n\n".join(tables)


def _table(report: dict[str, Any]) -> str:
    lines = [
        f"{report['configurations']:,} configurations in {report['cells']:,} cells; slowdown "
        "against the best:",
        f"  {'':26}{'mean':>8}{'95 %':>8}{'most':>8}{'<= 5 %':>8}{'<= 10 %':>8}{'exact':>8}",
    ]
    groups = {
        "": {**report["choosers"], "noise floor": report["noise floor"]},
        "learned, by family": report["families"],
        "three formats of the paper": report["three formats of the paper"],
    }
    for title, rows in groups.items():
        lines += [title] if title else []
        for name, s in rows.items():
            numbers = [s["geometric mean"], s["95th percentile"], s["largest"]]
            shares = [s["within 5 %"], s["within 10 %"], s["exact"]]
            text = "".join(f"{x:8.3f}" for x in numbers)
            lines.append(f"  {name:26}{text}" + "".join(f"{100 * x:7.1f}%" for x in shares))
    return "\n".join(lines)
