"""Calls that take a checkpoint, in many short chunks of work: interrupted, killed, resumed."""

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import driver, learn, proliferation, rate, scale
from snpjax.scale import streams
from snpjax.scale.digest import digest
from snpjax.sleptsov import Arcs, FullScan
from snpjax.tile import Tile
from tests.support.changing import with_ballast
from tests.support.known_graphs import countdown
from tests.support.meshes import generator, population
from tests.support.sharing import calibrated, evolved, sampled, trained


Options = dict[str, Any]

CALIBRATE = sys.modules[proliferation.calibrate.__module__]
EVOLVE = sys.modules[learn.evolve.__module__]
FIT = sys.modules[learn.fit.__module__]
SAMPLE = sys.modules[proliferation.simulate.__module__]


class MeanSteps(scale.AbstractStatistic[tuple[int, float]]):
    """Spikes that leave, and a float of every path, whose sum depends on the order."""

    def begin(self, state):
        return jnp.zeros_like(state.step)

    def update(self, carry, state, record):
        return carry + record.output.sum(axis=0).astype(carry.dtype)

    def of_path(self, end):
        steps = (1 + end.steps).astype(jnp.float32)
        return {"spikes": end.carry, "share": end.carry.astype(jnp.float32) / steps}


def dividing() -> tuple[snp.SpikingSystem, Options]:
    """Paths divide at random, so that some outgrow the capacity earlier than others."""
    rules = [snp.DivisionRule("a", "x", "x"), "a -> a", "a -> a; 2"]
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("back", 0, ["a -> a"]),
            snp.Neuron("x", 1, rules),
            snp.Neuron("sink", 0, ["a -> lambda"]),
        ],
        [("clock", "back"), ("back", "clock"), ("back", "x"), ("x", "sink")],
    )
    return system, {"max_steps": 9, "capacity": snp.Capacity(neurons=6, synapses=12)}


def settling() -> tuple[snp.SpikingSystem, Options]:
    """Divides twice; then a static machine takes over."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("tick", 0, ["a -> a"]),
            snp.Neuron("x", 1, ["[a]_x -> []_y || []_b"]),
            snp.Neuron("sink", 0, ["a -> lambda", "a^2 -> lambda", "(aaa)+/a -> a"]),
        ],
        [("clock", "tick"), ("tick", "clock"), ("tick", "x", 3), ("x", "sink")],
        rules_by_label={
            "y": ["[a{3}]_y -> []_z || []_z"],
            "z": ["a^3 -> a^2", "a^2/a -> a; 2", "a{2,4}/a^2 -> a", "a{5,99}/a^4 -> a^2"],
            "b": ["a{1,2}/a -> a", "a+/a -> a; 1"],
        },
        dictionary=[("z", "sink")],
        output=["z", "b", "clock"],
    )
    return with_ballast(system), {"max_steps": 20, "capacity": snp.Capacity(64, 256)}


def plastic() -> tuple[snp.SpikingSystem, Options]:
    """Makes and breaks synapses."""
    rule = snp.PlasticityRule("a", 1, "+-", 1, ["y", "z"])
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("tick", 0, ["a -> a"]),
            snp.Neuron("x", 0, [rule]),
            snp.Neuron("y", 0, ["a -> a", "a^2 -> a"]),
            snp.Neuron("z", 0, ["a -> a"]),
        ],
        [("clock", "tick"), ("tick", "clock"), ("tick", "x")],
        output="y",
    )
    return system, {"max_steps": 12}


def net() -> snp.SleptsovNet:
    """Moves tokens round and round, now this way, now that way."""
    return snp.SleptsovNet(
        [7, 0, 3],
        inputs=Arcs.of([(0, 0, 1), (1, 1, 1), (2, 2, 1), (1, 3, 1)]),
        outputs=Arcs.of([(1, 0, 1), (2, 1, 1), (0, 2, 1), (0, 3, 1)]),
    )


def rate_network() -> tuple[rate.RateNetwork, Options]:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(7, 7)) * (rng.random((7, 7)) < 0.4)
    network = rate.RateNetwork(
        [rate.RatePopulation("p", 7, rate.leaky(jnp.tanh), initial={"r": rng.normal(size=7)})],
        [rate.RateProjection("p", "p", weights)],
    )
    return network, {"max_steps": 9}


def trains_of_paths() -> tuple[snp.SpikingSystem, Options]:
    """Inputs and starts of its own for each path."""
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a -> a; 1", "a^2 -> a"]), snp.Neuron("y", 1, ["a+/a -> a"])],
        [("x", "y")],
        input={"x": ()},
        output="y",
    )
    rng = np.random.default_rng(0)
    inputs, starts = rng.integers(0, 3, (9, 1, 5)), rng.integers(0, 3, (2, 5))
    return system, {"inputs": inputs, "initial": starts, "paths": 5, "max_steps": 14}


def _run(model: Any, **options: Any) -> Callable[..., Any]:
    """The choice is made here: no device is used when this module is imported."""
    given = {"max_steps": 14, "choice": snp.UniformChoice(jr.key(3)), **options}
    return lambda **more: snp.run(model, **given, **more)


def _estimate(**options: Any) -> Callable[..., Any]:
    given = {"key": jr.key(3), "max_steps": 12, "paths": 90, **options}
    return lambda **more: snp.estimate(generator(), "eventually halted", **given, **more)


def _of(given: tuple[Any, Options], **more: Any) -> Callable[..., Any]:
    return _run(given[0], **{**given[1], **more})


#: What each call is, as a function of `checkpoint` and `mesh`.
CALLS: dict[str, Callable[[], Callable[..., Any]]] = {
    "one path": lambda: _run(generator(), choice=snp.UniformChoice(jr.key(1))),
    "every third": lambda: _run(generator(), save=snp.Save(every=3), paths=5),
    "nothing but the end": lambda: _run(generator(), save=snp.SAVE_FINAL, paths=5),
    "tiles": lambda: _run(generator(), save=snp.SAVE_ALL, paths=29),
    "dividing": lambda: _of(dividing(), paths=6, save=snp.SAVE_ALL),
    "settling": lambda: _of(settling()),
    "plastic": lambda: _of(plastic(), paths=3, save=snp.SAVE_ALL),
    "inputs": lambda: _of(trains_of_paths(), save=snp.SAVE_ALL),
    "a net": lambda: _run(net(), max_steps=20, save=snp.Save(every=3)),
    "paths of a net": lambda: _run(net(), paths=3, save=snp.SAVE_ALL),
    "a net by full scans": lambda: _run(net(), paths=3, engine=FullScan()),
    "a rate network": lambda: _of(rate_network(), choice=snp.FirstChoice()),
    "systems": lambda: _run(snp.SystemBatch([generator()] * 3), save=snp.SAVE_ALL),
    "sums": lambda: _run(generator(), paths=20, observe=MeanSteps()),
    "sums of a net": lambda: _run(net(), paths=20, observe=scale.Total(lambda end: end.steps)),
    "neurons": lambda: _run(population(), save=snp.SAVE_ALL, max_steps=8),
    "an estimate": lambda: _estimate(precision=0.06),
}


def _explored(**options: Any) -> Callable[..., Any]:
    """In many chunks."""
    given = {"chunks": (4,), **options}
    return lambda **more: snp.explore(countdown(9), **given, **more)


#: Searches, whose chunks are not those of runs.
SEARCHES: dict[str, Callable[[], Callable[..., Any]]] = {
    "a graph": lambda: _explored(),
    "a graph without edges": lambda: _explored(edges=False),
    "a graph on the host": lambda: _explored(exact=False),
}


#: Calls that share their work over a mesh, as functions of `mesh` and `checkpoint`.
SHARED: dict[str, Callable[[], Callable[..., Any]]] = {
    "cells": lambda: functools.partial(sampled, cells=2003, runs=2),
    "cells of each type": lambda: functools.partial(sampled, cells=2003, runs=None, by_type=True),
    "a calibration": lambda: functools.partial(calibrated, starts=2),
    "a training": lambda: functools.partial(trained, epochs=7, parts=12),
    "an evolution": lambda: functools.partial(evolved, generations=7),
}


ALL = {**CALLS, **SEARCHES, **SHARED}


def fingerprint(result: Any) -> str:
    """Equal for results that are the same to the bit."""
    if isinstance(result, snp.Graph):
        edges = result.first_edge, result.targets, result.edges.found_by
        return digest((result.depth_starts, edges, result.spikes, result.timers))
    if isinstance(result, snp.Solution) and isinstance(result.system, snp.PopulationSystem):
        result = result.configurations, result.rules, result.emissions  # whatever the padding is
    elif isinstance(result, snp.SolutionBatch | snp.Solution):
        result = result.trajectory
    return digest(result)


class Interrupted(Exception):
    """Something ended a call in the middle."""


#: What calls the device.
DEVICE_CALLS = [
    (Tile, "advance"),
    (SAMPLE, "_advance"),
    (CALIBRATE, "_values"),
    (CALIBRATE, "_value_and_gradient"),
    (FIT, "_epoch"),
    (EVOLVE, "first_generation"),
    (EVOLVE, "evolved"),
]


class CountedCalls:
    """Calls to the device; the one after the `last` is interrupted."""

    def __init__(self, last: int | None = None):
        self.num, self.last = 0, last

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A context in which they are counted."""
        with pytest.MonkeyPatch.context() as patch:
            for module, name in DEVICE_CALLS:
                patch.setattr(module, name, self._counting(getattr(module, name)))
            yield

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.num == self.last:
                raise Interrupted
            self.num += 1
            return function(*args, **kwargs)

        vars(call)["lower"] = getattr(function, "lower", None)  # of a jitted one
        return call


@contextmanager
def short_chunks() -> Iterator[None]:
    """Calls to the device make one step each, of few paths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_FIRST_CALL_STEPS", 2)
        patch.setattr(driver, "_FIRST_LEAP_STEPS", 4)
        patch.setattr(driver, "_SECONDS_PER_CALL", 0)
        patch.setattr(driver, "_SETTLING_SECONDS", -1.0)
        patch.setattr(driver, "_FIRST_SETTLING_STEPS", 2)
        patch.setattr(driver, "_LEAST_TILE", 8)
        patch.setattr(driver, "_MOST_IN_TILE", 8)
        patch.setattr(streams, "_share", lambda *_: 8)
        patch.setattr(EVOLVE, "_SECONDS_PER_CALL", 0)
        patch.setattr(SAMPLE, "_SECONDS_PER_CALL", 0)
        patch.setattr(SAMPLE, "_FIRST_TURNS", 1)
        patch.setattr(SAMPLE, "_MAX_ENTRIES", 1)
        patch.setattr(SAMPLE, "_MOST_LANES", {"cpu": 64})
        yield


class CountedOperations:
    """`os` and `open`, whose calls by the thread that writes checkpoints are counted: `reached` is
    called at each with its name and number, from 0 on."""

    NAMES = ("fsync", "replace", "rename", "mkdir", "open", "write", "unlink", "rmdir")

    def __init__(self, patch: pytest.MonkeyPatch, reached: Callable[[str, int], None]):
        self.done: list[str] = []
        self.reached = reached
        for name in self.NAMES:
            patch.setattr(os, name, self._counted(name, getattr(os, name)))
        patch.setattr("builtins.open", self._counted("open", open))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread().name.startswith("snpjax-checkpoint"):
                self.done.append(name)
                self.reached(name, len(self.done) - 1)
            return function(*args, **kwargs)

        return operation


def killed(name: str, folder: str, operation: str, seconds: str) -> None:
    """Make a call in a process that is killed some time after an operation of the disk."""

    def kill() -> None:
        time.sleep(float(seconds))
        os.kill(os.getpid(), signal.SIGKILL)

    def reached(_: str, number: int) -> None:
        if number == int(operation):
            threading.Thread(target=kill).start()

    with short_chunks(), pytest.MonkeyPatch.context() as patch:
        CountedOperations(patch, reached)
        ALL[name]()(checkpoint=snp.Checkpoint(folder, every_seconds=0))


def goes_on(name: str, folder: str) -> None:
    """Make a call that goes on, and print whether it ends as one that was not interrupted."""
    with short_chunks():
        call = ALL[name]()
        found = fingerprint(call(checkpoint=snp.Checkpoint(folder, every_seconds=1)))
        print(found == fingerprint(call()))
