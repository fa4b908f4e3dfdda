"""A script that each of several processes runs: what it computes, as JSON, or how it ends."""

import json
import os
import signal
import sys
from pathlib import Path

import jax
import jax.random as jr
import numpy as np

import snpjax as snp
from snpjax import proliferation, scale
from snpjax.check import emits
from snpjax.scale import hosts
from tests.support import long_calls, sharing
from tests.support.long_calls import CountedCalls, Interrupted, fingerprint, short_chunks
from tests.support.meshes import generator, population


def main() -> None:
    hosts._HEARTBEAT = 8  # a lost process is found sooner
    if sys.argv[1] != "shared":  # whose floats are those of users' programs
        jax.config.update("jax_disable_most_optimizations", True)  # as in other tests
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
    """One system whose neurons are split over all devices."""
    neurons = jax.make_mesh((len(jax.devices()),), ("neurons",))
    both = jax.make_mesh((2, len(jax.devices()) // 2), ("paths", "neurons"))
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 12, "save": snp.SAVE_ALL}
    one = snp.run(population(), mesh=neurons, **options)
    half = snp.run(population(), mesh=neurons, **(options | {"max_steps": 5}))
    rest = snp.run(population(), mesh=neurons, initial=half.state, **(options | {"max_steps": 7}))
    some = snp.run(population(), mesh=both, paths=3, **options)
    return {
        "one": one.configurations.tolist(),
        "rest": rest.configurations.tolist(),
        "some": some.configurations.tolist(),
    }


def interrupted(mesh, process):
    """Runs that all processes end in the middle; with a second argument they go on."""
    folder, goes_on = Path(sys.argv[2]), len(sys.argv) > 3
    found = {}
    for name in ("every third", "sums", "neurons"):
        on = mesh
        if name == "neurons":
            on = jax.make_mesh((len(jax.devices()),), ("neurons",))
        calls = CountedCalls(last=None if goes_on else 5)
        with short_chunks(), calls.counted():
            try:
                result = long_calls.ALL[name]()(
                    checkpoint=snp.Checkpoint(folder / name, 0), mesh=on
                )
            except Interrupted:
                continue
        if name == "every third":
            result = scale.gather(result)
        found[name] = [calls.num, fingerprint(result)]
    return found


def shared(mesh, process):
    """Cells, a calibration, a training and an evolution; with checkpoints in a folder, if given."""

    def saved(name):
        return snp.Checkpoint(Path(sys.argv[2]) / name, 1) if len(sys.argv) > 2 else None

    return [
        sharing.sampled(mesh, checkpoint=saved("cells")),
        sharing.sampled(mesh, sampler=proliferation.sample_lattice),
        sharing.calibrated(mesh, checkpoint=saved("fit")),
        sharing.trained(mesh, checkpoint=saved("training")),
        sharing.evolved(mesh, checkpoint=saved("evolution")),
    ]


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


ALL = (
    *(computed, partitioned, interrupted, shared, different),
    *(failing, lost, lost_while_waiting),
)
TASKS = {f.__name__: f for f in ALL}


if __name__ == "__main__":
    main()
