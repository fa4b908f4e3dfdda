"""What a run keeps, the history it saved, and the bases of solutions."""

import abc
import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import jax
import numpy as np
from jaxtyping import Bool, Int, PyTree

from snpjax_formats import host_free_bytes
from snpjax_formats.arguments import as_integer

from ._text.counts import plural
from ._text.pickling import PickledError
from ._text.warn import warn
from .results import HALTED, OUT_OF_MEMORY, RESULTS, codes_of, has_failed


if TYPE_CHECKING:
    from .machine import Presents

S = TypeVar("S")


#: The largest number of steps of a run, which are counted in int32.
MAX_STEPS = 2**30


@dataclass(frozen=True, kw_only=True)
class Save:
    """What a run keeps besides the final state.

    **Arguments:**

    - `every`: keep the configuration after every n-th step; `None` keeps none.
    - `outputs`: keep what was sent to the environment in every step.
    - `details`: keep how every step was made (chosen rules, emissions).
    - `budget`: bytes of host memory for all of it; by default 1 GiB, or what is free if that is
      less. A run that outgrows it continues, drops what is largest (outputs last, the final state
      never), and warns with `HistoryDropped`. One that may need more than a given budget has free
      is refused.
    """

    every: int | None = 1
    outputs: bool = True
    details: bool = True
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.every is not None and not 1 <= as_integer("every", self.every) <= MAX_STEPS:
            raise ValueError(f"`every` is {self.every}. Give 1 to {MAX_STEPS} steps, or None.")

    @property
    def keeps_history(self) -> bool:
        """Whether anything besides the final state is kept."""
        return any(self.kept)

    @property
    def kept(self) -> tuple[bool, bool, bool]:
        """Whether configurations, outputs and details are kept."""
        return self.every is not None, self.outputs, self.details

    def keeping(self, states: bool, outputs: bool, details: bool) -> "Save":
        """The same options restricted to some parts of the history.

        **Arguments:**

        - `states`, `outputs`, `details`: which parts may be kept.
        """
        return replace(
            self,
            every=self.every if states else None,
            outputs=self.outputs and outputs,
            details=self.details and details,
        )


SAVE_ALL = Save()
SAVE_OUTPUTS = Save(every=None, details=False)
SAVE_FINAL = Save(every=None, outputs=False, details=False)


class HistoryDropped(UserWarning):
    """A run's history outgrew `Save(budget=...)`, or memory, and a part of it was dropped.

    `kept` says in words what remains.
    """

    def __init__(self, message: str, kept: str):
        super().__init__(message, kept)
        self.message, self.kept = message, kept

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Trajectory:
    """What a run saved, as host arrays in the machine's own (padded) shapes; a model reads its
    solution from it.

    Axes: the path axis is last in every array and absent for a single path; the step axis is first
    in histories.

    - `final`: the state after the last step.
    - `states`: the initial state, then that after every `every`-th step, or `None` if not saved.
    - `outputs`, `details`: those parts of every step's `Record`, or `None`. Rows after a path's
      halt are empty records.
    - `saved`: what was kept in the end.
    - `steps`: steps made, `()` or `(paths,)`.
    - `result`: `RESULTS`, likewise.
    - `requested`: what was to be kept; more than `saved` where the history outgrew its budget.
    - `numbers`: the numbers of the paths in a run of several processes, each of which has those of
      its own devices; `None` where they are 0, 1, ...
    """

    final: PyTree
    states: PyTree | None
    outputs: PyTree | None
    details: PyTree | None
    saved: Save
    steps: Int[np.ndarray, "*paths"]
    result: Any
    numbers: Int[np.ndarray, " paths"] | None = None
    requested: Save | None = None  # None: `saved`

    def of_path(self, path: int) -> "Trajectory":
        """One path of a batch, cut to its own length."""
        steps = int(self.steps[path])

        def history(tree: PyTree | None, rows: int) -> PyTree | None:
            return None if tree is None else jax.tree.map(lambda x: x[:rows, ..., path], tree)

        return Trajectory(
            final=path_of(self.final, path),
            states=history(self.states, 1 + steps // (self.saved.every or 1)),
            outputs=history(self.outputs, steps),
            details=history(self.details, steps),
            saved=self.saved,
            steps=np.asarray(steps),
            result=path_of(self.result, path),
            requested=self.requested,
        )

    def not_saved(self, part: Literal["states", "outputs", "details"], what: str, run: str):
        """The error about a part of the history that is not there.

        **Arguments:**

        - `part`: which of the histories is missing.
        - `what`: what was asked for, in plural.
        - `run`: the option of `run` that saves it.
        """
        place = ("states", "outputs", "details").index(part)
        if self.requested is None or not self.requested.kept[place]:
            return NotSaved(what, run)
        error = NotSaved(what, "save=snp.Save(budget=...)")
        error.args = (
            f"{what} were dropped, because the history of the run outgrew its budget, or memory. "
            "Run with a larger `save=snp.Save(budget=...)`, or make fewer steps.",
        )
        return error


class NotSaved(PickledError, ValueError):
    """The run did not save this part of its history."""

    def __init__(self, what: str, run: str):
        super().__init__(f"{what} were not saved. Run with `{run}`.")


@dataclass(frozen=True, eq=False, repr=False)
class AbstractSavedRun:
    """What a trajectory says about any model: the base of all solutions."""

    trajectory: Trajectory

    @property
    def result(self) -> Any:
        """A `RESULTS`; in a batch one per path."""
        return self.trajectory.result

    @property
    def saved(self) -> Save:
        """What was kept of the history: less than requested if that outgrew its budget."""
        return self.trajectory.saved

    @property
    def shortage(self) -> str | None:
        """Where memory ran out, in words, or `None`."""
        short = np.flatnonzero(codes_of(self.result) == OUT_OF_MEMORY)
        if not len(short):
            return None
        steps = np.ravel(self.trajectory.steps)
        where = f"after {plural(int(steps[short[0]]), 'step')}"
        if np.ndim(self.trajectory.steps):
            where += f", path {short[0]} ({len(short):,} of {len(steps):,} paths)"
        return f"{where}: {RESULTS[RESULTS.out_of_memory]}"


class AbstractCheckedRun(AbstractSavedRun):
    """A run whose failures are its results."""

    @property
    def failure(self) -> str | None:
        """The first failure in words, or `None`."""
        failed = has_failed(self.result)
        return (self.shortage or self._failure(np.flatnonzero(failed))) if failed.any() else None

    @abc.abstractmethod
    def _failure(self, failed: Int[np.ndarray, " failed"]) -> str:
        """The first failure of those paths in words."""


class AbstractOnePath(AbstractSavedRun):
    """A run of one path."""

    @property
    def steps(self) -> int:
        """Steps made; the halting step where the run halted."""
        return int(self.trajectory.steps)

    @property
    def halted(self) -> bool:
        """Whether nothing can happen any more."""
        return bool(codes_of(self.result) == HALTED)

    @property
    def ending(self) -> str:
        """How the run ended, in words."""
        steps = plural(self.steps, "step")
        if has_failed(self.result):
            return f"failed after {steps}"
        return f"halted after {steps}" if self.halted else f"not halted after {steps}"


class AbstractManyPaths(AbstractSavedRun, Generic[S]):
    """A run of many paths. Each is a solution of its own, cut to its length: `batch[path]`."""

    @abc.abstractmethod
    def _solution(self, trajectory: Trajectory) -> S:
        """The solution of one path."""

    @property
    def steps(self) -> Int[np.ndarray, " paths"]:
        """Steps made by each path; the halting step where it halted."""
        return self.trajectory.steps

    @property
    def paths(self) -> int:
        """The number of paths; in a run of several processes, of those that this one has."""
        return len(self.steps)

    @property
    def path_numbers(self) -> Int[np.ndarray, " paths"]:
        """The number of each path: 0, 1, ..., but in a run of several processes, each of which has
        the paths of its own devices."""
        numbers = self.trajectory.numbers
        return np.arange(self.paths) if numbers is None else numbers

    @property
    def halted(self) -> Bool[np.ndarray, " paths"]:
        """In which paths nothing can happen any more."""
        return codes_of(self.result) == HALTED

    @property
    def ending(self) -> str:
        """How the paths ended, in words."""
        steps = f"steps {np.min(self.steps)} to {np.max(self.steps)}"
        return f"{np.sum(self.halted)} halted, {steps}"

    def __getitem__(self, path: int) -> S:
        try:
            number = range(self.paths)[operator.index(path)]
        except TypeError:
            kind = type(path).__name__
            raise TypeError(f"A path is no {kind}. Give a path 0 to {self.paths - 1}.") from None
        except IndexError:
            raise IndexError(
                f"There is no path {path}. Give a path 0 to {self.paths - 1}."
            ) from None
        return self._solution(self.trajectory.of_path(number))

    def __iter__(self) -> Iterator[S]:
        return map(self.__getitem__, range(self.paths))

    def __len__(self) -> int:
        return self.paths


@partial(jax.tree_util.register_dataclass, data_fields=["leaves"], meta_fields=["tree"])
@dataclass(frozen=True)
class Flat:
    """A tree as its leaves: Python goes through those of a model's own classes slowly."""

    leaves: list[Any]
    tree: Any

    @classmethod
    def of(cls, tree: PyTree) -> "Flat":
        return cls(*jax.tree.flatten(tree))

    def opened(self) -> PyTree:
        return jax.tree.unflatten(self.tree, self.leaves)


#: The states, outputs and details of some steps; no leaves where they are not kept.
Chunk: TypeAlias = tuple[Flat, Flat, Flat]


class History:
    """Chunks of history of some paths on the host, within a budget: the largest part is dropped
    first, outputs last. `tiles` are the histories of all paths of the run, which share it."""

    def __init__(self, save: Save, paths: int | None, tiles: "Sequence[History]"):
        self.wanted = save
        self._chunks: list[Chunk] = []
        # Of outputs and details the row after the last step, where a batch has one.
        self._after: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        self._paths = paths
        self._tiles = tiles
        self._nbytes = 0
        self._num_saved = 0  # chunks that a checkpoint has, or will have

    def append(self, chunk: Chunk, made: int, now: int, presents: "Presents | None" = None) -> None:
        """Take the rows of a chunk that hold the steps after the first `made` ones, up to `now`,
        as `presents` gives them."""
        if not self.wanted.keeps_history:
            return
        every = self.wanted.every or 1
        rows = (now // every - made // every, now - made, now - made)
        after = self._after
        if self._paths is not None and (now > made or not self._chunks):
            row = slice(now - made, now - made + 1)
            _, *records = chunk
            own = ([own_paths(x[row].copy(), self._paths) for x in y.leaves] for y in records)
            after = next(own), next(own)
        states, outputs, details = (
            Flat([self._own(x, num) for x in part.leaves], part.tree)
            for part, num in zip(chunk, rows, strict=True)
        )
        if presents is not None:
            states = _presented(presents.state, states)
            outputs = _presented(presents.outputs, outputs)
            details = _presented(presents.details, details)
        new = states, outputs, details
        # One without rows says at most that there is more capacity.
        if now == made and self._chunks and _widths(new) == _widths(self._chunks[-1]):
            return
        self._chunks.append(new)
        self._after = after
        self._nbytes += nbytes_of(new)
        budget, limit = _budget(self.wanted.budget, self._total())
        if self._total() <= budget:
            return
        self._keep_all(self.wanted.keeping(False, True, False))
        if self._total() > budget or not self.wanted.outputs:
            self.drop(limit)
        else:
            warn_of_dropping(limit, "the outputs and the final configuration")

    def drop(self, limit: str) -> None:
        """Keep nothing of the run but its end, because its history outgrew a limit."""
        self._keep_all(self.wanted.keeping(False, False, False))
        warn_of_dropping(limit, "the final configuration")

    def skip(self, others: "Sequence[History]") -> None:
        """Keep empty records of these paths, which make no step, beside those of others. How steps
        were made is dropped: an empty record of that is the machine's own."""
        if not any(other._chunks for other in others):
            self.wanted = self.wanted.keeping(False, False, False)
            return
        assert self._paths is not None
        if self.wanted.details:
            self.wanted = self.wanted.keeping(True, True, False)
            self._keep_all(self.wanted)
            warn_of_dropping(MEMORY, "all but how steps were made")
        paths, (states, outputs, nothing) = self._paths, others[0]._chunks[0]

        def empty(part: Flat, rows: int) -> Flat:
            leaves = [np.zeros((rows, *x.shape[1:-1], paths), x.dtype) for x in part.leaves]
            return Flat(leaves, part.tree)

        self._chunks.append((empty(states, 0), empty(outputs, 0), nothing))
        self._after = empty(outputs, 1).leaves, []

    def _own(self, x: np.ndarray, num: int) -> np.ndarray:
        """The first `num` rows; a few of them as a copy, which does not keep the rest in memory."""
        return own_paths(x[:num] if 2 * num > len(x) else x[:num].copy(), self._paths)

    def _total(self) -> int:
        """The bytes of all chunks of the run."""
        return sum(history._nbytes for history in self._tiles)

    def _keep_all(self, save: Save) -> None:
        for history in self._tiles:
            history._keep(save)

    def _keep(self, save: Save) -> None:
        """Drop what of a smaller `save` is not wanted."""
        self.wanted = save
        nothing = Flat.of(None)
        self._chunks = [
            (
                nothing if save.every is None else states,
                outputs if save.outputs else nothing,
                details if save.details else nothing,
            )
            for states, outputs, details in self._chunks
        ]
        self._nbytes = nbytes_of(self._chunks)

    def extend(self, final: PyTree, longest: int, made: int, now: int) -> None:
        """Add what there is of paths that ended after `longest` steps for the steps after the first
        `made` ones up to `now`."""
        if not self._chunks:
            return
        every = self.wanted.every or 1
        ends = Flat.of(final if self.wanted.every is not None else None)
        num = now // every - made // every
        longer = [Flat([_repeated(x, num) for x in ends.leaves], ends.tree)]
        for i, after in enumerate(self._after, 1):
            # The row of a step that no path made: the last one, or the one after it.
            columns = zip(*(chunk[i].leaves for chunk in self._chunks), strict=True)
            rows = list(map(_last, columns, after)) if made > longest else after
            empty = [_repeated(x[-1], now - made) for x in rows]
            tree = self._chunks[-1][i].tree
            longer.append(Flat(empty[: tree.num_leaves], tree))
        self._chunks.append((longer[0], longer[1], longer[2]))
        self._nbytes += nbytes_of(longer)

    def new(self) -> Chunk | None:
        """What was added since this was last called, as one chunk."""
        added = self._chunks[self._num_saved :]
        if not added:
            return None
        if len(added) > 1:
            states, outputs, details = (
                Flat(list(map(_joined, *(part.leaves for part in parts))), parts[-1].tree)
                for parts in zip(*added, strict=True)
            )
            self._chunks[self._num_saved :] = [(states, outputs, details)]
        self._num_saved += 1
        return self._chunks[-1]

    def restore(self, chunks: Sequence[Chunk], after: Any = ((), ())) -> None:
        """Have what a checkpoint has."""
        self._chunks = [*chunks]
        self._nbytes, self._num_saved = nbytes_of(self._chunks), len(chunks)
        self._after = list(after[0]), list(after[1])

    @property
    def after(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Of outputs and details the row after the last step, where a batch has one."""
        return self._after

    def finish(
        self,
        initial: PyTree,
        final: PyTree,
        made: int,
        length: int,
    ) -> tuple[PyTree | None, PyTree | None, PyTree | None]:
        """The chunks joined: the initial state and those after it, and the records of `length`
        steps; `None` for what is not kept. All paths ended after `made` steps at the latest, and
        stay as they are from then on."""
        if not self._chunks:
            return None, None, None
        every = self.wanted.every or 1
        states, outputs, details = zip(*self._chunks, strict=True)

        def configurations(begin: Any, end: Any, *parts: np.ndarray) -> np.ndarray:
            first = own_paths(np.asarray(begin), self._paths)[None]
            return _of_length(_joined(first, *parts), 1 + made // every, end, 1 + length // every)

        def records(*parts: np.ndarray) -> np.ndarray:
            found = _joined(*parts)
            # The row after the last step, if more follow, is that of a step that no path made.
            return _of_length(found, made, found[made] if made < length else None, length)

        outputs, details = (
            [*some, Flat(after, some[-1].tree)] if made < length and some[-1].leaves else some
            for some, after in zip((outputs, details), self._after, strict=True)
        )
        ends = Flat.of(initial), Flat.of(final)
        kept = states if self.wanted.every is None else (*ends, *states)
        return (
            _over_leaves(configurations, kept),
            _over_leaves(records, outputs),
            _over_leaves(records, details),
        )


def _widths(chunk: Chunk) -> list[tuple[int, ...]]:
    return [x.shape[1:] for part in chunk for x in part.leaves]


def _last(chunks: Sequence[np.ndarray], otherwise: np.ndarray) -> np.ndarray:
    """The last one that has rows, if there is one."""
    return next((x for x in reversed(chunks) if len(x)), otherwise)


def _repeated(row: Any, num: int) -> np.ndarray:
    return np.repeat(np.asarray(row)[None], num, axis=0)


#: Bytes of a history by default, where memory allows it; and of one for which that is not asked.
_BUDGET, _FEW_BYTES = 2**30, 2**24
MEMORY = "the memory that is free"


def _budget(budget: int | None, total: int) -> tuple[int, str]:
    """The budget of a history that has `total` bytes now, and what it is in words."""
    if budget is None:
        # The processes of a run keep the same.
        free = host_free_bytes() if total > _FEW_BYTES and jax.process_count() == 1 else None
        if free is not None and free < _BUDGET:
            return free, MEMORY  # its parts will be joined, which takes as much again
        budget = _BUDGET
    return budget, f"its budget of {budget:,} bytes"


def warn_of_dropping(limit: str, kept: str) -> None:
    """Say that a history outgrew a limit, and what is kept of the run."""
    message = (
        f"The history of this run outgrew {limit}; kept: {kept}. Try `Save(every=...)`, or a "
        "larger `Save(budget=...)`."
    )
    warn(HistoryDropped(message, kept))


def _presented(present: Callable[[PyTree], PyTree], part: Flat) -> Flat:
    return Flat.of(present(part.opened())) if part.leaves else part


def _over_leaves(function: Callable[..., np.ndarray], trees: Sequence[Flat]) -> PyTree:
    leaves = zip(*(tree.leaves for tree in trees), strict=True)
    return jax.tree.unflatten(trees[-1].tree, [function(*some) for some in leaves])


def _of_length(rows: np.ndarray, num: int, further: Any, length: int) -> np.ndarray:
    """The first `num` rows, and a further one repeated up to a length."""
    if num >= length:
        return rows[:length]
    return np.concatenate([rows[:num], np.repeat(np.asarray(further)[None], length - num, axis=0)])


def beside(parts: Sequence[PyTree]) -> PyTree:
    """Arrays of some paths beside those of others: paths are last."""
    if len(parts) == 1:
        return parts[0]
    return jax.tree.map(lambda *some: np.concatenate(some, axis=-1), *parts)


def path_of(tree: PyTree, path: int) -> PyTree:
    """One path of arrays whose last axis is `paths`."""
    return jax.tree.map(lambda x: x[..., path], tree)


# How many neurons or places the model of a state has, by the identity of the state: states are
# padded, so that their shapes do not tell.
_sizes: "dict[int, tuple[weakref.ref[Any], int]]" = {}


def with_size(state: S, size: int) -> S:
    """The same state, of which `size_of` knows how many neurons or places its model has."""
    number = id(state)
    _sizes[number] = weakref.ref(state, lambda _: _sizes.pop(number, None)), size
    return state


def size_of(state: object) -> int | None:
    """The size of a state as a solution gave it; `None` for any other."""
    held = _sizes.get(id(state))
    return held[1] if held is not None and held[0]() is state else None


def own_paths(x: np.ndarray, paths: int | None) -> np.ndarray:
    """An array without the trailing paths that pad a batch."""
    return x if paths is None else x[..., :paths]


def most_steps(steps: Int[np.ndarray, "*paths"]) -> int:
    """The steps of the longest path, 0 if there is none."""
    return int(steps.max(initial=0)) if steps.ndim else int(steps)


def nbytes_of(tree: PyTree) -> int:
    """The bytes of all arrays of a tree."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(tree))


def _joined(*chunks: np.ndarray) -> np.ndarray:
    """Chunks of a history joined, padded with zeros where a machine had less capacity."""
    if len({chunk.shape[1:] for chunk in chunks}) == 1:
        return np.concatenate(chunks)
    shape = np.max([chunk.shape[1:] for chunk in chunks], axis=0).tolist()
    widths = [
        [(0, 0), *((0, m - n) for m, n in zip(shape, x.shape[1:], strict=True))] for x in chunks
    ]
    return np.concatenate([np.pad(x, width) for x, width in zip(chunks, widths, strict=True)])
