"""Generations of systems: how one is run, and how the next one comes of it."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from snpjax_formats import Dense

from ..choice import FirstChoice
from ..results import RESULTS
from ..scale.mesh import PATHS
from ..scale.shares import alike
from ..spiking.model.compatibility import TEXTBOOK
from ..spiking.step.program import SpikingProgram
from ..spiking.step.step import SpikingState, initial_state, step
from .genome import Genome, Space, drawn, mutated, rules_of, weights_of


T = TypeVar("T", bound=PyTree)


class Options(NamedTuple):
    """Sizes and rates of a search."""

    steps: int
    generations: int
    population: int
    mutations: float


class Search(NamedTuple):
    """What `evolve` searches, and how; `trains` are those of the input neurons."""

    space: Space
    fitness: Callable[..., Float[Array, ""]]
    options: Options
    trains: Int[Array, "cases train inputs"]
    key: Key[Array, ""]


class Generation(NamedTuple):
    """The systems of a generation and their fitness; its number, and the best fitness of each
    generation up to it."""

    genomes: Genome
    found: Float[Array, " population"]
    history: Float[Array, " generations_and_one"]
    number: Int[Array, ""]

    @staticmethod
    def like(space: Space) -> "Generation":
        """One of the same structure."""
        genomes = jax.eval_shape(partial(drawn, space, 1), jr.key(0))
        return Generation(genomes, *(jnp.zeros(()) for _ in range(3)))


@eqx.filter_jit
def first_generation(search: Search, mesh: Mesh | None) -> Generation:
    """The first generation. Devices share the runs, and compute all else alike."""
    if mesh is None:
        return _drawn(search, 1)
    return alike(partial(_drawn, devices=mesh.size), mesh, search)


@eqx.filter_jit
def evolved(
    search: Search, state: Generation, until: Int[Array, ""], mesh: Mesh | None
) -> Generation:
    """Evolve up to generation `until`. All values of it share one compiled program."""
    if mesh is None:
        return _evolved(search, state, until, 1)
    return alike(partial(_evolved, devices=mesh.size), mesh, search, state, until)


def _drawn(search: Search, devices: int) -> Generation:
    options = search.options
    genomes = drawn(search.space, options.population, jr.split(search.key)[0])
    found = _scores(search, genomes, devices)
    history = jnp.zeros((options.generations + 1,), jnp.float32).at[0].set(jnp.max(found))
    return Generation(genomes, found, history, jnp.zeros((), jnp.int32))


def _scores(search: Search, genomes: Genome, devices: int) -> Float[Array, " population"]:
    def emissions(genome: Genome) -> Any:
        return emissions_of(search.space, genome, search.trains, search.options.steps)

    def score(emitted: Array, is_fine: Array) -> Float[Array, ""]:
        found = jnp.asarray(search.fitness(emitted), jnp.float32)
        return jnp.where(is_fine & ~jnp.isnan(found), found, -jnp.inf)

    # Floats are computed for all at once, so that no bit depends on who shares the runs.
    return jax.vmap(score)(*_shared(jax.vmap(emissions), genomes, devices))


def _evolved(search: Search, state: Generation, until: Int[Array, ""], devices: int) -> Generation:
    space, _, options, _, key = search
    population = options.population
    survivors = population // 8
    keys = jr.split(jr.split(key)[1], options.generations)

    def generation(state: Generation) -> Generation:
        genomes, found, history, number = state
        kept = lax.top_k(found, survivors)[1]
        parents_key, cross_key, mutate_key = jr.split(keys[number], 3)
        children = population - survivors
        rivals = jr.randint(parents_key, (3, 2, children), 0, population)
        won = jnp.argmax(found[rivals], axis=0)
        parents = jnp.take_along_axis(rivals, won[None], axis=0)[0]
        is_first = jr.bernoulli(cross_key, shape=(children, 1, space.neurons))

        def child(table: Int[Array, "population rows neurons"]) -> Array:
            return jnp.where(is_first, table[parents[0]], table[parents[1]])

        new = mutated(space, jax.tree.map(child, genomes), options.mutations, mutate_key)
        new_found = _scores(search, new, devices)
        genomes = jax.tree.map(lambda x, y: jnp.concatenate([x[kept], y]), genomes, new)
        found = jnp.concatenate([found[kept], new_found])
        history = history.at[number + 1].set(jnp.max(found))
        return Generation(genomes, found, history, number + 1)

    return lax.while_loop(lambda state: state.number < until, generation, state)


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


def emissions_of(
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
