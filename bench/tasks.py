"""How accurate are exact integer networks on tasks in time, next to float networks?

    python bench/tasks.py [TASK...] [--seeds 3] [-o FILE]
    python bench/tasks.py [TASK...] --rates     # how the learning rates were chosen

Five tasks: coincidences, delayed XOR, parity, streams of events, and digits pixel by pixel. Three
networks read the same spike trains and are trained by the same number of updates of the same
batches: an exact system of integers, a GRU and a recurrent network of leaky integrate-and-fire
neurons (LIF), the latter two of floats, all with the same number of hidden neurons. `--rates`
prints accuracies on validation samples, by which the learning rates below were chosen; otherwise
accuracies are those on test samples, the mean over seeds. A seed draws other samples (of the digits
another split of those that are not tested), other weights and another order of training.

Before any figure of an exact network is printed, its export runs on all test samples, and has to
give the counts of the trained model. Spikes are those of neurons other than inputs, for one sample.
Bits are those of all trained numbers: weights and delays of the exact network, floats of 32 bits.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from figures import Accuracy, Setup, commit_of

import snpjax as snp
from snpjax import learn


UPDATES, BATCH = 1500, 64
# For how many steps neurons fire after a register has sent.
_FIRING = 10
#: Among these, `--rates` compares.
RATES = {
    "exact": (0.01, 0.02, 0.03, 0.06, 0.1),
    "GRU": (0.001, 0.003, 0.01, 0.03),
    "LIF": (0.001, 0.003, 0.01, 0.03, 0.1),
}
# The first seeds of `--rates`, and of figures: those have no samples and no weights in common, but
# the training samples of the digits.
_CHOOSING, _TESTED = 1000, 100
#: Images of digits that no seed trains on.
DIGITS_TESTED = 450

Random = np.random.Generator


class Samples(NamedTuple):
    """Spike trains, `(samples, steps, inputs)` counts, and `(samples,)` labels."""

    trains: np.ndarray
    labels: np.ndarray

    def part(self, start: int, end: int) -> "Samples":
        return Samples(self.trains[start:end], self.labels[start:end])


# ---- tasks ----


def coincidence(random: Random, size: int) -> Samples:
    """Do five of eight neurons ever spike together? Each spikes four times in 20 steps, in either
    class, and in no other step more than three do."""
    steps, inputs, together = 20, 8, 5
    trains, labels = np.zeros((size, steps, inputs), np.int8), random.integers(0, 2, size)
    for train, label in zip(trains, labels, strict=True):
        most = -1
        while most != (together if label else 3):
            places = random.random((steps, inputs)).argsort(axis=0)
            train[:] = places < 4
            if label:
                step = random.integers(steps)
                for one in random.choice(inputs, together, replace=False):
                    if not train[step, one]:
                        train[random.choice(np.flatnonzero(train[:, one])), one] = 0
                        train[step, one] = 1
            loads = np.sort(train.sum(axis=1))
            most = loads[-1] if loads[-2] <= 3 else -1
    return Samples(trains, labels)


def delayed_xor(random: Random, size: int) -> Samples:
    """Are two bits different, which come 10 to 16 steps apart, each as a spike of one of two
    neurons? Two other neurons spike at random."""
    trains = np.zeros((size, 24, 4), np.int8)
    bits, every = random.integers(0, 2, (size, 2)), np.arange(size)
    trains[:, :, 2:] = random.random((size, 24, 2)) < 0.2
    first = random.integers(0, 4, size)
    trains[every, first, bits[:, 0]] = 1
    trains[every, first + random.integers(10, 17, size), bits[:, 1]] = 1
    return Samples(trains, bits[:, 0] ^ bits[:, 1])


def parity(random: Random, size: int) -> Samples:
    """Is the number of spikes in 16 steps odd? A second neuron says when they are over."""
    trains = np.zeros((size, 17, 2), np.int8)
    trains[:, :16, 0] = random.integers(0, 2, (size, 16))
    trains[:, 16, 1] = 1
    return Samples(trains, trains[:, :, 0].sum(axis=1) % 2)


def events(random: Random, size: int) -> Samples:
    """Which way does an edge move over 6 x 6 pixels: right, left, down, up, outwards or inwards?

    It starts in one of the first four steps and moves 0.4 to 0.7 pixels a step. A pixel sends an
    event as the edge passes, which is lost with probability 0.2; with probability 0.02 a step it
    sends one for no reason.
    """
    side, steps = 6, 16
    row, column = np.mgrid[:side, :side]
    labels = random.integers(0, 6, size)
    start = random.integers(0, 4, (size, 1))
    speed = random.uniform(0.4, 0.7, (size, 1))
    centre = (side - 1) / 2 + random.integers(-1, 2, (size, 2))
    around = np.maximum(
        abs(row - centre[:, :1, None]), abs(column - centre[:, 1:, None])
    )  # (samples, rows, columns)
    flat = np.stack([column, side - 1 - column, row, side - 1 - row])
    inwards = side // 2 + 1 - around
    place = np.where((labels == 4)[:, None, None], around, inwards)
    place = np.where((labels < 4)[:, None, None], flat[labels % 4], place)[:, None]
    edge = speed * (np.arange(steps) - start)
    edge, before = edge[:, :, None, None], (edge - speed)[:, :, None, None]
    has_begun = (np.arange(steps) >= start)[:, :, None, None]
    trains = has_begun & (place > before) & (place <= edge)
    trains &= random.random(trains.shape) < 0.8
    trains |= random.random(trains.shape) < 0.02
    return Samples(trains.reshape(size, steps, -1).astype(np.int8), labels)


def digits(random: Random, size: int) -> Samples:
    """Which digit is it? The 8 x 8 pixels of the digits of scikit-learn come one in a step, as 0 to
    4 spikes; a second neuron says when they are over."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    rest, tested = np.split(np.random.default_rng(0).permutation(len(labels)), [-DIGITS_TESTED])
    order = np.concatenate([random.permutation(rest), tested])[:size]
    trains = np.zeros((len(order), 65, 2), np.int8)
    trains[:, :64, 0] = np.round(images[order] / 4)
    trains[:, 64, 1] = 1
    return Samples(trains, np.asarray(labels)[order])


# ---- networks: from (samples, steps, inputs) to (samples, classes) ----


class Exact(eqx.Module):
    """An exact system of integers, whose outputs count; `temperature` divides the counts."""

    network: learn.Sequential
    temperature: float = eqx.field(static=True)

    def counts(self, trains: jax.Array) -> jax.Array:
        nothing = jnp.zeros((trains.shape[0], trains.shape[2]))
        return self.network.response(nothing, input=trains).spikes

    def __call__(self, trains: jax.Array) -> jax.Array:
        return self.counts(trains) / self.temperature


class AfterRegister(eqx.Module):
    """The trained layers of `with_register`, without the steps in which nothing reaches them."""

    layers: list[learn.SpikingBlock]
    temperature: float = eqx.field(static=True)

    def __call__(self, trains: jax.Array) -> jax.Array:
        hidden, outputs = self.layers
        collected = trains[:, :-1, 0].T
        sent = jnp.zeros((_FIRING + 1, *collected.shape)).at[0].set(collected)
        return outputs.response(hidden(sent)).spikes.T / self.temperature


class GRU(eqx.Module):
    """A gated recurrent unit (Cho et al. 2014) and a linear layer after the last step."""

    cell: eqx.nn.GRUCell
    outward: eqx.nn.Linear

    def __init__(self, inputs: int, hidden: int, classes: int, key: jax.Array):
        one, other = jr.split(key)
        self.cell = eqx.nn.GRUCell(inputs, hidden, key=one)
        self.outward = eqx.nn.Linear(hidden, classes, key=other)

    def __call__(self, trains: jax.Array) -> jax.Array:
        def of_one(train: jax.Array) -> jax.Array:
            state = jnp.zeros(self.cell.hidden_size)
            return self.outward(jax.lax.scan(lambda h, x: (self.cell(x, h), None), state, train)[0])

        return jax.vmap(of_one)(trains)


@jax.custom_jvp
def spike(margin: jax.Array) -> jax.Array:
    """Whether a membrane is above its threshold, with the fast sigmoid as the surrogate."""
    return (margin > 0).astype(margin.dtype)


@spike.defjvp
def _spike_jvp(primals, tangents):  # pyright: ignore
    (margin,), (tangent,) = primals, tangents
    return spike(margin), tangent / (1 + 10 * jnp.abs(margin)) ** 2


class LIF(eqx.Module):
    """Recurrent leaky integrate-and-fire neurons of floats with learned decays, and outputs that
    add up what arrives; thresholds are 1, and firing subtracts them."""

    inward: eqx.nn.Linear
    back: eqx.nn.Linear
    outward: eqx.nn.Linear
    decay: jax.Array

    def __init__(self, inputs: int, hidden: int, classes: int, key: jax.Array):
        keys = jr.split(key, 3)
        self.inward = eqx.nn.Linear(inputs, hidden, key=keys[0])
        self.back = eqx.nn.Linear(hidden, hidden, use_bias=False, key=keys[1])
        self.outward = eqx.nn.Linear(hidden, classes, key=keys[2])
        self.decay = jnp.linspace(0, 4, hidden)  # of the logistic function, 0.5 to 0.98

    def spikes(self, trains: jax.Array) -> jax.Array:
        """`(samples, hidden)` how often each neuron fires."""

        def of_one(train: jax.Array) -> jax.Array:
            def step(state: Any, row: jax.Array) -> Any:
                membrane, fired = state
                membrane = jax.nn.sigmoid(self.decay) * membrane - fired
                membrane = membrane + self.inward(row) + self.back(fired)
                fired = spike(membrane - 1)
                return (membrane, fired), fired

            nothing = jnp.zeros_like(self.decay)
            return jnp.sum(jax.lax.scan(step, (nothing, nothing), train)[1], axis=0)

        return jax.vmap(of_one)(trains)

    def __call__(self, trains: jax.Array) -> jax.Array:
        return jax.vmap(self.outward)(self.spikes(trains) / 4)


def surrogate(guard: int) -> learn.FastSigmoid:
    return learn.FastSigmoid(4.8 / guard, height=1 / guard)


def counting(hidden: int, classes: int, steps: int, key: jax.Array) -> learn.SpikingBlock:
    """Outputs that count."""
    synapses = learn.LinearSynapses(hidden, classes, key=key, scale=0.9)
    return learn.SpikingBlock(synapses, guard=(), steps=steps)


Hidden = Callable[[int, int, int, jax.Array], learn.AbstractSpikingLayer]


def coincidence_layer(inputs: int, hidden: int, steps: int, key: jax.Array) -> Any:
    """Neurons that forget in each step what did not make them fire."""
    return learn.SpikingLeaky(
        inputs, hidden, key=key, steps=steps, threshold=5, decay=0, weight_range=(-1, 2),
        surrogate=learn.FastSigmoid(1.0, height=0.5),
    )  # fmt: skip


def integrating_layer(inputs: int, hidden: int, steps: int, key: jax.Array) -> Any:
    """Neurons that keep what they receive."""
    synapses = learn.LinearSynapses(inputs, hidden, key=key, scale=1.5)
    return learn.SpikingBlock(synapses, steps=steps, guard=4, surrogate=surrogate(4))


def parity_layer(inputs: int, hidden: int, steps: int, key: jax.Array) -> Any:
    """Neurons that forget spikes in pairs, and fire at three; weights are 1 or 2."""
    synapses = learn.LinearSynapses(inputs, hidden, key=key, weight_range=(1, 2))
    return learn.SpikingBlock(
        synapses, steps=steps, guard=("a^3 -> a", "aa -> lambda", "a^4 -> lambda"),
        surrogate=learn.FastSigmoid(1.0, height=0.3),
    )  # fmt: skip


def delay_layer(inputs: int, hidden: int, steps: int, key: jax.Array) -> Any:
    """Leaky neurons, and a learned delay for each weight."""
    return learn.SpikingLeaky(
        inputs, hidden, key=key, steps=steps, threshold=4, decay=0.5, scale=1.5,
        delays=(0, 2, 4, 6, 8), surrogate=surrogate(4),
    )  # fmt: skip


def of_layer(layer: Hidden) -> Callable[["Task", jax.Array], Exact]:
    """A network of inputs, one hidden layer and outputs that count. Inputs also project to the
    outputs: those that always spike equally often take the place of a bias."""

    def build(task: Task, key: jax.Array) -> Exact:
        one, other, third = jr.split(key, 3)
        steps = task.steps + 2  # inputs send on in the next step, and so do neurons
        hidden = layer(task.inputs, task.hidden, steps, one)
        outputs = counting(task.hidden, task.classes, steps, other)
        skip = learn.LinearSynapses(task.inputs, task.classes, key=third, scale=0.5)
        network = learn.Sequential(
            [hidden, outputs],
            source=learn.relay(task.most),
            skips=[(0, 2, skip)],
            batch_first=True,
        )
        return Exact(network, task.temperature)

    return build


def with_register(task: "Task", key: jax.Array) -> Exact:
    """A network that first collects a train: neuron i of the register gets the spikes of step i
    through a fixed delay, forgets all others, and sends them on when the second input says that
    they are over. Hidden neurons then have ten steps to fire. The register is not trained."""
    one, other = jr.split(key)
    length, most, steps = task.steps - 1, task.most, task.steps + 3 + _FIRING
    rules = [snp.Rule(most + 1 + k, most + 1 + k, k) for k in range(1, most + 1)]
    rules += [snp.Rule(k, k, 0) for k in range(1, most + 2)]
    plain = learn.LinearSynapses(2, length, key=key, weight_range=(0, most + 1))
    delays = learn.LearnedDelays(plain, range(length + 1))
    place = np.zeros(delays.logits.shape, np.float32)
    place[length - np.arange(length), np.arange(length), 0] = 1  # the second input has no delay
    weights = jnp.tile(jnp.asarray([1.0, most + 1]), (length, 1))
    delays = eqx.tree_at(lambda own: own.logits, delays, jnp.asarray(place))
    delays = eqx.tree_at(lambda own: own.synapses.weight, delays, weights)
    register = learn.SpikingBlock(delays, steps=steps, guard=rules)
    synapses = learn.LinearSynapses(length, task.hidden, key=one, scale=0.9)
    hidden = learn.SpikingBlock(synapses, steps=steps, guard=most, surrogate=surrogate(most))
    outputs = counting(task.hidden, task.classes, steps, other)
    layers, source = [register, hidden, outputs], learn.relay(most)
    return Exact(learn.Sequential(layers, source=source, batch_first=True), task.temperature)


@dataclass(frozen=True)
class Task:
    """A task, and what solves it.

    - `draw`: samples, of a generator and a number.
    - `sizes`: how many samples are for training, validation and the test.
    - `steps`, `inputs`, `classes`, `most`: of the trains, and their largest count.
    - `exact`: the exact network, of the task and a key, and its `temperature`.
    - `rates`: the learning rate of each network.
    - `fixed`: how many of the first layers of the exact network are not trained.
    """

    name: str
    draw: Callable[[Random, int], Samples]
    steps: int
    inputs: int
    classes: int
    exact: Callable[["Task", jax.Array], Exact]
    rates: dict[str, float]
    temperature: float
    hidden: int = 32
    most: int = 1
    sizes: tuple[int, int, int] = (2400, 600, 1000)
    updates: int = UPDATES
    fixed: int = 0

    def model(self, kind: str, key: jax.Array) -> Any:
        if kind == "exact":
            return self.exact(self, key)
        network = {"GRU": GRU, "LIF": LIF}[kind]
        return network(self.inputs, self.hidden, self.classes, key)

    def samples(self, seed: int) -> tuple[Samples, Samples, Samples]:
        """For training, validation and the test."""
        drawn = self.draw(np.random.default_rng(seed), sum(self.sizes))
        first, second = self.sizes[0], sum(self.sizes[:2])
        return drawn.part(0, first), drawn.part(first, second), drawn.part(second, sum(self.sizes))


TASKS = {
    task.name: task
    for task in (
        Task("coincidence", coincidence, 20, 8, 2, of_layer(coincidence_layer),
             {"exact": 0.02, "GRU": 0.01, "LIF": 0.01}, 8.0),
        Task("delayed XOR", delayed_xor, 24, 4, 2, of_layer(integrating_layer),
             {"exact": 0.1, "GRU": 0.003, "LIF": 0.01}, 8.0),
        Task("parity", parity, 17, 2, 2, of_layer(parity_layer),
             {"exact": 0.1, "GRU": 0.01, "LIF": 0.001}, 4.0),
        Task("events", events, 16, 36, 6, of_layer(delay_layer),
             {"exact": 0.02, "GRU": 0.01, "LIF": 0.03}, 8.0),
        Task("digits", digits, 65, 2, 10, with_register,
             {"exact": 0.1, "GRU": 0.01, "LIF": 0.01}, 32.0,
             hidden=64, most=4, sizes=(1078, 269, DIGITS_TESTED), fixed=1),
    )
}  # fmt: skip


# ---- training and figures ----


def loss(model: Any, trains: jax.Array, labels: jax.Array, key: jax.Array) -> jax.Array:
    return learn.cross_entropy(model(trains), labels, batch_first=True)


def scaled(task: Task, kind: str, trains: np.ndarray) -> np.ndarray:
    """Floats read numbers up to 1."""
    return trains.astype(np.float32) / (1 if kind == "exact" else task.most)


def trained(task: Task, kind: str, rate: float, seed: int, data: Samples) -> Any:
    one, other = jr.split(jr.key(seed))
    model = task.model(kind, one)
    part = model
    if kind == "exact" and task.fixed:
        part = AfterRegister(list(model.network.layers[task.fixed :]), task.temperature)
    columns = scaled(task, kind, data.trains), data.labels.astype(np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", learn.FiringWarning)  # half of the neurons are enough
        found = learn.fit(
            part,
            loss,
            learn.Adam(rate),
            columns,
            epochs=max(task.updates * BATCH // len(data.labels), 1),
            key=other,
            batch_size=BATCH,
        ).model
    if part is model:
        return found
    layers = lambda own: own.network.layers[task.fixed :]  # noqa: E731
    return eqx.tree_at(layers, model, tuple(found.layers))


@eqx.filter_jit
def scores(model: Any, trains: jax.Array) -> jax.Array:
    return model(trains)


def accuracy(task: Task, kind: str, model: Any, data: Samples) -> float:
    found = np.asarray(scores(model, jnp.asarray(scaled(task, kind, data.trains))))
    return float(np.mean(np.argmax(found, axis=1) == data.labels))


def exact_spikes(model: Exact, trains: np.ndarray) -> float:
    """Run the exported system on all samples: the mean number of spikes in a run. The counts of the
    outputs are those of the model, or this raises."""
    network = model.network
    counts = eqx.filter_jit(lambda own, x: own.counts(x))(model, jnp.asarray(trains, jnp.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        system = learn.to_system(network, round=True)
        names = [neuron.name for neuron in system.neurons]
        inputs = names[: network.sizes[0]]
        outputs = [names.index(name) for name in system.output]
        system = system.replace(input={name: [] for name in inputs}, output=names)
    samples = len(trains)
    exact = snp.run(
        system,
        paths=samples,
        inputs=np.moveaxis(trains, 0, -1).astype(int),
        max_steps=network.steps,
        throw=False,
    )
    assert np.array_equal(exact.spikes[outputs].T, np.asarray(counts)), "the export differs"
    return float(exact.spike_trains[:, len(inputs) :].sum()) / samples


def bits(model: Any, fixed: int = 0) -> int:
    """Of all trained numbers."""
    if not isinstance(model, Exact):
        floats = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
        return 32 * sum(x.size for x in floats)
    network, total = model.network, 0
    for part in (*network.layers[fixed:], *network.skips):
        synapses: Any = part.synapses if isinstance(part, learn.AbstractSpikingLayer) else part
        each = 0
        if isinstance(synapses, learn.LearnedDelays):
            each, synapses = math.ceil(math.log2(len(synapses.delays))), synapses.synapses
        low, most = synapses.allowed.range
        total += synapses.weight.size * (each + math.ceil(math.log2(most - low + 1)))
    return total


def measure(task: Task, kind: str, seeds: range) -> Accuracy:
    """Train and test a network for each seed; the export of exact ones is compared first."""
    found, spikes, seconds, model = [], [], 0.0, None
    for seed in seeds:
        training, _, test = task.samples(seed)
        began = time.process_time()
        model = trained(task, kind, task.rates[kind], seed, training)
        seconds += time.process_time() - began
        if isinstance(model, Exact):
            spikes.append(exact_spikes(model, test.trains))
        elif isinstance(model, LIF):
            fired = model.spikes(jnp.asarray(scaled(task, kind, test.trains)))
            spikes.append(float(jnp.mean(jnp.sum(fired, axis=1))))
        found.append(accuracy(task, kind, model, test))
    return Accuracy(
        task.name, kind, float(np.mean(found)), min(found), round(seconds / len(seeds), 1),
        tuple(seeds), task.hidden, bits(model, task.fixed),
        round(float(np.mean(spikes)), 1) if spikes else None,
    )  # fmt: skip


def compare_rates(task: Task, kinds: Sequence[str], seeds: int) -> Iterator[str]:
    """Validation accuracies, with seeds that are used for nothing else."""
    for kind in kinds:
        for rate in RATES[kind]:
            found = []
            for seed in range(_CHOOSING, _CHOOSING + seeds):
                training, validation, _ = task.samples(seed)
                model = trained(task, kind, rate, seed, training)
                found.append(accuracy(task, kind, model, validation))
            yield f"{task.name}, {kind}, rate {rate}: {np.mean(found):.2%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(TASKS)}; by default all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--networks", nargs="+", choices=RATES, default=[*RATES])
    parser.add_argument("--rates", action="store_true", help="compare learning rates, test nothing")
    parser.add_argument("-o", "--out", type=Path, help="the file that JSON lines are added to")
    options = parser.parse_args()
    unknown = sorted({*options.tasks} - {*TASKS})
    if unknown:
        parser.error(f"there is no task {unknown[0]!r}; choose among {', '.join(TASKS)}")
    setup = Setup(commit_of())
    for task in [TASKS[name] for name in options.tasks or TASKS]:
        if options.rates:
            for line in compare_rates(task, options.networks, options.seeds):
                print(line, flush=True)
            continue
        for kind in options.networks:
            own = measure(task, kind, range(_TESTED, _TESTED + options.seeds))
            print(own, flush=True)
            if options.out is not None:
                with options.out.open("a") as file:
                    file.write(f"{own.json(setup)}\n")


if __name__ == "__main__":
    main()
