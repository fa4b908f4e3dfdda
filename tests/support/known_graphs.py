"""Systems whose graphs are large, and known without exploring them."""

import snpjax as snp


def countdown(spikes: int) -> snp.SpikingSystem:
    """Two neurons that forget one spike or two in each step."""
    rules = ["a+/a -> lambda", "a^2(a)*/a^2 -> lambda"]
    return snp.SpikingSystem([snp.Neuron("x", spikes, rules), snp.Neuron("y", spikes, rules)], [])


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


def many_sinks() -> snp.SpikingSystem:
    """A neuron that sends one or two spikes at a time to 40 others, whose counts grow."""
    sender = snp.Neuron("sender", 100, ["a+/a -> a", "a^2(aa)*/a^2 -> a"])
    sinks = [f"sink{i}" for i in range(40)]
    synapses = [("sender", name, 1 + i % 2) for i, name in enumerate(sinks)]
    return snp.SpikingSystem([sender, *map(snp.Neuron, sinks)], synapses)


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
