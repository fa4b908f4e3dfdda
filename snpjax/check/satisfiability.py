"""Questions to z3 that Ctrl-C can end."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any

from .._text.optional import z3 as import_z3
from ..explore.patience import Patience


_AT_ONCE = 0.5  # seconds; most answers come in a few milliseconds, a thread takes as long to start
_LOOK = 0.1  # seconds between two looks at whether it was interrupted
_OUT_OF_TIME = ("timeout", "canceled")


def is_satisfiable(
    solver: Any, seconds: float, *assumptions: Any, patience: Patience | None = None
) -> bool | None:
    """Whether what a solver knows can be true, or `None` if that is not found in these seconds.

    z3 would handle Ctrl-C itself, and lose it if the answer comes in that moment. So that is turned
    off: Python handles it, and a long question is asked in a thread, which is told to end when
    Ctrl-C raises an exception here, or has ended the search of `patience`.
    """
    z3 = import_z3()
    solver.set("ctrl_c", False)

    def asked(seconds: float) -> Any:
        solver.set("timeout", max(int(1000 * seconds), 1))
        return solver.check(*assumptions)

    answer = asked(min(seconds, _AT_ONCE))
    left = seconds - _AT_ONCE
    if answer == z3.unknown and left > 0 and solver.reason_unknown() in _OUT_OF_TIME:
        z3.Z3_enable_concurrent_dec_ref(solver.ctx.ref())  # Python may free terms meanwhile
        future: Future[Any] = Future()
        try:
            Thread(target=_answer, args=(future, asked, left)).start()
            while not wait([future], _LOOK).done:
                if patience is not None and patience.is_interrupted:
                    solver.interrupt()
        finally:
            _end(solver, future)
        answer = future.result()
    return None if answer == z3.unknown else answer == z3.sat


def _answer(future: Future[Any], ask: Callable[[float], Any], seconds: float) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(ask(seconds))
        except Exception as error:
            future.set_exception(error)


def _end(solver: Any, future: Future[Any]) -> None:
    """End a question, also if it has not reached z3 yet, and however often Ctrl-C is pressed: z3
    must not be used before."""
    while not (future.done() or future.cancel()):
        try:
            solver.interrupt()
            wait([future], _LOOK)
        except KeyboardInterrupt:
            continue
