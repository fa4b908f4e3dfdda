"""Where a search keeps what it finds, and how many bytes it may take there."""

import os
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh

from snpjax_formats import free_bytes, host_free_bytes
from snpjax_formats.arguments import as_integer

from .host_arrays import HostArrays


# Where the device has the memory of the host, this part of it is for arrays of the host.
_OF_HOST = 8
# An eighth of what is free stays free, and on the host another 128 MiB, because LLVM ends the
# process when it gets no memory.
_LEFT, _FOR_COMPILER = 8, 2**27


@dataclass(frozen=True)
class MemoryLimits:
    """How many bytes a search may take, and where its files are.

    Configurations stay on the device as long as they fit. After that the device keeps a fingerprint
    of 64 bits and a place in a table for each, 14 to 24 bytes, and the configurations themselves
    move to main memory and from there to a file, as do the edges.

    - `device`: bytes on the device; by default seven eighths of what is free.
    - `host`: bytes in main memory beside them; by default half of what is free there. Where the
      device is the processor, these bytes count as bytes of the device, and the default is an
      eighth of those.
    - `disk`: bytes in files; by default what is free in `folder`. 0 forbids files.
    - `folder`: for the files; by default that of the system for temporary files. They have no names
      there, so that nothing is left of them however the process ends.
    """

    device: int | None = None
    host: int | None = None
    disk: int | None = None
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("device", "host", "disk"):
            value = getattr(self, name)
            if value is not None and as_integer(name, value) < 0:
                raise ValueError(f"`{name}` is {value}. Give a number of bytes, 0 or more.")
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ValueError(f"`folder` is {os.fspath(self.folder)!r}, which is not a folder.")


class Budget:
    """What a search may still take.

    - `working`: bytes that are left free on the device, in which successors are made.
    """

    def __init__(self, limits: MemoryLimits) -> None:
        self.limits = limits
        self.is_host = _is_host()
        self.working = 0
        self.host = HostArrays(limits.host, limits.disk, limits.folder)
        if limits.host is None and not self.is_host:
            free = host_free_bytes()
            self.host.limit = None if free is None else free // 2

    @property
    def may_spill(self) -> bool:
        """Whether anything may be kept beside the device."""
        limits = self.limits
        return limits.disk != 0 or (limits.host != 0 and not self.is_host)

    def free(self, taken: int) -> int | None:
        """The bytes on the device that arrays may take beside those `taken`, if that is known."""
        free, limit = usable_bytes(), self.limits.device
        if limit is not None:
            left = limit - taken - (self.host.num_bytes if self.is_host else 0)
            free = left if free is None else min(free, left)
        return None if free is None else max(free - self.working, 0)

    def begin_to_spill(self, taken: int) -> None:
        """Keep no more on the host than is allowed where that is the device."""
        if self.limits.host is None and self.is_host:
            free = self.free(taken)
            self.host.limit = None if free is None else (free + taken) // _OF_HOST


def usable_bytes(mesh: Mesh | None = None) -> int | None:
    """The bytes that the arrays of a search may take on each device, if that is known of all. With
    a mesh it is the same number in all processes, all of which must call it."""
    free = free_bytes(mesh)
    if mesh is not None and jax.process_count() > 1:
        from jax.experimental import multihost_utils  # takes long to import

        megabytes = np.asarray(-1 if free is None else free // 2**20, np.int32)
        least = int(np.min(multihost_utils.process_allgather(megabytes)))
        free = None if least < 0 else 2**20 * least
    if free is None:
        return None
    return max(free - free // _LEFT - (_FOR_COMPILER if _is_host() else 0), 0)


def _is_host() -> bool:
    """Whether the device is the processor, whose memory is that of the host."""
    return jax.default_backend() == "cpu"
