"""The stochastic simulation, cell by cell and exact in law."""

import dataclasses
import functools
import operator
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from snpjax_formats import bucket, free_bytes

from .._text.counts import plural
from .._xla import refuse_fork
from ..memory import Footprint, check_fits
from ..scale.checkpoint import Checkpoint, checkpoints_of
from ..scale.shares import Crew, on_each, spread, summed
from ..trajectory import nbytes_of
from .binning import NO_BIN, AbstractBins, BinRule, bins_of_model
from .draws import MAX_GENERATION, OFFSET, ROOT, Timer, random_words, timer_of
from .lanes import STEPS, InitialCells, LaneState, advance, empty, is_done
from .law import Fixed, Normal
from .model import ProliferationModel
from .saved_counts import SavedCounts
from .start import Start
from .table import SparseHistogram, merged


class SampleFailed(RuntimeError):
    """A population that cannot be simulated; the message says which part and what to do."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Simulated final histograms, as host arrays.

    Axes: `runs` is first and only there when `runs` was given; `channels` are those that hold cells
    at the beginning; generation k of channel phi has the fluorescence phi / 2^k.

    - `counts`: cells of each channel and generation.
    - `type_generation`: cells of each type and generation.
    - `by_type`: cells of each type, channel and generation, or `None` where not asked for.
    - `fluorescence`: `(channels, generations)`.
    - `draws`: timers drawn, which is the number of cells that ever existed.
    - `sampler`: "cells" (exact law), "lattice" (see `Lattice`) or "gaussian".
    """

    model: ProliferationModel
    counts: Int[np.ndarray, "*runs channels generations"]
    type_generation: Int[np.ndarray, "*runs types generations"]
    by_type: Int[np.ndarray, "*runs types channels generations"] | None
    fluorescence: np.ndarray
    draws: int
    sampler: str

    @property
    def total(self) -> Int[np.ndarray, "*runs"]:
        """Cells in all."""
        return self.type_generation.sum((-2, -1))

    def table(self, run: int | None = None) -> SparseHistogram:
        """The histogram of a run: fluorescences in ascending order and cells, without empty ones.

        **Raises:** `ValueError` if the sample has several runs and none is named.
        """
        if (run is None) != (self.counts.ndim == 2):
            raise ValueError("Name one run of a sample of several, and none of a single one.")
        where = () if run is None else (run,)
        by_type = None if self.by_type is None else self.by_type[where]
        return merged(self.fluorescence, self.counts[where], by_type)

    def binned(
        self,
        bins: AbstractBins,
        *,
        rule: BinRule = BinRule.CALIBRATION,
        phi_min: float | None = None,
    ) -> Int[np.ndarray, "*runs bins"]:
        """The cells of each bin.

        **Arguments:**

        - `bins`: the bins.
        - `rule`: what happens to values outside the bins.
        - `phi_min`: the threshold below which `BinRule.DISPLAY` drops values; by default the
          model's.

        **Returns:** `(*runs, bins)` cells.
        """
        index = bins_of_model(self.model, bins, rule=rule, phi_min=phi_min)
        is_in = index != NO_BIN
        lead = self.counts.shape[:-2]
        found = np.zeros((*lead, bins.num), self.counts.dtype)
        for place in zip(*np.nonzero(is_in), strict=True):
            found[..., index[place]] += self.counts[(..., *place)]
        return found


#: Lanes that walk at the same time. On a CPU what they hold stays in the cache, and populations are
#: small enough that the last families matter; a GPU needs many.
_LANES = (2**6, 2**8, 2**10, 2**11, 2**14, 2**17, 2**20)
_MOST_LANES = {"cpu": 2**11}
_DEFAULT_LANES = 2**20
#: Families per lane that a device is filled with.
_FAMILIES_PER_LANE = 16
_BYTES_PER_FAMILY = 64
_BUDGETS = {"cpu": 2**30}
_DEFAULT_BUDGET = 8 * 2**30
#: Entries of the histograms of runs that are simulated together.
_MAX_ENTRIES = 2**22
_SECONDS_PER_CALL = 0.5
_FIRST_TURNS = 1024


def simulate(
    model: ProliferationModel,
    key: PRNGKeyArray,
    *,
    runs: int | None = None,
    by_type: bool = False,
    budget: int | None = None,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
) -> Sample:
    """Simulate the population, cell by cell: every cell draws its own division time.

    The same key gives the same histogram on every device, for every `budget` and `mesh`; run r is
    the same for every number of runs. Draws have 31 bits and clocks single precision, but for types
    of `Fixed` division times, which have double.

    **Arguments:**

    - `model`: a proliferation model.
    - `key`: a typed PRNG key; it is consumed.
    - `runs`: the number of independent runs, the first axis of the result; `None` is run 0 alone.
    - `by_type`: keep the histogram of each type.
    - `budget`: bytes of memory of a device, by default 1 GiB on a CPU and 8 GiB elsewhere. It
      bounds the cells that are kept at once, not the population, whatever its size.
    - `mesh`: devices that share the initial cells of all runs, `jax.make_mesh((4,), ("paths",))`:
      several devices also speed up a single run. See `snpjax.scale`.
    - `checkpoint`: where to save the cells counted so far, see `snpjax.Checkpoint`.

    **Returns:** a `Sample`. Counts are 64-bit integers. Of several processes, each has all of it.

    **Raises:** `SampleFailed` if there are 2^32 initial cells or more, or a cell has divided 31
    times and its daughters could, too; `ValueError` for a budget that holds nothing;
    `NotEnoughMemory` for more runs than fit in memory; `CheckpointError` for checkpoints of another
    call.
    """
    refuse_fork("proliferation.simulate")
    num_runs = 1 if runs is None else operator.index(runs)
    if num_runs < 1:
        raise ValueError(f"`runs` is {runs}. Give 1 or more runs, or None for a single one.")
    if not jnp.issubdtype(getattr(key, "dtype", np.float32), jax.dtypes.prng_key):
        raise TypeError("`key` is not a typed key. Give one such as jax.random.key(0).")
    given = {"model": contents(model), "key": key, "runs": runs}
    with spread("simulate", mesh, **given) as crew:
        saved = checkpoints_of(checkpoint, "simulate", **given, by_type=by_type, budget=budget)
        with saved as checkpoints:
            counts = SavedCounts(checkpoints)
            return _simulate(model, key, runs, by_type, budget, crew, counts)


def contents(model: ProliferationModel) -> tuple[Any, ...]:
    """All that a model says."""
    own = model.initial
    rest = model.types, model.duration, model.phi_min, model.start
    return own.fluorescence, own.counts, *rest


def _simulate(
    model: ProliferationModel,
    key: PRNGKeyArray,
    runs: int | None,
    by_type: bool,
    budget: int | None,
    crew: Crew | None,
    saved: SavedCounts,
) -> Sample:
    num_runs = 1 if runs is None else runs
    plan = _Plan.of(model, num_runs, budget, crew).going_on(saved, crew)
    others = ["leave out `by_type`"] if by_type else []
    others += ["give a smaller `budget`"] if budget is not None else []
    _check_memory(model, plan, num_runs, by_type, crew, *others)
    shape = (num_runs, len(model.types), plan.channels, plan.generations)
    kept = shape if by_type else (num_runs, plan.channels, plan.generations)
    counts = np.zeros(kept, np.int64)
    type_generation = np.zeros((num_runs, shape[1], shape[3]), np.int64)
    draws = first = 0
    while first < num_runs:
        last = min(first + plan.batch, num_runs, (first // plan.group + 1) * plan.group)
        for index in range(shape[1]):
            of_type = functools.partial(_of_type, model, key, plan, index, first, last, crew, saved)
            found, drawn = saved.counts_of(first, index, of_type)
            draws += drawn
            type_generation[first:last, index] = found.sum(1)
            if by_type:
                counts[first:last, index] = found
            else:
                counts[first:last] += found
        first = last
    saved.finish()
    held = model.initial.occupied
    k = np.arange(plan.generations)
    where = 0 if runs is None else slice(None)
    return Sample(
        model,
        (counts.sum(1) if by_type else counts)[where],
        type_generation[where],
        counts[where] if by_type else None,
        np.ldexp(held.fluorescence[:, None], -k[None, :]),
        draws,
        "cells",
    )


def _check_memory(
    model: ProliferationModel,
    plan: "_Plan",
    runs: int,
    by_type: bool,
    crew: Crew | None,
    *others: str,
) -> None:
    """Refuse histograms that the host has no memory for, and lanes that a device has none for."""
    types, entries = len(model.types), plan.channels * plan.generations
    of_run = 8 * (types * plan.generations + entries * (types + 1 if by_type else 1))
    state = jax.eval_shape(lambda: empty(*plan.sizes))
    device = 2 * nbytes_of(state)  # one is made from the other
    check_fits(
        lambda num: Footprint(device, num * of_run),
        runs,
        f"The histograms of {plural(runs, 'run')} need",
        "simulate {:,} runs at a time",
        *others,
        mesh=None if crew is None else crew.mesh,
    )


@dataclass(frozen=True)
class _Plan:
    """How a simulation is cut up. Nothing of it but `group` changes what comes out, and that is
    given by the model."""

    cells: int
    channels: int
    generations: int
    #: Runs whose families are numbered under one key.
    group: int
    #: Runs that are simulated together.
    batch: int
    lanes: int

    @property
    def levels(self) -> int:
        """Cells can wait in generations below this: not in the last."""
        return bucket(min(self.generations, MAX_GENERATION + 1) - 1)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Those of a `LaneState`."""
        entries = bucket(self.batch * self.channels * self.generations)
        return self.lanes, self.pool, self.levels, entries

    @property
    def pool(self) -> int:
        """Families that are begun together."""
        return self.lanes * _FAMILIES_PER_LANE

    @staticmethod
    def of(model: ProliferationModel, runs: int, budget: int | None, crew: Crew | None) -> "_Plan":
        held = model.initial.occupied
        cells, channels, generations = held.cells, held.counts.size, model.generations
        if cells >= 2**32:
            raise SampleFailed(
                f"There are {cells:,} initial cells, and families are numbered in 32 bits. Use "
                "`sample_lattice`, or simulate parts of the histogram and add the results."
            )
        group = (2**32 - 1) // cells
        backend = jax.default_backend() if crew is None else crew.mesh.devices[0].platform
        if budget is None:
            budget, free = _BUDGETS.get(backend, _DEFAULT_BUDGET), free_bytes(crew and crew.mesh)
            budget = budget if free is None else min(budget, free)
        entries = channels * generations
        batch = max(1, min(runs, group, min(_MAX_ENTRIES, budget // 64) // entries))
        # The state and a copy of it, and what is between.
        per_lane = 8 * (generations + 16) + _BYTES_PER_FAMILY * _FAMILIES_PER_LANE
        counts = 8 * bucket(batch * entries)
        most = min((budget - counts) // per_lane, _MOST_LANES.get(backend, _DEFAULT_LANES))
        if most < _LANES[0]:
            least = counts + _LANES[0] * per_lane
            raise ValueError(f"`budget` is {budget} bytes. Give {least} or more.")
        fitting = [lanes for lanes in _LANES if lanes <= most]
        share = -(-batch * cells // (1 if crew is None else crew.size))
        enough = [lanes for lanes in fitting if lanes * _FAMILIES_PER_LANE >= share]
        return _Plan(cells, channels, generations, group, batch, (enough or fitting[-1:])[0])

    def going_on(self, saved: SavedCounts, crew: Crew | None) -> "_Plan":
        """With the batches of the checkpoint, whatever memory is free now; and with its lanes on
        devices of the same kind and number."""
        plan = self if saved.batch is None else dataclasses.replace(self, batch=saved.batch)
        devices: dict[str, Any] = {
            "devices": 1 if crew is None else crew.size,
            "platform": jax.default_backend() if crew is None else crew.mesh.devices[0].platform,
        }
        if devices.items() <= saved.setup.items():
            plan = dataclasses.replace(plan, lanes=saved.setup["lanes"])
        saved.begin(plan.batch, lanes=plan.lanes, pool=plan.pool, levels=plan.levels, **devices)
        return plan


def _of_type(
    model: ProliferationModel,
    key: PRNGKeyArray,
    plan: _Plan,
    index: int,
    first: int,
    last: int,
    crew: Crew | None,
    saved: SavedCounts,
) -> tuple[Int[np.ndarray, "runs channels generations"], int]:
    """The cells of one type in runs `first` to `last`, which are of one group, and the number of
    timers drawn."""
    shape = (last - first, plan.channels, plan.generations)
    # Cells draw a word below the upper bound of their type; the last bound is 2^32.
    bounds = np.cumsum([0.0, *(x.proportion for x in model.types)])
    low, high = (int(round(x / bounds[-1] * 2**32)) for x in bounds[index : index + 2])
    if low == high:
        return np.zeros(shape, np.int64), 0
    held = model.initial.occupied
    room = bucket(plan.channels)
    ends = np.full(room, plan.cells, np.uint32)
    ends[: plan.channels] = held.counts.cumsum()
    deepest = np.zeros(room, np.int32)
    last_of = model.max_divisions[model.initial.counts > 0]
    deepest[: plan.channels] = np.minimum(last_of, MAX_GENERATION)
    group = first // plan.group
    law = model.types[index].law
    is_dividing = law is not None and model.duration > 0 and not isinstance(law, Fixed)
    word = functools.partial(jnp.asarray, dtype=jnp.uint32)
    families = InitialCells(
        key=word(np.asarray(jr.bits(jr.fold_in(key, group), (2,), np.uint32))),
        first=word((first - group * plan.group) * plan.cells),
        num=word((last - first) * plan.cells),
        cells=word(plan.cells),
        stride=word(1),
        offset=word(0),
        ends=jnp.asarray(ends),
        last=jnp.asarray(deepest),
        channels=word(plan.channels),
        generations=word(plan.generations),
        lowest=word(low),
        highest=word(high - 1),
        divides=jnp.asarray(is_dividing),
    )
    if isinstance(law, Fixed) and model.duration > 0:
        counts = _fixed(jax.device_get(families), plan, model, law.mean, last_of, shape)
        return counts, int(counts.sum())
    timer = timer_of(_ANY if law is None or not is_dividing else law, model.duration or 1.0)
    entries = int(np.prod(shape))
    counts, draws, is_cut = _drive(families, timer, model.start, plan, entries, crew, saved)
    if is_cut and int(model.max_divisions.max()) > MAX_GENERATION:
        raise SampleFailed(
            f"A cell of type {model.types[index].name!r} divides more than {MAX_GENERATION} times. "
            "Raise `phi_min`, or use `sample_lattice`."
        )
    return counts.reshape(shape), draws


def _drive(
    families: InitialCells,
    timer: Timer,
    start: Start,
    plan: _Plan,
    entries: int,
    crew: Crew | None,
    saved: SavedCounts,
) -> tuple[Int[np.ndarray, " entries"], int, bool]:
    """Turns, some half a second of them at a time, after which counts are moved to the host: cells
    of each entry, timers drawn, and whether a cell divided too often."""
    mesh = None if crew is None else crew.mesh
    if crew is not None:
        families = crew.given(functools.partial(_share, families, crew.size))
    room = bucket(entries)
    state = _empty(*plan.sizes[:3], room, mesh)
    total, draws = np.zeros(entries, np.int64), 0
    found = saved.state({"lanes": state, "total": total, "draws": 0})
    if found is not None:
        placed = jax.tree.map(lambda x, y: jax.device_put(y, x.sharding), state, found["lanes"])
        state, total, draws = placed, found["total"], int(found["draws"])
    most = 2**30 // (2 * STEPS * plan.lanes + plan.pool)  # turns whose counts fit into 32 bits
    limit = min(_FIRST_TURNS, most)
    while True:
        began = time.perf_counter()
        made = _advance(state, families, timer, np.int32(limit), start=start, mesh=mesh)
        state, is_done = jax.block_until_ready(made)
        is_done = bool(np.all(is_done))
        total += np.asarray(state.counts).reshape(-1, room).sum(0, dtype=np.int64)[:entries]
        draws += int(np.asarray(state.draws).sum(dtype=np.int64))
        if is_done:
            break
        seconds = max(time.perf_counter() - began, 1e-6)
        limit = int(min(most, max(1, limit * _SECONDS_PER_CALL / seconds)))
        state = _drained(state)
        saved.offer({"lanes": state, "total": total, "draws": np.int64(draws)})
    is_cut = bool(np.any(state.is_cut))
    if crew is not None:
        of_all = summed(np.append(total, [draws, is_cut]))
        total, draws, is_cut = of_all[:-2], int(of_all[-2]), bool(of_all[-1])
    return total, draws, is_cut


def _share(families: InitialCells, size: int, place: int) -> InitialCells:
    """What the device at `place` of `size` simulates. Neighbours divide about as often, so that it
    takes some from everywhere."""
    num = max(-(-(int(families.num) - place) // size), 0)
    number, stride, offset = (np.uint32(x) for x in (num, size, place))
    return dataclasses.replace(families, num=number, stride=stride, offset=offset)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _empty(lanes: int, pool: int, levels: int, entries: int, mesh: Mesh | None) -> LaneState:
    """Nothing begun; on a mesh, by each device."""
    make = functools.partial(empty, lanes, pool, levels, entries)
    return make() if mesh is None else on_each(make, mesh, ())


@functools.partial(jax.jit, static_argnames=("start", "mesh"), donate_argnums=0)
def _advance(
    state: LaneState,
    families: InitialCells,
    timer: Timer,
    limit: Int[Array, ""],
    *,
    start: Start,
    mesh: Mesh | None,
) -> tuple[LaneState, Bool[Array, "*devices"]]:
    """Up to `limit` turns, and whether every family is done; on a mesh, by each device for its own
    families."""

    def turns(state: LaneState, families: InitialCells, timer: Timer, limit: Array) -> Any:
        state = advance(state, families, timer, limit, start=start)
        return state, is_done(state, families)

    if mesh is None:
        return turns(state, families, timer, limit)
    return on_each(turns, mesh, (state, families), (timer, limit))


@functools.partial(jax.jit, donate_argnums=0)
def _drained(state: LaneState) -> LaneState:
    return dataclasses.replace(
        state,
        counts=jnp.zeros_like(state.counts),
        draws=jnp.zeros_like(state.draws),
        turns=jnp.zeros_like(state.turns),
    )


#: For types that never divide, whose timers do not matter.
_ANY = Normal(1.0, 1.0)


def _fixed(
    families: InitialCells,
    plan: _Plan,
    model: ProliferationModel,
    mean: float,
    last: Int[np.ndarray, " channels"],
    shape: tuple[int, ...],
) -> Int[np.ndarray, "runs channels generations"]:
    """Families that divide every `mean` hours: 2^k cells of one generation each."""
    means, start = model.duration / mean, model.start
    if plan.cells << plan.generations >= 2**62:
        raise SampleFailed("There may be more cells than 63 bits count. Raise `phi_min`.")
    total = np.zeros(int(np.prod(shape)), np.int64)
    tile = 2**16
    for first in range(0, int(families.num), tile):
        size = min(tile, int(families.num) - first)
        number = np.uint32(first) + np.arange(tile, dtype=np.uint32)
        of_type, share = (
            np.asarray(x)[:size] for x in _words(families.key, families.first + number)
        )
        number = number[:size]
        u = (share + 0.5) / 2**32
        shift = {Start.SYNC: np.zeros(size), Start.RESIDUAL: -u}.get(start, u)
        generation = np.maximum(np.floor(means - shift), 0)
        run, cell = np.divmod(number, families.cells)
        channel = np.searchsorted(np.asarray(families.ends)[: plan.channels], cell, side="right")
        is_in = (of_type >= families.lowest) & (of_type <= families.highest)
        is_in &= generation <= last[channel]
        entry = (run * plan.channels + channel)[is_in].astype(np.int64) * plan.generations
        k = generation[is_in].astype(np.int64)
        np.add.at(total, entry + k, np.int64(1) << k)
    return total.reshape(shape)


@jax.jit
def _words(key: Array, family: Array) -> tuple[Array, Array]:
    of_type, _ = random_words(key, family, jnp.full_like(family, ROOT))
    share, _ = random_words(key, family, jnp.full_like(family, OFFSET))
    return of_type, share
