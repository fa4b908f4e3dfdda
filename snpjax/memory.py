"""What a run needs, compared with the memory there is before any of it is taken."""

from typing import NamedTuple

import jax
from jax.sharding import Mesh

from snpjax_formats import NotEnoughMemory, check_free, free_bytes, host_free_bytes


#: What an allocation that fails raises, among other errors: see `is_of_memory`.
ALLOCATION_ERRORS = (MemoryError, NotEnoughMemory, jax.errors.JaxRuntimeError)

_TEXTS = ("RESOURCE_EXHAUSTED", "OUT_OF_MEMORY", "Out of memory")


def is_of_memory(error: Exception) -> bool:
    """Whether an error is that of an allocation that failed, on the host or on a device."""
    if isinstance(error, jax.errors.JaxRuntimeError):
        return any(text in f"{error}" for text in _TEXTS)
    return isinstance(error, ALLOCATION_ERRORS)


class Needs(NamedTuple):
    """Bytes that are needed on each device, and on the host besides."""

    device: int
    host: int = 0


def check_needs(
    needs: Needs,
    what: str,
    size: int,
    fewer: str,
    *others: str,
    mesh: Mesh | None = None,
) -> None:
    """Refuse what does not fit in memory.

    **Arguments:**

    - `what`: subject and verb, such as "1,000 paths need".
    - `size`: of what is needed in proportion to its number, how many there are, 1,000.
    - `fewer`: what to do with those that fit, "run {:,} paths at a time", and `others`: what else
      helps.

    **Raises:** `NotEnoughMemory` with the bytes needed and free, and what would fit.
    """
    for needed, free in compared(needs, mesh):
        fits = size * (free or 0) // max(needed, 1)
        fixes = [fewer.format(fits)] if 0 < fits < size else []
        fixes = [*fixes, *others] or ["use a machine with more memory"]
        text = " or ".join(part for part in (", ".join(fixes[:-1]), fixes[-1]) if part)
        check_free(needed, free, what, f"{text[0].upper()}{text[1:]}.")


def compared(needs: Needs, mesh: Mesh | None = None) -> list[tuple[int, int | None]]:
    """What is needed beside what is free, on a device of the mesh and on the host."""
    devices = jax.local_devices()[:1] if mesh is None else mesh.local_devices
    if devices[0].platform == "cpu":  # whose memory is that of the host
        return [(len(devices) * needs.device + needs.host, host_free_bytes())]
    return [(needs.device, free_bytes(mesh)), (needs.host, host_free_bytes())]
