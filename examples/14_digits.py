"""Classify handwritten digits by an SN P system of integers: train it, export it, check it.

The 1,797 digits of scikit-learn have 8 x 8 pixels of 0 to 16, which are numbers of spikes. 64 input
neurons send them all in the first step; hidden neurons fire once for every 16 spikes that they
receive through weights of -3 to 3; ten neurons count, and the one with the most spikes is the
answer. Three quarters of the images are for training, the others for the test.

    pip install '.[learn,select]'    # in a clone
    python 14_digits.py [--seeds 5] [--ternary]
"""

import argparse
import time
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import snpjax as snp
from snpjax import learn


try:
    import optax  # pyright: ignore[reportMissingImports]
    from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]
    from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingImports]
    from sklearn.model_selection import train_test_split  # pyright: ignore[reportMissingImports]
    from sklearn.neural_network import MLPClassifier  # pyright: ignore[reportMissingImports]
except ImportError as error:
    print(f"This example needs {error.name}: pip install '.[learn,select]' in a clone of snpjax")
    raise SystemExit(0) from None


STEPS = 10  # one for the input, nine to fire in


def shifted(images, key):
    """Move half of the images by up to one pixel."""
    by, who = jr.split(key)
    moves = jr.randint(by, (len(images), 2), -1, 2) * jr.bernoulli(who, shape=(len(images), 1))
    padded = jnp.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    cut = jax.vmap(lambda image, move: jax.lax.dynamic_slice(image, 1 + move, (8, 8)))
    return cut(padded, moves).reshape(images.shape)


def counted(layers, images):
    """The counts of the ten output neurons."""
    hidden, counting = layers
    return counting.response(hidden(images.T[None]))[1]


def loss(layers, images, labels, key):
    logits = counted(layers, shifted(images, key)) / temperature
    wanted = optax.smooth_labels(jax.nn.one_hot(labels, 10), 0.2)
    return jnp.mean(optax.softmax_cross_entropy(logits.T, wanted))


@eqx.filter_jit
def answers(network, images):
    return network.response(images).spikes


parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument(
    "--ternary", action="store_true", help="weights of -1, 0, 1; 256 hidden neurons"
)
options = parser.parse_args()
size, fires, most, rate, scale = (128, 16, 3, 0.06, 0.9)
temperature = 64
if options.ternary:
    size, fires, most, rate, scale = (256, 8, 1, 0.03, 0.5)
    temperature = 32

images, labels = load_digits(return_X_y=True)
split = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
train, test, train_labels, test_labels = (np.asarray(x) for x in split)
adam = optax.adam(optax.cosine_decay_schedule(rate, options.epochs * (len(train) // 64)))
surrogate = learn.FastSigmoid(0.3, height=1 / fires)


def drawn(inputs, outputs, guard, key):
    """A layer with random weights."""
    return learn.SpikingLayer(
        inputs,
        outputs,
        key=key,
        steps=STEPS,
        guard=guard,
        weight_range=(-most, most),
        scale=scale,
        surrogate=surrogate,
    )


began = time.process_time()
accuracies, network, logits = [], None, np.zeros(0)
for seed in range(options.seeds):
    one, other, third = jr.split(jr.key(seed), 3)
    layers = drawn(64, size, fires, one), drawn(size, 10, (), other)
    fitted = learn.fit(
        layers,
        loss,
        adam,
        (train.astype(np.float32), train_labels),
        epochs=options.epochs,
        key=third,
        batch_size=64,
    )
    network = learn.chain(fitted.model, source=learn.relay(16))
    logits = np.asarray(answers(network, jnp.asarray(test.T, jnp.float32)))
    accuracies.append(np.mean(np.argmax(logits, axis=0) == test_labels))
    print(
        f"seed {seed}: {accuracies[-1]:.1%} of {len(test)} test images, "
        f"loss {fitted.losses[-1]:.3f}"
    )
print(f"mean {np.mean(accuracies):.2%}, {time.process_time() - began:.0f} s of CPU time")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about convergence
    linear = LogisticRegression(max_iter=300).fit(train / 16, train_labels)
    floats = MLPClassifier((size,), max_iter=200, random_state=0).fit(train / 16, train_labels)
print(
    f"logistic regression {linear.score(test / 16, test_labels):.2%}, a network of floats of the "
    f"same size {floats.score(test / 16, test_labels):.2%}"
)

# The exact system, and its runs on all test images, on every kind of device.
assert network is not None
system = learn.to_system(network, round=True)
integers = sorted({weight for _, _, weight in system.synapses})
print(f"exported: {system.num_neurons} neurons, {system.num_synapses:,} synapses of {integers}")
spikes = np.zeros((system.num_neurons, len(test)), np.int32)
spikes[:64] = test.T
for device in {jax.devices()[0], jax.devices("cpu")[0]}:
    exact = learn.replay(system, jax.device_put(spikes, device), steps=STEPS)
    assert (exact.spikes[-10:] == logits).all()
    print(
        f"replayed on {device.device_kind}: all {logits.size:,} counts are the same; "
        f"{exact.halted.mean():.1%} of the runs have halted"
    )

# Prove for one image that every computation halts, and ends with this answer.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", snp.ModelWarning)
    neurons = [
        snp.Neuron(neuron.name, int(count), neuron.rules)
        for neuron, count in zip(system.neurons, spikes[:, 0], strict=True)
    ]
    first = system.replace(neurons=neurons)
graph = snp.explore(first)
answer = int(np.argmax(logits[:, 0]))
ahead = " and ".join(f'"2{{{answer}}}" > "2{{{k}}}"' for k in range(10) if k != answer)
for query in ("eventually halted", f"steady ({ahead})"):
    verdict = snp.check(graph, query)
    print(verdict)
    assert verdict
accuracy = float(np.mean(accuracies))
assert accuracy >= (0.97 if options.ternary else 0.98), accuracy
