"""How many programs XLA compiles before a first call answers."""

import json
import os
import subprocess
import sys

import compiling
import pytest

from tests.support.helpers import REPOSITORY


#: The calls of bench/compiling.py, and the most programs of each.
MOST = {
    "run": 2,  # both for the random key
    "explore": 0,
    "check": 0,
    "net": 0,
    "division": 0,
    "plasticity": 3,
    "learning step": 5,
    "calibration": 9,
    "rate": 4,
    "batch": 2,
    "draw": 0,
    "growth": 3,
}


def test_every_call_is_bounded():
    assert MOST.keys() == compiling.CALLS.keys() - {"large net"}


@pytest.mark.parametrize("call", MOST)
def test_a_first_call_compiles_few_programs(call):
    """Also where they are on disk."""
    out = subprocess.run(
        [sys.executable, "bench/compiling.py", "--alone", call],
        cwd=REPOSITORY,
        env={**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    compiled = [name for name, _ in json.loads(out.stdout)["programs"]]
    assert len(compiled) <= MOST[call], compiled
    assert compiled or not MOST[call], "JAX says in other words what it compiles"
