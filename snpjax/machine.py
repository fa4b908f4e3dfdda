"""The protocol of a machine: what the driver needs to know of one, and of the model it was lowered
from."""

import abc
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, PyTree

from .choice import AbstractChoice


class Record(NamedTuple):
    """What one step leaves to be saved: what went to the environment, and how the step was made."""

    output: PyTree
    detail: PyTree


class AbstractMachine(eqx.Module):
    """A discrete dynamical system as arrays: a pytree whose four methods are pure functions of one
    path.

    A halted or failed state steps to itself and leaves an empty record, so that unrolling, batching
    and padding never change a result.
    """

    @abc.abstractmethod
    def init(self) -> PyTree:
        """The initial state."""

    @abc.abstractmethod
    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        """The state one step later, `choice` resolving what is not determined."""

    @abc.abstractmethod
    def halted(self, state: PyTree) -> Bool[Array, ""]:
        """Whether nothing can happen any more."""

    @abc.abstractmethod
    def status(self, state: PyTree) -> Any:
        """A failure of `RESULTS`, or `RESULTS.halted` while there is none."""


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
        layout: Any = None,
        count_dtype: np.dtype | type | None = None,
    ) -> AbstractMachine: ...

    def solution(self, trajectory: Any) -> Solution: ...
