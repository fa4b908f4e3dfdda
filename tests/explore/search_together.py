"""A script that each of several processes runs: a graph whose configurations are spread over all of
them, and what is read off it, as JSON."""

import json
import sys

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax import scale
from tests.support.known_graphs import countdown


class Interrupted(Exception):
    """Something ended the search in the middle."""


def interrupt(num, depth):
    if depth == 6:
        raise Interrupted


def main() -> None:
    spikes, folder = int(sys.argv[1]), sys.argv[2]
    jax.config.update("jax_disable_most_optimizations", True)  # as in other tests
    scale.initialize()
    mesh = jax.make_mesh((len(jax.devices()),), ("configurations",))
    options = {"mesh": mesh, "chunks": (256, 1024)}
    large = snp.explore(countdown(spikes), **options)
    saved = {**options, "checkpoint": snp.Checkpoint(folder, every_seconds=0)}
    with pytest.raises(Interrupted):
        snp.explore(countdown(20), progress=interrupt, **saved)
    small = snp.explore(countdown(20), **saved)
    again = snp.explore(countdown(20), **saved)
    assert again.targets.tolist() == small.targets.tolist()
    last = small.num_configurations - 1
    print(
        json.dumps(
            {
                "configurations": large.num_configurations,
                "depth": large.depth,
                "halting": len(large.halting()),
                "last": large.configurations(np.asarray([-1])).spikes.tolist(),
                "targets": small.targets.tolist(),
                "spikes": small.spikes.tolist(),
                "path": small.path_to(last),
                "rules": np.asarray(small.witness(last).rules).tolist(),
                "verdict": str(snp.check(small, lambda some: some.spikes.max(axis=1) > 0).status),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
