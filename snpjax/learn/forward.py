"""Runs of populations one after the other, where projections make no cycle."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import equinox as eqx
from jaxtyping import Array, Float

from snpjax_formats import Sum

from .population import NeuronRange, PopulationRun, population_at
from .relaxed import RelaxedSystem, constants_of
from .synapses.abstract import delivered


def order_of(count: int, projections: Sequence[tuple[int, int]]) -> tuple[int, ...] | None:
    """The populations, each after those that project to it; `None` where there is a cycle."""
    before = {p: [s for s, t in projections if t == p] for p in range(count)}
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None


@eqx.filter_jit
def forward(
    model: RelaxedSystem,
    places: Sequence[NeuronRange],
    projections: Sequence[tuple[int, int]],
    order: Sequence[int],
    spikes: Float[Array, "neurons *paths"],
    input: Float[Array, "steps inputs *paths"] | None,
    steps: int,
    keeps: Sequence[int] = (),
) -> dict[int, PopulationRun]:
    """The runs of the last population and of those whose counts are kept, by number. Others run
    only if their spikes reach one of these.

    What halts is a fixed point, so no population needs to know whether others have halted.
    """
    constants = constants_of(model)
    assert isinstance(constants.synapses, Sum)
    asked = {len(places) - 1, *keeps}
    needed = set(asked)
    for p in reversed(order):
        needed |= {s for s, t in projections if t == p and p in needed}
    runs: dict[int, PopulationRun] = {}
    for p in (p for p in order if p in needed):
        arriving = None if p else input
        for (source, target), part in zip(projections, constants.synapses.parts, strict=True):
            if target == p:
                got = delivered(part, runs[source].trains)
                arriving = got if arriving is None else arriving + got
        given = constants, spikes[places[p].neurons], arriving, steps
        runs[p] = population_at(model, places[p]).run_from(*given, keeps=p in keeps)
    return {p: runs[p] for p in asked}
