"""How many steps a second does a Sleptsov net make, and does it depend on the size of the net?

One path, from 16 to 47,000 transitions: the product of two numbers (`mul`), double exponents (`d4`
to `d8`, one token at a time), products of matrices (`mmul3` to `mmul10`) and a polynomial
(`pol25`); then 16,384 paths at once, up to 256 steps of each on a CPU and 4,096 on a GPU. Answers
are checked against Python integers, runs that are cut off by their number of steps.

Beside them is the C machine of Zaitsev et al. 2025, `SN-MCC-VM-CPU/vmzk3.c` of
github.com/dimazaitsev/SNCtools. Give a folder with that file in the environment variable C_MACHINE.
It is compiled here by `cc -O3 -march=native` without OpenMP: its parallel regions cost more than
these nets take, even with one thread. Its times are those that it reports, without reading the net.
If the folder has `div.mcc` (of github.com/tishtri/SN-VM-GPU), the figure `div` runs it.
"""

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from figures import Anchor, Case, Clock, Missing, figure, is_cpu, of_run

import snpjax as snp
from snpjax.sleptsov import FullScan, NetSolution, NetSolutionBatch, SleptsovNet
from snpjax.sleptsov.programs import (
    Program,
    double_exponent,
    matrix_product,
    polynomial,
    started,
)
from snpjax.sleptsov.subnets import mul


#: The C machine makes as few steps of a large net as take a moment.
_SECONDS_OF_C = 1.0


def matrices(k: int) -> tuple[np.ndarray, np.ndarray]:
    entries = np.arange(2 * k * k).reshape(2, k, k)
    return entries[0] % 7 + 1, entries[1] % 10 + 1


def program(name: str) -> tuple[Program, Any]:
    """A program, and its answer, `None` for one that is cut off."""
    if name == "mul":
        return started(mul(), 1_003, 2**20 - 1), 1_003 * (2**20 - 1)
    if name == "pol25":
        coefficients = [c % 3 + 1 for c in range(26)]
        answer = sum(c * 2**power for power, c in enumerate(coefficients))
        return polynomial(coefficients, 2), answer
    if name.startswith("mmul"):
        a, b = matrices(int(name[4:]))
        return matrix_product(a, b), a @ b
    return double_exponent(int(name[1:])), None


@figure("net pol25", "pol25", 1_000_000, on="")
@figure("net mmul10", "mmul10", 1_000_000, on="gpu")
@figure("net mmul7", "mmul7", 1_000_000, on="cpu")
@figure("net mmul5", "mmul5", 1_000_000)
@figure("net mmul3", "mmul3", 1_000_000, on="")
@figure("net d8", "d8", 1_000_000)
@figure("net d5", "d5", 200_000, on="")
@figure("net d4", "d4", 200_000)
@figure("net mul", "mul", 100_000)
def net(name: str, most: int, is_scan: bool = False) -> Case:
    own, answer = program(name)

    def check(solution: NetSolution) -> float:
        if answer is not None:
            assert solution.halted and own.is_done(solution.marking)
            assert np.array_equal(own.decode(solution.marking), answer)
        else:
            assert solution.halted or solution.steps == most
        return float(solution.steps)

    return of_run(
        own.net,
        check,
        max_steps=most,
        unit="steps/s",
        anchor=partial(c_machine, own.net, most),
        engine=FullScan() if is_scan else None,
    )


for scanned in ("mul", "d4", "d8", "mmul5"):
    figure(f"net {scanned}, full scan", scanned, 200_000, True, on="")(net)


@figure("net div", on="cpu gpu")
def div() -> Case:
    """252 steps."""
    file = _folder() / "div.mcc"
    if not file.is_file():
        raise Missing(f"there is no {file.name} in the folder C_MACHINE")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        own = snp.read_net(file)

    def check(solution: NetSolution) -> float:
        assert solution.halted and solution.steps == 252
        return 252

    return of_run(own, check, max_steps=4096, unit="steps/s", anchor=partial(c_machine, own, 4096))


@figure("net d8, 16,384 paths", "d8", 16_384, on="")
@figure("net d4, 16,384 paths", "d4", 16_384)
@figure("net mul, 16,384 paths", "mul", 16_384)
def batch(name: str, paths: int) -> Case:
    own, _ = program(name)
    markings = np.repeat(own.net.marking[:, None], paths, axis=1)
    most = 256 if is_cpu() else 4_096

    def call() -> NetSolutionBatch:
        return snp.run(
            own.net,
            paths=paths,
            initial=markings,
            max_steps=most,
            save=snp.SAVE_FINAL,
            count_dtype=np.int32,
        )

    def check(found: NetSolutionBatch) -> float:
        one = snp.run(own.net, max_steps=most, save=snp.SAVE_FINAL)
        assert np.all(found.marking == one.marking[:, None])
        return float(np.sum(found.steps))

    return Case(call, check, unit="steps/s")


def _folder() -> Path:
    folder = Path(os.environ.get("C_MACHINE", "")).absolute()
    if not (folder / "vmzk3.c").is_file():
        raise Missing("no C machine: C_MACHINE is not a folder with vmzk3.c")
    return folder


@cache
def _compiled() -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    source = _folder() / "vmzk3.c"
    if compiler is None:
        raise Missing("no C machine: there is no compiler `cc`")
    program = Path(tempfile.mkdtemp(prefix="snpjax-bench-"), "machine")
    command = [compiler, "-O3", "-march=native", "-w", str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"no C machine: {' '.join(command)} failed: {done.stderr.strip()[-200:]}")
    return program


def c_machine(own: SleptsovNet, most: int) -> Anchor:
    """As many steps as the public call makes, or as many of them as take about a second; its time
    is scaled up to all of them."""
    program = _compiled()
    file = program.with_name("net.mcc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.WriteWarning)
        snp.write_net(own, file)
    total = int(snp.run(own, max_steps=most, save=snp.SAVE_FINAL).steps)

    def steps_and_seconds(limit: int) -> tuple[int, float]:
        with file.open() as text:
            command = [str(program), "0", str(limit)]
            out = subprocess.run(command, stdin=text, capture_output=True, text=True, check=True)
        found = re.search(r"it took (\d+) steps, time ([\d.]+) s", out.stdout)
        assert found, out.stdout[-500:]
        return int(found[1]), float(found[2])

    few, seconds = steps_and_seconds(min(total, 256))
    limit = min(total, max(few, int(few * _SECONDS_OF_C / max(seconds, 1e-6))))

    def call() -> Clock:
        steps, seconds = steps_and_seconds(limit)
        assert steps == limit, f"the C machine made {steps} steps instead of {limit}"
        return Clock(seconds * total / steps, seconds * total / steps)

    return Anchor("C machine", call)
