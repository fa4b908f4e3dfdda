"""How many times the throughput of single runs does one batch of random paths have?

A nondeterministic system of 20 neurons, 100,000 paths. Path 0 of the batch must be the single run
of the same key. Run from the repository:

    PYTHONPATH=.:formats python bench/batch.py
"""

import time

import jax
import numpy as np

import snpjax as snp


PATHS = 100_000
SINGLE_RUNS = 20
MAX_STEPS = 200


def system() -> snp.SpikingSystem:
    """A generator of a number > 1, followed by a chain of relays that forget at random."""
    neurons = [
        snp.Neuron("n1", 2, ["a^2/a -> a", "a^2 -> a"]),
        snp.Neuron("n2", 1, ["a -> a"]),
        snp.Neuron("n3", 1, ["a -> a", "a^2 -> lambda"]),
    ]
    neurons += [snp.Neuron(f"r{i}", 0, ["a -> a", "a -> a; 1"]) for i in range(17)]
    synapses = [("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n3"), ("n3", "r0")]
    synapses += [(f"r{i}", f"r{i + 1}") for i in range(16)]
    return snp.SpikingSystem(neurons, synapses, output="r16")


def main() -> None:
    model = system()
    choice = snp.UniformChoice(jax.random.key(0))

    def batch():
        return snp.run(model, choice=choice, paths=PATHS, max_steps=MAX_STEPS)

    def single(key=0):
        choice = snp.UniformChoice(jax.random.key(key))
        return snp.run(model, choice=choice, max_steps=MAX_STEPS)

    paths, one = batch(), single()
    assert np.all(paths.halted)
    steps = np.asarray(paths.steps)[0]
    assert steps == one.steps
    assert np.array_equal(paths.train()[:steps, 0], one.train())

    ratios = []
    for _ in range(3):
        began = time.perf_counter()
        batch()
        middle = time.perf_counter()
        for key in range(SINGLE_RUNS):
            single(key)
        end = time.perf_counter()
        in_batch, alone = (middle - began) / PATHS, (end - middle) / SINGLE_RUNS
        ratios.append(alone / in_batch)
        print(f"a path: {in_batch * 1e6:8.2f} us in the batch, {alone * 1e6:10.1f} us alone")
    print(f"{jax.devices()[0].device_kind}: {np.median(ratios):,.0f} times the throughput")


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# One NVIDIA H200, jax 0.11.2, 2026-11-21: 2.2 us a path in the batch, 14,061 us alone: 6,039 times.
# Two CPU cores of that host, jax 0.11.2, 2026-11-21: 70 us against 5,089: 74 times.
