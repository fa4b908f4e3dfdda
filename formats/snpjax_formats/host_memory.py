"""How much memory the host can give to this process."""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple


_READING_SERVES = 0.02  # seconds


def host_free_bytes(root: Path | None = None) -> int | None:
    """Bytes that the host can give to this process.

    It is the smallest of what Linux has available, what the control groups of the process have
    left, from its own to the outermost visible one, and what the limits of the process leave
    (`RLIMIT_AS`, `RLIMIT_DATA`). A reading is cached for 20 ms, because lowering reads it several
    times.

    **Arguments:**

    - `root`: the folder of the system's files, if they are not those of this host.

    **Returns:** the number of bytes; `None` if nothing can be read.
    """
    if root is not None:
        return _read(root)
    return _reading(int(time.monotonic() / _READING_SERVES))


@lru_cache(maxsize=1)
def _reading(period: int) -> int | None:
    """The free bytes of this host in that period."""
    del period
    return _read(Path("/"))


def address_space_left(root: Path = Path("/")) -> int | None:
    """Return the bytes that the limits of the process leave, or `None` without limits."""
    return min(_left_to_process(root), default=None)


def _read(root: Path) -> int | None:
    found = list(_left_in_groups(root)) + list(_left_to_process(root))
    kilobytes = _numbers(root / "proc/meminfo").get("MemAvailable:")
    if kilobytes is not None:
        found.append(1024 * kilobytes)
    return max(min(found), 0) if found else None


class _Version(NamedTuple):
    """What a version of control groups calls the limit of a group, its use, and, among its
    statistics, the cached files that would make room, and the least limit of the groups around."""

    limit: str
    used: str
    cached: str
    around: str


_VERSIONS = {
    "cgroup2": _Version("memory.max", "memory.current", "inactive_file", ""),
    "cgroup": _Version(
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
        "hierarchical_memory_limit",
    ),
}


def _left_in_groups(root: Path) -> Iterator[int]:
    for version, group in _groups(root, _text(root / "proc/self/cgroup")):
        limit, used = _text(group / version.limit).strip(), _text(group / version.used).strip()
        if not (limit.isdigit() and used.isdigit()):  # no such group, or its limit is "max"
            continue
        statistics = _numbers(group / "memory.stat")
        most = min(int(limit), statistics.get(version.around, int(limit)))
        yield most - int(used) + statistics.get(version.cached, 0)


@lru_cache(maxsize=8)
def _groups(root: Path, membership: str) -> tuple[tuple[_Version, Path], ...]:
    """The folders of the control groups that a process is in, by the text of its `cgroup`, and of
    those around them."""
    own = {}  # the path of the group by its kind of file system
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            own["cgroup2"] = path
        elif "memory" in controllers.split(","):
            own["cgroup"] = path
    found = []
    for line in _text(root / "proc/self/mountinfo").splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        is_of_memory = kind == "cgroup2" or "memory" in options.split(",")
        if kind not in own or not is_of_memory:
            continue
        top, point = mount.split(" ")[3:5]
        path, mounted = PurePosixPath(own[kind]), root / point.lstrip("/")
        # Of a group outside of what is mounted only the mounted ones around it can be seen.
        inner = path.relative_to(top) if path.is_relative_to(top) else PurePosixPath()
        if ".." in inner.parts:
            inner = PurePosixPath()
        found += [(_VERSIONS[kind], mounted / folder) for folder in (inner, *inner.parents)]
    return tuple(found)


def _left_to_process(root: Path) -> Iterator[int]:
    text = _text(root / "proc/self/limits")
    for limit, used in (("Max address space", "VmSize:"), ("Max data size", "VmData:")):
        value = text.partition(limit)[2].lstrip().partition(" ")[0]
        if value.isdigit():  # not "unlimited"
            yield int(value) - 1024 * _numbers(root / "proc/self/status").get(used, 0)


def _text(path: Path) -> str:
    """The contents of a file, and nothing of one that cannot be read."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _numbers(path: Path) -> dict[str, int]:
    """The lines of a file that are a name and a number."""
    lines = [line.split() for line in _text(path).splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}
