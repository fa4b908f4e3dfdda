"""The schema of a machine: what graphs, queries, witnesses, exports and pictures need of it."""

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

import numpy as np
from jaxtyping import Bool, Int, PyTree

from snpjax_formats.arguments import explain_arguments

from ._text.lines import EdgeLabels as EdgeLabels, Table as Table
from ._text.pickling import PickledAsCall
from .choice import GivenChoices


NameT = TypeVar("NameT", bound=Hashable)


class LazyNames(Sequence[NameT]):
    """Names that are made on first use."""

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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Schema(PickledAsCall, Generic[ConfigurationsT, StepsT]):
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
    - `actions`: what stands at the edges of a graph, for each kind of `EdgeLabels`.
    - `action_names`: the names in `actions`.
    - `alternatives`: everything that may be selected; `selected`: which of these some steps select.
    - `words`: what was selected in one of some steps, in words.

    Optional:

    - `rule`: the name of the rule of the steps, of models that may have different ones.
    - `names`: what `configurations[name]` and queries may name; by default the columns.
    - `outputs`: the names for which `emitted` gives what left the machine in each step.
    - `emissions`: what left the machine in each step: steps with the same emissions and ends are
      one transition.
    - `num_choosers`: the columns of `GivenChoices` that witnesses show; by default all columns.
    - `lists`: further lists of names for files; `rules`: texts for files, as JSON has them.
    - `is_stuck`: which halting configurations are deadlocks, where something is left that could
      have been used; by default all are.
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
    - `countdown`: what the count of a column means that only counts down the steps in which
      something may happen, in words, or `None` for another column. Witnesses say it once.
    """

    title: str
    counted: str
    column_kind: str
    columns: Sequence[str] | None
    configurations: Callable[[PyTree, Bool[np.ndarray, " configurations"]], ConfigurationsT]
    steps: Callable[[Int[np.ndarray, " steps"], Int[np.ndarray, " steps"], PyTree], StepsT]
    tables: Callable[[ConfigurationsT], Mapping[str, Table]]
    step_tables: Callable[[StepsT], Mapping[str, Table]]
    actions: Callable[[StepsT, EdgeLabels], Sequence[Action]]
    action_names: Sequence[str]
    alternatives: Sequence[Hashable]
    selected: Callable[[StepsT], set[Any]]
    words: Callable[[StepsT, int], list[str]]

    rule: str = ""
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
    countdown: Callable[[str, int], str | None] = lambda name, count: None

    def __repr__(self) -> str:
        columns = "changing" if self.columns is None else f"{len(self.columns):,}"
        return f"Schema({self.title!r}: {self.counted} of {columns} {self.column_kind})"


explain_arguments(__name__)
