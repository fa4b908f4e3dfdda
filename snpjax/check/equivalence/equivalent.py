"""`equivalent`: the one entry point."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ...explore import Graph, explore
from ...machine import AbstractCapacity, Explorable, LayoutLike
from ...sleptsov.model.net import AbstractRunnableNet
from ...spiking.model.population import AnySystem
from ..systems import SpikingGraph
from ..tracing import on_host
from .comparison import AbstractComparison, Pair, matched
from .nets import NetGraph
from .result import Equivalence
from .traces import SameTraces


_SAME_TRACES = SameTraces()


@on_host("equivalent")
def equivalent(
    first: AnySystem | AbstractRunnableNet | SpikingGraph | NetGraph,
    second: AnySystem | AbstractRunnableNet | SpikingGraph | NetGraph,
    /,
    *,
    by: AbstractComparison = _SAME_TRACES,
    max_configurations: int = 1_000_000,
    max_depth: int | None = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
    layout: LayoutLike = "auto",
    capacity: AbstractCapacity | None = None,
    chunks: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Equivalence:
    """Whether two systems, or two nets, are equivalent.

    **Arguments:**

    - `first`, `second`: both systems or both nets, or graphs that `snpjax.explore` made of them.
    - `by`: in which sense: `SameTraces()`, by default; `Bisimilar()`; of systems
      `SameNumbers(up_to)`; of nets `SameMarkings()`.
    - `max_configurations`, `max_depth`, `saturate`, `clock`, `layout`, `capacity`, `chunks`,
      `progress`: as for `snpjax.explore`.

    **Returns:** an `Equivalence`: equal, different with the shortest runs that tell them apart,
    equal up to a stated bound, or unknown. What was not explored to the end is never called equal.

    Where neurons divide or bud outputs are labels: all neurons with one emit together.

    **Raises:** `ValueError` if the systems cannot be compared: another number of outputs or inputs,
    a system and a net, or inputs of nets; `NotImplementedError` for other models, and where the
    sense has no meaning for them.

    ```python
    one = snp.SpikingSystem([snp.Neuron("n", 2, ["a^2/a -> a", "a -> a"])], output="n")
    other = snp.SpikingSystem([snp.Neuron("m", 2, ["a+/a -> a"])], output="m")
    assert equivalent(one, other)
    ```
    """
    models = [one.system if isinstance(one, Graph) else one for one in (first, second)]
    for model in models:  # before the first of them is explored
        if not isinstance(model, AnySystem | AbstractRunnableNet):
            raise NotImplementedError(
                f"`equivalent` does not compare objects of the type {type(model).__name__}. Pass "
                "two systems of neurons or two nets, or their graphs."
            )
    nets = [isinstance(model, AbstractRunnableNet) for model in models]
    if any(nets) and any(isinstance(model, AnySystem) for model in models):
        raise ValueError(
            "A net and a system of neurons do different things in a step. Compare two nets, or two "
            "systems."
        )
    if any(nets) and by.environment is not None:
        raise ValueError("A net has no inputs. Leave out `inputs`.")
    environments = (
        None if by.environment is None else matched(_listed(first, second), by.environment)
    )
    systems, graphs = [], []
    for side, model in enumerate((first, second)):
        system: Any = models[side]
        systems.append(system)
        if isinstance(model, Graph):
            graphs.append(model)
            continue
        graphs.append(
            explore(
                cast("Explorable[Any, Any]", system),
                max_configurations=max_configurations,
                max_depth=by.depth if max_depth is None else max_depth,
                inputs=None if environments is None else environments[side],
                saturate=saturate,
                clock=clock,
                layout=layout,
                capacity=capacity,
                chunks=chunks,
                progress=progress,
            )
        )
    names = ((), ()) if environments is None else tuple(one.neurons for one in environments)
    pair = Pair((systems[0], systems[1]), (graphs[0], graphs[1]), (names[0], names[1]))
    rules = graphs[0].schema.rule, graphs[1].schema.rule
    return replace(by.compare(pair), rules=rules)


def _listed(*given: object) -> tuple[AnySystem, AnySystem]:
    found = []
    for model in given:
        if not isinstance(model, AnySystem):
            raise ValueError(
                f"{model!r} takes no environment. Any input is compared for systems whose neurons "
                "are listed: give a SpikingSystem."
            )
        found.append(model)
    return found[0], found[1]
