"""The values of comparisons in configurations and steps."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ...machine import Schema, SomeConfigurations, SomeSteps
from ..query.formula import Comparison, Observed, Variable
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
            total, more, less = np.zeros(size, np.int64), np.zeros(size, bool), np.zeros(size, bool)
            for variable, coefficient in comparison.terms:
                if not variable.observed.is_of_step:
                    values, is_cut = self._variable(variable, configurations, larger)
                    total += coefficient * values.astype(np.int64)
                    if coefficient > 0:
                        more |= is_cut
                    else:
                        less |= is_cut
            return Values(total, more, less)

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

    def of_steps(self, comparison: Comparison, steps: SomeSteps) -> Int[np.ndarray, " steps"]:
        """The sum of the variables that belong to steps."""
        total, known = np.zeros(len(steps), np.int64), self.schema.step_quantities
        for variable, coefficient in comparison.terms:
            if variable.observed.is_of_step:
                values = known[variable.observed.value](steps, variable.neuron, variable.rule)
                total += coefficient * values.astype(np.int64)
        return total
