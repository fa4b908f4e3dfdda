"""Assertions about systems for anybody's tests: they need no test framework."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..check.equivalence import AbstractComparison, Agreement, SameTraces, equivalent
from ..check.equivalence.comparison import matched
from ..check.equivalence.runs import run_of_edges
from ..check.systems import system_of
from ..explore import Graph, explore
from ..explore.conditions import certain_condition
from ..spiking.model.environment import AnyInput
from ..spiking.view.configurations import Configurations


_SAME_TRACES = SameTraces()


def assert_equivalent(
    first: Any,
    second: Any,
    /,
    *,
    by: AbstractComparison = _SAME_TRACES,
    bounded: bool = False,
    **arguments: Any,
) -> None:
    """Fail unless two systems are equivalent.

    **Arguments:**

    - `first`, `second`, `by`, `arguments`: as for `snpjax.equivalent`.
    - `bounded`: accept systems that are equal as far as they were explored.

    **Raises:** `AssertionError` with the shortest runs that tell the systems apart, or with why
    nothing could be proved.

    ```python
    assert_equivalent(adder, refactored, by=SameTraces(inputs=snp.AnyInput(6)))
    ```
    """
    found = equivalent(first, second, by=by, **arguments)
    enough = {Agreement.EQUAL, Agreement.EQUAL_UP_TO} if bounded else {Agreement.EQUAL}
    if found.verdict in enough:
        return
    fix = ""
    if found.verdict is Agreement.EQUAL_UP_TO:
        fix = "\nAllow it by `bounded=True`, or explore more."
    raise AssertionError(f"The systems were not found equivalent: {found}{fix}")


def assert_invariant(
    system: Any,
    invariant: Callable[[Configurations], Any],
    /,
    *,
    inputs: AnyInput | None = None,
    bounded: bool = False,
    **exploring: Any,
) -> None:
    """Fail unless every configuration that a system can reach has a property.

    **Arguments:**

    - `system`: a system, or a graph that `snpjax.explore` made of it.
    - `invariant`: a predicate of configurations, as for `Graph.where`: `lambda c: c["n3"] <= 4`.
    - `inputs`: any input, instead of the system's own trains.
    - `bounded`: accept an exploration that a limit ended, if it found no violation.
    - `exploring`: further arguments of `snpjax.explore`.

    **Raises:** `AssertionError` with a shortest run to a configuration that breaks it.

    ```python
    assert_invariant(adder, lambda c: c["adder"] <= 3, inputs=snp.AnyInput(6, most=2))
    ```
    """
    model, names = system, ()
    if isinstance(system, Graph):
        model, graph = system_of(system), system
    else:
        environment = matched((system, system), inputs)
        one = None if environment is None else environment[0]
        names = () if one is None else one.neurons
        graph = explore(system, inputs=one, **exploring)
    broken = np.flatnonzero(~certain_condition(graph, invariant))
    if len(broken):
        edges = graph.edges_to(int(broken[0]))
        run = run_of_edges(graph, edges, model, names)
        step = f"after {len(edges)} steps" if len(edges) else "at the start"
        raise AssertionError(f"The invariant is broken {step}:\n{run}")
    if not graph.is_complete and not bounded:
        raise AssertionError(
            f"The invariant holds in {graph.num_configurations:,} configurations, but "
            f"{graph.reason}. Allow it by `bounded=True`, or explore more."
        )
