"""How long does a training step of a large spiking network take, and how right are classifiers
that were trained with default settings?

10,000 neurons and a million synapses with weights, most of them a recurrent random graph, 50 steps,
a batch of 32: the loss, its gradient in all weights and thresholds, and an update of Adam. The run
of some paths of a small network is that of the exported exact system.

Run by itself, it trains classifiers of integers with default settings on data sets of scikit-learn,
each over some splits with a quarter of the samples for the test, next to networks of floats with as
many hidden neurons. The splits are others than those by which the settings were chosen, which have
the seeds 0 to 19. Every exported network gives the counts of the trained one on all test samples.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from figures import Accuracy, Case, Setup, commit_of, figure

import snpjax as snp
from snpjax import learn
from snpjax_formats import Dense, TwoWay


STEPS, BATCH = 50, 32


def network(size: int, degree: int, layout, surrogate) -> learn.SpikingNetwork:
    rules = ("a+/a -> a", "a{8,}/a^8 -> a^2", "a{8,}/a^8 -> a")
    ends = size // 50
    middle = size - 2 * ends
    graphs = [
        (0, 1, snp.graphs.RandomInDegree(10, seed=1)),
        (1, 1, snp.graphs.RandomInDegree(degree - 12, seed=2)),
        (1, 2, snp.graphs.RandomInDegree(degree, seed=3)),
    ]
    return learn.SpikingNetwork(
        (ends, middle, ends),
        rules,
        key=jr.key(0),
        steps=STEPS,
        projections=graphs,
        scale=1.0,
        layout=layout,
        surrogate=surrogate,
    )


def loss(network, counts, wanted, checkpoint):
    sizes = network.sizes
    spikes = jnp.pad(counts, ((0, sum(sizes[1:])), (0, 0)))
    found = learn.run(network.model, steps=STEPS, spikes=spikes, checkpoint=checkpoint)
    return jnp.mean((learn.total(found.outputs) - wanted) ** 2)


def trained(network, mean, square, counts, wanted, checkpoint):
    """One step of Adam (Kingma and Ba 2015), by hand: no library has to be there."""
    value, slopes = eqx.filter_value_and_grad(loss)(network, counts, wanted, checkpoint)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slopes)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, slopes)
    moves = jax.tree.map(lambda m, v: -0.01 * m / (jnp.sqrt(v) + 1e-8), mean, square)
    return eqx.apply_updates(network, moves), mean, square, value


def check_export(network, counts) -> None:
    """Two paths are runs of the exported system."""
    found = network.run(counts[:, :2])
    system = learn.to_system(network.model, round=True)
    for path in range(2):
        own = np.asarray(counts[:, path]).astype(int)
        neurons = [
            snp.Neuron(n.name, int(k), n.rules)
            for n, k in zip(system.neurons, [*own, *[0] * system.num_neurons], strict=False)
        ]
        exact = snp.run(system.replace(neurons=neurons), max_steps=STEPS, save=snp.SAVE_FINAL)
        assert found.spikes[:, path].tolist() == exact.spikes.tolist(), path


@figure("training step, 10,000 neurons, Dense, checkpoints", 10_000, Dense, True, on="")
@figure("training step, 10,000 neurons, Dense", 10_000, Dense, False, on="")
@figure("training step, 10,000 neurons, checkpoints", 10_000, TwoWay, True, on="gpu")
@figure("training step, 10,000 neurons", 10_000, TwoWay, False)
@figure("training step, 1,000 neurons", 1_000, TwoWay, False, on="cpu")
def training(size: int, layout: Any, checkpoint: bool) -> Case:
    surrogate = learn.FastSigmoid(0.25, height=1 / 8)
    ends = size // 50
    counts = jr.randint(jr.key(1), (ends, BATCH), 0, 30).astype(jnp.float32)
    wanted = jr.randint(jr.key(2), (ends, BATCH), 0, 12).astype(jnp.float32)
    made = network(size, 104, layout, surrogate)
    zeros = jax.tree.map(jnp.zeros_like, eqx.filter(made, eqx.is_inexact_array))
    step: Any = eqx.filter_jit(trained)

    def call() -> Any:
        return jax.block_until_ready(step(made, zeros, zeros, counts, wanted, checkpoint))

    def check(found: Any) -> None:
        assert jnp.isfinite(found[3])
        check_export(network(1_000, 104, layout, surrogate), counts[:20])

    return Case(call, check)


def accuracies(name: str, hidden: int, seeds: range) -> list[Accuracy]:
    """Of the exact network and of the one of floats, on the test samples of a data set."""
    from sklearn import datasets, model_selection, neural_network, pipeline
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.preprocessing import StandardScaler

    samples, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    found, floats, seconds, their_seconds = [], [], [], []
    for seed in seeds:
        options = {"test_size": 0.25, "random_state": seed, "stratify": labels}
        train, test, train_labels, test_labels = (
            np.asarray(x) for x in model_selection.train_test_split(samples, labels, **options)
        )
        began = time.process_time()
        one, other = jr.split(jr.key(seed))
        encoder = learn.count_encoder(train)
        network = learn.classifier(encoder.size, len({*labels}), key=one, hidden=hidden)
        data = encoder(train), train_labels.astype(np.int32)
        fitted = learn.fit(network, learn.CrossEntropy(), learn.Adam(), data, key=other)
        counts = np.asarray(eqx.filter_jit(fitted.model)(encoder(test)))
        found.append(float(np.mean(np.argmax(counts, axis=1) == test_labels)))
        seconds.append(time.process_time() - began)
        system = learn.to_system(fitted, round=True)
        spikes = np.zeros((system.num_neurons, len(test)), np.int32)
        spikes[: encoder.size] = encoder(test).T
        exact = learn.replay(system, spikes, steps=fitted.model.steps)
        assert (exact.spikes[-counts.shape[1] :].T == counts).all(), (name, seed)
        began = time.process_time()
        machine = neural_network.MLPClassifier((hidden,), max_iter=500, random_state=seed)
        with_scaler = pipeline.make_pipeline(StandardScaler(), machine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            with_scaler.fit(train, train_labels)
        their_seconds.append(time.process_time() - began)
        floats.append(float(with_scaler.score(test, test_labels)))
    return [
        Accuracy(
            name.replace("_", " "), model, float(np.mean(own)), min(own),
            round(float(np.mean(taken)), 1), tuple(seeds), hidden,
        )
        for model, own, taken in (("exact", found, seconds), ("MLP", floats, their_seconds))
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--first",
        type=int,
        default=100,
        help="the first seed; default settings were chosen with 0 to 19",
    )
    parser.add_argument("-o", "--out", type=Path, help="the file that JSON lines are added to")
    options = parser.parse_args()
    out: Path | None = options.out
    setup = Setup(commit_of())
    seeds = range(options.first, options.first + options.seeds)
    for name, hidden in (("wine", 64), ("iris", 64), ("breast_cancer", 64), ("digits", 128)):
        exact, floats = accuracies(name, hidden, seeds)
        for own in (exact, floats):
            print(own, flush=True)
            if out is not None:
                with out.open("a") as file:
                    file.write(f"{own.json(setup)}\n")
        assert exact.accuracy >= floats.accuracy - 0.01, name


if __name__ == "__main__":
    main()
