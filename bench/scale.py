"""How much faster are more devices, and how much more do they hold? Strong and weak scaling of
paths, of the neurons of one system, and of a search.

    python bench/scale.py [--devices 1 2 4] [--only paths] [--small]

Strong: the same work on more devices. Weak: so much more work that each device has the same. The
answer is that of one device, which is checked first. A call is timed when its programs are
compiled, the least of three. Without several GPUs, JAX_NUM_CPU_DEVICES=4 splits the CPU into
devices that share its cores, so that nothing is faster, and what counts is what is exchanged.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from batches import generator_and_relays
from subset_sum import nonuniform

import snpjax as snp
from snpjax import scale


_TIMES, _SETTLING = 3, 3.0


def paths(mesh: Any, size: int, small: bool) -> Any:
    """Random paths of 20 neurons, of which only a histogram is kept."""
    num = size * (2_000 if small else 2**20)
    choice = snp.UniformChoice(jax.random.key(0))
    options = {"choice": choice, "paths": num, "max_steps": 200}
    found = snp.run(generator_and_relays(), observe=scale.ComputedNumbers(30), mesh=mesh, **options)
    return found.value.tolist(), found.steps


def neurons(mesh: Any, size: int, small: bool) -> Any:
    """A random network, each neuron hearing 16 others."""
    num = size * (4_000 if small else 2**22)
    rules = [snp.RuleTemplate(snp.Guard("a^2a*"), 1, 1), snp.RuleTemplate(snp.Guard("a"), 1, 1)]
    key = num, "model"
    if key not in _kept:
        _kept[key] = snp.PopulationSystem(
            [snp.Population("n", num, np.arange(num) % 3, rules)],
            [snp.Projection("n", "n", snp.graphs.RandomInDegree(16, seed=0))],
        )
    found = snp.run(_kept[key], max_steps=20, save=snp.SAVE_FINAL, mesh=mesh)
    return int(found.spikes.sum()), found.spikes[::997].tolist()


def configurations(mesh: Any, size: int, small: bool) -> Any:
    """Subset sum: 2^n configurations after each of two steps."""
    usual = 20 if jax.default_backend() == "cpu" else 26
    numbers = (7 if small else usual) + size.bit_length() - 1
    graph = snp.explore(
        nonuniform(np.arange(numbers) % 3 + 1, 5), max_configurations=10**9, edges=False, mesh=mesh
    )
    assert graph.is_complete and graph.num_configurations > 2 ** (numbers + 1)
    return graph.num_configurations, graph.num_choices


_kept: dict[Any, Any] = {}


def timed(call: Callable[[], Any], expected: Any) -> float:
    """Seconds of a call whose programs are compiled, if its answer is right."""
    found = call()
    assert expected is None or found == expected, "more devices give another answer"
    settled = time.perf_counter() + _SETTLING
    while time.perf_counter() < settled:  # first calls are evaluated, and compiled meanwhile
        call()
    seconds = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench/scale.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = [n for n in (1, 2, 4, 8) if n <= jax.device_count()]
    parser.add_argument("--devices", type=int, nargs="+", default=default, help="how many")
    works = {work.__name__: work for work in (paths, neurons, configurations)}
    parser.add_argument(
        "--only", choices=works, nargs="+", default=list(works), help="what is split"
    )
    parser.add_argument("--small", action="store_true", help="sizes for a trial")
    arguments = parser.parse_args()
    first = jax.devices()[0]
    shared = ", which share its cores" if first.platform == "cpu" else ""
    print(f"{jax.device_count()} devices: {first.device_kind}{shared}; jax {jax.__version__}")
    print(f"{'':>16}{'devices':>9}{'strong s':>10}{'speed-up':>10}{'weak s':>10}{'kept':>7}")
    for work in (works[name] for name in arguments.only):
        call = partial(work, small=arguments.small)
        expected = call(None, 1)
        alone = timed(partial(call, None, 1), expected)
        print(f"{work.__name__:>16}{'no mesh':>9}{alone:>10.3f}", flush=True)
        for num in arguments.devices:
            mesh = jax.make_mesh((num,), (work.__name__,), devices=jax.devices()[:num])
            strong = weak = timed(partial(call, mesh, 1), expected)
            if num > 1:
                weak = timed(partial(call, mesh, num), call(None, num))
            row = f"{work.__name__:>16}{num:>9}{strong:>10.3f}{alone / strong:>10.2f}"
            print(f"{row}{weak:>10.3f}{alone / weak:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
