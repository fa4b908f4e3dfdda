"""A computation that a proof came upon, for witnesses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...choice import NO_RULE, GivenChoices
from ...machine import LoweringOptions
from .relation import AbstractRelation, Choice, State


class ComputationView:
    """Configurations numbered from 0 and the steps between them, as a witness looks at them."""

    saturate: Mapping[str, int] = {}

    def __init__(
        self,
        relation: AbstractRelation,
        model: Any,
        states: Sequence[State],
        choices: Sequence[Choice],
    ) -> None:
        self.relation, self.system = relation, model
        self.states, self._choices = states, choices
        self.lowering: LoweringOptions = {}

    def configurations(self, numbers: Any, /) -> Any:
        return self.relation.configurations([self.states[i] for i in np.asarray(numbers).tolist()])

    def transitions_to(self, edges: Any, targets: Any, /) -> Any:
        """The steps to these configurations, one after the other."""
        del edges
        ends = np.asarray(targets).tolist()
        before = [self.states[i - 1] for i in ends]
        return self.relation.transitions(before, [self._choices[i - 1] for i in ends])

    @property
    def choices(self) -> GivenChoices:
        """What is selected, for `snpjax.run(choice=...)`."""
        rows = [[NO_RULE if r is None else r for r in choice] for choice in self._choices]
        width = len(rows[0]) if rows else 0
        return GivenChoices(np.asarray(rows, np.int32).reshape(len(rows), width))
