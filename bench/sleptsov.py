"""How many steps a second does a Sleptsov net make, and does it depend on the size of the net?

One path by both engines, from 16 to 47,000 transitions: the product of two numbers (`mul`), double
exponents (`d4` to `d8`, one token at a time), products of matrices (`mmul3` to `mmul10`) and a
polynomial (`pol25`). Then 16,384 paths at once. The answers are checked against Python integers
before a clock is looked at; nets that take too long are timed over a fixed number of steps.

Compilation is not measured, nor is lowering: runs are repeated, and the best is taken. Both
engines run in turn. Other nets are measured by their files:

    PYTHONPATH=.:formats python bench/sleptsov.py [--batch PATHS] [FILE ...]
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import snpjax as snp
from snpjax.sleptsov import EventDriven, FullScan, NetSolution, NetSolutionBatch, SleptsovNet
from snpjax.sleptsov.programs import (
    Program,
    double_exponent,
    matrix_product,
    polynomial,
    started,
)
from snpjax.sleptsov.subnets import mul


MOST_STEPS = 2_000_000
SECONDS = 0.5  # a measurement makes as many steps as take about so long
ENGINES = {"event": EventDriven(), "scan": FullScan()}
# The scan of these would take minutes.
_MOST_SCANNED = 20_000

#: Steps a second of the C machine, one thread, and of the CUDA machine on an H200, as published in
#: the comparison that these nets are from; not measured here.
PUBLISHED = {
    "d4": (1.2e6, 7.3e4),
    "d5": (0.8e6, 7.2e4),
    "d8": (0.43e6, None),
    "mmul5": (1.13e4, None),
    "mmul7": (1.0e3, None),
    "mmul10": (225.0, None),
    "pol25": (2.1e4, None),
}


class Runner:
    """A net whose arrays are made once, so that only what runs is measured."""

    def __init__(self, net: SleptsovNet, engine: Any, dtype: type, initial: Any = None) -> None:
        self.lowered = snp.lower(net, engine=engine, count_dtype=dtype)
        self.initial = initial
        self.paths = None if initial is None else initial.shape[1]

    def run(self, max_steps: int) -> NetSolution | NetSolutionBatch:
        return snp.run(
            self.lowered,
            paths=self.paths,
            initial=self.initial,
            max_steps=max_steps,
            save=snp.SAVE_FINAL,
        )


def matrices(k: int) -> tuple[np.ndarray, np.ndarray]:
    entries = np.arange(2 * k * k).reshape(2, k, k)
    return entries[0] % 7 + 1, entries[1] % 10 + 1


def programs() -> Iterator[tuple[str, Program, Any]]:
    """A name, a program, and its answer."""
    yield "mul", started(mul(), 1_000_003, 2**31 - 1), 1_000_003 * (2**31 - 1)
    for level in (4, 5, 8):
        yield f"d{level}", double_exponent(level), None
    for k in (3, 5, 7, 10):
        a, b = matrices(k)
        yield f"mmul{k}", matrix_product(a, b), a @ b
    coefficients = [c % 3 + 1 for c in range(26)]
    answer = sum(c * 2**power for power, c in enumerate(coefficients))
    yield "pol25", polynomial(coefficients, 2), answer


def check(program: Program, answer: Any) -> None:
    """Run to the end where an answer is known, and compare it."""
    if answer is None:
        return
    found = snp.run(program.net, max_steps=2**24)
    assert found.halted and program.is_done(found.marking)
    assert np.array_equal(program.decode(found.marking), answer)


def best(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    found, times = None, []
    for _ in range(repeats):
        began = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - began)
    return found, min(times)


def speed(model: Runner, most: int) -> float:
    """Steps a second, of all paths together."""
    found = model.run(256)  # compiles
    seconds = best(lambda: model.run(256), 2)[1]
    steps = int(min(most, max(256, 256 * SECONDS / seconds)))
    found, seconds = best(lambda: model.run(steps))
    return float(np.sum(found.steps)) / seconds


def single(name: str, net: SleptsovNet) -> None:
    speeds = {}
    for name_of_engine, engine in ENGINES.items():
        arcs = len(net.inputs) + len(net.inhibitors) + len(net.tests)
        if name_of_engine == "event" or arcs <= _MOST_SCANNED:
            speeds[name_of_engine] = speed(Runner(net, engine, np.int64), MOST_STEPS)
    text = "  ".join(f"{engine} {value:>11,.0f}" for engine, value in speeds.items())
    if "scan" in speeds:
        text += f"  ratio {speeds['event'] / speeds['scan']:8.1f}"
    on_cpu = jax.default_backend() == "cpu"
    published = PUBLISHED.get(name, (None, None))[0 if on_cpu else 1]
    if published is not None:
        kind = "C" if on_cpu else "CUDA"
        text += (
            f"  published {kind} machine {published:,.0f}, {speeds['event'] / published:,.1f} times"
        )
    print(f"{name:8} {net.num_transitions:>7,} transitions: {text}", flush=True)


def batch(name: str, net: SleptsovNet, paths: int, most: int) -> None:
    markings = np.repeat(net.marking[:, None], paths, axis=1)
    speeds = {}
    for name_of_engine, engine in ENGINES.items():
        model = Runner(net, engine, np.int32, markings)
        model.run(most)
        found, seconds = best(lambda model=model: model.run(most), 2)
        speeds[name_of_engine] = float(np.sum(found.steps)) / seconds
        assert np.all(found.marking == found.marking[:, :1])
    text = "  ".join(f"{engine} {value:.3g}" for engine, value in speeds.items())
    print(f"{name:8} {paths:,} paths: {text} steps/s in all", flush=True)


def main(arguments: list[str]) -> None:
    paths = 16_384
    if "--batch" in arguments:
        at = arguments.index("--batch")
        paths = int(arguments[at + 1])
        del arguments[at : at + 2]
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        nets = {file: snp.read_net(file) for file in arguments}
        found = {} if arguments else {name: (p, a) for name, p, a in programs()}
    for name, (program, answer) in found.items():
        check(program, answer)
        nets[name] = program.net
    for name, net in nets.items():
        single(name, net)
    for name in ("d4", "d8", *arguments):
        if name in nets and paths:
            batch(name, nets[name], paths, 256)


if __name__ == "__main__":
    main(sys.argv[1:])


# ======= RESULTS =======
#
# python bench/sleptsov.py, 2 cores of an Intel Xeon that four people shared (load 3 to 4), jax
# 0.10.2, 2026-11-22; steps a second, the answers checked. Other runs under more load gave half of
# it. `mul` has 300 steps, so that what a run costs besides its steps, 0.4 ms, is most of it.
#
#     mul           16 transitions: event     585,622  scan     273,757  ratio      2.1
#     d4            72 transitions: event   2,417,812  scan     392,562  ratio      6.2
#     d5            91 transitions: event   2,696,919  scan     740,867  ratio      3.6
#     d8           148 transitions: event   4,580,679  scan     636,257  ratio      7.2
#     mmul3      1,118 transitions: event   1,640,951  scan     123,523  ratio     13.3
#     mmul5      5,452 transitions: event   2,490,587  scan      75,742  ratio     32.9
#     mmul7     15,290 transitions: event   5,199,827
#     mmul10    45,302 transitions: event   5,497,366
#     pol25     10,175 transitions: event   4,843,823
#     d4       16,384 paths (load 5): event 1.54e+06  scan 1.28e+06
#     d8       16,384 paths (load 5): event 1.87e+06  scan 1.22e+06
#
# The published C machine, built here (gcc -O3, one thread), on its own files, under load 5: div
# 607,000 (252 steps), d4 201,000, d8 115,000, mmul5 1,580, mm10 15. A minute before, under the same
# load, the event-driven engine made 1,130,000 of d4, 1,780,000 of d8, 2,470,000 of mmul5 and
# 1,370,000 of mmul10: 5.6, 15, 1,560 and 90,000 times.
#
# The product of two 20 x 20 matrices, 369,202 transitions: 1.6 s to build, 2.1 s for the first run
# to the end of its 472,642 steps with lowering and compilation, 0.6 s for the second, 540 MB.
#
# Two quiet cores of the H200's host, jax 0.11.2, 2026-11-22, its files: div 522,000 (252 steps,
# beside 700,000 of the C machine on the same cores: 0.75 times), d4 4,400,000; 4,096 paths of div
# 1.17e7, of d4 4.6e6 (the scan 4.5e6).
#
# One NVIDIA H200, jax 0.11.2, 2026-11-22, whole runs:
#
#     mul           16 transitions: event     142,907  scan      67,294  ratio      2.1
#     div           61 transitions: event     131,731  scan      74,311  ratio      1.8 (252 steps)
#     d4            72 transitions: event     439,740  scan     108,677  ratio      4.0
#     d5            91 transitions: event     425,640  scan     103,574  ratio      4.1
#     d8           148 transitions: event     433,253  scan     109,634  ratio      4.0
#     mmul3      1,118 transitions: event     305,927  scan      69,034  ratio      4.4
#     mmul5      5,452 transitions: event     486,963  scan      68,142  ratio      7.1
#     mmul7     15,290 transitions: event     548,140
#     mmul10    45,302 transitions: event     546,299
#     pol25     10,175 transitions: event     516,344
#     div      16,384 paths: event 8.35e+08  scan 6.46e+08; 65,536 paths: 8.8e+08 and 9.4e+08
#     d4       16,384 paths: event 4.14e+08  scan 2.99e+08
#     d8       16,384 paths: event 3.18e+08  scan 2.68e+08
#
# The kernels alone (`EventMachine.leap`, int32), nets of
# the published files; steps a second:
#
#     one path: div 448,000, d4 502,000, mmul3 300,000, mmul5 507,000, mm10 600,000 (whole runs from
#     mmul3 on); the scan: d4 118,000, mmul5 72,000. int64, d4: 443,000.
#     16,384 paths: div 1.28e9, d4 9.6e8, mmul3 1.4e9; the scan, whole runs: div 3.6e8, d4 5.2e8.
#     65,536 paths: div 1.52e9.
#
# The published CUDA machine on the same GPU: div 20,400, d4 20,900 (71,000 and 73,000 were
# published): 22 and 24 times.
