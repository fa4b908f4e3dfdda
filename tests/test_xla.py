"""What works around the compiler."""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from snpjax import _xla
from tests.support.processes import python
from tests.support.random_kernels import MARK, compare


needs_kernels = pytest.mark.skipif(
    jax.default_backend() != "cpu" or _xla.JAXLIB not in _xla._KERNEL_VERSIONS,
    reason="one kernel is made on CPUs, with versions of jaxlib that are listed",
)


@needs_kernels
@pytest.mark.slow
def test_random_programs_are_one_kernel_each():
    """Also where they read some arguments only seemingly, some not at all, and empty ones."""
    assert python("-m", "tests.support.random_kernels", 6, 594) == "594 programs\n"


@needs_kernels
@pytest.mark.parametrize("seed", range(6))
def test_a_random_program_is_one_kernel(seed):
    compare(seed)


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


_FORKED = """
import os, sys, warnings
import jax
import numpy as np
import snpjax as snp
from snpjax import learn
from snpjax import proliferation

warnings.simplefilter("ignore")  # JAX and Python warn of any fork
system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])])
calls = {
    "run": lambda: snp.run(system),
    "explore": lambda: snp.explore(system),
    "check": lambda: snp.check(system, "always x <= 1"),
    "prove": lambda: snp.prove(system, "always x <= 1"),
    "learn.fit": lambda: learn.fit(None, None, None, (), key=None),
    "proliferation.expected": lambda: proliferation.expected(None),
    "proliferation.simulate": lambda: proliferation.simulate(None, key=None),
}

def fork():
    sys.stdout.flush()
    if os.fork():
        os.wait()
        return
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            print(name, error)
        except Exception as error:
            print(name, type(error))
    sys.stdout.flush()
    os._exit(0)

calls, all_calls = {"run": calls["run"]}, calls
fork()
jax.random.key(0)
calls = all_calls
fork()
"""


class _LockOfAnotherThread:
    def __enter__(self):
        raise AssertionError("a fork waits for this lock for ever")

    def __exit__(self, *_):
        pass


def test_forks_wait_for_no_lock_of_jax(monkeypatch):
    jax.random.key(0)
    bridge = sys.modules["jax._src.xla_bridge"]
    monkeypatch.setattr(bridge, "_backend_lock", _LockOfAnotherThread())
    process = _xla._Process()
    process.after_fork()
    assert process.is_fork_of_user
    monkeypatch.setattr(bridge, "_backends", {})
    process = _xla._Process()
    process.after_fork()
    assert not process.is_fork_of_user


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_processes_refuse_to_compute():
    lines = python("-c", _FORKED).splitlines()
    names = "run explore check prove learn.fit proliferation.expected proliferation.simulate"
    assert [line.partition(" ")[0] for line in lines] == names.split()
    for name, line in zip(names.split(), lines, strict=True):
        assert f"`snpjax.{name}` cannot work in a process that was forked" in line
        assert '"spawn"' in line
