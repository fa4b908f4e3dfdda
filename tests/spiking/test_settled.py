"""Runs that go on in a static machine once nothing can divide or bud any more: the same to the bit,
and the reference's."""

from typing import Any

import jax
import jax.random as jr
import numpy as np
import pytest
from dimacs import Formula
from hypothesis import given, settings, strategies as st
from sat_families import by_division, by_division_and_budding

import snpjax as snp
from snpjax import driver
from snpjax.spiking.lower import settled as settling
from snpjax.spiking.lower.growth_bound import UNBOUNDED, GrowthBound
from snpjax.spiking.step.reserve import GrowingMachine
from snpjax.testing import dividing_systems, reference
from tests.support.changing import assert_same_run, followed, random_run, run, with_ballast


systems = dividing_systems().map(with_ballast)
seeds = st.integers(0, 1000)


@pytest.fixture
def settles(monkeypatch):
    """Every run settles as soon as it can; the steps after which runs did."""
    steps: list[int] = []
    ask = settling.settled

    def counted(system, machine, state, choice):
        found = ask(system, machine, state, choice)
        if found is not None:
            steps.append(int(state.step))
        return found

    monkeypatch.setattr(settling, "settled", counted)
    monkeypatch.setattr(driver, "_SETTLING_SECONDS", -1.0)
    monkeypatch.setattr(driver, "_FIRST_SETTLING_STEPS", 2)
    return steps


def never(monkeypatch):
    monkeypatch.setattr(driver, "_SETTLING_SECONDS", np.inf)
    monkeypatch.setattr(driver, "_FIRST_SETTLING_STEPS", 32)
    monkeypatch.setattr(settling, "settled", lambda *_: None)


def assert_equal(one: snp.Solution, other: snp.Solution) -> None:
    """Whatever was saved, to the bit."""
    size = len(one.spikes)
    assert one.saved == other.saved and one.steps == other.steps
    assert int(one.result._value) == int(other.result._value)
    first, second = one.trajectory, other.trajectory
    for name in ("final", "states", "outputs", "details"):
        leaves = [jax.tree.leaves(getattr(x, name)) for x in (first, second)]
        assert jax.tree.structure(getattr(first, name)) == jax.tree.structure(getattr(second, name))
        for x, y in zip(*leaves, strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape, name
            assert np.array_equal(x, y), (name, size)


def branching(**more) -> snp.SpikingSystem:
    """A neuron divides twice and two bud; the clock, and what is chosen, go on."""
    system = snp.SpikingSystem(
        [
            snp.Neuron("clock", 1, ["a -> a"]),
            snp.Neuron("tick", 0, ["a -> a"]),
            snp.Neuron("x", 1, ["[a]_x -> []_y || []_b"]),
            snp.Neuron(
                "sink", 0, ["a -> lambda", "a^2 -> lambda", "a^5 -> lambda", "(aaa)+/a -> a"]
            ),
        ],
        [("clock", "tick"), ("tick", "clock"), ("tick", "x", 3), ("x", "sink"), ("clock", "sink")],
        rules_by_label={
            "y": ["[a{3}]_y -> []_z || []_z"],
            "z": [
                *("[a{3}]_z -> []_z / []_b", "a^3 -> a^2", "a^2/a -> a; 2", "a{2,4}/a^2 -> a"),
                *("a^5 -> lambda", "a^6 -> lambda", "a{4,99}/a^4 -> a^2"),
            ],
            "b": ["a{1,2}/a -> a", "a+/a -> a; 1"],
        },
        dictionary=[("z", "sink")],
        level="extended",
        **{"input": {"z": [0, 0, 0, 0, 0, 2, 1, 0, 3, 1]}, "output": ["z", "b", "clock"], **more},
    )
    return with_ballast(system)


OPTIONS: dict[str, Any] = {"max_steps": 60, "capacity": snp.Capacity(64, 256)}


@pytest.mark.parametrize("family", [by_division, by_division_and_budding])
def test_satisfiability(family, settles):
    system = family(Formula(2, [[1, 2], [-1]]))
    solution = snp.run(system, **OPTIONS)
    assert_same_run(solution, reference.run(system, max_steps=60))
    # By division alone, neurons that fail divide to the end.
    assert bool(settles) == (family is by_division_and_budding)


@pytest.mark.parametrize(
    "save, seed",
    [
        (snp.SAVE_ALL, 3),
        pytest.param(snp.Save(every=3), None, marks=pytest.mark.slow),
        pytest.param(snp.SAVE_OUTPUTS, 3, marks=pytest.mark.slow),
        pytest.param(snp.SAVE_FINAL, None, marks=pytest.mark.slow),
        pytest.param(snp.Save(every=7, outputs=False), 3, marks=pytest.mark.slow),
        pytest.param(snp.Save(every=None), None, marks=pytest.mark.slow),
    ],
)
def test_a_settled_run_is_the_same(save, seed, settles, monkeypatch):
    """With choices, inputs, weights, delays, and outputs that several neurons make."""
    choice = snp.FirstChoice() if seed is None else snp.UniformChoice(jr.key(seed))
    system = branching()
    settled = snp.run(system, choice=choice, save=save, **OPTIONS)
    assert settles and 2 < settles[0] < settled.steps - 10
    if save is snp.SAVE_ALL:
        assert_same_run(settled, followed(settled))
    never(monkeypatch)
    assert_equal(settled, snp.run(system, choice=choice, save=save, **OPTIONS))


@settings(max_examples=4)
@given(system=systems, seed=seeds)
def test_random_systems(system, seed):
    choice = snp.UniformChoice(jr.key(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_SETTLING_SECONDS", -1.0)
        patch.setattr(driver, "_FIRST_SETTLING_STEPS", 2)
        settled = run(system, choice=choice)
        never(patch)
        assert_equal(settled, run(system, choice=choice))
    assert_same_run(settled, followed(settled))


def options(max_steps: int) -> dict[str, Any]:
    return {**OPTIONS, "max_steps": max_steps}


def test_runs_are_continued(settles):
    """From `solution.state`, before and after the network settles; then it settles at once."""
    system = branching()
    whole = snp.run(system, **OPTIONS)
    for steps in (1, settles[0] + 1, settles[0] + 3):
        first = snp.run(system, **options(steps))
        settles.clear()
        rest = snp.run(system, **options(60 - steps), initial=first.state)
        assert settles
        assert rest.configurations.tolist() == whole.configurations[steps:].tolist()
        assert rest.rules.tolist() == whole.rules[steps:].tolist()
        assert rest.spike_trains.tolist() == whole.spike_trains[steps:].tolist()
        assert rest.network() == whole.network()
    assert settles == [steps]


def test_inputs_and_starts_of_a_run(settles, monkeypatch):
    system = branching(input={"sink": [1]})
    options: dict[str, Any] = {
        "inputs": np.asarray([[0], [1], [2]] * 9),
        "initial": {"sink": 4},
        **OPTIONS,
    }
    options["inputs"] = np.pad(options["inputs"], ((0, 0), (0, 1)))  # of the ballast
    settled = snp.run(system, **options)
    assert settles
    never(monkeypatch)
    assert_equal(settled, snp.run(system, **options))


def test_choices_by_number_stay_with_their_machine(settles):
    """They may name a rule that is blocked, and a policy may read the network."""
    system = branching()
    wanted = snp.run(system, **OPTIONS)
    settles.clear()
    given_ones = snp.GivenChoices(wanted.rules)
    assert_equal(wanted, snp.run(system, choice=given_ones, **OPTIONS))
    assert not settles
    assert snp.run(system, paths=2, **OPTIONS)[1].spikes.tolist() == wanted.spikes.tolist()
    assert not settles


def test_failures_are_the_same(settles, monkeypatch):
    system = snp.SpikingSystem(
        [
            snp.Neuron("one", 1, ["[a]_one -> []_two || []_two"]),
            snp.Neuron("x", 2**31 - 10**8, ["a+/a -> a^4000000"]),
            snp.Neuron("y", 1, ["a+/a -> a^4000000"]),
        ],
        [("x", "y"), ("y", "x")],
    )
    options: dict[str, Any] = {"max_steps": 600, "capacity": snp.Capacity(8, 16), "throw": False}
    settled = snp.run(system, **options)
    assert settles
    never(monkeypatch)
    other = snp.run(system, **options)
    assert_equal(settled, other)
    assert settled.failure is not None and settled.failure == other.failure
    assert "neuron 'x', step" in settled.failure


# ---- the bound ----


@settings(max_examples=60)
@given(system=dividing_systems(), seed=seeds)
def test_no_run_exceeds_the_bound(system, seed):
    bound = GrowthBound.of(system)
    network = random_run(system, seed).configurations[-1].network
    assert network is not None
    assert len(network.labels) <= bound.neurons
    assert len(network.synapses) <= bound.synapses


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_bound_of_published_families_is_what_they_need(n):
    formula = Formula(n, [[1, 2]])
    assert GrowthBound.of(by_division_and_budding(formula)) == (
        4 * n + 6 + 2 ** (n + 1),
        5 * n + 4 + (n + 3) * 2**n,
    )
    assert GrowthBound.of(by_division(formula)) == (
        4 * n + 7 + 2 ** (n + 1),
        9 * n + 6 + (n + 3) * 2 ** (n + 1),
    )


@pytest.mark.parametrize(
    "rules",
    [
        {"x": ["[a]_x -> []_x || []_y"]},
        {"x": ["[a]_x -> []_y || []_z"], "z": ["[a]_z -> []_x / []_y"]},
        {"x": ["[a]_x -> []_x / []_y", "[a^2]_x -> []_x / []_z"]},
        {"x": ["[a]_x -> []_x / []_y"], "y": ["[a]_y -> []_z || []_z"]},
    ],
)
def test_no_bound_where_a_label_comes_back(rules):
    """Also where a neuron buds in turns, or its bud changes and no longer blocks it."""
    neurons = [snp.Neuron("x", 1, rules["x"])]
    others = {label: own for label, own in rules.items() if label != "x"}
    bound = GrowthBound.of(snp.SpikingSystem(neurons, [], rules_by_label=others))
    assert bound == (UNBOUNDED, UNBOUNDED)


def chain(length: int, num: int) -> snp.SpikingSystem:
    """`num` neurons of a label that can become 2^length."""
    rules = {f"x{i}": [f"[a]_x{i} -> []_x{i + 1} || []_x{i + 1}"] for i in range(1, length)}
    names = [f"n{i}" for i in range(num)]
    first = ["[a]_x0 -> []_x1 || []_x1"]
    neurons = [snp.Neuron(name, 0, first, label="x0") for name in names]
    return snp.SpikingSystem(
        neurons, list(zip(names, names[1:], strict=False)), rules_by_label=rules
    )


@pytest.mark.parametrize(("length", "num"), [(3, 2), (9, 50), (20, 3), (20, 6_000), (40, 3)])
def test_the_room_at_first(length, num):
    """All that there can be, or a part of that which takes in what there is."""
    system = chain(length, num)
    machine = snp.lower(system).machine
    assert isinstance(machine, GrowingMachine)
    bound = GrowthBound.of(system)
    assert bound.neurons == min(num << length, UNBOUNDED)
    room = machine.program.num_neurons
    assert num <= room < 2**18 and (room >= bound.neurons) == (bound.neurons <= 2**18)
    larger = machine.grown(machine.init())[0].program.num_neurons
    assert room <= larger <= 64 * room
    assert (bound.neurons <= larger) == (bound.neurons <= 64 * room)
