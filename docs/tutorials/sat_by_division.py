# %% [markdown]
# # SAT by division
#
# A formula in conjunctive normal form is satisfiable if some assignment of its variables makes
# every clause true. There are $2^n$ assignments of $n$ variables. An SN P system whose neurons
# *divide* tries all of them in parallel: it grows one neuron for each assignment in about $2n$
# steps.
#
# In this tutorial you run a published family of such systems (Pan, Paun, Perez-Jimenez 2011),
# watch it grow, and compare its answer with brute force.

# %%
import sys
from itertools import product
from pathlib import Path

import numpy as np

import snpjax as snp


# %% [markdown]
# ## Division, one rule at a time
#
# A division rule `[a]_cell -> []_left || []_right` replaces a neuron labelled `cell` that holds
# one spike by two empty neurons labelled `left` and `right`. Both inherit all of its synapses.
# Rules belong to labels, so the children have the rules of their own labels.

# %%
small = snp.SpikingSystem(
    [
        snp.Neuron("start", 1, ["a -> a"]),
        snp.Neuron("cell", 1, ["[a]_cell -> []_left || []_right"]),
        snp.Neuron("sink"),
    ],
    [("start", "cell"), ("cell", "sink")],
    rules_by_label={"left": ["a -> a"], "right": ["a -> a"]},
)
divided = snp.run(small)
print(divided.network().labels)
assert {"left", "right"} <= set(divided.network().labels)

# %% [markdown]
# `start` spiked in the same step in which `cell` divided. Neurons that divide are closed, so that
# spike was lost. This is the kind of detail in which simulators differ; [Plasticity,
# division and budding](../networks.md) lists the rules that snpjax follows.
#
# ## A formula
#
# The examples in a clone of the repository contain the family as a function of the formula. A
# literal is a number: 2 is the variable $x_2$, and -2 its negation.

# %%
clone = next(
    p for p in (Path.cwd(), *Path.cwd().parents) if (p / "examples" / "dimacs.py").exists()
)
sys.path.insert(0, str(clone / "examples"))

from dimacs import Formula
from sat_families import by_division_and_budding


formula = Formula(3, ((1, -2), (2, 3), (-1, -3), (1, 2, 3)))


def holds(values: tuple[bool, ...]) -> bool:
    return all(any(values[abs(x) - 1] == (x > 0) for x in clause) for clause in formula.clauses)


models = [values for values in product([False, True], repeat=3) if holds(values)]
print(f"{len(models)} of 8 assignments satisfy the formula: {models}")

# %% [markdown]
# ## The run
#
# The system starts with $4n + 7$ neurons. Its output neuron spikes first in step $2n + nm + 6$ for
# $m$ clauses if the formula is satisfiable, and never otherwise.

# %%
n, m = formula.num_variables, len(formula.clauses)
system = by_division_and_budding(formula)
solution = snp.run(system, max_steps=100)
print(f"{system.num_neurons} neurons at the start, {len(solution.spikes)} at the end")
print("first output spike in step", solution.spike_times()[0])
assert system.num_neurons == 4 * n + 7
assert solution.spike_times()[0] == 2 * n + n * m + 6
assert solution.halted

# %% [markdown]
# The growth is exponential and takes only a few steps. The number of neurons in use after each
# step:

# %%
sizes = [len(solution.network(step).names) for step in range(len(solution.configurations))]
print(sizes[: 2 * n + 4])
assert sizes[0] == 4 * n + 7 and sizes[-1] == 4 * n + 6 + 2 ** (n + 1)

# %% [markdown]
# ## Every formula of a kind
#
# The same comparison for random formulas, some of them unsatisfiable. The answer of the system
# must be that of brute force each time.

# %%
rng = np.random.default_rng(0)
answers = []
for _ in range(6):
    clauses = []
    for _ in range(8):
        variables = rng.choice(np.arange(1, 4), size=2, replace=False)
        clauses.append(
            tuple(int(v * s) for v, s in zip(variables, rng.choice([-1, 1], 2), strict=True))
        )
    formula = Formula(3, tuple(clauses))
    satisfiable = any(holds(v) for v in product([False, True], repeat=3))
    run = snp.run(by_division_and_budding(formula), max_steps=100)
    assert run.halted and bool(run.spike_times().size) == satisfiable
    answers.append(satisfiable)
print("satisfiable:", answers)
assert set(answers) == {True, False}

# %% [markdown]
# Systems with as many variables and clauses have equal sizes, so they share one compiled program.
#
# The space is the price: each further variable doubles the neurons. snpjax reserves
# capacity for a system that grows, and enlarges it when needed; `capacity=` sets it. Exceeding a
# limit is an error; no neuron is ever dropped silently.
#
# ## What next
#
# - `python examples/10_sat.py FILE.cnf` decides DIMACS files by two families.
# - [Plasticity, division and budding](../networks.md) in detail.
# - [Generating numbers](generating_numbers.py), if you skipped it: exploring and checking.
# - [Large systems](large_systems.py): systems with millions of neurons that do not grow.
