"""Commands that run out of memory, or are told before that they would: one sentence each."""

import importlib

import jax
import pytest

from tests.support.command import invoke
from tests.support.helpers import REPOSITORY


driver = importlib.import_module("snpjax.driver")
tile = importlib.import_module("snpjax.tile")

MODEL = REPOSITORY / "examples/natural_numbers.pli"
NET = REPOSITORY / "examples/half.lsn"
HISTOGRAM = REPOSITORY / "examples/proliferation_initial.txt"
CELLS = REPOSITORY / "examples/proliferation.model.json"
ALLOCATION = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 5000 bytes.")

COMMANDS = [
    ("run", MODEL),
    ("run", MODEL, "--paths", 20),
    ("estimate", MODEL, "eventually n3 >= 1"),
    ("explore", MODEL),
    ("check", MODEL, "always n3 <= 4"),
    ("info", MODEL),
    ("sleptsov", "run", NET),
    ("proliferation", "simulate", HISTOGRAM, "--model", CELLS),
    ("proliferation", "calibrate", CELLS),
]


@pytest.mark.parametrize("error", [MemoryError(), ALLOCATION], ids=["host", "device"])
@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda x: " ".join(y for y in x[:2] if isinstance(y, str))
)
def test_an_allocation_that_fails_is_one_sentence(command, error, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("snpjax.io.source.decoded", fails)  # of every file that is read
    result = invoke(*command)
    assert isinstance(result.exception, SystemExit) and result.exit_code == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: memory ran out"), result.stderr
    assert ("5,000 bytes" in lines[0]) == (error is ALLOCATION)


@pytest.mark.parametrize("command", [("run", MODEL), ("run", MODEL, "--paths", 3)])
def test_a_run_shows_what_it_made(command, monkeypatch):
    """And says that memory ran out, as JSON says, too."""
    advance, calls = tile.advance, []

    def once(*args, **kwargs):
        calls.append(args)
        if len(calls) > 1:
            raise ALLOCATION
        return advance(*args, **kwargs)

    monkeypatch.setattr(tile, "advance", once)
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 2)
    whole = invoke(*command)
    calls.clear()
    result = invoke(*command)
    assert result.exit_code == 1 and result.stderr.startswith("error: after 2 steps")
    assert "Memory ran out" in result.stderr and "Traceback" not in result.output
    assert result.stdout.splitlines()[:3] == whole.stdout.splitlines()[:3]
    if len(command) == 2:
        calls.clear()
        assert '"result": "out_of_memory"' in invoke(*command, "--json").stdout


def test_paths_that_do_not_fit():
    result = invoke("run", MODEL, "--paths", 2**32)
    assert result.exit_code == 2 and result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: 4,294,967,296 paths need ") and "paths at a time" in line
    assert "=" not in line  # options of Python
    result = invoke("run", MODEL, "--paths", 10**12)
    assert result.exit_code == 2 and "4294967296" in result.stderr


def test_a_net_that_does_not_fit(monkeypatch):
    lowered = importlib.import_module("snpjax.sleptsov.lower.lowered")
    monkeypatch.setattr(lowered, "free_bytes", lambda: 10)
    result = invoke("sleptsov", "run", NET)
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    assert "The net needs" in result.stderr and "10 are free" in result.stderr
