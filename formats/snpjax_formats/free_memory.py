"""How much memory there is, and the refusal of what does not fit."""

from typing import Any

import jax
from jax.sharding import Mesh

from .host_memory import host_free_bytes


class NotEnoughMemory(ValueError):
    """What would need more bytes than are free; it is refused before any of it is allocated."""


def check_free(needed: int, free: int | None, what: str, fix: str) -> None:
    """Refuse an allocation that exceeds the free memory, where that is known.

    **Arguments:**

    - `needed`: the bytes that would be allocated.
    - `free`: the free bytes; `None` if they are unknown.
    - `what`: subject and verb of the error message, such as "The net needs".
    - `fix`: a sentence that says what would fit.

    **Raises:** `NotEnoughMemory` with both numbers of bytes.
    """
    if free is not None and needed > free:
        raise NotEnoughMemory(f"{what} {needed:,} bytes, but {free:,} are free. {fix}")


def free_bytes(mesh: Mesh | None = None) -> int | None:
    """Free bytes of JAX's default device: of its allocator, or of the host for a CPU.

    **Arguments:**

    - `mesh`: the least free bytes of its devices in this process instead, which share work equally.

    **Returns:** the number of bytes; `None` if it is unknown.
    """
    devices = local_devices(mesh)
    found = [_free_on(device, len(devices)) for device in devices]
    return min((size for size in found if size is not None), default=None)


def local_devices(mesh: Mesh | None = None) -> list[Any]:
    """The devices of a mesh in this process, or else JAX's default device."""
    if mesh is not None:
        return list(mesh.local_devices)
    device = jax.config.jax_default_device or jax.local_devices()[0]  # pyright: ignore
    return jax.local_devices(backend=device)[:1] if isinstance(device, str) else [device]


def _free_on(device: Any, sharing: int) -> int | None:
    stats = device.memory_stats()
    if stats and "bytes_limit" in stats:
        return max(stats["bytes_limit"] - stats.get("bytes_in_use", 0), 0)
    if device.platform != "cpu":
        return None
    free = host_free_bytes()
    return None if free is None else free // sharing
