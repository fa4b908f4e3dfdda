# %% [markdown]
# # Generating numbers
#
# A spiking neural P system (SN P system) can generate a set of numbers: the number of steps
# between the first two spikes of its output neuron. In this tutorial you write such a system, run
# it once, run it many times, and then find *all* numbers that it generates, with a proof.
#
# You need snpjax (`pip install .` in a clone). No knowledge of JAX is assumed.

# %%
import jax

import snpjax as snp


# %% [markdown]
# ## The system
#
# Neurons hold identical spikes, written `a`. A rule `a^2/a -> a` reads: *when I hold exactly two
# spikes, I may use one of them and send one spike along each of my synapses.* The part before the
# slash is the guard, the part between slash and arrow is what the rule consumes. `a^2 -> lambda`
# uses two spikes and sends nothing.
#
# `chooser` has two rules for two spikes. While it takes the first one, it keeps a spike and
# continues; the second one ends the computation.

# %%
system = snp.SpikingSystem(
    [
        snp.Neuron("chooser", 2, ["a^2/a -> a", "a^2 -> a"]),
        snp.Neuron("echo", 1, ["a -> a"]),
        snp.Neuron("output", 1, ["a -> a", "a^2 -> lambda"]),
    ],
    synapses=[
        ("chooser", "echo"),
        ("echo", "chooser"),
        ("chooser", "output"),
        ("echo", "output"),
    ],
    output="output",
    name="generator",
)
system

# %% [markdown]
# ## One computation
#
# In each step every neuron that can use a rule uses exactly one. Which one `chooser` takes is not
# determined. `UniformChoice` selects one at random; the same key gives the same computation on
# every machine.

# %%
solution = snp.run(system, choice=snp.UniformChoice(jax.random.key(1)), max_steps=50)
print(solution)
print("spikes after each step:")
print(solution.configurations)
print("output train:", solution.spike_train)
print("number:", solution.interval())

# %% [markdown]
# The output neuron spikes in step 1. While `chooser` and `echo` both send it a spike it receives
# two and forgets them. When `chooser` has ended, a single spike arrives and leaves: the second
# output spike.
#
# ## Ten thousand computations
#
# `paths=` runs many computations at once. `intervals()` has one number for each. If there was no
# second spike before `max_steps`, the number is masked, so that means and counts leave it out.

# %%
batch = snp.run(system, choice=snp.UniformChoice(jax.random.key(0)), paths=10_000, max_steps=100)
numbers = batch.intervals()
seen = sorted(set(numbers.compressed().tolist()))
print("numbers that came out:", seen)
assert 1 not in seen and {2, 3, 4, 5} <= set(seen)

# %% [markdown]
# The numbers start at 2 and become rarer as they grow, each half as frequent as the one before.
# But random computations only show what is *likely*. That 1 never appears is not yet a fact.
#
# ## All computations
#
# `snp.explore` follows every choice. The result is the configuration graph: every configuration
# that can be reached, once, and every step between them. Here it is finite and small.

# %%
graph = snp.explore(system)
graph

# %%
intervals = graph.intervals(30)
print(intervals)
assert list(intervals) == list(range(2, 31)) and intervals.complete_up_to == 30

# %% [markdown]
# `complete_up_to` says up to which number the list is complete: no number up to 30 other than
# these is generated. The system generates every natural number but 1, as far as we asked.
#
# ## Proofs
#
# `snp.check` decides properties of all computations. A property that fails comes with a shortest
# computation that breaks it.

# %%
for query in (
    "always output <= 2",
    "eventually halted",
    "on some path eventually halted",
):
    print(snp.check(graph, query))

# %% [markdown]
# The second property is refuted: `chooser` may take its first rule for ever. Give the witness to
# `snp.run` to see that computation step by step, or call `verdict.replay()`.
#
# ## Your own set
#
# What changes if `echo` takes one step longer? Its rule `a -> a; 1` has a delay of 1: the neuron
# is closed for one step, loses what is sent to it, and then spikes. Predict the numbers before you
# run the next cell.

# %%
slower = snp.SpikingSystem(
    [
        snp.Neuron("chooser", 2, ["a^2/a -> a; 1", "a -> lambda"]),
        snp.Neuron("echo", 1, ["a -> a; 1", "a -> a; 2"]),
        snp.Neuron("output", 3, ["a^3 -> a", "a -> a; 2", "a^2 -> lambda"]),
    ],
    synapses=system.synapses,
    output="output",
)
even = snp.explore(slower).intervals(20)
print(even)
assert list(even) == list(range(4, 21, 2))

# %% [markdown]
# Both neurons need two steps for a round trip, so only even numbers are left. `echo` ends the
# computation here: with a delay of 2 its spike comes when `chooser` holds only one.
#
# ## What next
#
# - [SAT by division](sat_by_division.py): systems that grow while they compute.
# - [Exploring all computations](../exploring.md): limits, inputs, and graphs larger than memory.
# - [Checking](../checking.md): the whole language of queries.
# - `snpjax run`, `explore` and `check` do the same from the command line for a file.
