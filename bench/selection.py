"""Gathers timings of all layouts on this machine: GPU and pairs of CPU cores at the same time.

Several processes build and compile; what runs on the GPU has it alone. Each CPU process has two
cores of its own. Files of lines, one a configuration, which `snpjax formats train` reads; started
again with the same folder it goes on.

    PYTHONPATH=.:formats python bench/selection.py FOLDER SECONDS GPUS CPUS [AGAIN]

With a file AGAIN, its configurations are timed once more, their fastest layouts only.
"""

import os
import subprocess
import sys
import time
from pathlib import Path


_GATHER = """
import sys
from pathlib import Path
import jax
from snpjax_formats.select.gathering import gather
path, shard, of, seconds, lock, cache, again = sys.argv[1:]
jax.config.update("jax_compilation_cache_dir", cache)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
num = gather(
    Path(path), shard=(int(shard), int(of)), seconds=float(seconds), cells=100_000,
    lock=Path(lock) if lock else None, again=Path(again) if again else None,
)
print(path, num, flush=True)
"""


def main() -> None:
    folder, seconds, gpus, cpus = Path(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:5])
    again = sys.argv[5] if len(sys.argv) > 5 else ""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / "selection"
    scratch.mkdir(exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))
    processes = []
    for kind, number in (("cpu", cpus), ("gpu", gpus)):
        for shard in range(number):
            environment = dict(os.environ)
            of = set(cores[2 * cpus :]) or set(cores)
            if kind == "cpu":
                of = set(cores[2 * shard : 2 * shard + 2])
                environment["JAX_PLATFORMS"] = "cpu"
            else:
                environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
            lock = str(scratch / "lock") if kind == "gpu" else ""
            arguments = [
                folder / f"{kind}-{shard}.jsonl", shard, number, seconds, lock, scratch / kind,
                again,
            ]  # fmt: skip
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", _GATHER, *map(str, arguments)],
                    env=environment,
                    preexec_fn=lambda of=of: os.sched_setaffinity(0, of),
                )
            )
    began = time.monotonic()
    for process in processes:
        process.wait()
    print(f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: docs/selecting.md.
