"""Gathers timings of all layouts on this machine, for `snpjax formats train`: lines in files of a
folder, one a configuration. Started again with the same folder it goes on.

On a CPU each process has two cores of its own:

    PYTHONPATH=.:formats python bench/selection.py cpu FOLDER SECONDS PROCESSES

On GPUs many processes compile first; then each device has one process to itself, while the others
build layouts on the host and hand them over in memory:

    PYTHONPATH=.:formats python bench/selection.py compile FOLDER SECONDS PROCESSES
    PYTHONPATH=.:formats python bench/selection.py time FOLDER SECONDS PROCESSES
"""

import dataclasses
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import serialize_executable

from snpjax_formats.select import gathering


_HANDED = Path("/dev/shm/snpjax-selection")
_END = _HANDED / "end"
_MOST_HANDED = 24  # contests that wait to be timed
_CELLS = 100_000


def main() -> None:
    what, folder, seconds, processes = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:5])
    if len(sys.argv) > 5:
        _PARTS[what](folder, seconds, int(sys.argv[5]), processes)
        return
    (folder / "programs").mkdir(parents=True, exist_ok=True)
    _HANDED.mkdir(exist_ok=True)
    for path in _HANDED.iterdir():
        path.unlink()
    cores = sorted(os.sched_getaffinity(0))
    devices = 1 if what == "cpu" else _gpus()
    part = "build" if what == "time" else what
    children = []
    for shard in range(processes):
        own = {
            "cpu": cores[2 * shard : 2 * shard + 2],
            "compile": cores[shard::processes],
            "build": cores[2 * devices :],
        }[part]
        children.append(_start(part, folder, seconds, processes, shard, own or cores, devices))
    if what == "time":
        timers = [
            _start("time", folder, seconds, processes, i, cores[2 * i :][:2] or cores, devices)
            for i in range(devices)
        ]
        while any(timer.poll() is None for timer in timers):
            if all(child.poll() is not None for child in children):
                _END.touch()
            time.sleep(0.1)
        for child in children:
            child.kill()
        children = timers
    for child in children:
        if child.wait() != 0:
            sys.exit(f"a process ended with {child.returncode}")
    left = list(folder.glob("*.jsonl"))
    print(what, sum(1 for file in left for _ in file.open()), "configurations,", end=" ")
    print(len(list((folder / "programs").iterdir())), "sets of programs", flush=True)


def _gpus() -> int:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def _start(
    part: str,
    folder: Path,
    seconds: int,
    processes: int,
    shard: int,
    cores: list[int],
    devices: int,
) -> subprocess.Popen:
    environment = dict(os.environ)
    if part == "cpu":
        environment["JAX_PLATFORMS"] = "cpu"
    else:
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        environment["CUDA_VISIBLE_DEVICES"] = str(shard % devices)
    arguments = [part, folder, seconds, processes, shard]
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, arguments)],
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, set(cores)),
    )


def _gather(folder: Path, seconds: float, shard: int, of: int) -> None:
    jax.config.update("jax_compilation_cache_dir", str(folder / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    path = folder / f"cpu-{shard}.jsonl"
    gathering.gather(path, shard=(shard, of), seconds=seconds, cells=_CELLS)


def _compile(folder: Path, seconds: float, shard: int, of: int) -> None:
    """The programs of as many configurations as there is time for."""
    began = time.monotonic()
    for configuration in _configurations(shard, of):
        if time.monotonic() - began > seconds:
            return
        path = _programs(folder, configuration)
        if not path.exists():
            _, contest = gathering.contest_of(configuration)
            programs = contest.programs()
            payloads = {n: serialize_executable.serialize(p)[0] for n, p in programs.items()}
            _write(path, payloads)


def _build(folder: Path, seconds: float, shard: int, of: int) -> None:
    """The layouts of configurations with programs, a few ahead of those that are being timed."""
    del seconds
    done = _done(folder)
    for configuration in _configurations(shard, of):
        if _programs(folder, configuration).exists() and configuration not in done:
            features, contest = gathering.contest_of(configuration)
            layouts = jax.tree.map(np.asarray, contest.layouts)
            while len(list(_HANDED.glob("*.contest"))) >= _MOST_HANDED:
                time.sleep(0.05)
            handed = configuration, features, dataclasses.replace(contest, layouts=layouts)
            _write(_HANDED / f"{_name(configuration)}.contest", handed)


def _time(folder: Path, seconds: float, shard: int, of: int) -> None:
    """What the others hand over, until there is none any more."""
    del of
    began = time.monotonic()
    mine = _HANDED / f"{shard}.mine"
    with (folder / f"gpu-{shard}.jsonl").open("a") as file:
        while time.monotonic() < began + seconds:
            is_end, path = _END.exists(), next(_HANDED.glob("*.contest"), None)
            if path is None and is_end:
                return
            if path is None:
                time.sleep(0.01)
                continue
            try:
                path.rename(mine)
            except FileNotFoundError:  # another process took it
                continue
            configuration, features, contest = pickle.loads(mine.read_bytes())
            mine.unlink()
            payloads = pickle.loads(_programs(folder, configuration).read_bytes())
            programs = {name: _loaded(contest, name, x) for name, x in payloads.items()}
            measured = gathering.measure(configuration, features, contest, programs)
            file.write(gathering.line_of(measured))
            file.flush()


def _loaded(contest: gathering.Contest, name: str, payload: bytes) -> Any:
    """A program that another process compiled: nothing is traced again."""
    layout = contest.layouts[name]
    given = jax.tree.structure(((layout, contest.inputs, np.int32(1)), {}))
    return serialize_executable.deserialize_and_load(payload, given, jax.tree.structure((0, 0)))


def _configurations(shard: int, of: int) -> Iterator[gathering.TimingCase]:
    for cell in range(shard, _CELLS, of):
        yield from gathering.members(cell, seed=0, limits=gathering.limits_here())


def _done(folder: Path) -> set[gathering.TimingCase]:
    files = folder.glob("gpu-*.jsonl")
    return {m.configuration for path in files for m in gathering.read_timings(path)}


def _programs(folder: Path, configuration: gathering.TimingCase) -> Path:
    return folder / "programs" / _name(configuration)


def _name(configuration: gathering.TimingCase) -> str:
    """Of a file: a cell has two graphs of the paper's kind."""
    return f"{configuration.name}-{configuration.spread}".replace(" ", "-").replace(".", "-")


def _write(path: Path, what: object) -> None:
    """Whole, or not at all."""
    temporary = path.with_suffix(".part")
    temporary.write_bytes(pickle.dumps(what, protocol=5))
    temporary.rename(path)


_PARTS = {"cpu": _gather, "compile": _compile, "build": _build, "time": _time}


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: docs/selecting.md.
