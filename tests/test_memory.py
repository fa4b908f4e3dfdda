"""Runs in too little memory: refused before it is taken, and ended in order where it runs out."""

import importlib
import warnings

import jax
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from tests.test_run import generator


driver = importlib.import_module("snpjax.driver")

EXHAUSTED = "RESOURCE_EXHAUSTED: Out of memory allocating 34359738368 bytes."
ERRORS = [jax.errors.JaxRuntimeError(EXHAUSTED), MemoryError(), snp.NotEnoughMemory("no room")]
BATCH = {"choice": snp.UniformChoice(jr.key(7)), "paths": 14, "max_steps": 40}


class Calls:
    """Calls of some functions, of which one fails."""

    def __init__(self, monkeypatch, error: Exception, *names: str):
        self.num, self.fails_at, self.error = 0, -1, error
        for name in names:
            monkeypatch.setattr(driver, name, self.counted(getattr(driver, name)))

    def counted(self, function):
        def call(*args, **kwargs):
            self.num += 1
            if self.num == self.fails_at:
                raise self.error
            return function(*args, **kwargs)

        call.jitted = function.jitted
        return call


@pytest.fixture
def small_pieces(monkeypatch):
    """Four paths run at a time, in calls of a few steps."""
    monkeypatch.setattr(driver, "_LEAST_TILE", 4)
    monkeypatch.setattr(driver, "_MOST_IN_TILE", 4)
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 2)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 1e-9)


def ended_short(system, calls: Calls, whole, options) -> None:
    """Each call fails in turn: what was known by then is what the whole run says."""
    paths = options.get("paths")
    steps, num_short = [], 0
    for calls.fails_at in range(1, calls.num + 1):
        calls.num = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snp.HistoryDropped)
            found = snp.run(system, **options, throw=False)
        assert calls.num == calls.fails_at
        is_short = np.atleast_1d(found.result == snp.RESULTS.out_of_memory)
        # A call may fail that would only have found out that all paths have halted.
        assert "Memory ran out" in found.failure if is_short.any() else found.failure is None
        assert np.shape(found.steps) == np.shape(whole.steps)
        of_paths = [(found, whole)] if paths is None else list(zip(found, whole, strict=True))
        for (one, same), short in zip(of_paths, is_short, strict=True):
            if not short:
                assert one.result == same.result and one.steps == same.steps
            assert one.steps <= same.steps
            if one.saved.every == 1:
                assert (one.configurations == same.configurations[: one.steps + 1]).all()
                assert (one.configurations[-1] == one.spikes).all()
            if one.saved.outputs:
                assert (one.spike_train == same.spike_train[: one.steps]).all()
            if one.saved.details:
                assert (one.rules == same.rules[: one.steps]).all()
            then = snp.run(
                system,
                choice=snp.GivenChoices(same.rules),
                initial=one.state,
                max_steps=same.steps - one.steps,
            )
            assert (then.spikes == same.spikes).all()
        steps.append(int(np.sum(found.steps)))
        num_short += is_short.any()
    assert steps == sorted(steps) and len(set(steps)) > 1 and num_short > len(steps) / 2


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_one_path_ends_where_memory_runs_out(error, monkeypatch, small_pieces):
    options = {"choice": BATCH["choice"], "max_steps": 10}
    whole = snp.run(generator(), **options)
    calls = Calls(monkeypatch, error, "_advance", "_spread")
    snp.run(generator(), **options)
    ended_short(generator(), calls, whole, options)


@pytest.mark.parametrize("save", [snp.SAVE_ALL, snp.SAVE_OUTPUTS, snp.SAVE_FINAL])
def test_paths_end_where_memory_runs_out(save, monkeypatch, small_pieces):
    """Also while a tile begins, when others have ended."""
    whole = snp.run(generator(), **BATCH, save=snp.SAVE_ALL)
    calls = Calls(monkeypatch, ERRORS[0], "_advance", "_spread")
    snp.run(generator(), **BATCH, save=save)
    ended_short(generator(), calls, whole, {**BATCH, "save": save})
