"""The schema of a plain machine: its configurations are named counts, its steps one action each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, PyTree

from .._text.lines import EdgeLabels, Table
from .._text.pickling import pickled_as_call
from ..choice import GivenChoices
from ..machine import Action, Schema


@dataclass(frozen=True, eq=False)
class NamedCounts:
    """Some configurations: a count for each column."""

    columns: tuple[str, ...]
    counts: Int[np.ndarray, "configurations columns"]
    is_halting: Bool[np.ndarray, " configurations"]
    step: Int[np.ndarray, " configurations"]

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, name: str) -> Int[np.ndarray, " configurations"]:
        return self.counts[:, self.columns.index(name)]


@dataclass(frozen=True, eq=False)
class NamedActions:
    """Some steps, and the number of the action of each."""

    sources: Int[np.ndarray, " steps"]
    targets: Int[np.ndarray, " steps"]
    action: Int[np.ndarray, " steps"]

    def __len__(self) -> int:
        return len(self.action)

    @property
    def choices(self) -> GivenChoices:
        return GivenChoices(self.action[:, None])


@pickled_as_call
def schema_of_counts(
    *,
    title: str,
    counted: str,
    column_kind: str,
    columns: Sequence[str],
    actions: Sequence[str],
    counts: Callable[[PyTree], Int[np.ndarray, "columns configurations"]],
) -> Schema[NamedCounts, NamedActions]:
    """The schema of a machine with one chooser, whose `Record.detail` is the alternative it took.

    **Arguments:**

    - `title`, `counted`, `column_kind`, `columns`: as in `Schema`.
    - `actions`: the names of the alternatives, in order.
    - `counts`: maps states, whose last axis is `configurations`, to a row for each column.

    **Returns:** the schema.

    Add the optional parts of a `Schema` with `dataclasses.replace`.
    """
    columns, actions = tuple(columns), tuple(actions)

    def configurations(states: PyTree, is_halting: np.ndarray) -> NamedCounts:
        step = np.zeros(len(is_halting), int)
        return NamedCounts(columns, np.asarray(counts(states)).T, is_halting, step)

    def actions_of(steps: NamedActions, labels: EdgeLabels) -> list[Action]:
        del labels  # nothing is emitted
        return [Action(np.ones(len(steps), bool), steps.action, actions.__getitem__)]

    return Schema(
        title=title,
        counted=counted,
        column_kind=column_kind,
        columns=columns,
        configurations=configurations,
        steps=NamedActions,
        tables=lambda some: {counted: Table(counted, some.counts)},
        step_tables=lambda steps: {"action": Table("action", steps.action)},
        actions=actions_of,
        action_names=actions,
        alternatives=actions,
        selected=lambda steps: {actions[number] for number in np.unique(steps.action)},
        words=lambda steps, number: [actions[steps.action[number]]],
        num_choosers=1,
    )
