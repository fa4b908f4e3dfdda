"""Signals end commands, with a sentence and a status of their own."""

import os
import signal
import sys
import threading

import pytest

import snpjax as snp
from snpjax.cli import main, signals
from snpjax.explore import Patience
from tests.support.command import invoke
from tests.support.helpers import REPOSITORY
from tests.support.processes import environment, started


FILE = REPOSITORY / "examples" / "natural_numbers.pli"
SENTENCES = [
    (signal.SIGINT, "interrupted"),
    (signal.SIGTERM, "terminated"),
    (signal.SIGHUP, "ended, since the terminal is gone"),
]


@pytest.fixture(autouse=True)
def handlers():
    """Those of a process that a shell starts, whoever has started the tests."""
    before = {x: signal.signal(x, signal.SIG_DFL) for x, _ in SENTENCES}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for x, handler in before.items():
        signal.signal(x, handler)


@pytest.fixture
def statuses(monkeypatch):
    """With what a process ends, which goes on here."""
    found = []
    monkeypatch.setattr(os, "_exit", found.append)
    return found


@pytest.mark.parametrize(("number", "sentence"), SENTENCES)
def test_a_command_at_work_ends_orderly(monkeypatch, statuses, capsys, number, sentence):
    cleaned = []

    def run(*arguments, **keywords):
        try:
            os.kill(os.getpid(), number)
        finally:
            cleaned.append(True)

    monkeypatch.setattr(snp, "run", run)
    monkeypatch.setattr(sys, "argv", ["snpjax", "run", f"{FILE}"])
    before = [signal.getsignal(x) for x, _ in SENTENCES]
    main()
    assert statuses == [128 + number] and cleaned == [True]
    assert capsys.readouterr() == ("", f"{sentence}\n")
    assert [signal.getsignal(x) for x, _ in SENTENCES] == before


@pytest.mark.parametrize(("number", "sentence"), SENTENCES)
def test_before_that_it_ends_at_once(statuses, capsys, number, sentence):
    """What is imported may not survive an exception."""
    with signals.stoppable():
        os.kill(os.getpid(), number)
        assert statuses == [128 + number]
    assert capsys.readouterr().err == f"{sentence}\n"


def test_without_a_command_signals_are_left_alone():
    before = [signal.getsignal(x) for x, _ in SENTENCES]
    signals.stop_orderly()
    assert [signal.getsignal(x) for x, _ in SENTENCES] == before


def test_one_that_goes_on_is_ended(monkeypatch, capsys):
    """As one does that waits for a device."""
    ended = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda status: ended.set())
    monkeypatch.setattr(signals, "_GRACE_SECONDS", 0.05)
    with signals.stoppable():
        signals.stop_orderly()
        with pytest.raises(signals.Stopped):
            os.kill(os.getpid(), signal.SIGTERM)
        ended.wait()
    assert {*capsys.readouterr().err.splitlines()} == {"terminated"}


def test_the_first_interrupt_of_a_search_leaves_time_for_the_report(monkeypatch, capsys):
    """However long the part of the search takes that is in progress."""
    ended = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda status: ended.set())
    monkeypatch.setattr(signals, "_GRACE_SECONDS", 0.05)
    with signals.stoppable():
        signals.stop_orderly()
        with signals.first_interrupt_ends_search():
            patience = Patience(None)
            with patience.until_interrupted():
                os.kill(os.getpid(), signal.SIGINT)
                assert not ended.wait(0.5) and patience.stop() is snp.Stop.INTERRUPTED
        assert capsys.readouterr().err.startswith("interrupted: ending the search (Ctrl-C again")
        with pytest.raises(signals.Stopped):  # the second one
            os.kill(os.getpid(), signal.SIGINT)
        ended.wait()
    assert {*capsys.readouterr().err.splitlines()} == {"interrupted"}


@pytest.mark.parametrize(
    "arguments", [["explore"], ["check", "always output <= 9", "--no-induction"]]
)
def test_what_a_search_has_found_is_reported(monkeypatch, arguments):
    asked, stop = [], Patience.stop

    def interrupted(patience):
        if not asked:
            os.kill(os.getpid(), signal.SIGINT)
        asked.append(patience)
        return stop(patience)

    monkeypatch.setattr(Patience, "stop", interrupted)
    with signals.stoppable():
        result = invoke(arguments[0], FILE, *arguments[1:])
    assert "the search was interrupted" in result.output
    assert result.exit_code == (3 if arguments[0] == "check" else 130)


def test_a_terminal_that_hangs_up_ends_it(monkeypatch):
    """Also a process that is not told, such as a background job."""
    master, slave = os.openpty()
    monkeypatch.setattr(signals, "_terminals", lambda: [slave])
    with signals.stoppable(), pytest.raises(signals.Stopped) as stopped:
        signals.stop_orderly()
        os.close(master)
        threading.Event().wait()
    assert stopped.value.number == signal.SIGHUP
    os.close(slave)


def test_what_is_ignored_stays_so(monkeypatch):
    """`nohup` ignores SIGHUP, and a shell SIGINT in background jobs."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    assert signals._terminals() == [0, 1, 2]
    for x in (signal.SIGHUP, signal.SIGINT):
        signal.signal(x, signal.SIG_IGN)
    assert signals._terminals() == []
    with signals.stoppable():
        signals.stop_orderly()
        for x in (signal.SIGHUP, signal.SIGINT):
            os.kill(os.getpid(), x)
        with pytest.raises(signals.Stopped):
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.slow
def test_a_long_run_on_a_terminal_shows_its_progress_and_ends():
    master, slave = os.openpty()
    command = sys.executable, "-m", "snpjax", "run", FILE, "--paths", 50_000_000
    env = environment(TERM="xterm")
    with started(*command, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        seen = b""
        while b" left" not in seen:
            seen += os.read(master, 2**16)
        assert b"paths: " in seen and b" of 50,000,000 " in seen
        process.terminate()
        while b"terminated" not in seen:
            seen += os.read(master, 2**16)
        assert process.wait() == 128 + signal.SIGTERM
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h") == 1, "the cursor is there again"
    os.close(master)


def test_ctrl_c_while_the_command_is_imported_is_one_line():
    """The handlers are in place before the imports that take long."""
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Importing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Importing())\n"
        "from snpjax.cli import main\n"
        "main()\n"
    )
    with started(sys.executable, "-c", code) as process:
        out, message = process.communicate(timeout=60)
    assert (process.returncode, out, message) == (130, "", "interrupted\n")
