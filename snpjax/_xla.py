"""What works around the compiler and its runtime: computations stored once, computations as one
kernel, results moved to the host in one piece, and 64-bit arrays without JAX's global flag."""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.sharding import Mesh, NamedSharding
from jaxlib.version import __version__ as JAXLIB
from jaxtyping import Array, Bool, DTypeLike, Int, PyTree

from snpjax_formats._platform.cores import num_cores
from snpjax_formats.free_memory import NotEnoughMemory
from snpjax_formats.host_memory import address_space_left


T = TypeVar("T", bound=PyTree)

# Versions of jaxlib with which `tests/test_xla.py` has passed; with another one, first run
# `python -m tests.support.random_kernels 0 1000`.
_KERNEL_VERSIONS = frozenset({"0.10.2", "0.11.2"})

# Arrays of up to this many bytes move to the host in one piece. On a GPU each piece takes as long
# as many steps of a small system; on a CPU nothing moves, and a piece takes a few microseconds.
_MAX_PARCEL = {"cpu": 2**16}
_MAX_PARCEL_ELSEWHERE = 2**24


# The address space that LLVM takes for each core, and ends the process without: 71 MB with one
# core, 267 MB with two (jaxlib 0.10.2, glibc 2.36, 2026-11).
_ADDRESSES_OF_CORE = 2**27


@dataclass
class _Process:
    """This process: whether it is the fork of one that had used JAX, whose threads it lacks."""

    is_fork_of_user: bool = False

    def after_fork(self) -> None:
        # Any lock may be held here for ever. JAX takes one for all that tells whether it is in use,
        # so that its private table is read without asking. Later is too late: a child may use JAX.
        bridge = sys.modules.get("jax._src.xla_bridge")
        self.is_fork_of_user |= bool(getattr(bridge, "_backends", ()))


_process = _Process()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_process.after_fork)


def refuse_fork(call: str) -> None:
    """Refuse to compute in a forked process, which would wait for ever.

    **Raises:** `RuntimeError` if JAX was used before this process was forked.
    """
    if _process.is_fork_of_user:
        raise RuntimeError(
            f"`snpjax.{call}` cannot work in a process that was forked after JAX was used: it "
            "would wait for threads that only the parent has. Start processes with "
            '`multiprocessing.get_context("spawn")` or `"forkserver"`.'
        )


def require_addresses() -> None:
    """Refuse to compile where LLVM would end the process.

    **Raises:** `NotEnoughMemory` if the limits of the process leave too little address space.
    """
    left = address_space_left()
    if left is not None and left < (needed := num_cores() * _ADDRESSES_OF_CORE):
        raise NotEnoughMemory(
            f"Compiling needs about {needed:,} bytes of address space, and the limits of this "
            f"process leave {left:,}. Raise them (ulimit -v) or use fewer cores (taskset)."
        )


def materialize(holds: Bool[Array, ""], function: Callable[[], T]) -> T:
    """`function()`, computed once and stored.

    On CPUs XLA fuses a cheap computation into every user of its result, however many, and a choice
    among rules is used by all that comes after: a step of 16 neurons with 16 rules, 8,192 paths,
    took 2.4 us a path, and takes 1.1 when the choice is stored; one of 98 neurons took 0.8 and
    takes 0.3 (one core, jax 0.10.2, 2026-11). A branch is the one thing that it does not fuse.
    On GPUs nothing is changed: there a branch waits for the host.

    **Arguments:**

    - `holds`: something that is always true, which the compiler does not know.
    """

    if jax.default_backend() != "cpu":
        return function()
    once = jax.jit(function, inline=True)  # traced once, for its shapes and for the branch
    shapes = jax.eval_shape(once)
    zeros = jax.tree.map(lambda x: varying_with(holds, jnp.zeros(x.shape, x.dtype)), shapes)
    return lax.cond(holds, once, lambda: zeros)


def shard_map(
    function: Callable[..., T], *, mesh: Mesh, in_specs: Any, out_specs: Any
) -> Callable[..., T]:
    """`jax.shard_map` for functions of which arguments may be empty, and branches of a `cond` may
    vary over different axes.

    Empty arrays become constants of the function. As arguments they crash the compiler of jaxlib
    0.11.2, where a mesh has several devices.
    """

    def call(*given: Any) -> T:
        leaves, tree = jax.tree.flatten(given)
        specs = jax.tree.leaves(jax.tree.broadcast(in_specs, given))
        empty = {i for i, x in enumerate(leaves) if np.size(x) == 0}
        taken = [i for i in range(len(leaves)) if i not in empty]

        def of_device(*own: Any) -> T:
            every: dict[int, Any] = dict(zip(taken, own, strict=True))
            for i in empty:
                shape = NamedSharding(mesh, specs[i]).shard_shape(np.shape(leaves[i]))
                every[i] = jnp.zeros(shape, leaves[i].dtype)
            return function(*jax.tree.unflatten(tree, [every[i] for i in range(len(leaves))]))

        return jax.shard_map(
            of_device,
            mesh=mesh,
            in_specs=tuple(specs[i] for i in taken),
            out_specs=out_specs,
            check_vma=False,
        )(*[leaves[i] for i in taken])

    return call


def on_host() -> contextlib.AbstractContextManager[object]:
    """A context in which arrays stay on the host, if JAX has a backend for it."""
    try:
        return jax.default_device(jax.local_devices(backend="cpu")[0])
    except RuntimeError:  # `JAX_PLATFORMS` may name accelerators only
        return contextlib.nullcontext()


def varying_with(flag: Bool[Array, ""], x: Array) -> Array:
    """`x`, which varies over those axes of a `shard_map` over which `flag` does.

    Branches of a `cond` must vary alike, and so must the start and the end of a loop. The compiler
    finds that nothing is computed here.
    """
    never = flag & False
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return jr.wrap_key_data(varying_with(flag, jr.key_data(x)), impl=jr.key_impl(x))
    return x ^ never if x.dtype == bool else x + never.astype(x.dtype)


def one_kernel(function: Callable[..., T], *args: PyTree) -> T:
    """`function(*args)`, on CPUs compiled as one kernel of its own.

    XLA's runtime for CPUs starts a kernel for every few operations, which takes some 50 to 100 ns
    each: most of the time of a loop over scalars. It makes one kernel of a loop that touches less
    than a kilobyte, and marks it by an attribute; here that attribute is set by hand. It is
    private, and a compiler may end the process over it, so that only tested versions get it: with
    others, and on other devices, nothing is changed. A step of a net with 45,302 transitions took
    20 us in many kernels, and takes 0.4 in one (2 cores, jax 0.10.2, 2026-11).

    In such a kernel there must be no scatter, no sort, no product of matrices and no call of a
    library, and it runs on one core. The function takes all its arrays as arguments, by position.
    """
    if jax.default_backend() != "cpu" or JAXLIB not in _KERNEL_VERSIONS:
        return function(*args)

    def reading_all(*args: PyTree) -> tuple[T, Int[Array, ""]]:
        return function(*args), _first_numbers(args)

    # Not to be inlined, or there would be no call to mark.
    marks = {"xla_cpu_small_call": "true", "inlineable": "false"}
    found, read = set_xla_metadata(jax.jit(reading_all)(*args), **marks)  # pyright: ignore
    # What was read must be a result that is used, as far as JAX knows, or it is left out.
    first, *others = jax.tree.leaves(found)
    first = jnp.where(read == read, first, first)
    return jax.tree.unflatten(jax.tree.structure(found), [first, *others])


def _first_numbers(args: PyTree) -> Int[Array, ""]:
    """Read one element of each array. XLA (0.10.2, 0.11.2) ends the process over a kernel with an
    argument that is not read, which may also be one that its simplifications made so."""
    total = jnp.zeros((), jnp.int32)
    for x in jax.tree.leaves(args):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x = jr.key_data(x)
        if x.size:
            total += x[(0,) * x.ndim].astype(jnp.int32)
    return total


class _Packed(NamedTuple):
    """An array among the words of a parcel, which begins at `start`."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["words", "others"],
    meta_fields=["packed", "tree"],
)
@dataclass(frozen=True)
class Parcel:
    """Results of a compiled program for the host: those that are small as one array of words."""

    words: Int[Array, " words"]
    others: tuple[Array, ...]
    packed: tuple[_Packed | None, ...]
    tree: Any

    @classmethod
    def of(cls, results: PyTree) -> "Parcel":
        leaves, tree = jax.tree.flatten(results)
        most = _MAX_PARCEL.get(jax.default_backend(), _MAX_PARCEL_ELSEWHERE)
        words, others, packed, at = [], [], [], 0
        for x in leaves:
            size = x.size * max(x.dtype.itemsize // 4, 1)
            kind = getattr(x.dtype, "kind", "")  # typed PRNG keys have none
            is_word = kind != "" and (kind in "biu" or (kind == "f" and x.dtype.itemsize >= 4))
            if is_word and 4 * (at + size) <= most:
                packed.append(_Packed(at, x.shape, np.dtype(x.dtype)))
                words.append(_as_words(x))
                at += size
            else:
                packed.append(None)
                others.append(x)
        joined = jnp.concatenate(words) if words else jnp.zeros(0, jnp.int32)
        return cls(joined, tuple(others), tuple(packed), tree)

    def opened(self) -> PyTree:
        """The results as NumPy arrays."""
        others, leaves = iter(fetched(self.others) if self.others else ()), []
        words = fetched(self.words)
        for part in self.packed:
            if part is None:
                leaves.append(next(others))
                continue
            is_view = part.dtype.itemsize >= 4
            dtype = part.dtype if is_view else words.dtype
            found = np.ndarray(part.shape, dtype, words.data, 4 * part.start)
            # A view of a small part would keep all words in memory.
            is_kept = is_view and 2 * found.nbytes >= words.nbytes
            leaves.append(found if is_kept else found.astype(part.dtype))
        return jax.tree.unflatten(self.tree, leaves)


def fetched(arrays: PyTree) -> Any:
    """Arrays on the host, once they are computed.

    To read what a computation ran out of memory for ends the process or never returns (jaxlib
    0.10.2, CPU); to wait for it raises.
    """
    leaves, tree = jax.tree.flatten(arrays)
    # `jax.device_get` takes twice as long for small arrays (jax 0.10.2, 2026-11).
    is_read = [isinstance(x, jax.Array) and isinstance(x.dtype, np.dtype) for x in leaves]
    on_device = [*itertools.compress(leaves, is_read)]
    for x in on_device:
        x.block_until_ready()
    for x in on_device[1:]:
        x.copy_to_host_async()
    found = [np.asarray(x) if it else x for x, it in zip(leaves, is_read, strict=True)]
    return tree.unflatten(found)


def _as_words(x: Array) -> Int[Array, " words"]:
    if x.dtype.itemsize < 4:
        return jnp.ravel(x).astype(jnp.int32)
    return jnp.ravel(lax.bitcast_convert_type(x, jnp.int32))


@contextlib.contextmanager
def precision(dtype: DTypeLike) -> Iterator[None]:
    """A context in which JAX keeps arrays of `dtype`: it allows 64 bits when `dtype` has them, else
    changes nothing."""
    if np.dtype(dtype).itemsize == 8:
        with jax.enable_x64(True):
            yield
    else:
        yield


def widest_of(tree: PyTree) -> np.dtype:
    """The type whose `precision` the arrays of `tree` need."""
    # Typed PRNG keys have an extended dtype, which is no NumPy one.
    leaves = [x for x in jax.tree.leaves(tree) if isinstance(getattr(x, "dtype", None), np.dtype)]
    return np.dtype(np.int64 if any(x.dtype.itemsize == 8 for x in leaves) else np.int32)


def precision_of(tree: PyTree) -> contextlib.AbstractContextManager[None]:
    """The `precision` that the arrays of `tree` need."""
    return precision(widest_of(tree))
