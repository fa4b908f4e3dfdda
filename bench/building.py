"""How long does it take to build and lower a system of 1,000,000 neurons and 32,000,000 synapses,
and how much memory?

    PYTHONPATH=.:formats python bench/building.py [neurons synapses_per_neuron]
"""

import resource
import sys
import time

import jax
import numpy as np

import snpjax as snp


def main() -> None:
    given = [int(number) for number in sys.argv[1:]]
    n, k = given or (1_000_000, 32)
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    spikes = np.random.default_rng(0).integers(0, 3, n)
    rules = ["a -> a", "a^2/a -> a", "a^3 -> lambda"]
    jax.block_until_ready(jax.numpy.zeros(1))  # the device is there before the clock starts
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    system = snp.PopulationSystem(
        [snp.Population("n", n, spikes, rules)],
        [snp.Projection("n", "n", snp.graphs.RandomInDegree(k, seed=0))],
    )
    lowered = snp.lower(system)
    jax.block_until_ready(lowered.machine)
    elapsed = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert system.num_synapses == n * k
    print(f"{n:,} neurons, {n * k:,} synapses: built and lowered in {elapsed:.2f} s")
    print(f"most memory {peak / 1e6:.2f} GB, {(peak - before) / 1e6:.2f} GB of it for the system")


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: bench/README.md.
