"""What a search saves now and then, and how it continues from there."""

from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import UInt32

from ..scale.checkpoint import Checkpoints, Restored
from ..scale.segment import Segment
from .graph import Graph, Stop
from .host_arrays import HostArray, HostArrays
from .memory_limits import Budget, MemoryLimits
from .packing import Packing
from .record import SearchRecord
from .search_memory import repacked_rows
from .searched import SearchedModel
from .stored import HostStore


# A checkpoint is written as soon as this many bytes are unsaved, or as many as the search may keep
# in main memory, if that is less. A very small limit does not count.
_MOST_UNSAVED, _FEWEST_UNSAVED = 2**30, 2**26

# How much there was of a record when it was saved: configurations, those that were followed, bytes
# of bits, chunks and edges.
_Extent = tuple[int, int, int, int, int]


class SavedSearch:
    """Saves what a search has found since the checkpoint before. Nothing is written twice.

    - `restored`: from where the search continues, if it does.
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        found = checkpoints.restored
        self.restored = None if found is None else RestoredSearch(found)
        self._saved: _Extent = (0, 0, 0, 0, 0)

    def begin(self, record: SearchRecord) -> None:
        """Restore the record up to the checkpoint."""
        if self.restored is not None:
            self.restored.fill(record)
            self._saved = _extent_of(record)

    def is_due(self, record: SearchRecord, packing: Packing) -> bool:
        if not self.checkpoints.is_active:
            return False
        num, _, _, _, edges = self._saved
        unsaved = 4 * packing.num_words * (record.num - num) + 5 * (record.num_edges - edges)
        most = _MOST_UNSAVED
        if record.host.limit is not None and jax.process_count() == 1:  # others have other limits
            most = min(max(record.host.limit, _FEWEST_UNSAVED), most)
        return unsaved > most or self.checkpoints.is_due()

    def save(
        self,
        record: SearchRecord,
        packing: Packing,
        words: Callable[[int, int], UInt32[np.ndarray, "some words"]],
        at_least: np.dtype | None,
        *,
        has_ended: bool = False,
    ) -> None:
        """Write a checkpoint.

        **Arguments:**

        - `words`: those of configurations from a number to another.
        - `at_least`: the type in which the model is counted.
        - `has_ended`: it is the last one, and has all of the graph.
        """
        if not self.checkpoints.is_active:
            return
        now = _extent_of(record)
        num, followed, bits, chunks, edges = self._saved
        # There may be no memory for these: then nothing is appended, and the next one has it all.
        rows = words(num, now[0])
        some = {
            "counts": record.counts.block(followed, now[1]),
            "is_new": record.is_new.block(bits, now[2]),
            "sizes": np.asarray(record.chunk_sizes[chunks:], np.int64),
        }
        if record.targets is not None:
            some["targets"] = record.targets.block(edges, now[4])
        order = np.zeros(0, np.int32) if packing.order is None else np.asarray(packing.order)
        if jax.process_index() == 0:
            self.checkpoints.append(
                {"rows": rows, "order": order},
                is_words=True,
                classes=packing.classes,
                fields=packing.num_fields,
            )
            self.checkpoints.append(some, is_words=False)
        self._saved = now
        state = {"depth_starts": np.asarray(record.depth_starts)}
        save = self.checkpoints.finish if has_ended else self.checkpoints.save
        save(
            state,
            num=record.num,
            num_expanded=record.num_expanded if has_ended else now[1],
            at_least=None if at_least is None else np.dtype(at_least).name,
            stop=record.stop.name if has_ended else None,
        )


def _extent_of(record: SearchRecord) -> _Extent:
    followed = record.followed()[0]
    return record.num, followed, len(record.is_new), len(record.chunk_sizes), record.num_edges


class RestoredSearch:
    """What a checkpoint of a search holds.

    - `num`: configurations; `at_least`: the type in which the model is counted.
    - `has_ended`: nothing is left to do.
    """

    def __init__(self, restored: Restored) -> None:
        self._restored = restored
        note = restored.note
        self.num: int = note["num"]
        self.at_least = None if note["at_least"] is None else np.dtype(note["at_least"])
        self.has_ended = note["stop"] is not None

    def fill(self, record: SearchRecord) -> None:
        """Restore the record."""
        for segment in self._restored.segments:
            if segment.note["is_words"]:
                continue
            found = segment.arrays()
            record.counts.append(found["counts"])
            record.is_new.append(found["is_new"])
            if record.targets is not None:
                record.targets.append(found["targets"])
            sizes = found["sizes"].tolist()
            record.chunk_sizes += sizes
            record.num_edges += sum(sizes)
            record.host.settle()
        state = self._restored.state({"depth_starts": np.zeros(0)})
        record.depth_starts = np.asarray(state["depth_starts"]).tolist()
        record.num, record.num_expanded = self.num, self._restored.note["num_expanded"]
        if self.has_ended:
            record.stop = Stop[self._restored.note["stop"]]

    def words(self, host: HostArrays) -> tuple[Packing, HostArray]:
        """All words, as they were packed at last, which holds those before too."""
        parts = [x for x in self._restored.segments if x.note["is_words"]]
        packing = _packing_of(parts[-1])
        words = host.array(np.uint32, packing.num_words)
        for part in parts:
            rows = part.load({"rows": np.zeros(0)})["rows"]
            for some in repacked_rows(rows, _packing_of(part), packing):
                words.append(some)
                host.settle()
        return packing, words

    def graph(
        self, model: SearchedModel, limits: MemoryLimits, *, edges: bool, missed: float
    ) -> Graph:
        """The graph of a search that has ended, or the graph so far, for lack of memory."""
        model.lower(self.at_least)
        host = Budget(limits).host
        record = SearchRecord(host, edges=edges, most=self.num)
        self.fill(record)
        if not self.has_ended:
            record.end(Stop.OUT_OF_MEMORY, record.num_expanded)
        packing, words = self.words(host)
        return record.graph(model, packing, HostStore(words), missed=missed)


def _packing_of(segment: Segment) -> Packing:
    order = segment.load({"order": np.zeros(0)})["order"]
    classes = tuple((width, places) for width, places in segment.note["classes"])
    return Packing(order if len(order) else None, classes, segment.note["fields"])
