"""How fast is snpjax beside the CUDA simulator of the papers, on one GPU, in one run?

The simulator is github.com/RGNC/sparse_snp (Hernandez-Tello et al. 2024), built by its own
Makefile for the GPU at hand; PATH is its program `ssnp`. Both sort n..1, and both solve subset sum
with delays from the numbers to the answer, building included. Ours is checked before the clock
starts; whether the simulator's numbers came out sorted is printed beside its time.

    PYTHONPATH=.:formats python bench/cuda_simulator.py PATH [sort:n ...] [subset:n ...]
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import large_sorting
import numpy as np
import sorting
import subset_sum

from snpjax_formats import Compressed


FORMS = {"Compressed": 2, "ELL": 1}
#: Larger ELL matrices of theirs take minutes to build on the host.
LARGEST_ELL = 500


def simulated(program: str, *arguments: str) -> float:
    """The milliseconds that the simulator reports for one computation."""
    command = [program, *arguments, "-t"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"Execution time: ([\d.]+) ms", text)
    assert found, text[-500:]
    return float(found[1])


def is_sorted(program: str, n: int, form: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "final")
        command = [program, "-e1", f"-a{form}", f"-n{n}", "-v1", "-o", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        spikes = file.read_text().split("vector")[1].split()
    return [int(float(number)) for number in spikes[-n:]] == list(range(1, n + 1))


def sort(program: str, n: int) -> None:
    for name, form in FORMS.items():
        if name == "ELL" and n > LARGEST_ELL:
            continue
        best = min(simulated(program, "-e1", f"-a{form}", f"-n{n}") for _ in range(3))
        answer = "sorted" if is_sorted(program, n, form) else "WRONG order"
        print(f"sort {n:,}, simulator, {name:10} {best:10,.1f} ms, {answer}", flush=True)
    numbers = np.arange(n, 0, -1)
    large_sorting.measure(numbers, "auto", 5)
    if n <= 1_000:
        system = sorting.sorter(numbers.tolist())
        text = sorting.measure(system, Compressed, faithful=True)
        print(f"{n:9,}  Compressed, all rules kept: bytes, ms {text}", flush=True)


def subset(program: str, n: int) -> None:
    best = min(simulated(program, "-e3", "-a2", f"-n{n}", "-r1") for _ in range(2))
    print(f"subset sum {n:,}, simulator, Compressed {best:10,.1f} ms", flush=True)
    subset_sum.measure(n, None)


def main() -> None:
    program, *cases = sys.argv[1:]
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    measures = {"sort": sort, "subset": subset}
    for case in cases or ["sort:100", "sort:500", "sort:1000", "subset:500", "subset:1500"]:
        question, n = case.split(":")
        measures[question](program, int(n))


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# Tables with machine, versions and date: bench/README.md.
