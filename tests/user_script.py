# pyright: strict
"""What a user's type checker knows of the public calls: `pyright` reads this in strict mode, and
tests/test_run.py runs it."""

from typing import assert_type

import jax
import numpy as np

import snpjax as snp
from snpjax.sleptsov import NetSolution, NetSolutionBatch, SleptsovNet, net_of_text
from snpjax.spiking import Configurations, Solutions, Transitions


def main() -> None:
    system = snp.SpikingSystem([snp.Neuron("n", 2, ["a^2/a -> a", "a -> a"])], output="n")
    choice = snp.UniformChoice(jax.random.key(0))

    solution = snp.run(system, choice=choice)
    assert_type(solution, snp.Solution)
    assert_type(solution.interval(), int | None)
    assert_type(solution.count(), int)
    assert_type(solution.halted, bool)
    more = snp.run(system, initial=solution.state, max_steps=3)
    assert_type(more.steps, int)

    batch = snp.run(system, choice=choice, paths=4, save=snp.SAVE_ALL)
    assert_type(batch, snp.SolutionBatch)
    assert_type(batch[0], snp.Solution)
    numbers = batch.intervals()
    assert numbers.shape == (4,) and np.all(batch.counts() == 2)
    assert [own.steps for own in batch] == batch.steps.tolist()

    lowered = snp.lower(system)
    assert_type(lowered, snp.Lowered[snp.Solution, snp.SolutionBatch])
    assert_type(snp.run(lowered), snp.Solution)
    assert_type(snp.run(lowered, paths=2), snp.SolutionBatch)

    both = snp.run(snp.SystemBatch([system, system]))
    assert_type(both, Solutions)
    assert_type(both[1], snp.Solution)

    net = net_of_text("move: x -> y", {"x": 2, "y": 0})
    assert_type(net, SleptsovNet)
    found = snp.run(net, max_steps=9)
    assert_type(found, NetSolution)
    assert found.tokens_in("y") == 2
    assert_type(snp.run(net, paths=3), NetSolutionBatch)

    graph = snp.explore(system)
    assert graph.is_complete
    assert_type(graph, snp.Graph[Configurations, Transitions])
    assert_type(graph.num_configurations, int)
    verdict = snp.check(system, "always n <= 2")
    assert_type(verdict, snp.Verdict[Configurations, Transitions])
    assert verdict.is_proved


if __name__ == "__main__":
    main()
