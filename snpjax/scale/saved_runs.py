"""What of a run is in its checkpoints: where its paths are, how those that have ended did, and the
rows of history of each, written once."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jaxtyping import PyTree

from ..tile import EndedPaths, Shard, Standing, Tile
from ..trajectory import Chunk, Flat, History, Save, beside, own_paths
from .checkpoint import Checkpoints, Restored
from .segment import Segment


class RunSaver:
    """Saves where a run is."""

    def __init__(self, checkpoints: Checkpoints, num_ended: int, *, is_alike: bool):
        """The checkpoint that the run began with, if any, has the first `num_ended` shards. If all
        processes have the same, one of them appends it."""
        self._checkpoints, self._num_ended = checkpoints, num_ended
        self._appends = not is_alike or jax.process_index() == 0

    def save_if_due(self, ended: Sequence[Shard], tile: Tile | None) -> None:
        if self._checkpoints.is_due():
            self.save(ended, tile)

    def save(self, ended: Sequence[Shard], tile: Tile | None = None, *, is_last: bool = False):
        """Save shards that have ended, and a tile that continues."""
        for shard in ended[self._num_ended :] if self._appends else ():
            self._append_rows(shard)
            found = {"end": shard.ended, "after": shard.history.after}
            self._checkpoints.append(found, part="end", **_of(shard))
        self._num_ended = len(ended)
        state, note = {}, {}
        if tile is not None:
            tile.catch_up()
            for shard in tile.shards if self._appends else ():
                self._append_rows(shard)
            state = tile.saved()
            note = {"first": tile.first, "paths": tile.paths, "made": tile.now}
        saved = (tile.shards if tile is not None else ended)[-1].history.wanted
        kept = [saved.every is not None, saved.outputs, saved.details]
        save = self._checkpoints.finish if is_last else self._checkpoints.save
        save(state, tile=note, kept=kept)

    def _append_rows(self, shard: Shard) -> None:
        """The rows since the last checkpoint."""
        chunk = shard.history.new()
        if chunk is not None:
            rows = [part.leaves for part in chunk]
            self._checkpoints.append(rows, part="rows", made=shard.saved, **_of(shard))
        shard.saved = shard.made


def _of(shard: Shard) -> dict[str, Any]:
    return {"tile": shard.tile, "first": shard.first, "paths": shard.paths}


class RestoredRun:
    """A run as its last checkpoint has it.

    - `save`: what was still kept of its history.
    """

    def __init__(self, restored: Restored, save: Save, structures: tuple[PyTree, Chunk]):
        """`structures`: how paths stand after a call, and a chunk of what was to be saved."""
        self._restored = restored
        self.save = save.keeping(*restored.note["kept"])
        self._stand, self._chunk = structures
        self._ends: list[Segment] = []
        self._rows: dict[int, list[Segment]] = defaultdict(list)
        for segment in restored.segments:
            if segment.note["part"] == "end":
                self._ends.append(segment)
            else:
                self._rows[segment.note["tile"]].append(segment)

    @property
    def num_ended(self) -> int:
        """How many paths have ended, from the first one on; a single path counts as one."""
        return sum(segment.note["paths"] or 1 for segment in self._ends)

    def shards(
        self, histories: list[History], ranges: Sequence[tuple[int, int]] | None
    ) -> Iterator[Shard]:
        """The paths that have ended, or those of them within ranges of their numbers. Their
        histories are added to those of the run."""
        for segment in self._ends:
            first, paths = segment.note["first"], segment.note["paths"]
            if ranges is None or paths is None:
                yield self._shard(segment, first, paths, histories)
                continue
            for low, high in ranges:
                low, high = max(low, first), min(high, first + paths)
                if low < high:
                    yield self._shard(segment, low, high - low, histories)

    def _shard(
        self, segment: Segment, first: int, paths: int | None, histories: list[History]
    ) -> Shard:
        initial = self._stand[0] if self.save.every is not None else None
        _, *after = self._parts if paths is not None else ([], [], [])
        found = segment.load({"end": EndedPaths(initial, *self._stand), "after": tuple(after)})
        if paths is not None:
            at = first - segment.note["first"]
            found = jax.tree.map(lambda x: x[..., at : at + paths], found)
        tile = segment.note["tile"]
        history = History(self.save, paths, histories)
        history.restore(self._history(tile, first, paths), found["after"])
        histories.append(history)
        return Shard.restored(history, paths, first, tile, found["end"])

    def standing(self, like: PyTree) -> Standing | None:
        """Where paths are that continue, if there are any. `like`: the structure of
        `Tile.saved`."""
        note = self._restored.note["tile"]
        if not note:
            return None
        first, paths = note["first"], note["paths"]
        found = jax.tree.map(lambda x: own_paths(x, paths), self._restored.state(like))

        def history(of: int, num: int | None) -> list[Chunk]:
            return self._history(first, of, num)

        return Standing(first, paths, note["made"], found["state"], found["steps"], history)

    @property
    def _parts(self) -> list[list[int]]:
        """How many arrays the parts of a chunk have that are kept, as lists."""
        return [
            [0] * part.tree.num_leaves * is_kept
            for part, is_kept in zip(self._chunk, self.save.kept, strict=True)
        ]

    def _history(self, tile: int, first: int, paths: int | None) -> list[Chunk]:
        """The rows of some paths of a tile. They may be in several pieces, if the mesh was another
        one then."""
        end = first + (paths or 1)
        pieces: dict[int, list[tuple[int, PyTree]]] = defaultdict(list)
        for segment in self._rows.get(tile, ()):
            own = segment.note["first"]
            low, high = max(first - own, 0), min(end - own, segment.note["paths"] or 1)
            if low >= high:
                continue
            found = segment.load(self._parts)
            if paths is not None:
                found = jax.tree.map(lambda x, a=low, b=high: x[..., a:b], found)
            pieces[segment.note["made"]].append((own, found))
        chunks: list[Chunk] = []
        for made in sorted(pieces):
            parts = beside([found for _, found in sorted(pieces[made], key=lambda x: x[0])])
            states, outputs, details = (
                Flat(leaves, part.tree) if leaves else Flat.of(None)
                for leaves, part in zip(parts, self._chunk, strict=True)
            )
            chunks.append((states, outputs, details))
        return chunks
