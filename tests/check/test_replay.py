"""Witnesses as runs: with a graph and without one, to their ends and around their loops."""

from dataclasses import replace

import pytest

import snpjax as snp
from snpjax.sleptsov import Arcs, Execution, Petri


RING = snp.SpikingSystem(
    [snp.Neuron(name, spikes, ["a -> a; 1"]) for name, spikes in (("x", 1), ("y", 0), ("z", 0))],
    [("x", "y"), ("y", "z"), ("z", "x")],
)
STUBBORN = {"reductions": [snp.StubbornSets()], "max_configurations": 30}
#: A token goes around between p2 and p3 once t1 has moved it there; t4 counts for ever.
CYCLE = Execution(
    snp.SleptsovNet(
        [1, 0, 0, 0],
        inputs=Arcs.of([(0, 0, 1), (1, 1, 1), (2, 2, 1), (0, 3, 1)]),
        outputs=Arcs.of([(1, 0, 1), (2, 1, 1), (1, 2, 1), (0, 3, 1), (3, 3, 1)]),
    ),
    Petri(),
)


@pytest.mark.parametrize(
    ("model", "query"),
    [(RING, "never pending(y) = 1"), (CYCLE, "always p4 <= 3"), (CYCLE.net, "never p4 = 2")],
)
def test_a_witness_without_a_graph(model, query):
    verdict = snp.prove(model, query)
    assert verdict.is_refuted and verdict.graph is None and verdict.loop is None
    assert verdict.replay().steps == verdict.num_steps > 0


@pytest.mark.parametrize(
    ("model", "query", "options"),
    [
        (RING, "on some path infinitely often y = 1", {}),
        (CYCLE, "on some path infinitely often (p2 = 1 and next p3 = 1)", {"max_depth": 3}),
        (CYCLE, "on some path infinitely often p2 = 1", STUBBORN),
    ],
)
def test_a_loop_is_run_once_and_closes(model, query, options):
    verdict = snp.check(model, query, **options)
    loop, steps = verdict.loop, verdict.num_steps
    assert verdict.is_proved and loop is not None and loop < steps - 1
    assert verdict.replay().steps == steps
    assert (verdict.spikes[loop] == verdict.spikes[-1]).all()
    with pytest.raises(AssertionError, match="does not close"):
        replace(verdict, loop=loop + 1).replay()


def test_a_loop_of_a_cone_closes_in_what_the_query_reads():
    """The last neuron, outside the cone, collects spikes for ever, so that nothing is repeated."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("a", 1, ["a -> a"]),
            snp.Neuron("b", 0, ["a -> a"]),
            snp.Neuron("c", 5, ["a^2/a -> a"]),
        ],
        [("a", "b"), ("b", "a"), ("a", "c")],
    )
    query = "on some path infinitely often a = 1"
    assert not snp.check(system, query, reductions=(), max_configurations=5).is_refuted
    verdict = snp.check(system, query, reductions=snp.ConeOfInfluence())
    assert verdict.is_proved and verdict.num_configurations == 2
    assert verdict.reductions == ("cone of influence (2 of 3 neurons)",)
    assert verdict.spikes.shape[1] == 3
    assert verdict.replay().steps == verdict.num_steps
    assert (verdict.spikes[verdict.loop] != verdict.spikes[-1]).any()
    with pytest.raises(AssertionError, match="does not close"):
        replace(verdict, loop=verdict.loop + 1).replay()
    with pytest.raises(AssertionError, match="does not close"):
        replace(verdict, reductions=()).replay()


def test_a_verdict_without_a_computation_says_so():
    with pytest.raises(ValueError, match="no computation shows it, so there is none to replay"):
        snp.prove(RING, "always x + y + z <= 1").replay()
