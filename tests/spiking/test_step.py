"""Parts of a step."""

import jax.numpy as jnp
import numpy as np
import pytest

from snpjax.spiking.step.step import _first


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_535, 65_536])
def test_the_first_neuron_of_any_number(size):
    """Counted in the least type that holds the number of neurons."""
    holds = np.zeros((size, 3), bool)
    holds[-1:, 1] = True
    holds[size // 2 :, 2] = True
    expected = [size, max(size - 1, 0), size // 2]
    assert _first(jnp.asarray(holds)).tolist() == expected
