# %% [markdown]
# # Large systems
#
# Systems of thousands or millions of neurons are not listed neuron by neuron. They consist of a
# few *populations*, whose neurons share the same rules, and of *projections* between populations.
# In this tutorial you describe a sorting system for any number of inputs, run it, look at what it
# costs, and build a random network of a million synapses.

# %%
import jax
import numpy as np

import snpjax as snp


# %% [markdown]
# ## Sorting with spikes
#
# The system of Ionescu and Sburlan sorts $n$ numbers with three populations of $n$ neurons. Input
# neuron $i$ holds number $x_i$ and sends one spike in each step until it is empty. So in step $t$,
# every sorter receives as many spikes as there are numbers of at least $t$. Sorter $j$ fires if
# exactly $n - j$ of them are left, and forgets any other count. Sorter $j$ is connected to the
# outputs from $j$ on, so each output adds up to its number in order.
#
# A rule template may have one number for all neurons or an array with one number for each.

# %%


def sorter(numbers: np.ndarray) -> snp.PopulationSystem:
    n = len(numbers)
    place = np.arange(n)
    other_counts = [(1, n - place - 1), (n - place + 1, n)]
    return snp.PopulationSystem(
        [
            snp.Population("input", n, numbers, ["a+/a -> a"]),
            snp.Population(
                "sorter",
                n,
                0,
                [
                    snp.RuleTemplate(None, consume=n - place, produce=1),
                    snp.RuleTemplate(other_counts, consume=snp.ALL),
                ],
            ),
            snp.Population("output", n),
        ],
        [
            snp.Projection("input", "sorter", snp.graphs.AllToAll()),
            snp.Projection("sorter", "output", snp.graphs.Intervals(place, np.full(n, n))),
        ],
    )


numbers = np.array([5, 3, 8, 1, 9, 2])
system = sorter(numbers)
solution = snp.run(system)
print(solution.spikes_of("output"))
assert solution.spikes_of("output").tolist() == sorted(numbers.tolist())

# %% [markdown]
# ## A thousand numbers
#
# The same function describes a larger system. 1,000 numbers make 3,000 neurons and 1.5 million
# synapses. The description stays small, because nothing is listed.

# %%
many = np.random.default_rng(0).permutation(1_000) + 1
large = sorter(many)
print(large)
print(f"{large.num_synapses:,} synapses")
lowered = snp.lower(large)
print(f"{lowered.nbytes:,} bytes after lowering")
sorted_ = snp.run(lowered, save=snp.SAVE_FINAL)
assert sorted_.spikes_of("output").tolist() == list(range(1, 1_001))
print("steps:", sorted_.steps)
assert sorted_.steps == 1_001

# %% [markdown]
# `snp.lower` turns the description into arrays once; `snp.run` does it by itself if you pass the
# system. `save=snp.SAVE_FINAL` keeps the last configuration only: a history of a large run may be
# larger than the system.
#
# The projection from sorters to outputs is an interval for each sorter. It is stored as two
# numbers for each neuron and delivered with prefix sums, so its cost does not depend on the number
# of synapses. `layout=` forces another way to store synapses. The results are always equal.

# %%
from snpjax_formats import ELL


same = snp.run(sorter(numbers), layout=ELL)
assert np.array_equal(same.configurations, solution.configurations)

# %% [markdown]
# ## A random network
#
# `RandomInDegree(k, seed)` connects every neuron to `k` sources at random. The graph depends on
# the seed only. Here each of 20,000 neurons listens to 50 others, one million synapses; a neuron
# with an even number of spikes keeps quiet, and one with an odd number fires and uses one of them.

# %%
n = 20_000
network = snp.PopulationSystem(
    [
        snp.Population(
            "cell",
            n,
            np.random.default_rng(1).integers(0, 3, n),
            [snp.RuleTemplate("a(aa)*", consume=1, produce=1)],
        )
    ],
    [snp.Projection("cell", "cell", snp.graphs.RandomInDegree(50, seed=2))],
)
run = snp.run(network, max_steps=20, save=snp.Save(every=1, details=False))
print(run.configurations.shape)
active = (run.configurations % 2 == 1).mean(axis=1)
print("share of neurons with an odd number of spikes:", active.round(3))
assert np.all(np.abs(active[2:] - 0.5) < 0.05)

# %% [markdown]
# ## Many random computations
#
# Populations take `paths=` like any other system, on one device or, with `mesh=`, on several.

# %%
chooser = snp.PopulationSystem(
    [
        snp.Population("coin", 100, 1, ["a -> a", "a -> lambda"]),
        snp.Population("heads", 1),
    ],
    [snp.Projection("coin", "heads", snp.graphs.AllToAll())],
)
batch = snp.run(chooser, choice=snp.UniformChoice(jax.random.key(0)), paths=10_000)
heads = np.ravel(batch.spikes_of("heads"))
print(f"mean {heads.mean():.2f}, sd {heads.std():.2f} (expected 50 and 5)")
assert abs(heads.mean() - 50) < 0.25 and abs(heads.std() - 5) < 0.2

# %% [markdown]
# ## What next
#
# - [Selecting a layout](../selecting.md): what `layout="auto"` does, and how to measure.
# - [Many devices](../many_devices.md): paths, neurons and explored graphs over several GPUs.
# - [Long runs and large memory](../long_runs.md): checkpoints.
# - [Training and proving](training_and_proving.py): let gradients find the weights.
