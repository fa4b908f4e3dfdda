"""A batch for people: how the paths ended, and a histogram of the numbers they computed."""

from typing import Any

import numpy as np
from rich.table import Table

from ..spiking import SolutionBatch
from .text import GAP, headline, new_table, plural, print_table, printable, to_stdout


_MAX_NUMBERS = 40  # rows of a histogram
_BAR = 40  # columns of its longest bar, where they fit
_MAX_OUTPUTS = 8


def show(batch: SolutionBatch, file: str, choices: str | None, max_steps: int) -> None:
    """Print what a batch did. `choices` says how they were made, if any could arise."""
    halted, steps = batch.halted, batch.steps
    num_halted = int(np.sum(halted))
    names = batch.system.output if batch.saved.outputs else ()
    with to_stdout() as console:
        console.out(headline(batch.system, file))
        if choices is not None:
            console.out(choices)
        ends = f"{num_halted:,} halted, {len(halted) - num_halted:,} not halted"
        console.out(
            f"{plural(len(steps), 'path')}: {ends} after at most {plural(max_steps, 'step')}"
        )
        median = f"{np.median(steps):,.1f}".removesuffix(".0")
        console.out(f"steps: min {np.min(steps):,}, median {median}, max {np.max(steps):,}")
        bar = "█" if console.encoding.startswith("utf") else "#"
        for name in names[:_MAX_OUTPUTS]:
            console.out("")
            of = "" if len(names) == 1 else f" of {printable(name)}"
            console.out(f"numbers computed{of} (steps between the first two spikes):")
            numbers = batch.intervals(name)
            table, left = histogram(numbers, bar, console.width)
            print_table(console, table)
            if left:
                console.out(left)
        if len(names) > _MAX_OUTPUTS:
            left = plural(len(names) - _MAX_OUTPUTS, "more output")
            console.out(f"and {left}; --csv or --json gives all")


def histogram(
    numbers: "np.ma.MaskedArray[Any, Any]", bar: str, width: int
) -> tuple[Table, str | None]:
    """Numbers, paths and bars in `width` columns, with paths without a number last; and a word on
    numbers left out."""
    values, counts = np.unique(numbers.compressed(), return_counts=True)
    left = None
    if len(values) > _MAX_NUMBERS:
        others = int(np.sum(counts[_MAX_NUMBERS:]))
        left = (
            f"and {plural(len(values) - _MAX_NUMBERS, 'larger number')} of "
            f"{plural(others, 'path')}; --csv or --json gives all"
        )
    rows = [
        (f"{value:,}", int(count))
        for value, count in zip(values[:_MAX_NUMBERS], counts, strict=False)
    ]
    without = int(np.ma.count_masked(numbers))
    if without:
        rows.append(("no number", without))
    most = max((count for _, count in rows), default=1)
    numbers_width = max([len("number"), *(len(name) for name, _ in rows)])
    longest = width - numbers_width - max(len("paths"), len(f"{most:,}")) - 2 * GAP
    longest = min(max(longest, 1), _BAR)
    table = new_table()
    table.add_column("number", justify="right", no_wrap=True)
    table.add_column("paths", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, count in rows:
        table.add_row(name, f"{count:,}", bar * max(1, round(longest * count / most)))
    return table, left
