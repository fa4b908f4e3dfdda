"""Systems whose graphs are known or are compared; most of them share the programs of a search."""

import snpjax as snp
from tests.support.helpers import quietly


#: The sizes of chunks. Small searches take the first one, and one device and a mesh keep their
#: packing until the second one is taken.
CHUNKS = (64, 256)


def countdown(spikes: int) -> snp.SpikingSystem:
    """Two neurons that forget one spike or two in each step."""
    rules = ["a+/a -> lambda", "a^2(a)*/a^2 -> lambda"]
    neurons = [snp.Neuron("x", spikes, rules), snp.Neuron("y", spikes, rules)]
    return snp.SpikingSystem(neurons, [], output="x")


def size_of_countdown(spikes: int) -> int:
    """After t steps each neuron has any of `spikes - 2 * t` to `spikes - t`, and at least 0: two
    numbers meet in a step if the smaller one can be reached before the larger one must be left."""
    total = 0
    for least in range(spikes + 1):
        first = -((least - spikes) // 2)  # the step in which it is reached
        most = spikes - first
        total += 2 * (most - least) + 1
    return total


def doubling(steps: int) -> snp.SpikingSystem:
    """A spike passes along a line, where one neuron after the other decides whether to send to a
    sink: 2^(steps + 1) configurations, half of which halt, after `steps + 1` steps."""
    neurons = [snp.Neuron(f"line{i}", int(i == 0), ["a -> a"]) for i in range(steps)]
    neurons += [snp.Neuron(f"decides{i}", 0, ["a -> lambda", "a -> a"]) for i in range(steps)]
    neurons += [snp.Neuron(f"sink{i}") for i in range(steps)]
    synapses = [(f"line{i}", f"line{i + 1}") for i in range(steps - 1)]
    synapses += [(f"line{i}", f"decides{i}") for i in range(steps)]
    synapses += [(f"decides{i}", f"sink{i}") for i in range(steps)]
    return snp.SpikingSystem(neurons, synapses)


def lattice(sides: int) -> snp.SpikingSystem:
    """Neurons that each send when they like: many configurations on each level."""
    neurons = [snp.Neuron(f"n{i}", 6, ["a+/a -> a", "a+/a -> lambda"]) for i in range(sides)]
    synapses = [(neuron.name, "sum") for neuron in neurons]
    return quietly(snp.SpikingSystem, [*neurons, snp.Neuron("sum")], synapses, output="sum")


def senders(spikes: int) -> snp.SpikingSystem:
    """Seven neurons that send a spike or not to a sink with this many spikes."""
    neurons = [snp.Neuron(f"n{i}", 1, ["a -> lambda", "a -> a"]) for i in range(7)]
    synapses = [(neuron.name, "sink") for neuron in neurons]
    return snp.SpikingSystem([*neurons, snp.Neuron("sink", spikes)], synapses, output="sink")


def growing(spikes: int) -> snp.SpikingSystem:
    """A neuron that sends 50 spikes at a time, whose counts outgrow narrow types."""
    sender = snp.Neuron("sender", spikes, ["a+/a -> a", "a^2(aa)*/a^2 -> a"])
    return snp.SpikingSystem([sender, snp.Neuron("sink")], [("sender", "sink", 50)])


def many_sinks(num: int = 22) -> snp.SpikingSystem:
    """A neuron that sends one or two spikes at a time to others, whose counts grow."""
    sender = snp.Neuron("sender", 100, ["a+/a -> a", "a^2(aa)*/a^2 -> a"])
    sinks = [f"sink{i}" for i in range(num)]
    synapses = [("sender", name, 1 + i % 2) for i, name in enumerate(sinks)]
    return snp.SpikingSystem([sender, *map(snp.Neuron, sinks)], synapses)


def too_many_choices() -> snp.SpikingSystem:
    """The second configuration may be followed in more ways than can be numbered."""
    decides = [snp.Neuron(f"m{i}", 0, ["a -> a", "a -> lambda"]) for i in range(31)]
    neurons = [
        snp.Neuron("n0", 2, ["a^2/a -> a", "a^2/a -> lambda"]),
        snp.Neuron("n1", 2, ["a -> lambda", "a^2/a -> lambda"]),
    ]
    return snp.SpikingSystem([*neurons, *decides], [("n0", one.name) for one in decides])


def plastic() -> snp.SpikingSystem:
    """Synapses that come and go."""
    neurons = [
        snp.Neuron("i", 2, ["a/a -> +1(i, {j, k})", "a^2/a -> a"]),
        snp.Neuron("j", 0, ["a -> a"]),
        snp.Neuron("k", 1, ["a -> a"]),
    ]
    return snp.SpikingSystem(neurons, [("j", "k"), ("k", "i")], output="k")


def dividing() -> snp.SpikingSystem:
    """A neuron that divides."""
    cell = snp.Neuron("cell", 2, ["[a^2]_cell -> []_left || []_right"])
    return snp.SpikingSystem([cell, snp.Neuron("sink")], [("cell", "sink")])


def net() -> snp.SleptsovNet:
    """Two places whose tokens go to a third."""
    inputs = snp.sleptsov.Arcs.of([(0, 0, 1), (1, 1, 1)])
    outputs = snp.sleptsov.Arcs.of([(2, 0, 1), (2, 1, 1)])
    return snp.SleptsovNet([3, 5, 0], inputs=inputs, outputs=outputs)
