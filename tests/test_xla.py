"""What works around the compiler."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax import _xla
from tests.support.processes import python
from tests.support.random_kernels import MARK


needs_kernels = pytest.mark.skipif(
    jax.default_backend() != "cpu" or _xla.JAXLIB not in _xla._KERNEL_VERSIONS,
    reason="one kernel is made on CPUs, with versions of jaxlib that are listed",
)


@needs_kernels
@pytest.mark.parametrize("num", [16, pytest.param(600, marks=pytest.mark.slow)])
def test_random_programs_are_one_kernel_each(num):
    """Also where they read some arguments only seemingly, some not at all, and empty ones."""
    assert python("-m", "tests.support.random_kernels", 0, num) == f"{num} programs\n"


@needs_kernels
def test_versions_that_are_not_listed_take_the_plain_path(monkeypatch):
    x = jnp.arange(5)

    def plain(x):
        return _xla.one_kernel(lambda x: (x + 1, x.sum()), x)

    own = jax.jit(plain)
    assert MARK in own.lower(x).as_text()
    expected = own(x)
    monkeypatch.setattr(_xla, "JAXLIB", "0.99.0")
    other = jax.jit(lambda x: plain(x))
    assert MARK not in other.lower(x).as_text()
    assert all(map(np.array_equal, other(x), expected))
