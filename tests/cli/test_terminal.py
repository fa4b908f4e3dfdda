"""Where output goes: full disks, closed streams, and terminals of any kind and width."""

import fcntl
import gc
import io
import os
import re
import shlex
import struct
import sys
import termios

import pytest

import snpjax as snp
from snpjax.cli import main
from tests.cli.test_cli import RING, cells, native as native, succeed
from tests.support.helpers import REPOSITORY
from tests.support.processes import finished


EXAMPLES = REPOSITORY / "examples"
FILE, NET = EXAMPLES / "natural_numbers.pli", EXAMPLES / "half.lsn"
CELLS, MODEL = EXAMPLES / "proliferation_initial.txt", EXAMPLES / "proliferation.model.json"

#: Calls of all commands that print something; `{}` is a folder.
COMMANDS = [
    "--version",
    "--help",
    "run --help",
    f"run {FILE}",
    f"run {FILE} --json",
    f"run {FILE} --csv",
    f"run {FILE} --paths 3",
    f"explore {FILE}",
    f"explore {FILE} --json",
    f"check {FILE} 'always output <= 1'",
    f"estimate {FILE} 'eventually halted' --paths 64",
    f"info {FILE}",
    f"convert {FILE} {{}}/numbers.snp.json",
    f"draw {FILE} -o {{}}/numbers.svg",
    f"view {FILE} --export {{}}/page.html",
    f"proliferation expected {CELLS} -c {MODEL}",
    f"sleptsov run {NET}",
    f"sleptsov info {NET}",
    f"sleptsov convert {NET} {{}}/half.lsn",
    "sleptsov generate add {}/sum.lsn 2 8 5",
    f"formats explain {FILE}",
    "cache info",
]


class Ended(BaseException):
    """In place of the end of the process."""

    def __init__(self, status: int):
        self.status = status


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Runs a command line with an output; its status, and what it says on stderr."""

    def end(status):
        raise Ended(status)

    def call(line, output):
        monkeypatch.setattr(os, "_exit", end)
        monkeypatch.setattr(sys, "argv", ["snpjax", *shlex.split(line.format(tmp_path))])
        with output, (tmp_path / "messages").open("w+") as messages, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", output)
            patch.setattr(sys, "stderr", messages)
            with pytest.raises(Ended) as ended:
                main()
            messages.seek(0)
            return ended.value.status, messages.read()

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)
    yield call
    gc.enable()


def full():
    return open("/dev/full", "w")


def closed():
    """A stream that cannot be written, as a closed one."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(descriptor, "wb")))


def broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


@pytest.mark.parametrize("line", COMMANDS)
def test_an_output_that_cannot_be_written_is_one_sentence(command, line):
    for output, reason in ((full, "No space left on device"), (closed, "Bad file descriptor")):
        status, messages = command(line, output())
        sentence = f"error: the output cannot be written: {reason} (write it to another file)\n"
        assert status == 2 and messages.endswith(sentence), messages
        assert messages.count("error") == 1 and "Traceback" not in messages
    status, messages = command(line, broken_pipe())
    assert status == 141 and "error" not in messages and "Traceback" not in messages


@pytest.mark.parametrize(
    ("streams", "arguments", "said"),
    [
        (">&-", ["--version"], "error: the output cannot be written: Bad file descriptor"),
        (">&- 2>&- <&-", ["cache", "info"], ""),
        ("2>&-", ["no-command"], ""),
        ("2>/dev/full", ["no-command"], ""),
    ],
)
def test_streams_of_a_process(streams, arguments, said):
    shell = "sh", "-c", f'exec "$@" {streams}', "sh"
    done = finished(*shell, sys.executable, "-m", "snpjax", *arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(said)


@pytest.fixture
def terminal():
    """The ends of a terminal of 60 columns."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    yield master, slave
    os.close(master)


@pytest.mark.parametrize(("term", "bold"), [(None, 0), ("dumb", 0), ("xterm", 1)])
def test_a_terminal_of_which_nothing_is_known_shows_text(
    command, terminal, monkeypatch, term, bold
):
    if term is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", term)
    master, slave = terminal
    status, messages = command(f"run {FILE} --steps 2", open(slave, "w"))
    text = os.read(master, 2**16).decode()
    assert (status, messages) == (0, "") and min(text.count("\x1b"), 1) == bold
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    table = plain[plain.index("step ") : plain.index("not halted")]
    assert heads(table) == ["step", "chooser", "output", "rules", "out:output"]
    assert max(map(len, table.splitlines())) <= 60
    monkeypatch.setenv("TERM", "dumb")  # `main` has set it


@pytest.mark.parametrize("columns", ["", "0", "-1", "many"])
def test_columns_that_make_no_sense_are_those_of_a_pipe(monkeypatch, columns):
    wide = succeed("run", FILE)
    assert succeed("run", FILE, width=columns) == wide


# ---- tables of few columns ----


def rooms(num_outputs):
    """A system whose last neurons are outputs."""
    names = [f"room{i}" for i in range(10)]
    neurons = [{"id": name, "spikes": 2, "rules": ["a(aa)*/a -> a", "a^2 -> a"]} for name in names]
    synapses = list(zip(names, names[1:], strict=False))
    return {"neurons": neurons, "synapses": synapses, "output": names[-num_outputs:]}


def heads(text):
    return next(line.split() for line in text.splitlines() if line.startswith("step"))


@pytest.mark.parametrize(
    ("outputs", "width", "expected"),
    [
        (1, 80, ["room0", "room1", "room2", "room3", "room9", "rules", "out:room9"]),
        (1, 60, ["room0", "room1", "room9", "rules", "out:room9"]),
        (1, 40, ["room0", "room9", "rules", "out:room9"]),
        (3, 60, ["room7", "room8", "room9", "rules", "out:room7"]),
        (4, 40, ["room6", "room7", "room8", "out:room6"]),
    ],
)
def test_rules_go_before_output_neurons(native, outputs, width, expected):
    text = succeed("run", native(rooms(outputs)), "--steps", 3, width=width)
    assert heads(text) == ["step", *expected]
    table = text[text.index("step ") : text.index(" not shown;")].splitlines()
    assert max(map(len, table[:-1])) <= width
    solution = snp.run(snp.read(native(rooms(outputs))), max_steps=3)
    shown = [int(name[4:]) for name in expected if name.startswith("room")]
    for step, row in cells(text).items():
        spikes = solution.configurations[int(step), shown]
        assert row[: len(shown)] == list(map(str, spikes.tolist()))
    assert ("rules not shown; --csv or --json gives all" in text) == ("rules" not in expected)


def test_rules_that_cannot_be_read_are_counted(native):
    text = succeed("run", native(rooms(1)), "--steps", 2, width=40)
    assert [row[2] for row in cells(text).values() if row[3:]] == ["10 fired", "9 fired"]


def test_numbers_are_never_cut(native):
    document = {
        "neurons": [{"id": f"{i}", "spikes": 10**18 + i, "rules": []} for i in range(3)],
        "output": ["0", "1", "2"],
        "synapses": [],
    }
    text = succeed("run", native(document), "--int64", width=40)
    assert cells(text)["0"] == [str(10**18)]
    assert "2 of 3 neurons not shown" in text


def test_a_long_run_says_how_many_steps_are_left_out(native):
    assert "... 146 steps ..." in succeed("run", native(RING), "--steps", 200, width=60)
    narrow = succeed("run", native(RING), "--steps", 200, width=40)
    assert list(map(int, cells(narrow))) == [*range(40), *range(186, 201)]


@pytest.mark.parametrize("width", [40, 60])
def test_bars_are_as_long_as_fits(width):
    lines = succeed("run", FILE, "--paths", 64, width=width).splitlines()
    rows = lines[next(i for i, line in enumerate(lines) if line.startswith("number ")) :]
    assert max(map(len, rows)) <= width
    bars = [line.split()[2] for line in rows[2:]]
    assert max(map(len, bars)) == min(width - len("number  paths  "), 40)
