"""Whether a layout fits in the memory of the device, before any of it is allocated."""

import os

import jax

from .edges import Edges
from .layout import AbstractLayout


class LayoutTooLarge(ValueError):
    """A layout that would need more bytes than the device has free."""


def free_bytes() -> int:
    """Free bytes of the default device: of its allocator where it tells, else of the host."""
    device = jax.local_devices()[0]
    stats = device.memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def fitting(
    layout: type[AbstractLayout], edges: Edges, *, max_input: int | None = None
) -> AbstractLayout:
    """`layout.from_edges(edges)` if it fits.

    **Raises:** `LayoutTooLarge` with the bytes it would need and the layouts that would fit.
    """
    needed, free = layout.bytes_needed(edges), free_bytes()
    if needed > free:
        from . import LAYOUTS  # the package lists them once all are defined

        others = {other.__name__: other.bytes_needed(edges) for other in LAYOUTS}
        fit = [f"{name} ({size:,} bytes)" for name, size in others.items() if size <= free]
        raise LayoutTooLarge(
            f"{layout.__name__} needs {needed:,} bytes for {edges.num_sources:,} x "
            f"{edges.num_targets:,} with {len(edges):,} edges, but {free:,} are free. "
            f"Use {' or '.join(fit) or 'a machine with more memory'}."
        )
    return layout.from_edges(edges, max_input=max_input)
