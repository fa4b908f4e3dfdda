"""Statistics: what is learnt from many paths without keeping them."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Num, PyTree

from .._text.counts import plural
from ..machine import Record


V = TypeVar("V")


class PathEnd(NamedTuple):
    """How paths ended: the last state, the steps made, and what a statistic made of them."""

    state: PyTree
    steps: Int[Array, "*paths"]
    carry: PyTree


class Bin(eqx.Module):
    """A value of which is counted how many paths have it: `index`, among `num`. An index outside
    counts for none."""

    index: Int[Array, "*paths"]
    num: int = eqx.field(static=True)


@dataclass(frozen=True)
class Summary(Generic[V]):
    """What a run of many paths with `observe=` learnt.

    - `value`: what the statistic makes of the sums over all paths.
    - `paths`: how many there were; `halted` and `failed`: how many ended so.
    - `steps`: made by all paths together.
    - `result`: the failure of the first path that failed; without one `RESULTS.halted` if all
      halted, else `RESULTS.max_steps_reached`.
    - `failure`: the first failure in words, or `None`.
    """

    value: V
    paths: int
    halted: int
    failed: int
    steps: int
    result: Any
    failure: str | None


class AbstractStatistic(eqx.Module, Generic[V]):
    """What is made of every path of a run, and added up over all paths: `snpjax.run(observe=...)`.

    The methods are traced. As in a machine, `paths` is the last axis of every array, and may be
    absent. Sums of integers are exact. Those of floats are made in an order that depends on the
    numbers of the paths only.
    """

    def begin(self, state: PyTree) -> PyTree:
        """What is carried from step to step, from the first state on; by default nothing."""
        return None

    def update(self, carry: PyTree, state: PyTree, record: Record) -> PyTree:
        """Update what is carried from step to step.

        **Arguments:**

        - `carry`: what was carried before the step.
        - `state`: the new state.
        - `record`: the `Record` of the step. Where `record.made` is false the path made no step,
          and its `carry` must not change.

        **Returns:** what is carried after the step; by default `carry`.
        """
        del state, record
        return carry

    @abc.abstractmethod
    def of_path(self, end: PathEnd) -> PyTree[Num[Array, "*shape_and_paths"] | Bin]:
        """What is added up, of each path."""

    def result(self, sums: PyTree[np.ndarray]) -> V:
        """What `run` returns of the sums: by default these, in the shape of `of_path` without the
        axis of paths, integers as int64 and floats as float64."""
        return sums  # pyright: ignore[reportReturnType]


class ComputedNumbers(AbstractStatistic[np.ndarray]):
    """How often each number was computed: the steps between the first two spikes of an output
    neuron, see `Solution.interval`.

    **Arguments:**

    - `most`: numbers up to it are distinguished.
    - `output`: the place of the neuron among the outputs of the system.

    **Returns:** `(most + 2,)` paths: entry n has those of number n, the last entry those of larger
    ones. What is missing up to all paths computed none.
    """

    most: int = eqx.field(static=True)
    output: int = eqx.field(static=True, default=0)

    def begin(self, state: PyTree) -> tuple[Array, Array, Array]:
        like = jnp.zeros_like(state.step)
        return like, like, like  # steps, and those of the first two spikes

    def update(self, carry: PyTree, state: PyTree, record: Record) -> PyTree:
        trains = record.output
        num = 0 if trains is None else len(trains)
        if trains is None or not 0 <= self.output < num:
            raise ValueError(
                f"`observe` is ComputedNumbers(output={self.output}), but the model has "
                f"{plural(num, 'output')} of spikes. Give the place of an output neuron, or "
                "another statistic, such as Distribution."
            )
        steps, first, second = carry
        steps = steps + 1
        emits = trains[self.output] != 0
        second = jnp.where(emits & (first > 0) & (second == 0), steps, second)
        first = jnp.where(emits & (first == 0), steps, first)
        return steps, first, second

    def of_path(self, end: PathEnd) -> Bin:
        _, first, second = end.carry
        number = jnp.minimum(second - first, self.most + 1)
        return Bin(jnp.where(second > 0, number, -1), self.most + 2)


class Distribution(AbstractStatistic[np.ndarray]):
    """How often a number has each value at the end: `Distribution(lambda end: end.state.spikes[3],
    most=20)` counts the spikes of neuron 3.

    **Arguments:**

    - `of`: the number, 0 or more, of an `PathEnd`.
    - `most`: numbers up to it are distinguished.

    **Returns:** `(most + 2,)` paths: entry n has those of number n, the last entry those of larger
    ones.
    """

    of: Callable[[PathEnd], Int[Array, "*paths"]] = eqx.field(static=True)
    most: int = eqx.field(static=True)

    def of_path(self, end: PathEnd) -> Bin:
        number = jnp.asarray(self.of(end))
        return Bin(jnp.minimum(number, self.most + 1).astype(jnp.int32), self.most + 2)


class Total(AbstractStatistic[PyTree]):
    """The sum over all paths of numbers at the end: `Total(lambda end: end.steps)`.

    **Arguments:**

    - `of`: an array, or a tree of them, of an `PathEnd`.

    **Returns:** the sums, integers as int64 and floats as float64.
    """

    of: Callable[[PathEnd], PyTree[Num[Array, "*shape_and_paths"]]] = eqx.field(static=True)

    def of_path(self, end: PathEnd) -> PyTree:
        return self.of(end)


# ---- sums over blocks of paths ----

#: Floats are added within blocks of this many consecutive paths, in pairs of neighbours, and the
#: sums of blocks in the order of their numbers.
BLOCK = 4096

_HALF = 16  # bits: sums of this many bits of a block's integers fit 32


def block_sums(values: PyTree, is_counted: Bool[Array, " paths"], block: int) -> PyTree:
    """Sums over blocks of consecutive paths, `block` of them each, which is a power of two up to
    `BLOCK`; those that are not counted add 0. Blocks are last.

    Integers are in parts of 16 bits, see `Sums`.
    """

    def of_leaf(x: Any) -> Array:
        if isinstance(x, Bin):
            return _binned(x, is_counted, block)
        x = jnp.asarray(x)
        x = jnp.where(is_counted, x, jnp.zeros((), x.dtype))
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return _in_pairs(_blocks(x, block))
        return _exact(_blocks(x, block))

    return jax.tree.map(of_leaf, values, is_leaf=lambda x: isinstance(x, Bin))


def _blocks(x: Array, block: int) -> Array:
    return x.reshape(*x.shape[:-1], x.shape[-1] // block, block)


def _binned(x: Bin, is_counted: Bool[Array, " paths"], block: int) -> Int[Array, "1 bins blocks"]:
    """A count fits one part."""
    is_in = is_counted & (x.index >= 0) & (x.index < x.num)
    paths = x.index.shape[-1]
    of = jnp.arange(paths, dtype=jnp.int32) // block
    blocks = paths // block
    place = jnp.where(is_in, x.index.astype(jnp.int32), x.num)
    found = jnp.zeros((x.num, blocks), jnp.int32).at[place, of].add(1, mode="drop")
    return found[None]


def _in_pairs(x: Any) -> Any:
    """The sum over the last axis, neighbours first, whatever the compiler makes of it."""
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return x[..., 0]


def _exact(x: Array) -> Int[Array, "parts *shape_and_blocks"]:
    """Sums of 16 bits of integers at a time, the lowest first; the last part has the sign."""
    if x.dtype == bool or x.dtype.itemsize < 4:
        x = x.astype(jnp.int32)
    width = 8 * x.dtype.itemsize
    parts = []
    for shift in range(0, width, _HALF):
        part = x >> np.asarray(shift, x.dtype)
        if shift + _HALF < width:
            part = part & np.asarray((1 << _HALF) - 1, x.dtype)
        parts.append(jnp.sum(part.astype(jnp.int32), axis=-1, dtype=jnp.int32))
    return jnp.stack(parts)


class Sums:
    """Sums of blocks of `block` paths each, added in the order of their numbers, on the host."""

    def __init__(self, block: int) -> None:
        self._parts = BLOCK // block  # blocks of floats that are added in pairs first
        self._tree: Any = None
        self._sums: list[np.ndarray] = []
        self._waiting: list[np.ndarray] = []

    @property
    def has_some(self) -> bool:
        """Whether anything was added."""
        return bool(self._sums)

    def saved(self) -> tuple[PyTree[np.ndarray], PyTree[np.ndarray]]:
        """All of it, for `restore`."""
        if not self._sums:
            return None, None
        sums, waiting = (jax.tree.unflatten(self._tree, x) for x in (self._sums, self._waiting))
        return sums, waiting

    def restore(self, sums: PyTree[np.ndarray], waiting: PyTree[np.ndarray]) -> None:
        """Have what was saved."""
        self._sums, self._tree = jax.tree.flatten(sums)
        self._waiting = jax.tree.leaves(waiting)

    def add(self, found: PyTree[np.ndarray]) -> None:
        """The sums of the next blocks, which are last."""
        leaves, self._tree = jax.tree.flatten(found)
        if not self._sums:
            self._sums = [_nothing(x) for x in leaves]
            self._waiting = [x[..., :0] for x in leaves]
        for i, x in enumerate(leaves):
            if np.issubdtype(x.dtype, np.integer):
                self._sums[i] += x.sum(axis=-1, dtype=np.int64)
            else:
                held = np.concatenate([self._waiting[i], x], axis=-1)
                num = held.shape[-1] // self._parts * self._parts
                self._add_floats(i, held[..., :num])
                self._waiting[i] = held[..., num:]

    def _add_floats(self, i: int, x: np.ndarray) -> None:
        x = x.reshape(*x.shape[:-1], x.shape[-1] // self._parts, self._parts)
        for each in np.moveaxis(_in_pairs(x), -1, 0):
            self._sums[i] += each.astype(np.float64)

    def total(self) -> PyTree[np.ndarray]:
        """All sums. **Raises:** `OverflowError` for one of integers that 64 bits do not hold."""
        for i, x in enumerate(self._waiting):
            if x.shape[-1]:
                missing = [(0, 0)] * (x.ndim - 1) + [(0, self._parts - x.shape[-1])]
                self._add_floats(i, np.pad(x, missing))
            self._waiting[i] = x[..., :0]
        return jax.tree.unflatten(self._tree, [_joined(x) for x in self._sums])


def _nothing(x: np.ndarray) -> np.ndarray:
    dtype = np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64
    return np.zeros(x.shape[:-1], dtype)


def _joined(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.int64:
        return x
    numbers = sum(part.astype(object) << _HALF * i for i, part in enumerate(x))
    return np.asarray(numbers).astype(np.int64)
