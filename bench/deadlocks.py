"""How long does it take to answer the deadlock question of nets whose graphs do not fit?

Philosophers and Kanban of the Model Checking Contest in growing sizes. Each call is the first one
of its size: programs are compiled in it. The second number is that of the same call again.

    PYTHONPATH=.:formats python bench/deadlocks.py
"""

import time

from contest_nets import kanban, philosophers

import snpjax as snp
from snpjax.sleptsov import Execution


QUERY = "on some path eventually halted"


def figures(model: Execution, has_deadlock: bool) -> str:
    """A line of the table: seconds, and the configurations that were looked at."""
    start = time.perf_counter()
    verdict = snp.check(model, QUERY)
    seconds = time.perf_counter() - start
    assert verdict.is_decided and verdict.is_proved == has_deadlock
    start = time.perf_counter()
    snp.check(model, QUERY)
    again = time.perf_counter() - start
    how = verdict.found_by or verdict.reductions[0]
    return (
        f"{model.net.name:24} {seconds:7.1f} s {again:7.1f} s "
        f"{verdict.num_configurations:9,} configurations, {how}"
    )


def deadlock_figures() -> list[str]:
    """All lines of the table."""
    found = [figures(philosophers(num), True) for num in (12, 20, 40)]
    return found + [figures(kanban(cards), False) for cards in (5, 10, 20)]


if __name__ == "__main__":
    for line in deadlock_figures():
        print(line, flush=True)


# ======= RESULTS =======
# python bench/deadlocks.py; two cores shared with other work (load average about 14), jax 0.10.2,
# 2026-11-26. The first call of a net compiles its search. On the same machine without other work,
# a first call of 20 philosophers took 9.2 s when random runs came after 65,536 configurations.
# Philosophers-PT-000012      59.5 s     1.2 s     4,096 configurations, random runs
# Philosophers-PT-000020      86.4 s     3.0 s     4,096 configurations, random runs
# Philosophers-PT-000040      51.8 s     5.4 s     4,096 configurations, random runs
# Kanban-PT-00005            151.0 s    28.4 s       110 configurations, stubborn sets
# Kanban-PT-00010             25.1 s    14.6 s       210 configurations, stubborn sets
# Kanban-PT-00020             13.1 s    11.5 s       410 configurations, stubborn sets
