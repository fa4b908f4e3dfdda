"""A sampler whose cost does not depend on the number of cells: cohorts on a lattice of times."""

import math
from collections.abc import Callable

import jax
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int, PRNGKeyArray
from scipy.special import gammainc, ndtr

from snpjax_formats.arguments import as_integer

from ..memory import Footprint, check_fits
from ..scale.shares import spread, summed
from .grid import legendre
from .law import Fixed, Gamma, Law, Normal
from .model import ProliferationModel
from .sample import Sample, SampleFailed, contents
from .start import Start


def sample_lattice(
    model: ProliferationModel,
    key: PRNGKeyArray,
    *,
    runs: int | None = None,
    slots: int = 256,
    mesh: Mesh | None = None,
) -> Sample:
    """Simulate a huge population approximately, cohort by cohort.

    Time is cut into `slots` and a half. Division times are moved to the two slots beside them, so
    that their mean stays; the cells of one channel, type, generation and slot of birth draw their
    slots of division together, by one multinomial. What cells of a family have in common is kept:
    sisters are born together, and all descend from one beginning. Because divisions move by up to a
    slot, the law has a bias of the order of 1 / slots^2. Of three types after ten days it was, of
    the total, 0.31 % with 48 slots, 0.08 % with 96 and 0.011 % with 256; of the first and the last
    generations up to 0.8 % with 256. `simulate` has none.

    On the host, in `O(channels * generations * slots^2)` whatever the counts are.

    **Arguments:**

    - `model`: a proliferation model.
    - `key`: a typed PRNG key; it is consumed. The same key gives the same histogram.
    - `runs`: as in `simulate`.
    - `slots`: the number of intervals of time, 8 or more.
    - `mesh`: devices, `jax.make_mesh((4,), ("paths",))`, whose processes share the runs; a single
      process has all of them.

    **Returns:** a `Sample` with the histogram of each type.

    **Raises:** `ValueError` for fewer than 8 slots; `NotEnoughMemory` for more slots or runs than
    fit in memory; `SampleFailed` for a cohort of 2^62 cells.
    """
    if as_integer("slots", slots) < 8:
        raise ValueError(f"`slots` is {slots}. Give 8 or more.")
    num_runs = 1 if runs is None else as_integer("runs", runs)
    if num_runs < 1:
        raise ValueError(f"`runs` is {runs}. Give 1 or more.")
    held = model.initial.occupied
    last = model.max_divisions[model.initial.counts > 0]
    generations, types = model.generations, len(model.types)
    _check_memory(num_runs, slots, types, held.counts.size, generations)
    by_type = np.zeros((num_runs, types, held.counts.size, generations), np.int64)
    chances = [_Chances(x.law, model.duration, model.start, slots) for x in model.types]
    shares = np.array([x.proportion for x in model.types])
    with spread("sample_lattice", mesh, model=contents(model), key=key, runs=runs, slots=slots):
        processes = 1 if mesh is None else jax.process_count()
        for run in range(jax.process_index() % processes, num_runs, processes):
            words = np.asarray(jr.key_data(jr.fold_in(key, run))).astype(np.uint64)
            rng = np.random.Generator(np.random.Philox(key=words[-2:]))
            cells = rng.multinomial(held.counts, shares / shares.sum())
            for j in range(types):
                by_type[run, j] = _cohorts(rng, cells[:, j], last, chances[j], generations)
        if mesh is not None:
            by_type = summed(by_type.ravel()).reshape(by_type.shape)
    k = np.arange(generations)
    where = 0 if runs is None else slice(None)
    return Sample(
        model,
        by_type.sum(1)[where],
        by_type.sum(2)[where],
        by_type[where],
        np.ldexp(held.fluorescence[:, None], -k[None, :]),
        0,
        "lattice",
    )


def _check_memory(runs: int, slots: int, types: int, channels: int, generations: int) -> None:
    """**Raises:** `NotEnoughMemory` for histograms or cohorts that do not fit in memory."""

    def footprint(runs: int, slots: int) -> Footprint:
        histograms = 3 * runs * types * channels * generations
        return Footprint(0, 8 * (histograms + (slots + 1) * (3 * channels + 64)))

    check_fits(
        lambda num: footprint(1, num), slots, f"{slots:,} slots need", "give up to {:,} slots"
    )
    check_fits(
        lambda num: footprint(num, slots), runs, f"{runs:,} runs need", "give up to {:,} runs"
    )


class _Chances:
    """Probabilities of the slots of division, in numbers of slots after birth.

    - `first`: of the first division of a family, from the beginning; `own`: of any other.
    """

    def __init__(self, law: Law | None, duration: float, start: Start, slots: int):
        self.slots = slots
        if law is None or duration == 0:
            self.first = self.own = np.zeros(slots + 1)
            return
        step = duration / (slots + 0.5)
        below = _mean_below(law)
        self.own = _split(below, slots, step)
        if start is Start.SYNC:
            self.first = self.own
            return
        u, w = legendre(64)
        stretch = 1 + u if start is Start.STRETCH else u
        # E(x - a T)+ = a E(x / a - T)+.
        self.first = _split(lambda x: (stretch * below(x[:, None] / stretch)) @ w, slots, step)
        if start is Start.ASYNC:
            self.first = np.convolve(self.first, self.own)[: slots + 1]


def _split(
    below: Callable[[np.ndarray], np.ndarray], slots: int, step: float
) -> Float[np.ndarray, " slots"]:
    """Times moved to the slots beside them: the second difference of E(x - T)+."""
    values = below(np.arange(-1, slots + 2) * step)
    return np.maximum(values[2:] - 2 * values[1:-1] + values[:-2], 0) / step


def _mean_below(law: Law) -> Callable[[np.ndarray], np.ndarray]:
    """E(x - T)+ of a division time T: the integral of its distribution."""
    if isinstance(law, Fixed):
        return lambda x: np.maximum(x - law.mean, 0)
    if isinstance(law, Gamma):

        def of_gamma(x: np.ndarray) -> np.ndarray:
            x = np.maximum(x, 0)
            t = x / law.scale
            own, next_ = gammainc(law.shape, t), gammainc(law.shape + 1, t)
            return x * own - law.shape * law.scale * next_

        return of_gamma
    m, s = law.mean, law.sd
    kept = ndtr(m / s)

    def whole(x: np.ndarray) -> np.ndarray:
        z = (x - m) / s
        return (x - m) * ndtr(z) + s * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    def of_normal(x: np.ndarray) -> np.ndarray:
        x = np.maximum(x, 0)
        zero = np.zeros(1)
        return (whole(x) - whole(zero) - x * ndtr(-m / s)) / kept

    assert isinstance(law, Normal)
    return of_normal


def _cohorts(
    rng: np.random.Generator,
    cells: Int[np.ndarray, " channels"],
    last: Int[np.ndarray, " channels"],
    chances: _Chances,
    generations: int,
) -> Int[np.ndarray, "channels generations"]:
    """Cells of each channel and generation of one type."""
    slots = chances.slots
    alive = np.zeros((cells.size, generations), np.int64)
    born = np.zeros((cells.size, slots + 1), np.int64)  # by the slot of birth
    born[:, 0] = cells
    for k in range(generations):
        divided = np.zeros_like(born)
        for slot in range(slots + 1 if k else 1):
            rows = np.flatnonzero(born[:, slot])
            if not rows.size:
                continue
            p = (chances.own if k else chances.first)[: slots + 1 - slot]
            p = np.append(p, max(1 - p.sum(), 0.0))
            drawn = rng.multinomial(born[rows, slot], p / p.sum())
            alive[rows, k] += drawn[:, -1]
            divided[rows, slot:] += drawn[:, :-1]
        divided[last <= k] = 0  # these vanish
        if divided.max(initial=0) >= 2**61:
            raise SampleFailed("A cohort has more cells than 63 bits count. Simulate a part.")
        born = 2 * divided
    return alive
