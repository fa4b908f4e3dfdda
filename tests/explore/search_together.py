"""A script that each of several processes runs: a graph whose configurations are spread over all of
them, and what is read off it, as JSON."""

import json
import sys

import jax
import numpy as np

import snpjax as snp
from snpjax import scale
from tests.support.known_graphs import countdown, doubling


def main() -> None:
    steps = int(sys.argv[1])
    jax.config.update("jax_disable_most_optimizations", True)  # as in other tests
    scale.initialize()
    mesh = jax.make_mesh((len(jax.devices()),), ("configurations",))
    options = {"max_configurations": 10**7, "mesh": mesh}
    large = snp.explore(doubling(steps), edges=False, **options)
    small = snp.explore(countdown(20), **options)
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
