"""A policy that sees the state: fill a tank to exactly 10 spikes in as few steps as possible.

In each step a valve sends 1, 2 or 3 spikes to the tank, or none, and what has flowed never leaves
again. A small network sees the configuration and chooses; it is trained by REINFORCE on episodes of
the exact system. The configuration graph says how short the shortest episode is.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

import snpjax as snp
from snpjax import learn


system = snp.SpikingSystem(
    [
        snp.Neuron("clock", 1, ["a -> a"]),
        snp.Neuron("valve", 1, ["a -> a", "a -> a^2", "a -> a^3", "a -> lambda"]),
        snp.Neuron("tank"),
    ],
    [("clock", "clock"), ("clock", "valve"), ("valve", "tank")],
)
graph = snp.explore(system, max_depth=6)
shortest = int(graph.depths[graph.where(lambda c: c["tank"] == 10)[0]])

environment = learn.environment(system)
params = environment.params(target={"tank": 10}, step_reward=-0.1)
STEPS, EPISODES = 8, 128


def chances(weights, state):
    """The logarithms of the probabilities of the actions."""
    first, second = weights
    hidden = jnp.tanh(environment.observation(state) @ first[:-1] / 5 + first[-1])
    logits = hidden @ second[:-1] + second[-1]
    return jax.nn.log_softmax(jnp.where(state.action_mask, logits, -jnp.inf))


def episode(weights, key):
    """The return of an episode, and the logarithm of the probability of its actions."""

    def body(carry, key):
        state, is_over = carry
        own = chances(weights, state)
        action = jr.categorical(key, own)
        _, after, reward, done, _ = environment.step_env(None, state, action, params)
        kept = jnp.where(is_over, 0, jnp.stack([reward, own[action]]))
        return (after, is_over | done), kept

    start = environment.reset(None, params)[1], jnp.asarray(False)
    kept = jax.lax.scan(body, start, jr.split(key, STEPS))[1]
    return jnp.sum(kept[:, 0]), jnp.sum(kept[:, 1])


def loss(weights, key):
    """Minus the expected return by its gradient, each episode against the mean of the others."""
    returns, logs = jax.vmap(episode, (None, 0))(weights, jr.split(key, EPISODES))
    others = (jnp.sum(returns) - returns) / (EPISODES - 1)
    return -jnp.mean((returns - others) * logs), jnp.mean(returns)


optimizer = optax.adam(0.02)


@jax.jit
def trained(key):
    size = environment.observation_size
    key, *own = jr.split(key, 3)
    weights = (
        0.5 * jr.normal(own[0], (size + 1, 24)),
        0.1 * jr.normal(own[1], (25, environment.num_actions)),
    )

    def update(carry, key):
        weights, state = carry
        slopes, mean = jax.grad(loss, has_aux=True)(weights, key)
        updates, state = optimizer.update(slopes, state)
        return (optax.apply_updates(weights, updates), state), mean

    carry = weights, optimizer.init(weights)
    (weights, _), means = jax.lax.scan(update, carry, jr.split(key, 400))
    return weights, means


weights, means = trained(jr.key(0))
best = 1 - 0.1 * shortest
print(f"the shortest episode has {shortest} steps and a return of {best:.2f}")
print(f"mean return: {means[0]:.2f} at first, {means[-10:].mean():.2f} at last")

state, filled = environment.reset(None, params)[1], [0]
for _ in range(STEPS):
    action = int(jnp.argmax(chances(weights, state)))
    _, state, _, done, _ = environment.step_env(None, state, action, params)
    filled.append(int(state.configuration.spikes[2]))
    if done:
        break
print("the tank after each step:", filled)
assert filled[-1] == 10 and len(filled) - 1 == shortest
assert np.mean(means[-10:]) > best - 0.1
