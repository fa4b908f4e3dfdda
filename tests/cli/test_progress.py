"""Progress on a terminal, and Ctrl-C while something is shown."""

import io
import os
import re
import sys
from contextlib import contextmanager, redirect_stderr
from importlib import import_module

import pytest

import snpjax as snp
from snpjax.cli import main, progress
from tests.cli.test_cli import NATURALS, fail, invoke, native as native


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(progress, "_SECONDS_UNTIL_PROGRESS", -1.0)
    return Terminal()


def without_controls(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text)


def test_a_search_is_shown_on_one_line_which_disappears(terminal):
    with redirect_stderr(terminal), progress.of_search(hidden=False) as found:
        found(12_345, 6)
        found(12_345_678, 1_234)
    *shown, after = terminal.getvalue().split("\n")
    assert "12,345,678 configurations, depth 1,234, " in shown[-1] and "per second" in shown[-1]
    assert after.endswith("\x1b[1A\x1b[2K") and without_controls(after) == ""


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are set."""
    now = [0.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    return now


def last_line(terminal):
    return without_controls(terminal.getvalue().split("\n")[0].split("\r")[-1])


def test_a_run_is_shown_with_the_time_left_at_most(terminal, clock):
    with redirect_stderr(terminal), progress.of_run(2_000, hidden=False) as made:
        for clock[0], steps in ((1.0, 100), (2.0, 200), (3.0, 300)):
            made(steps, 0)
    assert "step 300 of at most 2,000" in last_line(terminal)
    assert "at most 0:00:17 left" in last_line(terminal)


def test_a_batch_is_shown_by_its_paths(terminal, clock):
    """Steps of the first ones, and then paths that are done, with the time for the others."""
    with redirect_stderr(terminal), progress.of_run(100, 50_000_000, hidden=False) as made:
        made(100, 0)
        for clock[0], paths in ((1.0, 4096), (2.0, 504_096), (3.0, 1_004_096)):
            made(100, paths)
    line = last_line(terminal)
    assert "paths: 1,004,096 of 50,000,000" in line and "step" not in line
    assert " 0:01:38 left" in line and "at most" not in line


def test_an_estimate_is_shown_by_its_paths(terminal, clock):
    with redirect_stderr(terminal), progress.of_paths(hidden=False) as made:
        for clock[0], paths in ((1.0, 1000), (2.0, 2000)):
            made(paths, 10_000)
    assert "paths: 2,000 of 10,000" in last_line(terminal)
    assert "0:00:08 left" in last_line(terminal)


def test_the_line_disappears_after_ctrl_c(terminal):
    with pytest.raises(KeyboardInterrupt), redirect_stderr(terminal):
        with progress.of_search(hidden=False) as found:
            found(12, 3)
            raise KeyboardInterrupt
    assert without_controls(terminal.getvalue().split("\n")[-1]) == ""


def test_short_work_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_UNTIL_PROGRESS", 1e9)
    with redirect_stderr(terminal), progress.of_search(hidden=False) as found:
        found(12, 3)
    assert "12" not in terminal.getvalue()


@pytest.mark.parametrize(
    "stream, hidden, term",
    [(Terminal(), True, "xterm"), (io.StringIO(), False, "xterm"), (Terminal(), False, "dumb")],
)
def test_nothing_where_it_is_hidden_or_no_terminal(monkeypatch, stream, hidden, term):
    monkeypatch.setenv("TERM", term)
    with redirect_stderr(stream):
        with progress.of_search(hidden=hidden) as found, progress.of_run(9, hidden=hidden) as made:
            assert found is None and made is None
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("of_run", ["run", "--steps", 2]),
        ("of_paths", ["estimate", "eventually halted", "--paths", 64]),
        ("of_search", ["explore", "--max-depth", 2]),
        ("of_search", ["check", "always not halted", "--max-depth", 2]),
    ],
)
def test_commands_tell_their_progress(native, monkeypatch, name, arguments):
    calls = []

    @contextmanager
    def recorded(*limits, hidden):
        del limits
        yield None if hidden else lambda *numbers: calls.append(numbers)

    monkeypatch.setattr(progress, name, recorded)
    file = native(NATURALS)
    command, *options = arguments
    invoke(command, file, *options, "--json")
    assert calls == []
    invoke(command, file, *options)
    graph = snp.explore(snp.read(file), max_depth=2)
    last = {
        "of_run": (2, 0),
        "of_paths": (64, 64),
        "of_search": (graph.num_configurations, graph.depth - 1),
    }
    assert calls[-1] == last[name]


@pytest.mark.parametrize("command", [["run"], ["explore"], ["check", "always not halted"]])
def test_interrupted(native, monkeypatch, command):
    def interrupt(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(snp, "run", interrupt)
    monkeypatch.setattr(snp, "explore", interrupt)
    monkeypatch.setattr(sys.modules["snpjax.explore"], "explore", interrupt)
    monkeypatch.setattr(import_module("snpjax.check.check"), "explore", interrupt)
    name, *queries = command
    assert fail(name, native(NATURALS), *queries, status=130) == "interrupted\n"


def test_an_interrupted_process_ends_at_once(native, monkeypatch):
    """The device may be computing yet, which the end of an interpreter does not survive."""

    class Ended(BaseException):
        pass

    def end(status):
        assert status == 130
        raise Ended

    def interrupt(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(snp, "explore", interrupt)
    monkeypatch.setattr(sys, "argv", ["snpjax", "explore", native(NATURALS)])
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(Ended):
        main()
