"""What a model says of its configurations and steps, and in which words: all that graphs, queries
and files know of it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int, PyTree

from ..choice import GivenChoices
from ..lines import Column, EdgeStyle, Table


#: Many configurations, as a machine has them: at least `len`, `step`, `is_halting`,
#: `configurations[name]` and `is_cut(saturate)`.
SomeConfigurations: TypeAlias = Any
#: Many steps: at least `len`, `sources`, `targets`, `emissions` and `choices`.
SomeSteps: TypeAlias = Any


@runtime_checkable
class Observer(Protocol):
    """How a model is looked at."""

    @property
    def names(self) -> Sequence[str]:
        """What `configurations[name]` and queries may name: neurons, labels, places."""
        ...

    @property
    def outputs(self) -> Sequence[str]:
        """What `steps.emitted(name)` may name."""
        ...

    def configurations(
        self, states: PyTree, is_halting: Bool[np.ndarray, " configurations"]
    ) -> SomeConfigurations:
        """The states of a search, by name."""
        ...

    def steps(
        self,
        sources: Int[np.ndarray, " edges"],
        targets: Int[np.ndarray, " edges"],
        detail: PyTree,
    ) -> SomeSteps:
        """The steps of a search, by name."""
        ...

    def counts(self, some: SomeConfigurations) -> Int[np.ndarray, "configurations names"]:
        """What each of the names has."""
        ...

    def is_stuck(self, some: SomeConfigurations) -> Bool[np.ndarray, " configurations"]:
        """Where something is left that could have been used."""
        ...

    def alternatives(self) -> Sequence[Hashable]:
        """Everything that may be selected: rules, transitions."""
        ...

    def selected(self, steps: SomeSteps) -> set[Any]:
        """Which of the alternatives are selected in some step."""
        ...

    @property
    def written(self) -> "Written": ...

    def witness(
        self, some: SomeConfigurations, choices: GivenChoices, saturate: Mapping[str, int]
    ) -> "Witness":
        """A computation through some configurations, one after the other."""
        ...


@runtime_checkable
class Written(Protocol):
    """How a model, its configurations and its steps are written for other programs.

    Configurations have columns; where there may be more of them than are ever in use, they are cut
    to a width.
    """

    @property
    def title(self) -> str: ...

    @property
    def legend(self) -> str:
        """What the numbers of a drawn configuration are."""
        ...

    def width(self, map: Callable[[Callable[[Any], np.ndarray]], np.ndarray]) -> int:
        """How many columns are ever in use; `map` asks all configurations of a graph."""
        ...

    def cut(self, some: Any, width: int) -> Any:
        """The first columns of configurations or steps."""
        ...

    def columns(self, width: int) -> list[str]:
        """The names of the columns."""
        ...

    def names_at_edges(self) -> list[str]:
        """The names that `labelled` may write."""
        ...

    def lists(self, width: int) -> dict[str, list[str]]:
        """Lists of names by what they are; the first is that of the columns."""
        ...

    def rules(self) -> Any:
        """The texts of rules, as plain values; `None` where there are none."""
        ...

    def tables(self, some: SomeConfigurations) -> dict[str, Table]:
        """All numbers of configurations, a table with a row for each."""
        ...

    def step_tables(self, steps: SomeSteps) -> dict[str, Table]:
        """All numbers of steps: tables, or one number for each."""
        ...

    def changing(
        self, some: SomeConfigurations
    ) -> Int[np.ndarray, "configurations numbers"] | None:
        """What tells the networks of configurations apart, if they change."""
        ...

    def drawn(self, some: SomeConfigurations, written: Callable[[str], str]) -> list[Column]:
        """Each configuration in a few characters; `written` writes a name."""
        ...

    def labelled(
        self, steps: SomeSteps, style: EdgeStyle, names: Mapping[str, str]
    ) -> list[Column]:
        """What stands at the edge of each step; `names` are those of `names_at_edges`, as they are
        to be written."""
        ...


@runtime_checkable
class Witness(Protocol):
    """A computation that shows something.

    - `choices`: of its steps; `selected` are their alternatives, `counts` the numbers that its
      configurations have.
    """

    choices: GivenChoices

    @property
    def num_neurons(self) -> int: ...

    @property
    def selected(self) -> Int[np.ndarray, "steps choosers"]: ...

    @property
    def counts(self) -> Int[np.ndarray, "configurations columns"]: ...

    def initial(self) -> list[str]:
        """The first configuration in words."""
        ...

    def changes(self, step: int) -> list[str]:
        """What is different after a step, in words."""
        ...

    def made(self, step: int) -> list[str]:
        """What was selected in a step, in words; nothing where none was made."""
        ...

    def as_json(self) -> dict[str, Any]:
        """The configurations and what was selected, as plain values."""
        ...

    def replay(self, machine: Any) -> Any:
        """It as a run; `machine` is that of the search."""
        ...

    def is_made_by(self, solution: Any) -> bool:
        """Whether a run goes through its configurations."""
        ...


@runtime_checkable
class Observed(Protocol):
    """A model whose configurations can be searched and looked at."""

    def observed(self) -> Observer: ...
