"""The protocol of a machine: what the driver needs to know of one, and of the model it was lowered
from."""

import abc
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import (
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    overload,
    runtime_checkable,
)

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, UInt, UInt32

from .choice import AbstractChoice, GivenChoices, Ways
from .lines import Labels, Table


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


NameT = TypeVar("NameT", bound=Hashable)

# ---- enumeration: what `explore` needs of a machine ----


class Encoding(NamedTuple):
    """How configurations are written as vectors of unsigned numbers, called fields.

    - `dtype`: the unsigned type of all fields.
    - `usual`: a value that each field is likely to reach. A good guess avoids repacking.
    - `last_step`: steps from this one on are not distinguished.
    - `wider`: the signed type to count in if this one overflows.
    """

    dtype: np.dtype
    usual: "UInt32[Array, ' fields'] | UInt32[np.ndarray, ' fields'] | None" = None
    last_step: "Int[Array, ''] | int" = 0
    wider: np.dtype | None = None


@runtime_checkable
class Enumerable(Protocol):
    """A machine whose configurations can be stored and whose choices can be numbered.

    As in `AbstractMachine`, `paths` may be the last axis of all arrays. Configurations with equal
    fields have equal futures. An overflow is `RESULTS.spike_overflow`, whatever is counted.
    """

    @property
    def encoding(self) -> Encoding: ...

    def init(self) -> PyTree: ...

    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        """`choice` is a `NumberedChoice`; the detail of the record is what `Schema.steps` reads."""
        ...

    def halted(self, state: PyTree) -> Bool[Array, "*paths"]: ...

    def status(self, state: PyTree) -> Any: ...

    def alternatives(self, state: PyTree) -> Ways:
        """Which alternatives each chooser has, or the number of ways to take each of them."""
        ...

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        """The choosers that may have several alternatives; all others have at most one."""
        ...

    def encode(self, state: PyTree) -> UInt[Array, "fields *paths"]: ...

    def decode(self, fields: UInt[Array, "fields *paths"]) -> PyTree:
        """A state with this configuration."""
        ...


@runtime_checkable
class RedundantChoices(Protocol):
    """An enumerable machine in which two choices may lead to one step."""

    @property
    def has_redundant_choices(self) -> bool: ...

    def is_redundant(self, detail: PyTree) -> Bool[Array, "*paths"]:
        """Whether an earlier choice of the same configuration makes the step with this detail."""
        ...


class LazyNames(Sequence[NameT]):
    """Names that are listed when they are needed."""

    def __init__(self, make: Callable[[], Sequence[NameT]]):
        self._make = make

    @cached_property
    def _names(self) -> Sequence[NameT]:
        return self._make()

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> NameT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NameT]: ...
    def __getitem__(self, index: int | slice) -> NameT | Sequence[NameT]:
        return self._names[index]


# ---- schema: what graphs, queries, witnesses, exports and pictures need of a machine ----


@runtime_checkable
class SomeConfigurations(Protocol):
    """Some configurations of a machine on the host, with names: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def step(self) -> Int[np.ndarray, " configurations"]:
        """The steps made, up to `Encoding.last_step`."""
        ...

    @property
    def is_halting(self) -> Bool[np.ndarray, " configurations"]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, name: str, /) -> Int[np.ndarray, "configurations *elements"]:
        """The count of a name, see `Schema.names`."""
        ...


@runtime_checkable
class SomeSteps(Protocol):
    """Some steps between configurations on the host, with names.

    - `sources`, `targets`: the numbers of the configurations before and after.
    """

    @property
    def sources(self) -> Int[np.ndarray, " steps"]: ...

    @property
    def targets(self) -> Int[np.ndarray, " steps"]: ...

    @property
    def choices(self) -> GivenChoices:
        """The choices of these steps, one after the other."""
        ...

    def __len__(self) -> int: ...


class Action(NamedTuple):
    """What one chooser does, or one output emits, in each of some steps: `name = number`.

    - `present`: the steps in which it does anything.
    - `name`: its name, or for each step a value of which `name_of` tells the name.
    - `number`: a number for each step, shown where `is_numbered`.
    - `variant`: tells actions with the same number apart; shown where it is not 0.
    - `times`: how often the action is done at once.
    """

    present: Bool[np.ndarray, " steps"]
    name: str | np.ndarray
    name_of: Callable[[Any], str] = str
    number: Int[np.ndarray, " steps"] | None = None
    is_numbered: Bool[np.ndarray, " steps"] | None = None
    variant: Int[np.ndarray, " steps"] | None = None
    times: Int[np.ndarray, " steps"] | None = None


class Link(NamedTuple):
    """A connection of two columns that exists in some configurations only."""

    source: int
    target: int
    exists: Bool[np.ndarray, " configurations"]


ConfigurationsT = TypeVar("ConfigurationsT", bound=SomeConfigurations)
StepsT = TypeVar("StepsT", bound=SomeSteps)


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema(Generic[ConfigurationsT, StepsT]):
    """The names of a machine: the columns of its configurations and the actions of its steps.

    Configurations have columns: the neurons of a system, the places of a net. The first table of
    numbers of `tables` holds their counts.

    - `title`: the name of the model.
    - `counted`: what the columns hold, in plural: spikes, tokens.
    - `column_kind`: what the columns are, in plural: neurons, places.
    - `columns`: their names in order; `None` if they are slots, of which later ones come into use.
      One of the tables then holds the name of each slot in use, or an empty string.
    - `configurations`, `steps`: what a search found, with names. Both get arrays whose last axis is
      that of the configurations or steps: states, and details of `Record`.
    - `tables`, `step_tables`: all numbers of configurations, a row each; all numbers of steps, a
      row or a number each.
    - `actions`: what stands at the edges of a graph, for each kind of `Labels`.
    - `action_names`: the names in `actions`.
    - `alternatives`: everything that may be selected; `selected`: which of these some steps select.
    - `words`: what was selected in one of some steps, in words.

    Optional:

    - `names`: what `configurations[name]` and queries may name; by default the columns.
    - `outputs`: the names for which `emitted` gives what left the machine in each step.
    - `emissions`: what left the machine in each step: steps with the same emissions and ends are
      one transition.
    - `num_choosers`: the columns of `GivenChoices` that witnesses show; by default all columns.
    - `lists`: further lists of names for files; `rules`: texts for files, as JSON has them.
    - `is_stuck`: where something is left that could have been used.
    - `links`: connections that change; `networks`: the network of one configuration as JSON has it;
      `changing`: numbers that tell networks apart.
    - `step_json`: a key, and the value of each step for witnesses as JSON.
    - `quantities`, `step_quantities`: further functions of queries by their names, as
      `timer(name)`; those of steps get a number, too, as `fires(name, 0)`.
    - `problem_of`: what is wrong with a function, a name and a number of a query, or `None`.
    - `is_cut`: where a count that was explored with `saturate` stands for all larger ones, too;
      `plus`: configurations with larger counts.
    - `inert`: the names on whose counts nothing depends, of which a query mentions some. They are
      saturated for queries.
    - `visited`: the configurations of a run, a row each.
    """

    title: str
    counted: str
    column_kind: str
    columns: Sequence[str] | None
    configurations: Callable[[PyTree, Bool[np.ndarray, " configurations"]], ConfigurationsT]
    steps: Callable[[Int[np.ndarray, " steps"], Int[np.ndarray, " steps"], PyTree], StepsT]
    tables: Callable[[ConfigurationsT], Mapping[str, Table]]
    step_tables: Callable[[StepsT], Mapping[str, Table]]
    actions: Callable[[StepsT, Labels], Sequence[Action]]
    action_names: Sequence[str]
    alternatives: Sequence[Hashable]
    selected: Callable[[StepsT], set[Any]]
    words: Callable[[StepsT, int], list[str]]

    names: Sequence[str] | None = None
    outputs: Sequence[str] = ()
    emitted: Callable[[StepsT, str], Int[np.ndarray, "steps *elements"]] | None = None
    emissions: Callable[[StepsT], Int[np.ndarray, "steps columns"]] | None = None
    num_choosers: int | None = None
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Callable[[], Any] | None = None
    is_stuck: Callable[[ConfigurationsT], Bool[np.ndarray, " configurations"]] | None = None
    links: Callable[[ConfigurationsT], Sequence[Link]] | None = None
    networks: Callable[[ConfigurationsT, int], Mapping[str, Any]] | None = None
    changing: Callable[[ConfigurationsT], Int[np.ndarray, "configurations numbers"]] | None = None
    step_json: tuple[str, Callable[[StepsT], list[Any]]] | None = None
    quantities: Mapping[str, Callable[[ConfigurationsT, str], np.ndarray]] = field(
        default_factory=dict
    )
    step_quantities: Mapping[str, Callable[[StepsT, str, int], np.ndarray]] = field(
        default_factory=dict
    )
    problem_of: Callable[[str, str, int], str | None] | None = None
    is_cut: (
        Callable[[ConfigurationsT, Mapping[str, int]], Bool[np.ndarray, "configurations columns"]]
        | None
    ) = None
    plus: Callable[[ConfigurationsT, np.ndarray], ConfigurationsT] | None = None
    inert: Callable[[Sequence[str]], Sequence[str]] | None = None
    visited: Callable[[Any], ConfigurationsT] | None = None


@runtime_checkable
class Explorable(Protocol[ConfigurationsT, StepsT]):
    """A model that `explore` and `check` take."""

    def enumerable(
        self,
        *,
        layout: Any,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
    ) -> Enumerable:
        """The model as arrays.

        **Arguments:**

        - `layout`, `saturate`, `clock`: as `explore` got them. A model refuses what it cannot do.
        - `at_least`: the narrowest type to count in, see `Encoding.wider`.
        """
        ...

    def schema(self) -> Schema[ConfigurationsT, StepsT]: ...


@runtime_checkable
class InputEnvironment(Protocol):
    """Any input for a number of steps, as `AnyInput`."""

    @property
    def length(self) -> int: ...


@runtime_checkable
class TakesInput(Protocol):
    """A model whose input may be replaced."""

    def with_input(self, input: Any) -> Any: ...
