"""Search without gradients: generations of systems, all run side by side on the device."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Integer, Key, PyTree

from snpjax_formats import Dense

from .._xla import fetched
from ..choice import FirstChoice
from ..memory import Footprint, check_fits, compiled_bytes, share_taken
from ..results import RESULTS
from ..scale.hosts import check_agreement
from ..scale.mesh import PATHS, placement
from ..scale.shares import alike, on_all
from ..spiking.model.compatibility import TEXTBOOK
from ..spiking.model.system import SpikingSystem
from ..spiking.step.program import SpikingProgram
from ..spiking.step.step import SpikingState, initial_state, step
from ..trajectory import nbytes_of
from .genome import Genome, Space, drawn, mutated, rules_of, system_of, weights_of


T = TypeVar("T", bound=PyTree)

# A population that is compiled to learn what one needs.
_FEW = 64


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
) -> Evolved:
    """Evolve systems by mutation of their rules, spikes and synapses, and by crossing of neurons.

    **Arguments:**

    - `fitness`: of the spikes that left the outputs of one system in each step, for each input; a
      JAX function, the larger the better. A system whose counts overflow has none.
    - `steps`: of each run.
    - `key`: it is consumed; the same key gives the same system on every device.
    - `input`: trains of the input neurons, for each case; entry t arrives at the end of step t + 1.
    - `generations`, `population`: how many times how many systems are run.
    - `mutations`: how many numbers of a child change, on average.
    - `mesh`: devices that share the runs of each generation, `jax.make_mesh((4,), ("paths",))`;
      each computes the fitness of all. It never changes a result. See `snpjax.scale`.

    An eighth of a generation survives; the others are children of two systems, each the best of
    three. A child has each neuron, with the synapses to it, from either one.

    **Returns:** the best system as an exact `SpikingSystem`, and how the search went.

    **Raises:** `ValueError` for inputs that do not fit the space; `NotEnoughMemory` for a
    population that does not fit in memory.
    """
    trains = np.zeros((1, 0, space.inputs), np.int32) if input is None else np.asarray(input)
    if trains.ndim != 3 or trains.shape[2] != space.inputs or trains.shape[1] > steps:
        raise ValueError(
            f"`input` has the shape {trains.shape}. Give cases of up to {steps} steps of "
            f"{space.inputs} inputs."
        )
    if not np.issubdtype(trains.dtype, np.integer) or trains.min(initial=0) < 0:
        raise ValueError("`input` has entries that are no numbers of spikes.")
    if population < 8 or generations < 0 or steps < 1:
        raise ValueError("Give 8 systems or more, 1 step or more, and no generations below 0.")
    mesh, device = placement("evolve", mesh, (PATHS,))
    options = _Options(steps, generations, population, mutations)
    given = fitness, options, jnp.asarray(trains, jnp.int32), key
    with device:
        if mesh is not None:
            check_agreement("evolve", space=space, input=trains, key=key, options=tuple(options))
            given = on_all(given, mesh)
        _check_memory(space, given, mesh)
        best, score, history = fetched(_evolved(space, *given, mesh))
    return Evolved(system_of(space, best), float(score), history)


def _check_memory(space: Space, given: Any, mesh: Mesh | None) -> None:
    """Refuse a population that does not fit on a device, by what the compiler says: of its program,
    or of that of a few, if the genomes alone do not fit."""
    fitness, options, trains, key = given
    population = options.population
    genome = nbytes_of(jax.eval_shape(partial(drawn, space, 1), key))
    if share_taken(Footprint(2 * population * genome), mesh) > 1:  # parents and children
        options, mesh = options._replace(population=_FEW), None
    needed = compiled_bytes(_evolved, space, fitness, options, trains, key, mesh)
    is_alone = mesh is None and jax.device_count() > 1
    check_fits(
        lambda num: Footprint(needed * num // options.population),
        population,
        f"A population of {population:,} needs",
        "evolve a population of {:,}",
        *(["share it by `mesh=`"] if is_alone else []),
        mesh=mesh,
    )


class _Options(NamedTuple):
    steps: int
    generations: int
    population: int
    mutations: float


@eqx.filter_jit
def _evolved(
    space: Space,
    fitness: Callable[..., Float[Array, ""]],
    options: _Options,
    trains: Int[Array, "cases train inputs"],
    key: Key[Array, ""],
    mesh: Mesh | None,
) -> tuple[Genome, Float[Array, ""], Float[Array, " generations_and_one"]]:
    """The best genome, its fitness, and the best of each generation. Devices share the runs, and
    compute all else alike."""

    given = space, fitness, options, trains, key
    if mesh is None:
        return _search(*given, 1)
    return alike(partial(_search, devices=mesh.size), mesh, *given)


def _search(
    space: Space,
    fitness: Callable[..., Float[Array, ""]],
    options: _Options,
    trains: Int[Array, "cases train inputs"],
    key: Key[Array, ""],
    devices: int,
) -> tuple[Genome, Float[Array, ""], Float[Array, " generations_and_one"]]:
    population = options.population
    first_key, key = jr.split(key)
    survivors = population // 8

    def scores(genomes: Genome) -> Float[Array, " population"]:
        def emissions(genome: Genome) -> Any:
            return _emissions(space, genome, trains, options.steps)

        def score(emitted: Array, is_fine: Array) -> Float[Array, ""]:
            found = jnp.asarray(fitness(emitted), jnp.float32)
            return jnp.where(is_fine & ~jnp.isnan(found), found, -jnp.inf)

        # Floats are computed for all at once, so that no bit depends on who shares the runs.
        return jax.vmap(score)(*_shared(jax.vmap(emissions), genomes, devices))

    def generation(carry: tuple[Genome, Array], own: Array) -> tuple[tuple[Genome, Array], Array]:
        genomes, found = carry
        kept = lax.top_k(found, survivors)[1]
        parents_key, cross_key, mutate_key = jr.split(own, 3)
        children = population - survivors
        rivals = jr.randint(parents_key, (3, 2, children), 0, population)
        won = jnp.argmax(found[rivals], axis=0)
        parents = jnp.take_along_axis(rivals, won[None], axis=0)[0]
        is_first = jr.bernoulli(cross_key, shape=(children, 1, space.neurons))

        def child(table: Int[Array, "population rows neurons"]) -> Array:
            return jnp.where(is_first, table[parents[0]], table[parents[1]])

        new = mutated(space, jax.tree.map(child, genomes), options.mutations, mutate_key)
        new_found = scores(new)
        genomes = jax.tree.map(lambda x, y: jnp.concatenate([x[kept], y]), genomes, new)
        found = jnp.concatenate([found[kept], new_found])
        return (genomes, found), jnp.max(found)

    genomes = drawn(space, population, first_key)
    found = scores(genomes)
    first = jnp.max(found)[None]
    keys = jr.split(key, options.generations)
    (genomes, found), history = lax.scan(generation, (genomes, found), keys)
    best = jnp.argmax(found)
    history = jnp.concatenate([first, history])
    return jax.tree.map(lambda x: x[best], genomes), found[best], history


def _shared(function: Callable[[PyTree], T], rows: PyTree, devices: int) -> T:
    """`function(rows)`, which takes each row by itself, computed for some rows by each device. The
    last one takes the last row for those that are missing."""
    if devices == 1:
        return function(rows)
    num = len(jax.tree.leaves(rows)[0])
    share = -(-num // devices)
    own = jnp.minimum(lax.axis_index(PATHS) * share + jnp.arange(share), num - 1)
    found = function(jax.tree.map(lambda x: x[own], rows))
    return jax.tree.map(lambda x: lax.all_gather(x, PATHS, tiled=True)[:num], found)


def _emissions(
    space: Space, genome: Genome, trains: Int[Array, "cases train inputs"], steps: int
) -> tuple[Int[Array, "cases steps outputs"], Bool[Array, ""]]:
    """What left the outputs, and whether no count overflowed: the steps of the exact machine."""
    size = space.neurons
    low, high, is_rule = rules_of(space, genome)
    program = SpikingProgram(
        low=jnp.where(is_rule, low, 1),
        high=jnp.where(is_rule, high, 0),
        period=None,
        consume=jnp.where(is_rule, genome.consume, 0),
        produce=jnp.where(is_rule, genome.produce, 0),
        delay=None,
        number=None,
        type_of=None,
        rows=None,
        synapses=Dense(values=weights_of(space, genome).T, num_sources=size, num_targets=size),
        ordered=None,
        initial=genome.initial[0],
        outputs=jnp.arange(size - space.outputs, size),
        inputs=jnp.arange(space.inputs),
        trains=trains[0],
        horizon=jnp.asarray(trains.shape[1], jnp.int32),
        most_together=None,
        network=None,
        has_families=False,
        may_overflow=True,
        compatibility=TEXTBOOK.in_steps(has_delays=False),
    )

    def case(train: Int[Array, "train inputs"]) -> tuple[Array, Array]:
        own = eqx.tree_at(lambda program: program.trains, program, train)

        def body(state: SpikingState, _: None) -> tuple[SpikingState, Array]:
            state, record = step(own, state, FirstChoice())
            return state, record.output

        final, emitted = lax.scan(body, initial_state(own), None, length=steps)
        return emitted, final.status == RESULTS.halted

    emitted, is_fine = jax.vmap(case)(trains)
    return emitted, jnp.all(is_fine)
