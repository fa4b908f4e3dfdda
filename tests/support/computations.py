"""Runs of every kind of model, compared step by step with the reference in plain Python."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

import snpjax as snp
from snpjax import numerical, rate, sleptsov
from snpjax.testing import reference, reference_numerical, reference_rate
from snpjax.testing.reference_sleptsov import Reference
from tests.support import changing, numerical_systems
from tests.support.helpers import assert_same_run, choices_of, quietly


def without_decisions(computation: reference.Computation) -> reference.Computation:
    """A computation without what astrocytes decided, which solutions do not list."""
    size = len(computation.configurations[0].spikes)
    return replace(computation, choices=tuple(choice[:size] for choice in computation.choices))


def followed(solution: snp.Solution) -> reference.Computation:
    """The computation of the reference with the choices that a run made; those of astrocytes are
    the first that lead where the run went.

    **Raises:** `ValueError` if one of them is not valid.
    """
    row = 0

    def choose(system, configuration):
        nonlocal row
        choice = choices_of(solution)[row]
        row += 1
        options = reference.decisions(system, configuration, choice)
        for decided in itertools.product(*options):
            after, _ = reference.step(system, configuration, choice + decided)
            if list(after.spikes) == solution.configurations[row].tolist():
                break
        return choice + decided

    return reference.run(solution.system, choose, max_steps=solution.steps)


def _assert_spiking(solution: snp.Solution) -> None:
    if solution.system.changes_network:
        changing.assert_same_run(solution, changing.followed(solution))
    else:
        assert_same_run(solution, without_decisions(followed(solution)))


def _assert_populations(solution: snp.Solution) -> None:
    """The system neuron by neuron makes the same steps, where its rules may have other numbers."""
    system = quietly(solution.system.expand)
    row = 0

    def choose(_, configuration):
        """The choice that leads where the run went."""
        nonlocal row
        row += 1
        expected = [
            solution.configurations[row].tolist(),
            solution.timer_history[row].tolist(),
            solution.pending_history[row].tolist(),
            solution.emissions[row - 1].tolist(),
        ]
        for choice in reference.choices(system, configuration):
            after, emitted = reference.step(system, configuration, choice)
            if [list(x) for x in (*after[:3], emitted)] == expected and (
                after.network is None or changing.network_of(after) == solution.network(row)
            ):
                fires = [
                    x is not None and x[0] is not None if isinstance(x, tuple) else x is not None
                    for x in choice
                ]
                assert fires == (solution.rules[row - 1] != snp.NO_RULE).tolist()
                return choice
        raise AssertionError(f"no choice leads to configuration {row}")

    computation = reference.run(system, choose, max_steps=solution.steps)
    assert solution.halted == computation.halted


def _assert_net(solution: sleptsov.NetSolution) -> None:
    net: Any = solution.net
    own = Reference(getattr(net, "net", net))
    drawn = {step: transition for step, transition, _ in solution.trace}

    def choose(candidates, step):
        assert drawn[step] in candidates
        return drawn[step]

    is_disjoint = net.rule.name == "disjoint"
    computation = own.run(
        rule=net.rule.name,
        max_steps=solution.steps,
        choose=None if is_disjoint else choose,
        keep=True,
    )
    assert solution.trace == computation.trace
    assert solution.markings.tolist() == [list(x) for x in computation.markings]
    assert solution.result == getattr(snp.RESULTS, computation.status)


def _assert_numerical(solution: numerical.NumericalSolution) -> None:
    chosen = solution.productions
    computation = reference_numerical.run(
        solution.system, steps=solution.steps, choose=lambda step, i, can: int(chosen[step, i])
    )
    numerical_systems.assert_same(solution.system, solution, computation)


def _assert_rates(solution: rate.RateSolution) -> None:
    """The network of `tests.support.models`."""
    populations = [
        reference_rate.ReferencePopulation([0.0] * 2, [0.0] * 2, 10.0, lambda x: max(x, 0.0), drive)
        for drive in (np.ones((3, 2)).tolist(), ())
    ]
    pairs = list(itertools.product(range(2), repeat=2))
    steps_of = {0: 0, 1: round(2.0 / solution.network.dt)}
    projections = [
        reference_rate.ReferenceProjection(
            source, 1 - source, [(i, j, weight, steps_of[source]) for i, j in pairs], hebb
        )
        for source, weight, hebb in ((0, 1.0, 0.1), (1, 0.5, None))
    ]
    computation = reference_rate.run(
        populations, projections, steps=int(solution.steps), dt=solution.network.dt
    )
    for number, name in enumerate("ab"):
        expected = [row[number] for row in computation.rates[1:]]
        np.testing.assert_allclose(solution.rates[name]["r"], expected, rtol=2e-5, atol=2e-5)


def assert_computation(solution: Any) -> None:
    """A run is one of the reference: every configuration, choice and output of every step."""
    if isinstance(solution, rate.RateSolution):
        return _assert_rates(solution)
    if isinstance(solution, numerical.NumericalSolution):
        return _assert_numerical(solution)
    if isinstance(solution, sleptsov.NetSolution):
        return _assert_net(solution)
    is_population = isinstance(solution.system, snp.PopulationSystem)
    return (_assert_populations if is_population else _assert_spiking)(solution)
