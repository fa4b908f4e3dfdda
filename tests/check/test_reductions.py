"""Reductions of `check` against full graphs, and preconditions that switch them off."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snpjax as snp
from snpjax.check.query.names import needs_of
from snpjax.check.query.parse import parse_query
from snpjax.check.reduction import ConeOfInfluence, StubbornSets, Symmetry
from snpjax.check.reduction.canonical_machine import CanonicalMachine
from snpjax.check.reduction.plan import reduced
from snpjax.check.reduction.stubborn_machine import StubbornNet
from tests.support.helpers import script
from tests.support.reduced_models import (
    PLACES,
    random_net,
    random_query,
    random_system,
    replicated_net,
)
from tests.support.tiny_search import TooLarge, graph_of_net, graph_of_system


contest = script("bench/contest_nets.py")

STUBBORN, SYMMETRY, CONE = StubbornSets(), Symmetry(), ConeOfInfluence()

DEADLOCKS = [
    "never halted",
    "on some path eventually (halted and p1 + p2 <= 1)",
    "always (halted implies p3 = 0)",
    "eventually halted",
    "on some path never halted",
]
_TOGETHER = 64


@cache
def _of_set():
    return jax.jit(lambda machine, state: machine.alternatives(state)[:, 0])


def followed_by(machine: StubbornNet | CanonicalMachine):
    """What the machine follows in some markings, 64 at a time so that nets share a program."""
    machine = machine.machine if isinstance(machine, CanonicalMachine) else machine

    def followed(rows, enabled):
        found = np.zeros_like(enabled)
        for start in range(0, len(rows), _TOGETHER):
            own = rows[start : start + _TOGETHER]
            fields = np.zeros((machine.net.machine.program.num_places + 1, _TOGETHER), np.uint32)
            fields[: own.shape[1], : len(own)] = own.T
            some = _of_set()(machine, machine.decode(jnp.asarray(fields)))
            found[start : start + _TOGETHER] = np.asarray(some)[: enabled.shape[1], : len(own)].T
        assert np.all(found <= enabled) and np.array_equal(found.any(axis=1), enabled.any(axis=1))
        return found

    return followed


def plan_of(model, query, *reductions):
    parsed = parse_query(query)
    needs = needs_of(parsed, model, saturate=None, max_depth=None)
    return reduced(model, parsed, reductions, saturate=needs.saturate)


def reduced_graph(plan):
    """The graph of a reduced model, by a search in Python."""
    if isinstance(plan.model, snp.SpikingSystem):
        return graph_of_system(plan.model, families=plan.families)
    followed = None if plan.watched is None else followed_by(plan.enumerable(saturate={}, clock=0))
    return graph_of_net(plan.model, followed=followed, families=plan.families)


class Sweep:
    """Queries of random models, decided in full and in reduced graphs; how often reductions were
    used, and how often there were fewer configurations."""

    def __init__(self, *reductions):
        self.reductions, self.used, self.fewer = reductions, 0, 0

    def compare(self, model, queries):
        is_system = isinstance(model, snp.SpikingSystem)
        try:
            full = graph_of_system(model) if is_system else graph_of_net(model)
        except TooLarge:
            return
        for query in queries:
            plan = plan_of(model, query, *self.reductions)
            if plan.used:
                small = reduced_graph(plan)
                wanted, found = snp.check(full, query), snp.check(small, query)
                assert found.status is wanted.status, (query, plan.used, model)
                self.used += 1
                self.fewer += small.num_configurations < full.num_configurations


def of_places(rng):
    a, b, c = (f"p{i + 1}" for i in rng.choice(PLACES, 3, replace=False))
    return [f"{a} >= 1", f"{b} = 0", f"{a} + {c} <= 2", f"{c} = 1", f"{b} > {c}"]


def stubborn_sweep(seeds):
    sweep = Sweep(STUBBORN)
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        model, conditions = random_net(rng), of_places(rng)
        queries = [random_query(rng, conditions, has_next=False) for _ in range(2)]
        sweep.compare(model, [DEADLOCKS[seed % 5], *queries])
    return sweep


def symmetric_nets_sweep(seeds):
    sweep = Sweep(SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        sums = ["p1 + p3 + p5", "p2 + p4 + p6", "p7 - p8", "p1 + p2 + p3 + p4 + p5 + p6"]
        conditions = [f"{x} {rng.choice(['<=', '=', '>='])} {rng.integers(0, 4)}" for x in sums]
        conditions += ["p1 >= 1 or p3 >= 1 or p5 >= 1", "p7 = 0 and (p2 = 1 and p4 = 1 and p6 = 1)"]
        query = random_query(rng, conditions, has_next=True)
        # The last one tells the components apart.
        sweep.compare(replicated_net(rng), [query, "never halted", "always p1 + p2 <= p3 + 1"])
    return sweep


def symmetric_systems_sweep(seeds):
    sweep = Sweep(SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 3])
        conditions = [
            "n00 + n10 + n20 <= 2",
            "n01 + n11 + n21 >= 1",
            "timer(n00) = 1 or timer(n10) = 1 or timer(n20) = 1",
            "n00 = 0 and n10 = 0 and n20 = 0",
            "halted",
        ]
        queries = [random_query(rng, conditions, has_next=True), "eventually n00 >= 1"]
        sweep.compare(random_system(rng, copies=3), queries)
    return sweep


def cone_sweep(seeds):
    sweep = Sweep(CONE)
    for seed in seeds:
        rng = np.random.default_rng([seed, 4])
        a, b = rng.choice(6, 2, replace=False).tolist()
        conditions = [f"n0{a} >= 1", f"n0{a} + n0{b} <= 2", f"timer(n0{b}) = 1", f"emits(n0{a})"]
        sweep.compare(random_system(rng), [random_query(rng, conditions, has_next=True)])
        some = of_places(rng)
        queries = [f"never ({some[0]} and {some[1]})", f"always {some[2]}"]
        sweep.compare(random_net(rng), queries)
    return sweep


def all_at_once_sweep(seeds):
    sweep = Sweep(CONE, STUBBORN, SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        conditions = ["p1 + p3 + p5 >= 1", "p2 + p4 + p6 <= 1", "p7 = 0"]
        query = random_query(rng, conditions, has_next=False)
        sweep.compare(replicated_net(rng), [query, "never halted"])
    return sweep


SWEEPS = {
    "stubborn sets": (stubborn_sweep, 600),
    "symmetry of nets": (symmetric_nets_sweep, 600),
    "symmetry of systems": (symmetric_systems_sweep, 400),
    "cone of influence": (cone_sweep, 600),
    "all at once": (all_at_once_sweep, 400),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_same_verdicts(name):
    sweep = SWEEPS[name][0](range(12))
    assert sweep.used >= 5 and sweep.fewer >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEPS)
def test_same_verdicts_of_many(name):
    run, most = SWEEPS[name]
    sweep = run(range(12, most))
    assert sweep.used >= most // 4 and sweep.fewer >= most // 12
