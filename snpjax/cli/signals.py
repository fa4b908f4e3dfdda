"""Signals that end a command: that of Ctrl-C, SIGTERM, and SIGHUP where its terminal is gone."""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


_SENTENCES: dict[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if os.name == "posix":
    _SENTENCES[signal.SIGHUP] = "ended, since the terminal is gone"

# A command that computes on a device notices a signal when the call returns. One that does not
# return is ended after this time.
_GRACE_SECONDS = 5.0
# Whether the first Ctrl-C ends a search and not the command, and whether it was pressed.
_is_spared, _has_been_spared = False, False


class Stopped(KeyboardInterrupt):
    """A signal that ends the command; `number` says which."""

    def __init__(self, number: int):
        KeyboardInterrupt.__init__(self)
        self.number = number


def ending(stopped: KeyboardInterrupt) -> tuple[str, int]:
    """What a command says that is ended by a signal, and its exit status."""
    number = stopped.number if isinstance(stopped, Stopped) else signal.SIGINT
    return _SENTENCES[number], 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Within it, the signals end the process. Those that are ignored, as SIGHUP under `nohup`, stay
    so."""
    if os.name != "posix":
        yield
        return
    before = {number: signal.getsignal(number) for number in _SENTENCES}
    _handle(_end)
    receive, send = os.pipe()
    os.set_blocking(send, False)
    woken = signal.set_wakeup_fd(send, warn_on_full_buffer=False)
    watch = threading.Thread(target=_watch, args=(receive, _terminals()), daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(send)  # which ends the thread
        watch.join()


@contextmanager
def first_interrupt_ends_search() -> Iterator[None]:
    """Within it, `snpjax.explore.Patience` turns the first Ctrl-C into the end of a search: the
    command may take its time to report what was found. The second Ctrl-C ends the command."""
    global _is_spared, _has_been_spared
    _is_spared, _has_been_spared = True, False
    try:
        yield
    finally:
        _is_spared = False


def stop_orderly() -> None:
    """Raise `Stopped` from now on, if this is within `stoppable()`. Until then signals end the
    process at once, since an exception in the import of a compiled module may end in a segmentation
    fault (jaxlib 0.10.2), or as another one."""
    if signal.getsignal(signal.SIGTERM) in (_end, _stop):
        _handle(_stop)


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Within it, signals end the process at once, with one line and no traceback."""
    if os.name != "posix":
        yield
        return
    before = {number: signal.getsignal(number) for number in _SENTENCES}
    _handle(_end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _SENTENCES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    for other in _SENTENCES:  # nothing interrupts the end
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


def _end(number: int, frame: FrameType | None = None) -> None:
    del frame
    print(_SENTENCES[number], file=sys.stderr, flush=True)
    os._exit(128 + number)


def _terminals() -> list[int]:
    """The streams whose hanging up is noticed, which a background job is not told of."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return []
    return [descriptor for descriptor in range(3) if os.isatty(descriptor)]


def _spares(number: int) -> bool:
    """Whether this Ctrl-C only ends a search; if so, a line on stderr says so."""
    global _has_been_spared
    if number != signal.SIGINT or not _is_spared or _has_been_spared:
        return False
    _has_been_spared = True
    print(
        "interrupted: ending the search (Ctrl-C again: ends at once)", file=sys.stderr, flush=True
    )
    return True


def _watch(receive: int, terminals: list[int]) -> None:
    """Send this process a signal if a terminal hangs up, and end it if it continues after one."""
    poll = select.poll()
    for descriptor in terminals:
        poll.register(descriptor, 0)
    poll.register(receive, select.POLLIN)
    received, wait = 0, None
    while True:
        found = dict(poll.poll(wait))
        if not found:
            _end(received)
        if receive in found:
            numbers = os.read(receive, 64)
            if not numbers:
                os.close(receive)
                return
            for number in numbers:
                if number in _SENTENCES and not _spares(number):
                    received, wait = number, 1000 * _GRACE_SECONDS
        for descriptor, events in found.items():
            if descriptor != receive:
                poll.unregister(descriptor)
                if not events & select.POLLNVAL:
                    os.kill(os.getpid(), signal.SIGHUP)
