"""How long does a first call take in a new process, most of which is compilation?

    python bench/compiling.py                          # twelve calls, three commands, a large net
    python bench/compiling.py run "snpjax *" --rounds 5
    python bench/compiling.py explore --by-program     # where XLA's seconds go
    python bench/compiling.py --beside ../other        # the packages of another checkout in turn

Each call runs in a process of its own: without the cache on disk, and with one that an earlier
process filled. In turn with them runs `import jax` with one compiled addition, and times are also
given as multiples of its time. A line has the number of programs, and the least seconds of a
process, import and start included. As for users, Python finds the bytecode of all modules.
"""

import argparse
import contextlib
import fnmatch
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock


ROOT = Path(__file__).parents[1]
#: Variables of this process that would change what is measured.
_CHANGED = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_COMPILATION_CACHE",
    "PYTHONDONTWRITEBYTECODE",
    "SNPJAX_COMPILATION_CACHE",
)
_ADDITION = "import jax; jax.jit(lambda x: x + 1)(1)"
_START = """
import jax, numpy as np, snpjax as snp
system = snp.read("examples/natural_numbers.pli")
choose = lambda: snp.UniformChoice(jax.random.key(0))
"""

#: Twelve first calls, and a large net. Each checks its answer.
CALLS = {
    "run": "assert snp.run(system, max_steps=100, choice=choose()).halted",
    "explore": "assert snp.explore(system).is_complete",
    "check": "assert snp.check(system, 'always output <= 2').status.name == 'PROVED'",
    "net": "assert snp.run(snp.read_net('examples/half.lsn')).halted",
    "division": """
cell = snp.Neuron("cell", 2, ["[a^2]_cell -> []_left || []_right"])
grown = snp.run(snp.SpikingSystem([cell, snp.Neuron("sink")], [("cell", "sink")]))
assert sorted(grown.network().labels) == ["left", "right", "sink"]
""",
    "plasticity": """
solution = snp.run(snp.read("examples/plasticity.snp.json"), max_steps=30, choice=choose())
assert solution.steps
""",
    "learning step": """
import equinox as eqx
import jax.numpy as jnp
from snpjax import learn

neurons = [snp.Neuron("x", 4, ["a+/a -> a"]), snp.Neuron("y", 0, ["a{3,}/a^3 -> a"])]
model = learn.relax(snp.SpikingSystem(neurons, [("x", "y")], output=["y"]))

@eqx.filter_jit
def improved(model):
    loss = lambda model: (jnp.sum(learn.run(model, steps=8).outputs) - 4.0) ** 2
    slopes = eqx.filter_grad(loss)(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.01 * g, slopes))

assert jax.tree.leaves(improved(model))
""",
    "calibration": """
from snpjax import proliferation as pr

axis = 10.0 ** (4 * np.arange(64) / 64)
near = np.random.default_rng(1).normal(3.6, 0.13, 5_000)
start = pr.Histogram(axis, np.bincount(np.searchsorted(axis, 10.0 ** near), minlength=64)[:64])
slow, fast = pr.Normal(63.7, 28.9), pr.Normal(41.1, 14.3)
types = pr.CellType("slow", 0.4, slow), pr.CellType("fast", 0.6, fast)
model = pr.ProliferationModel(start, types, duration=120.0)
table = pr.expected(model).table()
place = np.minimum(np.searchsorted(axis, table.fluorescence), 63)
end = pr.Histogram(axis, np.round(np.bincount(place, table.total, 64)).astype(np.int64))
assert "fast mean" in pr.calibrate(model, end, starts=1).values
""",
    "rate": """
from snpjax import rate

population = rate.RatePopulation("r", 100, rate.leaky(), parameters={"tau": 20.0, "b": 0.5})
projection = rate.RateProjection("r", "r", snp.graphs.RandomInDegree(10, 0), weights=-0.01)
solution = snp.run(rate.RateNetwork([population], [projection], dt=1.0), max_steps=200)
assert 0 < solution.rates["r"]["r"][-1].mean() < 0.5
""",
    "batch": """
solution = snp.run(system, max_steps=100, choice=choose(), paths=1000)
assert solution.halted.all()
""",
    "draw": "assert snp.explore(system).to_svg().startswith('<svg')",
    "growth": """
solution = grown(14)
assert solution.halted and len(solution.spikes) == 32_830 and solution.spike_times()[0] == 874
""",
    "large net": """
graph = snp.explore(large_net())
assert (graph.num_configurations, graph.depth + 1) == (14_895, 134)
""",
}

#: The same by the command.
COMMANDS = {
    "snpjax run": ["run", "examples/natural_numbers.pli"],
    "snpjax explore": ["explore", "examples/natural_numbers.pli"],
    "snpjax check": ["check", "examples/natural_numbers.pli", "always output <= 2"],
}


def large_net() -> Any:
    """A net of 107 places and 104 transitions, with 14,895 markings in 134 levels: two tokens move
    along a line of 30 places and one along a line of 76, which leaves a credit for each of its
    moves after the 15th. A move on the other line takes a credit."""
    from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet

    short, long, lead = 30, 76, 15
    credit = short + long
    inputs, outputs = [], []
    for i in range(short - 1):
        inputs += [(i, i, 1), (credit, i, 1)]
        outputs.append((i + 1, i, 1))
    for i in range(long - 1):
        place, transition = short + i, short - 1 + i
        inputs.append((place, transition, 1))
        outputs += [(place + 1, transition, 1), *([(credit, transition, 1)] if i >= lead else [])]
    marking = [0] * (credit + 1)
    marking[0], marking[short] = 2, 1
    net = SleptsovNet(marking, inputs=Arcs.of(inputs), outputs=Arcs.of(outputs))
    return Execution(net, rule=Petri())


def grown(n: int) -> Any:
    """A run that decides by division and budding whether 60 clauses of `n` variables can hold."""
    import numpy as np

    import snpjax as snp

    sys.path.insert(0, "examples")
    from dimacs import Formula
    from sat_families import by_division_and_budding

    draw = np.random.default_rng(0)
    places = (draw.choice(n, 3, replace=False) + 1 for _ in range(60))
    clauses = [[int(v) for v in some * draw.choice([-1, 1], 3)] for some in places]
    return snp.run(by_division_and_budding(Formula(n, clauses)), save=snp.SAVE_OUTPUTS)


@dataclass(frozen=True)
class Found:
    """What a process took, and the programs that it asked XLA for, with the seconds of each;
    `num_found` of them were on disk."""

    wall: float
    cpu: float
    programs: tuple[tuple[str, float], ...] = ()
    num_found: int = 0

    @property
    def num_compiled(self) -> int:
        return len(self.programs) - self.num_found

    def better(self, other: "Found | None") -> "Found":
        if other is None:
            return self
        return replace(self, wall=min(self.wall, other.wall), cpu=min(self.cpu, other.cpu))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/compiling.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("calls", nargs="*", help="names of calls; * is any text; by default all")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind; default: 3")
    parser.add_argument("--by-program", action="store_true", help="list XLA's seconds by program")
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("-o", "--out", type=Path, help="add JSON lines about this tree to it")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone is not None:
        alone(arguments.alone)
        return
    known = [*CALLS, *COMMANDS]
    patterns = arguments.calls or ["*"]
    names = [name for name in known if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
    if not names:
        parser.error(f"there is no such call (write one of {', '.join(known)})")
    trees = {"": ROOT}
    if arguments.beside is not None:
        trees = {"beside": arguments.beside.resolve(), "here": ROOT}
    print(f"{'call':22} {'programs':>8} {'no cache: wall':>14} {'CPU':>12}", end="")
    print(f" {'compiled':>9} {'cache: wall':>13} {'CPU':>12}   an addition")
    with tempfile.TemporaryDirectory() as bytecode:
        for name in _CHANGED:
            os.environ.pop(name, None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        addition()
        for name in names:
            compare(name, trees, arguments)


def compare(name: str, trees: dict[str, Path], arguments: argparse.Namespace) -> None:
    """The lines of one call: each tree without and with what an earlier process compiled."""
    best: dict[tuple[str, bool], Found] = {}
    with tempfile.TemporaryDirectory() as folder:
        for side, tree in trees.items():
            measured(name, tree, Path(folder, side))  # fills the folder
        floor = None
        for _ in range(arguments.rounds):
            floor = addition().better(floor)
            for side, tree in trees.items():
                for cache in (None, Path(folder, side)):
                    key = side, cache is not None
                    best[key] = measured(name, tree, cache).better(best.get(key))
    assert floor is not None
    for side in trees:
        cold, warm = best[side, False], best[side, True]
        print(
            f"{f'{name} {side}':22} {len(cold.programs):8} {times(cold, floor)}"
            f" {warm.num_compiled:9} {times(warm, floor)}   {floor.wall:.2f} {floor.cpu:.2f}",
            flush=True,
        )
        if arguments.by_program:
            for program, seconds in sorted(cold.programs, key=lambda one: -one[1]):
                print(f"    {seconds:7.3f} s  {program}")
        if arguments.out is not None and side != "beside":
            write(arguments.out, name, {"no cache": cold, "cache": warm})


def times(found: Found, floor: Found) -> str:
    """Seconds, and how many times those of `import jax` with an addition."""
    wall, cpu = found.wall / floor.wall, found.cpu / floor.cpu
    return f"{found.wall:6.2f} ({wall:4.1f}) {found.cpu:5.2f} ({cpu:4.1f})"


def write(out: Path, name: str, found: dict[str, Found]) -> None:
    """Lines about this tree that `compare.py` reads."""
    from figures import Clock, Setup, commit_of

    setup = Setup(commit_of())
    with out.open("a") as file:
        for kind, one in found.items():
            clock = Clock(one.wall, one.cpu)
            file.write(setup.line(f"first {name}", kind, clock, 1.0, "s").json() + "\n")


def addition() -> Found:
    return of_process(["-c", _ADDITION], {"JAX_ENABLE_COMPILATION_CACHE": "false"})[0]


def measured(name: str, tree: Path, cache: Path | None) -> Found:
    """The call in a new process with the packages of a tree."""
    environment = {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'formats'}"}
    if cache is None:
        environment["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    elif (tree / "snpjax" / "compilation.py").exists():
        environment["SNPJAX_COMPILATION_CACHE"] = str(cache)
    else:  # a tree from before
        environment["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        environment["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    found, output = of_process([__file__, "--alone", name], environment)
    answer = json.loads(output)
    programs = tuple((program, seconds) for program, seconds in answer["programs"])
    return replace(found, programs=programs, num_found=answer["found"])


def of_process(command: list[str], environment: dict[str, str]) -> tuple[Found, str]:
    from figures import timed

    def call() -> str:
        return subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    output, clock = timed(call)
    return Found(*clock), output


def alone(name: str) -> None:
    """Make one call in this process, and print what was compiled for it as JSON."""
    import jax

    programs: list[tuple[str, float]] = []
    events: list[str] = []

    def on_duration(event: str, duration_secs: float, **about: Any) -> None:
        if event.endswith("/backend_compile_duration"):
            programs.append((str(about.get("fun_name")), duration_secs))

    jax.monitoring.register_event_duration_secs_listener(on_duration)
    jax.monitoring.register_event_listener(lambda event, **_: events.append(event))

    def tell() -> None:
        num_found = sum(event.endswith("/cache_hits") for event in events)
        print(json.dumps({"programs": programs, "found": num_found}), flush=True)

    if name in COMMANDS:
        by_command(COMMANDS[name], tell)
    else:
        import snpjax as snp

        with contextlib.redirect_stdout(io.StringIO()):
            if "use_compilation_cache" in dir(snp):
                snp.use_compilation_cache()
            exec(_START + CALLS[name], {"large_net": large_net, "grown": grown})
        tell()


def by_command(arguments: list[str], tell: Callable[[], None]) -> None:
    """Run the command as a user does, which ends the process, and say how it went."""
    from snpjax.cli import main

    shown, exit_at_once = sys.stdout, getattr(os, "_exit")  # noqa: B009

    def end(status: int) -> None:
        assert status == 0, status
        sys.stdout = shown
        tell()
        exit_at_once(status)

    sys.argv, sys.stdout = ["snpjax", *arguments], io.StringIO()
    with mock.patch("os._exit", end):
        try:
            main()
        except SystemExit as ended:  # of versions that shut Python down
            end(int(ended.code or 0))


if __name__ == "__main__":
    main()
