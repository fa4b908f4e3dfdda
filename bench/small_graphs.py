"""Which layout runs systems of 8 to 400 neurons fastest, and how close to it is the one chosen
automatically?

Whole runs of lowered machines are timed, not single products: a run of a small system is mostly
what surrounds a product, and one product alone says little of how it fuses with that. All layouts
of a system take turns. The report of docs/selecting.md:

    PYTHONPATH=.:formats python bench/small_graphs.py [SIZE ...]
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np
from figures import Setup, commit_of, least
from sorting import permutation, sorter

import snpjax as snp
from snpjax import graphs
from snpjax.spiking import SpikingMachine
from snpjax_formats import (
    CSR,
    ELL,
    BitDense,
    BitGather,
    Dense,
    Float32Dense,
    Hybrid,
    Int8Dense,
    Interval,
    Sum,
)


SIZES = (8, 24, 64, 128, 200, 256, 300, 400)
LAYOUTS = (
    ELL,
    BitDense,
    BitGather,
    Dense,
    Int8Dense,
    Float32Dense,
    Interval,
    CSR,
    Hybrid,
)

#: Graphs by their names, of that many neurons.
GRAPHS: dict[str, Callable[[int], graphs.AbstractGraph]] = {
    "2 random": lambda n: graphs.RandomInDegree(2, seed=n),
    "8 random": lambda n: graphs.RandomInDegree(min(8, n - 1), seed=n),
    "a tenth": lambda n: graphs.RandomInDegree(max(n // 10, 1), seed=n),
    "half": lambda n: graphs.RandomInDegree(n // 2, seed=n),
    "window": lambda n: graphs.Intervals(
        np.maximum(np.arange(n) - 2, 0), np.minimum(np.arange(n) + 3, n)
    ),
    "triangle": lambda n: graphs.Intervals(np.arange(n), np.full(n, n)),
    "hub": lambda n: graphs.Pairs(
        np.concatenate([np.arange(n), np.arange(1, n)]),
        np.concatenate([(np.arange(n) + 1) % n, np.zeros(n - 1, int)]),
    ),
}

#: One spike at a time, which bits can store, and up to three.
RULES = {"1": ["a+/a -> a"], "3": ["a^3a*/a^3 -> a^3", "a+/a -> a"]}
PATHS = (None, 32)
STEPS = 400
SECONDS = 0.05  # of each layout


class Timed(NamedTuple):
    """Milliseconds of a run by the names of layouts."""

    size: int
    graph: str
    spikes: str
    paths: int | None
    auto: str
    times: dict[str, float]

    @property
    def best(self) -> str:
        return min(self.times, key=self.times.__getitem__)

    @property
    def slowdown(self) -> float:
        return self.times[self.auto] / self.times[self.best]

    def __str__(self) -> str:
        near = [f"{x} {t:.3f}" for x, t in sorted(self.times.items(), key=lambda x: x[1])[:3]]
        row = (self.size, self.graph, self.spikes, self.paths or 1, self.auto)
        return " | ".join((*map(str, row), f"{self.slowdown:.2f}", ", ".join(near)))


def cases(sizes: list[int]) -> Iterator[Timed]:
    for size in sizes:
        for paths in PATHS:
            yield timed(sorter(permutation(size // 3)), (size, "sort", "1", paths))
            for name, graph in GRAPHS.items():
                for spikes, rules in RULES.items():
                    begin = np.random.default_rng(size).integers(0, 3, size)
                    system = snp.PopulationSystem(
                        [snp.Population("n", size, begin, rules)],
                        [snp.Projection("n", "n", graph(size))],
                    )
                    yield timed(system, (size, name, spikes, paths))


def timed(system: snp.PopulationSystem, case: tuple[int, str, str, int | None]) -> Timed:
    calls, answers, auto = {}, {}, ""
    for layout in ("auto", *LAYOUTS):
        try:
            lowered = system.lower(layout=layout, paths=case[-1] or 1)
        except ValueError:  # it cannot be stored so
            continue
        assert isinstance(lowered.machine, SpikingMachine)
        synapses = lowered.machine.program.synapses
        parts = synapses.parts if isinstance(synapses, Sum) else (synapses,)
        name = " + ".join(type(part).__name__ for part in parts)
        if layout == "auto":
            auto = name
        if name in calls:
            continue

        def call(lowered: snp.Lowered = lowered) -> snp.Solution | snp.SolutionBatch:
            return snp.run(lowered, max_steps=STEPS, paths=case[-1], save=snp.SAVE_FINAL)

        calls[name], answers[name] = call, call().spikes
        assert (answers[name] == answers[auto]).all(), name
    clocks = least(calls, seconds=SECONDS)
    return Timed(*case, auto, {name: 1e3 * clock.wall for name, clock in clocks.items()})


def main() -> None:
    found = []
    print("neurons | graph | spikes | paths | automatic | slowdown | fastest, ms a run")
    for case in cases([int(size) for size in sys.argv[1:]] or list(SIZES)):
        found.append(case)
        print(case, flush=True)
        jax.clear_caches()  # each maps memory, and maps are limited
    slowdowns = np.asarray([case.slowdown for case in found])
    mean = np.exp(np.log(slowdowns).mean())
    print(f"{len(found)} systems: slowdown {mean:.3f} on average, {slowdowns.max():.2f} at worst")
    print(Setup(commit_of()))


if __name__ == "__main__":
    main()
