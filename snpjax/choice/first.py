"""The first applicable alternative."""

from typing import ClassVar

from jaxtyping import Array, Integer, PyTree

from .base import AbstractChoice, Applicable, Choosers, Numbers, Places, Selected, Steps, first_of
from .subsets import first_subset


class FirstChoice(AbstractChoice):
    """The first applicable alternative in order of declaration. Consumes no randomness."""

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "FirstChoice":
        del path
        return self

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del step, state
        return first_of(applicable)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        del choosers, step
        return first_subset(candidates, chosen)
