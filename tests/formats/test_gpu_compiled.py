"""What a delivery becomes on an H200: it is compiled for one here, without a GPU."""

import re
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from snpjax_formats import graphs
from snpjax_formats.bits import BitGather
from tests.support.h200 import MARKS, compiled, started


pytestmark = MARKS


def test_gathered_bits_are_two_kernels():
    """One packs the sources, one sums; all slots are read once."""
    num = 2**17
    stored = BitGather.from_edges(graphs.RandomInDegree(32, 0).edges(num, num), max_input=1)
    deliver = jax.jit(lambda stored, x: stored.deliver(x, accumulate=jnp.int32))
    with mock.patch("jax.default_backend", lambda: "gpu"):
        text = compiled(deliver, stored, np.zeros(num, np.int32))
    assert re.findall(r'custom_call_target="(.*?)"', text) == ["__gpu$xla.gpu.triton"]
    kernels, nbytes = started(text, "ENTRY")
    assert kernels <= 2
    assert nbytes <= 1.1 * 4 * num * (32 + 2)
