"""What a run needs, from the shapes of its arrays, before any of them is allocated."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from .advance import advance, end_of, paths_of, row_of, spread
from .driver import Driver
from .machine import Growable, Partitioned, Stacked, arrays_by_path, follows
from .memory import Footprint, check_fits, share_taken
from .trajectory import nbytes_of


# Where all other arrays take this part of what is free, the compiler is asked for those that a call
# needs between. It then compiles the program that is to be called.
_NEAR = 1 / 16


def check_run(driver: Driver, start: PyTree, paths: int | None, *, tiled: bool) -> None:
    """Refuse a run that does not fit in memory.

    **Raises:** `NotEnoughMemory`, before anything is allocated.
    """
    machine, save = driver.machine, driver.save
    what, others = "This run needs", []
    fewer = "run {:,} paths at a time"
    if isinstance(machine, Stacked):
        what, fewer = f"{paths:,} systems need", "run {:,} systems at a time"
    elif paths is not None:
        what = f"{paths:,} paths need" if paths > 1 else "One path needs"
        if not driver.lean:
            others.append("sum over the paths with `observe=`")
        if driver.placement is None and jax.device_count() > 1:
            others.append("share them among devices with `mesh=`")
    if save.keeps_history:
        others.append("keep less with `save=`")
    mesh = None if driver.placement is None else driver.placement.mesh

    def of(num: int) -> Footprint:
        return footprint_of(driver, start, None if paths is None else num, tiled=tiled)

    check_fits(of, paths or 1, what, fewer, *others, mesh=mesh)


def taken(driver: Driver, start: PyTree, paths: int | None) -> float:
    """The part that a run takes of the memory that is free."""
    mesh = None if driver.placement is None else driver.placement.mesh
    return share_taken(footprint_of(driver, start, paths, tiled=False), mesh)


def footprint_of(driver: Driver, start: PyTree, paths: int | None, *, tiled: bool) -> Footprint:
    """The bytes that a run allocates.

    On a device: the states before and after a call, what the call brings, and what it needs
    between. On the host: how all paths end, which a CPU does not copy; and all of a history that
    has a budget, up to that.
    """
    if follows(driver.machine, Partitioned):
        return _footprint_of_parts(driver, start, paths)
    call = first_call(driver, start, paths, tiled=tiled)
    parts = (paths or 1) / call.paths  # that are advanced by themselves, and then joined
    copies = (parts > 1) + (parts > 1 or jax.default_backend() != "cpu")
    host = 0 if driver.lean else nbytes_of(call.end) * parts * copies
    if driver.save.budget is not None:
        history = call.row_bytes * driver.max_steps * parts
        host += 2 * min(driver.save.budget, history)
    found = Footprint(nbytes_of((call.begun, call.traced.out_info)), math.ceil(host))
    if not _NEAR < share_taken(found, driver.placement and driver.placement.mesh) <= 1:
        return found
    stats = call.traced.lower().compile().memory_analysis()
    between = 0 if stats is None else stats.temp_size_in_bytes
    return Footprint(found.device + between, found.host)


def _footprint_of_parts(driver: Driver, start: PyTree, paths: int | None) -> Footprint:
    """The same where the neurons of a system are split: the states before and after a call, and
    what it brings of them."""
    assert driver.placement is not None
    has_paths = paths_of(driver.machine, start) != ()
    states = nbytes_of(start) * (1 if has_paths else paths or 1)
    return Footprint(3 * states // driver.placement.mesh.size, states)


class FirstCall(NamedTuple):
    """What a run allocates, as shapes.

    - `paths`: of a device, with those that pad them.
    - `begun`: their states, steps and numbers.
    - `traced`: the first call of the device, traced.
    - `end`: how these paths stand, on the host; `row_bytes`: what is kept of a step.
    """

    paths: int
    begun: PyTree
    traced: Any
    end: PyTree
    row_bytes: float


def first_call(driver: Driver, start: PyTree, paths: int | None, *, tiled: bool) -> FirstCall:
    """What the first call of a run will be."""
    share, size, save = None, 1, driver.save
    machine, choice, state = (_shapes(x) for x in (driver.machine, driver.choice, start))
    path: Any = jax.ShapeDtypeStruct((), np.uint32)
    steps, own = None, None
    if paths is not None:
        share, num = driver.first_tile(start, paths, tiled=tiled)
        size = share or num
        if isinstance(driver.machine, Stacked) or paths_of(driver.machine, start) != ():
            is_by_path = arrays_by_path(driver.machine)
            machine = jax.tree.map(lambda x, by: _shape(x, size) if by else x, machine, is_by_path)
            state = _shapes(start, size)
        path, steps = (jax.ShapeDtypeStruct((size,), dtype) for dtype in (np.uint32, np.int32))
    if share is not None:
        number = jax.ShapeDtypeStruct((), np.uint32)
        state, path, steps = spread.jitted.eval_shape(machine, state, number, paths=share)
        own = jax.ShapeDtypeStruct((1,), np.int32)
    unroll, rows = driver.sizes(state, 1)
    traced = advance.jitted.trace(
        machine,
        choice,
        state,
        jax.ShapeDtypeStruct((2,), np.int32),
        steps,
        None if paths is None else path,
        own,
        longest=rows,
        save=save,
        grow=driver.grow and follows(driver.machine, Growable),
        unroll=unroll,
        lean=driver.lean,
    )
    end = jax.eval_shape(end_of, machine, state, path)
    row_bytes = row_of(machine, choice, state, path, save)[1] if save.keeps_history else 0.0
    return FirstCall(size, (state, steps, path), traced, end, row_bytes)


def _shapes(tree: PyTree, paths: int | None = None) -> PyTree:
    return jax.tree.map(partial(_shape, paths=paths), tree)


def _shape(x: Any, paths: int | None = None) -> jax.ShapeDtypeStruct:
    """The shape of an array, with at most that many paths."""
    shape = x.shape if paths is None else (*x.shape[:-1], min(paths, x.shape[-1]))
    return jax.ShapeDtypeStruct(shape, x.dtype)
