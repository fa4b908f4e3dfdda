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
# python bench/deadlocks.py; two cores, jax 0.10.2, 2026-11-26. The first call of a net compiles its
# search. When random runs came after 65,536 configurations, 20 philosophers took 9.2 s.
# Philosophers-PT-000012       2.8 s     0.3 s     4,096 configurations, random runs
# Philosophers-PT-000020       1.5 s     0.3 s     4,096 configurations, random runs
# Philosophers-PT-000040       1.8 s     0.4 s     4,096 configurations, random runs
# Kanban-PT-00005             11.3 s     3.1 s       110 configurations, stubborn sets
# Kanban-PT-00010              3.9 s     2.0 s       210 configurations, stubborn sets
# Kanban-PT-00020              2.1 s     1.0 s       410 configurations, stubborn sets
