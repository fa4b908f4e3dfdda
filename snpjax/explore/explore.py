"""`explore`: every configuration that a system can reach."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import jax
from jax.sharding import Mesh

from snpjax_formats.arguments import as_integer
from snpjax_formats.articles import kind_of

from ..lowering import refuse_tracers, taken
from ..machine import (
    AbstractCapacity,
    ConfigurationsT,
    Explorable,
    InputEnvironment,
    LayoutLike,
    Lowered,
    LoweringOptions,
    StepsT,
    TakesInput,
    advice_on,
    follows,
)
from ..scale.checkpoint import Checkpoint, checkpoints_of
from ..scale.hosts import check_agreement
from ..scale.mesh import CONFIGURATIONS, placement
from .extent import MAX_CONFIGURATIONS
from .graph import Graph
from .memory_limits import MemoryLimits
from .patience import Patience
from .repeated_search import RepeatedSearch
from .search_limits import SearchLimits
from .searched import SearchOptions


#: How many successors are made at once; small graphs share the compilations of the smallest.
#: Larger ones leave the caches of a CPU.
CPU_CHUNKS = (2**8, 8000)
GPU_CHUNKS = (2**12, 2**21)

#: Input trains by neuron, or an environment that may send any.
Inputs: TypeAlias = Mapping[str, Sequence[int]] | InputEnvironment


def explore(
    system: Explorable[ConfigurationsT, StepsT],
    /,
    *,
    max_configurations: int = 1_000_000,
    max_depth: int | None = None,
    inputs: Inputs | None = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
    edges: bool = True,
    layout: LayoutLike = "auto",
    capacity: AbstractCapacity | None = None,
    chunks: Sequence[int] | None = None,
    mesh: Mesh | None = None,
    memory: MemoryLimits = MemoryLimits(),  # noqa: B008
    exact: bool = True,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] | None = None,
    seconds: float | Patience | None = None,
) -> Graph[ConfigurationsT, StepsT]:
    """Find every configuration that a system can reach, breadth-first.

    **Arguments:**

    - `system`: a system, a net, or any other model that is `snpjax.machine.Explorable`.
    - `max_configurations`: the largest number of configurations to keep, which is also limited to
      about 1.4 * 10^9 on each device. If there are more, `stop` says so.
    - `max_depth`: configurations at this distance from the initial one are not expanded.
    - `inputs`: input trains by neuron instead of the system's own, or `AnyInput(length)`.
    - `saturate`: for neurons without rules, the number up to which their spikes are counted; this
      count means that many or more. It makes many unbounded systems finite, and changes nothing
      else. Where neurons divide or bud these are labels without rules, and each neuron is saturated
      by itself.
    - `clock`: up to this step, equal configurations of different steps are distinguished.
    - `edges`: keep every choice, not only one shortest path to each configuration.
    - `layout`, `capacity`: how the system is stored, see `snpjax.run`.
    - `chunks`: how many successors are computed at once, ascending; they change only the speed.
    - `mesh`: devices with an axis `configurations`, over which configurations are distributed by a
      hash. The graph and all its numbers stay the same. If there are several processes, each must
      make the same calls, including those of methods of the graph.
    - `memory`: limits of the bytes on the device, in main memory and in files.
    - `exact`: compare configurations whose fingerprints are equal. Otherwise the search identifies
      configurations by their fingerprints alone, and one of n configurations is missed with a
      probability of at most n^2 / 2^65, which the graph and its verdicts report.
    - `checkpoint`: where the search saves its progress, to continue from there; see
      `snpjax.Checkpoint`.
    - `progress`: called regularly with the number of configurations and the depth.
    - `seconds`: the search ends at the next chunk after this time, with what it has found; the
      graph is incomplete then. With a checkpoint the same call continues from there. A `Patience`
      can also be interrupted.

    **Returns:** a `Graph`, whose `stop` says whether it is complete.

    **Raises:** `ValueError` for inputs, neurons or limits that do not fit the system; `TypeError`
    for anything but a model; `MemoryError` if there is no memory for the first configurations;
    `CheckpointError` for checkpoints of another search.
    """
    if not follows(system, Explorable):
        fix = "Pass a system, a net, or a model with `enumerable` and `schema`."
        fix = advice_on(system, fix)
        if isinstance(system, Lowered):
            fix = "Pass the model itself, `lowered.model`."
        raise TypeError(f"{kind_of(system, 'A')} cannot be explored. {fix}")
    given = (system, max_configurations, max_depth, inputs, saturate, clock)
    refuse_tracers("explore", "simulate(lowered.machine, state, choice, max_steps=...)", given)
    max_configurations = as_integer("max_configurations", max_configurations)
    max_depth = None if max_depth is None else as_integer("max_depth", max_depth)
    clock = as_integer("clock", clock)
    if saturate is not None and not isinstance(saturate, Mapping):
        raise TypeError(f"`saturate` is {saturate!r:.60}. Give numbers by neuron, {{'name': 3}}.")
    if max_configurations < 1 or (max_depth is not None and max_depth < 0):
        raise ValueError(
            f"`max_configurations` is {max_configurations} and `max_depth` {max_depth}. Give at "
            "least 1 configuration, and a depth of 0 or more."
        )
    patience = Patience.of(seconds)
    if patience.has_limit and jax.process_count() > 1:
        raise ValueError(
            "The clocks of several processes differ. Leave out `seconds`, and pass "
            "`max_configurations` or `max_depth`."
        )
    if chunks is not None and (list(chunks) != sorted(chunks) or not chunks or chunks[0] < 1):
        raise ValueError(f"`chunks` is {chunks}. Give ascending sizes, 1 or more.")
    if inputs is not None:
        system = with_inputs(system, inputs)
    sizes = chunks or (CPU_CHUNKS if jax.default_backend() == "cpu" else GPU_CHUNKS)
    lowering: LoweringOptions = {}
    if layout != "auto":
        lowering["layout"] = layout
    if capacity is not None:
        lowering["capacity"] = capacity
    taken(system, system.enumerable, "explore", dict(lowering))
    options = SearchOptions(dict(saturate or {}), clock, lowering)
    progress = progress or (lambda num, depth: None)
    mesh, place = placement("explore", mesh, (CONFIGURATIONS,))
    if mesh is not None and (memory != MemoryLimits() or not exact):
        raise ValueError(
            "A search over a mesh keeps all words on its devices. Leave out `memory` and `exact`, "
            "or `mesh`."
        )
    if mesh is None:
        most = min(max_configurations, MAX_CONFIGURATIONS - 3 * max(sizes))
    else:
        most = max_configurations
    limits = SearchLimits(most, edges, memory, patience, is_exact=exact)
    search = RepeatedSearch(system, options, tuple(sizes), limits, mesh, progress)
    given = {
        "max_configurations": max_configurations,
        "max_depth": max_depth,
        "saturate": options.saturate,
        "clock": clock,
        "edges": edges,
    }
    of_call = {"model": system, **given, "capacity": capacity, "exact": exact}
    with place:
        if mesh is not None:
            check_agreement("explore", model=search.model().machine, **given, chunks=chunks)
        return search.graph(lambda: checkpoints_of(checkpoint, "explore", **of_call), max_depth)


def with_inputs(
    system: Explorable[ConfigurationsT, StepsT], inputs: Inputs
) -> Explorable[ConfigurationsT, StepsT]:
    """The same model with other inputs. **Raises:** `ValueError` for a model without inputs."""
    if not isinstance(system, TakesInput):
        raise ValueError(f"{kind_of(system, 'A')} has no inputs. Leave out `inputs`.")
    if not isinstance(inputs, Mapping | InputEnvironment):
        fix = f"snp.AnyInput({inputs})" if isinstance(inputs, int) else "snp.AnyInput(length)"
        raise TypeError(f"`inputs` is {inputs!r:.60}. Give trains by neuron, or {fix}.")
    return system.with_input(inputs)
