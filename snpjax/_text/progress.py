"""A line on a terminal while a call of the library takes long."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias


#: A function of what is done and of all, or whether to show a line where there is a terminal.
ProgressLike: TypeAlias = Callable[[int, int], None] | bool

#: Calls shorter than this show nothing.
_SECONDS_UNTIL_PROGRESS = 1.0
_CLEAR = "\r\x1b[K"


@contextmanager
def progress_of(
    progress: ProgressLike, unit: str, total: int
) -> Iterator[Callable[[int, int], None]]:
    """Yield the function to call with the number of units that are done, and that of all.

    **Arguments:**

    - `progress`: a function that is called instead; or whether a line on standard error shows the
      numbers and the time, if that is a terminal.
    - `unit`: the unit of the numbers, such as `epoch`.
    - `total`: the number of all units.

    **Raises:** `TypeError` for any other `progress`.
    """
    if callable(progress):
        yield progress
        return
    if not isinstance(progress, bool):
        raise TypeError(
            f"`progress` is {progress!r:.60}. Give a function of the number done and of all, or "
            "False for no progress."
        )
    if not (progress and sys.stderr is not None and sys.stderr.isatty()):
        yield lambda done, all: None
        return
    numbers, began, stop = [0, total], time.monotonic(), threading.Event()

    def show() -> None:
        # The first call may compile for long, so the line does not wait for a report.
        while not stop.wait(_SECONDS_UNTIL_PROGRESS):
            seconds = time.monotonic() - began
            text = f"{unit} {numbers[0]:,} of {numbers[1]:,}, {seconds:,.0f} s"
            sys.stderr.write(_CLEAR + text)
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield lambda done, all: numbers.__setitem__(slice(None), (done, all))
    finally:
        stop.set()
        thread.join()
        if time.monotonic() - began >= _SECONDS_UNTIL_PROGRESS:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
