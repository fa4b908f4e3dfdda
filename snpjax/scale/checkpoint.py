"""Checkpoints: what a long call saves now and then, so that the same call continues from there."""

import contextlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import PyTree

from .identity import check_same, identity_of
from .paths import value_of_each
from .saved_arrays import (
    Described,
    check_installed,
    in_structure,
    named,
    named_arrays,
    read_arrays,
    write_arrays,
)
from .segment import Appended, Json, segments_in
from .store import CheckpointError, Manifest, Store


T = TypeVar("T", bound=PyTree)

_now = time.monotonic


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or was damaged. The call continues."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a long call saves how far it is, as `checkpoint=`. Killed at any moment, the same call
    continues from the last checkpoint and ends with the same bits. When it has ended, the same call
    returns its result again.

    **Arguments:**

    - `folder`: of these checkpoints only; it is created. A checkpoint of another call, model or
      option is refused.
    - `every_seconds`: from one checkpoint to the next, at least; they are also as far apart as the
      calls to the device.
    - `keep`: how many are kept. If the newest is damaged, the call continues from the one before.

    It needs `orbax-checkpoint`. See the page "Long runs and large memory".
    """

    folder: str | os.PathLike[str]
    every_seconds: float = 60.0
    keep: int = 2

    def __post_init__(self) -> None:
        if not self.every_seconds >= 0:
            raise ValueError(f"`every_seconds` is {self.every_seconds}. Give 0 or more seconds.")
        if self.keep < 1:
            raise ValueError(f"`keep` is {self.keep}. Keep 1 or more checkpoints.")


@contextlib.contextmanager
def checkpoints_of(
    checkpoint: Checkpoint | None, call: str, /, **parts: PyTree
) -> "Iterator[Checkpoints]":
    """The checkpoints of a call, which is known by its name and by the parts that its result
    depends on: models, options, keys. With `None` nothing is saved.

    **Raises:** `CheckpointError` for checkpoints of another call, naming what differs, for a folder
    with other files, and while another process uses it; `ImportError` without orbax.
    """
    if checkpoint is None:
        yield Checkpoints()
        return
    if not isinstance(checkpoint, Checkpoint):
        raise TypeError(f"`checkpoint` is {checkpoint!r:.60}. Give `snpjax.Checkpoint(folder)`.")
    check_installed()
    identity = identity_of(call, parts)
    with _opened(checkpoint, identity) as (store, manifest):
        checkpoints = Checkpoints(store, identity, checkpoint.every_seconds, manifest)
        with contextlib.closing(checkpoints):
            yield checkpoints


@contextlib.contextmanager
def _opened(
    checkpoint: Checkpoint, identity: Mapping[str, Json]
) -> Iterator[tuple[Store, Manifest | None]]:
    """The folder, and its newest checkpoint. Process 0 looks for it, and locks the folder."""
    folder = Path(checkpoint.folder).absolute()
    is_first = jax.process_index() == 0
    manifest, failure = None, None
    with contextlib.ExitStack() as stack:
        store = None
        try:
            store = stack.enter_context(
                contextlib.closing(Store(folder, checkpoint.keep, is_reader=not is_first))
            )
            if is_first:
                manifest = store.newest(
                    lambda text: _warn(f"{text} The checkpoint before it is used.")
                )
                if manifest is not None:
                    check_same(folder, identity, manifest.content)
        except (CheckpointError, OSError) as error:
            failure = error
        found = value_of_each(-1 if failure else 0 if manifest is None else manifest.number)
        if failure is not None:
            raise failure
        if min(found) < 0:
            number = found.index(-1)
            raise CheckpointError(
                f"Process {number} cannot use the checkpoints in {folder}, and says why."
            )
        assert store is not None
        if found[0] and not is_first:
            manifest = store.read(found[0])
        yield store, manifest


class Checkpoints:
    """What a call restores when it begins, and saves while it works.

    At the ends of its chunks of work the call says `append` for what is done with and, if
    `is_due()`, `save` for the state to continue from; in the end `finish`. Without a store, all of
    these do nothing. Of several processes, all say the same at the same time; each appends what it
    has itself.

    - `restored`: the last checkpoint, or `None` if there is none yet.
    """

    def __init__(
        self,
        store: Store | None = None,
        identity: Mapping[str, Json] | None = None,
        every_seconds: float = 0.0,
        manifest: Manifest | None = None,
    ):
        self._store, self._identity, self._every_seconds = store, identity or {}, every_seconds
        self.restored: Restored | None = None
        self._segments: list[str] = []
        if store is not None and manifest is not None:
            self.restored = Restored(store, manifest)
            self._segments = list(manifest.content["segments"])
        self._last = _now()
        self._waiting: list[Appended] = []
        self._writer: ThreadPoolExecutor | None = None
        self._writing: tuple[Future[list[str]], list[Appended]] | None = None

    @property
    def is_active(self) -> bool:
        """Whether anything is saved at all."""
        return self._store is not None

    def append(self, arrays: PyTree, **note: Json) -> None:
        """Let all checkpoints from the next one on have these arrays, with a note in JSON. They are
        written once. NumPy arrays must not be changed any more."""
        if self._store is not None:
            self._waiting.append(Appended(note, named_arrays(arrays)))

    def is_due(self) -> bool:
        """Whether it is time for another checkpoint: process 0 says so."""
        if self._store is None:
            return False
        return bool(value_of_each(_now() - self._last >= self._every_seconds)[0])

    def save(self, state: PyTree, **note: Json) -> None:
        """Write a checkpoint in the background: a state, whose arrays are copied to the host first,
        and a note in JSON. It waits only for the checkpoint before."""
        if self._store is None:
            return
        self._settle()
        # Arrays that are split over processes are not changed, either.
        arrays = {
            name: x.copy() if isinstance(x, np.ndarray) else x
            for name, x in named_arrays(state).items()
        }
        waiting, self._waiting = self._waiting, []
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "snpjax-checkpoint")
        number = value_of_each(self._store.new_number())[0]
        content = {**self._identity, "note": note}
        given = self._store, number, content, arrays, self._segments, waiting
        self._writing = self._writer.submit(_write, *given), waiting
        self._last = _now()

    def finish(self, state: PyTree, **note: Json) -> None:
        """Write the last checkpoint, where the same call then begins and ends, and wait for it."""
        if self._store is not None:
            self.save(state, **note)
            self._settle()

    def close(self) -> None:
        """Wait for what is being written."""
        if self._writer is not None:
            self._writer.shutdown()
            if jax.process_count() == 1:  # others may not come here
                self._settle()

    def _settle(self) -> None:
        """Wait for the checkpoint before. What it should have appended is left to the next one if
        it could not be written."""
        if self._writing is None:
            return
        (future, waiting), self._writing = self._writing, None
        error = future.exception()
        if all(value_of_each(error is None)):
            self._segments = future.result()
            return
        self._waiting = [*waiting, *self._waiting]
        if error is not None and not isinstance(error, OSError):
            raise error
        if jax.process_index() == 0:
            reason = "another process could not write its part" if error is None else f"{error}"
            _warn(
                f"A checkpoint could not be written: {reason}. The call continues, and tries again."
            )


class Restored:
    """What a checkpoint holds.

    - `note`: what was saved with the state.
    - `segments`: what was appended up to then, in order; by each process, one after the other.
    """

    def __init__(self, store: Store, manifest: Manifest):
        content = manifest.content
        self.note: dict[str, Any] = content["note"]
        self.segments = [
            segment for name in content["segments"] for segment in segments_in(store.folder / name)
        ]
        self._folder = store.arrays(manifest.number)
        self._described: Described = content["state"]

    def state(self, like: T) -> T:
        """The state in the structure of `like`, as NumPy arrays. Where that has a
        `jax.ShapeDtypeStruct` with a sharding, the array is on those devices and has that shape,
        cut or padded with zeros."""
        names = [*named(like)]
        if names != list(self._described):
            raise CheckpointError(
                f"{self._folder} has other arrays than this version of snpjax expects. Give "
                "another folder."
            )
        return in_structure(like, read_arrays(self._folder, self._described, named(like)))


def _write(
    store: Store,
    number: int,
    content: Mapping[str, Json],
    arrays: Mapping[str, np.ndarray],
    before: Sequence[str],
    waiting: Sequence[Appended],
) -> list[str]:
    """Write a checkpoint. **Returns:** the names of the segments that it has."""
    processes, failure = jax.process_count(), None
    try:
        if waiting or processes > 1:
            try:
                store.write_segment(number, waiting)
            except OSError as error:  # all processes have a part in what follows
                if processes == 1:
                    raise
                failure = error
        store.check_present()
        described = write_arrays(store.arrays(number), arrays)
        if failure is not None:
            raise failure
        segments = [*before, *store.segments(number)]
        if processes > 1 and len(segments) < len(before) + processes:
            raise OSError("another process could not write its part")
        if jax.process_index() == 0:
            store.commit(number, {**content, "state": described, "segments": segments}, segments)
        return segments
    except BaseException:
        with contextlib.suppress(OSError):  # the folder may be none any more
            store.remove_garbage()
        raise


def _warn(text: str) -> None:
    warnings.warn(text, CheckpointWarning, stacklevel=2)
