"""Fail if a short figure takes more than 1.25 times the CPU time that it took at a baseline commit.

    python bench/paired.py

The baseline is the commit in `bench/baseline`. Its package and that of this tree each run in a
process of their own, with the benches of this tree, and take turns: other work on the machine slows
both. The least CPU times are compared. A figure that seems slow is measured again in new processes
before it fails. Without the baseline commit, as in a shallow clone, nothing is measured, and one
line says so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO


ROOT = Path(__file__).parents[1]
BASELINE = ROOT / "bench" / "baseline"

#: Module and figure: public calls of a few milliseconds, of every kind of model.
FIGURES = {
    "natural numbers": "small_runs",
    "nine steps of ten neurons": "small_runs",
    "sort 100": "sorting",
    "sort 250": "sorting",
    "lower the listed sort 100": "sorting",
    "net mul": "sleptsov",
    "1,000 random paths of 20 neurons": "batches",
    "SystemBatch of 64 systems": "batches",
    "explore subset sum 6": "exploration",
    "proliferation: exact means and covariance": "proliferation",
}
LIMIT = 1.25
_TURNS, _ATTEMPTS = 8, 8
_SECONDS = 0.15  # a turn of one process
_ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"}


@dataclass(frozen=True)
class Found:
    """The least seconds of CPU a call at the baseline and here."""

    old: float
    new: float

    @property
    def ratio(self) -> float:
        return self.new / self.old

    def better(self, other: "Found") -> "Found":
        return Found(min(self.old, other.old), min(self.new, other.new))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/paired.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", choices=[[], *FIGURES], help="by default all")
    parser.add_argument("--baseline", help="another commit")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(sys.stdin, sys.stdout)
        return
    commit = arguments.baseline or BASELINE.read_text().split()[0]
    names = arguments.figures or list(FIGURES)
    with tempfile.TemporaryDirectory() as folder:
        if not checked_out(commit, Path(folder)):
            print(f"skipped: the baseline {commit} is not in this clone and cannot be fetched")
            return
        began = time.monotonic()
        slow = compare(names, lambda names: measured(Path(folder), names))
        print(f"{len(names)} figures beside {commit[:10]} in {time.monotonic() - began:.0f} s")
    if slow:
        sys.exit(f"slower than {LIMIT} times the baseline: {', '.join(slow)}")


def checked_out(commit: str, folder: Path) -> bool:
    """Whether the packages of that commit are now in `folder`."""
    git = ["git", "-C", str(ROOT)]
    there = subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True)
    if there.returncode:
        fetch = [*git, "fetch", "--quiet", "--depth", "1", "origin", commit]
        if subprocess.run(fetch, capture_output=True).returncode:
            return False
    archive = subprocess.run(
        [*git, "archive", commit, "snpjax", "formats"], capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return True


def compare(names: list[str], measure: Callable[[list[str]], dict[str, Found]]) -> list[str]:
    """The names of figures that are slower each time they are measured."""
    found: dict[str, Found] = {}
    slow = names
    for attempt in range(_ATTEMPTS):
        for name, own in measure(slow).items():
            found[name] = own.better(found[name]) if attempt else own
        slow = [name for name in slow if found[name].ratio > LIMIT]
        if not slow:
            break
        for name in slow:
            print(f"measured again: {name}, {found[name].ratio:.2f} at least so far", flush=True)
    for name in names:
        old, new = (f"{1e3 * seconds:9.3f}" for seconds in (found[name].old, found[name].new))
        print(f"{name:45} {old} {new} ms of CPU  {found[name].ratio:.2f}", flush=True)
    return slow


def measured(baseline: Path, names: list[str]) -> dict[str, Found]:
    """Both trees in turn; which one begins changes from turn to turn."""
    with ExitStack() as stack:
        workers = {}
        for name, tree in (("old", baseline), ("new", ROOT)):
            workers[name] = stack.enter_context(Worker(tree))
        found = {}
        for name in names:
            for worker in workers.values():  # both compile at the same time
                worker.send(f"build {name}")
            for worker in workers.values():
                worker.answer()
            least = {side: float("inf") for side in workers}
            for turn in range(_TURNS):
                for side in sorted(workers, reverse=turn % 2 == 0):
                    least[side] = min(least[side], float(workers[side].ask("turn")))
            found[name] = Found(least["old"], least["new"])
    return found


class Worker:
    """A process that builds figures and times them with the package of a tree."""

    def __init__(self, tree: Path) -> None:
        paths = f"{tree}:{tree / 'formats'}:{ROOT / 'bench'}"
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": paths},
        )
        used = Path(self.ask("where")).resolve()
        assert used.is_relative_to(tree.resolve()), f"{used} is not in {tree}"

    def ask(self, request: str) -> str:
        self.send(request)
        return self.answer()

    def send(self, request: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("a process that measures ended, see above")
        return answer.strip()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def work(requests: IO[str], answers: IO[str]) -> None:
    """Answer `where`, `build NAME` and `turn`, a line each."""
    import figures

    import snpjax

    call: Callable[[], object] = str
    for request in requests:
        what, _, name = request.strip().partition(" ")
        answer = "ready"
        if what == "where":
            answer = snpjax.__file__
        elif what == "build":
            import_module(FIGURES[name])
            case = figures.FIGURES[name].build()
            case.check(case.call())
            call = case.call
            figures.settle(call)
        else:
            answer = repr(least_cpu(call))
        print(answer, file=answers, flush=True)


def least_cpu(call: Callable[[], object]) -> float:
    """Seconds of CPU of the cheapest call, of at least two."""
    from figures import timed

    found = []
    end = time.perf_counter() + _SECONDS
    while len(found) < 2 or time.perf_counter() < end:
        found.append(timed(call)[1].cpu)
    return min(found)


if __name__ == "__main__":
    main()
