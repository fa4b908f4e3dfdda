"""What a run of nets becomes on an H200: it is compiled for one here, without a GPU."""

import re
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snpjax as snp
from snpjax.sleptsov.programs import double_exponent
from tests.support.h200 import MARKS, compiled, started


pytestmark = MARKS


@pytest.mark.parametrize("paths, most_kernels", [(None, 17), (100, 14)])
def test_all_steps_of_all_paths_are_one_kernel(paths, most_kernels):
    """Others prepare the state, and copy what the kernel writes."""
    machine = snp.lower(double_exponent(4).net, count_dtype=np.int32).machine
    state = machine.init()
    if paths is not None:
        state = jax.tree.map(lambda x: jnp.repeat(x[..., None], paths, axis=-1), state)
    leap = jax.jit(lambda machine, *given: machine.leap(*given, rows=16))
    most = jnp.full_like(state.step, 16)
    with mock.patch("jax.default_backend", lambda: "gpu"):
        text = compiled(leap, machine, state, snp.FirstChoice(), most)
    assert " while(" not in text
    assert re.findall(r'custom_call_target="(.*?)"', text) == ["__gpu$xla.gpu.triton"]
    kernels, _ = started(text, "ENTRY")
    assert kernels <= most_kernels
