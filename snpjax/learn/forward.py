"""Runs of populations one after the other, where projections make no cycle."""

from collections.abc import Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from snpjax_formats import Sum

from ..choice import FirstChoice
from ..spiking.step.program import SpikingProgram
from .relaxed import Constants, RelaxedSystem, constants_of, nameless
from .run import scanned
from .step import initial_state


class NeuronRange(NamedTuple):
    """Where a population stands among the neurons of a model.

    - `slots`: of the rules of its neurons.
    """

    start: int
    size: int
    slots: int

    @property
    def neurons(self) -> slice:
        """Its neurons."""
        return slice(self.start, self.start + self.size)


def order_of(count: int, projections: Sequence[tuple[int, int]]) -> tuple[int, ...] | None:
    """The populations, each after those that project to it; `None` where there is a cycle."""
    before = {p: [s for s, t in projections if t == p] for p in range(count)}
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return None


class Pass(NamedTuple):
    """One run of populations.

    - `trains`, `left`: what leaves the last population in each step, and what is left in it.
    - `emissions`, `counts`: what leaves each recorded population in each step, and the spikes in it
      after each step, beginning with the initial ones.
    """

    trains: Float[Array, "steps outputs *paths"]
    left: Float[Array, "outputs *paths"]
    emissions: dict[int, Float[Array, "steps neurons *paths"]]
    counts: dict[int, Float[Array, "steps_and_one neurons *paths"]]


@eqx.filter_jit
def forward(
    model: RelaxedSystem,
    places: Sequence[NeuronRange],
    projections: Sequence[tuple[int, int]],
    order: Sequence[int],
    spikes: Float[Array, "neurons *paths"],
    steps: int,
    recorded: Sequence[int] = (),
) -> Pass:
    """Run populations one after the other.

    What halts is a fixed point anyway, so that no population needs to know of the others' halting.
    Only populations that are recorded or reach the last one or a recorded one are run.
    """
    constants = constants_of(model)
    assert isinstance(constants.synapses, Sum)
    last = len(places) - 1
    needed = {last, *recorded}
    for p in reversed(order):
        needed |= {s for s, t in projections if t == p and p in needed}
    trains: dict[int, Float[Array, "steps neurons *paths"]] = {}
    counts: dict[int, Float[Array, "steps_and_one neurons *paths"]] = {}
    left = {}
    for p in (p for p in order if p in needed):
        arriving = None
        for (source, target), part in zip(projections, constants.synapses.parts, strict=True):
            if target == p:
                # Steps are a batch like any other, and go last.
                sent = jnp.moveaxis(trains[source], 0, -1)
                got = jnp.moveaxis(part.deliver(sent, accumulate=jnp.float32), -1, 0)
                arriving = got if arriving is None else arriving + got
        own = spikes[places[p].neurons]
        given = model, constants, places[p], own, arriving, steps
        trains[p], left[p], after = population_record(*given, keeps=p in recorded)
        if after is not None:
            counts[p] = jnp.concatenate([own[None], after])
    return Pass(trains[last], left[last], {p: trains[p] for p in recorded}, counts)


def population_run(
    model: RelaxedSystem,
    constants: Constants,
    place: NeuronRange,
    spikes: Float[Array, "neurons *paths"],
    arriving: Float[Array, "steps neurons *paths"] | None,
    steps: int,
) -> tuple[Float[Array, "steps neurons *paths"], Float[Array, "neurons *paths"]]:
    """What leaves the neurons of one population, and what is left in them."""
    given = model, constants, place, spikes, arriving, steps
    trains, left, _ = population_record(*given, keeps=False)
    return trains, left


def population_record(
    model: RelaxedSystem,
    constants: Constants,
    place: NeuronRange,
    spikes: Float[Array, "neurons *paths"],
    arriving: Float[Array, "steps neurons *paths"] | None,
    steps: int,
    *,
    keeps: bool,
) -> tuple[
    Float[Array, "steps neurons *paths"],
    Float[Array, "neurons *paths"],
    Float[Array, "steps neurons *paths"] | None,
]:
    """As `population_run`, and where it `keeps` them, the spikes after each step."""
    if place.slots == 0:  # neurons without rules only count
        silent = jnp.zeros((steps, *spikes.shape))
        left = spikes if arriving is None else spikes + jnp.sum(arriving, axis=0)
        if not keeps:
            return silent, left, None
        received = silent if arriving is None else jnp.cumsum(arriving, axis=0)
        return silent, left, spikes[None] + received
    program = _cut(model.program, place)
    own = eqx.tree_at(lambda m: (m.program, m.synapses, m.is_synapse), model, (program, None, None))
    if model.tap is not None:
        own = replace(own, tap=model.tap[:, place.neurons])
    sizes = {"num_sources": place.size, "num_targets": place.size}
    constants = constants._replace(
        **{name: getattr(constants, name)[: place.slots, place.neurons] for name in _TABLES},
        initial=constants.initial[place.neurons],
        synapses=Sum(parts=(), source_starts=(), target_starts=(), **sizes),
        program=_cut(constants.program, place),
    )
    final, (outputs, _, counts) = scanned(
        nameless(own),
        constants,
        FirstChoice(),
        initial_state(spikes),
        arriving,
        steps,
        False,
        keeps,
    )
    return outputs, final.spikes, counts


_TABLES = ("low", "high", "consume", "produce")


def _cut(program: SpikingProgram, place: NeuronRange) -> SpikingProgram:
    """The rules of one population, all of whose neurons are outputs."""

    def own(table: Array | None) -> Array | None:
        return None if table is None else table[: place.slots, place.neurons]

    return replace(
        program,
        **{name: own(getattr(program, name)) for name in (*_TABLES, "period", "delay", "number")},
        initial=program.initial[place.neurons],
        outputs=jnp.arange(place.size),
        inputs=jnp.zeros(0, jnp.int32),
        trains=jnp.zeros((0, 0), program.trains.dtype),
    )
