"""Checkpoints: what is restored, what is refused, and what is left of damaged ones."""

import errno
import os
import random
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax.scale import CheckpointError, CheckpointWarning
from snpjax.scale.checkpoint import checkpoints_of
from snpjax.scale.store import DamagedCheckpoint, Store
from tests.support.long_calls import CountedOperations


KEY = jr.key(3)
PARTS = {"choice": snp.UniformChoice(KEY), "max_steps": 100}


def saved(folder, times=1, **given):
    """What is restored, after which that many checkpoints are written, one by one."""
    checkpoint = snp.Checkpoint(folder, every_seconds=0, **given)
    for _ in range(times):
        with checkpoints_of(checkpoint, "run", **PARTS) as checkpoints:
            found = opened(checkpoints.restored)
            number = 0 if found is None else found[0]["number"] + 1
            checkpoints.append({"row": jnp.full(2, number, jnp.bfloat16)}, level=number)
            checkpoints.save(state_of(number), number=number)
    with checkpoints_of(checkpoint, "run", **PARTS) as checkpoints:
        return opened(checkpoints.restored)


def state_of(number):
    return {
        "key": jr.key(number),
        "nothing": np.zeros((0, 2), np.uint8),
        "wide": (np.arange(number + 1, dtype=np.int64), jnp.asarray(True)),
    }


def opened(restored):
    if restored is None:
        return None
    like = state_of(0)
    rows = [(x.note, x.load({"row": 0})["row"].tolist()) for x in restored.segments]
    return restored.note, restored.state(like), rows


def test_what_is_saved_is_restored(tmp_path):
    note, state, rows = saved(tmp_path, 3)
    assert note == {"number": 2}
    for one, two in zip(jax.tree.leaves(state), jax.tree.leaves(state_of(2)), strict=True):
        assert one.dtype == two.dtype and one.shape == two.shape
        if jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, two = jr.key_data(one), jr.key_data(two)
        assert np.array_equal(one, two)
    assert rows == [({"level": i}, [i, i]) for i in range(3)]


def test_only_some_checkpoints_are_kept(tmp_path):
    saved(tmp_path, 4, keep=3)
    assert sorted(x.name for x in tmp_path.glob("[ac]*")) == [
        *(f"arrays-{i}" for i in (2, 3, 4)),
        *(f"checkpoint-{i}.json" for i in (2, 3, 4)),
    ]


@pytest.mark.parametrize("name", ["checkpoint-3.json", "segment-3.0", "arrays-3/_METADATA"])
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, name, is_cut):
    saved(tmp_path, 3)
    path = tmp_path / name
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = bytes([whole[middle] ^ 1])
    path.write_bytes(whole[:middle] if is_cut else whole[:middle] + flipped + whole[middle + 1 :])
    with pytest.warns(CheckpointWarning, match=f"{path} .* The checkpoint before it is used"):
        note, _, rows = saved(tmp_path, 0)
    assert note == {"number": 1} and len(rows) == 2
    with pytest.warns(CheckpointWarning):
        note, _, rows = saved(tmp_path, 1)
    assert note == {"number": 2} and len(rows) == 3


def test_a_folder_where_all_are_damaged_is_refused(tmp_path):
    saved(tmp_path, 2)
    for path in tmp_path.glob("checkpoint-*"):
        path.write_text("{")
    with pytest.raises(CheckpointError, match="No checkpoint in .* can be used: .* is damaged"):
        saved(tmp_path)


@pytest.mark.parametrize(
    "changed, what",
    [
        ({"max_steps": 7}, "`max_steps=100` instead of 7"),
        ({"choice": snp.UniformChoice(jr.key(4))}, "another key in `choice`"),
        ({"choice": snp.FirstChoice()}, "another `choice`"),
        ({"paths": 3}, "another `paths`"),
    ],
)
def test_another_call_is_refused(tmp_path, changed, what):
    saved(tmp_path)
    with pytest.raises(CheckpointError, match=what):
        with checkpoints_of(snp.Checkpoint(tmp_path), "run", **{**PARTS, **changed}):
            pass
    with pytest.raises(CheckpointError, match="are those of `run`, not of `explore`"):
        with checkpoints_of(snp.Checkpoint(tmp_path), "explore", **PARTS):
            pass


@pytest.mark.parametrize(
    ("switch", "value"),
    [
        ("jax_threefry_partitionable", not jax.config.jax_threefry_partitionable),
        ("jax_default_matmul_precision", "float32"),
        ("jax_enable_x64", not jax.config.jax_enable_x64),
        ("jax_default_prng_impl", "rbg"),
    ],
)
def test_other_switches_of_jax_are_refused(tmp_path, switch, value):
    saved(tmp_path)
    before = getattr(jax.config, switch)
    jax.config.update(switch, value)
    try:
        with pytest.raises(CheckpointError, match=f"with {switch}={before} instead of {value}, "):
            saved(tmp_path)
    finally:
        jax.config.update(switch, before)
    assert saved(tmp_path, 0) is not None


def test_only_flags_of_xla_that_change_bits_matter(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    saved(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true --xla_dump_to=/nowhere")
    assert saved(tmp_path, 0) is not None
    monkeypatch.delenv("XLA_FLAGS")
    with pytest.raises(CheckpointError, match="XLA_FLAGS=--xla_cpu_enable_fast_math=true instead"):
        saved(tmp_path)


def test_a_folder_in_use_is_refused(tmp_path):
    checkpoint = snp.Checkpoint(tmp_path)
    with checkpoints_of(checkpoint, "run", **PARTS):
        with pytest.raises(CheckpointError, match="Another run uses the checkpoints"):
            with checkpoints_of(checkpoint, "run", **PARTS):
                pass


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(
        CheckpointError, match=r"holds no checkpoints but other files, such as 'thesis"
    ):
        saved(tmp_path)
    assert [x.name for x in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_is_removed_ends_the_checkpoints_only(tmp_path):
    folder = tmp_path / "run"
    with pytest.warns(CheckpointWarning, match="run was removed"):
        with checkpoints_of(snp.Checkpoint(folder), "run", **PARTS) as checkpoints:
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()
            checkpoints.save(state_of(1))
    assert saved(folder) is not None


def three(folder):
    """Write three checkpoints, each with a level of its own; what is said of the writing."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with checkpoints_of(snp.Checkpoint(folder, every_seconds=0), "run", **PARTS) as checkpoints:
            for number in range(3):
                checkpoints.append({"row": jnp.full(2, number, jnp.bfloat16)}, level=number)
                checkpoints.finish(state_of(number), number=number)
    return [f"{one.message}" for one in said]


def fails_at(operation):
    """The disk is full once."""

    def reached(_, number):
        if number == operation:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return reached


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    """Each operation fails once, in turn; of those some are tried here, and all in the sweep."""
    with monkeypatch.context() as patch:
        disk = CountedOperations(patch, fails_at(-1))
        assert three(tmp_path / "whole") == []
    operations = range(len(disk.done))
    assert len(operations) > 60
    if os.environ.get("SNPJAX_SWEEP") != "full":
        operations = random.Random(0).sample(operations, 3)
    for fails in operations:
        folder = tmp_path / f"{fails}"
        with monkeypatch.context() as patch:
            disk = CountedOperations(patch, fails_at(fails))
            said = three(folder)
        if len(disk.done) <= fails:  # there were fewer this time
            continue
        note, state, rows = saved(folder, 0)
        what = fails, disk.done[fails], said
        if said:
            assert len(said) == 1 and "could not be written" in said[0], what
        last = note["number"]
        assert last == 2 or (last == 1 and said), what
        assert rows == [({"level": i}, [i, i]) for i in range(last + 1)], what
        assert len(state["wide"][0]) == last + 1
        assert three(folder) == []  # what failed is no longer in the way


def test_arrays_that_do_not_fit_on_the_disk(tmp_path):
    """The disk fails inside orbax, which writes by a library of its own."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    noise = np.random.default_rng(0).integers(0, 256, 2**20, np.uint8)
    with pytest.warns(CheckpointWarning, match="could not be written"):
        with checkpoints_of(snp.Checkpoint(tmp_path), "run", **PARTS) as checkpoints:
            checkpoints.append({"row": np.arange(3)}, level=0)
            checkpoints.finish({"x": noise[:100]}, number=0)
            checkpoints.append({"row": np.arange(3)}, level=1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, limits[1]))
            try:
                checkpoints.finish({"x": noise}, number=1)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert [x.name for x in tmp_path.glob("arrays-2*")] == []
            checkpoints.finish({"x": noise}, number=2)
    with checkpoints_of(snp.Checkpoint(tmp_path), "run", **PARTS) as checkpoints:
        assert checkpoints.restored.note == {"number": 2}
        assert np.array_equal(checkpoints.restored.state({"x": 0})["x"], noise)
        assert [one.note["level"] for one in checkpoints.restored.segments] == [0, 1]


def test_a_manifest_that_is_nested_deep_is_damaged(tmp_path):
    (tmp_path / "checkpoint-1.json").write_text("[" * 100_000)
    with pytest.raises(DamagedCheckpoint, match="checkpoint-1.json is damaged"):
        Store(tmp_path, 1, is_reader=True).read(1)
