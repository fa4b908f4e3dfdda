"""Searches of a system, until one succeeds."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeAlias

import jax
from jax.sharding import Mesh

from ..machine import ConfigurationsT, Explorable, StepsT
from ..scale.checkpoint import Checkpoints
from .device_search import DeviceSearch
from .failures import Lost, is_out_of_memory
from .fingerprints import probability_of_collision
from .graph import Graph, Stop
from .memory_limits import Budget
from .saved_search import RestoredSearch, SavedSearch
from .search_limits import SearchLimits
from .searched import SearchedModel, SearchOptions
from .sharded import ShardedSearch
from .words_on_host import SameFingerprint


#: On one device or on several.
Search: TypeAlias = DeviceSearch[ConfigurationsT, StepsT] | ShardedSearch[ConfigurationsT, StepsT]


@dataclass
class RepeatedSearch(Generic[ConfigurationsT, StepsT]):
    """What is searched, and how.

    - `chunks`: how many successors are made at once, ascending.
    - `is_short`: the memory was not enough for a search that found as many according to `limits`.
    """

    system: Explorable[ConfigurationsT, StepsT]
    options: SearchOptions
    chunks: tuple[int, ...]
    limits: SearchLimits
    mesh: Mesh | None
    progress: Callable[[int, int], None]
    is_short: bool = False

    def model(self) -> SearchedModel[ConfigurationsT, StepsT]:
        limit = self.limits.memory.device
        return SearchedModel(self.system, self.options, self.chunks, limit, self.mesh)

    def graph(
        self, saves: Callable[[], AbstractContextManager[Checkpoints]], max_depth: int | None
    ) -> Graph[ConfigurationsT, StepsT]:
        """The graph. There is another search, from the last of the checkpoints, with other
        fingerprints if two were the same, and with less on the device if that has failed and lost
        what was there.

        **Arguments:**

        - `saves`: opens the checkpoints.
        """
        while True:
            try:
                with saves() as checkpoints:
                    return self._graph(SavedSearch(checkpoints), max_depth)
            except SameFingerprint:
                self.limits = self.limits._replace(seed=self.limits.seed + 1)
            except Lost as lost:
                self._take_less(lost.num)

    def _graph(self, saved: SavedSearch, max_depth: int | None) -> Graph[ConfigurationsT, StepsT]:
        restored = saved.restored
        if restored is not None and (self.is_short or restored.has_ended):
            return self._restored_graph(restored)
        search = self._begun(saved)
        search.run(max_depth)
        record = search.record
        if self.is_short and record.stop is Stop.MAX_CONFIGURATIONS:
            record.stop = Stop.OUT_OF_MEMORY
        else:
            self._save_last(search)
        return search.graph()

    def _save_last(self, search: Search[ConfigurationsT, StepsT]) -> None:
        stop = search.record.stop
        is_short = stop is Stop.OUT_OF_MEMORY
        may_go_on = is_short or stop in (Stop.MAX_SECONDS, Stop.INTERRUPTED)
        try:
            search.save(has_ended=not may_go_on)
        except Exception as error:
            if not (is_short and is_out_of_memory(error)) or jax.process_count() > 1:
                raise
            # The last checkpoint is where the same call may continue with more memory.

    def _begun(self, saved: SavedSearch) -> Search[ConfigurationsT, StepsT]:
        try:
            model = self.model()
            if self.mesh is None:
                return DeviceSearch(model, self.limits, self.progress, saved)
            return ShardedSearch(model, self.mesh, self.limits, self.progress, saved)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if saved.restored is not None:
                raise MemoryError(
                    f"There is no memory for the {saved.restored.num:,} configurations of the "
                    "checkpoint. Use a machine with more of it, or a mesh."
                ) from None
            raise MemoryError(
                "There is no memory for the first configurations of the search. Use a smaller "
                "model or smaller `chunks`."
            ) from None

    def _restored_graph(self, restored: RestoredSearch) -> Graph[ConfigurationsT, StepsT]:
        limits = self.limits
        missed = 0.0 if limits.is_exact else probability_of_collision(restored.num)
        return restored.graph(self.model(), limits.memory, edges=limits.edges, missed=missed)

    def _take_less(self, num: int) -> None:
        """After a search that had found that many was lost."""
        limits, self.chunks = self.limits, self.chunks[:1]
        if self.mesh is None and Budget(limits.memory).may_spill and not limits.begins_on_host:
            self.limits = limits._replace(begins_on_host=True)
        else:
            self.limits, self.is_short = limits._replace(most=max(num // 2, 1)), True
