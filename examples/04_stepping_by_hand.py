"""The step is a pure function: call it yourself, jit it, scan it, vmap it."""

import equinox as eqx
import jax
import jax.numpy as jnp

import snpjax as snp
from snpjax.spiking import halted, initial_state, lower, step


system = snp.SpikingSystem(
    [snp.Neuron("x", 3, ["a+/a -> a; 1"]), snp.Neuron("y")], [("x", "y")], output="x"
)
program = lower(system)  # the system as arrays, padded to a bucket
state = initial_state(program)
choice = snp.FirstChoice()

print("step  x  closed  y")
while not halted(program, state):
    print(f"{state.step:4} {state.spikes[0]:2} {state.timers[0]:7} {state.spikes[1]:2}")
    state, record = step(program, state, choice)
print(f"{state.step:4} {state.spikes[0]:2} {state.timers[0]:7} {state.spikes[1]:2}")
assert state.step == 6 and state.spikes[:2].tolist() == [0, 3]


# The same computation as one `lax.scan`. A halted state steps to itself, so extra steps do no harm.
def body(state, _):
    state, record = step(program, state, choice)
    return state, record.output[0]


_, train = jax.lax.scan(body, initial_state(program), length=10)
print("spike train of x:", train)
assert train.tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0, 0]


# Many initial configurations at once: how many steps does x need to send its spikes to y?
def spikes_of_y_after(spikes, steps=6):
    state = initial_state(program)
    state = eqx.tree_at(lambda state: state.spikes, state, state.spikes.at[0].set(spikes))
    state, _ = jax.lax.scan(lambda s, _: (step(program, s, choice)[0], None), state, length=steps)
    return state.spikes[1]


counts = jax.vmap(spikes_of_y_after)(jnp.arange(5))
print("spikes of y after 6 steps, for 0 to 4 initial spikes of x:", counts)
assert counts.tolist() == [0, 1, 2, 3, 3]
