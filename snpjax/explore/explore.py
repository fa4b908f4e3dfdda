"""`explore`: the driver of the search, on the host."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from .graph import Graph, Stop
from .packing import Packing
from .search import CHUNKS, NO_ONE, Found, chunks_of, count, expand


def explore(
    system: Any,
    /,
    *,
    max_configurations: int = 1_000_000,
    max_depth: int | None = None,
    inputs: Any = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
    edges: bool = True,
    layout: Any = "auto",
    chunks: tuple[int, ...] = CHUNKS,
) -> Graph:
    """Every configuration that a system can reach, breadth-first.

    **Arguments:**

    - `max_configurations`: no more are kept. The graph says when there are more.
    - `max_depth`: configurations at this distance from the initial one are not expanded.
    - `inputs`: input trains by neuron instead of the system's own, or `AnyInput(length)`.
    - `saturate`: neurons without rules whose spikes are counted up to a number only; a count there
      means so many or more. It makes many an unbounded system finite, and changes nothing else.
    - `clock`: up to this step configurations of different steps are told apart.
    - `edges`: keep every choice, not only one shortest path to each configuration.
    - `layout`: how synapses are stored, see `snpjax.run`.
    - `chunks`: how many successors are made at once, ascending; changes the speed only.

    **Returns:** a `Graph`, whose `stop` says whether it is complete.
    """
    if inputs is not None:
        system = system.with_input(inputs)
    saturate = dict(saturate or {})
    machine = system.searched(layout=layout, saturate=saturate, clock=clock)
    choosers = jnp.asarray(machine.choosers())
    found = Found.first(machine, chunks[0])
    depth_starts, all_counts, all_targets = [0, 1], [], []
    stop = Stop.COMPLETE
    while stop is Stop.COMPLETE and depth_starts[-2] < depth_starts[-1]:
        low, high = depth_starts[-2], depth_starts[-1]
        if max_depth is not None and len(depth_starts) - 2 >= max_depth:
            stop = Stop.MAX_DEPTH
            break
        while low < high and stop is Stop.COMPLETE:
            block = next((size for size in chunks if size >= high - low), chunks[-1])
            num = min(block, high - low)
            found.reserve(block)
            counts, too_many = count(
                machine, choosers, found.packing, found.space, _int(low), _int(num), size=block
            )
            if bool(too_many):
                stop = Stop.TOO_MANY_CHOICES
                break
            host_counts = np.asarray(counts)[:num]
            end = low + num
            for parent, choice, size, chunk in chunks_of(host_counts, chunks):
                own = np.zeros(chunk, np.uint32)
                some = host_counts[parent : parent + chunk]
                own[: len(some)] = some
                while True:
                    found.reserve(chunk)
                    found.space, new = expand(
                        machine,
                        choosers,
                        found.packing,
                        found.space,
                        _int(found.num),
                        _int(max_configurations),
                        jnp.asarray(own),
                        _int(low + parent),
                        jnp.asarray(choice, jnp.uint32),
                        chunk=chunk,
                    )
                    if bool(new.fits):
                        break
                    most = np.maximum(np.asarray(new.most), found.most())
                    found.repack(Packing.fitting(most), chunk)
                found.num += int(new.num_new)
                if edges:
                    all_targets.append(np.asarray(new.targets)[:size])
                if int(new.failed) < NO_ONE:
                    stop, end = Stop.OVERFLOW, int(new.failed)
                    break
                if int(new.left_out) < NO_ONE:
                    stop, end = Stop.MAX_CONFIGURATIONS, int(new.left_out)
                    found.num = max_configurations
                    break
            all_counts.append(host_counts[: end - low])
            low = end
        if found.num > depth_starts[-1]:
            depth_starts.append(found.num)
        else:
            break
    counts = np.concatenate(all_counts or [np.zeros(0, np.uint32)])
    first_edge = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    targets = None
    if edges:
        targets = np.concatenate(all_targets or [np.zeros(0, np.int32)])[: first_edge[-1]]
    return Graph(
        system=system,
        machine=machine,
        packing=found.packing,
        words=np.asarray(found.space.store[: found.num]),
        depth_starts=np.asarray(depth_starts),
        first_edge=first_edge,
        targets=targets,
        parents=np.asarray(found.space.parents[: found.num]),
        parent_choices=np.asarray(found.space.choices[: found.num]),
        stop=stop,
        saturate=saturate,
        clock=clock,
    )


def _int(value: int):
    return jnp.asarray(value, jnp.int32)
