"""What a run needs, compared with the memory there is before any of it is taken."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.sharding import Mesh

from snpjax_formats import NotEnoughMemory, check_free, free_bytes, host_free_bytes
from snpjax_formats.free_memory import local_devices


#: What an allocation that fails raises, among other errors: see `is_of_memory`.
ALLOCATION_ERRORS = (MemoryError, NotEnoughMemory, jax.errors.JaxRuntimeError)

# How often what fits is looked for: once, if it is in proportion. What is free changes meanwhile.
_TRIES, _MARGIN = 8, 0.99

_TEXTS = ("RESOURCE_EXHAUSTED", "OUT_OF_MEMORY", "Out of memory")


def is_of_memory(error: Exception) -> bool:
    """Whether an error is that of an allocation that failed, on the host or on a device."""
    if isinstance(error, jax.errors.JaxRuntimeError):
        return any(text in f"{error}" for text in _TEXTS)
    return isinstance(error, ALLOCATION_ERRORS)


class Footprint(NamedTuple):
    """Bytes that are needed on each device, and on the host besides."""

    device: int
    host: int = 0


def check_fits(
    footprint: Callable[[int], Footprint],
    size: int,
    what: str,
    fewer: str,
    *others: str,
    mesh: Mesh | None = None,
) -> None:
    """Refuse what does not fit in memory.

    **Arguments:**

    - `footprint`: of that many of something; there are to be `size`.
    - `what`: subject and verb, such as "1,000 paths need".
    - `fewer`: what to do with as many as fit, "run {:,} paths at a time", and `others`: what else
      helps.

    **Raises:** `NotEnoughMemory` with the bytes needed and free, and what would fit.
    """
    own = footprint(size)
    if share_taken(own, mesh) <= 1:
        return
    fits = _rounded_down(_fitting(footprint, size, mesh))
    fixes = [*([fewer.format(fits)] if fits else []), *others] or ["use a machine with more memory"]
    text = " or ".join(part for part in (", ".join(fixes[:-1]), fixes[-1]) if part)
    for needed, free in compared(own, mesh):
        check_free(needed, free, what, f"{text[0].upper()}{text[1:]}.")


def _fitting(footprint: Callable[[int], Footprint], size: int, mesh: Mesh | None) -> int:
    """How many fit, of which about in proportion to their number is needed."""
    for _ in range(_TRIES):
        taken = share_taken(footprint(size), mesh)
        if taken <= 1:
            return size
        size = min(int(_MARGIN * size / taken), size - 1)
        if size < 1:
            break
    return 0


def _rounded_down(number: int) -> int:
    """To three digits."""
    unit = 10 ** max(len(str(number)) - 3, 0)
    return number // unit * unit


def compiled_bytes(program: Any, *args: Any) -> int:
    """The bytes of the results of an `eqx.filter_jit` program, and of what it needs between. It is
    compiled, as the call that follows needs it."""
    stats = program.lower(*args).compile().compiled.memory_analysis()
    return 0 if stats is None else stats.output_size_in_bytes + stats.temp_size_in_bytes


def share_taken(footprint: Footprint, mesh: Mesh | None = None) -> float:
    """The part that is needed of the memory that is free, as far as this is known."""
    known = [(needed, free) for needed, free in compared(footprint, mesh) if free is not None]
    return max((needed / max(free, 1) for needed, free in known), default=0.0)


def compared(footprint: Footprint, mesh: Mesh | None = None) -> list[tuple[int, int | None]]:
    """What is needed beside what is free, on a device of the mesh and on the host."""
    devices = local_devices(mesh)
    if devices[0].platform == "cpu":  # whose memory is that of the host
        return [(len(devices) * footprint.device + footprint.host, host_free_bytes())]
    return [(footprint.device, free_bytes(mesh)), (footprint.host, host_free_bytes())]
