"""Progress of calls of the library."""

import io
import sys
import threading

import pytest

from snpjax._text import progress
from snpjax._text.progress import progress_of


class Terminal(io.StringIO):
    """Standard error that is a terminal, or not, and tells when a line was written."""

    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal, self.written = is_terminal, threading.Event()

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.written.set()
        return super().write(text)


def test_a_line_on_a_terminal_is_gone_at_the_end(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_UNTIL_PROGRESS", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal(True))
    with progress_of(True, "epoch", 20) as report:
        report(3, 20)
        while "epoch 3 of 20, " not in terminal.getvalue():
            assert terminal.written.wait(60)
            terminal.written.clear()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("shown", "is_terminal"), [(True, False), (False, True)])
def test_nothing_on_a_pipe_or_if_turned_off(shown, is_terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal(is_terminal))
    num_threads = threading.active_count()
    with progress_of(shown, "epoch", 20) as report:
        report(3, 20)
        assert threading.active_count() == num_threads
    assert terminal.getvalue() == ""


def test_a_function_is_called_instead():
    calls = []
    with progress_of(lambda *numbers: calls.append(numbers), "step", 4) as report:
        report(2, 4)
    assert calls == [(2, 4)]
    with pytest.raises(TypeError, match="`progress` is 'yes'. Give a function .* or False"):
        with progress_of("yes", "step", 4):  # pyright: ignore[reportArgumentType]
            pass
