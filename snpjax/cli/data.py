"""Solutions for other programs: JSON and CSV. The table for people shares their rows."""

import csv
import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..choice import NO_RULE
from ..spiking import NO_NUMBER, PopulationSystem, Solution, SpikingSystem
from ..spiking.view.run_text import Shown


class Row(NamedTuple):
    """A configuration of a single run, and the step that led to it.

    `rules` and `outputs` are `None` in the initial configuration, or when they were not kept.
    """

    step: int
    spikes: np.ndarray
    timers: np.ndarray
    rules: np.ndarray | None
    outputs: np.ndarray | None


def num_rows(solution: Solution) -> int:
    """How many configurations there are; only the final one where the history was dropped."""
    return 1 if solution.configurations is None else len(solution.configurations)


def row(solution: Solution, index: int) -> Row:
    """Row `index`, the initial configuration first."""
    if solution.configurations is None or solution.timer_history is None:
        assert isinstance(solution.steps, int)
        return Row(solution.steps, solution.spikes, solution.timers, None, None)
    rules, trains = solution.rules, solution.spike_trains
    return Row(
        index,
        solution.configurations[index],
        solution.timer_history[index],
        None if index == 0 or rules is None else rules[index - 1],
        None if index == 0 or trains is None else trains[index - 1],
    )


def num_neurons(shown: Shown, index: int) -> int:
    """How many neurons there are in row `index`."""
    if not shown.is_growing or shown.solution.configurations is None:
        return len(shown.solution.spikes)
    return len(shown.names(index))


def print_json(value: dict[str, Any]) -> None:
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


def run_json(solution: Solution, file: str, choice: dict[str, Any]) -> dict[str, Any]:
    """A single run as plain values; what was not kept is `None`. Of a network that changes each
    configuration has its own under `networks`, and `neurons` are those there are in the end."""
    # A run that failed never gets here: it has raised.
    rules = None
    if solution.rules is not None:
        rules = [[None if r == NO_RULE else r for r in step] for step in solution.rules.tolist()]
    outputs = solution.system.output
    kept = solution.spike_trains is not None
    shown = Shown(solution)
    changing = {}
    if shown.is_growing or shown.is_plastic:
        is_whole = solution.configurations is not None
        found = [solution.network(r if is_whole else None) for r in range(num_rows(solution))]
        changing["networks"] = [{"neurons": x.names, "synapses": x.synapses} for x in found]
    return {
        **model_json(solution.system, file, shown.names()),
        **changing,
        "steps": solution.steps,
        "halted": solution.halted,
        "result": "halted" if solution.halted else "max_steps_reached",
        "spikes": solution.spikes.tolist(),
        "configurations": _plain(solution.configurations),
        "timers": _plain(solution.timer_history),
        "rules": rules,
        "emissions": _plain(solution.emissions),
        "spike_trains": {n: solution.train(n).tolist() for n in outputs} if kept else None,
        "numbers": {n: solution.interval(n) for n in outputs} if kept else None,
        "counts": {n: solution.count(n) for n in outputs} if kept else None,
        "choice": choice,
    }


def paths_json(solution: Solution, file: str, choice: dict[str, Any]) -> dict[str, Any]:
    """A batch as plain values, an object for every path; where neurons divide or bud with its
    own neurons."""
    is_growing = Shown(solution).is_growing
    numbers, counts = _numbers_and_counts(solution)
    columns = zip(
        np.ravel(solution.halted).tolist(),
        np.ravel(solution.steps).tolist(),
        solution.spikes.T.tolist(),
        strict=True,
    )
    return {
        **model_json(solution.system, file),
        "paths": [
            {
                "path": path,
                "halted": halted,
                "steps": steps,
                "numbers": {name: values[path] for name, values in numbers.items()},
                "counts": {name: values[path] for name, values in counts.items()},
                **({"neurons": solution.network(path=path).names} if is_growing else {}),
                "spikes": spikes,
            }
            for path, (halted, steps, spikes) in enumerate(columns)
        ],
        "choice": choice,
    }


def print_csv(solution: Solution) -> None:
    """A row for every configuration of a single run. Timers only of neurons that were closed."""
    shown = Shown(solution)
    names = shown.names()
    history = solution.timers[None] if solution.timer_history is None else solution.timer_history
    closed = np.flatnonzero(history.any(axis=0))
    outputs = solution.system.output
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        [
            "step",
            *names,
            *(f"timer:{names[int(index)]}" for index in closed),
            *(f"rule:{name}" for name in names),
            *(f"out:{name}" for name in outputs),
        ]
    )
    for index in range(num_rows(solution)):
        step, spikes, timers, rules, emitted = row(solution, index)
        chosen = [NO_RULE] * len(names) if rules is None else rules.tolist()
        there = num_neurons(shown, index)
        writer.writerow(
            [
                step,
                *spikes[:there].tolist(),
                *[""] * (len(names) - there),
                *timers[closed].tolist(),
                *(shown.rule(index - 1, i, r) for i, r in enumerate(chosen)),
                *([""] * len(outputs) if emitted is None else emitted.tolist()),
            ]
        )


def print_paths_csv(solution: Solution) -> None:
    """A row for every path of a batch; no number is an empty cell."""
    numbers, counts = _numbers_and_counts(solution)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    headers = [f"{what}:{name}" for name in solution.system.output for what in ("number", "count")]
    writer.writerow(["path", "halted", "steps", *headers])
    halted, steps = np.ravel(solution.halted).tolist(), np.ravel(solution.steps).tolist()
    columns = [values for name in numbers for values in (numbers[name], counts[name])]
    for path in range(len(steps)):
        writer.writerow(
            [path, str(halted[path]).lower(), steps[path], *(values[path] for values in columns)]
        )


def _numbers_and_counts(
    solution: Solution,
) -> tuple[dict[str, list[int | None]], dict[str, list[int | None]]]:
    """Of every path, by output; `None` where there is no number, or trains were not kept."""
    outputs = solution.system.output
    if solution.spike_trains is None:
        nothing: list[int | None] = [None] * np.size(solution.steps)
        return dict.fromkeys(outputs, nothing), dict.fromkeys(outputs, nothing)
    numbers = {name: np.asarray(solution.interval(name)).tolist() for name in outputs}
    counts = {name: np.asarray(solution.count(name)).tolist() for name in outputs}
    return {
        name: [None if number == NO_NUMBER else number for number in of]
        for name, of in numbers.items()
    }, counts


def model_json(
    system: SpikingSystem | PopulationSystem, file: str, neurons: Sequence[str] | None = None
) -> dict[str, Any]:
    """What every answer begins with; `neurons` are those of the system unless given."""
    options = system.compatibility.options
    return {
        "file": file,
        "name": system.name,
        "neurons": neurons or [neuron.name for neuron in system.neurons],
        **({"compatibility": options} if options else {}),
    }


def _plain(history: np.ndarray | None) -> list[Any] | None:
    return None if history is None else history.tolist()
