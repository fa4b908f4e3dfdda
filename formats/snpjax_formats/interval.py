"""Runs of neighbouring sources or targets: time and memory that do not depend on their length."""

from typing import Literal, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Int

from .edges import Edges
from .ell import expanded, slots_of
from .layout import (
    AbstractPattern,
    BySource,
    ByTarget,
    check_integers,
    check_shape,
    refuse,
)
from .prefix import prefix_sum, slot_sum
from .stored import bucket


#: What the rows of the runs are.
Side: TypeAlias = Literal["target", "source"]


class Interval(AbstractPattern):
    """Each target lists runs `[start, stop)` of its sources, or each source runs of its targets;
    every edge weighs 1.

    Axes: `rows` are the targets or the sources, according to `by`; `runs` is the largest number of
    runs of one row, rounded to a bucket. Padding is the empty run `[0, 0)`.

    By target it pulls: prefix sums of x, and the difference of two of them for each run. By source
    it pushes: each run adds x where it starts and subtracts it where it stops, and the prefix sums
    of that are y. The transpose of one is the other on the same arrays, so one store serves both
    products, in time O(sources + targets + runs).

    Only for integers: the differences are exact even where a running sum wraps (modulo 2^32), but
    with floats they would lose digits.
    """

    start: Int[Array, "runs rows"]
    stop: Int[Array, "runs rows"]
    by: Side = eqx.field(static=True)
    num_sources: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)

    def __check_init__(self):
        num_rows, _ = _sizes(self.by, self.num_sources, self.num_targets)
        if self.start.ndim != 2 or self.start.shape[1] != num_rows:
            raise ValueError(
                f"`start` has shape {self.start.shape}, not (runs, num_{self.by}s), where "
                f"`num_{self.by}s` is {num_rows}."
            )
        check_shape("stop", self.stop, "start", self.start.shape)

    @classmethod
    def from_edges(
        cls,
        edges: Edges,
        *,
        max_input: int | None = None,
        by: Side | None = None,
    ) -> "Interval":
        """Build from a coordinate list, with the longest possible runs.

        `by` selects whether rows are sources or targets; by default targets, unless sources have
        fewer runs.

        **Raises:** `ValueError` for weights and for parallel edges.
        """
        del max_input
        edges = edges.canonical()
        refuse(cls.obstacle(edges))
        by, by_row = _rows(edges, by)
        row, start, stop = runs_of(by_row)
        run = slots_of(row, by_row.num_targets)
        shape = (_num_runs(row), by_row.num_targets)
        starts, stops = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        starts[run, row], stops[run, row] = start, stop
        start, stop = jnp.asarray(starts), jnp.asarray(stops)
        return cls(start=start, stop=stop, by=by, **edges.sizes)

    @classmethod
    def from_runs(
        cls,
        start: Int[np.ndarray, "*runs rows"],
        stop: Int[np.ndarray, "*runs rows"],
        *,
        by: Side,
        num_sources: int,
        num_targets: int,
        turn: bool = True,
    ) -> "Interval":
        """Build from runs of consecutive entries, one or several for each row.

        One run for each source, with starts and stops that are both ascending or both descending,
        is stored by target: a pull, which writes without conflicts.

        **Arguments:**

        - `start`, `stop`: `(rows,)` or `(runs, rows)`: row r has the entries `[start, stop)`, which
          may be empty.
        - `by`: whether rows are `"source"`s or `"target"`s.
        - `num_sources`, `num_targets`: the numbers of nodes.
        - `turn`: whether runs by source may be stored by target.

        **Raises:** `ValueError` for runs that pass the end, end before they start, or overlap
        another run of the row.
        """
        start, stop = checked_runs(start, stop, by, num_sources, num_targets)
        if turn and by == "source" and len(start) == 1:
            pulled = _by_target(start[0], stop[0], num_targets)
            if pulled is not None:
                by, (start, stop) = "target", pulled
        padding = ((0, bucket(len(start), at_least=1) - len(start)), (0, 0))
        return cls(
            start=jnp.asarray(np.pad(start, padding), jnp.int32),
            stop=jnp.asarray(np.pad(stop, padding), jnp.int32),
            by=by,
            num_sources=num_sources,
            num_targets=num_targets,
        )

    @classmethod
    def bytes_needed(cls, edges: Edges, *, by: Side | None = None) -> int:
        """The `nbytes` of `from_edges` with this `by`; `edges` has no parallel edges."""
        edges = edges.canonical()
        _, by_row = _rows(edges, by)
        return 8 * _num_runs(runs_of(by_row)[0]) * by_row.num_targets

    def multiply(self, x: BySource, *, accumulate: DTypeLike) -> ByTarget:
        if self.by == "target":
            return self._pull(x, accumulate)
        return self._push(x, self.num_targets, accumulate)

    def multiply_transposed(self, g: ByTarget, *, accumulate: DTypeLike) -> BySource:
        if self.by == "source":
            return self._pull(g, accumulate)
        return self._push(g, self.num_sources, accumulate)

    def _pull(self, x: Array, accumulate: DTypeLike) -> Array:
        check_integers(self, x, accumulate)
        x = x.astype(accumulate)
        if len(x) == 0:
            return jnp.zeros((self.start.shape[1], *x.shape[1:]), accumulate)
        sums = prefix_sum(x, accumulate)

        def before(end: Array) -> Array:
            # Not a zero in front of the sums, which would be one more kernel on a GPU.
            sum_before = sums.at[jnp.maximum(end - 1, 0)].get(mode="promise_in_bounds")
            return jnp.where(expanded(end, sum_before.ndim) > 0, sum_before, 0)

        def term(run: int) -> Array:
            return before(self.stop[run]) - before(self.start[run])

        total = jnp.zeros((self.start.shape[1], *x.shape[1:]), accumulate)
        return slot_sum(self.start.shape[0], term, total)

    def _push(self, x: Array, num_columns: int, accumulate: DTypeLike) -> Array:
        check_integers(self, x, accumulate)
        # Padding is dropped like a stop behind the last column: writes to one place would contend.
        start = jnp.where(self.start < self.stop, self.start, num_columns)
        stop = jnp.where(self.start < self.stop, self.stop, num_columns)
        x = jnp.broadcast_to(x.astype(accumulate), (self.start.shape[0], *x.shape))
        change = jnp.zeros((num_columns, *x.shape[2:]), accumulate)
        change = change.at[start].add(x, mode="drop").at[stop].add(-x, mode="drop")
        return prefix_sum(change, accumulate)

    def edges(self) -> Edges:
        row, column = _listed(np.asarray(self.start), np.asarray(self.stop))
        source, target = (column, row) if self.by == "target" else (row, column)
        return self.listed(source, target).canonical()


def runs_of(
    edges: Edges,
) -> tuple[Int[np.ndarray, " runs"], Int[np.ndarray, " runs"], Int[np.ndarray, " runs"]]:
    """The target, the first source and the source behind the last of each longest run, by target;
    `edges` are canonical."""
    is_first = np.ones(len(edges), dtype=bool)
    is_first[1:] = (np.diff(edges.target) != 0) | (np.diff(edges.source) != 1)
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(edges))[: len(first)] - 1
    return edges.target[first], edges.source[first], edges.source[last] + 1


def checked_runs(
    start: Int[np.ndarray, "*runs rows"],
    stop: Int[np.ndarray, "*runs rows"],
    by: Side,
    num_sources: int,
    num_targets: int,
) -> tuple[Int[np.ndarray, "runs rows"], Int[np.ndarray, "runs rows"]]:
    """The runs of each row, if they are what they should be."""
    if by not in ("target", "source"):
        raise ValueError(f'`by` is {by!r}. Use "target" or "source".')
    num_rows, num_columns = _sizes(by, num_sources, num_targets)
    start, stop = np.asarray(start), np.asarray(stop)
    if not all(a.size == 0 or np.issubdtype(a.dtype, np.integer) for a in (start, stop)):
        raise ValueError(f"`start` and `stop` are {start.dtype} and {stop.dtype}. Use integers.")
    if start.shape != stop.shape:
        raise ValueError(f"`start` has shape {start.shape} but `stop` has {stop.shape}.")
    if start.ndim not in (1, 2) or start.shape[-1] != num_rows:
        raise ValueError(
            f"`start` has shape {start.shape}, but there are {num_rows} {by}s. Give one run for "
            f"each {by}, or (runs, {num_rows}); an empty run where there is none."
        )
    start, stop = np.atleast_2d(start).astype(np.int64), np.atleast_2d(stop).astype(np.int64)
    other = "source" if by == "target" else "target"
    for bad, fix in (
        ((start < 0) | (stop > num_columns), f"Keep runs within [0, {num_columns}), the {other}s"),
        (start > stop, "Exchange them, or use an empty run"),
    ):
        for row, run in _first(bad):
            raise ValueError(
                f"The run of {by} {row} is [{start[run, row]}, {stop[run, row]}). {fix}."
            )
    order = np.argsort(np.where(start < stop, start, num_columns), axis=0, kind="stable")
    starts, stops = np.take_along_axis(start, order, 0), np.take_along_axis(stop, order, 0)
    for row, run in _first((stops[:-1] > starts[1:]) & (starts[1:] < stops[1:])):
        raise ValueError(
            f"The runs [{starts[run, row]}, {stops[run, row]}) and [{starts[run + 1, row]}, "
            f"{stops[run + 1, row]}) of {by} {row} overlap. Join them, or give weights: use ELL."
        )
    return start, stop


def rows_of(
    ends: Int[np.ndarray, "runs rows"], first: int, size: int
) -> Int[np.ndarray, "runs size"]:
    """Those of `size` rows from number `first` on; rows that do not exist have empty runs."""
    stop = first + size
    missing = max(-first, 0), max(stop - max(ends.shape[1], first), 0)
    some = ends[:, max(first, 0) : max(stop, 0)]
    return np.pad(
        some, ((0, 0), (min(missing[0], size), size - some.shape[1] - min(missing[0], size)))
    )


def _first(bad: np.ndarray) -> list[tuple[int, int]]:
    """Row and run of the first bad run, if there is one."""
    rows, runs = np.nonzero(bad.T)
    return list(zip(rows[:1].tolist(), runs[:1].tolist(), strict=True))


def _by_target(
    start: np.ndarray, stop: np.ndarray, num_targets: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """One run of sources a target, of one run of targets a source, where that is possible."""
    for backwards in (False, True):
        first, last = (start[::-1], stop[::-1]) if backwards else (start, stop)
        # An empty run is anywhere: best where the last one stopped.
        reached = np.maximum.accumulate(np.where(first < last, last, 0))
        first, last = (np.where(first < last, of, reached) for of in (first, last))
        if (np.diff(first) >= 0).all() and (np.diff(last) >= 0).all():
            targets = np.arange(num_targets)
            begin = np.searchsorted(last, targets, side="right")
            end = np.searchsorted(first, targets, side="right")
            if backwards:
                begin, end = len(start) - end, len(start) - begin
            is_empty = begin == end
            return np.where(is_empty, 0, begin)[None], np.where(is_empty, 0, end)[None]
    return None


def _listed(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every edge of the runs."""
    length = (stop - start).ravel()
    row = np.tile(np.arange(start.shape[1], dtype=np.int32), len(start)).repeat(length)
    within = np.arange(len(row)) - (np.cumsum(length) - length).repeat(length)
    return row, (start.ravel().repeat(length) + within).astype(np.int32)


def _rows(edges: Edges, by: Side | None) -> tuple[Side, Edges]:
    """The edges of a canonical graph row by row, and what the rows are: by default the side with
    fewer runs a row."""
    num_runs = _num_runs(runs_of(edges)[0]) if by is None else 0
    if by == "target" or num_runs == 1:  # the least there is: nothing to transpose
        return "target", edges
    by_source = edges.transposed().canonical()
    is_better = by == "source" or _num_runs(runs_of(by_source)[0]) < num_runs
    return ("source", by_source) if is_better else ("target", edges)


def _num_runs(row: np.ndarray) -> int:
    return bucket(int(np.bincount(row, minlength=1).max()), at_least=1)


def _sizes(by: str, num_sources: int, num_targets: int) -> tuple[int, int]:
    """Rows and columns of the matrix, or of its transpose."""
    return (num_targets, num_sources) if by == "target" else (num_sources, num_targets)
