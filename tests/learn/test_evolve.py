"""Search by generations, and exact runs from many configurations at once."""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import learn
from snpjax.learn.generation import emissions_of
from snpjax.learn.genome import drawn, mutated, rules_of, system_of
from snpjax.testing import reference
from tests.support.helpers import quietly


EVOLVE = sys.modules["snpjax.learn.evolve"]
SPACE = learn.Space(neurons=3, rules=3, most=3, most_produced=2, most_weight=2, inputs=1)
STEPS = 7
TRAINS = np.asarray([[[2], [0], [1]], [[0], [0], [0]], [[1], [3], [1]]])


def test_genomes_are_their_systems():
    """What a genome emits is what the reference says of the system made of it."""
    first = drawn(SPACE, 40, jr.key(0))
    genomes = jax.tree.map(
        lambda x, y: jnp.concatenate([x, y]), first, mutated(SPACE, first, 20.0, jr.key(1))
    )

    @jax.jit
    @jax.vmap
    def emitted(genome):
        return emissions_of(SPACE, genome, jnp.asarray(TRAINS, jnp.int32), STEPS)

    found, is_fine = emitted(genomes)
    assert is_fine.all()
    different = set()
    for number in range(80):
        genome = jax.tree.map(lambda x: x[number], genomes)  # noqa: B023
        system = quietly(system_of, SPACE, genome)
        different.add(system)
        assert len(system.rules) <= int(rules_of(SPACE, genome)[2].sum())
        for case, train in enumerate(TRAINS):
            own = quietly(system.replace, input={"n0": train[:, 0].tolist()})
            exact = reference.run(own, max_steps=STEPS)
            rows = [row[-1] for row in exact.emissions] + [0] * (STEPS - exact.steps)
            assert found[number, case, :, 0].tolist() == rows, (number, case)
    assert len(different) > 70 and np.asarray(found).any()


def answers(trains):
    """Spikes where there is input, and none where there is none."""
    return jnp.sum(trains[0]) + jnp.sum(trains[2]) - 4 * jnp.sum(trains[1])


@pytest.mark.slow
def test_the_best_system_is_as_good_as_was_said():
    options = {"steps": STEPS, "input": TRAINS, "generations": 12, "population": 64}
    one, again = (learn.evolve(SPACE, answers, key=jr.key(5), **options) for _ in range(2))
    assert one.system == again.system and one.history.tolist() == again.history.tolist()
    assert len(one.history) == 13 and (np.diff(one.history) >= 0).all()
    assert one.fitness == one.history[-1] > one.history[0]
    trains = []
    for train in TRAINS:
        own = quietly(one.system.replace, input={"n0": train[:, 0].tolist()})
        run = snp.run(own, max_steps=STEPS)
        trains.append(np.pad(run.spike_train, (0, STEPS - run.steps)))
    assert float(answers(jnp.asarray(np.stack(trains)[..., None]))) == one.fitness


def test_what_is_no_space_is_refused():
    with pytest.raises(ValueError, match="has no systems"):
        learn.Space(neurons=0)
    with pytest.raises(ValueError, match="1 to 2 outputs"):
        learn.Space(neurons=2, outputs=3)
    with pytest.raises(ValueError, match="Give cases of up to 2 steps of 1 inputs"):
        learn.evolve(SPACE, answers, steps=2, key=jr.key(0), input=TRAINS)
    with pytest.raises(ValueError, match="not numbers of spikes"):
        learn.evolve(SPACE, answers, steps=9, key=jr.key(0), input=-TRAINS)
    with pytest.raises(ValueError, match="8 systems or more"):
        learn.evolve(SPACE, answers, steps=9, key=jr.key(0), input=TRAINS, population=7)


def test_replayed_runs_are_runs():
    neurons = [
        snp.Neuron("x", 0, ["a{2,}/a^2 -> a; 1", "a -> lambda"]),
        snp.Neuron("y", 0, ["a{3}/a -> a^2"]),
    ]
    system = quietly(snp.SpikingSystem, neurons, [("x", "y", 3), ("y", "x")], output=["y", "x"])
    spikes = np.asarray([[0, 1, 5, 4], [3, 0, 1, 3]])
    found = learn.replay(system, spikes, steps=6)
    on_device = learn.replay(system, jnp.asarray(spikes), steps=6)
    assert all(np.array_equal(x, y) for x, y in zip(found, on_device, strict=True))
    for path, own in enumerate(spikes.T.tolist()):
        named = [snp.Neuron(n.name, k, n.rules) for n, k in zip(neurons, own, strict=True)]
        exact = snp.run(quietly(system.replace, neurons=named), max_steps=6)
        assert found.spikes[:, path].tolist() == exact.spikes.tolist()
        assert found.halted[path] == exact.halted
        assert found.trains[: exact.steps, :, path].tolist() == exact.spike_trains.tolist()
    with pytest.raises(ValueError, match=r"Give \(2, paths\)"):
        learn.replay(system, spikes[:, 0], steps=6)
    with pytest.raises(ValueError, match="not a whole number"):
        learn.replay(system, spikes + 0.5, steps=6)
    with pytest.raises(ValueError, match="up to 6 steps of up to"):
        learn.replay(system, spikes, steps=6, input=np.zeros((7, 1, spikes.shape[1])))
    with pytest.raises(ValueError, match="`input` has a count that is not a whole number"):
        learn.replay(system, spikes, steps=6, input=np.full((1, 1, spikes.shape[1]), 0.5))
    with pytest.raises(ValueError, match="is not replayed"):
        growing = snp.SpikingSystem([snp.Neuron("x", 1, ["[a]_x -> []_x || []_x"])])
        learn.replay(growing, spikes[:1], steps=6)


def test_a_population_that_does_not_fit_is_refused(free, monkeypatch):
    """The program is that of the population, or of a few systems where genomes alone do not fit."""
    compiled = []

    def bytes_of(program, search, *_):
        del program
        compiled.append(search.options.population)
        return 3000 * search.options.population

    monkeypatch.setattr(EVOLVE, "compiled_bytes", bytes_of)
    free(10**7)
    options = {"steps": 4, "key": jr.key(0), "generations": 2}
    for population, compiles in ((10**12, 64), (5000, 5000)):
        message = (
            f"A population of {population:,} needs {3000 * population:,} bytes, but 10,000,000 are "
            "free. Evolve a population of 3,[23][09]. or share it by `mesh=`"
        )
        with pytest.raises(snp.NotEnoughMemory, match=message):
            learn.evolve(SPACE, jnp.sum, population=population, **options)
        assert compiled.pop() == compiles
