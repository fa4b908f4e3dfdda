"""The sum of gathered bits on a GPU, as one kernel.

Sources are read once, and marked to leave the cache first, so that the table of bits stays there.
"""

from collections.abc import Callable

import jax
import jax.lax as lax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Int, Integer, UInt32


_TARGETS, _WARPS = 512, 8
_SLOTS = 32  # whose sources a thread holds at once


def sum_of_bits(
    sources: Integer[Array, "slots targets"],
    table: UInt32[Array, " words"],
    *,
    interpret: bool = False,
) -> Int[Array, " targets"]:
    """How many of the sources of each target have a bit that is 1: that of source s is bit `s % 32`
    of word `s // 32`.

    **Arguments:**

    - `interpret`: run the kernel without a GPU, for tests.
    """
    num_slots, num_targets = sources.shape

    def kernel(source_ref, table_ref, sum_ref) -> None:
        own = pl.program_id(0) * _TARGETS + jnp.arange(_TARGETS, dtype=jnp.int32)
        inside = own < num_targets

        def read(slot: Array | int) -> Array:
            return plgpu.load(
                source_ref.at[slot, own], mask=inside, other=0, eviction_policy="evict_first"
            ).astype(jnp.int32)

        def add(first: Array | int, total: Array, count: int = _SLOTS) -> Array:
            for source in [read(first + slot) for slot in range(count)]:
                word = plgpu.load(table_ref.at[source >> 5])
                total += ((word >> (source & 31).astype(jnp.uint32)) & 1).astype(jnp.int32)
            return total

        num_chunks, rest = divmod(num_slots, _SLOTS)
        total = lax.fori_loop(
            0, num_chunks, lambda i, total: add(i * _SLOTS, total), jnp.zeros_like(own)
        )
        plgpu.store(sum_ref.at[own], add(num_chunks * _SLOTS, total, rest), mask=inside)

    call: Callable[..., Array] = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((num_targets,), jnp.int32),
        grid=(pl.cdiv(num_targets, _TARGETS),),
        compiler_params=plgpu.CompilerParams(num_warps=_WARPS, num_stages=1),
        interpret=interpret,
    )
    return call(sources, table)
