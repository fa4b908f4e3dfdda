# %% [markdown]
# # Training and proving
#
# A network of spiking neurons can be trained like any neural network, by gradients. Here the
# trained network is also an *exact integer system*: its forward pass is a run of that system, step
# by step. So you can do what floating-point networks do not allow: prove how it answers on every
# input.
#
# In this tutorial you train a small classifier, turn it into a system, prove a property of it, and
# look at a counterexample. You need optax: `pip install '.[learn]'` in a clone.

# %%
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

import snpjax as snp
from snpjax import learn


# %% [markdown]
# ## The task
#
# Two numbers x and y arrive as numbers of spikes. The classifier has two output neurons. The first
# one must win if x > y, the second one if x < y. The data are all pairs of different numbers from
# 0 to 6.

# %%
pairs = np.array([(x, y) for x in range(7) for y in range(7) if x != y], np.float32)
labels = (pairs[:, 0] < pairs[:, 1]).astype(np.int32)
print(len(pairs), "pairs")

# %% [markdown]
# ## The network
#
# Four hidden neurons fire once for every two spikes that they hold (`guard=2`). The two output
# neurons never fire (`guard=()`); they count. Weights are integers from -3 to 3: the parameters
# are real numbers that are rounded in every forward pass, and gradients ignore the rounding.

# %%
STEPS = 8
one, other, third = jr.split(jr.key(0), 3)
surrogate = learn.FastSigmoid(0.5, height=0.5)


def layer(inputs: int, outputs: int, guard: int | tuple[()], key: jax.Array) -> learn.SpikingLayer:
    return learn.SpikingLayer(
        inputs,
        outputs,
        key=key,
        steps=STEPS,
        guard=guard,
        weight_range=(-3, 3),
        surrogate=surrogate,
    )


layers = layer(2, 4, 2, one), layer(4, 2, (), other)


def counted(layers, inputs):
    """The spikes that the output neurons hold at the end; inputs are sent in the first step."""
    hidden, counting = layers
    return counting.response(hidden(inputs.T[None]))[1]


def loss(layers, inputs, wanted, key):
    del key  # nothing is random here
    logits = counted(layers, inputs).T
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, wanted))


# %% [markdown]
# ## Training
#
# `learn.fit` is a compiled training loop for any optax optimiser. It trains the weights.

# %%
fitted = learn.fit(
    layers,
    loss,
    optax.adam(0.1),
    (pairs, labels),
    epochs=200,
    key=third,
    batch_size=len(pairs),
)
layers, losses = fitted.model, fitted.losses
answers = np.argmax(counted(layers, jnp.asarray(pairs)), axis=0)
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {np.mean(answers == labels):.0%} correct")
assert np.all(answers == labels)

# %% [markdown]
# ## The exact system
#
# `to_system` gives the network as a `SpikingSystem` with integer weights. Neurons are named by
# layer and number: inputs `0{0}` and `0{1}`, hidden neurons `1{...}`, outputs `2{0}` and `2{1}`.
#
# `replay` runs the system on all inputs at once. The counts are the same as in training, because
# the training already computed with integers.

# %%
network = learn.chain(layers, source=learn.relay(16))
system = learn.to_system(network, round=True)
print(repr(system))
print("weights:", sorted({synapse.weight for synapse in system.synapses}))

spikes = np.zeros((system.num_neurons, len(pairs)), np.int32)
spikes[:2] = pairs.T
exact = learn.replay(system, spikes, steps=STEPS)
assert np.array_equal(exact.spikes[-2:], counted(layers, jnp.asarray(pairs)))

# %% [markdown]
# ## A proof for all inputs
#
# `AnyInput(1, most=6)` lets the environment send 0 to 6 spikes to each input neuron in the first
# step. The graph then holds the computations on all 49 inputs, and one query covers all of
# them: whenever the first input neuron holds more spikes than the second, the system halts later
# and the first output neuron holds more than the second.
#
# `followed by` refers to every step, also to those before the inputs arrive and after they are
# used. Its left side must therefore be false while the inputs are 0; a property of all inputs at
# once is written `next (p implies eventually q)`.

# %%
inputs = ("0{0}", "0{1}")
graph = snp.explore(system, inputs=snp.AnyInput(1, most=6, neurons=inputs))
print(graph)
first_wins = '"0{0}" > "0{1}" followed by (halted and "2{0}" > "2{1}")'
second_wins = '"0{1}" > "0{0}" followed by (halted and "2{1}" > "2{0}")'
print(snp.check(graph, first_wins))
print(snp.check(graph, second_wins))

# %% [markdown]
# If one of them is refuted although every training pair was classified correctly, read the
# witness: its last configuration usually shows a *tie*. `argmax` takes the first of two equal
# counts, so a tie counts as "x > y" in the accuracy, and the query asks for more than that. Say
# what the classifier really does, and the property holds:

# %%
first_wins = '"0{0}" > "0{1}" followed by (halted and "2{0}" >= "2{1}")'
verdicts = [snp.check(graph, query) for query in (first_wins, second_wins)]
print(*verdicts, sep="\n")
assert all(verdicts)

# %% [markdown]
# ## Beyond the training data
#
# Does it also hold for numbers outside the training data? Enlarge the domain and ask again. The
# answer is either a proof or a counterexample that `verdict.replay()` runs.

# %%
larger = snp.explore(system, inputs=snp.AnyInput(1, most=16, neurons=inputs))
for query in (first_wins, second_wins):
    verdict = snp.check(larger, query)
    print(verdict.status, query)

# %% [markdown]
# ## What next
#
# - [Training systems by gradients](../learning.md): three tutorials, on a first network, your own
#   layers, and proofs about an exported network.
# - [How learning works](../learning_reference.md): derivatives, learned choices, evolution.
# - `examples/14_digits.py` trains a classifier of handwritten digits in the same way.
# - [Checking](../checking.md): all operators of queries, and what a verdict means.
