"""Runs in too little memory: refused before it is taken, and ended in order where it runs out."""

import importlib
import sys
import warnings

import jax
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax.memory import is_of_memory
from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet
from tests.spiking.test_division import TINY, doubling
from tests.support.meshes import assert_same, assert_same_trajectory, mesh_of, population
from tests.support.processes import environment, python
from tests.test_run import clock, delayed, generator


driver = importlib.import_module("snpjax.driver")
tile = importlib.import_module("snpjax.tile")
footprint = importlib.import_module("snpjax.footprint")
streams = importlib.import_module("snpjax.scale.streams")
reserve = importlib.import_module("snpjax.spiking.step.reserve")
placement = importlib.import_module("snpjax.scale.placement")

EXHAUSTED = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 2 bytes.")
ERRORS = [EXHAUSTED, MemoryError(), snp.NotEnoughMemory("no room")]
UNIFORM = snp.UniformChoice(jr.key(7))
BATCH = {"choice": UNIFORM, "paths": 10, "max_steps": 12}
OUT_OF_MEMORY = snp.RESULTS.out_of_memory


# ---- an allocation fails ----


class Calls:
    """Calls of the functions of a module, of which one fails."""

    def __init__(self, monkeypatch, *names: str, error: Exception = EXHAUSTED, module=tile):
        self.num, self.failing, self.error = 0, 0, error
        for name in names:
            monkeypatch.setattr(module, name, self.counted(getattr(module, name)))

    def counted(self, function):
        def call(*args, **kwargs):
            self.num += 1
            if self.num == self.failing:
                raise self.error
            return function(*args, **kwargs)

        call.jitted = getattr(function, "jitted", None)
        return call

    def each(self, run):
        """What `run` returns where the first call fails, the second, and so on."""
        run()
        for failing in range(1, self.num + 1):
            self.num, self.failing = 0, failing
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", snp.HistoryDropped)
                yield run()
            assert self.num >= failing
            self.failing = 0


@pytest.fixture
def small_pieces(monkeypatch):
    """Four paths run at a time, in calls of a few steps."""
    monkeypatch.setattr(driver, "_LEAST_TILE", 4)
    monkeypatch.setattr(driver, "_MOST_IN_TILE", 4)
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 2)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 1e-9)


def assert_part(found, whole) -> int:
    """A run that ended short is the whole run up to some step, in every path. How many are."""
    is_short = np.atleast_1d(found.result == OUT_OF_MEMORY)
    # A call may fail that would only have found out that all paths have halted.
    assert ("Memory ran out" in found.failure) if is_short.any() else (found.failure is None)
    assert np.shape(found.steps) == np.shape(whole.steps)
    is_one = np.ndim(whole.trajectory.steps) == 0
    of_paths = [(found, whole)] if is_one else list(zip(found, whole, strict=True))
    for (one, same), short in zip(of_paths, is_short, strict=True):
        assert one.steps <= same.steps
        if not short:
            assert one.result == same.result and one.steps == same.steps
        assert (one.spikes == same.configurations[one.steps]).all()
        if one.saved.every == 1:
            assert (one.configurations == same.configurations[: one.steps + 1]).all()
        if one.saved.outputs:
            assert (one.spike_train == same.spike_train[: one.steps]).all()
        if one.saved.details:
            assert (one.rules == same.rules[: one.steps]).all()
    return int(is_short.sum())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_one_path_ends_where_memory_runs_out(error, monkeypatch, small_pieces):
    options = {"choice": UNIFORM, "max_steps": 10}
    whole = snp.run(generator(), **options)
    calls = Calls(monkeypatch, "advance", error=error)
    for found in calls.each(lambda: snp.run(generator(), **options, throw=False)):
        assert_part(found, whole)
        if found.result == OUT_OF_MEMORY and found.steps:
            then = snp.run(
                generator(),
                choice=snp.GivenChoices(whole.rules),
                initial=found.state,
                max_steps=whole.steps - found.steps,
            )
            assert (then.spikes == whole.spikes).all()
    assert calls.num > 4


@pytest.mark.parametrize("save", [snp.SAVE_ALL, snp.SAVE_OUTPUTS, snp.SAVE_FINAL])
def test_paths_end_where_memory_runs_out(save, monkeypatch, small_pieces):
    """Also while some begin and others have ended."""
    whole = snp.run(generator(), **BATCH, save=snp.SAVE_ALL)
    calls = Calls(monkeypatch, "advance", "spread")
    steps, short = [], set()
    for found in calls.each(lambda: snp.run(generator(), **BATCH, save=save, throw=False)):
        short.add(assert_part(found, whole))
        steps.append(found.steps.sum())
    assert steps == sorted(steps) and len(short) > 4


def test_paths_with_starts_of_their_own(monkeypatch, small_pieces):
    starts = np.random.default_rng(0).integers(0, 4, (3, 10))
    options = {**BATCH, "initial": starts}
    whole = snp.run(generator(), **options, save=snp.SAVE_ALL)
    calls = Calls(monkeypatch, "advance", "spread")
    for found in calls.each(lambda: snp.run(generator(), **options, throw=False)):
        assert_part(found, whole)


def test_paths_of_a_mesh(monkeypatch, small_pieces):
    options = {**BATCH, "mesh": mesh_of(2, "paths"), "save": snp.SAVE_ALL}
    whole = snp.run(generator(), **options)
    calls = Calls(monkeypatch, "advance_on_devices", "spread_over")
    short = [
        assert_part(found, whole)
        for found in calls.each(lambda: snp.run(generator(), **options, throw=False))
    ]
    assert short[0] == 10 and len(set(short)) > 2


def test_systems_side_by_side(monkeypatch, small_pieces):
    systems = [
        snp.SpikingSystem([snp.Neuron("n", count, ["a+/a -> a"])], output="n")
        for count in range(1, 8)
    ]
    batch = snp.SystemBatch(systems)
    whole = snp.run(batch, save=snp.SAVE_ALL)
    calls = Calls(monkeypatch, "advance")
    for found in calls.each(lambda: snp.run(batch, throw=False)):
        for one, same in zip(found, whole, strict=True):
            assert_part(one, same)


@pytest.mark.parametrize("paths", [None, 3])
def test_nets_end_where_memory_runs_out(paths, monkeypatch, small_pieces):
    monkeypatch.setattr(driver, "_FIRST_LEAP_STEPS", 2)
    net = SleptsovNet([7, 0], inputs=Arcs([0], [0], [1]), outputs=Arcs([1], [0], [1]))
    execution = Execution(net, rule=Petri())
    options = {"paths": paths, "choice": UNIFORM, "save": snp.SAVE_ALL}
    calls = Calls(monkeypatch, "advance")
    steps = set()
    for found in calls.each(lambda: snp.run(execution, **options, throw=False)):
        assert (found.marking[0] == 7 - found.steps).all() and (
            found.marking[1] == found.steps
        ).all()
        if found.saved.every == 1:
            made = int(np.max(found.steps))
            assert (found.markings[:, 1].T == np.arange(made + 1)).all()
        steps.add(int(np.max(found.steps)))
    assert len(steps) > 2


def test_too_little_room_to_grow_ends_a_run(monkeypatch):
    """What a system that divides has become is kept, although it cannot be given more room."""
    lowered = snp.lower(doubling(), capacity=TINY)
    whole = snp.run(lowered, max_steps=9)
    calls = Calls(monkeypatch, "check_free", error=snp.NotEnoughMemory("full"), module=reserve)
    steps = []
    for found in calls.each(lambda: snp.run(lowered, max_steps=9, throw=False)):
        assert found.result == OUT_OF_MEMORY and "Memory ran out" in found.failure
        assert (found.spike_trains == whole.spike_trains[: found.steps]).all()
        steps.append(found.steps)
    assert steps == sorted(steps) and steps[-1] < whole.steps


@pytest.mark.filterwarnings("ignore::snpjax.HistoryDropped")
@pytest.mark.parametrize("observed", [False, True])
def test_it_goes_on_from_its_checkpoint_with_more_memory(
    observed, monkeypatch, small_pieces, tmp_path
):
    options = {**BATCH, "paths": 6, "max_steps": 8, "throw": False}
    options["checkpoint"] = snp.Checkpoint(tmp_path, every_seconds=0)
    if observed:
        monkeypatch.setattr(streams, "_share", lambda *_: 4)
        options["observe"] = snp.scale.ComputedNumbers(most=8)
    else:
        options["save"] = snp.SAVE_ALL
    whole = snp.run(generator(), **{**options, "checkpoint": None})
    calls = Calls(monkeypatch, "advance")
    for calls.failing in (5, 3):
        calls.num = 0
        assert "Memory ran out" in snp.run(generator(), **options).failure
    calls.failing = 0
    found = snp.run(generator(), **options)
    if observed:
        assert found.value.tolist() == whole.value.tolist() and found.steps == whole.steps
    else:
        assert_same_trajectory(found, whole)
    assert found.failure is None and calls.num > 2


def test_it_is_raised_with_the_solution(monkeypatch, small_pieces):
    calls = Calls(monkeypatch, "advance")
    calls.failing = 3
    with pytest.raises(snp.RunFailed, match=r"^after 3 steps: Memory ran out") as failed:
        snp.run(clock(), max_steps=10)
    assert failed.value.solution.configurations.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert failed.value.solution.result == OUT_OF_MEMORY


def test_other_errors_pass(monkeypatch):
    for error in (jax.errors.JaxRuntimeError("INTERNAL: a bug"), ValueError("x")):
        Calls(monkeypatch, "advance", error=error).failing = 1
        assert not is_of_memory(error)
        with pytest.raises(type(error)):
            snp.run(clock(), max_steps=10)
        monkeypatch.undo()


def test_sums_over_paths_end_where_memory_runs_out(monkeypatch):
    def observed(paths=64):
        statistic = snp.scale.ComputedNumbers(most=8)
        options = {"choice": UNIFORM, "max_steps": 30, "observe": statistic, "throw": False}
        return snp.run(generator(), paths=paths, **options)

    monkeypatch.setattr(streams, "_share", lambda *_: 16)
    calls = Calls(monkeypatch, "_sums", module=streams)
    paths = []
    for found in calls.each(observed):
        assert found.result == OUT_OF_MEMORY and found.failed == 0
        assert found.failure.startswith(f"after {found.paths} of 64 paths: Memory ran out")
        paths.append(found.paths)
        same = observed(found.paths) if found.paths else None
        assert found.value.tolist() == (same.value.tolist() if same else [0] * 10)
    assert paths == [0, 16, 32, 48]


def test_a_history_that_cannot_be_joined_is_dropped(monkeypatch, small_pieces):
    whole = snp.run(generator(), **BATCH, save=snp.SAVE_ALL)
    concatenate, fails = np.concatenate, [True]

    def once(*args, **kwargs):
        if fails.pop() if fails else False:
            raise MemoryError
        return concatenate(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr("snpjax.trajectory.np.concatenate", once)
        with pytest.warns(snp.HistoryDropped, match="outgrew the memory that is free"):
            found = snp.run(generator(), **BATCH, save=snp.SAVE_ALL)
    assert found.failure is None and found.saved.every is None and not found.saved.outputs
    assert_same(found.trajectory.final, whole.trajectory.final)


def test_a_history_is_dropped_when_memory_is_low(monkeypatch):
    """By default it has a gibibyte; where less is free, that."""
    trajectory = importlib.import_module("snpjax.trajectory")
    monkeypatch.setattr(trajectory, "_FEW_BYTES", 1000)
    monkeypatch.setattr(trajectory, "host_free_bytes", lambda: 2000)
    with pytest.warns(snp.HistoryDropped, match="outgrew the memory that is free; kept: the outp"):
        solution = snp.run(clock(), max_steps=100)
    assert solution.count() == 50 and solution.saved == snp.Save(every=None, details=False)
    monkeypatch.setattr(trajectory, "host_free_bytes", lambda: None)
    assert snp.run(clock(), max_steps=100).saved == snp.SAVE_ALL


# ---- what does not fit is refused ----


@pytest.mark.parametrize(
    ("paths", "save"),
    [
        (None, snp.SAVE_ALL),
        (None, snp.SAVE_OUTPUTS),
        (None, snp.SAVE_FINAL),
        (100, snp.SAVE_ALL),
        (100, snp.SAVE_OUTPUTS),
        (1000, snp.SAVE_FINAL),
    ],
)
def test_what_is_needed_is_what_is_allocated(paths, save, monkeypatch):
    """Argument by argument, result by result; and what the compiler needs between."""
    monkeypatch.setattr(driver, "most_in_tile", lambda *_: None)
    monkeypatch.setattr(driver.Driver, "is_small", lambda *_: False)
    monkeypatch.setattr(footprint, "_NEAR", 0)
    found, calls = [], []
    footprint_of, advance = footprint.footprint_of, tile.advance

    def spied(*args, **kwargs):
        found.append(footprint_of(*args, **kwargs))
        return found[-1]

    def advanced(*args, **kwargs):
        given = args[2], *args[4:6]  # the states, steps and numbers of paths
        calls.append((given, advance.jitted(*args, **kwargs), args, kwargs))
        return calls[-1][1]

    advanced.jitted = advance.jitted
    monkeypatch.setattr(footprint, "footprint_of", spied)
    monkeypatch.setattr(tile, "advance", advanced)
    solution = snp.run(generator(), choice=UNIFORM, paths=paths, max_steps=20, save=save)
    (needed,), (given, made, args, kwargs) = found, calls[0]
    allocated = sum(x.nbytes for x in jax.tree.leaves((given, made)) if isinstance(x, jax.Array))
    compiled = advance.jitted.lower(*args, **kwargs).compile().memory_analysis()
    slack = 64 if paths is None else 0  # a single path's numbers are made where they are needed
    assert abs(needed.device - allocated - compiled.temp_size_in_bytes) <= slack
    assert needed.host == 0  # the host sees the arrays of a CPU
    assert solution.failure is None


def test_paths_that_do_not_fit_are_refused(free, monkeypatch):
    """Before anything is allocated; as many as the message says do fit."""
    calls = Calls(monkeypatch, "advance", "spread")
    options = {"choice": UNIFORM, "max_steps": 4}
    free(10**9)
    with pytest.raises(snp.NotEnoughMemory) as refused:
        snp.run(generator(), paths=2**32, **options)
    text = str(refused.value)
    assert text.startswith("4,294,967,296 paths need ") and " 1,000,000,000 are free. " in text
    assert calls.num == 0
    assert "or keep less with `save=`" in text and "`observe=`" in text and "`mesh=`" in text
    fits = int(text.split("Run ")[1].split(" paths")[0].replace(",", ""))
    assert 10**6 < fits < 10**8
    lowered = snp.lower(generator())
    own = driver.Driver(lowered.machine, UNIFORM, 4, snp.SAVE_OUTPUTS, True, None, None)
    footprint.check_run(own, lowered.initial, fits, tiled=True)
    with pytest.raises(snp.NotEnoughMemory):
        footprint.check_run(own, lowered.initial, fits * 11 // 10, tiled=True)


def test_systems_that_do_not_fit_are_refused(free, monkeypatch):
    monkeypatch.setattr(driver, "_FEW_BYTES", -1)
    system = snp.SpikingSystem([snp.Neuron("n", 3, ["a+/a -> a"])], output="n")
    lowered = snp.lower(snp.SystemBatch([system] * 100))
    free(10**5)
    message = r"100 systems need .* 100,000 are free. Run [\d,]+ systems at a time or keep"
    with pytest.raises(snp.NotEnoughMemory, match=message):
        snp.run(lowered, max_steps=4)
    with pytest.raises(snp.NotEnoughMemory, match="100 systems .* Run them in several batches"):
        snp.run(snp.SystemBatch([system] * 100), max_steps=4)


def test_a_history_larger_than_memory_is_refused_if_it_was_asked_for(free):
    free(10**9)
    options = {"choice": snp.FirstChoice(), "max_steps": 10**6}  # it halts long before
    assert snp.run(delayed(), **options, save=snp.Save(budget=2**40)).halted
    free(10**7)
    with pytest.raises(snp.NotEnoughMemory, match="This run needs .* Keep less with `save=`"):
        snp.run(delayed(), **options, save=snp.Save(budget=2**40))
    assert snp.run(delayed(), **options, save=snp.Save(budget=10**5)).halted
    assert snp.run(delayed(), **options).halted


def test_devices_of_a_mesh_share_the_memory_of_the_host(free):
    options = {"choice": UNIFORM, "max_steps": 4, "paths": 2**20, "save": snp.SAVE_FINAL}
    free(10**12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "most_in_tile", lambda *_: None)
        lowered = snp.lower(generator())
        sizes = []
        for num in (1, 2, 4):
            place = None if num == 1 else placement.Placement(mesh_of(num, "paths"))
            one = driver.Driver(
                lowered.machine, UNIFORM, 4, snp.SAVE_FINAL, True, None, None, None, place
            )
            sizes.append(
                footprint.footprint_of(one, lowered.initial, 2**20, tiled=True).device * num
            )
        assert max(sizes) < 1.01 * min(sizes)
        free(10**7)
        message = "1,048,576 paths need .* 10,000,000 are free"
        with pytest.raises(snp.NotEnoughMemory, match=message) as refused:
            snp.run(generator(), **options, mesh=mesh_of(2, "paths"))
        assert "`mesh=`" not in str(refused.value)


@pytest.mark.slow
def test_sums_take_as_many_paths_at_a_time_as_fit(free, monkeypatch):
    monkeypatch.setattr(streams, "most_in_tile", lambda *_: None)
    statistic = snp.scale.ComputedNumbers(most=8)
    options = {"choice": UNIFORM, "max_steps": 30, "paths": 500, "observe": statistic}
    monkeypatch.setattr(driver, "_FEW_BYTES", -1)
    shares = []
    share_of = streams._share
    monkeypatch.setattr(
        streams, "_share", lambda *args: shares.append(share_of(*args)) or shares[-1]
    )
    values = []
    for size in (None, 4 * 10**5, 10**5):
        free(size)
        values.append(snp.run(generator(), **options).value.tolist())
    assert values == [values[0]] * 3 and shares == sorted(shares, reverse=True)
    assert shares[0] == 512 and len(set(shares)) > 2
    free(10)
    with pytest.raises(snp.NotEnoughMemory, match="One path needs"):
        snp.run(generator(), **options)


# ---- under a limit of the system ----


_UNDER_A_LIMIT = """
import os
import resource
import sys

# The compiler starts a thread for each core, whose stack and heap need address space.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax.random as jr
import numpy as np

import snpjax as snp
import snpjax.driver as driver

system = snp.SpikingSystem([snp.Neuron("n", 3, ["a+/a -> a", "a+/a -> lambda"])], output="n")
options = {"choice": snp.UniformChoice(jr.key(0)), "max_steps": 20, "save": snp.SAVE_FINAL}
driver.most_in_tile = lambda *_: None  # all paths at a time
limit = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 2**28
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    snp.run(system, paths=2**23, throw=False, **options)
except snp.NotEnoughMemory as error:
    print("refused:", error)
driver.Driver.is_small = lambda *_: True  # nothing is checked
found = snp.run(system, paths=2**23, throw=False, **options)
print(found.failure, found.paths, np.sum(found.result == snp.RESULTS.out_of_memory))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_a_run_under_a_limit_of_the_process():
    env = environment(JAX_DISABLE_MOST_OPTIMIZATIONS="1")
    refused, unchecked = python("-c", _UNDER_A_LIMIT, env=env).splitlines()
    assert refused.startswith("refused: 8,388,608 paths need ")
    end = "after 0 steps, path 0 (8,388,608 of 8,388,608 paths): Memory ran out"
    assert unchecked.startswith(end)


def test_starts_and_inputs_that_do_not_fit_are_refused(free):
    system = snp.SpikingSystem(
        [snp.Neuron("x", 0, ["a -> a"]), *[snp.Neuron(f"n{i}", 1, []) for i in range(60)]],
        input={"x": ()},
    )
    free(10**5)
    starts = {"n1": np.zeros(1000, int)}
    with pytest.raises(snp.NotEnoughMemory, match="The starts of 1,000 paths .* Run 96 paths at a"):
        snp.run(system, initial=starts, paths=1000, max_steps=2)
    trains = np.ones((200, 1, 1000), np.int8)
    with pytest.raises(snp.NotEnoughMemory, match="The inputs of 1,000 paths .* Run 12 paths at a"):
        snp.run(system, inputs=trains, paths=1000, max_steps=2)


def test_neurons_over_devices_that_do_not_fit_are_refused(free, monkeypatch):
    model = population()
    options = {"choice": UNIFORM, "max_steps": 3, "mesh": mesh_of(2, "neurons")}
    assert snp.run(model, paths=2, **options).failure is None
    monkeypatch.setattr(driver, "_FEW_BYTES", -1)
    free(10**5)
    with pytest.raises(snp.NotEnoughMemory, match="100 paths need .* Run [0-9]+ paths at a time"):
        snp.run(model, paths=100, **options)
