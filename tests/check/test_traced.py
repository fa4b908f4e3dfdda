"""The functions of `snpjax.check` work on the host, and say so where JAX traces them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import snpjax as snp
from snpjax.check import (
    check_cycles,
    halting_distribution,
    halting_time,
    halting_time_range,
    reach_probability,
    reach_probability_range,
)


SYSTEM = snp.SpikingSystem([snp.Neuron("x", 2, ["a+/a -> a", "a+/a -> lambda"])], output="x")


@pytest.fixture(scope="module")
def graph():
    return snp.explore(SYSTEM, chunks=(16,))


def test_every_function_of_the_host_names_simulate(graph):
    found = snp.invariants(SYSTEM)
    calls = {
        "check": lambda _: snp.check(graph, "always x <= 2"),
        "estimate": lambda x: snp.estimate(SYSTEM, "x", key=jr.key(0), max_steps=x),
        "equivalent": lambda _: snp.equivalent(graph, graph),
        "growth": lambda _: snp.growth(graph),
        "invariants": lambda x: snp.invariants(SYSTEM, limit=x),
        "check_invariants": lambda _: snp.check_invariants(graph, found),
        "check.check_cycles": lambda _: check_cycles(graph, found),
        "check.reach_probability": lambda x: reach_probability(graph, x),
        "check.reach_probability_range": lambda x: reach_probability_range(graph, x),
        "check.halting_time": lambda _: halting_time(graph),
        "check.halting_time_range": lambda _: halting_time_range(graph),
        "check.halting_distribution": lambda x: halting_distribution(graph, x),
    }
    for name, call in calls.items():
        message = rf"`snpjax.{name}` works on the host .* Use `snpjax.simulate\("
        for transform in (jax.jit, jax.vmap):
            with pytest.raises(TypeError, match=message):
                transform(call)(jnp.ones(3, int))


def test_outside_they_work(graph):
    assert snp.check(graph, "always x <= 2") and snp.equivalent(graph, graph)
    assert float(halting_time(graph)) == 2
