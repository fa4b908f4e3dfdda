"""`snpjax run` of a numerical SN P system."""

import csv
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from ..choice import NO_RULE
from ..numerical import NumericalSolution, NumericalSolutionBatch
from ..results import name_of
from .data import print_json
from .ending import FAILED, ended, refusals
from .options import advised
from .text import GAP, new_table, plural, print_table, printable, to_stdout


if TYPE_CHECKING:
    from pathlib import Path

_FIRST_ROWS, _LAST_ROWS = 40, 15  # of a long run


def run_numerical(
    file: "Path",
    *,
    choice: dict[str, Any],
    as_json: bool,
    as_csv: bool,
    options: dict[str, Any],
) -> None:
    """Run the system of a file and print what `snpjax.run` made with these options; `choice` says
    how choices were made."""
    import snpjax as snp

    system = snp.io.read_numerical(file)
    with refusals():
        solution = snp.run(system, throw=False, **options)
    if as_json:
        print_json({"file": f"{file}", **_as_json(solution), "choice": choice})
    elif as_csv:
        _print_csv(solution)
    else:
        _show(solution, f"{file}", choice)
    if solution.failure is not None:
        raise ended(f"error: {advised(solution.failure)}", FAILED)


def _show(
    solution: NumericalSolution | NumericalSolutionBatch, file: str, choice: dict[str, Any]
) -> None:
    system = solution.system
    variables = sum(len(neuron.variables) for neuron in system.neurons)
    functions = [len(neuron.productions) for neuron in system.neurons]
    sizes = {"neuron": len(system.neurons), "variable": variables, "function": sum(functions)}
    sizes["synapse"] = len(system.synapses)
    with to_stdout() as console:
        parts = ", ".join(plural(number, what) for what, number in sizes.items())
        console.out(printable(f"{file}: a numerical system of {parts}"))
        if max(functions, default=0) > 1:
            how = f"uniform, seed {choice['seed']}" if "seed" in choice else "first applicable"
            console.out(f"choices: {how}")
        if isinstance(solution, NumericalSolutionBatch):
            columns = list(_of_paths(solution))
        else:
            columns = list(_of_steps(solution))
        shown = _fitting(columns, console.width)
        table = new_table()
        for head, _ in shown:
            table.add_column(head, justify="right", no_wrap=True)
        rows = range(len(columns[0][1]))
        if len(rows) > _FIRST_ROWS + _LAST_ROWS:
            rows = [*rows[:_FIRST_ROWS], *rows[-_LAST_ROWS:]]
        for i in rows:
            table.add_row(*(cells[i] for _, cells in shown))
        print_table(console, table)
        left = len(columns) - len(shown)
        if left or len(rows) < len(columns[0][1]):
            what = f"{plural(left, 'column')} and " if left else ""
            hidden = plural(len(columns[0][1]) - len(rows), "row")
            console.out(f"not shown: {what}{hidden}; --csv or --json gives all")
        console.out(solution.ending)


def _of_steps(solution: NumericalSolution) -> Iterator[tuple[str, list[str]]]:
    """Heads and cells: steps, what was sent, and variables."""
    if solution.saved.every is None:  # the history was dropped
        yield "step", [f"{solution.steps}"]
        values = solution.final
    else:
        yield "step", [f"{step}" for step in range(solution.steps + 1)]
        values = solution.variables
        for name, sent in (solution.outputs if solution.saved.outputs else {}).items():
            yield printable(name), ["", *map(_number, sent)]
    for neuron, own in values.items():
        for name, numbers in own.items():
            yield printable(f"{neuron}.{name}"), [_number(x) for x in np.atleast_1d(numbers)]


def _of_paths(batch: NumericalSolutionBatch) -> Iterator[tuple[str, list[str]]]:
    yield "path", [f"{path}" for path in range(batch.paths)]
    yield "steps", [f"{steps}" for steps in batch.steps.tolist()]
    yield "halted", ["yes" if halted else "no" for halted in batch.halted.tolist()]
    for name, own in batch.final.items():
        for variable, numbers in own.items():
            yield printable(f"{name}.{variable}"), [_number(x) for x in numbers]


def _number(x: Any) -> str:
    return f"{float(x):.6g}"


def _fitting(columns: list[tuple[str, list[str]]], width: int) -> list[tuple[str, list[str]]]:
    """The first columns, at least two, that fit."""
    room, shown = width, []
    for head, cells in columns:
        room -= max(map(cell_len, (head, *cells))) + GAP
        if room < -GAP and len(shown) > 1:
            break
        shown.append((head, cells))
    return shown


def _as_json(solution: NumericalSolution | NumericalSolutionBatch) -> dict[str, Any]:
    if isinstance(solution, NumericalSolutionBatch):
        has_outputs = solution.saved.outputs
        return {"paths": [_path_json(i, own, has_outputs) for i, own in enumerate(solution)]}
    saved = solution.saved
    rules = solution.productions.tolist() if saved.details else None
    return {
        **_path_json(None, solution, saved.outputs),
        "result": name_of(solution.result),
        "history": None if saved.every is None else _plain(solution.variables),
        "productions": rules and [[None if r == NO_RULE else r for r in row] for row in rules],
    }


def _path_json(path: int | None, solution: NumericalSolution, has_outputs: bool) -> dict[str, Any]:
    outputs = solution.outputs if has_outputs else None
    return {
        **({} if path is None else {"path": path}),
        "halted": solution.halted,
        "steps": solution.steps,
        "variables": _plain(solution.final),
        "outputs": outputs and {name: sent.tolist() for name, sent in outputs.items()},
    }


def _plain(values: dict[str, dict[str, np.ndarray]]) -> dict[str, dict[str, Any]]:
    return {
        neuron: {name: np.asarray(x).tolist() for name, x in own.items()}
        for neuron, own in values.items()
    }


def _print_csv(solution: NumericalSolution | NumericalSolutionBatch) -> None:
    """A row for every configuration, or for every path."""
    is_batch = isinstance(solution, NumericalSolutionBatch)
    has_history = not is_batch and solution.saved.every is not None
    values = solution.variables if has_history else solution.final
    columns: dict[str, list[Any]] = {}
    if is_batch:
        columns["path"] = list(range(solution.paths))
        columns["halted"] = [f"{halted}".lower() for halted in solution.halted.tolist()]
        columns["steps"] = solution.steps.tolist()
    else:
        columns["step"] = list(range(solution.steps + 1)) if has_history else [solution.steps]
    for neuron, own in values.items():
        for name, numbers in own.items():
            columns[f"{neuron}.{name}"] = np.atleast_1d(numbers).tolist()
    if has_history and solution.saved.outputs:
        for name, sent in solution.outputs.items():
            columns[f"out:{name}"] = ["", *sent.tolist()]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
