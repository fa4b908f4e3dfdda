"""Sizes that no machine has, and numbers that are no sizes: one sentence names the argument."""

import math

import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import graphs, learn, proliferation, sleptsov
from tests.support.helpers import REPOSITORY


SYSTEM = snp.read(REPOSITORY / "examples" / "natural_numbers.pli")
KEY = jr.key(0)
CELLS = proliferation.ProliferationModel(
    proliferation.Histogram([100.0], [5]),
    [proliferation.CellType("x", 1.0, proliferation.Normal(20, 2))],
    duration=50.0,
    phi_min=10.0,
)


def estimate(**options):
    return snp.estimate(SYSTEM, "eventually halted", key=KEY, **{"max_steps": 3, **options})


def lower(graph):
    parts = [snp.Population("a", 3), snp.Population("b", 3)]
    return snp.lower(snp.PopulationSystem(parts, [snp.Projection("a", "b", graph)]))


def expand(size):
    return snp.PopulationSystem([snp.Population("a", size)]).expand()


CALLS = {
    "max_steps": lambda n: snp.run(SYSTEM, max_steps=n),
    "paths": lambda n: snp.run(SYSTEM, max_steps=3, paths=n, choice=snp.UniformChoice(KEY)),
    "paths of estimate": lambda n: estimate(paths=n),
    "max_steps of estimate": lambda n: estimate(max_steps=n),
    "max_configurations": lambda n: snp.explore(SYSTEM, max_configurations=n),
    "max_configurations of check": lambda n: snp.check(
        SYSTEM, "always chooser <= 9", max_configurations=n
    ),
    "seconds": lambda n: snp.prove(SYSTEM, "always chooser <= 9", seconds=n),
    "every": lambda n: snp.Save(every=n),
    "length": lambda n: snp.AnyInput(n),
    "most": lambda n: snp.AnyInput(1, most=n),
    "in_degree": lambda n: lower(graphs.RandomInDegree(n, seed=0)),
    "in_degree of Procedural": lambda n: lower(graphs.Procedural(0, in_degree=n)),
    "seed": lambda n: lower(graphs.RandomInDegree(1, seed=n)),
    "in_size": lambda n: learn.LinearSynapses(n, 3, key=KEY),
    "size": lambda n: learn.NonlinearSNP(n, key=KEY),
    "in_channels": lambda n: learn.ConvSynapses(n, 2, 3, size=[5, 5], key=KEY),
    "kernel_size": lambda n: learn.ConvSynapses(1, 2, n, size=[5, 5], key=KEY),
    "window": lambda n: learn.MaxPool(2, n, size=[4, 4]),
    "runs": lambda n: proliferation.sample_lattice(CELLS, KEY, runs=n),
    "slots": lambda n: proliferation.sample_lattice(CELLS, KEY, slots=n),
    "phi_min": lambda n: proliferation.max_divisions([100.0], n),
    "num_transitions": lambda n: snp.SleptsovNet(
        [1], inputs=sleptsov.Arcs.of([]), outputs=sleptsov.Arcs.of([]), num_transitions=n
    ),
}
HUGE, FRACTION, NOT_A_NUMBER = 10**30, 2.5, math.nan


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *[(call, -1) for call in CALLS],
        *[(call, FRACTION) for call in CALLS if call not in ("seconds", "phi_min")],
        *[(call, NOT_A_NUMBER) for call in CALLS if call != "phi_min"],
        *[(call, HUGE) for call in ("max_steps", "paths", "max_steps of estimate", "every")],
        *[(call, HUGE) for call in ("length", "most", "in_degree", "in_size", "size")],
        *[(call, HUGE) for call in ("in_channels", "kernel_size", "window")],
        *[(call, np.int64(10**12)) for call in ("size", "kernel_size", "window", "max_steps")],
    ],
)
def test_the_argument_is_named(call, number):
    with pytest.raises((TypeError, ValueError), match=call.split()[0].split("_")[0]) as caught:
        CALLS[call](number)
    assert "\n" not in f"{caught.value}"


def test_what_needs_more_memory_than_there_is_is_refused():
    for call in (expand, lambda n: snp.lower(snp.PopulationSystem([snp.Population("a", n)]))):
        with pytest.raises(snp.NotEnoughMemory, match=r"1,000,000,000,000 neurons"):
            call(10**12)
    for call in ("runs", "slots"):
        with pytest.raises(snp.NotEnoughMemory, match=f"000,000 {call} need"):
            CALLS[call](10**15)


def test_integers_of_numpy_are_sizes():
    assert estimate(paths=np.int64(4)).paths == 4
    assert CALLS["seconds"](np.int64(10)).is_decided
    assert CALLS["window"](np.int64(2)).windows == CALLS["window"](2).windows
