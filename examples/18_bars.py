"""Neurons learn bars from pictures without labels: each neuron learns one bar."""

import jax
import jax.numpy as jnp
import numpy as np

import snpjax as snp
from snpjax import rate


# Pictures of 8 x 8 pixels with one bar, horizontal or vertical (Foldiak 1990), one after another.
size, steps = 8, 2000
rng = np.random.default_rng(0)
bars = np.zeros((2 * size, size, size))
for i in range(size):
    bars[i, i], bars[size + i, :, i] = 1, 1
bars = bars.reshape(2 * size, -1)
shown = bars[rng.integers(0, len(bars), steps)]


# The strongest neuron wins, and `tired` prevents it from winning for every picture.
def compete(variables, inputs, parameters):
    wins = jax.nn.one_hot(jnp.argmax(inputs["exc"] - variables["tired"]), len(variables["r"]))
    tired = variables["tired"] + parameters["rate"] * (wins - 1 / len(wins))
    return {"r": wins.astype(jnp.float32), "tired": tired}


# Oja's rule moves the weights of the winner towards the picture that it won.
network = rate.RateNetwork(
    [
        rate.RatePopulation(
            "pixels", size**2, rate.Update(lambda v, x, p: {"r": x["drive"]}), drive=shown,
            drive_every=3,
        ),
        rate.RatePopulation(
            "neurons", 2 * size, rate.Update(compete), {"r": 0.0, "tired": 0.0}, {"rate": 0.2}
        ),
    ],
    [
        rate.RateProjection(
            "pixels", "neurons", weights=rate.Uniform(0, 0.3), plasticity=rate.oja(0.03)
        )
    ],
    record=[("neurons", "r")],
)  # fmt: skip
solution = snp.run(network, max_steps=3 * steps)
print(solution)

# Each neuron has learned one bar, and each bar was learned by one neuron.
machine = snp.lower(network).machine
assert isinstance(machine, rate.RateMachine)
learned = machine.edges(0, solution.state)
weights = np.zeros((2 * size, size**2))
weights[learned.target, learned.source] = learned.value
likeness = weights @ bars.T / np.linalg.norm(weights, axis=1)[:, None] / np.sqrt(size)
best = likeness.argmax(axis=1)
print(
    f"{len(set(best.tolist()))} of {len(bars)} bars learned, likeness {likeness.max(1).mean():.2f}"
)
assert len(set(best.tolist())) >= 2 * size - 2
assert likeness.max(axis=1).mean() > 0.9
