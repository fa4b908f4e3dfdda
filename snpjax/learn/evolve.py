"""Search without gradients: generations of systems, all run side by side on the device."""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Integer, Key

from .._xla import fetched
from ..memory import Footprint, check_fits, compiled_bytes, share_taken
from ..scale.checkpoint import Checkpoint, Checkpoints, checkpoints_of
from ..scale.hosts import check_agreement
from ..scale.mesh import PATHS, placement
from ..scale.paths import value_of_each
from ..scale.shares import on_all
from ..spiking.model.system import SpikingSystem
from ..trajectory import nbytes_of
from .generation import Generation, Options, Search, evolved, first_generation
from .genome import Space, drawn, system_of


# A population that is compiled to learn what one needs.
_FEW = 64
_SECONDS_PER_CALL = 0.5  # between checkpoints


class Evolved(NamedTuple):
    """The best system, its fitness, and the best fitness of each generation, from the first."""

    system: SpikingSystem
    fitness: float
    history: Float[np.ndarray, " generations_and_one"]


def evolve(
    space: Space,
    fitness: Callable[[Int[Array, "cases steps outputs"]], Float[Array, ""]],
    /,
    *,
    steps: int,
    key: Key[Array, ""],
    input: Integer[np.ndarray | Array, "cases train inputs"] | None = None,
    generations: int = 100,
    population: int = 256,
    mutations: float = 2.0,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
) -> Evolved:
    """Evolve systems by mutation of their rules, spikes and synapses, and by crossover of neurons.

    **Arguments:**

    - `space`: the systems that may evolve: numbers of neurons, rules and inputs, and the ranges of
      all numbers.
    - `fitness`: a JAX function from the `(cases, steps, outputs)` spikes that left the outputs of
      one system to its fitness; larger is better. A system whose counts overflow is never selected.
    - `steps`: the length of each run.
    - `key`: a typed PRNG key; it is consumed. The same key gives the same system on every device.
    - `input`: `(cases, train, inputs)` trains of the input neurons for each case; entry t arrives
      at the end of step t + 1. By default one case without input.
    - `generations`: the number of generations after the first one.
    - `population`: the number of systems in each generation, 8 or more.
    - `mutations`: the mean number of mutations of a child.
    - `mesh`: devices that share the runs of each generation, `jax.make_mesh((4,), ("paths",))`;
      each computes the fitness of all. It never changes a result. See `snpjax.scale`.
    - `checkpoint`: where to save generations, see `snpjax.Checkpoint`.

    An eighth of each generation survives. The others are children of two systems, each the best of
    three random ones. A child takes every neuron, with the synapses to it, from one of its parents.

    **Returns:** the best system as an exact `SpikingSystem`, its fitness, and the best fitness of
    each generation.

    **Raises:** `ValueError` for inputs that do not fit the space or a setting out of range;
    `NotEnoughMemory` for a population that does not fit in memory; `CheckpointError` for
    checkpoints of another call.
    """
    trains = np.zeros((1, 0, space.inputs), np.int32) if input is None else np.asarray(input)
    if trains.ndim != 3 or trains.shape[2] != space.inputs or trains.shape[1] > steps:
        raise ValueError(
            f"`input` has the shape {trains.shape}. Give cases of up to {steps} steps of "
            f"{space.inputs} inputs."
        )
    if not np.issubdtype(trains.dtype, np.integer) or trains.min(initial=0) < 0:
        raise ValueError("`input` has entries that are not numbers of spikes.")
    if population < 8 or generations < 0 or steps < 1:
        raise ValueError("Give 8 systems or more, 1 step or more, and no generations below 0.")
    mesh, device = placement("evolve", mesh, (PATHS,))
    options = Options(steps, generations, population, mutations)
    search = Search(space, fitness, options, jnp.asarray(trains, jnp.int32), key)
    with device:
        if mesh is not None:
            check_agreement("evolve", space=space, input=trains, key=key, options=tuple(options))
            search = on_all(search, mesh)
        saved = checkpoints_of(
            checkpoint,
            "evolve",
            space=space,
            fitness=fitness,
            steps=steps,
            key=key,
            input=trains,
            generations=generations,
            population=population,
            mutations=mutations,
        )
        with saved as checkpoints:
            last = fetched(_last_generation(search, mesh, checkpoints))
    best = np.argmax(last.found)
    genome = jax.tree.map(lambda x: x[best], last.genomes)
    return Evolved(system_of(space, genome), float(last.found[best]), last.history)


def _last_generation(search: Search, mesh: Mesh | None, checkpoints: Checkpoints) -> Generation:
    """The first generation, or that of the checkpoint, and those after it: in one call to the
    device, or in several if checkpoints come between."""
    options = search.options
    if checkpoints.restored is None:
        _check_first(search, mesh)
        state = first_generation(search, mesh)
    else:
        state = checkpoints.restored.state(Generation.like(search.space))
        state = jax.tree.map(jnp.asarray, state)
        state = state if mesh is None else on_all(state, mesh)
    number = begun = int(fetched(state.number))
    at_once = 1 if checkpoints.is_active else options.generations
    while number < options.generations:
        if checkpoints.is_due():
            checkpoints.save(state)
        until = jnp.asarray(min(number + at_once, options.generations), jnp.int32)
        if mesh is not None:
            until = on_all(until, mesh)
        if number == begun:
            needed = compiled_bytes(evolved, search, state, until, mesh)
            _check_population(needed, options.population, options.population, mesh)
        began = time.perf_counter()
        state = evolved(search, state, until, mesh)
        number = int(fetched(state.number))
        if checkpoints.is_active and number > begun + 1:  # the first call may compile
            seconds = max(time.perf_counter() - began, 1e-6)
            at_once = value_of_each(max(1, int(at_once * min(_SECONDS_PER_CALL / seconds, 2))))[0]
    checkpoints.finish(state)
    return state


def _check_first(search: Search, mesh: Mesh | None) -> None:
    """Refuse a population that does not fit on a device, by what the compiler says: of its program,
    or of that of a few, if the genomes alone do not fit."""
    population, own = search.options.population, mesh
    genome = nbytes_of(jax.eval_shape(partial(drawn, search.space, 1), search.key))
    if share_taken(Footprint(2 * population * genome), mesh) > 1:  # parents and children
        search, own = search._replace(options=search.options._replace(population=_FEW)), None
    needed = compiled_bytes(first_generation, search, own)
    _check_population(needed, search.options.population, population, own)


def _check_population(needed: int, compiled: int, population: int, mesh: Mesh | None) -> None:
    """Refuse a population that does not fit on a device, where the program for `compiled` systems
    needs that many bytes."""
    is_alone = mesh is None and jax.device_count() > 1
    check_fits(
        lambda num: Footprint(needed * num // compiled),
        population,
        f"A population of {population:,} needs",
        "evolve a population of {:,}",
        *(["share it by `mesh=`"] if is_alone else []),
        mesh=mesh,
    )
