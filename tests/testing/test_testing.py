"""`snpjax.testing`: what fails shows a run, what passes was proved; its page of documentation."""

import importlib
import re
import sys
import unittest

import pytest
from hypothesis import Phase, given, settings, strategies as st

import snpjax as snp
import snpjax.testing
from snpjax.testing import (
    assert_equivalent,
    assert_invariant,
    inputs,
    machine_for,
    reference,
    runs,
    systems,
)
from tests.support.code_blocks import differing
from tests.support.helpers import REPOSITORY, with_ballast
from tests.support.known_graphs import CHUNKS


RELAY = snp.SpikingSystem(
    [
        snp.Neuron("p", 3, ["a+/a -> a", "a+/a -> lambda"]),
        snp.Neuron("q", 0, ["a -> a; 1"]),
        snp.Neuron("r", 0, ["a^2 -> a"]),
    ],
    [("p", "q"), ("p", "r")],
    output="q",
)


# ---- assertions ----


def test_equivalent_systems_pass():
    assert_equivalent(with_ballast(RELAY), with_ballast(RELAY), chunks=CHUNKS)


def test_different_systems_show_the_runs():
    other = RELAY.replace(
        neurons=[RELAY.neurons[0], snp.Neuron("q", 0, ["a -> a; 2"]), RELAY.neurons[2]]
    )
    with pytest.raises(AssertionError) as failure:
        assert_equivalent(with_ballast(RELAY), with_ballast(other), chunks=CHUNKS)
    text = str(failure.value)
    assert "the first system:" in text and "the second system:" in text
    assert "p=3" in text and "a -> a; 2" in text and "q=0 (1)" in text


def test_bounds_are_accepted_on_request():
    system = with_ballast(RELAY)
    with pytest.raises(AssertionError, match="bounded=True"):
        assert_equivalent(system, system, max_depth=2, chunks=CHUNKS)
    assert_equivalent(system, system, max_depth=2, bounded=True, chunks=CHUNKS)
    with pytest.raises(AssertionError, match="unknown"):
        assert_equivalent(system, system, max_depth=0, bounded=True, chunks=CHUNKS)
    with pytest.raises(AssertionError, match="bounded=True"):
        assert_invariant(system, lambda c: c["p"] <= 3, max_depth=2, chunks=CHUNKS)
    assert_invariant(system, lambda c: c["p"] <= 3, max_depth=2, bounded=True, chunks=CHUNKS)


def test_an_invariant_is_proved_or_its_run_shown():
    system = with_ballast(RELAY)
    assert_invariant(system, lambda c: c["r"] <= 2, chunks=CHUNKS)
    graph = snp.explore(system, chunks=CHUNKS)
    with pytest.raises(AssertionError) as failure:
        assert_invariant(graph, lambda c: (c["r"] < 2) | (c["p"] == 0))
    text = str(failure.value)
    assert "broken after 2 steps" in text and "p=1" in text and "r=2" in text
    with pytest.raises(AssertionError, match="at the start"):
        assert_invariant(graph, lambda c: c["p"] < 3)


def test_an_invariant_on_any_input():
    fed = RELAY.replace(input={"p": ()})
    with pytest.raises(AssertionError) as failure:
        assert_invariant(
            with_ballast(fed),
            lambda c: c["p"] <= 3,
            inputs=snp.AnyInput(2, most=2, neurons=("p",)),
            chunks=CHUNKS,
        )
    assert "input of p: 2" in str(failure.value) and "p=4" in str(failure.value)


# ---- stateful ----


def failure_of(machine):
    """The text of the failure of a state machine's test, `None` if it passes."""
    return failure_of_test(machine.TestCase)


def failure_of_test(test):
    test.settings = settings(
        max_examples=40,
        stateful_step_count=15,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],  # explaining is slow
    )
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(test).run(result)
    problems = [text for _, text in (*result.failures, *result.errors)]
    assert result.testsRun == 1
    return problems[0] if problems else None


def test_a_machine_passes_what_holds():
    machine = machine_for(
        RELAY, lambda c: c["p"] + c["r"] <= 5, steps=[lambda s: s.emitted("q") <= 1]
    )
    assert failure_of(machine) is None


def test_a_machine_shrinks_to_a_short_run():
    text = failure_of(machine_for(RELAY, lambda c: c["r"] < 2))
    assert text is not None and "an invariant is broken after step 2" in text
    assert "2  p=1, q=0 (1), r=2\n" in text
    assert "rule of p" in text  # what was drawn


def test_a_machine_sees_steps():
    def q_never_emits(steps):
        return steps.emitted("q") == 0

    text = failure_of(machine_for(RELAY, steps=[q_never_emits]))
    assert text is not None and "the invariant q_never_emits is broken in step 3" in text
    assert failure_of(machine_for(RELAY, steps=[lambda s: ~s.fired("r", 1)])) is None


def test_a_machine_sends_input():
    fed = RELAY.replace(input={"r": ()})
    assert failure_of(machine_for(RELAY, lambda c: c["r"] <= 3)) is None
    text = failure_of(machine_for(fed, lambda c: c["r"] <= 3, inputs=snp.AnyInput(3, most=2)))
    assert text is not None and "environment of r=" not in text
    (train,) = re.findall(r"input of r: (.*)", text)
    # Two of the four spikes come from `p`.
    assert len(train.split()) == 2 and sum(map(int, train.split())) >= 2, text


def test_a_machine_sends_input_to_neurons_that_bud():
    """And to the bud, which has the same label in the end: by the dictionary."""
    neurons = [snp.Neuron("g", 1, ["[a]_g -> []_g / []_b"]), snp.Neuron("o")]
    system = snp.SpikingSystem(neurons, [("g", "o")], input={"g": ()}, output="o")
    any_input = snp.AnyInput(3, most=2)
    assert failure_of(machine_for(system, lambda c: c["g"] <= 4, inputs=any_input)) is None
    text = failure_of(machine_for(system, lambda c: c["g"] <= 3, inputs=any_input))
    assert text is not None
    (train,) = re.findall(r"input of g: (.*)", text)
    assert sum(map(int, train.split()[1:])) == 4  # in the first step the neuron buds


def test_a_machine_lets_astrocytes_decide():
    astrocyte = snp.Astrocyte([("a", "b")], 1)
    system = snp.SpikingSystem(
        [snp.Neuron("a", 3, ["a+/a -> a"]), snp.Neuron("b")],
        [("a", "b")],
        variant=snp.Astrocytes([astrocyte]),
    )
    assert failure_of(machine_for(system, lambda c: c["a"] + c["b"] <= 3)) is None
    for holds in (lambda c: c["b"] <= 2, lambda c: c["a"] + c["b"] >= 3):
        text = failure_of(machine_for(system, holds))
        assert text is not None and "a+/a -> a" in text, text


def test_a_machine_of_nothing():
    assert failure_of(machine_for(snp.SpikingSystem([]), lambda c: c.is_halting)) is None


# ---- strategies ----


@given(systems(max_neurons=4), st.data())
def test_runs_are_runs(system, data):
    run = data.draw(runs(system, max_steps=5))
    again = (
        reference.run(
            system, lambda _, c: run.choices[run.configurations.index(c)], max_steps=run.steps
        )
        if len(set(run.configurations)) == len(run.configurations)
        else run
    )
    assert again == run and run.steps <= 5


@given(systems(min_neurons=1, max_neurons=4, min_outputs=1, max_outputs=1))
def test_systems_have_outputs(system):
    assert len(system.output) == 1


@given(st.data())
def test_inputs_are_trains(data):
    fed = RELAY.replace(input={"p": (), "r": ()})
    trains = data.draw(inputs(fed, 4, most=2))
    assert fed.with_input(trains).input == {x: tuple(train) for x, train in trains.items()}
    assert set(trains) == {"p", "r"}
    assert all(len(train) == 4 and 0 <= min(train) <= max(train) <= 2 for train in trains.values())
    assert set(data.draw(inputs(fed, 1, neurons=["q"]))) == {"q"}


# ---- the package ----


def test_names_are_there():
    for name in dir(snpjax.testing):
        if not name.startswith("_") and name in snpjax.testing._HOMES:
            assert "```python" in getattr(snpjax.testing, name).__doc__ or name == "SystemMachine"
    with pytest.raises(AttributeError, match="nothing_like_it"):
        snpjax.testing.nothing_like_it  # noqa: B018


def test_what_to_do_without_hypothesis(monkeypatch):
    for name in [x for x in sys.modules if x.startswith("snpjax.testing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.setattr(snp, "testing", snpjax.testing)  # so that it is restored
    importlib.import_module("snpjax.testing.reference")
    testing = importlib.import_module("snpjax.testing")
    assert callable(testing.assert_equivalent)
    for name in ("systems", "machine_for"):
        with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[testing\]' in a clone"):
            getattr(testing, name)


# ---- the page ----


def test_outputs_of_the_page_are_what_its_code_prints():
    """After a change: `python -m tests.support.code_blocks docs/testing.md`."""
    names: dict[str, object] = {"__name__": "page"}
    assert differing(REPOSITORY / "docs" / "testing.md", names) == []
    assert failure_of_test(names["TestSerial"]) is None
