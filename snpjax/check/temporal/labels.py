"""What is true of the states of a structure: surely, or as far as is known."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Shaped

from ..query.formula import And, Comparison, Formula, Implies, Not, Or, Quantified
from .kripke import States


#: Where a comparison surely holds, and where it may hold.
Truth: TypeAlias = tuple[States, States]


@dataclass(frozen=True, eq=False)
class Labelling:
    """The truth of every comparison in all states, and of what is quantified as soon as that is
    known."""

    num_states: int
    truth: dict[Formula, Truth]

    @property
    def are_exact(self) -> bool:
        """Whether all is known of the comparisons: no value was cut off where it matters."""
        return all(
            np.array_equal(*truth)
            for formula, truth in self.truth.items()
            if isinstance(formula, Comparison)
        )

    def where(self, formula: Formula, *, may: bool) -> States:
        """The states of which a condition surely holds, or may hold."""
        match formula:
            case Comparison() | Quantified():
                return self.truth[formula][int(may)]
            case Not(part):
                return ~self.where(part, may=not may)
            case And(parts):
                some = (self.where(part, may=may) for part in parts)
                return np.logical_and.reduce([np.ones(self.num_states, bool), *some])
            case Or(parts):
                some = (self.where(part, may=may) for part in parts)
                return np.logical_or.reduce([np.zeros(self.num_states, bool), *some])
            case Implies(left, right):
                return ~self.where(left, may=not may) | self.where(right, may=may)
        raise AssertionError("This is a bug of snpjax, please report it.")


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a sum: of 64 bits, or integers of Python where 64 bits are too few. Where a
    variable was cut off, at its cap or the clock, the sum may be any larger, or any smaller number,
    too."""

    values: Shaped[np.ndarray, " some"]
    or_more: Bool[np.ndarray, " some"]
    or_less: Bool[np.ndarray, " some"]

    def compared(self, comparison: Comparison) -> Truth:
        """Where the comparison surely holds, and where it may."""
        values, constant = self.values, comparison.constant
        if comparison.modulus is not None:
            is_equal, is_cut = values % comparison.modulus == constant, self.or_more | self.or_less
            return is_equal & ~is_cut, is_equal | is_cut
        at_most = (values <= constant) & ~self.or_more, (values <= constant) | self.or_less
        at_least = (values >= constant) & ~self.or_less, (values >= constant) | self.or_more
        match comparison.relation:
            case "<=":
                return at_most
            case ">=":
                return at_least
        return at_most[0] & at_least[0], at_most[1] & at_least[1]
