"""How long does a user wait who starts Python, or the command, once?"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from figures import EXAMPLES, Case, Missing, figure

import snpjax as snp


def process(*arguments: str, expected: str) -> Case:
    """A new process that imports the same snpjax as this one."""
    found = [str(Path(snp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}

    def call() -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout

    def check(output: str) -> None:
        assert expected in output, output[-500:]

    return Case(call, check, unit="s", is_process=True)


@figure("import snpjax")
def importing() -> Case:
    return process("-c", "import snpjax; print(snpjax.__name__)", expected="snpjax")


@figure("snpjax run examples/natural_numbers.pli")
def command() -> Case:
    for name in ("typer", "rich"):
        if importlib.util.find_spec(name) is None:
            raise Missing(f"{name} is not installed")
    model = str(EXAMPLES / "natural_numbers.pli")
    return process("-m", "snpjax", "run", model, expected="halted")
