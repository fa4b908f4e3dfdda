"""Systems as tables of small numbers, to be changed at random."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from ..spiking.model.rule import Rule
from ..spiking.model.system import Neuron, SpikingSystem


_ENDLESS = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Space:
    """Systems to search among: `neurons` neurons with up to `rules` rules each, in which all
    numbers are small.

    - `most`: the largest spikes at the start, consumption, and bound of a guard, which is an
      interval or has no end.
    - `most_produced`, `most_weight`: the largest production, and weight of a synapse.
    - `inputs`, `outputs`: the first neurons are inputs, the last ones outputs.

    There are no delays, and each neuron takes the first rule that applies.
    """

    neurons: int
    rules: int = 2
    most: int = 3
    most_produced: int = 1
    most_weight: int = 1
    inputs: int = 0
    outputs: int = 1

    def __post_init__(self) -> None:
        numbers = (self.neurons, self.rules, self.most, self.most_produced, self.most_weight)
        if min(numbers) < 1 or not 0 <= self.inputs <= self.neurons:
            raise ValueError(f"{self} has no systems. Give numbers of 1 or more.")
        if not 1 <= self.outputs <= self.neurons or self.most >= 1 << 15:
            raise ValueError(
                f"{self} does not make sense. Give 1 to {self.neurons} outputs, and `most` below "
                "32768."
            )


class Genome(eqx.Module):
    """Systems of a space as numbers; `high` of `most + 1` has no end. A rule with low > high, or
    that is not there, never applies; `low` counts from what the rule consumes."""

    low: Int[Array, "*batch rules neurons"]
    high: Int[Array, "*batch rules neurons"]
    consume: Int[Array, "*batch rules neurons"]
    produce: Int[Array, "*batch rules neurons"]
    is_rule: Int[Array, "*batch rules neurons"]
    initial: Int[Array, "*batch one neurons"]
    weights: Int[Array, "*batch sources neurons"]


def _fields(space: Space) -> dict[str, tuple[tuple[int, int], int, int]]:
    """The shape of every table of a genome, and the least and the largest of its numbers."""
    rules = (space.rules, space.neurons)
    return {
        "low": (rules, 0, space.most),
        "high": (rules, 0, space.most + 1),
        "consume": (rules, 1, space.most),
        "produce": (rules, 0, space.most_produced),
        "is_rule": (rules, 0, 1),
        "initial": ((1, space.neurons), 0, space.most),
        "weights": ((space.neurons, space.neurons), 0, space.most_weight),
    }


def drawn(space: Space, population: int, key: Key[Array, ""]) -> Genome:
    """Systems whose numbers are uniform; half of the spikes and synapses are none."""
    tables = {}
    for own, (name, (shape, low, high)) in zip(
        jr.split(key, 7), _fields(space).items(), strict=True
    ):
        one, other = jr.split(own)
        numbers = jr.randint(one, (population, *shape), low, high + 1)
        if name in ("initial", "weights"):
            numbers = jnp.where(jr.bernoulli(other, shape=numbers.shape), numbers, 0)
        tables[name] = numbers
    return Genome(**tables)


def mutated(space: Space, genomes: Genome, mutations: float, key: Key[Array, ""]) -> Genome:
    """Some numbers one more or less, or redrawn."""
    fields = _fields(space)
    count = sum(rows * columns for (rows, columns), _, _ in fields.values())
    tables = {}
    for own, (name, (_, low, high)) in zip(jr.split(key, 7), fields.items(), strict=True):
        table = getattr(genomes, name)
        whether, how, by, redrawn = jr.split(own, 4)
        near = table + 2 * jr.bernoulli(by, shape=table.shape).astype(jnp.int32) - 1
        other = jr.randint(redrawn, table.shape, low, high + 1)
        new = jnp.where(jr.bernoulli(how, shape=table.shape), jnp.clip(near, low, high), other)
        tables[name] = jnp.where(
            jr.bernoulli(whether, min(mutations / count, 1.0), table.shape), new, table
        )
    return Genome(**tables)


def rules_of(space: Space, genome: Genome) -> tuple[Array, Array, Bool[Array, "rules neurons"]]:
    """What bounds the guards, and where there is a rule."""
    low = jnp.maximum(genome.low, genome.consume)
    high = jnp.where(genome.high > space.most, _ENDLESS, genome.high)
    return low, high, (genome.is_rule > 0) & (low <= high)


def weights_of(space: Space, genome: Genome) -> Int[Array, "sources neurons"]:
    """No neuron sends to itself."""
    return jnp.where(jnp.eye(space.neurons, dtype=bool), 0, genome.weights)


def system_of(space: Space, genome: Genome) -> SpikingSystem:
    """The system of one genome; neuron i is called `n{i}`, from 0."""
    low, high, is_rule = (np.asarray(x) for x in rules_of(space, genome))
    consume, produce = np.asarray(genome.consume), np.asarray(genome.produce)
    names = [f"n{i}" for i in range(space.neurons)]
    neurons = []
    for i, name in enumerate(names):
        rules = []
        for r in np.flatnonzero(is_rule[:, i]):
            bounds = int(low[r, i]), None if high[r, i] == _ENDLESS else int(high[r, i])
            rules.append(Rule(bounds, int(consume[r, i]), int(produce[r, i])))
        neurons.append(Neuron(name, int(genome.initial[0, i]), list(dict.fromkeys(rules))))
    weights = np.asarray(weights_of(space, genome))
    return SpikingSystem(
        neurons,
        [(names[s], names[t], int(weights[s, t])) for s, t in np.argwhere(weights)],
        input={name: () for name in names[: space.inputs]},
        output=names[-space.outputs :],
    )
