"""A net together with the rule of its steps: what `snpjax.run` takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trajectory import SAVE_FINAL, Save, Trajectory
from .net import SleptsovNet
from .rules import AbstractRule, Sleptsov


if TYPE_CHECKING:
    from ...machine import AbstractEngine, AbstractMachine, Lowered, Schema, Stacked
    from ..lower.enumerable import SearchedNet
    from ..step.state import NetState
    from ..view.configurations import Firings, Markings
    from ..view.solution import NetSolution, NetSolutionBatch


@dataclass(frozen=True, eq=False)
class Execution:
    """A net and the rule of its steps.

    **Arguments:**

    - `rule`: `Sleptsov()`, `Petri()` or `Disjoint()`.
    - `counts`: count how often each transition fires; `Disjoint` always does.

    ```python
    snp.run(Execution(net, rule=Petri()), max_steps=1000)
    ```

    `snpjax.run` takes, besides: as `engine` `FullScan()` or `EventDriven()`, by default what is
    faster; as `count_dtype` int32 or int64 markings, by default int64; as `initial` a marking,
    `(places,)` or `(places, paths)`, or tokens by place; as `save` by default nothing but the final
    marking, `Save(every=None, details=True)` for the trace.
    """

    net: SleptsovNet
    rule: AbstractRule = Sleptsov()  # noqa: RUF009 (a frozen object)
    counts: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.net, SleptsovNet):
            raise TypeError(f"`net` is a {type(self.net).__name__}. Give a SleptsovNet.")
        if not isinstance(self.rule, AbstractRule):
            raise TypeError(f"`rule` is {self.rule!r}. Give Sleptsov(), Petri() or Disjoint().")

    def lower(
        self,
        *,
        engine: "AbstractEngine | None" = None,
        count_dtype: np.dtype | type | None = None,
        faithful: bool = False,
        numbered: bool = False,
        many_paths: bool = False,
    ) -> "Lowered[NetSolution, NetSolutionBatch]":
        """This net as arrays, see `snpjax.lower`.

        **Raises:** `ValueError` for numbers that do not fit `count_dtype`, or an engine that does
        not know the rule.
        """
        from ..lower.lowered import lowered  # the model itself needs no device

        return lowered(
            self,
            engine=engine,
            count_dtype=count_dtype,
            faithful=faithful,
            numbered=numbered,
            many_paths=many_paths,
        )

    def start(
        self, machine: "AbstractMachine | Stacked", initial: Any, inputs: Any
    ) -> "tuple[AbstractMachine | Stacked, NetState]":
        """Where a run begins: a marking, tokens by place, or the `state` of an earlier solution.

        **Raises:** `ValueError` for what is no marking of the net.
        """
        from ..lower.lowered import started

        return started(self.net, machine, initial, inputs)

    def default_save(self, paths: int | None) -> Save:
        """Runs of nets are long: only the final marking."""
        del paths
        return SAVE_FINAL

    def solution(self, trajectory: Trajectory) -> "NetSolution":
        """What a run of one path saved, with the names of the net."""
        from ..view.solution import NetSolution

        return NetSolution(trajectory, self.net, self.rule)

    def solutions(self, trajectory: Trajectory) -> "NetSolutionBatch":
        """What a run of many paths saved, with the names of the net."""
        from ..view.solution import NetSolutionBatch

        return NetSolutionBatch(trajectory, self.net, self.rule)

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
    ) -> "SearchedNet":
        """This net as arrays, ready for `snpjax.explore`: tokens are counted in 32 bits, and every
        choice among transitions that none of them beats is followed.

        **Raises:** `ValueError` for a rule without choices, an order that does not say where there
        is one, and transitions that may fire without bound.
        """
        from ..lower.lowered import enumerable

        del at_least
        return enumerable(self, saturate=saturate, clock=clock)

    def schema(self) -> "Schema[Markings, Firings]":
        """The names of this net, for graphs and queries."""
        from ..view.schema import schema_of

        return schema_of(self.net)

    def replace(self, **changes: Any) -> "Execution":
        return replace(self, **changes)
