"""A single run for people: the computation as a table, how it ended, and what it computed."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from rich.cells import cell_len
from rich.table import Table

from ..choice import NO_RULE
from ..spiking import Solution
from ..spiking.view.run_text import Shown
from .data import Row, num_neurons, num_rows, row
from .text import (
    GAP,
    headline,
    listed,
    new_table,
    plural,
    print_table,
    printable,
    shortened,
    to_stdout,
)


#: The head and the cells of a column.
_Column: TypeAlias = tuple[str, list[str]]

# Of a long run the first and the last rows are shown.
_MAX_ROWS = 60
_FIRST_ROWS = 40
_LAST_ROWS = 15
_MAX_NAME = 20  # characters of a neuron's name at the head of its column
_LEAST_RULES = 20  # columns of the rules, if texts are shown
_MAX_LINES = 3  # of the rules of one step
_MAX_TRAIN = 40  # entries of a spike train
_MAX_OUTPUTS = 8  # described below the table
_MAX_FINAL = 40  # neurons of the final configuration


def show(solution: Solution, file: str, choices: str | None, max_steps: int) -> None:
    """Print a single run. `choices` says how they were made, if any could arise."""
    with to_stdout() as console:
        console.out(headline(solution.system, file))
        if choices is not None:
            console.out(choices)
        table, remarks = computation(solution, console.width)
        print_table(console, table)
        if len(remarks) and any("not shown" in remark for remark in remarks):
            remarks.append(_final(solution))
        end = solution.ending
        if not solution.halted and solution.failure is None:
            end += f"; --steps {min(10 * max(max_steps, 10), 2**30)} runs longer"
        for line in [*remarks, end, *_results(solution)]:
            console.out(line)


def computation(solution: Solution, width: int) -> tuple[Table, list[str]]:
    """The table of a run in at most `width` columns, and the remarks that belong below it.

    As many neurons as fit are shown, at least one, output neurons before all others. Rules are
    those of the neurons shown; those of the others are counted.
    """
    rows, num_left_out = _rows(solution)
    columns = _Columns(solution, rows, width)
    table = new_table()
    for name in ("step", *(name for name, _ in columns.neurons.values())):
        table.add_column(name, justify="right", no_wrap=True)
    has_rules = columns.rules_width > 0
    if has_rules:
        table.add_column("rules", overflow="fold")
    for name, _ in columns.outputs:
        table.add_column(name, justify="right", no_wrap=True)
    for index, current in enumerate(rows):
        table.add_row(
            str(current.step),
            *(cells[index] for _, cells in columns.neurons.values()),
            *([columns.rules(current)] if has_rules else []),
            *(cells[index] for _, cells in columns.outputs),
        )
        if num_left_out and index == _FIRST_ROWS - 1:
            skipped = [columns.skipped(num_left_out)] if has_rules else []
            table.add_row("...", *[""] * len(columns.neurons), *skipped)
    return table, columns.remarks()


def _rows(solution: Solution) -> tuple[list[Row], int]:
    """The rows to show, and how many are left out between the first and the last ones."""
    count = num_rows(solution)
    indices = list(range(count))
    if count > _MAX_ROWS:
        indices = [*indices[:_FIRST_ROWS], *indices[-_LAST_ROWS:]]
    return [row(solution, index) for index in indices], count - len(indices)


class _Columns:
    """What fits: the heads and cells of `outputs` and of `neurons`, by their number, and the width
    left for the rules, if any.

    What is seen from outside comes first, trains and then output neurons; then the rules, or how
    many there are where their texts cannot be read; and then the other neurons.
    """

    def __init__(self, solution: Solution, rows: list[Row], width: int):
        self.solution = solution
        self.shown = Shown(solution)
        found = self.shown.names()
        self.names = [printable(name) for name in found]
        self.rows, self.num_there = rows, [num_neurons(self.shown, r.step) for r in rows]
        outputs = solution.system.output
        room = width - max(len("step"), len(str(rows[-1].step)))

        def emitted(index: int) -> list[str]:
            return ["" if r.outputs is None else str(r.outputs[index]) for r in rows]

        def fitting(neurons: list[int], room: int, *, least: int) -> dict[int, _Column]:
            columns = ((self.names[i], _spike_cells(rows, i, self.num_there)) for i in neurons)
            return dict(zip(neurons, _fitting(columns, room, least), strict=False))

        trains = ((f"out:{printable(name)}", emitted(i)) for i, name in enumerate(outputs))
        self.outputs = _fitting(trains, room // 4, 1)
        room -= _width(self.outputs)
        positions = {name: i for i, name in enumerate(found)}
        own = sorted(positions[name] for name in outputs[:width] if name in positions)
        self.neurons = fitting(own, room, least=1)
        room -= _width(self.neurons.values())

        # No more of the other neurons than these can fit.
        others = [i for i in range(min(len(found), width)) if i not in self.neurons]
        others = others[: max(room, 0) // (GAP + 1) + 1]
        fired = [self._fired(r, sorted([*self.neurons, *others])) for r in rows]
        wanted = max(len("rules"), *(len(", ".join(texts)) for texts in fired))
        if num_rows(solution) > len(rows):
            wanted = max(wanted, len("... 1,000,000,000 steps ..."))
        readable = min(wanted, max(width // 3, _LEAST_RULES))
        counted = max(len("rules"), *(len(_counted(_num_fired(r))) for r in rows))
        self.rules_width = next((w for w in (readable, counted) if w + GAP <= room), 0)
        self.has_texts = self.rules_width == readable
        room -= self.rules_width + (GAP if self.rules_width else 0)

        self.neurons |= fitting(others, room, least=0 if self.neurons else 1)
        self.neurons = dict(sorted(self.neurons.items()))
        if self.has_texts:
            room -= _width([self.neurons[i] for i in others if i in self.neurons])
            self.rules_width = min(wanted, self.rules_width + max(room, 0))

    def rules(self, current: Row) -> str:
        """The rules fired in one step, as many as some lines hold."""
        if current.rules is None:
            return ""
        lines: list[str] = []
        texts = self._fired(current, self.neurons)
        others = _num_fired(current) - sum(
            current.rules[i] != NO_RULE for i in self.neurons if i < len(current.rules)
        )
        # More than these never fit.
        most = min(len(texts), _MAX_LINES * self.rules_width) if self.has_texts else 0
        for shown in range(most, -1, -1):
            missing = len(texts) - shown + others
            more = f"and {missing:,} more" if shown else _counted(missing)
            lines = _packed([*texts[:shown], *([more] if missing else [])], self.rules_width)
            if len(lines) <= _MAX_LINES:
                break
        return "\n".join(lines)

    def skipped(self, num_steps: int) -> str:
        """In place of the rules of steps that are left out."""
        text = f"... {plural(num_steps, 'step')} ..."
        return text if len(text) <= self.rules_width else "..."

    def _fired(self, current: Row, neurons: Iterable[int]) -> list[str]:
        if current.rules is None:
            return []
        return self.shown.fired(current.step - 1, current.rules.tolist(), neurons, _short)

    def there(self) -> Iterable[tuple[Row, list[int]]]:
        """Every row with the neurons that it shows and that exist then."""
        for current, num in zip(self.rows, self.num_there, strict=True):
            yield current, [i for i in self.neurons if i < num]

    def remarks(self) -> list[str]:
        lines = []
        if self.shown.is_growing:
            lines.append("neurons divide or bud: a column has the name of its neuron in the end")
        if self.solution.saved.every is None:
            lines.append("the history was too large to be kept: this is the final configuration")
        if any(np.any(r.timers[own]) for r, own in self.there()):
            lines.append("2 (1): 2 spikes, closed, opens in 1 step")
        if any(np.any(r.in_flight[:, own]) for r, own in self.there()):
            lines.append("2 (1 in 3): 2 spikes, and 1 under way that arrives in 3 steps")
        for what, shown, names in (
            ("neuron", self.neurons, self.names),
            ("output", self.outputs, self.solution.system.output),
        ):
            left = len(names) - len(shown)
            if left:
                lines.append(
                    f"{left:,} of {plural(len(names), what)} not shown; --csv or --json gives all"
                )
        if self.rules_width == 0:
            lines.append("rules not shown; --csv or --json gives all")
        return lines


def _fitting(columns: Iterable[_Column], room: int, least: int) -> list[_Column]:
    """The first columns, as many as `room` holds, but at least some, with their heads shortened."""
    found: list[_Column] = []
    for name, cells in columns:
        column = (shortened(name, _MAX_NAME), cells)
        room -= _width([column])
        if room < 0 and len(found) >= least:
            break
        found.append(column)
    return found


def _width(columns: Iterable[_Column]) -> int:
    return sum(GAP + max(map(cell_len, [name, *cells])) for name, cells in columns)


def _counted(num_fired: int) -> str:
    """What stands for the texts of rules."""
    return f"{num_fired:,} fired"


def _num_fired(current: Row) -> int:
    return 0 if current.rules is None else int(np.sum(current.rules != NO_RULE))


def _short(name: str) -> str:
    return shortened(printable(name), _MAX_NAME)


def _spike_cells(rows: list[Row], neuron: int, there: list[int]) -> list[str]:
    """`2` or, in a closed neuron, `2 (1)`, and with spikes under way `2 (1 in 3)`, with the spikes
    below each other; nothing before the neuron is created."""
    marks = [_marks(r, neuron) if neuron < num else "" for r, num in zip(rows, there, strict=True)]
    width = max(map(len, marks))
    return [
        f"{r.spikes[neuron]}{mark:<{width}}" if neuron < num else ""
        for r, mark, num in zip(rows, marks, there, strict=True)
    ]


def _marks(current: Row, neuron: int) -> str:
    timer, due = current.timers[neuron], current.in_flight[:, neuron].tolist()
    closed = f" ({timer})" if timer else ""
    return closed + "".join(f" ({k} in {n})" for n, k in enumerate(due, start=1) if k)


def _packed(texts: list[str], width: int) -> list[str]:
    """Texts separated by commas, none of them broken, in lines of that width where it suffices."""
    lines: list[str] = []
    for index, text in enumerate(texts):
        piece = text if index == len(texts) - 1 else f"{text},"
        if lines and len(lines[-1]) + 1 + len(piece) <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines


def _final(solution: Solution) -> str:
    """The final spikes of the neurons that have any."""
    holding = np.flatnonzero(solution.spikes)[: _MAX_FINAL + 1]
    names = Shown(solution).names(most=int(holding[-1]) + 1 if len(holding) else 0)
    shown = [f"{names[i]}={solution.spikes[i]}" for i in holding[:_MAX_FINAL]]
    total = int(np.count_nonzero(solution.spikes))
    more = "more neuron" if total == _MAX_FINAL + 1 else "more neurons"
    return f"final spikes: {listed(shown, total, more=more)}"


def _results(solution: Solution) -> list[str]:
    """The spike train, number and count of every output."""
    names = solution.system.output
    if not solution.saved.outputs:
        return []
    lines = []
    for name in names[:_MAX_OUTPUTS]:
        of = "" if len(names) == 1 else f" of {printable(name)}"
        lines += [
            f"spike train{of}: {_train(solution.train(name))}",
            f"number{of}: {_number(solution, name)}",
            f"spikes sent{of}: {solution.count(name)}",
        ]
    left = len(names) - _MAX_OUTPUTS
    return lines + ([f"and {plural(left, 'more output')}; --json gives all"] if left > 0 else [])


def _train(train: np.ndarray) -> str:
    text = " ".join(map(str, train[:_MAX_TRAIN].tolist()))
    if len(train) > _MAX_TRAIN:
        return f"{text} ... (the first {_MAX_TRAIN} of {len(train):,} steps)"
    return text or "empty"


def _number(solution: Solution, name: str) -> str:
    number = solution.interval(name)
    if number is None:
        return "none (the train has fewer than two spikes)"
    first, second = solution.spike_times(name)[:2]
    return f"{number} (first two spikes in steps {first} and {second})"
