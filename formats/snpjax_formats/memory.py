"""Whether a layout fits in memory, before any of it is allocated."""

import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from .compressed import Compressed
from .coo import COO
from .csr import CSR
from .dense import Dense
from .edges import Edges
from .ell import ELL
from .hybrid import Hybrid
from .layout import AbstractLayout, built, refuse
from .narrow import Float32Dense, Int8Dense
from .sliced_ell import SlicedELL
from .stored import storable


# What `fitting` suggests: layouts for any graph, whose bytes are known from its degrees.
_GENERAL = (Dense, Int8Dense, Float32Dense, ELL, SlicedELL, Hybrid, Compressed, CSR, COO)

# What building takes on the host at its peak: the layout once in NumPy and once more, where the
# device is the host, and what sorts the edges. Measured beyond the edges themselves, in bytes of
# the layout: 2.0 for a matrix; for 40 edges a node 1.5 to 3.3, for which this says 3.7 to 9.8; for
# all pairs in sparse layouts 2.2 to 9.0 (Hybrid), for which it says 5.9 to 9.8 (CPU, jax 0.10.2,
# NumPy 2.4, 2026-10). So it refuses sparse graphs somewhat early.
_COPIES = 2
_BYTES_PER_EDGE = 32


class LayoutTooLarge(ValueError):
    """A layout that would need more bytes than there are free."""


def check_free(needed: int, free: int | None, what: str, fix: str) -> None:
    """Refuse `what` takes more bytes than are free, where that is known.

    **Raises:** `LayoutTooLarge` that says so, and the fix.
    """
    if free is not None and needed > free:
        raise LayoutTooLarge(f"{what}, but {free:,} are free. {fix}")


def free_bytes() -> int | None:
    """Free bytes of JAX's default device: of its allocator, or of the host for a CPU; `None` where
    they are not known."""
    device = jax.config.jax_default_device or jax.local_devices()[0]  # pyright: ignore
    if isinstance(device, str):
        device = jax.local_devices(backend=device)[0]
    stats = device.memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    return host_free_bytes() if device.platform == "cpu" else None


def host_free_bytes(root: Path | None = None) -> int | None:
    """Bytes that the host can give: what Linux has available, and no more than what the control
    group of a container has left; `None` where neither can be read. A reading serves for 20 ms, in
    which little can be allocated: lowering asks several times.

    `root` is where the system's files are, if they are not those of this host.
    """
    if root is not None:
        return _read(root)
    return _reading(int(time.monotonic() / _SERVES))


_SERVES = 0.02  # seconds


@lru_cache(maxsize=1)
def _reading(period: int) -> int | None:
    """The free bytes of this host in that period."""
    del period
    return _read(Path("/"))


def _read(root: Path) -> int | None:
    kilobytes = _table(root / "proc/meminfo").get("MemAvailable:")
    left = [_left(root / folder, *names) for folder, *names in _GROUPS]
    left.append(None if kilobytes is None else 1024 * kilobytes)
    return min((size for size in left if size is not None), default=None)


# Versions 2 and 1: where a container sees its control group, its limit, its use, and, among its
# statistics, the cached files that would make room.
_GROUPS = (
    ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def _left(group: Path, limit: str, used: str, cached: str) -> int | None:
    try:
        left = int((group / limit).read_text()) - int((group / used).read_text())
    except (OSError, ValueError):  # no such group, or its limit is "max"
        return None
    return max(left + _table(group / "memory.stat").get(cached, 0), 0)


def _table(path: Path) -> dict[str, int]:
    """The lines of a file that are a name and a number."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def fitting(
    layout: type[AbstractLayout],
    edges: Edges,
    *,
    max_input: int | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> AbstractLayout:
    """`layout.from_edges(edges, **options)` if it fits: on the device itself, and on the host what
    building it takes at its peak.

    **Raises:** `LayoutTooLarge` with the bytes it would need and the layouts that would fit. These
    are looked for among those that suit any graph; one made for structure in the edges may need
    far less. `ValueError` if the layout cannot hold these edges.
    """
    edges = storable(edges)
    refuse(layout.obstacle(edges, max_input=max_input))
    needed, device, host = layout.bytes_needed(edges), free_bytes(), host_free_bytes()

    def shortage(needed: int) -> str | None:
        if device is not None and needed > device:
            return f"{device:,} are free"
        peak = _COPIES * needed + _BYTES_PER_EDGE * len(edges)
        if host is not None and peak > host:
            return f"building it takes {peak:,} on the host, where {host:,} are free"
        return None

    problem = shortage(needed)
    if problem is not None:
        fit = [
            f"{other.__name__} ({size:,} bytes)"
            for other in _GENERAL
            if shortage(size := other.bytes_needed(edges)) is None
            and other.obstacle(edges, max_input=max_input) is None
        ]
        raise LayoutTooLarge(
            f"{layout.__name__} needs {needed:,} bytes for {edges.num_sources:,} x "
            f"{edges.num_targets:,} with {len(edges):,} edges, but {problem}. "
            f"Use {' or '.join(fit) or 'a machine with more memory'}."
        )
    return built(layout, edges, max_input=max_input, options=options)
