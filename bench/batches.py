"""What does a path of a batch cost: random paths, inputs of their own, different systems?"""

import jax
import numpy as np
from figures import EXAMPLES, Case, figure, of_run

import snpjax as snp


def generator_and_relays() -> snp.SpikingSystem:
    """A generator of a number > 1, followed by a chain of relays that delay at random: 20
    neurons."""
    neurons = [
        snp.Neuron("n1", 2, ["a^2/a -> a", "a^2 -> a"]),
        snp.Neuron("n2", 1, ["a -> a"]),
        snp.Neuron("n3", 1, ["a -> a", "a^2 -> lambda"]),
    ]
    neurons += [snp.Neuron(f"r{i}", 0, ["a -> a", "a -> a; 1"]) for i in range(17)]
    synapses = [("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n3"), ("n3", "r0")]
    synapses += [(f"r{i}", f"r{i + 1}") for i in range(16)]
    return snp.SpikingSystem(neurons, synapses, output="r16")


@figure("100,000 random paths of 20 neurons", 100_000)
@figure("1,000 random paths of 20 neurons", 1_000, on="cpu")
def random_paths(paths: int) -> Case:
    model = generator_and_relays()
    choice = snp.UniformChoice(jax.random.key(0))

    def check(batch: snp.SolutionBatch) -> float:
        """Path 0 is the single run of the same key."""
        one = snp.run(model, choice=choice, max_steps=200)
        steps = np.asarray(batch.steps)[0]
        assert np.all(batch.halted) and steps == one.steps
        assert np.array_equal(batch.train()[:steps, 0], one.train())
        return paths

    return of_run(model, check, choice=choice, paths=paths, max_steps=200, unit="us per path")


@figure("10,000 neurons x 100 random paths x 100 steps", 10_000, 100, 100)
def network(n: int, paths: int, steps: int) -> Case:
    rules = ["a -> a", "a{2,}/a^2 -> a", "a{2,}/a -> a", "a^3 -> lambda"]
    spikes = np.random.default_rng(0).integers(0, 4, n)
    model = snp.PopulationSystem(
        [snp.Population("n", n, spikes, rules)],
        [snp.Projection("n", "n", snp.graphs.RandomInDegree(2, seed=0))],
    )
    choice = snp.UniformChoice(jax.random.key(0))

    def check(batch: snp.SolutionBatch) -> None:
        one = snp.run(model, choice=choice, max_steps=steps, save=snp.SAVE_FINAL)
        assert np.all(np.asarray(batch.steps) == steps)
        assert np.array_equal(batch.spikes[:, 0], one.spikes)

    return of_run(
        model, check, choice=choice, paths=paths, max_steps=steps, save=snp.SAVE_FINAL, unit="s"
    )


@figure("8-bit adder, 65,536 pairs", on="cpu gpu")
def adder() -> Case:
    system = snp.read(EXAMPLES / "bit_adder.snp.json")
    assert isinstance(system, snp.SpikingSystem)
    pairs = np.arange(2**16)
    x, y = pairs >> 8, pairs & 255
    bits = ((x >> np.arange(8)[:, None]) & 1) + ((y >> np.arange(8)[:, None]) & 1)

    def check(batch: snp.SolutionBatch) -> None:
        train = batch.train()[1:]  # the input of step 1 is added in step 2
        found = np.sum(train.astype(np.int64) << np.arange(len(train))[:, None], axis=0)
        assert np.array_equal(found, x + y)

    return of_run(system, check, inputs=bits[:, None, :], paths=2**16, max_steps=12)


@figure("SystemBatch of 1,024 systems", 1_024)
@figure("SystemBatch of 64 systems", 64, on="")
def stores(number: int) -> Case:
    """A store of k spikes loses c of them in each step."""
    sizes = [(3 * i % 500 + 20, i % 7 + 1) for i in range(number)]
    batch = snp.SystemBatch(
        [
            snp.SpikingSystem(
                [snp.Neuron("store", k, [f"a{{{c},}}/a^{c} -> a"]), snp.Neuron("count")],
                [("store", "count")],
            )
            for k, c in sizes
        ]
    )

    def call() -> tuple[snp.Solution, ...]:
        return snp.run(batch)

    def check(solutions: tuple[snp.Solution, ...]) -> None:
        for (k, c), solution in zip(sizes, solutions, strict=True):
            assert (solution.steps, solution.spikes_of("store")) == divmod(k, c)

    return Case(call, check)
