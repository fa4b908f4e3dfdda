import ctypes
import gc
import mmap
import os
import platform
from pathlib import Path

import equinox as eqx
import jax
import jax.random as jr
import pytest
from hypothesis import settings


jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Meshes of up to four devices; what names no mesh uses the first one.
jax.config.update("jax_num_cpu_devices", 4)
# Compiling takes two thirds of the time: workers and later runs share what was compiled. The gate
# begins with an empty folder, since it runs in a new clone.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
jax.config.update("jax_compilation_cache_dir", str(_COMPILED))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
# Commands in processes of their own share theirs. Nothing is written to the user's own caches.
os.environ["SNPJAX_COMPILATION_CACHE"] = str(_COMPILED.with_name("commands"))
os.environ["SNPJAX_CACHE"] = str(_COMPILED.with_name("layouts"))
# Most programs here run for a moment only: without optimization a search and a run are compiled in
# half the time (3.3 s instead of 6.6 s of one core, jax 0.10.2, CPU, 2026-11), and in one piece,
# instead of 32 for as many threads, in 0.8 to 0.9 of that. The full sweep is compiled as users'
# programs are.
if os.environ.get("SNPJAX_SWEEP") != "full":
    jax.config.update("jax_disable_most_optimizations", True)
    if jax.__version_info__[:2] == (0, 10):  # XLA ends the process if it does not know a flag
        flags = os.environ.get("XLA_FLAGS", "")
        less = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
        os.environ["XLA_FLAGS"] = f"{flags} {less}".strip()

# Compilation makes Hypothesis's deadline of 200 ms meaningless.
settings.register_profile("dev", deadline=None, max_examples=40, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


# A compiled program keeps memory, mapped in up to a hundred pieces, of which Linux allows a process
# 65,530: a worker that holds too many programs dies in XLA without a word. So they are forgotten.
_PROCESS = Path("/proc/self")
_MOST_MAPS = 45_000
_MOST_BYTES = 1_500_000_000
_LOOK_EVERY = 50  # programs
_num_programs = 0


def _count_program(event: str, _: float, **__: object) -> None:
    global _num_programs
    _num_programs += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(_count_program)


def pytest_collection_modifyitems(items):
    for item in items:
        is_long = item.get_closest_marker("slow") or item.get_closest_marker("nightly")
        if is_long and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture(autouse=True)
def _few_programs():
    """Forget what was compiled before a worker holds too much of it."""
    global _num_programs
    yield
    if _num_programs >= _LOOK_EVERY and _PROCESS.exists():
        _num_programs = 0
        num_maps = (_PROCESS / "maps").read_bytes().count(b"\n")
        num_bytes = int((_PROCESS / "statm").read_text().split()[1]) * mmap.PAGESIZE
        if num_maps > _MOST_MAPS or num_bytes > _MOST_BYTES:
            jax.clear_caches()
            gc.collect()
            if platform.libc_ver()[0] == "glibc":  # which keeps what is free (400 of 650 MB)
                ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def getkey():
    """Fresh typed keys; the seed is printed when the test fails, and PYTEST_SEED pins it."""
    return eqx.internal.GetKey(int(os.environ.get("PYTEST_SEED", "0")) or None)


@pytest.fixture
def free(monkeypatch):
    """Sets what is free on the host, and so on its CPUs."""

    def set_free(size: int | None) -> None:
        monkeypatch.setattr("snpjax_formats.host_memory._reading", lambda _: size)

    return set_free


@pytest.fixture
def key():
    return jr.key(0)
