"""Which neurons the neurons of a growing system come from."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from ...choice import NO_RULE
from ..model.rule import BuddingRule, DivisionRule


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


def parents_of(
    system: "SpikingSystem",
    labels: Int[np.ndarray, "rows neurons"],
    rules: Int[np.ndarray, "steps neurons"],
) -> tuple[Int[np.ndarray, " neurons"], Int[np.ndarray, " neurons"]]:
    """The parent of each neuron, -1 of those in the first row, and the row of
    configurations in which the neuron is new.

    **Arguments:**

    - `labels`: by their numbers, of every configuration.
    - `rules`: those selected in each step.
    """
    names = tuple(system.label_numbers)
    grows = {
        (label, number): isinstance(rule, BuddingRule)
        for label, own in system.rules_of_labels.items()
        for number, rule in enumerate(own)
        if isinstance(rule, DivisionRule | BuddingRule)
    }
    num = int(np.sum(labels[0] < len(names)))  # more than the system's where a run continues
    parents = np.full(rules.shape[1], -1, np.int64)
    births = np.zeros_like(parents)
    for step, selected in enumerate(rules):
        users = np.flatnonzero(selected[:num] != NO_RULE).tolist()
        kinds = [(grows.get((names[labels[step, i]], int(selected[i]))), i) for i in users]
        # Right children in the order of their parents, then buds, as `DivisionTables` puts them.
        added = sorted((is_bud, i) for is_bud, i in kinds if is_bud is not None)
        own = slice(num, num + len(added))
        parents[own] = [i for _, i in added]
        births[own] = step + 1
        num += len(added)
    return parents, births
