"""Words and places that the commands share when they write for people."""

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from .._text.counts import plural as plural
from .._text.quoting import printable as printable
from .._text.rule_text import rule_text
from ..io.source import shortened as shortened


if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from .models import AnyModel

#: Columns of a table that goes to a file or another program, and the fewest on any terminal.
_WIDTH_OF_A_PIPE, _LEAST_WIDTH = 100, 40
_WIDEST = 10_000
GAP = 2  # blanks between two columns of a table


@contextmanager
def to_stdout() -> "Iterator[Console]":
    """A console for results, which are written in one piece at the end.

    Nothing in a name or rule is taken for markup.
    """
    from rich.console import Console

    console = Console(
        file=sys.stdout,
        color_system=color_system(),
        width=_width(),
        height=25,  # without one, a terminal of which nothing is known has 80 columns
        markup=False,
        emoji=False,
        highlight=False,
    )
    # Rich ends the process with status 1 when a pipe is closed; our own write raises instead.
    with console.capture() as capture:
        yield console
    # Tables pad their last column, too.
    sys.stdout.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def color_system() -> 'Literal["auto"] | None':
    """Of a Rich console: none, and so no styles either, where NO_COLOR is set (no-color.org)."""
    return None if os.environ.get("NO_COLOR") else "auto"


def _width() -> int:
    """The columns that COLUMNS says, or else the terminal."""
    given, width = os.environ.get("COLUMNS", ""), 0
    if given.isdecimal():
        width = int(given)
    elif sys.stdout.isatty():
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(width or _WIDTH_OF_A_PIPE, _LEAST_WIDTH)


def print_table(console: "Console", table: "Table") -> None:
    """Print a table. Where a terminal is too narrow for its numbers, they are not cut: the table is
    wider."""
    from rich.measure import Measurement

    needed = Measurement.get(console, console.options.update(width=_WIDEST), table).minimum
    console.width = max(console.width, needed)
    console.print(table)


def headline(model: "AnyModel", file: str) -> str:
    """The file, the name of the model, its size, and the conventions of another simulator that it
    follows."""
    from ..sleptsov import SleptsovNet

    options = ""
    if isinstance(model, SleptsovNet):
        options = f"; {rule_text(model.rule.name)}"
    elif not model.compatibility.is_textbook:
        options = f"; {model.compatibility}"
    return printable(
        f"{file}: {f'{model.name}, ' if model.name else ''}{size_text(model)}{options}"
    )


def size_text(model: "AnyModel") -> str:
    return ", ".join(plural(n, things.removesuffix("s")) for things, n in sizes(model).items())


def sizes(model: "AnyModel") -> dict[str, int]:
    """How many there are of what a model is made of."""
    from ..sleptsov import SleptsovNet

    if isinstance(model, SleptsovNet):
        return {"places": model.num_places, "transitions": model.num_transitions}
    neurons, rules, synapses = model.num_neurons, model.num_rules, model.num_synapses
    return {"neurons": neurons, "rules": rules, "synapses": synapses}


def new_table() -> "Table":
    """A table without frame, its heads underlined."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)


def listed(texts: "Sequence[str]", total: int, *, more: str = "more", none: str = "none") -> str:
    """The first of a total of texts, separated by commas, and how many are left out."""
    text, left = printable(", ".join(texts)) or none, total - len(texts)
    return f"{text} and {left:,} {more}" if left > 0 else text
