"""One small model of every kind, by name: the table that tests of all kinds walk."""

from collections.abc import Callable
from typing import Any

import numpy as np

import snpjax as snp
from snpjax import graphs, numerical, proliferation as pr, rate, sleptsov
from snpjax.sleptsov import Disjoint, Execution, Petri


RULES = ("a+/a -> a", "a^2 -> a")


def system(variant: Any = None, **options: Any) -> snp.SpikingSystem:
    """Three neurons, of which the first one may choose."""
    neurons = [snp.Neuron("x", 2, RULES), snp.Neuron("y", 1, ["a -> a"]), snp.Neuron("z")]
    synapses = [("x", "y"), ("y", "x"), ("x", "z")]
    options = {"output": "z", **options}
    return snp.SpikingSystem(neurons, synapses, variant=variant, **options)


def growing(rule: Any) -> snp.SpikingSystem:
    return snp.SpikingSystem([snp.Neuron("x", 1, [rule]), snp.Neuron("z")], [("x", "z")])


def synapse_rules() -> snp.SpikingSystem:
    variant = snp.SynapseRules({("x", "y"): ["a+/a -> a"], ("x", None): ["a -> a"]})
    return snp.SpikingSystem([snp.Neuron("x", 2), snp.Neuron("y")], variant=variant, output="x")


def requests() -> snp.SpikingSystem:
    asking = snp.RequestRule("a*", [(1, "y")])
    neurons = [snp.Neuron("x", 0, [asking]), snp.Neuron("y", 2)]
    return snp.SpikingSystem(neurons, variant=snp.Requests())


def channels() -> snp.SpikingSystem:
    rule = snp.Rule("a+", 1, 1, channel="1")
    variant = snp.Channels({"1": [("x", "y")]})
    return snp.SpikingSystem([snp.Neuron("x", 2, [rule]), snp.Neuron("y")], variant=variant)


def populations(*rules: Any) -> snp.PopulationSystem:
    return snp.PopulationSystem(
        [snp.Population("p", 3, [2, 1, 0], rules or RULES), snp.Population("q", 2)],
        [snp.Projection("p", "q", graphs.AllToAll())],
        output="q",
    )


def net() -> snp.SleptsovNet:
    return sleptsov.net_of_text("take: 2x -> y\ngive: y -> x", {"x": 6, "y": 0})


def rate_network() -> rate.RateNetwork:
    """Two populations with a delay, a drive and a plastic projection."""
    fixed = rate.RatePopulation("a", 2, rate.leaky(), drive=np.ones((3, 2)))
    learns = rate.RateProjection("a", "b", graphs.AllToAll(), plasticity=rate.oja(0.1))
    waits = rate.RateProjection("b", "a", weights=0.5, delay=2.0)
    return rate.RateNetwork([fixed, rate.RatePopulation("b", 2, rate.leaky())], [learns, waits])


def numerical_system() -> numerical.NumericalSystem:
    half = numerical.Production({"x": 0.5})
    neurons = [numerical.NumericalNeuron(name, {"x": 2}, [half]) for name in ("n", "m")]
    return numerical.NumericalSystem(neurons, [("n", "m"), ("m", "n")], outputs="m")


def proliferation_model() -> pr.ProliferationModel:
    start = pr.Histogram(2.0 ** np.arange(1, 7), [0, 0, 0, 0, 4, 8])
    types = pr.CellType("rest", 0.5), pr.CellType("go", 0.5, pr.Normal(38.0, 12.0))
    return pr.ProliferationModel(start, types, duration=60.0, phi_min=1.0)


#: What `run`, `lower` and `simulate` take.
RUNNABLE: dict[str, Callable[[], Any]] = {
    "system": system,
    "anti-spikes": lambda: system(snp.AntiSpikes()),
    "exhaustive": lambda: system(snp.Exhaustive()),
    "astrocytes": lambda: system(snp.Astrocytes([snp.Astrocyte([("x", "y")], 1)])),
    "synapse rules": synapse_rules,
    "channels": channels,
    "requests": requests,
    "synapse delays": lambda: system(snp.SynapseDelays({("x", "y"): 2})),
    "dendritic delays": lambda: system(snp.DendriticDelays({"y": 1})),
    "scheduled synapses": lambda: system(snp.ScheduledSynapses([("x", "y", 1, 3, "y")])),
    "inputs": lambda: system(input={"x": (1, 0, 2)}),
    "division": lambda: growing(snp.DivisionRule("a", "x", "z")),
    "budding": lambda: growing(snp.BuddingRule("a", "z")),
    "plastic": lambda: growing("a/a -> +1(x, {z})"),
    "populations": populations,
    "plastic populations": lambda: populations(
        snp.PlasticityTemplate(
            "a+", 1, ["+", "-", "+"], 1, {"q": graphs.Pairs(np.arange(3), np.array([1, 1, 0]))}
        )
    ),
    "batch": lambda: snp.SystemBatch([system(), system(output="y")]),
    "net": net,
    "net under Petri": lambda: Execution(net(), rule=Petri()),
    "net under Disjoint": lambda: Execution(net(), rule=Disjoint()),
    "rate network": rate_network,
    "numerical system": numerical_system,
}
