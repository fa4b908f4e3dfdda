"""The protocols of a machine: what the driver needs to know of one, and of the model it was lowered
from."""

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from .choice import AbstractChoice
from .trajectory import Save, Trajectory


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


class AbstractStorage:
    """Another way to store a model than by a layout of its edges, given as `layout=`."""


class AbstractCapacity:
    """The room of a machine that grows, given as `capacity=`."""


class AbstractEngine(eqx.Module):
    """A way to compute the steps of a machine that has several, given as `engine=`."""


class Stacked(eqx.Module):
    """Different machines of one shape, run side by side: every array has the path axis last."""

    machine: AbstractMachine
    num_paths: int = eqx.field(static=True)

    @classmethod
    def of(cls, machines: Sequence[AbstractMachine]) -> "Stacked":
        """The stack on the default device, assembled on the host.

        **Raises:** `ValueError` if the machines differ in shape.
        """
        leaves, trees = zip(*map(jax.tree.flatten, machines), strict=True)
        shapes = {tuple((x.shape, x.dtype) for x in some) for some in leaves}
        if len(set(trees)) > 1 or len(shapes) > 1:
            raise ValueError("The machines differ in shape. Store them all in `ELL`.")
        stacked = [np.stack(parts, axis=-1) for parts in zip(*leaves, strict=True)]
        return cls(jax.device_put(jax.tree.unflatten(trees[0], stacked)), len(machines))


#: The axis of the paths in the arrays of stacked machines.
_LAST = eqx.if_array(-1)


def over_paths(function: Callable, machine: AbstractMachine | Stacked) -> Callable:
    """`function(machine, state, ...)` as a function of what follows the machine. A machine takes
    the paths of states, which are last, and of path numbers; stacked ones are mapped over them."""
    if isinstance(machine, Stacked):
        mapped = eqx.filter_vmap(function, in_axes=_LAST, out_axes=-1)
        return partial(mapped, machine.machine)
    return partial(function, machine)


@runtime_checkable
class Leaping(Protocol):
    """A machine that makes many steps at once, faster than one by one."""

    def leap(
        self, state: PyTree, choice: AbstractChoice, most: Int[Array, "*paths"], *, rows: int | None
    ) -> tuple[PyTree, Int[Array, "*paths"], PyTree]:
        """At most `most` steps of each path, fewer where it halts or fails; how many each made;
        and the details of the steps in `rows` rows, at least `most`, or `None` for `None`.

        It leaves nothing in the records of steps but details."""
        ...

    def kept(self, state: PyTree) -> PyTree:
        """A state without what follows from the rest of it."""
        ...


@runtime_checkable
class Growable(Protocol):
    """A machine with a limited room, of which there can be more."""

    def is_full(self, state: PyTree) -> Bool[Array, "*paths"]:
        """Whether the step to this state, or from it, failed for want of room."""
        ...

    def refused(self, state: PyTree, failed: PyTree) -> PyTree:
        """`state`, failed as what should have followed it."""
        ...

    def grown(self, state: PyTree) -> tuple[AbstractMachine, PyTree]:
        """The machine and a refused state with more room, ready to go on."""
        ...


@runtime_checkable
class AnySolution(Protocol):
    """What a model makes of a trajectory."""

    @property
    def result(self) -> Any: ...

    @property
    def failure(self) -> str | None:
        """The first failure in words, with its place and the fix."""
        ...


S = TypeVar("S", bound=AnySolution, covariant=True)


@dataclass(frozen=True, eq=False)
class Lowered(Generic[S]):
    """A model as arrays, ready to be run any number of times: `snpjax.run(lowered)`.

    - `model`: what was lowered.
    - `machine`: its arrays, on the default device.
    - `is_numbered`: whether every alternative of the model is one of the machine, so that given
      choices and weights can tell them apart by number.
    - `safe_steps`: a run of at most this many steps from the model's own initial configuration
      cannot overflow; `unwatched` is the machine that does not look for it.
    - `alternatives`: the most that any chooser has, and the choosers, if something is chosen.
    """

    model: "Model[S]"
    machine: AbstractMachine | Stacked
    is_numbered: bool = True
    safe_steps: int = 0
    unwatched: AbstractMachine | Stacked | None = None
    alternatives: tuple[int, int] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of the machine's arrays."""
        return sum(x.nbytes for x in jax.tree.leaves(self.machine))

    def machine_for(self, max_steps: int) -> AbstractMachine | Stacked:
        """The machine for a run of at most `max_steps` from the model's initial configuration."""
        if self.unwatched is None or max_steps > self.safe_steps:
            return self.machine
        return self.unwatched


@runtime_checkable
class Model(Protocol[S]):
    """What `run` can run: it lowers to a machine, and reads a trajectory back.

    `lower` names the options that it takes of those that `run` was called with, as keyword-only
    arguments with defaults. Two are given by `run` itself: `numbered`, whether the choice tells
    alternatives by the model's numbers, and `many_paths`, whether 64 or more will be run at once.
    """

    def lower(self, *, numbered: bool = False, many_paths: bool = False) -> Lowered[S]: ...

    def solution(self, trajectory: Trajectory) -> S: ...


@runtime_checkable
class Startable(Protocol):
    """A model whose runs may begin anywhere, and take inputs of their own."""

    def start(
        self, machine: AbstractMachine | Stacked, initial: Any, inputs: Any
    ) -> tuple[AbstractMachine | Stacked, PyTree]:
        """The machine that takes `inputs`, and its state at the beginning, that of one path or of
        many; `None` stands for the model's own.

        **Raises:** `ValueError` for what does not fit the model.
        """
        ...


@runtime_checkable
class Sparing(Protocol):
    """A model whose runs are long, so that it says what of them is kept by default."""

    def default_save(self, paths: int | None) -> Save: ...
