"""How much memory there is, read from made-up hosts and devices."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

from snpjax_formats import NotEnoughMemory, check_free, free_bytes, host_free_bytes


MEMINFO = "MemTotal:  9 kB\nMemFree:  2 kB\nMemAvailable:  4 kB\nHugePages_Free: 0\n"
V2_MOUNT = "41 31 0:38 {top} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = """\
30 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup rw,cpu
35 31 0:32 {top} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
"""
V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"


class Host:
    """The files of a host, and what it can give."""

    def __init__(self, root: Path):
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def version_2(self, folder: str, limit: str, used: int, cached: int = 0) -> None:
        self.write(f"{V2}/{folder}/memory.max", f"{limit}\n")
        self.write(f"{V2}/{folder}/memory.current", f"{used}\n")
        self.write(f"{V2}/{folder}/memory.stat", f"anon 1\ninactive_file {cached}\n")

    def version_1(self, folder: str, limit: int, used: int, statistics: str = "") -> None:
        self.write(f"{V1}/{folder}/memory.limit_in_bytes", f"{limit}\n")
        self.write(f"{V1}/{folder}/memory.usage_in_bytes", f"{used}\n")
        self.write(f"{V1}/{folder}/memory.stat", f"cache 1\n{statistics}")

    @property
    def free(self) -> int | None:
        return host_free_bytes(self.root)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


@pytest.fixture
def linux(host):
    host.write("proc/meminfo", MEMINFO)
    return host


def test_nothing_is_known_where_nothing_can_be_read(host):
    assert host.free is None
    host.write("proc/meminfo", "no numbers\n\n")
    assert host.free is None


def test_the_machine(linux):
    assert linux.free == 4096


def test_a_group_of_version_2(linux):
    linux.write("proc/self/cgroup", "0::/\n")
    linux.write("proc/self/mountinfo", V2_MOUNT.format(top="/"))
    linux.version_2(".", "max", 1000)
    assert linux.free == 4096
    linux.version_2(".", "3000", 1000)
    assert linux.free == 2000
    linux.version_2(".", "3000", 1000, cached=500)
    assert linux.free == 2500
    linux.version_2(".", "3000", 4000)  # the limit was lowered
    assert linux.free == 0
    linux.version_2(".", "8000", 1000)
    assert linux.free == 4096


def test_nested_groups_of_version_2(linux):
    """The least of all groups around counts, and what their other members use."""
    linux.write("proc/self/cgroup", "0::/user.slice/job.scope\n")
    linux.write("proc/self/mountinfo", V2_MOUNT.format(top="/"))
    linux.version_2("user.slice/job.scope", "max", 100)
    assert linux.free == 4096
    linux.version_2("user.slice", "3000", 1500)
    assert linux.free == 1500
    linux.version_2("user.slice/job.scope", "1000", 100)
    assert linux.free == 900
    linux.version_2("other.slice", "1", 1)
    assert linux.free == 900


@pytest.mark.parametrize("path", ["/../../elsewhere", "/docker/abc"])
def test_a_group_that_cannot_be_seen(linux, path):
    """What is mounted is around the group of the process, or a namespace that it left."""
    linux.write("proc/self/cgroup", f"0::{path}\n")
    linux.write("proc/self/mountinfo", V2_MOUNT.format(top="/"))
    linux.version_2(".", "3000", 1000)
    assert linux.free == 2000


def test_a_mount_of_an_inner_group(linux):
    linux.write("proc/self/cgroup", "0::/pods/own/inner\n")
    linux.write("proc/self/mountinfo", V2_MOUNT.format(top="/pods/own"))
    linux.version_2("inner", "3000", 1000)
    assert linux.free == 2000
    linux.version_2(".", "1500", 1000)
    assert linux.free == 500


def test_groups_of_version_1(linux):
    linux.write("proc/self/cgroup", "5:cpu:/a\n4:hugetlb,memory:/a/b\n0::/\n")
    linux.write("proc/self/mountinfo", V1_MOUNTS.format(top="/"))
    linux.version_1(".", 2**63 - 4096, 10**9)
    linux.version_1("a/b", 3000, 1000, "total_inactive_file 200\n")
    assert linux.free == 2200
    linux.version_1("a", 1500, 1000)
    assert linux.free == 500
    # What a container cannot see of the groups around it, the kernel tells.
    linux.version_1("a", 2**63 - 4096, 1000)
    linux.version_1("a/b", 3000, 1000, "hierarchical_memory_limit 1700\n")
    assert linux.free == 700


@pytest.mark.parametrize(
    "limit, size", [("Max address space", "VmSize"), ("Max data size", "VmData")]
)
def test_limits_of_the_process(linux, limit, size):
    linux.write("proc/self/status", f"Name:\tpython\n{size}:\t       2 kB\n")
    line = f"{limit:<26}{{}}            unlimited            bytes     \n"
    linux.write("proc/self/limits", line.format("unlimited"))
    assert linux.free == 4096
    linux.write("proc/self/limits", line.format(3 * 1024))
    assert linux.free == 1024
    linux.write("proc/self/limits", line.format(1024))
    assert linux.free == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")
@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_that_holds(name):
    """What is free is what NumPy then gets, within the granularity of an allocator."""
    script = f"""
import resource
import numpy as np
from snpjax_formats.host_memory import host_free_bytes
from pathlib import Path
from types import SimpleNamespace
resource.setrlimit(resource.{name}, (2**33, 2**33))
free = host_free_bytes(Path("/"))
assert 2**28 < free < 2**33, free
got = np.empty(free - 2**24, np.uint8)
try:
    np.empty(2**25, np.uint8)
except MemoryError:
    print("full")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "full\n", done.stderr


def test_a_reading_serves_for_a_moment(monkeypatch):
    """A run of 1.5 ms asks several times, and a reading takes 0.3."""
    readings = []
    monkeypatch.setattr("snpjax_formats.host_memory._read", lambda root: readings.append(root))
    monkeypatch.setattr("time.monotonic", lambda: 10_000.001)
    for _ in range(5):
        host_free_bytes()
    assert len(readings) == 1
    monkeypatch.setattr("time.monotonic", lambda: 10_000.101)
    host_free_bytes()
    assert len(readings) == 2


class Device:
    def __init__(self, platform: str, stats: dict[str, int] | None):
        self.platform, self.stats = platform, stats

    def memory_stats(self):
        return self.stats


def test_free_bytes_of_devices(monkeypatch):
    gpu = Device("gpu", {"bytes_limit": 10, "bytes_in_use": 3})
    full, unknown = Device("gpu", {"bytes_limit": 10, "bytes_in_use": 12}), Device("gpu", None)
    cpu = Device("cpu", None)
    monkeypatch.setattr("snpjax_formats.free_memory.host_free_bytes", lambda: 90)
    monkeypatch.setattr("jax.local_devices", lambda backend=None: [cpu if backend else gpu, full])
    assert free_bytes() == 7
    with jax.default_device("cpu"):
        assert free_bytes() == 90
    meshes = [[gpu, unknown], [unknown], [gpu, full], [cpu, cpu, cpu]]  # which share the host
    found = [free_bytes(SimpleNamespace(local_devices=devices)) for devices in meshes]
    assert found == [7, None, 0, 30]
    monkeypatch.setattr("snpjax_formats.free_memory.host_free_bytes", lambda: None)
    assert free_bytes(SimpleNamespace(local_devices=[cpu])) is None


def test_the_refusal():
    check_free(7, 7, "The net needs", "Use a smaller one.")
    check_free(10**9, None, "The net needs", "Use a smaller one.")
    with pytest.raises(NotEnoughMemory) as refused:
        check_free(1000, 999, "The net needs", "Use a smaller one.")
    assert str(refused.value) == "The net needs 1,000 bytes, but 999 are free. Use a smaller one."
