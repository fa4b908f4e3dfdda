"""A model as a search knows it, which may be lowered again with wider counts."""

from collections.abc import Mapping
from typing import Generic, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, PyTree, UInt

from snpjax_formats import device_array
from snpjax_formats.articles import kind_of

from ..lowering import kept_of
from ..machine import (
    ConfigurationsT,
    Enumerable,
    Explorable,
    LoweringOptions,
    StepsT,
    follows,
)
from .extent import power_of_two, rows_without_need
from .graph import Stop
from .memory_limits import usable_bytes
from .packing import Packing


# As many arrays as a state are about alive while a step is made. A chunk takes this part of the
# memory at most.
_ARRAYS, _SHARE = 8, 4

#: From this many configurations on, chunks may be large, and fields are then packed as tightly as
#: possible. Before, all systems of one size share the few programs of small chunks.
LARGE_FROM = 2**12

# Fields are packed tightly from `_TIGHT_FROM` configurations on in any case, and again each time
# the number has grown by the factor `_TIGHT_AGAIN`.
_TIGHT_FROM = 2**15
_TIGHT_AGAIN = 32

# This many configurations have shown how large most fields become: the others are widened later.
_ROOM_UNTIL = 2**22

# Up to this many chunks of one size are made before a larger size is used, most of which might
# remain empty.
_SEVERAL = 8


class SearchOptions(NamedTuple):
    """How a model is lowered for a search, see `explore`."""

    saturate: Mapping[str, int]
    clock: int
    lowering: LoweringOptions


class SearchedModel(Generic[ConfigurationsT, StepsT]):
    """The model, its machine, and what follows from the machine for the search.

    - `limit`: bytes of the device that the search may take, or `None` for what is free.
    - `mesh`: the devices of the search, if there are several.
    """

    def __init__(
        self,
        system: Explorable[ConfigurationsT, StepsT],
        options: SearchOptions,
        sizes: tuple[int, ...],
        limit: int | None = None,
        mesh: Mesh | None = None,
    ) -> None:
        self.system = system
        self.limit = limit
        self.mesh = mesh
        self.options = options
        self.given_sizes = sizes
        self._tight_from = _TIGHT_FROM
        self._was_tightened = False
        self.lower(None)

    def stop_of_failure(self, *, overflows: bool) -> Stop:
        """Why a search ends with a step that fails."""
        if overflows:
            return Stop.OVERFLOW
        return Stop.CONFLICT if self.encoding.may_conflict else Stop.CAPACITY

    def lower(self, at_least: np.dtype | None) -> None:
        self.at_least = at_least
        saturate, clock, lowering = self.options

        def enumerable() -> Enumerable:
            # It refuses those of the options that it does not take.
            return self.system.enumerable(
                saturate=saturate,
                clock=clock,
                at_least=at_least,
                **lowering,  # pyright: ignore[reportCallIssue]
            )

        caps = tuple(sorted(saturate.items()))
        options = {"saturate": caps, "clock": clock, "at_least": at_least, **lowering}
        self.machine = kept_of("explore", self.system, options, enumerable)
        if not follows(self.machine, Enumerable):
            raise TypeError(
                f"{kind_of(self.machine, 'A')} cannot be explored. Give it `encoding`, "
                "`alternatives`, `choosers`, `encode` and `decode`."
            )
        self.encoding = self.machine.encoding
        self._bytes_of_successor = _bytes_of_successor(self.machine)
        self.choosers = device_array(self.machine.choosers())
        self.sizes = self._fitting_sizes()

    def _fitting_sizes(self) -> tuple[int, ...]:
        """The sizes of chunks for which there is memory, and a power of two in place of those that
        are too large. The smallest takes no more than may be taken without need, whatever the
        `limit`, and makes one successor at least."""
        given, each = self.given_sizes, self._bytes_of_successor
        first, free = min(given[0], rows_without_need(each)), usable_bytes(self.mesh)
        if free is not None:
            first = min(first, power_of_two(free // _SHARE // each))
        if self.limit is not None:
            free = self.limit if free is None else min(free, self.limit)
        most = given[-1] if free is None else free // _SHARE // each
        fitting = (first, *(size for size in given[1:] if size <= most))
        largest = power_of_two(most)
        is_cut = len(fitting) < len(given) and largest > fitting[-1]
        return (*fitting, largest) if is_cut else fitting

    def working_bytes(self, chunks: int) -> int:
        """What that many of the largest chunks take while they are made."""
        return chunks * self.sizes[-1] * self._bytes_of_successor

    def size(self, num: int, wanted: int, at_least: int) -> int:
        """How many to look at together, of this many, when `num` configurations are known."""
        # There may be less memory now than when a block was made.
        sizes = [size for size in self.sizes if size >= at_least] or [at_least]
        if num < LARGE_FROM:
            sizes = sizes[:1]
        return next((size for size in sizes if _SEVERAL * size >= wanted), sizes[-1])

    def is_to_be_tightened(self, num: int, chunk: int) -> bool:
        """Whether to pack fields tightly before a chunk."""
        is_first_large = chunk > self.sizes[0] and not self._was_tightened
        return is_first_large or num >= self._tight_from

    def tight(
        self, num: int, most: UInt[np.ndarray, " fields"], packing: Packing
    ) -> Packing | None:
        """A packing for fields up to `most` in fewer words, if that is much."""
        self._tight_from, self._was_tightened = _TIGHT_AGAIN * num, True
        if num < _ROOM_UNTIL:
            most = _with_room(most)
        if (usual := self.encoding.usual) is not None:
            most = np.maximum(most, np.asarray(usual))
        tight = Packing.fitting(most)
        return tight if tight.num_words <= 0.75 * packing.num_words else None

    def widened(self, num: int, packing: Packing) -> Packing:
        """Count in a wider type; the packing to continue with."""
        assert self.encoding.wider is not None
        self.lower(self.encoding.wider)
        if num < LARGE_FROM:
            return Packing.full_width(packing.num_fields, self.encoding.dtype)
        return packing


def fitting(grown: UInt[np.ndarray, " fields"], most: UInt[np.ndarray, " fields"]) -> Packing:
    """A packing where fields have grown, which may grow on, beside those before."""
    return Packing.fitting(np.maximum(_with_room(grown.astype(np.uint32)), most))


def _with_room(most: np.ndarray) -> np.ndarray:
    """A bit more for each; a negative number is a large one, and takes all bits there are."""
    return np.where(most < 2**31, 2 * most, most)


def _bytes_of_successor(machine: Enumerable) -> int:
    """What one takes while it is made: some arrays like its fields, one of alternatives."""
    init, alternatives = jax.eval_shape(_initial_choices, machine)
    each = _ARRAYS * sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(init))
    return each + alternatives.size


@jax.jit  # so that it is traced once for all systems of a shape
def _initial_choices(machine: Enumerable) -> tuple[PyTree, Array]:
    state = machine.init()
    return state, machine.alternatives(state)
