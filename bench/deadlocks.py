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
    how = verdict.reductions[0] if verdict.reductions else "random run"
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
