"""Paths that advance together: on the devices, chunk by chunk, and what the host has of them."""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PyTree

from ._xla import Parcel, fetched
from .advance import advance, advance_on_devices, paths_of, spread, spread_over
from .machine import AnyMachine, Growable, Keeping, Partitioned, Presents, Stacked, follows
from .results import RESULTS, codes_of
from .scale.mesh import placed
from .scale.paths import from_all, shardings, whole
from .scale.placement import joined_details, joined_states
from .trajectory import Chunk, Flat, History, Save, most_steps, own_paths


if TYPE_CHECKING:
    from .driver import Driver


class EndedPaths(NamedTuple):
    """How paths began and ended."""

    initial: PyTree
    state: PyTree
    steps: Int[np.ndarray, "*paths"]
    result: Any


class Standing(NamedTuple):
    """Where paths are that are to continue, `paths` of them from `first` on: `made` steps after the
    beginning.

    - `state`: on the host, as `Tile.saved` gives it.
    - `history`: the chunks of history of that many paths from a number on.
    """

    first: int
    paths: int | None
    made: int
    state: PyTree
    steps: Int[np.ndarray, "*paths"]
    history: Callable[[int, int | None], list[Chunk]]


#: Results of paths that continue after a call, and of those that do so once they have more room.
_GOING_ON = [
    int(x._value)
    for x in (RESULTS.max_steps_reached, RESULTS.neurons_exceeded, RESULTS.synapses_exceeded)
]


class Shard:
    """The paths of one device, numbered from `first` on, `paths` of them without those that pad
    them: their history, and how they are after the last call."""

    def __init__(self, history: History, paths: int | None, first: int, tile: int, initial: PyTree):
        self.history, self.paths, self.first = history, paths, first
        self.tile = tile  # the first path of those that advance together
        self.initial = initial
        self.made = self.saved = 0  # steps, and those whose history a checkpoint has
        self.is_live = True
        self.is_stuck = False  # by a failure
        self.now: tuple[PyTree, np.ndarray, Any] | None = None

    def take(self, opened: PyTree, presents: Presents | None) -> None:
        """What a call has brought, see `advance_all`."""
        now, is_live, has_failed, stand, chunk = opened
        if presents is not None:
            stand = (presents.state(stand[0]), *stand[1:])
        self.history.append(chunk, self.made, int(now), presents)
        self.made, self.is_live = int(now), bool(is_live)
        self.is_stuck = not is_live and bool(has_failed)
        self.now = stand

    def end_short(self, max_steps: int, grow: bool) -> None:
        """Memory ran out: paths that would have gone on, or been given more room, end here."""
        assert self.now is not None
        state, steps, result = self.now
        goes_on = np.isin(codes_of(result), _GOING_ON if grow else _GOING_ON[:1])
        goes_on &= steps < max_steps
        short = jax.tree.map(lambda x, y: np.where(goes_on, y, x), result, RESULTS.out_of_memory)
        self.now = state, steps, short

    @classmethod
    def skipped(cls, history: History, paths: int | None, first: int, initial: PyTree) -> "Shard":
        """Paths that memory ran out for before they made a step."""
        shard = cls(history, paths, first, first, initial)
        steps = np.zeros(() if paths is None else paths, np.int32)
        short = jax.tree.map(lambda x: np.broadcast_to(x, steps.shape), RESULTS.out_of_memory)
        shard.now = initial, steps, short
        return shard

    @classmethod
    def restored(
        cls, history: History, paths: int | None, first: int, tile: int, ended: EndedPaths
    ) -> "Shard":
        """Paths that have ended."""
        shard = cls(history, paths, first, tile, ended.initial)
        shard.now = ended.state, ended.steps, ended.result
        return shard

    @property
    def numbers(self) -> Int[np.ndarray, " paths"]:
        return np.arange(self.first, self.first + (self.paths or 0))

    @property
    def ended(self) -> EndedPaths:
        assert self.now is not None
        now = self.now
        if self.paths is not None:
            now = jax.tree.map(lambda x: own_paths(x, self.paths), now)
        return EndedPaths(self.initial, *now)


class Tile:
    """Some paths of a run, numbered from `first` on.

    - `machine`, `state`, `steps`: those on the devices.
    - `counts`: the paths of each device, without those that pad them; `None` where none do.
    - `made`: the steps that each device has made, and `goes_on`, whether it makes more.
    - `shards`: what the host has of the devices of this process.
    """

    def __init__(
        self,
        driver: "Driver",
        start: PyTree,
        first: int,
        paths: int | None,
        share: int | None,
        histories: list[History],
        standing: Standing | None = None,
    ):
        """Begin from states, or from where the paths are. A device has a `share` of them, the last
        ones less."""
        self.driver, self.first, self.paths = driver, first, paths
        place = driver.placement
        machine, state = driver.machine, start
        if standing is not None:
            assert driver.resume is not None
            machine, state = driver.resume(machine, standing.state)
        devices = 1 if place is None else place.shares
        counts: list[int | None] = [paths]
        self._path, self.steps, self.counts = None, None, None
        if share is not None:
            counts = [min(max((paths or 1) - i * share, 0), share) for i in range(devices)]
            self.counts = np.asarray(counts, np.int32)
            if place is None:
                given = state, np.uint32(first)
                state, self._path, self.steps = spread(machine, *given, paths=share)
            else:
                machine, state, self._path, self.steps = spread_over(
                    place, machine, state, np.uint32(first), devices * share
                )
        elif isinstance(machine, Stacked):
            self._path = jnp.arange(machine.num_paths, dtype=np.uint32)
            self.steps = jnp.zeros(self._path.shape, np.int32)
        elif place is not None:
            state = place.placed_state(machine, state)
        self.machine: AnyMachine = machine
        self.state = state
        self.presents: Presents | None = None
        self.grows = driver.grow and follows(machine, Growable)
        self.may_settle = (
            driver.settled is not None and paths is None and follows(machine, Growable)
        )
        self.made, self.goes_on = [0] * devices, [True] * devices
        # A single path is run by all shares alike.
        self._numbers = [0] if place is None or share is None else place.numbers(machine)
        self._reported = 1 if share is None else devices
        wanted = histories[-1].wanted if histories else driver.save
        self.shards: list[Shard] = []
        for number in self._numbers:
            histories.append(History(wanted, counts[number], histories))
            at = number * (share or 0)
            initial = None
            if wanted.every:
                initial = initial_states(driver.machine, start, at, counts[number])
            shard = Shard(histories[-1], counts[number], first + at, first, initial)
            self.shards.append(shard)
        if standing is not None:
            self._continue(standing)

    def _continue(self, standing: Standing) -> None:
        """Be where the paths are. Their states are there already."""
        self.made = [standing.made] * len(self.made)
        if self.steps is not None:
            steps = np.zeros(self.steps.shape, np.int32)
            steps[: self.paths] = standing.steps
            place = self.driver.placement
            if place is None:
                self.steps = jnp.asarray(steps)
            else:
                self.steps = placed(steps, shardings(place.mesh, place.each))
        for shard in self.shards:
            shard.made = shard.saved = standing.made
            shard.history.restore(standing.history(shard.first, shard.paths))

    # ---- going on ----

    @property
    def now(self) -> int:
        """The steps made by the device that made most."""
        return max(self.made)

    @property
    def save(self) -> Save:
        """What is wanted of the history, which is the same for all devices."""
        return self.shards[-1].history.wanted

    @property
    def is_even(self) -> bool:
        """Whether the paths that continue have all made as many steps."""
        return len({*compress(self.made, self.goes_on)}) == 1

    def advance(self, steps: int, *, rows: int, unroll: int, compiled: bool) -> None:
        """Make that many steps, or fewer where paths end or their history has more than `rows`."""
        driver, place = self.driver, self.driver.placement
        call: Any = advance.jitted if compiled else advance
        if place is not None:
            call = partial(advance_on_devices, place=place)
        # Those behind catch up first. A device whose paths have ended makes no steps.
        most = min(min(compress(self.made, self.goes_on)) + steps, driver.max_steps)
        each = zip(self.made, self.goes_on, strict=True)
        limits = [(made, max(made, most) if goes_on else made) for made, goes_on in each]
        self.state, self.steps, parcel = call(
            self.machine,
            driver.choice,
            self.state,
            np.asarray(limits, np.int32).ravel(),
            self.steps,
            self._path,
            self.counts,
            longest=rows,
            save=self.save,
            grow=self.grows,
            unroll=unroll,
            lean=driver.lean,
        )
        parcels = [[parcel]] if place is None else place.stacks(self.machine, parcel)
        for shard, parts in zip(self.shards, parcels[: len(self.shards)], strict=True):
            shard.take(opened(self.machine, parts), self.presents)
        reports = [(one.made, one.is_live, one.is_stuck) for one in self.shards]
        if place is not None:
            found = from_all(np.asarray(reports), self._numbers, self._reported).tolist()
            reports = found * (len(self.made) // len(found))  # one of all where they are alike
        self.made = [made for made, *_ in reports]
        goes_on = [
            it and made < driver.max_steps for it, made in zip(self.goes_on, self.made, strict=True)
        ]
        each = [*zip(goes_on, reports, strict=True)]
        self.goes_on = [bool(it and is_live) for it, (_, is_live, _) in each]
        self._is_stuck = [bool(it and is_stuck) for it, (_, _, is_stuck) in each]

    def enlarge(self) -> bool:
        """Give paths that are stuck more room, if that is what they lack."""
        machine = self.machine
        if not (self.grows and any(self._is_stuck)):
            return False
        assert follows(machine, Growable)
        if not np.any(own_paths(fetched(machine.is_full(self.state)), self.paths)):
            return False
        self.machine, self.state = machine.grown(self.state)
        self.goes_on = [*map(operator.or_, self.goes_on, self._is_stuck)]
        return True

    def settle(self) -> bool:
        """Go on in a simpler machine, if there is one that makes the same steps from now on."""
        assert self.driver.settled is not None
        found = self.driver.settled(self.machine, self.state, self.driver.choice)
        if found is None:
            return False
        self.machine, self.state, self.presents = found
        self.may_settle = self.grows = False
        return True

    # ---- checkpoints ----

    def saved(self) -> dict[str, PyTree]:
        """What `Standing` is made of: states, and the steps made by each path."""
        state = kept(self.machine, self.state)
        if self.presents is not None:
            assert self.shards[0].now is not None
            state = self.shards[0].now[0]
        return {"state": state, "steps": np.int32(self.now) if self.steps is None else self.steps}

    def catch_up(self) -> None:
        """Let the histories of paths that have ended be as long as those of the others."""
        for shard in self.shards:
            if shard.made < self.now:
                ended = shard.ended
                longest = most_steps(ended.steps)
                shard.history.extend(ended.state, longest, shard.made, self.now)
                shard.made = self.now
        self.made = [self.now] * len(self.made)


def initial_states(machine: AnyMachine, start: PyTree, at: int, paths: int | None) -> PyTree:
    """The states in which some paths begin, from number `at` on, on the host."""
    own = kept(machine, start)
    own = whole(own) if follows(machine, Partitioned) else fetched(own)
    if paths is None:
        return own
    if paths_of(machine, start) != ():
        return jax.tree.map(lambda x: x[..., at : at + paths], own)
    return jax.tree.map(lambda x: np.broadcast_to(x[..., None], (*x.shape, paths)), own)


def kept(machine: AnyMachine, state: PyTree) -> PyTree:
    """A state without what follows from the rest."""
    return machine.kept(state) if follows(machine, Keeping) else state


def opened(machine: AnyMachine, parts: Sequence[Parcel]) -> PyTree:
    """What a call has brought, from each part of the neurons."""
    found = [part.opened() for part in parts]
    if not follows(machine, Partitioned):
        return found[0]
    *flags, stand, (_, outputs, _) = found[0]
    stands, chunks = ([one[i] for one in found] for i in (3, 4))
    if stand is not None:
        stand = joined_states(machine, [one[0] for one in stands]), *stand[1:]
    states, details = ([chunk[i].opened() for chunk in chunks] for i in (0, 2))
    if states[0] is not None:
        states = joined_states(machine, states, axis=1)
    return *flags, stand, (Flat.of(states), outputs, Flat.of(joined_details(details)))
