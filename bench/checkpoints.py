"""What does a checkpoint cost a run of a large system, and what share of its time is one a minute?

    python bench/checkpoints.py [--neurons N] [--seconds S]

The same run without checkpoints and with one every few seconds, in turn, three times each; what one
costs is the difference of the least times, divided by the number of checkpoints. The answer is
compared first, and is once more after the checkpoints are read again. Besides, how much CPU time
one takes, which a busy machine does not change.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import snpjax as snp


_TIMES, _EVERY_SECONDS = 3, 3.0


class Took(NamedTuple):
    """Seconds of a run, by the wall clock and by CPU time, and the checkpoints that it wrote."""

    wall: float
    cpu: float
    checkpoints: int


def network(num: int) -> snp.PopulationSystem:
    """A random network, each neuron hearing 16 others, in which spikes never die out."""
    rules = [snp.RuleTemplate(snp.Guard("a^2a*"), 1, 1), snp.RuleTemplate(snp.Guard("a"), 1, 1)]
    return snp.PopulationSystem(
        [snp.Population("n", num, np.arange(num) % 3, rules)],
        [snp.Projection("n", "n", snp.graphs.RandomInDegree(16, seed=0))],
        output=["n[0]"],
    )


def timed(run: Callable[..., Any], folder: Path | None) -> tuple[Any, Took]:
    checkpoint = None if folder is None else snp.Checkpoint(folder, every_seconds=_EVERY_SECONDS)
    wall, cpu = time.perf_counter(), time.process_time()
    found = run(checkpoint=checkpoint)
    took = time.perf_counter() - wall, time.process_time() - cpu
    numbers = [0]
    if folder is not None:
        numbers += [int(path.stem.split("-")[1]) for path in folder.glob("checkpoint-*.json")]
    return found, Took(*took, max(numbers))


def measured(name: str, run: Callable[..., Any], answer: Callable[[Any], Any]) -> None:
    """Print what a checkpoint of a run costs."""
    expected = answer(run())
    least: dict[bool, Took] = {}
    nbytes = 0
    for _ in range(_TIMES):
        for has_checkpoints in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                given = Path(folder) if has_checkpoints else None
                found, took = timed(run, given)
                assert answer(found) == expected
                if given is not None:
                    nbytes = sum(path.stat().st_size for path in given.rglob("*"))
                    assert answer(run(checkpoint=snp.Checkpoint(given))) == expected
            least[has_checkpoints] = min(least.get(has_checkpoints, took), took)
    bare, saved = least[False], least[True]
    wall = (saved.wall - bare.wall) / saved.checkpoints
    cpu = (saved.cpu - bare.cpu) / saved.checkpoints
    print(
        f"{name}: {bare.wall:.2f} s without, {saved.wall:.2f} s with {saved.checkpoints} "
        f"checkpoints (ratio {saved.wall / bare.wall:.3f}); one costs {wall:.3f} s, or {cpu:.3f} s "
        f"of CPU; one a minute {wall / 60:.2%}; {nbytes / 2**20:.1f} MiB on disk"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What a checkpoint costs.")
    parser.add_argument("--neurons", type=int, default=2**20)
    parser.add_argument("--seconds", type=float, default=15.0, help="of a run, about")
    given = parser.parse_args()
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {given.neurons:,} neurons")
    lowered = snp.lower(network(given.neurons))

    def final(steps: int, **more: Any) -> snp.Solution:
        return snp.run(lowered, max_steps=steps, save=snp.SAVE_FINAL, **more)

    final(32)  # compiles
    began = time.perf_counter()
    final(32)
    steps = max(round(given.seconds * 32 / (time.perf_counter() - began)), 32)
    measured(
        f"{steps} steps, the final configuration",
        lambda **more: final(steps, **more),
        lambda found: (int(found.spikes.sum()), found.spikes[::997].tolist()),
    )
    every = max(steps // 8, 1)
    save = snp.Save(every=every, details=False)
    measured(
        f"{steps} steps, the configuration of every {every}th",
        lambda **more: snp.run(lowered, max_steps=steps, save=save, **more),
        lambda found: (found.configurations[:, ::997].tolist(), found.spike_train.tolist()),
    )


if __name__ == "__main__":
    main()


# ======= RESULTS =======
# python bench/checkpoints.py --seconds 6
# 2 busy cores of AMD EPYC, jax 0.10.2, orbax-checkpoint 0.12.8, 1,048,576 neurons, 2026-11
#
# 69 steps, the final configuration: 6.64 s without, 7.18 s with 2 checkpoints; one costs 0.265 s,
#   or 0.099 s of CPU; one a minute 0.44%; 12.0 MiB on disk
# 69 steps, the configuration of every 8th: 4.68 s without, 6.36 s with 2 checkpoints; one costs
#   0.842 s, or 0.080 s of CPU; one a minute 1.40%; 120.8 MiB on disk
