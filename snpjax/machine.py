"""The protocol of a machine: what the driver needs to know of one, and of the model it was lowered
from."""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from .choice import AbstractChoice


class Record(NamedTuple):
    """What one step leaves: what went to the environment, how the step was made, both to be saved,
    and whether it was made at all: not in a halting state, nor where it fails."""

    output: PyTree
    detail: PyTree
    made: Bool[Array, "*paths"]


class AbstractMachine(eqx.Module):
    """A discrete dynamical system as arrays: a pytree whose four methods are pure functions of a
    state, that of one path, or those of many with `paths` as the last axis of every array.

    A halted or failed state steps to itself and leaves an empty record, so that unrolling, batching
    and padding never change a result.
    """

    @abc.abstractmethod
    def init(self) -> PyTree:
        """The initial state, of one path."""

    @abc.abstractmethod
    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        """The state one step later, `choice` resolving what is not determined."""

    @abc.abstractmethod
    def halted(self, state: PyTree) -> Bool[Array, "*paths"]:
        """Whether nothing can happen any more."""

    @abc.abstractmethod
    def status(self, state: PyTree) -> Any:
        """A failure of `RESULTS`, or `RESULTS.halted` while there is none."""


class Stacked(eqx.Module):
    """Different machines of one shape, run side by side: every array has the path axis last."""

    machine: AbstractMachine
    num_paths: int = eqx.field(static=True)

    @classmethod
    def of(cls, machines: Sequence[AbstractMachine]) -> "Stacked":
        """**Raises:** `ValueError` if the machines differ in shape."""
        leaves, trees = zip(*map(jax.tree.flatten, machines), strict=True)
        shapes = {tuple((x.shape, x.dtype) for x in some) for some in leaves}
        if len(set(trees)) > 1 or len(shapes) > 1:
            raise ValueError("The machines differ in shape. Store them all in `ELL`.")
        stacked = [jnp.stack(parts, axis=-1) for parts in zip(*leaves, strict=True)]
        return cls(jax.tree.unflatten(trees[0], stacked), len(machines))


class Started(eqx.Module):
    """A machine and the states that its paths start from: every array has the path axis last."""

    machine: AbstractMachine
    states: PyTree
    num_paths: int = eqx.field(static=True)


@runtime_checkable
class Leaping(Protocol):
    """A machine that makes many steps at once, faster than one by one."""

    def leap(
        self, state: PyTree, choice: AbstractChoice, most: Int[Array, ""], *, rows: int | None
    ) -> tuple[PyTree, Int[Array, "*paths"], PyTree]:
        """At most `most` steps of every path, fewer where it halts or fails; how many each made;
        and the details of the steps in so many `rows`, at least `most`, or `None` for `None`.

        It leaves nothing in the records of steps but details."""
        ...

    def kept(self, state: PyTree) -> PyTree:
        """A state without what follows from the rest of it."""
        ...


@runtime_checkable
class Sparing(Protocol):
    """A model whose runs are long, so that it says what of them is kept by default."""

    def default_save(self, paths: int | None) -> Any: ...


@runtime_checkable
class Solution(Protocol):
    """What a model makes of a trajectory."""

    @property
    def result(self) -> Any: ...

    @property
    def failure(self) -> str | None:
        """The first failure in words, with its place and the fix."""
        ...


@runtime_checkable
class Model(Protocol):
    """What `run` can run: it has names, lowers to a machine, and reads a trajectory back."""

    def lower(
        self,
        *,
        layout: Any = "auto",
        count_dtype: np.dtype | type | None = None,
        faithful: bool = False,
        numbered: bool = False,
        max_steps: int | None = None,
    ) -> AbstractMachine | Stacked | Started:
        """`numbered`: given choices will name alternatives by the model's numbers; `max_steps`: no
        more steps will be made, if it is known."""
        ...

    def solution(self, trajectory: Any) -> Solution: ...
