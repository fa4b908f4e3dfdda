"""Laws that hold for every machine of tests/support/models.py. Each has one model, one number of
steps and one number of paths, so that the laws share its programs."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
from snpjax import driver, scale
from snpjax._tiered import tiered
from snpjax._xla import precision
from snpjax.machine import Leaping, Stacked, follows
from snpjax.scale import checkpoint  # to save when it is due
from snpjax.scale.mesh import PATHS as PATHS_AXIS  # what the laws compare
from snpjax_formats import Dense
from tests.support.changing import Path, assert_rests
from tests.support.computations import assert_computation
from tests.support.long_calls import CountedCalls, Interrupted, short_chunks
from tests.support.meshes import assert_same, assert_same_trajectory, mesh_of
from tests.support.models import MACHINES


STEPS = 10
CUT = 3
PATHS = 4


class Subject:
    """A machine of the table with its runs, each of which is made once."""

    def __init__(self, name: str):
        self.name, self.entry = name, MACHINES[name]
        self.model = self.entry.build()
        self.lowered = snp.lower(self.model, **self.entry.options)
        self.is_batch = isinstance(self.lowered.machine, Stacked)
        self.paths = {} if self.is_batch else {"paths": PATHS}
        self.choice: Any = snp.FirstChoice()
        if self.entry.has_choices:
            self.choice = snp.UniformChoice(jr.key(3))

    def run(self, model: Any = None, **options: Any) -> Any:
        options = {"max_steps": STEPS, "choice": self.choice, "save": snp.SAVE_ALL, **options}
        return snp.run(self.lowered if model is None else model, **options)

    @functools.cached_property
    def batch(self) -> Any:
        """A run of several paths, or of the systems of a batch."""
        return self.run(**self.paths)

    @functools.cached_property
    def solutions(self) -> list[Any]:
        """What `batch` has of each path."""
        if self.is_batch:
            return list(self.batch)
        if hasattr(self.batch, "__getitem__"):
            return [self.batch[path] for path in range(len(self.batch.trajectory.steps))]
        of_path = self.batch.trajectory.of_path
        return [self.model.solution(of_path(path)) for path in range(PATHS)]


@pytest.fixture(scope="module", params=MACHINES)
def subject(request):
    return Subject(request.param)


def of(*names: str, slow: bool = True):
    """Parametrise a law by machines; the others are slow, or left out."""
    params = [
        pytest.param(name, marks=[] if name in names else pytest.mark.slow)
        for name in MACHINES
        if slow or name in names
    ]
    return pytest.mark.parametrize("subject", params, indirect=True)


def all_but(*names: str):
    return of(*(name for name in MACHINES if name not in names), slow=False)


#: Of whose choices `rules` is not all, which take none, or whose arrays grow.
WITHOUT_NUMBERS = [name for name in MACHINES if name.startswith("net")]
WITHOUT_NUMBERS += [
    "batch",
    "rate network",
    "plastic",
    "plastic populations",
    "astrocytes",
    "division",
    "budding",
]
#: Whose layout is not that of a model.
WITHOUT_LAYOUT = [name for name in MACHINES if name.startswith("net")]
WITHOUT_LAYOUT += ["division", "budding", "plastic", "plastic populations", "rate network"]


def assert_same_runs(found: Any, expected: Any) -> None:
    """The same bits of all that was saved of every path."""
    if isinstance(expected, snp.spiking.Solutions):
        for one, other in zip(found, expected, strict=True):
            assert_same_trajectory(one, other)
    else:
        assert_same_trajectory(found, expected)


def test_every_path_is_a_computation_of_the_reference(subject):
    for solution in subject.solutions:
        assert_computation(solution)
    steps = {int(solution.steps) for solution in subject.solutions}
    assert len(steps) > 1 or subject.entry.halts is False or not subject.entry.has_choices, (
        "paths should halt after different numbers of steps"
    )


def test_a_halted_state_is_a_fixed_point(subject):
    """And the history of a path ends with its halt."""
    if not subject.entry.halts:
        pytest.skip("it never halts")
    halted = [i for i, one in enumerate(subject.solutions) if one.halted]
    assert halted
    again = subject.run(initial=subject.batch.state, **subject.paths)
    for path in halted:
        assert again[path].steps == 0
        assert_same(again[path].trajectory.final, subject.solutions[path].trajectory.final)
    if isinstance(subject.batch, snp.SolutionBatch):
        assert_rests(subject.batch)


def test_a_batch_is_its_single_runs(subject):
    for path, solution in enumerate(subject.solutions):
        if subject.is_batch:
            several = {**subject.paths, "paths": path + 1}
            alone = subject.run(subject.model.systems[path], **several)[path]
            assert_same_run_of_system(alone, solution)
            continue
        choice = subject.choice
        if subject.entry.has_choices:
            choice = Path(choice, jnp.asarray(path))
        alone = subject.run(choice=choice)
        if subject.name == "system":
            assert subject.batch.intervals().tolist()[path] == alone.interval()
        assert alone.saved == solution.saved and alone.trajectory.steps == solution.steps
        for part in ("final", "states", "outputs", "details", "result"):
            assert_same(getattr(alone.trajectory, part), getattr(solution.trajectory, part))


def assert_same_run_of_system(one: snp.Solution, other: snp.Solution) -> None:
    """The same, but for the padding of a batch of systems."""
    assert one.steps == other.steps and one.halted == other.halted
    for name in ("configurations", "timer_history", "pending_history", "rules", "emissions"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.spike_trains.tolist() == other.spike_trains.tolist()


@all_but(*WITHOUT_NUMBERS)
def test_given_choices_replay_a_path(subject):
    for solution in subject.solutions:
        rules = solution.productions if subject.name == "numerical system" else solution.rules
        table = np.full((STEPS, *rules.shape[1:]), snp.NO_RULE)
        table[: solution.steps] = rules
        replay = subject.run(subject.model, choice=snp.GivenChoices(table))
        for part in ("final", "states", "outputs", "details"):
            assert_same(getattr(replay.trajectory, part), getattr(solution.trajectory, part))


@tiered()
def simulate(machine, state, choice):
    """The end of all paths, and how many steps `observe` has seen of each."""
    end = snp.simulate(
        machine,
        state,
        choice,
        max_steps=STEPS,
        observe=lambda carry, _, record: carry + record.made.astype(carry.dtype),
        carry=jnp.zeros(PATHS, jnp.int32),
    )
    return end.state, end.steps, end.result._value, end.carry


def test_simulate_makes_the_steps_of_run(subject):
    if subject.is_batch:
        pytest.skip("its machines are stacked")
    machine = subject.lowered.machine
    with precision(subject.lowered.widest):
        state = jax.tree.map(
            lambda x: jnp.broadcast_to(x[..., None], (*x.shape, PATHS)), machine.init()
        )
        state, steps, result, carry = simulate(machine, state, subject.choice)
    trajectory = subject.batch.trajectory
    if follows(machine, Leaping):
        state = machine.kept(state)
    assert_same((state, steps), (trajectory.final, trajectory.steps))
    assert result.tolist() == trajectory.result._value.tolist()
    assert carry.tolist() == steps.tolist()


def test_a_continued_run_is_one_long_run(subject):
    for paths in ({}, subject.paths):
        whole = subject.batch if paths == subject.paths else subject.run()
        begun = subject.run(max_steps=CUT, **paths)
        rest = subject.run(max_steps=STEPS - CUT, initial=begun.state, **paths)
        assert_joins(begun, rest, whole)


def assert_joins(begun: Any, rest: Any, whole: Any) -> None:
    """Two runs one after the other have saved what one long run has."""
    if isinstance(whole, snp.spiking.Solutions):
        for parts in zip(begun, rest, whole, strict=True):
            assert_joins(*parts)
        return
    first, second, long = begun.trajectory, rest.trajectory, whole.trajectory
    assert_same(first.steps + second.steps, long.steps)
    assert_same((second.final, second.result), (long.final, long.result))
    for name, skipped in (("states", 1), ("outputs", 0), ("details", 0)):
        parts = getattr(first, name), getattr(second, name)
        joined = jax.tree.map(lambda x, y: np.concatenate([x, y[skipped:]]), *parts)  # noqa: B023
        length = int(np.max(long.steps)) + skipped
        rows = jax.tree.map(lambda x: x[:length], joined)  # noqa: B023
        assert_same(rows, getattr(long, name))


def test_calls_that_are_cut_and_unrolled_change_nothing(subject):
    with short_chunks():
        for paths in ({}, subject.paths):
            whole = subject.batch if paths == subject.paths else subject.run()
            assert_same_runs(subject.run(unroll=3, **paths), whole)


@all_but("batch", "rate network")
def test_tiles_of_paths_are_one_batch(subject, monkeypatch):
    monkeypatch.setattr(driver, "_LEAST_TILE", 2)
    monkeypatch.setattr(driver, "_MOST_IN_TILE", 2)
    assert_same_runs(subject.run(**subject.paths), subject.batch)


def test_every_third_configuration(subject):
    found = subject.run(save=snp.Save(every=3), **subject.paths)
    pairs = [(found, subject.batch)]
    if subject.is_batch:
        pairs = list(zip(found, subject.batch, strict=True))
    for one, whole in pairs:
        one, whole = one.trajectory, whole.trajectory
        assert_same((one.final, one.steps), (whole.final, whole.steps))
        assert_same(one.states, jax.tree.map(lambda x: x[::3], whole.states))
        assert_same(one.outputs, whole.outputs)


@all_but(*WITHOUT_LAYOUT)
def test_another_layout_changes_no_bit(subject):
    assert_same_runs(subject.run(subject.model, layout=Dense, **subject.paths), subject.batch)


@of("system", "plastic", "net", "rate network")
def test_a_mesh_changes_no_bit(subject):
    """Of three devices, among which the paths do not divide evenly."""
    found = subject.run(mesh=mesh_of(3, PATHS_AXIS), **subject.paths)
    assert_same_runs(found, subject.batch)


@of("delays and inputs", "division", "net", "rate network")
def test_an_interrupted_run_goes_on_from_its_checkpoint(subject, tmp_path, monkeypatch):
    if max(int(solution.steps) for solution in subject.solutions) < 3:
        pytest.skip("one call to the device makes all of its steps")
    monkeypatch.setattr(checkpoint, "_now", itertools.count().__next__)
    options = {**subject.entry.options, **subject.paths}
    calls = CountedCalls()
    with short_chunks(), calls.counted():
        subject.run(subject.model, **options)
        total = calls.num
        options["checkpoint"] = snp.Checkpoint(tmp_path, every_seconds=1)
        calls.num, calls.last = 0, 1
        with pytest.raises(Interrupted):
            subject.run(subject.model, **options)
        calls.num, calls.last = 0, None
        found = subject.run(subject.model, **options)
        assert 0 < calls.num < total
    assert_same_runs(found, subject.batch)


@all_but("batch")
def test_a_statistic_is_the_sum_over_all_paths(subject):
    statistic = scale.Total(lambda end: end.steps)
    found = subject.run(observe=statistic, save=None, **subject.paths)
    trajectory = subject.batch.trajectory
    assert found.value == trajectory.steps.sum() == found.steps
    assert (found.paths, found.failed) == (PATHS, 0)
    if subject.entry.halts:
        assert found.halted == np.count_nonzero(subject.batch.halted)
