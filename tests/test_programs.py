"""How many programs XLA compiles before a first call answers, and which systems share them."""

import json
import sys

import compiling
import jax.random as jr
import pytest

import snpjax as snp
from snpjax._tiered import Tiered
from snpjax.sleptsov import Arcs
from tests.support.processes import environment, forking, python


#: The calls of bench/compiling.py: the most programs of each as users call it, and where nothing is
#: evaluated before it is compiled.
MOST = {
    "run": (2, 4),  # two are for the random key
    "explore": (0, 8),
    "check": (0, 9),
    "net": (0, 2),
    "division": (0, 3),
    "plasticity": (3, 5),
    "learning step": (5, 5),
    "calibration": (9, 9),
    "rate": (4, 4),
    "batch": (2, 5),
    "draw": (0, 10),
    "growth": (3, 4),
}

#: Of the others each takes a second or more.
_CHEAP = {(call, "evaluated") for call in ("run", "explore", "check", "net", "plasticity")}
_CHEAP |= {("run", "compiled"), ("net", "compiled")}

#: What takes a second to import is imported once.
_IMPORTS = """
sys.path.insert(0, "bench")
import equinox, jax, compiling
import snpjax as snp
from snpjax import _tiered, check, explore, learn, proliferation, rate, run, sleptsov
"""
_ALONE = """
import sys
import compiling
from snpjax._tiered import programs
compiling.CALLS["small growth"] = "assert len(grown(10).spikes) == 2094"
if sys.argv[2] == "compiled":
    programs.PATIENCE = 0
compiling.alone(sys.argv[1])
"""


def test_every_call_is_bounded():
    assert MOST.keys() == compiling.CALLS.keys() - {"large net"}


@pytest.fixture(scope="module")
def fork():
    with forking(_IMPORTS, environment(JAX_DISABLE_MOST_OPTIMIZATIONS="true")) as run:
        yield run


@pytest.mark.parametrize(
    "call, how, most",
    [
        pytest.param(call, how, most, marks=[] if (call, how) in _CHEAP else [pytest.mark.slow])
        for call, (evaluated, compiled) in {**MOST, "small growth": MOST["growth"]}.items()
        for how, most in (("evaluated", evaluated), ("compiled", compiled))
        if how == "evaluated" or compiled > evaluated
    ],
)
def test_a_first_call_compiles_few_programs(fork, call, how, most):
    """Also where they are on disk."""
    done = fork(_ALONE, call, how)
    assert done.returncode == 0, done.stderr
    compiled = [name for name, _ in json.loads(done.stdout)["programs"]]
    assert len(compiled) <= most, compiled
    assert compiled or not most, "JAX says in other words what it compiles"


@pytest.mark.slow
def test_a_command_is_measured_as_users_run_it():
    out = python("bench/compiling.py", "--alone", "snpjax explore")
    assert json.loads(out) == {"programs": [], "found": 0}


def spiking(n):
    """Two systems of one size, with other rules, spikes and outputs."""
    rules = (["a^2/a -> a", "a^2 -> a"], ["a -> a", "a^2/a -> a"])[n]
    neurons = [
        snp.Neuron("a", 2 - n, rules),
        snp.Neuron("b", 1, ["a -> a"]),
        snp.Neuron("c", 0, ["a -> lambda", "a^2 -> a"]),
    ]
    synapses = [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")]
    return snp.SpikingSystem(neurons, synapses, output="ac"[n])


def plastic(n):
    neurons = [
        snp.Neuron("i", 2, [f"a/a -> +{n + 1}(i, {{j, k}})", "a^2/a -> a"]),
        snp.Neuron("j", 0, ["a -> a"]),
        snp.Neuron("k", 1, ["a -> a"]),
    ]
    return snp.SpikingSystem(neurons, [("j", "k"), ("k", "i")], output="k")


def dividing(n):
    left, right = (("left", "right"), ("one", "other"))[n]
    cell = snp.Neuron("cell", 2, [f"[a^2]_cell -> []_{left} || []_{right}"])
    return snp.SpikingSystem([cell, snp.Neuron("sink")], [("cell", "sink")])


def net(n):
    inputs = Arcs.of([(0, 0, 1), (1, 1, 1)])
    return snp.SleptsovNet([n + 3, 5, 0], inputs=inputs, outputs=Arcs.of([(2, 0, 1), (2, 1, 1)]))


def traced():
    """The numbers of programs of all functions."""
    modules = [module for name, module in sys.modules.items() if name.startswith("snpjax.")]
    functions = [x for module in modules for x in vars(module).values() if isinstance(x, Tiered)]
    return {(x.__module__, x.__name__): len(x._programs) for x in functions}


@pytest.mark.parametrize(
    "call",
    [
        lambda n: snp.run(spiking(n), max_steps=40, choice=snp.UniformChoice(jr.key(n))),
        lambda n: snp.run(spiking(n), max_steps=40, choice=snp.UniformChoice(jr.key(n)), paths=3),
        lambda n: snp.explore(spiking(n)),
        lambda n: snp.check(spiking(n), "always c <= 3"),
        lambda n: snp.run(plastic(n), max_steps=10, choice=snp.UniformChoice(jr.key(n))),
        lambda n: snp.explore(plastic(n), max_configurations=50),
        lambda n: snp.run(dividing(n)),
        lambda n: snp.explore(dividing(n)),
        lambda n: snp.run(net(n)),
        lambda n: snp.explore(net(n)),
    ],
)
def test_systems_of_one_size_share_programs(call):
    call(0)
    before = traced()
    assert sum(before.values()) > 0
    call(1)
    assert traced() == before
