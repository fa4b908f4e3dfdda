"""Progress of long work: a line on a terminal that is gone when the work is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from .text import color_system


_LINE = Column(no_wrap=True)
#: Work shorter than this shows no progress.
_SECONDS_UNTIL_PROGRESS = 1.0


@contextmanager
def of_run(
    max_steps: int, paths: int | None = None, *, hidden: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """Something to call with the number of steps made and that of paths that are done, if there
    are any; `None` where nothing is to be shown."""
    with _shown([_Made(_LINE), BarColumn(), _Left(_LINE)], max_steps, hidden) as update:

        def made(steps: int, done: int) -> None:
            assert update is not None
            if done and paths is not None:
                update(completed=done, total=paths, of_paths=True)
            else:
                update(completed=steps)

        yield update and made


@contextmanager
def of_paths(*, hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Something to call with the number of paths that are done and that of all; `None` where
    nothing is to be shown."""
    with _shown([_Made(_LINE), BarColumn(), _Left(_LINE)], None, hidden) as update:
        yield update and (lambda done, all: update(completed=done, total=all, of_paths=True))


class _Made(ProgressColumn):
    """Steps, or paths that are done, of how many."""

    def render(self, task: Task) -> Text:
        what = "paths: {:,.0f} of {:,.0f}" if _of_paths(task) else "step {:,.0f} of at most {:,.0f}"
        return Text(what.format(task.completed, task.total or 0))


class _Left(ProgressColumn):
    """The time that the rest will take, if it continues as in the last half minute. Of steps there
    may be fewer."""

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        if seconds is None:
            return Text("")
        at_most = "" if _of_paths(task) else "at most "
        return Text(f"{at_most}{timedelta(seconds=int(seconds))} left")


def _of_paths(task: Task) -> bool:
    return task.fields.get("of_paths", False)


@contextmanager
def of_search(*, hidden: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Something to call with the number of configurations found and the depth; `None` where nothing
    is to be shown."""
    with _shown([_Found(_LINE)], None, hidden) as update:
        last = {"depth": 0, "before": 0, "num": 1}

        def found(num: int, depth: int) -> None:
            assert update is not None
            if depth > last["depth"]:  # what was found at the last depth is expanded now
                last.update(depth=depth, before=last["num"])
            last["num"] = num
            update(completed=num, depth=depth, deeper=num - last["before"])

        yield update and found


class _Found(ProgressColumn):
    """Configurations, those of them in the next frontier, and how many per second since the search
    began."""

    def render(self, task: Task) -> Text:
        depth, rate = task.fields.get("depth", 0), task.completed / (task.elapsed or 1)
        frontier = task.fields.get("deeper", 0)
        return Text(
            f"{task.completed:,.0f} configurations, depth {depth:,}, {frontier:,} in the frontier, "
            f"{rate:,.0f} per second"
        )


@contextmanager
def _shown(
    columns: list[ProgressColumn], total: int | None, hidden: bool
) -> Iterator[Callable[..., None] | None]:
    """Something to call with what of the task has changed."""
    console = Console(stderr=True, color_system=color_system())
    if hidden or not (sys.stderr.isatty() and console.is_interactive):
        yield None
        return
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
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
