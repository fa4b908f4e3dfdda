"""One small model of every kind, by name: the table that tests of all kinds walk. In nearly all of
them a neuron chooses, and different paths halt after different numbers of steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import snpjax as snp
from snpjax import graphs, numerical, proliferation as pr, rate, sleptsov
from snpjax.sleptsov import Disjoint, Execution, Petri


RULES = ("a+/a -> a", "a^2 -> a")


def system(variant: Any = None, **options: Any) -> snp.SpikingSystem:
    """Three neurons, of which the first two may choose; it ends when y forgets its last spike."""
    forgets = "a -> lambda"
    neurons = [snp.Neuron("x", 2, RULES), snp.Neuron("y", 1, ["a -> a", forgets]), snp.Neuron("z")]
    synapses = [("x", "y"), ("y", "x"), ("x", "z")]
    options = {"output": "z", **options}
    return snp.SpikingSystem(neurons, synapses, variant=variant, **options)


def delayed() -> snp.SpikingSystem:
    """Weights, delays, an input, two outputs, periods of guards and rules that forget."""
    rules = ["a(aa)*/a -> a; 1", "a^2 -> a^2", "a{2,}/a^2 -> a; 2", "a^4 -> lambda"]
    forgetting = ["a{2,}/a^2 -> lambda", "a+/a -> a", "a -> a; 1"]
    neurons = [snp.Neuron("x", 3, rules), snp.Neuron("y", 2, forgetting)]
    synapses = [("x", "y", 2), ("y", "x"), ("y", "z", 3)]
    return snp.SpikingSystem(
        [*neurons, snp.Neuron("z", 0, ["a+/a^3 -> a"])],
        synapses,
        input={"x": (1, 0, 2), "y": (0, 1)},
        output=("x", "z"),
    )


def anti_spikes() -> snp.SpikingSystem:
    rules = ["a+/a -> ā", "a^2 -> a", "ā/ā -> a", "ā^2 -> lambda"]
    neurons = [snp.Neuron("x", 3, rules), snp.Neuron("y", -2, rules), snp.Neuron("z")]
    synapses = [("x", "y"), ("y", "z"), ("x", "z", 2)]
    return snp.SpikingSystem(neurons, synapses, variant=snp.AntiSpikes(), output="z")


def dividing(rule: Any) -> snp.SpikingSystem:
    """Four spikes come to a neuron, which divides or buds by some of them and sends others on."""
    rules = [rule, "a -> a", "a -> a; 2"]
    neurons = [
        snp.Neuron("source", 4, ["a+/a -> a"]),
        snp.Neuron("x", 0, rules),
        snp.Neuron("sink", 0, ["a -> lambda"]),
    ]
    return snp.SpikingSystem(
        neurons,
        [("source", "x"), ("x", "sink")],
        rules_by_label={"y": ["a -> a", "a -> lambda"]},
        dictionary=[("x", "y")],
        output="x",
    )


def plastic() -> snp.SpikingSystem:
    """A clock lets a neuron create synapses and delete them, until it does not tick on."""
    changing = snp.PlasticityRule("a", 1, "+-", 1, ["y", "z"])
    neurons = [
        snp.Neuron("clock", 1, ["a -> a"]),
        snp.Neuron("tick", 0, ["a -> a", "a -> lambda"]),
        snp.Neuron("x", 1, [changing, "a -> lambda"]),
        snp.Neuron("y", 0, ["a -> a", "a^2 -> a; 1"]),
        snp.Neuron("z", 0, ["a -> a"]),
    ]
    return snp.SpikingSystem(
        neurons, [("clock", "tick"), ("tick", "clock"), ("tick", "x"), ("z", "y")], output="y"
    )


def synapse_rules() -> snp.SpikingSystem:
    rules = ["a+/a -> a", "a{2,4}/a^2 -> a^2"]
    variant = snp.SynapseRules({("x", "y"): rules, ("x", None): ["a -> a"]})
    return snp.SpikingSystem([snp.Neuron("x", 4), snp.Neuron("y")], variant=variant, output="x")


def requests() -> snp.SpikingSystem:
    asking = ["a*/Q(a, y)", "a*/Q(a^2, y)", "a{2}/Q(a^inf, z)"]
    neurons = [snp.Neuron("x", 0, asking), snp.Neuron("y", 6), snp.Neuron("z", 2)]
    return snp.SpikingSystem(neurons, variant=snp.Requests())


def channels() -> snp.SpikingSystem:
    neurons = [
        snp.Neuron("x", 3, ["a+/a -> a(1)", "a{2}/a -> a(2)"]),
        snp.Neuron("y", 0, ["a -> a(2)", "a -> lambda"]),
    ]
    variant = snp.Channels({"1": [("x", "y")], "2": [("y", "x")]})
    return snp.SpikingSystem(neurons, variant=variant, output="x")


def populations(*rules: Any) -> snp.PopulationSystem:
    return snp.PopulationSystem(
        [snp.Population("p", 3, [2, 1, 0], rules or RULES), snp.Population("q", 2)],
        [snp.Projection("p", "q", graphs.AllToAll())],
        output="q",
    )


def plastic_populations() -> snp.PopulationSystem:
    targets = {"q": graphs.Pairs(np.arange(3), np.array([1, 1, 0]))}
    changing = snp.PlasticityTemplate("a+", 1, ["+", "-", "+"], 1, targets)
    return populations(changing, "a -> a; 1")


def net() -> snp.SleptsovNet:
    text = "take: 2x -> y\ngive: y -> x\nlose: x ->\ndrop: 2y ->"
    return sleptsov.net_of_text(text, {"x": 7, "y": 0})


def rate_network() -> rate.RateNetwork:
    """Two populations with a delay, a drive and a plastic projection."""
    fixed = rate.RatePopulation("a", 2, rate.leaky(), drive=np.ones((3, 2)))
    learns = rate.RateProjection("a", "b", graphs.AllToAll(), plasticity=rate.hebb(0.1))
    waits = rate.RateProjection("b", "a", weights=0.5, delay=2.0)
    return rate.RateNetwork([fixed, rate.RatePopulation("b", 2, rate.leaky())], [learns, waits])


def numerical_system() -> numerical.NumericalSystem:
    """Two neurons that send each other half or a quarter of what they hold."""
    ways = [numerical.Production({"x": by}, threshold=1) for by in (0.5, 0.25)]
    neurons = [numerical.NumericalNeuron(name, {"x": 2}, ways) for name in ("n", "m")]
    return numerical.NumericalSystem(neurons, [("n", "m"), ("m", "n")], outputs="m")


def proliferation_model() -> pr.ProliferationModel:
    start = pr.Histogram(2.0 ** np.arange(1, 7), [0, 0, 0, 0, 4, 8])
    types = pr.CellType("rest", 0.5), pr.CellType("go", 0.5, pr.Normal(38.0, 12.0))
    return pr.ProliferationModel(start, types, duration=60.0, phi_min=1.0)


@dataclass(frozen=True)
class Machine:
    """A model that `run`, `lower` and `simulate` take.

    - `build`: makes the model.
    - `options`: how it is lowered.
    - `has_choices`: whether there is anything to choose.
    - `halts`: whether its paths halt within a few steps.
    """

    build: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    has_choices: bool = True
    halts: bool = True


SMALL = {"capacity": snp.Capacity(neurons=4, synapses=32)}
FULL_SCAN = {"engine": sleptsov.FullScan()}

#: Each machine once, in one shape for all laws.
MACHINES: dict[str, Machine] = {
    "system": Machine(system),
    "delays and inputs": Machine(delayed),
    "anti-spikes": Machine(anti_spikes),
    "exhaustive": Machine(lambda: system(snp.Exhaustive())),
    "astrocytes": Machine(lambda: system(snp.Astrocytes([snp.Astrocyte([("x", "y")], 1)]))),
    "synapse rules": Machine(synapse_rules),
    "channels": Machine(channels),
    "requests": Machine(requests),
    "synapse delays": Machine(lambda: system(snp.SynapseDelays({("x", "y"): 2}))),
    "dendritic delays": Machine(lambda: system(snp.DendriticDelays({"y": 1}))),
    "scheduled synapses": Machine(lambda: system(snp.ScheduledSynapses([("x", "y", 1, 3, "y")]))),
    "inputs": Machine(lambda: system(input={"x": (1, 0, 2)})),
    "division": Machine(lambda: dividing(snp.DivisionRule("a", "x", "y")), SMALL),
    "budding": Machine(lambda: dividing(snp.BuddingRule("a", "y")), SMALL),
    "plastic": Machine(plastic),
    "populations": Machine(populations),
    "plastic populations": Machine(plastic_populations),
    "batch": Machine(lambda: snp.SystemBatch([system(), system(output="y")])),
    "net": Machine(net),
    "net by full scans": Machine(net, FULL_SCAN),
    "net under Petri": Machine(lambda: Execution(net(), rule=Petri())),
    "net under Petri by full scans": Machine(lambda: Execution(net(), rule=Petri()), FULL_SCAN),
    "net under Disjoint": Machine(lambda: Execution(net(), rule=Disjoint()), has_choices=False),
    "rate network": Machine(rate_network, has_choices=False, halts=False),
    "numerical system": Machine(numerical_system),
}
#: Models that `run`, `lower` and `simulate` take.
RUNNABLE = {n: machine.build for n, machine in MACHINES.items() if machine.options != FULL_SCAN}
