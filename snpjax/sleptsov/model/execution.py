"""A net together with the rule of its steps: what `snpjax.run` takes."""

from dataclasses import dataclass, replace
from typing import Any

from .net import AbstractRunnableNet, SleptsovNet
from .rules import AbstractRule, Sleptsov


@dataclass(frozen=True, eq=False)
class Execution(AbstractRunnableNet):
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

    @property
    def _execution(self) -> "Execution":
        return self

    def replace(self, **changes: Any) -> "Execution":
        return replace(self, **changes)
