"""What the benches share: how a figure is declared, timed and written.

A figure is the time of a public call, made as a user makes it: `cold`, the first call in a fresh
process, compilation included (not the import, nor the start of the device), and `warm`, the least
of the calls after it. Beside it are the same work on a machine that was lowered and compiled
beforehand (`kept`), and by another tool (`anchor`), each timed in turn with the warm call. Answers
are checked before any of them is timed.
"""

import contextlib
import datetime
import gc
import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import snpjax as snp


EXAMPLES = Path(__file__).parents[1] / "examples"

#: Seconds a side of a figure is repeated for, at least three times; fewer where a call takes long.
SECONDS = 2.0
# Seconds of calls before they are timed, at most three times those that are: a program of a short
# call takes up to 2 s of them until it is compiled.
_SETTLING = 3.0
_LEAST, _MOST, _LONG = 3, 200, 4.0

_FACTORS = {"s": 1.0, "ms": 1e3, "us": 1e6}

T = TypeVar("T")


class Missing(Exception):
    """Something that a figure needs is not there; the message names it."""


class Clock(NamedTuple):
    """Seconds, of a wall clock and of all cores, processes started included."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> "Clock":
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = time.process_time() + children.ru_utime + children.ru_stime
        return cls(time.perf_counter(), cpu)


@dataclass(frozen=True)
class Anchor:
    """The same work by another tool; a call may return the `Clock` that the tool reports."""

    name: str
    call: Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One figure, built and ready to be timed.

    - `call`: the public call.
    - `check`: raises for a wrong answer; returns the amount of work if the unit is per something.
    - `unit`: `s`, `ms` or `us`, or those `per` an amount; or an amount `/s`.
    - `kept`, `anchor`: make what is timed beside it, once the first call is over; `kept` is given
      the answer of that call to compare its own with.
    - `is_process`: every call starts a process of its own, so that all are cold.
    """

    call: Callable[[], Any]
    check: Callable[[Any], float | None]
    unit: str = "ms"
    kept: Callable[[Any], Callable[[], Any]] | None = None
    anchor: Callable[[], Anchor] | None = None
    is_process: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    module: str
    devices: tuple[str, ...]
    build: Callable[[], Case]


FIGURES: dict[str, Figure] = {}


def figure(
    name: str, *arguments: Any, on: str = "cpu gpu"
) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """Declare a figure: `build(*arguments)` makes its case. `on` names the devices on which it is
    measured by default; empty: only if it is named."""

    def declare(build: Callable[..., Case]) -> Callable[..., Case]:
        assert name not in FIGURES, name
        module = build.__module__
        FIGURES[name] = Figure(name, module, tuple(on.split()), partial(build, *arguments))
        return build

    return declare


def timed(call: Callable[[], T]) -> tuple[T, Clock]:
    """The answer, ready, and what it took."""
    began = Clock.now()
    answer = jax.block_until_ready(call())
    now = Clock.now()
    return answer, Clock(now.wall - began.wall, now.cpu - began.cpu)


def least(calls: dict[str, Callable[[], Any]], seconds: float = SECONDS) -> dict[str, Clock]:
    """The least time of each call, of rounds that make each once: other work on the machine slows
    all of them."""
    found: dict[str, list[Clock]] = {name: [] for name in calls}
    gc.collect()
    began = time.perf_counter()
    for done in range(1, _MOST + 1):
        for name, call in calls.items():
            answer, clock = timed(call)
            found[name].append(answer if isinstance(answer, Clock) else clock)
        spent = (time.perf_counter() - began) / len(calls)
        if (done >= _LEAST and spent > seconds) or spent > _LONG * max(seconds, 1.0):
            break
    return {
        name: Clock(min(c.wall for c in clocks), min(c.cpu for c in clocks))
        for name, clocks in found.items()
    }


def settle(call: Callable[[], Any], seconds: float = SECONDS) -> None:
    """Call until programs that are evaluated at first are compiled, and at least once."""
    end = time.perf_counter() + min(_SETTLING, 3 * seconds)
    while True:
        jax.block_until_ready(call())
        if time.perf_counter() > end:
            return


@dataclass(frozen=True)
class Line:
    """A figure of one kind, a line of JSON.

    - `kind`: `cold`, `warm`, `kept`, or the name of the other tool.
    - `value`, `cpu`: by the wall clock, and by CPU time.
    """

    name: str
    kind: str
    value: float
    cpu: float
    unit: str
    commit: str
    device: str
    date: str
    versions: dict[str, str]

    def json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Setup:
    """What the figures of a run have in common."""

    commit: str

    @cached_property
    def device(self) -> str:
        return device_name()

    @cached_property
    def date(self) -> str:
        return datetime.date.today().isoformat()

    @cached_property
    def versions(self) -> dict[str, str]:
        found = {"python": platform.python_version(), "snpjax": snp.__version__}
        for name in ("jax", "jaxlib", "numpy"):
            with contextlib.suppress(PackageNotFoundError):
                found[name] = version(name)
        return found

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"commit {self.commit}, {self.device}, {self.date}, {versions}"

    def line(self, name: str, kind: str, clock: Clock, amount: float, unit: str) -> Line:
        value, cpu = (round(in_unit(x, amount, unit), 12) for x in clock)
        common = (self.commit, self.device, self.date, self.versions)
        return Line(name, kind, value, cpu, unit, *common)


@dataclass(frozen=True)
class Accuracy:
    """How accurate a trained network is, a line of JSON.

    - `accuracy`: on test samples, the mean over seeds; `worst` that of the worst one.
    - `cpu`: seconds of CPU time of one training, the mean over seeds.
    - `seeds`: the seeds, of samples or splits, weights and orders.
    - `hidden`: how many hidden neurons it has.
    - `bits`: of all trained numbers.
    - `spikes`: of neurons other than inputs, for one sample.

    `None` where it is not measured.
    """

    task: str
    model: str
    accuracy: float
    worst: float
    cpu: float
    seeds: tuple[int, ...]
    hidden: int
    bits: int | None = None
    spikes: float | None = None

    def json(self, setup: Setup) -> str:
        common = {"commit": setup.commit, "device": setup.device, "date": setup.date}
        return json.dumps({**asdict(self), **common, "versions": setup.versions})

    def __str__(self) -> str:
        bits = "" if self.bits is None else f"{self.bits:9,} bits"
        spikes = "" if self.spikes is None else f"{self.spikes:9,.1f} spikes"
        return (
            f"{self.task:14} {self.model:6} {self.accuracy:8.2%}, worst {self.worst:8.2%}, "
            f"{self.cpu:5.1f} s of CPU time {bits} {spikes}".rstrip()
        )


def in_unit(seconds: float, amount: float, unit: str) -> float:
    if unit.endswith("/s"):
        return amount / max(seconds, 1e-9)
    return _FACTORS[unit.split()[0]] * seconds / amount


def device_name() -> str:
    device = jax.devices()[0]
    if device.platform != "cpu":
        return device.device_kind
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((x.split(": ")[1] for x in lines if x.startswith("model name")), model)
    return f"{len(os.sched_getaffinity(0))} cores of {model}"


def commit_of() -> str:
    """The commit of the snpjax that is imported, with a `+` if files differ from it; its version
    if it is installed."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(snp.__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        commit = git("rev-parse", "--short=10", "HEAD")
        return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return f"version {snp.__version__}"


def measure(name: str, setup: Setup, seconds: float = SECONDS) -> Iterator[Line | Missing]:
    """The lines of a figure, and what of it cannot be measured here. Call it in a new process."""
    jax.block_until_ready(jnp.zeros(1))  # the device is there before the clock starts
    case = FIGURES[name].build()
    answer, first = timed(case.call)
    amount = case.check(answer) or 1.0
    line = partial(setup.line, name, amount=amount, unit=case.unit)
    if case.is_process:
        yield line("cold", clock=least({"cold": case.call}, seconds)["cold"])
        return
    yield line("cold", clock=first)
    calls = {"warm": case.call}
    if case.kept is not None:
        calls["kept"] = case.kept(answer)
    del answer
    try:
        if case.anchor is not None:
            anchor = case.anchor()
            calls[anchor.name] = anchor.call
    except Missing as missing:
        yield missing
    for call in calls.values():
        settle(call, seconds)
    for kind, clock in least(calls, seconds).items():
        yield line(kind, clock=clock)


def is_cpu() -> bool:
    return jax.default_backend() == "cpu"


def of_run(
    model: Any,
    check: Callable[[Any], float | None],
    *,
    max_steps: int,
    choice: snp.AbstractChoice | None = None,
    paths: int | None = None,
    inputs: np.ndarray | None = None,
    initial: np.ndarray | None = None,
    save: snp.Save | None = None,
    unit: str = "ms",
    anchor: Callable[[], Anchor] | None = None,
    **options: Any,
) -> Case:
    """The case of `snp.run(model, ...)`; kept is `snp.simulate` of the lowered machine under `jit`,
    which saves nothing."""
    choice = snp.FirstChoice() if choice is None else choice

    def call() -> Any:
        return snp.run(
            model,
            max_steps=max_steps,
            choice=choice,  # pyright: ignore[reportArgumentType]
            paths=paths,
            inputs=inputs,
            initial=initial,
            save=save,
            **options,
        )

    def kept(answer: Any) -> Callable[[], Any]:
        lowered = snp.lower(model, **options)
        machine = lowered.machine_for(max_steps)
        wide = any(x.dtype.itemsize == 8 for x in jax.tree.leaves(machine))
        unroll = 1 if is_cpu() else 32

        @jax.jit
        def loop(machine: Any, state: Any, choice: Any, limit: Any) -> snp.Simulation:
            return snp.simulate(machine, state, choice, max_steps=limit, unroll=unroll)

        with jax.enable_x64(wide):
            if inputs is not None or initial is not None:
                machine, state = model.start(machine, initial, inputs)
            elif paths is None:
                state = lowered.machine.init()  # pyright: ignore[reportAttributeAccessIssue]
            else:
                one = machine.init()  # pyright: ignore[reportAttributeAccessIssue]
                wider = partial(_with_paths, paths=paths)
                state = jax.tree.map(wider, one)

        def call() -> snp.Simulation:
            with jax.enable_x64(wide):
                return jax.block_until_ready(loop(machine, state, choice, max_steps))

        assert np.array_equal(np.asarray(answer.steps), np.asarray(call().steps))
        return call

    return Case(call, check, unit, kept, anchor)


def _with_paths(x: jax.Array, paths: int) -> jax.Array:
    return jnp.broadcast_to(x[..., None], (*x.shape, paths))
