"""How long the products of a layout take, here and now."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jax.stages import Compiled, Lowered
from jaxtyping import Array, Float

from .._platform.cores import num_cores
from ..arguments import explain_arguments
from ..edges import Edges
from ..layout import AbstractLayout
from .candidates import Candidate
from .workload import Workload


#: Inputs that are multiplied in turn: one alone could stay where the last product left it.
INPUTS = 4

# The predicate of a loop is read back on the host of a GPU, 25 us an iteration, so that each makes
# several products; where one takes long there are few. They are unrolled by `INPUTS` there: with
# one an iteration what was timed was mostly the host that starts kernels, 19 us where the product
# takes 6, another time in the next process (H200, jax 0.11.2; 2026-11). On a CPU an iteration costs
# next to nothing, but XLA joins products that are unrolled, which no run does.
_INNER = 32
_SHORT = 2**24  # numbers read, below which all of them

# A candidate that takes this many times the best is timed once.
_HOPELESS = 6.0

_SECONDS = {"cpu": 8e-3, "gpu": 3e-3}  # of one sample, at least


@dataclass(frozen=True)
class Timing:
    """Seconds of one product, or of two where gradients are wanted: one sample a round, or only one
    where the candidate was hopeless."""

    samples: tuple[float, ...]
    is_hopeless: bool = False

    @property
    def least(self) -> float:
        """The least sample: whatever disturbs a machine only adds to a time."""
        return min(self.samples)


class WrongAnswer(AssertionError):
    """A layout that gives other sums than the coordinate list. Our own bug: please report it."""


@dataclass(frozen=True, eq=False)
class Contest:
    """What is to be timed against each other, on the host."""

    layouts: Mapping[str, AbstractLayout]
    workload: Workload
    inputs: np.ndarray
    inner: int  # products of one iteration of a program
    expected: Float[np.ndarray, "targets 2"]  # sums of the first and the last column
    scale: float  # how large they may be

    @classmethod
    def of(
        cls,
        candidates: Sequence[Candidate],
        edges: Edges,
        workload: Workload,
        inputs: np.ndarray,
    ) -> "Contest":
        """Build the layouts that are timed against each other.

        **Arguments:**

        - `candidates`: the layouts.
        - `edges`: the graph.
        - `workload`: what is multiplied.
        - `inputs`: `(INPUTS, sources, *batch)` values.
        """
        inner = INPUTS
        if jax.default_backend() != "cpu":
            numbers = max(len(edges), 1) * workload.batch
            inner = int(np.clip(2 * _SHORT // numbers, 1, _INNER // INPUTS)) * INPUTS
        with jax.default_device(_host()):
            layouts = {c.name: c.build(edges, workload) for c in candidates}
        return cls(layouts, workload, inputs, inner, *_expected(edges, inputs, workload))

    def programs(self, *, budget: float | None = None) -> dict[str, Compiled]:
        """Compiled for the default device, by the cores of this process; after this many seconds no
        further one is begun, but there is always one."""
        began = time.perf_counter()

        def is_late() -> bool:
            return budget is not None and time.perf_counter() - began > budget

        def compiled(lowered: Lowered, is_first: bool) -> Compiled | None:
            return lowered.compile() if is_first or not is_late() else None

        made: dict[str, Future[Compiled | None]] = {}
        with ThreadPoolExecutor(num_cores()) as pool:
            for name, stored in self.layouts.items():
                if made and is_late():
                    break
                given = jax.tree.map(
                    lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), (stored, self.inputs)
                )
                # Here, where a configuration of JAX for this thread alone holds.
                lowered = _repeated.lower(
                    *given,
                    np.int32(1),
                    inner=self.inner,
                    accumulate=np.dtype(self.workload.accumulate),
                    gradients=self.workload.gradients,
                )
                made[name] = pool.submit(compiled, lowered, not made)
            programs = {name: future.result() for name, future in made.items()}
        return {name: program for name, program in programs.items() if program is not None}

    def timed(
        self,
        programs: Mapping[str, Compiled],
        *,
        rounds: int,
        budget: float | None = None,
    ) -> dict[str, Timing]:
        """Check and time compiled programs on the default device, see `race`.

        **Arguments:**

        - `programs`: what `programs()` returned.
        - `rounds`: how often each is timed.
        - `budget`: seconds after which no further round begins; `None` for no limit.

        **Returns:** the times by the name of the layout.
        """
        began = time.perf_counter()
        device, inner = jax.devices()[0], self.inner
        xs = jax.device_put(self.inputs, device)
        calls = {
            name: partial(program, jax.device_put(self.layouts[name], device), xs)
            for name, program in programs.items()
        }
        for name, call in calls.items():
            y = np.asarray(call(np.int32(1))[0])
            _check(name, y, self.expected * (inner // INPUTS), self.scale)
        first = {name: min(_seconds(call, 1) for _ in range(3)) for name, call in calls.items()}
        best = min(first.values(), default=0.0)
        kept = [name for name, once in first.items() if once <= _HOPELESS * best]
        least = _SECONDS["cpu" if device.platform == "cpu" else "gpu"]
        outer = {name: max(1, int(least / first[name])) for name in kept}
        samples: dict[str, list[float]] = {name: [] for name in kept}
        for turn in range(rounds if kept else 0):
            for name in kept[turn % len(kept) :] + kept[: turn % len(kept)]:
                seconds = _seconds(calls[name], outer[name])
                samples[name].append(seconds / (outer[name] * inner))
            if budget is not None and time.perf_counter() - began > budget:
                break
        return {
            name: Timing(tuple(samples.get(name, [once / inner])), is_hopeless=name not in samples)
            for name, once in first.items()
        }


def race(
    candidates: Sequence[Candidate],
    edges: Edges,
    workload: Workload,
    inputs: np.ndarray,
    *,
    rounds: int = 7,
    budget: float | None = None,
) -> dict[str, Timing]:
    """Time candidates against each other on one graph, in turn, so that what disturbs the machine
    disturbs all of them; answers are compared with those of the coordinate list first.

    **Arguments:**

    - `inputs`: `(INPUTS, sources, *batch)`.
    - `rounds`: samples of each.
    - `budget`: seconds after which no further candidate is compiled and no further round begins;
      all are built, and the first is always timed.

    **Raises:** `WrongAnswer`.
    """
    began = time.perf_counter()
    contest = Contest.of(candidates, edges, workload, inputs)
    programs = contest.programs(budget=budget and budget / 2)
    left = budget and budget - (time.perf_counter() - began)
    return contest.timed(programs, rounds=rounds, budget=left)


def _host() -> Any:
    """Where layouts are built, so that nothing runs on a device that others may be timing on;
    `None`, which is the default device, where JAX was told of no other."""
    try:
        return jax.devices("cpu")[0]
    except RuntimeError:
        return None


def _seconds(call: partial, outer: int) -> float:
    began = time.perf_counter()
    jax.block_until_ready(call(np.int32(outer)))
    return time.perf_counter() - began


@partial(jax.jit, static_argnames=("inner", "accumulate", "gradients"))
def _repeated(
    stored: AbstractLayout,
    xs: Array,
    outer: Array,
    *,
    inner: int,
    accumulate: np.dtype,
    gradients: bool,
) -> tuple[Array, Array]:
    """The sums of `outer * inner` products."""
    rows = xs.shape[2:]
    y = jnp.zeros((stored.num_targets, *rows), accumulate)
    back = jnp.zeros((stored.num_sources, *rows), accumulate)
    g = jnp.ones((stored.num_targets, *rows), accumulate)

    def product(x: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        y, back = sums
        y = y + stored.deliver(x, accumulate=accumulate)
        if gradients:
            # Depends on y, so that it is made in every step.
            moved = g + y * jnp.asarray(1e-30, accumulate)
            back = back + stored.deliver_transposed(moved, accumulate=accumulate)
        return y, back

    def one(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        return product(lax.dynamic_index_in_dim(xs, i % INPUTS, keepdims=False), sums)

    each = list(xs)  # sliced here, and not in the loop

    def unrolled(_: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        for x in each:
            # One after the other, as in a run: XLA would join those that read the same layout.
            x, sums = lax.optimization_barrier((x, sums))
            sums = product(x, sums)
        return sums

    body, times = unrolled, inner // INPUTS
    if jax.default_backend() == "cpu":
        body, times = one, inner
    return lax.fori_loop(0, outer, lambda _, sums: lax.fori_loop(0, times, body, sums), (y, back))


def _expected(edges: Edges, inputs: np.ndarray, workload: Workload) -> tuple[np.ndarray, float]:
    """The sums over all inputs, by the coordinate list in 64 bits, and how large they may be."""
    total = inputs.astype(np.float64).sum(axis=0)
    value = np.ones(len(edges)) if edges.value is None else edges.value.astype(np.float64)
    flat = total.reshape(len(total), -1)
    columns = flat[:, [0, -1]]  # of a batch the first and the last
    y = np.stack(
        [
            np.bincount(edges.target, value * column[edges.source], minlength=edges.num_targets)
            for column in columns.T
        ],
        axis=1,
    )
    size = np.bincount(edges.target, np.abs(value), minlength=edges.num_targets).max(initial=0)
    return y, float(size * np.abs(columns).max(initial=0))


def _check(name: str, y: np.ndarray, expected: np.ndarray, scale: float) -> None:
    of = y.reshape(len(y), -1)[:, [0, -1]].astype(np.float64) if y.size else expected
    error = np.abs(of - expected).max(initial=0)
    allowed = 0.0 if np.issubdtype(y.dtype, np.integer) else 1e-4 * scale
    if error > allowed and error > 1e-4 * np.abs(expected).max(initial=0):
        raise WrongAnswer(f"{name} is off by {error:.3g}. Please report it.")


explain_arguments(__name__)
