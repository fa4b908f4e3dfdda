"""Alternatives listed in advance."""

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, PyTree

from snpjax_formats import bucket

from .._text.counts import plural
from .base import (
    NO_RULE,
    AbstractChoice,
    Applicable,
    ChooserRange,
    Choosers,
    Numbers,
    Places,
    Selected,
    Steps,
)
from .subsets import first_subset, nth_subset


class GivenChoices(AbstractChoice):
    """Choices listed in advance: `rules[t, i]` is the alternative of chooser i in step t + 1, or
    `NO_RULE`.

    `subsets[t, i]` is the number of the subset that a plasticity rule takes, in lexicographic order
    from 0; without it the first one. A row must be valid: one applicable alternative where there is
    any, `NO_RULE` elsewhere, and no out-of-range subset; otherwise the run ends with
    `RESULTS.choice_refused`. After the last row nothing is chosen. A third axis `paths` gives each
    path its own list. `None` in a nested list also means no rule. A rule that repeats another one
    of its neuron means the one that is kept, which is the first.
    """

    rules: Int[Array, "steps choosers *paths"]
    subsets: Int[Array, "steps choosers *paths"] | None
    own: ChooserRange | None  # None: it chooses for all choosers

    may_be_invalid: ClassVar[bool] = True

    def __init__(
        self,
        rules: Sequence[Sequence[int | None]] | np.ndarray | Array,
        subsets: Sequence[Sequence[int]] | np.ndarray | Array | None = None,
    ):
        self.rules = _as_table("rules", rules, NO_RULE)
        self.subsets = self.own = None
        if subsets is not None and np.any(np.asarray(subsets)):
            self.subsets = _as_table("subsets", subsets, 0)
            if self.subsets.shape != self.rules.shape:
                raise ValueError("`subsets` has another shape than `rules`. Give one number each.")

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "GivenChoices":
        if self.rules.ndim == 2:
            return self
        # Past the last list nothing valid is chosen: no path takes over another one's.
        own = self.rules.at[..., path].get(mode="fill", fill_value=NO_RULE - 1)
        some = self.subsets
        if some is not None:
            some = some.at[..., path].get(mode="fill", fill_value=0)
        return eqx.tree_at(
            lambda choice: (choice.rules, choice.subsets),
            self,
            (own, some),
            is_leaf=lambda x: x is None,
        )

    def for_choosers(self, own: ChooserRange, number: int) -> "GivenChoices":
        del number
        return eqx.tree_at(lambda choice: choice.own, self, own, is_leaf=lambda x: x is None)

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        choosers = applicable.shape[1] if self.own is None else self.own.of
        if self.rules.shape[1] > bucket(choosers):
            raise ValueError(
                f"The given choices name more than {plural(choosers, 'neuron')}. "
                "Give one column per neuron."
            )
        row = self._row(self.within(choosers).rules, step, NO_RULE)
        if self.own is not None:
            return self.own.cut(row, applicable.shape[1], axis=0, empty=NO_RULE)
        padding = [(0, choosers - row.shape[0])] + [(0, 0)] * (row.ndim - 1)
        return jnp.pad(row, padding, constant_values=NO_RULE)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        if self.subsets is None:
            return first_subset(candidates, chosen)
        row = self._row(self.subsets, step, 0)
        number = row.at[choosers].get(mode="fill", fill_value=0)
        return nth_subset(candidates, chosen, number)

    def within(self, size: int) -> "GivenChoices":
        """The same for the first `size` choosers, of which more may come later: a row that names
        another one is not valid."""
        if self.rules.shape[1] <= size:
            return self
        names_another = jnp.any(self.rules[:, size:] != NO_RULE, axis=1, keepdims=True)
        subsets = None if self.subsets is None else self.subsets[:, :size]
        return eqx.tree_at(
            lambda choice: (choice.rules, choice.subsets),
            self,
            (jnp.where(names_another, NO_RULE - 1, self.rules[:, :size]), subsets),
            is_leaf=lambda x: x is None,
        )

    def _row(
        self, table: Int[Array, "steps choosers *paths"], step: Steps, empty: int
    ) -> Int[Array, "choosers *paths"]:
        if table.ndim == 3 and jnp.ndim(step) == 1:  # a row of its own for each path
            of_path = jnp.arange(table.shape[2])
            row = table.at[step, :, of_path].get(mode="fill", fill_value=empty)
        else:
            row = table.at[step].get(mode="fill", fill_value=empty)
        return jnp.moveaxis(row, -1, 0)


def _as_table(
    name: str, numbers: Sequence[Sequence[int | None]] | np.ndarray | Array, empty: int
) -> Int[Array, "steps choosers *paths"]:
    """Numbers given for steps and choosers, padded to buckets, as machines pad their choosers:
    lists of similar size share a compilation."""
    if isinstance(numbers, np.ndarray | jax.Array):
        given = np.asarray(numbers)
    else:
        if any(isinstance(row, int | None) for row in numbers):
            raise ValueError(f"`{name}` has 1 axis. Give a list for each step, as [[0, 1]].")
        rows = [[empty if number is None else number for number in row] for row in numbers]
        ragged = [t for t, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
        if ragged:
            raise ValueError(
                f"Step {ragged[0]} lists {plural(len(rows[ragged[0] - 1]), name[:-1])}, step 1 "
                f"{len(rows[0])}. Give one a neuron."
            )
        given = np.asarray(rows) if rows else np.zeros((0, 0), np.int32)
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"`{name}` holds {given.dtype}. Give integers, or None for no rule.")
    if given.size and not -(2**31) < given.min() <= given.max() < 2**31 - 1:
        raise ValueError(f"A number in `{name}` is not a rule of any neuron.")
    if given.ndim not in (2, 3):
        raise ValueError(
            f"`{name}` has {plural(given.ndim, 'axis', 'axes')}. "
            "Give (steps, neurons) or (steps, neurons, paths)."
        )
    padding = [(0, bucket(size) - size) for size in given.shape[:2]]
    padding += [(0, 0)] * (given.ndim - 2)
    return jnp.asarray(np.pad(given.astype(np.int32), padding, constant_values=empty))
