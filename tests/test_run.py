"""The driver: halting, limits, histories, batches, failures."""

import copy
import dataclasses
import importlib
import pickle
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import snpjax as snp
import snpjax_formats
from snpjax._tiered import tiered
from snpjax.spiking import SpikingMachine, halted, initial_state, lower, step
from snpjax.testing import reference
from snpjax_formats import Dense
from tests import user_script
from tests.support.helpers import assert_same_run


def delayed() -> snp.SpikingSystem:
    """The worked trace of a delay: x emits in every second step."""
    return snp.SpikingSystem(
        [snp.Neuron("x", 3, ["a+/a -> a; 1"]), snp.Neuron("y")], [("x", "y")], output="x"
    )


def generator() -> snp.SpikingSystem:
    """Generates every n > 1 as the interval of the first two spikes of n3."""
    return snp.SpikingSystem(
        [
            snp.Neuron("n1", 2, ["a^2/a -> a", "a^2 -> a"]),
            snp.Neuron("n2", 1, ["a -> a"]),
            snp.Neuron("n3", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        [("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n3")],
        output="n3",
    )


def clock() -> snp.SpikingSystem:
    """Two neurons that pass one spike to each other for ever."""
    rules = ["a -> a"]
    return snp.SpikingSystem(
        [snp.Neuron("tick", 1, rules), snp.Neuron("tock", 0, rules)],
        [("tick", "tock"), ("tock", "tick")],
        output="tick",
    )


def test_delay_closes_the_neuron():
    solution = snp.run(delayed())
    assert solution.halted and solution.steps == 6
    assert solution.configurations.T.tolist() == [[3, 2, 2, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3]]
    assert solution.timer_history.T.tolist() == [[0, 1, 0, 1, 0, 1, 0], [0] * 7]
    assert solution.spike_train.tolist() == [0, 1, 0, 1, 0, 1]
    assert solution.interval() == 2
    assert solution.count() == 3
    assert solution.spike_times().tolist() == [2, 4, 6]


def test_closed_neuron_loses_spikes():
    system = snp.SpikingSystem(
        [snp.Neuron("s", 3, ["a+/a -> a"]), snp.Neuron("c", 1, ["a -> a; 2"]), snp.Neuron("o")],
        [("s", "c"), ("c", "o")],
    )
    solution = snp.run(system)
    expected = [[3, 1, 0], [2, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 1], [0, 0, 2]]
    assert solution.configurations.tolist() == expected
    assert solution.timer_history[:, 1].tolist() == [0, 2, 1, 0, 2, 1, 0]


def test_input_arrives_at_the_end_of_its_step():
    system = snp.SpikingSystem([snp.Neuron("x", 0, ["a -> a"])], input={"x": [0, 1]}, output="x")
    solution = snp.run(system)
    assert solution.configurations[:, 0].tolist() == [0, 0, 1, 0]
    assert solution.spike_train.tolist() == [0, 0, 1]


def test_time_advances_while_input_remains():
    system = snp.SpikingSystem([snp.Neuron("x")], input={"x": [0, 0, 5, 0]})
    solution = snp.run(system)
    assert solution.halted and solution.steps == 3
    assert solution.spikes.tolist() == [5]


@pytest.mark.parametrize("max_steps", [0, 1, 5, 70, 200])
def test_limit_is_no_failure(max_steps):
    solution = snp.run(clock(), max_steps=max_steps)
    assert solution.steps == max_steps
    assert solution.result == snp.RESULTS.max_steps_reached
    assert not solution.halted and solution.failure is None
    assert len(solution.configurations) == max_steps + 1
    assert solution.spike_train.tolist() == [1 - i % 2 for i in range(max_steps)]


def test_halting_at_the_limit_counts_as_halted():
    assert snp.run(delayed(), max_steps=6).result == snp.RESULTS.halted
    assert snp.run(delayed(), max_steps=5).result == snp.RESULTS.max_steps_reached


def test_halting_step_does_not_depend_on_the_limit():
    whole = snp.run(delayed(), max_steps=1000)
    assert whole.steps == snp.run(delayed(), max_steps=6).steps


@pytest.mark.parametrize(("unroll", "max_steps"), [(7, 5), (7, 23), (7, 65), (4, 23)])
def test_unrolling_changes_nothing(unroll, max_steps, monkeypatch):
    module = sys.modules["snpjax.simulate"]  # the name is also that of its function
    monkeypatch.setattr(module, "_COPIES", 2)  # of the step, side by side where they divide 4
    for system in (clock(), delayed()):
        solution = snp.run(system, max_steps=max_steps, unroll=unroll)
        assert_same_run(solution, reference.run(system, max_steps=max_steps))


@pytest.mark.parametrize("every", [1, 5])
def test_saving_every_nth_configuration(every):
    solution = snp.run(clock(), max_steps=17, save=snp.Save(every=every, details=False))
    whole = snp.run(clock(), max_steps=17)
    assert solution.configurations.tolist() == whole.configurations[::every].tolist()
    with pytest.raises(snp.NotSaved, match="Selected rules were not saved"):
        solution.rules  # noqa: B018


def test_the_error_about_a_dropped_history_names_its_budget():
    with pytest.warns(snp.HistoryDropped):
        solution = snp.run(clock(), max_steps=17, save=snp.Save(budget=10))
    for name in ("configurations", "rules", "emissions"):
        with pytest.raises(snp.NotSaved, match=r"outgrew its budget.*`save=snp.Save\(b"):
            getattr(solution, name)


def test_saving_nothing_but_the_end():
    solution = snp.run(delayed(), save=snp.SAVE_FINAL)
    assert solution.saved == snp.SAVE_FINAL
    for name in ("configurations", "timer_history", "pending_history", "rules", "emissions"):
        with pytest.raises(snp.NotSaved, match=r"were not saved. Run with `save=snp.SAVE_ALL`\."):
            getattr(solution, name)
    assert solution.spikes.tolist() == [0, 3]
    with pytest.raises(ValueError, match="Spike trains were not saved"):
        solution.spike_train  # noqa: B018


def test_chunks_join_seamlessly(monkeypatch):
    driver = importlib.import_module("snpjax.driver")
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 5)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 0)  # one step a call after the first
    told = []
    system = generator()
    options = {"choice": snp.UniformChoice(jr.key(1)), "max_steps": 31}
    for save in (None, snp.Save(every=4)):
        cut = snp.run(system, **options, save=save, progress=lambda *numbers: told.append(numbers))
        with monkeypatch.context() as patch:
            patch.setattr(driver, "_FIRST_CALL_STEPS", 1024)
            whole = snp.run(system, **options, save=save)
        assert cut.configurations.tolist() == whole.configurations.tolist()
        assert cut.rules.tolist() == whole.rules.tolist()
        assert cut.steps == whole.steps
    assert told[:3] == [(5, 0), (6, 0), (7, 0)]


def test_history_over_budget_is_dropped_and_said():
    with pytest.warns(snp.HistoryDropped, match="Save"):
        solution = snp.run(clock(), max_steps=100, save=snp.Save(budget=2000))
    assert solution.saved.every is None and not solution.saved.details
    assert solution.count() == 50, "outputs are dropped last"
    with pytest.warns(snp.HistoryDropped, match="kept: the final configuration"):
        solution = snp.run(clock(), max_steps=100, save=snp.Save(budget=100))
    assert not solution.saved.outputs and solution.steps == 100
    assert solution.spikes.tolist() == [1, 0]


def test_tiles_of_paths_that_end_apart_are_one_batch(monkeypatch):
    """Of 14 paths, four at a time: also where some tiles end before others."""
    driver = importlib.import_module("snpjax.driver")
    options = {
        "choice": snp.UniformChoice(jr.key(7)),
        "paths": 14,
        "max_steps": 40,
        "save": snp.Save(every=3),
    }
    whole = snp.run(generator(), **options)
    monkeypatch.setattr(driver, "_LEAST_TILE", 4)
    monkeypatch.setattr(driver, "_MOST_IN_TILE", 4)
    made = []
    tiles = snp.run(generator(), **options, progress=lambda *numbers: made.append(numbers))
    assert len({int(tiles.steps[i : i + 4].max()) for i in range(0, 14, 4)}) > 1
    assert made == sorted(made) and made[-1][0] >= tiles.steps.max()
    assert sorted({done for _, done in made}) == [0, 4, 8, 12]
    pair = (vars(tiles.trajectory), vars(whole.trajectory))
    for name in ("final", "states", "outputs", "details", "steps", "result"):
        assert jax.tree.all(jax.tree.map(np.array_equal, *(one[name] for one in pair))), name
    for path in (0, 5, 13):
        assert tiles[path].spike_train.tolist() == whole[path].spike_train.tolist()
    begun = snp.run(generator(), **{**options, "max_steps": 2})
    then = snp.run(generator(), **{**options, "max_steps": 38}, initial=begun.state)
    assert (then.spikes == whole.spikes).all() and (begun.steps + then.steps == whole.steps).all()


def test_tiles_share_a_budget(monkeypatch):
    driver = importlib.import_module("snpjax.driver")
    monkeypatch.setattr(driver, "_LEAST_TILE", 4)
    monkeypatch.setattr(driver, "_MOST_IN_TILE", 4)
    options = {"choice": snp.UniformChoice(jr.key(7)), "paths": 14, "max_steps": 40}
    with pytest.warns(snp.HistoryDropped, match="kept: the outputs"):
        dropped = snp.run(generator(), **options, save=snp.Save(budget=20_000))
    assert dropped.saved == snp.Save(every=None, details=False, budget=20_000)
    assert (dropped.spike_trains == snp.run(generator(), **options).spike_trains).all()
    for budget in (14_000, 23_000):  # which the second and the third tile outgrow
        with pytest.warns(snp.HistoryDropped, match="kept: the outputs"):
            assert snp.run(generator(), **options, save=snp.Save(budget=budget)).saved.outputs


def test_path_does_not_depend_on_batch_size_layout_or_padding():
    key = jr.key(1)
    few = snp.run(generator(), choice=snp.UniformChoice(key), paths=3, max_steps=64)
    many = snp.run(generator(), choice=snp.UniformChoice(key), paths=5, layout=Dense, max_steps=64)
    assert many.spike_trains[: len(few.spike_trains), :, :3].tolist() == few.spike_trains.tolist()
    neurons = [*generator().neurons, *(snp.Neuron(f"idle{i}") for i in range(20))]
    wider = snp.SpikingSystem(neurons, generator().synapses, output="n3")
    padded = snp.run(wider, choice=snp.UniformChoice(key), paths=3, max_steps=64)
    assert padded.steps.tolist() == few.steps.tolist()
    assert padded.spike_trains.tolist() == few.spike_trains.tolist()


def test_batch_keeps_outputs_and_the_final_configuration_by_default():
    batch = snp.run(generator(), choice=snp.UniformChoice(jr.key(0)), paths=4, max_steps=32)
    assert batch.saved == snp.SAVE_OUTPUTS
    assert batch.spikes.shape == (3, 4)
    assert batch.spike_trains.shape[1:] == (1, 4)
    assert batch.paths == 4


def test_uniform_choice_is_uniform():
    rules = ["a -> a", "a -> a; 1", "a -> lambda"]
    system = snp.SpikingSystem([snp.Neuron("x", 1, rules)])
    paths = 3000
    save = snp.Save(every=None)
    batch = snp.run(system, choice=snp.UniformChoice(jr.key(5)), paths=paths, save=save)
    counts = np.bincount(batch.rules[0, 0], minlength=3)
    expected = paths / 3
    # Pearson's statistic of two degrees of freedom exceeds 20 with probability below 5e-5.
    assert ((counts - expected) ** 2 / expected).sum() < 20


@pytest.mark.parametrize(
    "rules, neuron, step",
    [
        ([[0, 0, 1]], "n3", 1),  # rule 1 of n3 needs two spikes
        ([[0, None, 0]], "n2", 1),  # n2 must select its rule
        ([[0, 0, 0], [0, 0, 7]], "n3", 2),  # there is no such rule
        ([[0, 0, 0]], "n1", 2),  # the list ends before the system halts
    ],
)
def test_invalid_given_choice_is_refused(rules, neuron, step):
    with pytest.raises(snp.RunFailed, match=f"neuron '{neuron}', step {step}: A given choice"):
        snp.run(generator(), choice=snp.GivenChoices(rules))
    solution = snp.run(generator(), choice=snp.GivenChoices(rules), throw=False)
    assert solution.result == snp.RESULTS.choice_refused
    assert solution.steps == step - 1
    assert len(solution.configurations) == step


def test_given_choices_with_a_path_axis():
    rules = np.array([[[0, 1], [0, 0], [0, 0]]])
    batch = snp.run(generator(), choice=snp.GivenChoices(rules), paths=2, max_steps=1)
    assert batch.spikes[0].tolist() == [2, 1]


def test_overflow_is_a_result_and_keeps_the_last_valid_configuration():
    most = 2**31 - 1
    system = snp.SpikingSystem(
        [snp.Neuron("x", 5, ["a+/a -> a"]), snp.Neuron("y", most - 2)], [("x", "y")]
    )
    solution = snp.run(system, throw=False)
    assert solution.result == snp.RESULTS.spike_overflow
    assert solution.steps == 2 and solution.spikes.tolist() == [3, most]
    assert len(solution.configurations) == 3
    with pytest.raises(snp.RunFailed, match="neuron 'y', step 3.*int64") as failure:
        snp.run(system)
    assert failure.value.solution.steps == 2
    with pytest.raises(snp.RunFailed, match=r"path 0 \(2 of 2 paths failed\)"):
        snp.run(system, paths=2)


def test_64_bit_counts():
    most = 2**31 - 1
    system = snp.SpikingSystem(
        [snp.Neuron("x", 5, ["a+/a -> a"]), snp.Neuron("y", most - 2)], [("x", "y")]
    )
    solution = snp.run(system, count_dtype=np.int64)
    assert solution.halted and solution.spikes.tolist() == [0, most + 3]
    assert solution.spikes.dtype == np.int64
    assert jnp.zeros(1).dtype == jnp.float32, "JAX's global precision is as it was"
    batch = snp.run(system, count_dtype=np.int64, paths=2)
    assert batch.spikes[:, 1].tolist() == [0, most + 3]


def test_count_type_is_the_least_safe_one():
    def one(spikes, weight):
        neurons = [snp.Neuron("x", spikes, ["a+/a -> a"]), snp.Neuron("y")]
        return snp.SpikingSystem(neurons, [("x", "y", weight)])

    assert lower(one(1, 2**30 - 1)).initial.dtype == jnp.int32
    assert snp.run(one(1, 2**30)).spikes.dtype == np.int64
    assert snp.run(one(2**31, 1), max_steps=2).spikes.tolist() == [2**31 - 2, 2]
    with pytest.raises(ValueError, match="neuron 'y', too many.*int64"):
        lower(one(1, 2**30), count_dtype=np.int32)
    with pytest.raises(ValueError, match="constant 2147483648.*int64"):
        lower(one(2**31, 1), count_dtype=np.int32)
    with pytest.raises(ValueError, match="No count type is large enough"):
        lower(one(1, 2**62))
    with pytest.raises(ValueError, match="`count_dtype` is float32"):
        lower(one(1, 1), count_dtype=np.float32)


def test_negative_counts_when_signed():
    system = snp.SpikingSystem(
        [snp.Neuron("x", 2, ["a+/a -> a"]), snp.Neuron("y", 1, ["a -> a"])],
        [("x", "y", -3)],
        signed=True,
    )
    solution = snp.run(system)
    assert solution.configurations.tolist() == [[2, 1], [1, -3], [0, -6]]


def test_arguments_that_make_no_sense():
    with pytest.raises(ValueError, match="max_steps"):
        snp.run(clock(), max_steps=-1)
    with pytest.raises(ValueError, match="paths"):
        snp.run(clock(), paths=0)
    with pytest.raises(ValueError, match="every"):
        snp.Save(every=0)
    for key in (jr.PRNGKey(0), 0, jr.split(jr.key(0), 3)):
        with pytest.raises(ValueError, match="typed PRNG key"):
            snp.UniformChoice(key)
    with pytest.raises(ValueError, match="unroll"):
        snp.run(clock(), unroll=0)
    with pytest.raises(TypeError):
        snp.run(clock(), max_steps=2.5)
    with pytest.raises(TypeError, match="snpjax.read"):
        snp.run("model.pli")
    with pytest.raises(TypeError, match="class of snpjax_formats"):
        snp.run(clock(), layout="ell")
    assert snp.run(clock(), max_steps=np.int64(2), paths=np.int64(2)).paths == 2
    with pytest.raises(ValueError, match="one column per neuron"):
        snp.run(clock(), choice=snp.GivenChoices([[0] * 9]))


def test_empty_system_halts_at_once():
    solution = snp.run(snp.SpikingSystem([]))
    assert solution.halted and solution.steps == 0
    assert solution.configurations.shape == (1, 0)


def test_one_compilation_per_size():
    """Systems of one bucket (neurons, rules and synapses of a neuron) share a compilation."""
    traces = 0

    class Counting(snp.AbstractMachine):
        machine: SpikingMachine

        def init(self):
            return self.machine.init()

        def step(self, state, choice):
            nonlocal traces
            traces += 1
            return self.machine.step(state, choice)

        def halted(self, state):
            return self.machine.halted(state)

        def status(self, state):
            return self.machine.status(state)

    class Counted:
        def __init__(self, system):
            self.system = system

        def lower(self, *, numbered=False, paths=1):
            return snp.Lowered(self, Counting(snp.lower(self.system).machine))

        def solution(self, trajectory):
            return self.system.solution(trajectory)

        def solutions(self, trajectory):
            return self.system.solutions(trajectory)

    snp.run(Counted(clock()), max_steps=20)
    first = traces
    bigger = snp.SpikingSystem(
        [snp.Neuron(f"n{i}", i, ["a+/a -> a", "a{7} -> a^2"]) for i in range(7)],
        [(f"n{i}", f"n{j}") for i in range(7) for j in range(7) if i < j <= i + 4],
        output=["n3", "n6"],
    )
    snp.run(Counted(bigger), max_steps=50)
    assert traces == first > 0


def test_step_is_a_pure_function_to_scan_vmap_and_jit():
    program = lower(delayed())

    def body(state, _):
        state, record = step(program, state, snp.FirstChoice())
        return state, (state.spikes, record.output)

    final, (spikes, output) = jax.lax.scan(body, initial_state(program), length=8)
    assert spikes[:, :2].tolist() == snp.run(delayed()).configurations[1:].tolist() + [[0, 3]] * 2
    assert output[:, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 0]
    assert halted(program, final)
    assert final.step == 6


def test_halted_and_failed_states_are_fixed_points():
    program = lower(delayed())
    step_once = tiered()(step)
    state = initial_state(program)
    for _ in range(6):
        state, _ = step_once(program, state, snp.FirstChoice())
    again, record = step_once(program, state, snp.FirstChoice())
    assert eqx.tree_equal(again, state)
    assert not record.output.any() and (record.detail.rules == snp.NO_RULE).all()
    refused, _ = step_once(program, initial_state(program), snp.GivenChoices([[3, None]]))
    assert refused.status == snp.RESULTS.choice_refused
    again, record = step_once(program, refused, snp.GivenChoices([[0, None]]))
    assert eqx.tree_equal(again, refused)
    assert not record.detail.emissions.any()


def test_solution_reads_well():
    solution = snp.run(generator(), max_steps=3)
    assert "not halted after 3 steps" in repr(solution)
    assert "train of n3: 1 0 0" in repr(solution)
    assert "number computed" not in repr(solution)  # there is no second spike yet
    found = snp.run(generator(), choice=snp.UniformChoice(jr.key(3)), max_steps=40)
    number = found.interval()
    assert number is not None
    assert f"  number computed: {number} (between the first two spikes of n3)" in repr(found)
    assert "<table>" in solution._repr_html_() and "n1: a^2/a -&gt; a" in solution._repr_html_()
    assert "<table>" in generator()._repr_html_()
    batch = snp.run(generator(), paths=3, max_steps=3)
    assert "SolutionBatch(3 paths of" in repr(batch)
    assert repr(batch[1]) == repr(solution)


def test_limit_holds_however_calls_are_cut(monkeypatch):
    driver = importlib.import_module("snpjax.driver")
    monkeypatch.setattr(driver, "_FIRST_CALL_STEPS", 7)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 0)
    solution = snp.run(clock(), max_steps=15, save=snp.Save(every=10, details=False))
    assert solution.steps == 15
    assert solution.configurations.tolist() == [[1, 0], [1, 0]]
    assert len(solution.spike_train) == 15


def test_given_choices_after_the_halt_are_not_looked_at():
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")], [("x", "y")])
    for max_steps in (1, 2, 9):
        given = snp.GivenChoices([[0, None]] * 3)
        solution = snp.run(system, choice=given, max_steps=max_steps)
        assert solution.halted and solution.steps == 1 and solution.failure is None


def test_paths_without_a_list_of_their_own_are_refused():
    rules = np.array([[[0, 1], [0, 0], [0, 0]]])
    batch = snp.run(generator(), choice=snp.GivenChoices(rules), paths=3, max_steps=1, throw=False)
    assert (batch.result == snp.RESULTS.choice_refused).tolist() == [False, False, True]
    nobody = snp.GivenChoices([[0, 0, 0, None, 0]])
    with pytest.raises(snp.RunFailed, match="column 5 of the given choices, which is not a neuron"):
        snp.run(generator(), choice=nobody)


@pytest.mark.parametrize(
    "rules, message",
    [
        ([[0, 0], [0]], "Step 2 lists 1 rule, step 1 2"),
        (np.array([[0.7, 0.0]]), "holds float64"),
        (np.array([[2**32, 0]]), "not a rule of any neuron"),
        (np.zeros(3, int), "1 axis"),
        ([0, 1], r"`rules` has 1 axis. Give a list for each step, as \[\[0, 1\]\]"),
    ],
)
def test_given_choices_that_make_no_sense(rules, message):
    with pytest.raises(ValueError, match=message):
        snp.GivenChoices(rules)


def test_repeated_rules_count_once():
    rules = ["a^2 -> lambda", "a^2 -> lambda", "a^2 -> a"]
    with pytest.warns(snp.ModelWarning, match="counts once"):
        system = snp.SpikingSystem([snp.Neuron("x", 2, rules)])
    save = snp.Save(every=None)
    paths = 2000
    batch = snp.run(system, choice=snp.UniformChoice(jr.key(2)), paths=paths, save=save)
    counts = np.bincount(batch.rules[0, 0], minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - paths / 2) < 5 * (paths / 4) ** 0.5  # five standard deviations


def test_neurons_choose_independently():
    """Each pair of choices of two neurons is equally likely, and so in every step."""
    rules = ["a+/a -> a", "a+/a -> lambda"]
    system = snp.SpikingSystem([snp.Neuron("x", 2, rules), snp.Neuron("y", 2, rules)])
    paths = 4000
    save = snp.Save(every=None)
    batch = snp.run(system, choice=snp.UniformChoice(jr.key(3)), paths=paths, save=save)
    first, second = batch.rules
    outcomes = first[0] + 2 * first[1] + 4 * second[0] + 8 * second[1]
    counts = np.bincount(outcomes, minlength=16)
    # Pearson's statistic of 15 degrees of freedom exceeds 50 with probability below 2e-5.
    assert ((counts - paths / 16) ** 2 / (paths / 16)).sum() < 50


def test_a_key_gives_this_path_for_ever():
    """The keying is documented; changing it would change everybody's results."""
    key = jr.key(42)

    def step_key(t):
        return jr.fold_in(jr.fold_in(key, 0), t)  # path 0, step t

    def coin(t, neuron):
        words = jr.key_data(jr.fold_in(step_key(t), 2**31 + neuron // 64))
        return int(words[neuron // 32 % 2]) >> neuron % 32 & 1

    def number(t, neuron, count):
        words = jr.key_data(jr.fold_in(step_key(t), 2**30 + neuron // 2))
        return int(words[neuron % 2]) * count >> 32

    # Neurons that keep their spikes choose between two rules, or among three.
    rules = [snp.Rule("a+", 1, 1), snp.Rule("a+", 1, 0), snp.Rule("a+", 2, 0)]
    neurons = [snp.Neuron(f"n{i}", 99, rules[: 3 if i in (1, 4) else 2]) for i in range(70)]
    system = snp.SpikingSystem(neurons)
    solution = snp.run(system, choice=snp.UniformChoice(key), max_steps=12)
    for t, row in enumerate(solution.rules.tolist()):
        wanted = [number(t, i, 3) if i in (1, 4) else coin(t, i) for i in range(70)]
        assert row == wanted, t
    assert {0, 1, 2} == set(solution.rules[:, [1, 4]].ravel().tolist())


def test_count_does_not_wrap():
    system = snp.SpikingSystem([snp.Neuron("x", 99, [snp.Rule("a+", 1, 2**30)])], output="x")
    assert snp.run(system, max_steps=9).count() == 9 * 2**30
    system = snp.SpikingSystem([snp.Neuron("x", 2**40, [snp.Rule("a+", 1, 2**60)])], output="x")
    assert snp.run(system, max_steps=9).count() == 9 * 2**60
    batch = snp.run(system, max_steps=9, paths=2)
    assert batch.counts().tolist() == [9 * 2**60] * 2


def test_input_counts_in_what_can_arrive():
    neurons = [snp.Neuron("x", 2**31 - 2), snp.Neuron("y")]
    system = snp.SpikingSystem(neurons, input={"y": [2**30]})
    assert lower(system).initial.dtype == jnp.int64
    with pytest.raises(ValueError, match="neuron 'y', too many"):
        lower(system, count_dtype=np.int32)
    huge = snp.SpikingSystem([snp.Neuron("x")], input={"x": [10**20]})
    with pytest.raises(ValueError, match="constant 1000"):
        snp.run(huge)


def test_64_bit_program_outside_its_context_is_refused():
    program = lower(snp.SpikingSystem([snp.Neuron("x", 2**40, ["a+/a -> a"])]))
    with jax.enable_x64(True):
        start = initial_state(program)
        state, _ = tiered()(step)(program, start, snp.FirstChoice())
        assert state.spikes[0] == 2**40 - 1
    with pytest.raises(ValueError, match="enable_x64"):
        step(program, start, snp.FirstChoice())


def test_systems_are_immutable_and_pickle():
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"])], input={"x": [1]}, output="x")
    with pytest.raises(TypeError):
        system.input["x"] = (5,)
    again = pickle.loads(pickle.dumps(system))
    assert again == system and copy.deepcopy(system) == system
    assert dataclasses.replace(system, level="strict").level == "strict"


def test_naming_outputs():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 1, ["a -> lambda"])]
    both = snp.run(snp.SpikingSystem(neurons, output=["x", "y"]))
    assert both.train("x").tolist() == [1] and both.train("y").tolist() == [0]
    with pytest.raises(ValueError, match="2 output neurons"):
        both.spike_train  # noqa: B018
    with pytest.raises(ValueError, match="not an output neuron"):
        both.train("z")
    with pytest.raises(ValueError, match="has no output neuron"):
        snp.run(snp.SpikingSystem(neurons)).interval()
    assert both.interval("x") is None and both.interval("y") is None


def test_what_a_type_checker_knows():
    """The gate lets pyright read the same script in strict mode."""
    user_script.main()


def test_a_first_run_passes_through_few_files():
    system = snp.SpikingSystem(
        [
            snp.Neuron("a", 2, ["a^2/a -> a", "a^2 -> a"]),
            snp.Neuron("b", 1, ["a -> a"]),
            snp.Neuron("c", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")],
        output="c",
    )
    run = snp.run  # imported here, when it is first used
    roots = [str(Path(package.__file__).parent) for package in (snp, snpjax_formats)]
    files = set()

    def entered(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            files.update(code.co_filename for root in roots if code.co_filename.startswith(root))

    sys.setprofile(entered)
    try:
        run(system, max_steps=9, unroll=3)  # a program that no other test has compiled
    finally:
        sys.setprofile(None)
    # What evaluates a traced program stands for the compiler, which is not of this repository;
    # what asks whether the compiler has memory belongs to it, and what suggests keywords is nothing
    # from Python 3.13 on.
    paths = (Path(name) for name in files)
    names = sorted(path.name for path in paths if path.parent.name != "_tiered")
    names = [name for name in names if name not in ("arguments.py", "host_memory.py")]
    assert {"run.py", "lower.py", "step.py", "ell.py"} <= set(names), "it should be traced"
    assert len(names) <= 22, names
