"""Random programs as one kernel each, in a process of their own, which XLA ends if it cannot
compile one: `python -m tests.support.random_kernels FIRST_SEED NUM`."""

import random
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from snpjax import _xla


#: In the text of a program with a kernel.
MARK = "xla_cpu_small_call"

Program = Callable[..., Any]

_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint32", "bool", "float32", "float64")
_SHAPES = ((), (), (5,), (33,), (4, 7), (0,), (3, 0))


def arguments(rng: random.Random) -> list[Any]:
    """Arrays of any type and shape, empty ones and keys among them."""
    given: list[Any] = []
    for _ in range(rng.randint(1, 6)):
        dtype, shape = np.dtype(rng.choice(_TYPES)), rng.choice(_SHAPES)
        numbers = np.random.default_rng(rng.randrange(2**32)).integers(0, 50, shape)
        given.append(jnp.asarray(numbers.astype(dtype)))
    if rng.random() < 0.3:
        given.append(jr.key(rng.randrange(100)))
    rng.shuffle(given)
    return given


def program(rng: random.Random, given: list[Any]) -> Program:
    """A loop that reads some of its arguments, some only as far as a compiler simplifies it away,
    and some not at all."""
    uses = [rng.choice(("read", "vanishing", "unread")) for _ in given]
    turns, width = rng.randint(0, 9), rng.choice((1, 4, 40))
    steps = [(rng.randrange(5), rng.randrange(1, 7)) for _ in range(rng.randint(1, 4))]

    def number(x: Any, i: Any) -> Any:
        """A number of an array, in turn i."""
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            return jr.bits(jr.fold_in(x, i)).astype(jnp.int32)
        if x.size == 0:
            return jnp.int32(x.size)
        flat = jnp.ravel(x)
        return flat[lax.rem(i, jnp.int32(flat.size))].astype(jnp.int32)

    def run(*args: Any) -> Any:
        def turn(i: Any, carry: Any) -> Any:
            total, row = carry
            for x, use in zip(args, uses, strict=True):
                if use == "read":
                    total = total + number(x, i)
                elif use == "vanishing":
                    total = total + number(x, i) * 0
            for kind, constant in steps:
                constant = jnp.int32(constant)
                total = (
                    total ^ (total << 1),
                    jnp.where(total > 20, total - constant, total + constant),
                    total + row[lax.rem(jnp.abs(total), jnp.int32(width))],
                    jnp.minimum(total, constant * 9),
                    total * constant,
                )[kind]
            at = lax.rem(i, jnp.int32(width))
            return total, lax.dynamic_update_index_in_dim(row, total, at, 0)

        zeros = jnp.zeros((), jnp.int32), jnp.zeros(width, jnp.int32)
        return lax.fori_loop(0, jnp.int32(turns), turn, zeros)

    return run


def compare(seed: int) -> None:
    """**Raises:** `AssertionError` if the kernel of a program computes anything else."""
    rng = random.Random(seed)
    with jax.enable_x64(rng.random() < 0.5):
        given = arguments(rng)
        run = program(rng, given)
        plain, own = jax.jit(run), jax.jit(lambda *args: _xla.one_kernel(run, *args))
        assert MARK in own.lower(*given).as_text(), "no kernel was asked for"
        for one, other in zip(plain(*given), own(*given), strict=True):
            assert np.array_equal(one, other), f"seed {seed}"


if __name__ == "__main__":
    first, num = map(int, sys.argv[1:])
    for seed in range(first, first + num):
        compare(seed)
    print(f"{num} programs")
