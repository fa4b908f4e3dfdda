"""The values of comparisons in configurations and steps."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Shaped

from ...machine import Schema, SomeConfigurations, SomeSteps
from ..query.formula import Comparison, Observed, Variable, factors_of
from .labels import Values


class Evaluation:
    """What configurations and steps say, and what of it was cut off: at a clock, or where counts
    are saturated."""

    def __init__(
        self,
        schema: Schema[Any, Any],
        clock: float = np.inf,
        saturate: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.schema, self.clock, self.saturate = schema, clock, saturate

    def of(self, configurations: SomeConfigurations) -> Callable[[Comparison], Values]:
        """The sum of a comparison, without the variables that belong to steps."""
        larger, schema = None, self.schema
        if self.saturate and schema.is_cut is not None and schema.plus is not None:
            is_cut = schema.is_cut(configurations, self.saturate)
            larger = schema.plus(configurations, is_cut.astype(np.int64))
        size = len(configurations)

        def values_of(comparison: Comparison) -> Values:
            terms: list[_Term] = []
            more, less = np.zeros(size, bool), np.zeros(size, bool)
            for monomial, coefficient in comparison.terms:
                variables = factors_of(monomial)
                if variables[0].observed.is_of_step:
                    continue
                found = [self._variable(x, configurations, larger) for x in variables]
                terms.append((coefficient, [values for values, _ in found]))
                any_cut, any_negative = np.zeros(size, bool), np.zeros(size, bool)
                for values, is_cut in found:
                    any_cut |= is_cut
                    any_negative |= values < 0
                rises, falls = (more, less) if coefficient > 0 else (less, more)
                rises |= any_cut
                if len(found) > 1:  # a larger factor makes the product of a negative one smaller
                    falls |= any_cut & any_negative
            return Values(_sum(terms, size), more, less)

        return values_of

    def table(self, comparison: Comparison, configurations: SomeConfigurations) -> np.ndarray:
        """`of` as columns, for `Graph.map`."""
        found = self.of(configurations)(comparison)
        return np.stack([found.values, found.or_more, found.or_less], axis=1)

    def _variable(
        self,
        variable: Variable,
        configurations: SomeConfigurations,
        larger: SomeConfigurations | None,
    ) -> tuple[np.ndarray, Bool[np.ndarray, " configurations"] | bool]:
        """The values of a variable, and where they may be larger; `larger`: with a count more
        wherever it was cut."""
        match variable.observed:
            case Observed.HALTED:
                return configurations.is_halting, False
            case Observed.STEP:
                return configurations.step, configurations.step >= self.clock
            case Observed.SPIKES:
                counts = configurations[variable.neuron]
                return counts, larger is not None and larger[variable.neuron] != counts
        quantity = self.schema.quantities[variable.observed.value]
        return quantity(configurations, variable.neuron), False

    def of_steps(self, comparison: Comparison, steps: SomeSteps) -> Shaped[np.ndarray, " steps"]:
        """The sum of the variables that belong to steps."""
        known = self.schema.step_quantities
        terms: list[_Term] = []
        for monomial, coefficient in comparison.terms:
            if isinstance(monomial, Variable) and monomial.observed.is_of_step:
                values = known[monomial.observed.value](steps, monomial.neuron, monomial.rule)
                terms.append((coefficient, [values]))
        return _sum(terms, len(steps))


#: A coefficient and the values of the variables that it is multiplied by.
_Term: TypeAlias = tuple[int, list[np.ndarray]]


def _sum(terms: Sequence[_Term], size: int) -> np.ndarray:
    """Sums of products: of 64 bits, or integers of Python where these might not hold them."""
    most = sum(
        abs(coefficient) * math.prod(_largest(values) for values in factors)
        for coefficient, factors in terms
    )
    dtype = np.int64 if most < 2**63 else object
    total = np.zeros(size, dtype)
    for coefficient, factors in terms:
        product = np.full(size, coefficient, dtype)
        for values in factors:
            product = product * values.astype(np.int64).astype(dtype)
        total = total + product
    return total


def _largest(values: np.ndarray) -> int:
    """The largest absolute value, at least 1."""
    return max(int(values.max(initial=1)), -int(values.min(initial=0)))
