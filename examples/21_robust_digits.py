"""Answers that small changes of the image cannot change: proved, and improved by counterexamples.

A small network is trained on the digits of scikit-learn (see 14_digits.py) and exported as an exact
SN P system. For each test image, is the answer the same for all images that differ from it by up to
four spikes, at most two in one pixel? Counterexamples of the training images are then trained with,
and more test images are proved than before.

    pip install ".[learn,select,prove]"
    python 21_robust_digits.py [--images 450]
"""

import argparse
import time

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from snpjax import learn


try:
    import optax  # pyright: ignore[reportMissingImports]
    import z3  # noqa: F401  # pyright: ignore[reportMissingImports]
    from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]
    from sklearn.model_selection import train_test_split  # pyright: ignore[reportMissingImports]
except ImportError as error:
    print(f'This example needs {error.name}: pip install ".[learn,select,prove]"')
    raise SystemExit(0) from None


STEPS, HIDDEN = 10, 48


def counted(layers, images):
    """The counts of the ten neurons: all pixels are sent in the first step."""
    hidden, counting = layers
    return counting.response(hidden(images.T[None]))[1]


def loss(layers, images, labels, key):
    logits = counted(layers, images) / 8
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits.T, labels))


def trained(layers, images, labels, epochs, rate, key):
    """The layers after more epochs."""
    adam = optax.adam(optax.cosine_decay_schedule(rate, epochs * (len(images) // 64)))
    data = images.astype(np.float32), labels
    return learn.fit(layers, loss, adam, data, epochs=epochs, key=key, batch_size=64).model


def robustness(layers, images, seconds):
    """Of each image: exact, of the exported system, not of the model in training."""
    system = learn.to_system(learn.chain(layers, source=learn.relay(16)), round=True)
    box = learn.SpikeBox.around(images.T, each=2, changes=4, high=16)
    return learn.robustness(system, box, steps=STEPS, enumerate_up_to=0, seconds=seconds)


parser = argparse.ArgumentParser()
parser.add_argument("--images", type=int, default=100, help="test images that are decided")
options = parser.parse_args()

images, labels = load_digits(return_X_y=True)
split = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
train, test, train_labels, test_labels = (np.asarray(x).astype(int) for x in split)
test, test_labels = test[: options.images], test_labels[: options.images]
first, second, third, fourth = jr.split(jr.key(0), 4)
settings = {
    "steps": STEPS,
    "weight_range": (-3, 3),
    "scale": 0.9,
    "surrogate": learn.FastSigmoid(0.3, height=1 / 16),
}
layers = (
    learn.SpikingLayer(64, HIDDEN, key=first, guard=16, **settings),
    learn.SpikingLayer(HIDDEN, 10, key=second, guard=(), **settings),
)
layers = trained(layers, train, train_labels, 15, 0.06, third)

counts = []
for attempt in ("trained", "with counterexamples"):
    began = time.perf_counter()
    found = robustness(layers, test, seconds=0.5)
    seconds = (time.perf_counter() - began) / len(test)
    right = np.mean(found.answers == test_labels)
    print(f"{attempt}: {found}, {right:.1%} right, {seconds:.2f} s an image")
    counts.append(int(found.proved.sum()))
    if attempt == "trained":
        # The images that a few spikes push over the border, with the labels of their originals.
        against = robustness(layers, train, seconds=0)  # bounds and search alone
        case = np.flatnonzero(against.refuted)
        pushed = against.counterexamples.data[:, case].T
        print(f"{len(case)} counterexamples of {len(train)} training images are trained with, too")
        more = (
            np.concatenate([train, *[pushed] * 4]),
            np.concatenate([train_labels, *[train_labels[case]] * 4]),
        )
        layers = trained(layers, *more, 15, 0.03, fourth)
before, after = counts
print(f"{before} proved before, {after} after")
assert after > before
