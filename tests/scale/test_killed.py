"""Processes that are killed at random moments: the same call goes on, and loses nothing."""

import os
import random

import jax
import pytest

from tests.support.long_calls import ALL
from tests.support.processes import environment, forking


SEED = int(os.environ.get("PYTEST_SEED", "0"))
KILLS = 50
_CODE = "import sys; from tests.support.long_calls import {0}; {0}(*sys.argv[1:])"


@pytest.fixture(scope="module")
def fork():
    """Runs a function of `long_calls` in a new process."""
    compiled = environment(
        JAX_COMPILATION_CACHE_DIR=f"{jax.config.jax_compilation_cache_dir}",  # pyright: ignore
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0.2",
    )
    with forking("import tests.support.long_calls", env=compiled) as run:
        yield lambda function, *arguments: run(_CODE.format(function), *arguments)


def goes_on_when_killed(fork, name, folder, times, attempt=0):
    """Kill a call that many times, or until it ends before it is killed."""
    source = random.Random(f"{SEED} {name} {attempt}")
    kills = 0
    for _ in range(times):
        moment = source.randrange(100), source.uniform(0, 0.05)
        print(f"seed {SEED}: {name}, killed {moment[1]:.3f} s after operation {moment[0]}")
        ended = fork("killed", name, folder, *moment)
        assert ended.returncode in (-9, 0), ended.stderr
        kills += ended.returncode == -9
    ended = fork("goes_on", name, folder)
    assert ended.stdout == "True\n", ended.stderr
    return kills


@pytest.mark.slow
@pytest.mark.parametrize("name", ["settling", "tiles", "a graph", "cells"])
def test_a_killed_process_loses_nothing(name, tmp_path, fork):
    assert goes_on_when_killed(fork, name, tmp_path, 1) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("name", ALL)
def test_each_call_is_killed_at_random_moments(name, tmp_path, fork):
    kills = attempt = 0
    while kills < KILLS:
        kills += goes_on_when_killed(fork, name, tmp_path / f"{attempt}", 4, attempt)
        attempt += 1
