"""With which probabilities does a neuron choose its rules? Its spike trains tell.

Neuron `coin` sends a spike, sends one a step later, or stops for good, with unknown probabilities.
100 of its trains are observed. The forward algorithm on the configuration graph gives their
likelihood and its gradient, and the No-U-Turn sampler of blackjax draws from the posterior.
"""

# pyright: reportCallIssue=false, reportAttributeAccessIssue=false

import blackjax  # pyright: ignore[reportMissingImports]
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import snpjax as snp


system = snp.SpikingSystem(
    [
        snp.Neuron("coin", 1, ["a -> a", "a -> a;1", "a -> lambda"]),
        snp.Neuron("back", 0, ["a -> a"]),
    ],
    [("coin", "back"), ("back", "coin")],
    output=["coin"],
)
truth = np.asarray([0.5, 0.3, 0.2])
choice = snp.WeightedChoice(np.log(truth)[:, None], jr.key(1))
runs = snp.run(system, choice=choice, max_steps=20, paths=100, throw=False)
trains, counts = np.unique(runs.train(), axis=1, return_counts=True)
process = snp.output_process(system)
print(f"{process}: {counts.sum()} trains, {len(counts)} of them different")


def log_posterior(free):
    """Of two logits, the third being 0, with a standard normal prior."""
    logits = jnp.append(free, 0.0)[:, None]
    chances = snp.log_probability(process, trains, logits=logits)
    return jnp.sum(counts * chances) - jnp.sum(free**2) / 2


@jax.jit
def sampled(key):
    """500 draws, after 200 steps in which step size and mass matrix are found."""
    warming, drawing = jr.split(key)
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_posterior)
    (state, tuned), _ = adaptation.run(warming, jnp.zeros(2), num_steps=200)
    kernel = blackjax.nuts(log_posterior, **tuned)

    def step(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    return jax.lax.scan(step, state, jr.split(drawing, 500))[1]


draws = sampled(jr.key(2))
shares = np.asarray(jax.nn.softmax(jnp.pad(draws, ((0, 0), (0, 1))), axis=1))
mean, deviation = shares.mean(axis=0), shares.std(axis=0)
for rule, values in enumerate(zip(truth, mean, deviation, strict=True)):
    print("rule {}: {:.2f}; found {:.3f} +- {:.3f}".format(rule, *values))
assert np.all(np.abs(mean - truth) < 3 * deviation) and np.all(deviation < 0.05)
