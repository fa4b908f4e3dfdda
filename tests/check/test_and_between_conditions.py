"""`and`, `or` and `not` between conditions, which Python does not let a library define."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax.check import emits, halts, reach_probability, reaches


SYSTEM = snp.SpikingSystem(
    [snp.Neuron("x", 3, ["a+/a -> a", "a+/a -> lambda"]), snp.Neuron("y")], [("x", "y")]
)
WRITE = r"Write `\(a > 0\) & \(b > 0\)`, `\|`, `~`"


@pytest.fixture(scope="module")
def graph():
    return snp.explore(SYSTEM, chunks=(16,))


@pytest.mark.parametrize(
    "condition",
    [
        lambda c: c["x"] > 0 and c["y"] > 0,
        lambda c: c["x"] > 0 or c["y"] > 0,
        lambda c: not c["x"] > 0,
        lambda c: 0 < c["x"] < 3,
    ],
)
def test_conditions_on_configurations(graph, condition, tmp_path):
    property = reaches(condition)
    for ask in (
        lambda: snp.check(graph, condition),
        lambda: graph.where(condition),
        lambda: reach_probability(graph, condition),
        lambda: snp.write_graph(graph, tmp_path / "x.tra", predicates={"both": condition}),
        lambda: snp.estimate(SYSTEM, property, key=jr.key(0), max_steps=5, paths=8),
    ):
        with pytest.raises(TypeError, match=WRITE):
            ask()


def test_what_to_write_instead(graph):
    assert len(graph.where(lambda c: (c["x"] > 0) & ~(c["y"] > 0))) == 3
    with pytest.raises(ValueError, match="cannot reshape"):  # another error stays as it is
        graph.where(lambda c: np.zeros(2).reshape(3))


def test_the_condition_that_stops_a_run():
    lowered = snp.lower(SYSTEM)
    given = lowered.machine, lowered.machine.init(), snp.FirstChoice()
    with pytest.raises(TypeError, match=WRITE):
        snp.simulate(*given, max_steps=9, stop=lambda s: s.spikes[0] < 2 and s.spikes[1] > 0)
    ended = snp.simulate(*given, max_steps=9, stop=lambda s: (s.spikes[0] < 2) & (s.spikes[1] > 0))
    assert ended.steps == 2 and jnp.all(ended.state.spikes[:2] == jnp.array([1, 2]))


def test_guards_and_properties_of_paths():
    odd, few = snp.Guard("a(aa)*"), snp.Guard("a{1,4}")
    for combine in (lambda: odd and few, lambda: odd or few, lambda: not odd):
        with pytest.raises(TypeError, match="cannot combine guards. Write `a & b`"):
            combine()
    assert (odd & few).finite == (1, 3)
    with pytest.raises(TypeError, match=r"Write one `PathProperty\(judge\)`"):
        assert halts() and emits("x")
