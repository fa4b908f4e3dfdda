"""Runs that are interrupted and go on from their checkpoints, to the same bits."""

import math
import signal
import threading
import time

import jax
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax.check.probability import statistical  # to look at few paths
from snpjax.scale import CheckpointError, checkpoint, saved_arrays
from snpjax.scale.mesh import PATHS
from tests.support.long_calls import CALLS, Interrupted, fingerprint
from tests.support.meshes import generator, mesh_of, population


KEY = jr.key(3)


pytestmark = pytest.mark.usefixtures("clock_of_calls")


def saved_in(folder):
    """Every third chunk of work is followed by a checkpoint."""
    return snp.Checkpoint(folder, every_seconds=3)


def interrupted(call, counted, after, **options):
    """Make a call that is interrupted when it has made some calls to the device."""
    counted.num, counted.last = 0, after
    with pytest.raises(Interrupted):
        call(**options)
    counted.num, counted.last = 0, None


#: The others share most of their way with these, and are slow.
FAST = ("one path", "settling", "sums")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow])
        for name in CALLS
        if name != "an estimate"
    ],
)
def test_an_interrupted_run_is_the_run(name, tmp_path, counted):
    call = CALLS[name]()
    expected, total = fingerprint(call()), counted.num
    assert total > 5
    for after in (total // 2 + 1, 2):
        interrupted(call, counted, after, checkpoint=saved_in(tmp_path))
    found = call(checkpoint=saved_in(tmp_path))
    assert fingerprint(found) == expected and counted.num < total
    counted.last = counted.num
    assert fingerprint(call(checkpoint=saved_in(tmp_path))) == expected  # at once


def test_ctrl_c_while_a_checkpoint_is_written(tmp_path, counted, monkeypatch):
    call = CALLS["one path"]()
    expected, total = fingerprint(call()), counted.num
    written = []
    real = saved_arrays.write_arrays

    def write_arrays(*args):
        written.append(threading.current_thread())
        time.sleep(0.2)
        return real(*args)

    monkeypatch.setattr(checkpoint, "write_arrays", write_arrays)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup &` ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            call(
                checkpoint=saved_in(tmp_path),
                progress=lambda *_: written and signal.raise_signal(signal.SIGINT),
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert written
    counted.num = 0
    assert fingerprint(call(checkpoint=saved_in(tmp_path))) == expected
    assert counted.num < total


@pytest.mark.parametrize(
    "name, before, after",
    [
        ("sums", 2, None),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *(("every third", 4, 3), ("systems", None, 2), ("sums", None, 4)),
                *(("dividing", 4, 2), ("inputs", 4, 3), ("paths of a net", 2, None)),
            )
        ),
    ],
)
def test_a_run_goes_on_on_another_mesh(name, before, after, tmp_path, counted):
    """Its parts have so many devices."""
    call = CALLS[name]()
    expected = call()
    first, second = (None if num is None else mesh_of(num, PATHS) for num in (before, after))
    counted.num = 0
    call(mesh=first)
    total = counted.num
    interrupted(call, counted, 2 * total // 3, checkpoint=saved_in(tmp_path), mesh=first)
    found = call(checkpoint=saved_in(tmp_path), mesh=second)
    assert counted.num > 0
    assert_alike(found, expected)
    counted.last = counted.num
    assert_alike(call(checkpoint=saved_in(tmp_path)), expected)


def assert_alike(found, expected):
    """The same to the bit, but for the capacity with which arrays are padded."""
    if not isinstance(expected, snp.SolutionBatch) or not expected.system.is_growing:
        assert fingerprint(found) == fingerprint(expected)
        return
    for one, other in zip(found, expected, strict=True):
        assert one.steps == other.steps and one.network() == other.network()
        for name in ("configurations", "rules", "emissions", "spike_trains"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def neurons(name):
    shape = {"neurons": 2, "paths": 2} if name == "both" else {"neurons": int(name)}
    devices = jax.devices()[: math.prod(shape.values())]
    return jax.make_mesh(tuple(shape.values()), tuple(shape), devices=devices)


@pytest.mark.parametrize(
    "meshes, paths",
    [
        ("2", None),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in (("2 4", None), ("4 both", 3))),
    ],
)
def test_neurons_go_on_on_other_devices(meshes, paths, tmp_path, counted):
    def call(**options):
        options |= {"choice": snp.UniformChoice(KEY), "max_steps": 8, "save": snp.SAVE_ALL}
        return snp.run(population(), paths=paths, **options)

    expected = call()
    first, *rest = [neurons(name) for name in meshes.split()]
    interrupted(call, counted, 5, checkpoint=saved_in(tmp_path), mesh=first)
    found = call(checkpoint=saved_in(tmp_path), mesh=rest[0] if rest else None)
    assert 0 < counted.num < 7
    for name in ("configurations", "rules", "emissions", "spikes"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_an_interrupted_estimate_is_the_estimate(tmp_path, monkeypatch):
    """Interrupted between blocks of paths, which are 64 here."""
    monkeypatch.setattr(statistical, "_MAX_BLOCK", 64)
    call = CALLS["an estimate"]()
    expected = call()
    assert expected.paths > 500
    blocks = []
    real = statistical.run

    def run(*args, **kwargs):
        blocks.append(kwargs)
        if len(blocks) == 7:
            raise Interrupted
        return real(*args, **kwargs)

    monkeypatch.setattr(statistical, "run", run)
    with pytest.raises(Interrupted):
        call(checkpoint=saved_in(tmp_path))
    assert call(checkpoint=saved_in(tmp_path)) == expected
    num = len(blocks)
    assert num < 7 + expected.paths / 64
    assert call(checkpoint=saved_in(tmp_path)) == expected and len(blocks) == num


@pytest.mark.parametrize(
    "changed, what",
    [
        ({"max_steps": 15}, "`max_steps=14` instead of 15"),
        ({"choice": snp.UniformChoice(jr.key(4))}, "another key in `choice`"),
        ({"paths": 4}, "`paths=3` instead of 4"),
        ({"save": snp.Save(every=2)}, "another `save`"),
        ({"initial": {"n1": 3}}, "another `initial`"),
        ({"count_dtype": np.int64}, "another `count_dtype`"),
        ({"observe": snp.scale.ComputedNumbers(3)}, "another `observe`"),
        ({"model": generator().replace(output="n2")}, "another `model`"),
    ],
)
def test_a_run_of_other_options_is_refused(changed, what, tmp_path):
    given = {"choice": snp.UniformChoice(KEY), "max_steps": 14, "paths": 3, "model": generator()}
    options = dict(given)
    snp.run(options.pop("model"), checkpoint=saved_in(tmp_path), **options)
    options = given | changed
    with pytest.raises(CheckpointError, match=what):
        snp.run(options.pop("model"), checkpoint=saved_in(tmp_path), **options)


def test_functions_are_compared_by_what_they_do(tmp_path):
    def ends(factor):
        return snp.scale.Total(lambda end: end.steps * factor)

    options = {"choice": snp.UniformChoice(KEY), "paths": 8, "checkpoint": saved_in(tmp_path)}
    options["max_steps"] = 9
    expected = snp.run(generator(), observe=ends(2), **options)
    assert snp.run(generator(), observe=ends(2), **options) == expected
    with pytest.raises(CheckpointError, match="another `observe`"):
        snp.run(generator(), observe=ends(3), **options)


def test_speed_may_change(tmp_path, counted):
    options = {"choice": snp.UniformChoice(KEY), "paths": 8, "max_steps": 14}
    options["checkpoint"] = saved_in(tmp_path)
    expected = snp.run(generator(), **options)
    counted.last = counted.num
    found = snp.run(generator(), unroll=3, throw=False, progress=print, **options)
    assert fingerprint(found) == fingerprint(expected)


def test_a_run_that_failed_fails_again(tmp_path, counted):
    system = snp.SpikingSystem(
        [snp.Neuron("x", 3, ["a^3 -> a^3"]), snp.Neuron("y", 2**31 - 2, ["a -> lambda"])],
        [("x", "y")],
    )
    failures = []
    for _ in range(2):
        with pytest.raises(snp.RunFailed, match="holds more spikes") as raised:
            snp.run(system, max_steps=9, checkpoint=saved_in(tmp_path))
        failures.append(fingerprint(raised.value.solution))
        counted.last = counted.num
    assert failures[0] == failures[1]


def test_sums_go_on_where_there_is_more_memory(tmp_path, counted, monkeypatch):
    call = CALLS["sums"]()
    expected, total = fingerprint(call()), counted.num
    with monkeypatch.context() as patch:
        patch.setattr("tests.support.long_calls.Interrupted", MemoryError)
        counted.num, counted.last = 0, total // 2
        with pytest.raises(snp.RunFailed, match="Memory ran out"):
            call(checkpoint=saved_in(tmp_path))
    counted.num, counted.last = 0, None
    assert fingerprint(call(checkpoint=saved_in(tmp_path))) == expected
    assert 0 < counted.num < total


def test_what_was_dropped_stays_dropped(tmp_path, counted):
    """A history that outgrows its budget before, or after, the run is interrupted."""
    save = snp.Save(budget=900)

    def call(**options):
        options |= {"choice": snp.UniformChoice(KEY), "max_steps": 14, "save": save}
        with pytest.warns(snp.HistoryDropped, match="kept: the outputs"):
            return snp.run(generator(), paths=3, **options)

    expected, total = call(), counted.num
    assert expected.saved.outputs and not expected.saved.details
    for after in (4, total - 2):
        folder = tmp_path / f"{after}"
        counted.num, counted.last = 0, after
        try:
            with pytest.raises(Interrupted):
                call(checkpoint=saved_in(folder))
        except pytest.fail.Exception:
            assert after == 4  # nothing was dropped by then
        counted.last = None
        for _ in range(2):
            assert fingerprint(call(checkpoint=saved_in(folder))) == fingerprint(expected)
