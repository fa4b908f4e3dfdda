"""Progress of long work: a line on a terminal that is gone when the work is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text


#: Work shorter than this shows no progress.
_SECONDS_UNTIL_PROGRESS = 1.0


@contextmanager
def of_run(max_steps: int, *, hidden: bool) -> Iterator[Callable[[int], None] | None]:
    """Something to call with the number of steps made; `None` where nothing is to be shown."""
    made = TextColumn("step {task.completed:,.0f} of at most {task.total:,.0f}")
    with _shown([made, BarColumn()], max_steps, hidden) as update:
        yield update and (lambda steps: update(completed=steps))


@contextmanager
def of_search(*, hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Something to call with the number of configurations found and the depth; `None` where nothing
    is to be shown."""
    with _shown([_Found(Column(no_wrap=True))], None, hidden) as update:
        yield update and (lambda num, depth: update(completed=num, depth=depth))


class _Found(ProgressColumn):
    """Configurations, depth, and configurations per second since the search began."""

    def render(self, task: Task) -> Text:
        depth, rate = task.fields.get("depth", 0), task.completed / (task.elapsed or 1)
        return Text(
            f"{task.completed:,.0f} configurations, depth {depth:,}, {rate:,.0f} per second"
        )


@contextmanager
def _shown(
    columns: list[ProgressColumn], total: int | None, hidden: bool
) -> Iterator[Callable[..., None] | None]:
    """Something to call with what of the task has changed."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    progress = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = progress.add_task("", total=total)
    began = time.monotonic()

    def update(**changed: int) -> None:
        # Pyright cannot tell the numbers from the other arguments.
        progress.update(task, **changed)  # pyright: ignore[reportArgumentType]
        if time.monotonic() - began > _SECONDS_UNTIL_PROGRESS:
            progress.start()  # does nothing when it has started

    try:
        yield update
    finally:
        progress.stop()
