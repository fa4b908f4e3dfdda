"""The CUDA simulator of Hernandez-Tello et al. 2024, github.com/RGNC/sparse_snp, beside the figures
`sort n` and `subset sum n` on a GPU.

Build it by its own Makefile for the GPU at hand, and give the path of its program `ssnp` in the
environment variable CUDA_SIMULATOR. It stores the system as `Compressed`, the fastest of its
layouts. Its times are those that it reports; above 255 numbers its sorter, whose guards are 8 bits
wide, gives a wrong order, and the name of the anchor says so.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from figures import Anchor, Clock, Missing


def sort(n: int) -> Anchor:
    program = _program()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "final")
        command = [program, "-e1", "-a2", f"-n{n}", "-v1", "-o", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        spikes = file.read_text().split("vector")[1].split()
    is_sorted = [int(float(number)) for number in spikes[-n:]] == list(range(1, n + 1))
    name = "CUDA simulator" if is_sorted else "CUDA simulator (wrong order)"
    return Anchor(name, lambda: _reported(program, "-e1", "-a2", f"-n{n}"))


def subset_sum(n: int) -> Anchor:
    program = _program()
    return Anchor("CUDA simulator", lambda: _reported(program, "-e3", "-a2", f"-n{n}", "-r1"))


def _program() -> str:
    program = os.environ.get("CUDA_SIMULATOR", "")
    if not Path(program).is_file():
        raise Missing(f"no CUDA simulator: CUDA_SIMULATOR is {program!r}, not its program")
    return program


def _reported(program: str, *arguments: str) -> Clock:
    command = [program, *arguments, "-t"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"Execution time: ([\d.]+) ms", text)
    assert found, text[-500:]
    seconds = float(found[1]) / 1e3
    return Clock(seconds, seconds)
