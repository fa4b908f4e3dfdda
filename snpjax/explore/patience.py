"""When a search ends before it is complete: after some seconds, or when it is interrupted."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import jax

from .graph import Stop


class Patience:
    """How long a search continues.

    - `seconds`: from now; `None` for as long as it takes.

    **Raises:** `ValueError` for seconds that are not positive.
    """

    def __init__(self, seconds: float | None):
        if seconds is not None and not seconds > 0:
            raise ValueError(
                f"`seconds` is {seconds}. Pass a positive number, or None for no limit."
            )
        self._until = None if seconds is None else time.monotonic() + seconds
        self._is_interrupted = False

    @classmethod
    def of(cls, seconds: "float | Patience | None") -> "Patience":
        """Return `seconds` if it is a `Patience`, else a new one with that limit."""
        return seconds if isinstance(seconds, Patience) else cls(seconds)

    @property
    def has_limit(self) -> bool:
        """Whether the time is limited."""
        return self._until is not None

    @property
    def left(self) -> float | None:
        """The seconds that are left, or `None`."""
        return None if self._until is None else max(self._until - time.monotonic(), 0.0)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C, or `interrupt`, has ended the search."""
        return self._is_interrupted

    def interrupt(self) -> None:
        """End the search now, as Ctrl-C does."""
        self._is_interrupted = True

    def stop(self) -> Stop | None:
        """Why to end now, if at all."""
        if self._is_interrupted:
            return Stop.INTERRUPTED
        if self._until is not None and time.monotonic() >= self._until:
            return Stop.MAX_SECONDS
        return None

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """While this is open, the first Ctrl-C ends the search with what was found, and the second
        does what it did before. Only the main thread can ask for that, and of several processes
        none, because they would not end at the same chunk."""
        if threading.current_thread() is not threading.main_thread() or jax.process_count() > 1:
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN or before is None:  # as `nohup` and shells do
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.interrupt()
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
