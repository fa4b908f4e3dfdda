"""Checkpoints: what a long call saves now and then, so that the same call goes on from there."""

import contextlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jaxtyping import PyTree

from .digest import digest, is_key
from .saved_arrays import Described, check_installed, read_arrays, write_arrays
from .store import CheckpointError, Json, Manifest, Store


T = TypeVar("T", bound=PyTree)

#: The version of what is in a manifest.
FORMAT = 1

_now = time.monotonic


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or was damaged. The call goes on."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a long call saves how far it is, as `checkpoint=`. Killed at any moment, the same call
    goes on from the last checkpoint and ends with the same bits. When it has ended, the same call
    returns its result again.

    **Arguments:**

    - `folder`: of these checkpoints only; it is created. A checkpoint of another call, model or
      option is refused.
    - `every_seconds`: from one checkpoint to the next, at least; they are also as far apart as the
      calls to the device.
    - `keep`: how many are kept. If the newest is damaged, the call goes on from the one before.

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
    store = Store(Path(checkpoint.folder).absolute(), checkpoint.keep)
    with contextlib.closing(store):
        manifest = store.newest(lambda text: _warn(f"{text} The checkpoint before it is used."))
        identity = _identity(call, parts)
        if manifest is not None:
            _check_same(store.folder, identity, manifest.content)
        checkpoints = Checkpoints(store, identity, checkpoint.every_seconds, manifest)
        with contextlib.closing(checkpoints):
            yield checkpoints


class Checkpoints:
    """What a call restores when it begins, and saves while it works.

    At the ends of its chunks of work the call says `append` for what is done with and, if
    `is_due()`, `save` for the state to go on from; in the end `finish`. Without a store, all of
    these do nothing.

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
        self._segments: _Segments = {}
        if store is not None and manifest is not None:
            self.restored = Restored(store, manifest)
            self._segments = dict(manifest.content["segments"])
        self._last = _now()
        self._waiting: list[_Appended] = []
        self._writer: ThreadPoolExecutor | None = None
        self._writing: tuple[Future[_Segments], list[_Appended]] | None = None

    @property
    def is_active(self) -> bool:
        """Whether anything is saved at all."""
        return self._store is not None

    def append(self, arrays: PyTree, **note: Json) -> None:
        """Let all checkpoints from the next one on have these arrays, with a note in JSON. They are
        written once. NumPy arrays must not be changed any more."""
        if self._store is not None:
            self._waiting.append(_Appended(note, _named_arrays(arrays)))

    def is_due(self) -> bool:
        """Whether it is time for another checkpoint."""
        return self._store is not None and _now() - self._last >= self._every_seconds

    def save(self, state: PyTree, **note: Json) -> None:
        """Write a checkpoint in the background: a state, whose arrays are copied to the host first,
        and a note in JSON. It waits only for the checkpoint before."""
        if self._store is None:
            return
        self._settle()
        arrays = {name: x.copy() for name, x in _named_arrays(state).items()}
        waiting, self._waiting = self._waiting, []
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "snpjax-checkpoint")
        content = {**self._identity, "note": note}
        future = self._writer.submit(
            _write, self._store, content, arrays, dict(self._segments), waiting
        )
        self._writing = future, waiting
        self._last = _now()

    def finish(self, state: PyTree, **note: Json) -> None:
        """Write the last checkpoint, where the same call then begins and ends, and wait for it."""
        self.save(state, **note)
        self._settle()

    def close(self) -> None:
        """Wait for what is being written."""
        try:
            self._settle()
        finally:
            if self._writer is not None:
                self._writer.shutdown()

    def _settle(self) -> None:
        """Wait for the checkpoint before. What it should have appended is left to the next one if
        it could not be written."""
        if self._writing is None:
            return
        (future, waiting), self._writing = self._writing, None
        error = future.exception()
        if error is None:
            self._segments = future.result()
            return
        self._waiting = [*waiting, *self._waiting]
        if not isinstance(error, OSError):
            raise error
        _warn(f"A checkpoint could not be written: {error}. The call goes on, and will try again.")


class Restored:
    """What a checkpoint holds.

    - `note`: what was saved with the state.
    - `segments`: what was appended up to then, in order.
    """

    def __init__(self, store: Store, manifest: Manifest):
        content = manifest.content
        self.note: dict[str, Any] = content["note"]
        self.segments = [
            Segment(store, name, i, entry)
            for name, entries in content["segments"].items()
            for i, entry in enumerate(entries)
        ]
        self._folder = store.arrays(manifest.number)
        self._described: Described = content["state"]

    def state(self, like: T) -> T:
        """The state in the structure of `like`, as NumPy arrays. Where that has a
        `jax.ShapeDtypeStruct` with a sharding, the array is on those devices and has that shape,
        cut or padded with zeros."""
        leaves, tree, names = _named(like)
        if names != list(self._described):
            raise CheckpointError(
                f"{self._folder} has other arrays than this version of snpjax expects. Give "
                "another folder."
            )
        found = read_arrays(self._folder, self._described, dict(zip(names, leaves, strict=True)))
        return jax.tree.unflatten(tree, map(_as_like, found.values(), leaves))


class Segment:
    """A part of a history, or a level of a search.

    - `note`: what was said of it.
    """

    def __init__(self, store: Store, name: str, number: int, entry: Mapping[str, Any]):
        self.note: dict[str, Any] = entry["note"]
        self._dtypes: dict[str, str] = entry["dtypes"]
        self._read = partial(store.segment, name, f"{number}/")

    def arrays(self) -> dict[str, np.ndarray]:
        """Its arrays, by their places in the tree that was appended."""
        found = self._read()
        return {name: found[name].view(jnp.dtype(kind)) for name, kind in self._dtypes.items()}

    def load(self, like: T) -> T:
        """Its arrays, in the structure of `like`."""
        leaves, tree, names = _named(like)
        found = self.arrays()
        return jax.tree.unflatten(tree, map(_as_like, (found[name] for name in names), leaves))


#: What is in each segment, by its name: a note and dtypes.
_Segments: TypeAlias = dict[str, list[dict[str, Any]]]


class _Appended(NamedTuple):
    note: dict[str, Json]
    arrays: dict[str, np.ndarray]


def _write(
    store: Store,
    content: dict[str, Json],
    arrays: dict[str, np.ndarray],
    segments: _Segments,
    waiting: list[_Appended],
) -> _Segments:
    """Write a checkpoint. **Returns:** the segments that it has."""
    number = store.new_number()
    try:
        if waiting:
            name = store.write_segment(
                number,
                {f"{i}/{key}": x for i, one in enumerate(waiting) for key, x in one.arrays.items()},
            )
            segments[name] = [
                {"note": one.note, "dtypes": {key: x.dtype.name for key, x in one.arrays.items()}}
                for one in waiting
            ]
        store.check_present()
        described = write_arrays(store.arrays(number), arrays)
        store.commit(number, {**content, "state": described, "segments": segments}, list(segments))
    except BaseException:
        with contextlib.suppress(OSError):  # the folder may be none any more
            store.remove_garbage()
        raise
    return segments


def _named(tree: PyTree) -> tuple[list[Any], Any, list[str]]:
    """The leaves, the structure, and the name of each leaf."""
    paths, structure = jtu.tree_flatten_with_path(tree)
    names = [jtu.keystr(path, simple=True, separator=".") or "value" for path, _ in paths]
    return [x for _, x in paths], structure, names


def _named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """Its arrays, on the host. Those of JAX are copied: on a CPU they would be views of memory that
    a donated buffer gives away."""
    leaves, _, names = _named(tree)
    hosts = jax.device_get([jr.key_data(x) if is_key(x) else x for x in leaves])
    return {
        name: np.array(host) if isinstance(x, jax.Array) else np.asarray(host)
        for name, x, host in zip(names, leaves, hosts, strict=True)
    }


def _as_like(x: Any, like: Any) -> Any:
    return jr.wrap_key_data(x, impl=jr.key_impl(like)) if is_key(like) else x


# ---- whose checkpoints they are ----


def _identity(call: str, parts: Mapping[str, PyTree]) -> dict[str, Json]:
    """What is compared on resumption, and by whom it was written."""
    import snpjax

    return {
        "format": FORMAT,
        "call": call,
        "parts": {name: _part(x) for name, x in parts.items()},
        "snpjax": snpjax.__version__,
        "jax": jax.__version__,
    }


def _part(x: PyTree) -> dict[str, Json]:
    keys = [leaf for leaf in jax.tree.leaves(x) if is_key(leaf)]
    found: dict[str, Json] = {"digest": digest(x)}
    if keys:
        found["without_keys"] = digest(x, keys=False)
        found["keys"] = [[f"{jr.key_impl(one)}", jr.key_data(one).tolist()] for one in keys]
    if isinstance(x, bool | int | float | str | None):
        found["is"] = f"{x!r:.60}"
    return found


def _check_same(folder: Path, identity: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """**Raises:** `CheckpointError` with what differs."""
    fix = "Give the same arguments to go on from there, or another folder to start over."
    if other.get("format") != identity["format"]:
        raise CheckpointError(
            f"The checkpoints in {folder} have format {other.get('format')}, and this version of "
            f"snpjax reads format {identity['format']}. Install snpjax {other.get('snpjax')}, or "
            "give another folder."
        )
    if other["call"] != identity["call"]:
        raise CheckpointError(
            f"The checkpoints in {folder} are those of `{other['call']}`, not of "
            f"`{identity['call']}`. Give another folder."
        )
    own, found = identity["parts"], other["parts"]
    for name in dict.fromkeys([*own, *found]):
        one, two = own.get(name), found.get(name)
        if one == two:
            continue
        what = f"another `{name}`"
        if one is not None and two is not None:
            if "keys" in one and one["without_keys"] == two.get("without_keys"):
                what = f"another key in `{name}`"
            elif "is" in one and "is" in two:
                what = f"`{name}={two['is']}` instead of {one['is']}"
        raise CheckpointError(f"The checkpoints in {folder} are those of a call with {what}. {fix}")


def _warn(text: str) -> None:
    warnings.warn(text, CheckpointWarning, stacklevel=2)
