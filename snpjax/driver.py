"""The driver: runs a machine chunk by chunk until it halts, and moves its history to the host."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import jax
import numpy as np
from jaxtyping import PyTree

from snpjax_formats import bucket

from .advance import paths_of, structures_of
from .choice import AbstractChoice
from .machine import AnyMachine, Growable, Leaping, Partitioned, Settled, Stacked, follows
from .scale.checkpoint import Checkpoints
from .scale.paths import value_of_each
from .scale.placement import Placement
from .scale.saved_runs import RestoredRun, RunSaver
from .tile import Shard, Standing, Tile, kept
from .trajectory import History, Save, Trajectory, beside, nbytes_of, warn_of_dropping


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

    - `resume`: a machine, and its state, to go on from a state that a checkpoint has.
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
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    resume: Callable[[AnyMachine, PyTree], tuple[AnyMachine, PyTree]] | None = None
    lean: bool = False

    def run(self, start: PyTree, paths: int | None, *, tiled: bool) -> Trajectory:
        """The run of one path, `None`, or of many, from their states at the beginning or from one
        that all share. With `tiled`, only as many run at a time as fit in the caches."""
        shards: list[Shard] = []
        histories: list[History] = []
        first, standing = 0, None
        if self.checkpoints.restored is not None:
            restored = self._restored(start, paths is not None)
            shards += restored.shards(histories, self._own_ranges(restored.num_ended))
            saved = {"state": kept(self.machine, start), "steps": 0}
            first, standing = restored.num_ended, restored.standing(saved)
        is_alike = follows(self.machine, Partitioned)  # what all processes have of it
        saver = RunSaver(self.checkpoints, len(shards), is_alike=is_alike)
        longest = 0  # the steps of the longest tile up to now

        def tell(done: int, now: int) -> None:
            nonlocal longest
            longest = max(longest, now)
            if self.progress is not None:
                self.progress(longest, done)

        def at_boundary(tile: Tile | None) -> None:
            if (tile is None or tile.is_even) and self.checkpoints.is_due():
                saver.save(shards, tile)

        for part in self._parts(start, paths, first, standing, tiled=tiled):
            tile = Tile(self, *part, histories, standing)
            self.run_tile(tile, partial(tell, tile.first), at_boundary)
            shards += tile.shards
            standing = None
            at_boundary(None)
        saver.save(shards, is_last=True)
        return self._joined(shards, histories, paths)

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
        has_paths = paths_of(machine, start) != ()
        while first < paths:
            num = paths - first if most is None else min(devices * most, paths - first)
            if standing is not None:
                assert standing.paths is not None
                num, standing = standing.paths, None
            share = -(-num // devices)
            if place is None and isinstance(machine, Stacked):
                share = None  # machines are padded for a mesh only
            elif most is not None and paths > devices * most and share <= most:
                share = most
            else:
                share = _padded_paths(share)
            own = start
            if has_paths and num < paths:
                own = jax.tree.map(lambda x, at=first, n=num: x[..., at : at + n], start)
            yield own, first, num, share
            first += num

    def _joined(
        self, shards: Sequence[Shard], histories: Sequence[History], paths: int | None
    ) -> Trajectory:
        """What was saved of all paths."""
        ended = [shard.ended for shard in shards]
        longest = [int(one.steps.max(initial=0)) for one in ended]
        length = max(longest)
        if self.placement is not None:
            length = max(value_of_each(length))
        finished = [
            history.finish(one.initial, one.state, made, length)
            for history, one, made in zip(histories, ended, longest, strict=True)
        ]
        states, outputs, details = beside(finished)
        state, steps, result = beside([one[1:] for one in ended])
        numbers = None
        if paths is not None and sum(shard.paths or 0 for shard in shards) < paths:
            numbers = np.concatenate([shard.numbers for shard in shards])
        saved = histories[-1].wanted
        return Trajectory(
            state, states, outputs, details, saved, np.asarray(steps), result, numbers
        )

    def _restored(self, start: PyTree, has_paths: bool) -> RestoredRun:
        """The run as its last checkpoint has it."""
        assert self.checkpoints.restored is not None
        given = self.machine, self.choice, start, self.save, self.placement
        structures = structures_of(*given, has_paths=has_paths)
        restored = RestoredRun(self.checkpoints.restored, self.save, structures)
        if restored.save != self.save:
            warn_of_dropping(restored.save)
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
        # A step that may grow is long, and each copy of it takes seconds to compile.
        unroll = self.unroll or (1 if tile.grows else _unroll(tile.state, devices))
        rows = 1
        if tile.save.keeps_history:
            rows = min(bucket(self.max_steps, at_least=64), _MAX_CHUNK_ROWS)
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
            if not np.any(tile.goes_on):
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
