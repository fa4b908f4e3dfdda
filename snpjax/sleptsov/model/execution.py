"""A net together with the rule of its steps: what `snpjax.run` takes."""

from dataclasses import dataclass, replace
from typing import Any

from snpjax_formats.articles import kind_of

from .net import AbstractRunnableNet, SleptsovNet
from .rules import AbstractRule


@dataclass(frozen=True, eq=False)
class Execution(AbstractRunnableNet):
    """A net and the rule of its steps.

    **Arguments:**

    - `rule`: `Sleptsov()`, `Petri()` or `Disjoint()`; by default that of the net, which `net` has
      in any case.
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
    rule: AbstractRule
    counts: bool

    def __init__(
        self, net: SleptsovNet, rule: AbstractRule | None = None, counts: bool = False
    ) -> None:
        if not isinstance(net, SleptsovNet):
            raise TypeError(f"`net` is {kind_of(net)}. Give a SleptsovNet.")
        rule = net.rule if rule is None else rule
        for attribute, value in {
            "net": net.with_rule(rule),
            "rule": rule,
            "counts": counts,
        }.items():
            object.__setattr__(self, attribute, value)

    @property
    def _execution(self) -> "Execution":
        return self

    def replace(self, **changes: Any) -> "Execution":
        return replace(self, **changes)
