"""A data set of timings, gathered cell by cell into a file that can be continued."""

import dataclasses
import gzip
import itertools
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

import jax
import jaxlib.version
from jax.stages import Compiled

from .._platform.cores import num_cores
from ..arguments import explain_arguments
from ..strict_json import JsonSyntaxError, parse_json
from .candidates import BY_NAME, LAYOUT_SET, feasible
from .device import device_of
from .features import Degrees, Features, features_of
from .timing import INPUTS, Contest as Contest, Timing
from .timing_cases import (
    CPU_LIMITS,
    GPU_LIMITS,
    Limits,
    TimingCase as TimingCase,
    members as members,
)


# Of one layout: a data set must not fill the device.
_MOST_BYTES = {"cpu": 2**30, "gpu": 2**33}

_ROUNDS = 10
_MAX_LINE = 2**20

T = TypeVar("T")

# JAX keeps every program; after some thousand a process of Linux may map no more memory.
_FORGET_AFTER = 16


@dataclasses.dataclass(frozen=True)
class TimingRecord:
    """One line of a data set: a configuration and how long each candidate took."""

    configuration: TimingCase
    features: Features
    times: dict[str, Timing]
    device: str = "cpu"  # its kind
    layouts: int = LAYOUT_SET  # the set that was timed

    def joined(self, other: "TimingRecord") -> "TimingRecord":
        """The samples of both."""
        times = dict(self.times)
        for name, timing in other.times.items():
            before = times.get(name, Timing((), is_hopeless=True))
            times[name] = Timing(
                (*before.samples, *timing.samples), before.is_hopeless and timing.is_hopeless
            )
        return dataclasses.replace(self, times=times)


def gather(
    path: Path,
    *,
    seed: int = 0,
    cells: int = 400,
    shard: tuple[int, int] = (0, 1),
    seconds: float | None = None,
    limits: Limits | None = None,
    again: Path | None = None,
    progress: Callable[[TimingRecord], None] | None = None,
) -> int:
    """Time the configurations of some cells that are not in a file yet, and append them to it.

    A line that ends early, because its writer was killed, is ignored; a line of another set of
    layouts is timed again.

    **Arguments:**

    - `path`: the file of timings, which may exist.
    - `seed`: of the configurations.
    - `cells`: the number of cells.
    - `shard`: (i, n): only cells whose number is i modulo n, for n processes with a file each.
    - `seconds`: begin no new cell after this time.
    - `limits`: the largest graphs; by default those for the device.
    - `again`: a file whose configurations are timed once more, in place of cells, but only with the
      candidates that took at most twice the least time there.
    - `progress`: called with each new record.

    **Returns:** the number of configurations in the file.
    """
    began = time.monotonic()
    limits = limits or limits_here()
    done = {measured.configuration for measured in read_timings(path)} if path.exists() else set()
    _end_line(path)
    work = _cells(cells, shard, seed, limits) if again is None else _again(again, shard)
    with path.open("a", encoding="utf-8") as file:
        for configuration, names in work:
            if seconds is not None and time.monotonic() - began > seconds:
                break
            if configuration in done:
                continue
            features, contest = contest_of(configuration, names)
            measured = measure(configuration, features, contest, contest.programs())
            file.write(line_of(measured))
            file.flush()
            os.fsync(file.fileno())
            done.add(configuration)
            if len(done) % _FORGET_AFTER == 0:
                jax.clear_caches()
            if progress is not None:
                progress(measured)
    return len(done)


_Work: TypeAlias = Iterator[tuple[TimingCase, Collection[str]]]


def _cells(cells: int, shard: tuple[int, int], seed: int, limits: Limits) -> _Work:
    for cell in range(shard[0], cells, shard[1]):
        for configuration in members(cell, seed=seed, limits=limits):
            yield configuration, BY_NAME


def _again(path: Path, shard: tuple[int, int]) -> _Work:
    for place, measured in enumerate(read_timings(path)):
        if place % shard[1] == shard[0]:
            least = {name: min(timing.samples) for name, timing in measured.times.items()}
            best = min(least.values())
            yield measured.configuration, [n for n, x in least.items() if x <= 2 * best]


def contest_of(
    configuration: TimingCase, names: Collection[str] = tuple(BY_NAME)
) -> tuple[Features, Contest]:
    """What is timed for a configuration.

    **Arguments:**

    - `configuration`: the graph and the workload.
    - `names`: the candidates; those that do not fit in memory are left out.

    **Returns:** the features of the graph, and the contest.
    """
    edges, workload = configuration.edges(), configuration.workload
    features = features_of(edges)
    candidates, _ = feasible(features, workload, free=_MOST_BYTES[device_of(None)[0]])
    candidates = [c for c in candidates if c.name in names]
    return features, Contest.of(candidates, edges, workload, configuration.inputs(INPUTS))


def measure(
    configuration: TimingCase,
    features: Features,
    contest: Contest,
    programs: Mapping[str, Compiled],
) -> TimingRecord:
    """Time a configuration on the default device.

    **Arguments:**

    - `configuration`: the graph and the workload.
    - `features`, `contest`: what `contest_of(configuration)` returned.
    - `programs`: what `contest.programs()` returned.

    **Returns:** the record.
    """
    times = contest.timed(programs, rounds=_ROUNDS)
    _, kind = device_of(None)
    return TimingRecord(configuration, features, times, kind)


def limits_here() -> Limits:
    """The largest graphs to time on the default device.

    **Returns:** the limits.
    """
    device, _ = device_of(None)
    return CPU_LIMITS if device == "cpu" else GPU_LIMITS


def read_timings(path: Path, *, sets: Collection[int] = (LAYOUT_SET,)) -> Iterator[TimingRecord]:
    """Read the records of a file of timings.

    A line that is not JSON is skipped, because its writer was killed.

    **Arguments:**

    - `path`: the file; it is decompressed if its name ends with `.gz`.
    - `sets`: the sets of layouts whose records are read; by default the current one.

    **Returns:** an iterator of records.

    **Raises:** `ValueError` for a line that is JSON but not a record, or longer than a million
    characters.
    """
    is_packed = path.suffix == ".gz"
    with gzip.open(path, "rb") if is_packed else path.open("rb") as file:
        for number in itertools.count(1):
            line = file.readline(_MAX_LINE)
            if not line:
                return
            problem = "the line is too long" if len(line) == _MAX_LINE else None
            try:
                record = parse_json(line) if problem is None else None
                if isinstance(record, dict) and record.get("layouts") in sets:
                    yield _read(record)
            except JsonSyntaxError:
                continue
            except (KeyError, TypeError, ValueError) as error:
                problem = f"{type(error).__name__}: {error}"[:200]
            if problem is not None:
                message = f"{path}:{number}: this is not a record of timings ({problem})"
                raise ValueError(f"{message}. Remove the line.")


def line_of(measured: TimingRecord) -> str:
    """Format a record as a line of a file of timings.

    **Arguments:**

    - `measured`: the record.

    **Returns:** the line, with its end.
    """
    record = {
        "layouts": measured.layouts,
        "device": measured.device,
        "cores": num_cores(),
        "host": platform.machine(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "flags": os.environ.get("XLA_FLAGS", ""),
        "load": None if sys.platform == "win32" else os.getloadavg()[0],
        "configuration": dataclasses.asdict(measured.configuration),
        "features": dataclasses.asdict(measured.features),
        "times": {
            name: {
                "hopeless": timing.is_hopeless,
                "samples": [float(f"{x:.4g}") for x in timing.samples],
            }
            for name, timing in measured.times.items()
        },
    }
    return json.dumps(record) + "\n"


def _read(record: dict[str, Any]) -> TimingRecord:
    features = dict(record["features"])
    for side in ("into", "out_of"):
        features[side] = _filled(Degrees, features[side])
    times = {}
    for name, timing in record["times"].items():
        samples, is_hopeless = timing["samples"], timing["hopeless"]
        if not samples or not all(type(x) is float and 0 < x < math.inf for x in samples):
            raise ValueError(f"the samples of {name!r} are not positive times")
        if name in BY_NAME:
            times[name] = Timing(tuple(samples), is_hopeless=is_hopeless is True)
    if type(record["device"]) is not str or type(record["layouts"]) is not int:
        raise ValueError("its device or set of layouts is none")
    configuration = _filled(TimingCase, record["configuration"])
    known = _filled(Features, features)
    return TimingRecord(configuration, known, times, record["device"], record["layouts"])


def _filled(kind: type[T], values: Mapping[str, Any]) -> T:
    """An object of these values. **Raises:** `ValueError` if one is of the wrong type."""
    made = kind(**values)
    for field in dataclasses.fields(made):  # pyright: ignore[reportArgumentType]
        value = values[field.name]
        allowed = get_args(field.type) or (field.type,)
        is_right = value in allowed if get_args(field.type) else type(value) in allowed
        if field.type is float:
            is_right = type(value) in (int, float) and math.isfinite(value)
        if not is_right:
            raise ValueError(f"`{field.name}` is {value!r:.60}")
    return made


def _end_line(path: Path) -> None:
    """End the last line of a file whose writer was killed, so that the next is one of its own."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


explain_arguments(__name__)
