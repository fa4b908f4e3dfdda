"""SAT in linear time and exponential space: neurons divide until every assignment has one.

Formulas are DIMACS files: `python examples/10_sat.py examples/*.cnf`. Two published families of
systems decide each formula. The output neuron spikes if and only if the formula is satisfiable, in
a step that is known in advance.
"""

import sys
from itertools import product
from pathlib import Path

from dimacs import Formula, read_dimacs
from sat_families import by_division, by_division_and_budding, models_of

import snpjax as snp


def holds(formula: Formula, values: tuple[bool, ...]) -> bool:
    """Whether an assignment satisfies every clause."""
    return all(any(values[abs(x) - 1] == (x > 0) for x in clause) for clause in formula.clauses)


for name in sys.argv[1:] or [Path(__file__).with_name("three_variables.cnf")]:
    formula = read_dimacs(name)
    n, m = formula.num_variables, len(formula.clauses)
    by_force = [v for v in product([False, True], repeat=n) if holds(formula, v)]
    print(f"{Path(name).name}: {len(by_force)} of {2**n} assignments satisfy {m} clauses")
    for build, step in (
        (by_division_and_budding, 2 * n + n * m + 6),
        (by_division, 4 * n + n * m + 5),
    ):
        system = build(formula)
        # Only the first steps, in which assignments divide, keep their configurations: 14 variables
        # take 2 to 3 GB of memory, with the configurations of all steps 17 GB.
        grown = snp.run(system, max_steps=4 * n + 4)
        solution = snp.run(
            system,
            max_steps=step + 10,
            initial=grown.state,
            save=snp.Save(every=None, budget=2**31),
        )
        times = [grown.steps + time for time in solution.spike_times().tolist()]
        print(
            f"  {build.__name__}: {f'a spike in step {times[0]}' if times else 'no spike'}; "
            f"{system.num_neurons} neurons became {len(solution.spikes)}"
        )
        models = [tuple(model[i] for i in range(1, n + 1)) for model in models_of(solution, grown)]
        for model in sorted(models)[:3]:
            print("    " + " ".join(f"x{i}={int(value)}" for i, value in enumerate(model, 1)))
        assert sorted(models) == by_force
        assert solution.halted and times[:1] == ([step] if by_force else [])
