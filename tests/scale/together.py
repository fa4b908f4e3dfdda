"""A script that each of several processes runs: what it computes, as JSON, or how it ends."""

import json
import os
import signal
import sys

import jax
import jax.random as jr
import numpy as np

import snpjax as snp
from snpjax import scale
from snpjax.check import emits
from snpjax.scale import hosts
from tests.support.meshes import generator


def main() -> None:
    hosts._HEARTBEAT = 8  # a lost process is found sooner
    scale.initialize()
    mesh = jax.make_mesh((len(jax.devices()),), ("paths",))
    print(json.dumps(TASKS[sys.argv[1]](mesh, jax.process_index())), flush=True)


def computed(mesh, process):
    """A run of paths, sums over many, and an estimate."""
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 24}
    batch = snp.run(generator(), paths=11, mesh=mesh, save=snp.SAVE_ALL, **options)
    statistic = scale.ComputedNumbers(5)
    summary = snp.run(generator(), paths=1003, mesh=mesh, observe=statistic, **options)
    found = snp.estimate(
        generator(), emits("n3"), key=jr.key(3), max_steps=12, paths=301, mesh=mesh
    )
    every = scale.gather(batch)
    systems = snp.SystemBatch([generator() for _ in range(5)])
    return {
        "numbers": batch.path_numbers.tolist(),
        "steps": batch.steps.tolist(),
        "configurations": [one.configurations.tolist() for one in batch],
        "gathered": [every.paths, every.steps.tolist(), every[7].configurations.tolist()],
        "summary": [summary.value.tolist(), summary.steps, summary.halted],
        "estimate": [found.low, found.high, found.holds, found.undecided],
        "systems": len(snp.run(systems, mesh=mesh, max_steps=4)),
    }


def partitioned(mesh, process):
    """Systems whose neurons are spread over both processes, alone and with paths."""
    from tests.spiking.test_partition import PROJECTIONS, populations

    found = {}
    for kind, *shape in (("listed", 4), ("structured", 4), ("procedural", 2, 2)):
        over = jax.make_mesh(tuple(shape), ("paths", "neurons")[-len(shape) :])
        options = options_over(len(shape))
        solution = snp.run(populations(PROJECTIONS[kind]), mesh=over, **options)
        if len(shape) == 2:
            solution = scale.gather(solution)
        found[f"{kind} {len(shape)}"] = solution.spikes.tolist()
    return found


def options_over(axes):
    """The options of runs over so many axes of a mesh."""
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 10}
    if axes == 2:
        return {**options, "paths": 3}
    return {**options, "initial": {"y[3]": 2}, "inputs": {"y[3]": [1, 0, 2]}}


def different(mesh, process):
    """Processes that do not make the same call."""
    try:
        snp.run(generator(), paths=4, mesh=mesh, max_steps=4 + process)
    except ValueError as error:
        return str(error)
    return None


def failing(mesh, process):
    """A path that fails in one process only."""
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a^3 -> a^3"]), snp.Neuron("y", 0, ["a -> lambda"])], [("x", "y")]
    )
    starts = np.zeros((2, 8), np.int64)
    starts[:, 7] = 3, 2**31 - 2
    try:
        snp.run(system, paths=8, mesh=mesh, initial=starts)
    except snp.RunFailed as error:
        return str(error)
    return None


def lost(mesh, process):
    """A process that is killed while the others go on."""
    options = {"choice": snp.UniformChoice(jr.key(3)), "mesh": mesh, "max_steps": 24}
    snp.run(generator(), paths=8, **options)
    if process == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            snp.run(generator(), paths=8, **options)
    except scale.ProcessLost as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def lost_while_waiting(mesh, process):
    """The same, while the others compute for themselves."""
    if process == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        snp.run(generator(), max_steps=24)


_TASKS = (computed, partitioned, different, failing, lost, lost_while_waiting)
TASKS = {f.__name__: f for f in _TASKS}


if __name__ == "__main__":
    main()
