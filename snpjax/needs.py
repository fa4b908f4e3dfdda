"""What a run needs, from the shapes of its arrays, before any of them is allocated."""

import math

import jax
from jaxtyping import PyTree

from .driver import Driver, first_call
from .machine import Partitioned, Stacked, follows
from .memory import Needs, check_needs, compared
from .trajectory import nbytes_of


# Where all other arrays take this part of what is free, the compiler is asked for those that a call
# needs between. It then compiles the program that is to be called.
_NEAR = 1 / 16


def check_run(driver: Driver, start: PyTree, paths: int | None, *, tiled: bool) -> None:
    """Refuse a run that does not fit in memory.

    **Raises:** `NotEnoughMemory`, before anything is allocated.
    """
    machine, save = driver.machine, driver.save
    if follows(machine, Partitioned):
        return
    what, others = "This run needs", []
    fewer = "run {:,} paths at a time"
    if isinstance(machine, Stacked):
        what, fewer = f"{paths:,} systems need", "run {:,} systems at a time"
    elif paths is not None:
        what = f"{paths:,} paths need"
        others.append("sum over the paths with `observe=`")
        if driver.placement is None and jax.device_count() > 1:
            others.append("share them among devices with `mesh=`")
    if save.keeps_history:
        others.append("keep less with `save=`")
    mesh = None if driver.placement is None else driver.placement.mesh
    needs = needs_of(driver, start, paths, tiled=tiled)
    check_needs(needs, what, paths or 1, fewer, *others, mesh=mesh)


def needs_of(driver: Driver, start: PyTree, paths: int | None, *, tiled: bool) -> Needs:
    """The bytes that a run allocates.

    On a device: the states before and after a call, what the call brings, and what it needs
    between. On the host: how all paths end, which a CPU does not copy; and all of a history that
    has a budget, up to that.
    """
    call = first_call(driver, start, paths, tiled=tiled)
    share, most = driver.cut(start, paths, tiled=tiled)
    parts = (paths or 1) / (share or most)  # that are advanced by themselves, and then joined
    copies = (parts > 1) + (parts > 1 or jax.default_backend() != "cpu")
    host = nbytes_of(call.end) * parts * copies
    if driver.save.budget is not None:
        history = call.row_bytes * driver.max_steps * parts
        host += 2 * min(driver.save.budget, history)
    device = nbytes_of((call.begun, call.traced.out_info))
    needs = Needs(device, math.ceil(host))
    place = driver.placement
    sizes = compared(needs, None if place is None else place.mesh)
    taken = max((needed / max(free, 1) for needed, free in sizes if free is not None), default=0)
    if not _NEAR < taken <= 1:
        return needs
    stats = call.traced.lower().compile().memory_analysis()
    between = 0 if stats is None else stats.temp_size_in_bytes
    return Needs(device + between, needs.host)
