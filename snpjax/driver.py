"""The driver: runs a machine chunk by chunk until it halts, and moves its history to the host."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jaxtyping import PyTree

from snpjax_formats import bucket

from .advance import MAX_CHUNK_BYTES, paths_of, structures_of
from .choice import AbstractChoice
from .machine import AnyMachine, Growable, Leaping, Partitioned, Settled, Stacked, follows
from .memory import ALLOCATION_ERRORS, Footprint, is_of_memory, share_taken
from .scale.checkpoint import Checkpoints, Restored
from .scale.paths import value_of_each
from .scale.placement import Placement
from .scale.saved_runs import RestoredRun, RunSaver
from .tile import Shard, Standing, Tile, initial_states, kept
from .trajectory import (
    MEMORY,
    History,
    Save,
    Trajectory,
    beside,
    most_steps,
    nbytes_of,
    warn_of_dropping,
)


# Rows of history kept on the device before they are moved to the host, at most.
_MAX_CHUNK_ROWS = 4096

# One call to the device should last about this long, so that progress is shown and Ctrl-C is
# answered.
_SECONDS_PER_CALL = 0.5
_FIRST_CALL_STEPS = 1024
_FIRST_LEAP_STEPS = 2**16  # of all paths together

# Check whether a machine has settled each time the number of steps has doubled, if the remaining
# steps may take longer than it takes to compile another machine.
_FIRST_SETTLING_STEPS, _SETTLING_SECONDS = 32, 2.0
# Steps of a growing machine whose state has more bytes, or of a settled one, take so long that they
# are compiled at once.
_MOST_EVALUATED = 2**18

# States of at most `_FEW_BYTES` are not compared with the free memory, nor those that would fit
# `_MANY_ARRAYS` times.
_FEW_BYTES, _MANY_ARRAYS = 2**20, 64

# Steps per loop iteration on a GPU by the bytes of the state. The predicate of a while loop is read
# back on the host there, 25 us an iteration against 8 for a small step (H200, jax 0.11.2); where
# steps take long, those after the halt would cost more. On CPUs there is nothing to hide.
_UNROLL = ((2**22, 32), (2**25, 16), (2**28, 4))

# The least step between numbers of paths that have programs of their own.
_LEAST_PATHS = 8
_STEPS_PER_OCTAVE = 64

# On CPUs the states of the paths that run at a time take at most this many bytes, unless that would
# be fewer paths than fill the lanes of a processor.
_TILE_BYTES = 2**21
_LEAST_TILE, _MOST_IN_TILE = 128, 4096


@dataclass(frozen=True)
class Driver:
    """How a machine is to be run: the arguments of `snpjax.run`.

    - `resume`: a machine, and its state, to continue from a state that a checkpoint has.
    - `lean`: how paths end is left on the devices.
    """

    machine: AnyMachine
    choice: AbstractChoice
    max_steps: int
    save: Save
    grow: bool
    unroll: int | None
    progress: Callable[[int, int], None] | None
    settled: Callable[[AnyMachine, PyTree, AbstractChoice], Settled | None] | None = None
    placement: Placement | None = None
    checkpoints: Checkpoints | None = None
    resume: Callable[[AnyMachine, PyTree], tuple[AnyMachine, PyTree]] | None = None
    lean: bool = False

    def run(self, start: PyTree, paths: int | None, *, tiled: bool) -> Trajectory:
        """The run of one path, `None`, or of many, from their states at the beginning or from one
        that all share. With `tiled`, only as many run at a time as fit in the caches."""
        shards: list[Shard] = []
        histories: list[History] = []
        first, standing = 0, None
        saver = None
        if self.checkpoints is not None and self.checkpoints.restored is not None:
            restored = self._restored(self.checkpoints.restored, start, paths is not None)
            shards += restored.shards(histories, self._own_ranges(restored.num_ended))
            saved = {"state": kept(self.machine, start), "steps": 0}
            first, standing = restored.num_ended, restored.standing(saved)
        if self.checkpoints is not None:
            is_alike = follows(self.machine, Partitioned)  # what all processes have of it
            saver = RunSaver(self.checkpoints, len(shards), is_alike=is_alike)
        longest = 0  # the steps of the longest tile up to now

        def tell(done: int, now: int) -> None:
            nonlocal longest
            longest = max(longest, now)
            if self.progress is not None:
                self.progress(longest, done)

        def at_boundary(tile: Tile | None) -> None:
            if saver is not None and (tile is None or tile.is_even):
                saver.save_if_due(shards, tile)

        for part in self._parts(start, paths, first, standing, tiled=tiled):
            tile, num_before = None, len(histories)
            try:
                tile = Tile(self, *part, histories, standing)
                self.run_tile(tile, partial(tell, tile.first), at_boundary)
            except ALLOCATION_ERRORS as error:
                if not is_of_memory(error) or jax.process_count() > 1:
                    raise
                # A checkpoint is where the same call may continue with more memory.
                self._cut_short(shards, histories, tile, start, part[1], paths, num_before)
                return self._joined(shards, histories, paths)
            shards += tile.shards
            standing = None
            at_boundary(None)
        if saver is not None:
            saver.save(shards, is_last=True)
        return self._joined(shards, histories, paths)

    def _cut_short(
        self,
        shards: list[Shard],
        histories: list[History],
        tile: Tile | None,
        start: PyTree,
        first: int,
        paths: int | None,
        num_before: int,
    ) -> None:
        """End a run whose memory ran out in the tile from `first` on, before which there were
        `num_before` histories: its paths end where they were last known, and those that have not
        begun where they begin."""
        if tile is not None and all(shard.now is not None for shard in tile.shards):
            for shard in tile.shards:
                shard.end_short(self.max_steps, self.grow)
            shards += tile.shards
            first += tile.paths or 1
        else:
            del histories[num_before:]
        if first < (paths or 1):
            rest = None if paths is None else paths - first
            history = History(histories[-1].wanted if histories else self.save, rest, histories)
            history.skip(histories)
            histories.append(history)
            initial = initial_states(self.machine, start, first, rest)
            shards.append(Shard.skipped(history, rest, first, initial))

    def is_small(self, nbytes: int, paths: int | None) -> bool:
        """Whether a run from a state of that many bytes takes so little of the free memory that its
        footprint is not worth computing, which takes some milliseconds. A history without a budget
        is dropped when it must be."""
        size = nbytes * (1 if isinstance(self.machine, Stacked) else paths or 1)
        budget = self.save.budget or 0 if self.save.keeps_history else 0
        if size + budget <= _FEW_BYTES:
            return True
        most = Footprint(_MANY_ARRAYS * size + 2 * (budget + MAX_CHUNK_BYTES))
        return share_taken(most, self.placement and self.placement.mesh) <= 1

    def _parts(
        self,
        start: PyTree,
        paths: int | None,
        first: int,
        standing: Standing | None,
        *,
        tiled: bool,
    ) -> Iterator[tuple[PyTree, int, int | None, int | None]]:
        """The paths from `first` on in the tiles in which they run, beginning with those that stand
        somewhere: their states, the first one, how many there are, and how many a device has."""
        machine, place = self.machine, self.placement
        if paths is None:
            if first == 0:
                yield start, 0, None, None
            return
        devices = 1 if place is None else place.shares
        most = most_in_tile(machine, start) if tiled else None
        while first < paths:
            num = paths - first if most is None else min(devices * most, paths - first)
            if standing is not None:
                assert standing.paths is not None
                num, standing = standing.paths, None
            share = self._share(num, paths, most)
            own = start
            if num < paths and paths_of(machine, start) != ():
                own = jax.tree.map(lambda x, at=first, n=num: x[..., at : at + n], start)
            yield own, first, num, share
            first += num

    def _share(self, num: int, paths: int, most: int | None) -> int | None:
        """How many of `num` paths a device has, of `paths` in all, with those that pad them."""
        devices = 1 if self.placement is None else self.placement.shares
        if self.placement is None and isinstance(self.machine, Stacked):
            return None  # machines are padded for a mesh only
        share = -(-num // devices)
        is_cut = most is not None and paths > devices * most and share <= most
        return most if is_cut else _padded_paths(share)

    def first_tile(self, start: PyTree, paths: int, *, tiled: bool) -> tuple[int | None, int]:
        """The paths of a device, padded, that run at a time, and those of all devices."""
        devices = 1 if self.placement is None else self.placement.shares
        most = most_in_tile(self.machine, start) if tiled else None
        num = paths if most is None else min(devices * most, paths)
        return self._share(num, paths, most), num

    def sizes(self, state: PyTree, devices: int) -> tuple[int, int]:
        """Steps per iteration of the loop, and the most rows of history of a call, for a state that
        is spread over devices."""
        grows = self.grow and follows(self.machine, Growable)
        # A step that may grow is long, and each copy of it takes seconds to compile.
        unroll = self.unroll or (1 if grows else _unroll(state, devices))
        rows = min(bucket(self.max_steps, at_least=64), _MAX_CHUNK_ROWS)
        return unroll, rows if self.save.keeps_history else 1

    def _joined(
        self, shards: Sequence[Shard], histories: Sequence[History], paths: int | None
    ) -> Trajectory:
        """What was saved of all paths."""
        ended = [shard.ended for shard in shards]
        longest = [most_steps(one.steps) for one in ended]
        length = max(longest)
        if self.placement is not None:
            length = max(value_of_each(length))

        def finished() -> tuple[PyTree | None, PyTree | None, PyTree | None]:
            parts = [
                history.finish(one.initial, one.state, made, length)
                for history, one, made in zip(histories, ended, longest, strict=True)
            ]
            return beside(parts)

        try:
            states, outputs, details = finished()
        except MemoryError:
            histories[-1].drop(MEMORY)
            states, outputs, details = finished()
        state, steps, result = beside([one[1:] for one in ended])
        numbers = None
        if paths is not None and sum(shard.paths or 0 for shard in shards) < paths:
            numbers = np.concatenate([shard.numbers for shard in shards])
        saved = histories[-1].wanted
        return Trajectory(
            final=state,
            states=states,
            outputs=outputs,
            details=details,
            saved=saved,
            steps=np.asarray(steps),
            result=result,
            numbers=numbers,
            requested=self.save,
        )

    def _restored(self, checkpoint: Restored, start: PyTree, has_paths: bool) -> RestoredRun:
        """The run as its last checkpoint has it."""
        given = self.machine, self.choice, start, self.save, self.placement
        structures = structures_of(*given, has_paths=has_paths)
        restored = RestoredRun(checkpoint, self.save, structures)
        if restored.save != self.save:
            what = "the outputs and the final" if restored.save.outputs else "the final"
            warn_of_dropping("its limit before it was interrupted", f"{what} configuration")
        return restored

    def _own_ranges(self, paths: int) -> list[tuple[int, int]] | None:
        """Which of the first paths this process has the results of; `None` for all."""
        place = self.placement
        if place is None or jax.process_count() == 1 or follows(self.machine, Partitioned):
            return None
        share = -(-paths // place.shares)
        return [(share * i, share * (i + 1)) for i in place.numbers(self.machine)]

    def run_tile(
        self,
        tile: Tile,
        tell: Callable[[int], None],
        at_boundary: Callable[[Tile], None],
    ) -> None:
        """Advance a tile to its end, chunk by chunk, moving histories to the host after each."""
        devices = len(tile.made)
        unroll, rows = self.sizes(tile.state, devices)
        steps = _FIRST_CALL_STEPS
        if follows(self.machine, Leaping):
            steps = max(steps, _FIRST_LEAP_STEPS // (tile.paths or 1))
        is_first, seconds_left = True, np.inf  # as far as is known
        while True:
            if tile.may_settle and seconds_left > _SETTLING_SECONDS and tile.settle():
                steps = _FIRST_CALL_STEPS
                unroll = self.unroll or _unroll(tile.state, devices)
            if tile.may_settle:
                steps = min(steps, max(tile.now, _FIRST_SETTLING_STEPS))
            takes_long = tile.may_settle and nbytes_of(tile.state) > _MOST_EVALUATED
            compiled = takes_long or tile.presents is not None
            before, began = tile.now, time.perf_counter()
            tile.advance(steps, rows=rows, unroll=unroll, compiled=compiled)
            elapsed = max(time.perf_counter() - began, 1e-6)
            tell(tile.now)
            # What compiled says nothing about the steps to come.
            left = (self.max_steps - tile.now) * elapsed / max(tile.now - before, 1)
            seconds_left = 0 if is_first else left
            is_first = tile.enlarge()
            if is_first:
                continue
            if not any(tile.goes_on):
                return
            steps = int(min(1e9, max(1, steps * _SECONDS_PER_CALL / elapsed)))
            at_boundary(tile)


def most_in_tile(machine: AnyMachine, state: PyTree) -> int | None:
    """How many paths run at a time so that their states stay in the cache; paths that end early
    then do not wait for all others, either. `None` for all.

    100,000 paths of 20 neurons took 27 us of CPU each at once, and take 17 in tiles (busy machine,
    jax 0.10.2, 2026-11). A GPU has work for all of its cores only where paths are many.
    """
    if isinstance(machine, Stacked) or jax.default_backend() != "cpu":
        return None
    if follows(machine, Partitioned):
        return None
    if follows(machine, Growable) or follows(machine, Leaping):
        return None
    shape = paths_of(machine, state)
    most = max(_TILE_BYTES * (shape[0] if shape else 1) // max(nbytes_of(state), 1), _LEAST_TILE)
    return min(1 << most.bit_length() - 1, _MOST_IN_TILE)


def _padded_paths(paths: int) -> int:
    """Numbers of paths that share a program, padded by a 64th at most where they are many."""
    step = max(_LEAST_PATHS, (1 << paths.bit_length() - 1) // _STEPS_PER_OCTAVE)
    return paths if paths < _LEAST_PATHS else -(-paths // step) * step


def _unroll(state: PyTree, devices: int) -> int:
    """Steps per loop iteration, unless they are given."""
    if jax.default_backend() == "cpu":
        return 1
    size = nbytes_of(state) // devices
    return next((steps for limit, steps in _UNROLL if size <= limit), 1)
