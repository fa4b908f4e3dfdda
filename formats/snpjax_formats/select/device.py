"""The device that products run on, by the names that a model and a cache know it by."""

import platform
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import jax


Device: TypeAlias = Literal["cpu", "gpu"]

#: Kinds of processors that the shipped model was trained on, by the names that their makers take.
CPU_KINDS = {"GenuineIntel": "Intel cpu", "AuthenticAMD": "AMD cpu"}


def device_of(device: str | None) -> tuple[Device, str]:
    """`"cpu"` or `"gpu"`, and the kind: of JAX's default device unless one is named. A GPU's kind
    is the name that it gives itself; a processor's says who made it, which JAX does not know."""
    default = jax.default_backend()
    if (device or default) == "cpu":
        return "cpu", _processor()
    return "gpu", "gpu" if default == "cpu" else jax.devices()[0].device_kind


def is_cpu(kind: str) -> bool:
    return kind.endswith("cpu")


def cpu_kind(described: str) -> str:
    """By what a system says of its processor; where that names no known maker, by architecture."""
    known = (kind for name, kind in CPU_KINDS.items() if name in described)
    return next(known, f"{platform.machine()} cpu".lstrip())


@cache
def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            return cpu_kind(next((line for line in file if line.startswith("vendor_id")), ""))
    except OSError:
        return cpu_kind(platform.processor())  # on Windows it names the maker
