"""Published systems with known answers."""

from typing import Any

import numpy as np
import pytest

import snpjax as snp
from snpjax.testing import reference
from tests.support.helpers import (
    VARIANTS,
    assert_same_run,
    case_neurons,
    case_system,
    choices_of,
    load_cases,
)


CASES = load_cases("spiking", schema="snpjax-case/1")
TRACES = load_cases("websnapse/traces", schema="snpjax-trace/1")

#: Keys of other issues: graphs, queries and the networks that change.
_RUN_KEYS = {"run", "trains", "final", "halt_step", "steps", "sorted", "decoded", "variants"}


def is_runnable(case: dict[str, Any]) -> bool:
    does_run = case["variant"] in ("static", *VARIANTS) and case["theme"] != "invalid"
    return does_run and bool(_RUN_KEYS & case["expected"].keys())


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    if case["theme"] == "invalid":
        check_validation(case)
        return
    check_level(case)
    if not is_runnable(case):
        pytest.skip(f"{case['variant']} case without a run")
    check_expected(case_system(case), case["expected"])


def check_validation(case: dict[str, Any]) -> None:
    expected = case["expected"]["validation"]
    for level in ("strict", "extended"):
        if expected[level] == "error":
            with pytest.raises(snp.InvalidSystem) as refusal:
                case_system(case, level=level)
            problems = refusal.value.problems
            assert expected["problem"] in {problem.code for problem in problems}
            assert all(name in str(refusal.value) for name in expected["names"])
        else:
            problems = case_system(case, level=level).problems
            has_warning = any(problem.code == expected["problem"] for problem in problems)
            assert has_warning == (expected[level] == "warn")


def check_level(case: dict[str, Any]) -> None:
    """`level` is the lowest level that accepts the system."""
    case_system(case, level="extended")
    if case["level"] == "strict":
        case_system(case, level="strict")
    else:
        with pytest.raises(snp.InvalidSystem):
            case_system(case, level="strict")


def check_expected(system: snp.SpikingSystem, expected: dict[str, Any]) -> None:
    run = expected.get("run", {})
    halt_step = run.get("halt_step", expected.get("halt_step"))
    max_steps = run.get("steps", expected.get("steps", 200))
    if halt_step is not None:
        max_steps = max(max_steps, halt_step) + 10
    solution = snp.run(system, max_steps=max_steps)
    assert_same_run(solution, reference.run(system, max_steps=max_steps))
    if "run" in expected or "halt_step" in expected:
        assert solution.halted == (halt_step is not None)
        assert solution.steps == (max_steps if halt_step is None else halt_step)
    if "run" in expected:
        check_run(solution, run)
    for name, train in expected.get("trains", {}).items():
        length = min(len(train), solution.steps)
        assert solution.train(name)[:length].tolist() == train[:length]
        assert not any(train[length:]) and (halt_step is None or length == solution.steps)
    for name, spikes in expected.get("final", {}).items():
        assert solution.spikes[system.names[name]] == spikes
    if "sorted" in expected:
        columns = [system.names[name] for name in expected["sorted"]["neurons"]]
        assert solution.spikes[columns].tolist() == expected["sorted"]["values"]
    if "decoded" in expected:
        decoded = expected["decoded"]
        column = system.names[decoded["train"]]
        bits = solution.emissions[decoded["from_step"] - 1 :, column]
        bits = bits[: decoded.get("bits", len(bits))]
        assert sum(int(bit) << place for place, bit in enumerate(bits)) == decoded["value"]
    for variant in expected.get("variants", []):
        check_expected(variant_of(system, variant), variant)


def check_run(solution: snp.Solution, run: dict[str, Any]) -> None:
    steps = run["steps"]
    assert solution.configurations[: steps + 1].tolist() == run["spikes"]
    timers = solution.timer_history[: steps + 1].tolist()
    assert timers == run.get("timers", timers)
    rules = [list(row) for row in choices_of(solution)[:steps]]
    assert rules == run.get("rules", rules)
    assert solution.emissions[:steps].tolist() == run.get(
        "emitted", solution.emissions[:steps].tolist()
    )


def variant_of(system: snp.SpikingSystem, variant: dict[str, Any]) -> snp.SpikingSystem:
    spikes = variant.get("spikes", {})
    neurons = [snp.Neuron(n.name, spikes.get(n.name, n.spikes), n.rules) for n in system.neurons]
    return snp.SpikingSystem(
        neurons, system.synapses, input=variant.get("input", system.input), output=system.output
    )


@pytest.mark.parametrize("case", TRACES)
def test_trace(case):
    """WebSnapse systems: recorders are outputs, environment inputs are trains of their targets."""
    system, recorders = websnapse_system(case)
    run = case["run"]
    max_steps = run["steps"] if run["halt_step"] is None else run["halt_step"] + 10
    solution = snp.run(system, max_steps=max_steps)
    assert_same_run(solution, reference.run(system, max_steps=max_steps))
    assert solution.halted == (run["halt_step"] is not None)
    if solution.halted:
        assert solution.steps == run["halt_step"]
    check_run(solution, run)
    for name, sources in recorders.items():
        arrivals = sum(weight * solution.emissions[:, source] for source, weight in sources)
        arrivals = np.zeros(solution.steps, int) + arrivals
        assert arrivals[: run["steps"]].tolist() == run["environment"][name]


def websnapse_system(case: dict[str, Any]):
    neurons = case_neurons(case)
    trains: dict[str, list[int]] = {}
    for name, train in case["inputs"].items():
        for target, weight in case["input_targets"][name]:
            old = trains.get(target, [])
            length = max(len(old), len(train))
            padded = (x + [0] * (length - len(x)) for x in (old, train))
            trains[target] = [x + weight * y for x, y in zip(*padded, strict=True)]
    sources = [source for recorder in case["outputs"].values() for source, _ in recorder]
    system = snp.SpikingSystem(neurons, case["synapses"], input=trains, output=sources)
    recorders = {
        name: [(system.names[source], weight) for source, weight in recorder]
        for name, recorder in case["outputs"].items()
    }
    return system, recorders


@pytest.mark.slow
@pytest.mark.parametrize("case", load_cases("websnapse/esnp", schema="snpjax-batch/1"))
def test_serial_arithmetic_on_a_hundred_inputs(case):
    neurons = case_neurons(case)
    system = snp.SpikingSystem(neurons, case["synapses"])
    feeders = [system.names[s] for s, t, _ in system.synapses if t == case["output_neuron"]]
    for one in case["cases"]:
        bits = [[int(bit) for bit in train] for train in one["inputs"]]
        inputs = dict(zip(case["input_neurons"], bits, strict=True))
        fed = snp.SpikingSystem(neurons, case["synapses"], input=inputs)
        digits = [int(digit) for digit in one["output"]]
        solution = snp.run(fed, max_steps=len(digits))
        emitted = solution.emissions[:, feeders].sum(axis=1).tolist()
        assert emitted + [0] * (len(digits) - len(emitted)) == digits
        assert one["contains"] in one["output"]
        if "spikes" in one:
            listed = one["spikes"][: solution.steps + 1]
            assert solution.configurations[: len(listed)].tolist() == listed
