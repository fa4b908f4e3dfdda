"""A plasticity schedule is learned: which synapses to create in which step.

Neuron `hub` has no synapse. In every other step it may create some to eight neurons, each with a
spike, and deletes them one step later. Which ones is learned by gradients, from what each neuron
shall receive in the course of time. The result is exported as an exact system.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import snpjax as snp
from snpjax import learn


ROUNDS, SIZE = 6, 8
names = [f"n{i}" for i in range(SIZE)]
wanted = np.random.default_rng(2).integers(0, 2, (ROUNDS, SIZE))  # what to receive in each round

# One rule for each round: it applies to the spikes that are left, and consumes one of them.
rules = [snp.PlasticityRule(f"a^{n}", 1, "+-", SIZE, names) for n in range(ROUNDS, 0, -1)]
system = snp.SpikingSystem([snp.Neuron("hub", ROUNDS, rules), *map(snp.Neuron, names)])
model = learn.relax(system)


def with_member(member):
    return eqx.tree_at(lambda own: own.plastic.member, model, member)


def received(member):
    """The spikes that each neuron has after each round, with all derivatives."""
    solution = learn.run(with_member(member), steps=2 * ROUNDS, keep_configurations=True)
    assert solution.configurations is not None
    return solution.configurations[1::2, 1 : 1 + SIZE]


def loss(member):
    return jnp.sum((received(member) - np.cumsum(wanted, axis=0)) ** 2)


optimizer = optax.adam(0.05)


@jax.jit
def trained(member):
    def update(carry, _):
        member, state = carry
        value, slopes = jax.value_and_grad(loss)(member)
        updates, state = optimizer.update(slopes, state)
        return (optax.apply_updates(member, updates), state), value

    carry = member, optimizer.init(member)
    (member, _), values = jax.lax.scan(update, carry, length=100)
    return member, values


assert model.plastic is not None
member, values = trained(model.plastic.member)
print(f"squared error: {values[0]:.0f} at first, {values[-1]:.0f} at last")
exact = learn.to_system(with_member(member), round=True)
for rule in exact.neurons[0].rules:
    print(rule)
run = snp.run(exact, max_steps=2 * ROUNDS + 1)
assert run.halted
rows = run.configurations[[0, *range(1, 2 * ROUNDS, 2)], 1:]
assert np.array_equal(np.diff(rows, axis=0), wanted)
print("the exact system sends what is wanted")
