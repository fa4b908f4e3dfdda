"""Solutions for other programs: JSON and CSV. The table for people shares their rows."""

import csv
import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..choice import NO_RULE
from ..results import name_of
from ..sleptsov import SleptsovNet
from ..spiking import Solution, SolutionBatch
from ..spiking.model.population import AnySystem
from ..spiking.model.system import is_growing
from ..spiking.view.run_text import Shown
from ..spiking.view.timing import has_delays


class Row(NamedTuple):
    """A configuration of a single run, and the step that led to it.

    `in_flight` has a row for each delay. `rules` and `outputs` are `None` in the initial
    configuration, or when they were not kept.
    """

    step: int
    spikes: np.ndarray
    timers: np.ndarray
    in_flight: np.ndarray
    rules: np.ndarray | None
    outputs: np.ndarray | None


def num_rows(solution: Solution) -> int:
    """How many configurations there are; only the final one where the history was dropped."""
    return 1 if solution.saved.every is None else len(solution.configurations)


def row(solution: Solution, index: int) -> Row:
    """Row `index`, the initial configuration first."""
    saved = solution.saved
    if saved.every is None:
        found = solution.spikes, solution.timers, solution.in_flight()
        return Row(solution.steps, *found, None, None)
    return Row(
        index,
        solution.configurations[index],
        solution.timer_history[index],
        solution.in_flight_history[index],
        solution.rules[index - 1] if index and saved.details else None,
        solution.spike_trains[index - 1] if index and saved.outputs else None,
    )


def num_neurons(shown: Shown, index: int) -> int:
    """How many neurons there are in row `index`."""
    if not shown.is_growing or shown.solution.saved.every is None:
        return len(shown.solution.spikes)
    return len(shown.names(index))


def print_json(value: dict[str, Any]) -> None:
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


def run_json(solution: Solution, file: str, choice: dict[str, Any]) -> dict[str, Any]:
    """A single run as plain values; what was not kept is `None`. Of a network that changes each
    configuration has its own under `networks`, and `neurons` are those there are in the end. Where
    synapses have delays, `in_flight` is what is due at each neuron in 1, 2, ... steps."""
    saved, outputs = solution.saved, solution.system.output
    kept = saved.outputs
    shown = Shown(solution)
    changing = {}
    if shown.is_growing or shown.is_plastic:
        rows = [None] if saved.every is None else range(num_rows(solution))
        found = [solution.network(row) for row in rows]
        changing["networks"] = [{"neurons": x.names, "synapses": x.synapses} for x in found]
    in_flight = {}
    if has_delays(solution.system):
        flights = None if saved.every is None else solution.in_flight_history.swapaxes(1, 2)
        in_flight["in_flight"] = None if flights is None else flights.tolist()
    rules = None
    if saved.details:
        rules = [[None if r == NO_RULE else r for r in step] for step in solution.rules.tolist()]
    return {
        **model_json(solution.system, file, shown.names()),
        **changing,
        "steps": solution.steps,
        "halted": solution.halted,
        "result": name_of(solution.result),
        "spikes": solution.spikes.tolist(),
        "configurations": None if saved.every is None else solution.configurations.tolist(),
        "timers": None if saved.every is None else solution.timer_history.tolist(),
        **in_flight,
        "rules": rules,
        "emissions": solution.emissions.tolist() if saved.details else None,
        "spike_trains": {n: solution.train(n).tolist() for n in outputs} if kept else None,
        "numbers": {n: solution.interval(n) for n in outputs} if kept else None,
        "counts": {n: solution.count(n) for n in outputs} if kept else None,
        "choice": choice,
    }


def paths_json(batch: SolutionBatch, file: str, choice: dict[str, Any]) -> dict[str, Any]:
    """A batch as plain values, an object for every path; where neurons divide or bud with its
    own neurons."""
    numbers, counts = _numbers_and_counts(batch)
    columns = zip(batch.halted.tolist(), batch.steps.tolist(), batch.spikes.T.tolist(), strict=True)
    return {
        **model_json(batch.system, file),
        "paths": [
            {
                "path": path,
                "halted": halted,
                "steps": steps,
                "numbers": {name: values[path] for name, values in numbers.items()},
                "counts": {name: values[path] for name, values in counts.items()},
                **({"neurons": batch[path].network().names} if is_growing(batch.system) else {}),
                "spikes": spikes,
            }
            for path, (halted, steps, spikes) in enumerate(columns)
        ],
        "choice": choice,
    }


def print_csv(solution: Solution) -> None:
    """A row for every configuration of a single run. Timers only of neurons that were closed, and
    what is due in 1, 2, ... steps only of those to which spikes were under way."""
    shown = Shown(solution)
    names = shown.names()
    is_whole = solution.saved.every is not None
    timers = solution.timer_history if is_whole else solution.timers[None]
    closed = np.flatnonzero(timers.any(axis=0))
    flights = solution.in_flight_history if is_whole else solution.in_flight()[None]
    awaited = [(n, i) for i, n in np.argwhere(flights.any(axis=0).T).tolist()]
    outputs = solution.system.output
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        [
            "step",
            *names,
            *(f"timer:{names[int(index)]}" for index in closed),
            *(f"due_in_{n + 1}:{names[i]}" for n, i in awaited),
            *(f"rule:{name}" for name in names),
            *(f"out:{name}" for name in outputs),
        ]
    )
    for index in range(num_rows(solution)):
        step, spikes, timers, due, rules, emitted = row(solution, index)
        chosen = [NO_RULE] * len(names) if rules is None else rules.tolist()
        there = num_neurons(shown, index)
        writer.writerow(
            [
                step,
                *spikes[:there].tolist(),
                *[""] * (len(names) - there),
                *timers[closed].tolist(),
                *(due[place] for place in awaited),
                *(shown.rule(index - 1, i, r) for i, r in enumerate(chosen)),
                *([""] * len(outputs) if emitted is None else emitted.tolist()),
            ]
        )


def print_paths_csv(batch: SolutionBatch) -> None:
    """A row for every path of a batch; no number is an empty cell."""
    numbers, counts = _numbers_and_counts(batch)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    headers = [f"{what}:{name}" for name in batch.system.output for what in ("number", "count")]
    writer.writerow(["path", "halted", "steps", *headers])
    columns = [values for name in numbers for values in (numbers[name], counts[name])]
    ends = zip(batch.halted.tolist(), batch.steps.tolist(), strict=True)
    for path, (halted, steps) in enumerate(ends):
        writer.writerow([path, str(halted).lower(), steps, *(values[path] for values in columns)])


def _numbers_and_counts(
    batch: SolutionBatch,
) -> tuple[dict[str, list[int | None]], dict[str, list[int | None]]]:
    """Of every path, by output; `None` where there is no number, or trains were not kept."""
    outputs = batch.system.output
    if not batch.saved.outputs:
        nothing: list[int | None] = [None] * batch.paths
        return dict.fromkeys(outputs, nothing), dict.fromkeys(outputs, nothing)
    numbers = {name: batch.intervals(name).tolist() for name in outputs}
    return numbers, {name: batch.counts(name).tolist() for name in outputs}


def model_json(
    model: AnySystem | SleptsovNet, file: str, neurons: Sequence[str] | None = None
) -> dict[str, Any]:
    """What every answer begins with; `neurons` are those of the system unless given."""
    value: dict[str, Any] = {"file": file, "name": model.name}
    if isinstance(model, SleptsovNet):
        transitions = list(model.transition_names)
        nodes = {"places": list(model.place_names), "transition_names": transitions}
        return {**value, "rule": model.rule.name, **nodes}
    options = model.compatibility.options
    value["neurons"] = neurons or [neuron.name for neuron in model.neurons]
    return {**value, "compatibility": options} if options else value
