"""What holds for every kind of model alike: fresh states, pickles, the switches of JAX, texts, and
calls of functions that are for other kinds."""

from itertools import combinations

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax._xla import precision
from tests.support.models import RUNNABLE, system


def buffers(tree):
    """Where the arrays of a tree begin in memory, those of JAX on the host."""
    leaves = [x for x in jax.tree.leaves(tree) if np.size(x)]
    return [
        x.unsafe_buffer_pointer() if isinstance(x, jax.Array) else x.ctypes.data for x in leaves
    ]


# ---- states ----


@pytest.mark.parametrize("kind", RUNNABLE)
def test_states_of_init_share_no_arrays(kind):
    """So that a state may be donated, which destroys its arrays."""
    lowered = snp.lower(RUNNABLE[kind]())
    machine = lowered.machine
    if isinstance(machine, snp.machine.Stacked):
        machine = snp.lower(lowered.model.systems[0]).machine
    with precision(lowered.widest):
        states = [machine.init(), machine.init()]
    assert all(isinstance(x, jax.Array) for x in jax.tree.leaves(states))
    for first, second in combinations([machine, *states], 2):
        assert not {*buffers(first)} & {*buffers(second)}
    assert len({*buffers(states)}) == len(buffers(states))


def test_a_donated_state_leaves_its_machine_intact():
    machine = snp.lower(system()).machine
    step = jax.jit(lambda state: machine.step(state, snp.FirstChoice())[0], donate_argnums=0)
    first = np.asarray(step(machine.init()).spikes).tolist()
    assert np.asarray(step(machine.init()).spikes).tolist() == first
