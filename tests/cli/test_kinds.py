"""Files of every kind given to every command: named for what they are, and read with `--from`."""

import shutil
from pathlib import Path

import pytest

from tests.support.command import invoke


EXAMPLES = Path(__file__).parents[2] / "examples"
PLI, NET = EXAMPLES / "natural_numbers.pli", EXAMPLES / "half.lsn"
MODEL = EXAMPLES / "proliferation.model.json"
CELLS = EXAMPLES / "proliferation_initial.txt"
COLUMNS = "# proportion mean sd\n0.5 20 2\n0.5 -1 -1\n"

OF_SYSTEM = [["run"], ["info"], ["convert", "@", "x.dot"], ["estimate", "@", "eventually halted"]]
OF_NET = [["sleptsov", "run"], ["sleptsov", "info"], ["sleptsov", "convert", "@", "x.lsn"]]
OF_BOTH = [
    ["explore"],
    ["check", "@", "always step = 0"],
    ["draw", "@", "-o", "x.svg"],
    ["view", "@", "--export", "x.html"],
]


def on(command, file, *more):
    """The command with its file in place of `@`, or at the end."""
    words = [f"{file}" if word == "@" else word for word in command]
    return [*words, *([] if "@" in command else [f"{file}"]), *map(str, more)]


def answer(arguments, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return invoke(*arguments)


def refused(arguments, folder, monkeypatch):
    """The one line on the standard error of a command that refuses."""
    found = answer(arguments, folder, monkeypatch)
    assert found.exit_code == 2 and found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert "snp.read" not in line
    return line


@pytest.mark.parametrize("command", OF_SYSTEM, ids=lambda words: words[0])
def test_commands_of_systems_refuse_nets(command, tmp_path, monkeypatch):
    name = command[0] if command[0] != "estimate" else "run"
    use = f"(use: snpjax sleptsov {name} {NET}{' OUT' if name == 'convert' else ''})"
    assert (
        refused(on(command, NET), tmp_path, monkeypatch) == f"{NET}: this is a file of a net {use}"
    )


@pytest.mark.parametrize("command", OF_NET, ids=lambda words: words[1])
def test_commands_of_nets_refuse_systems(command, tmp_path, monkeypatch):
    use = f"(use: snpjax {command[1]} {PLI}{' OUT' if command[1] == 'convert' else ''})"
    line = refused(on(command, PLI), tmp_path, monkeypatch)
    assert line == f"{PLI}: this is a file of a spiking system {use}"


@pytest.mark.parametrize("command", OF_SYSTEM + OF_NET + OF_BOTH, ids=" ".join)
def test_other_files_are_named(command, tmp_path, monkeypatch):
    expected = "use: snpjax proliferation expected"
    (tmp_path / "types.txt").write_text(COLUMNS)
    (tmp_path / "graph.json").write_text('{"schema": "snpjax-graph/1", "name": ""}')
    for file, what, use in (
        (CELLS, "a histogram", f"{expected} {CELLS} --model MODEL"),
        (
            "types.txt",
            "a table of cell types",
            f"{expected} HISTOGRAM --model types.txt",
        ),
        (MODEL, "a proliferation model", f"{expected} HISTOGRAM --model {MODEL}"),
        ("graph.json", "a configuration graph", "graphs are written, not read; give the model"),
    ):
        line = refused(on(command, file), tmp_path, monkeypatch)
        assert line == f"{file}: this is {what} ({use})"


def test_proliferation_names_other_files(tmp_path, monkeypatch):
    pnml, native = tmp_path / "net.dat", tmp_path / "system.json"
    pnml.write_text("<pnml><net/></pnml>")
    native.write_text('{"schema": "snpjax/1", "neurons": []}')
    types = tmp_path / "types.txt"
    types.write_text(COLUMNS)
    for file, line in (
        (PLI, f"this is a file of a spiking system (use: snpjax run {PLI})"),
        (NET, f"this is a file of a net (use: snpjax sleptsov run {NET})"),
        (pnml, f"this is a file of a net (use: snpjax sleptsov run {pnml} --from pnml)"),
        (native, f"this is a file of a spiking system (use: snpjax run {native})"),
    ):
        for words in ([file, "--model", MODEL], [CELLS, "--model", file]):
            given = on(["proliferation", "expected", *map(str, words), "@"], "--json")
            assert refused(given, tmp_path, monkeypatch) == f"{file}: {line}"
    for words, what in (
        ([types, "--model", MODEL], "a table of cell types"),
        ([MODEL, "--model", MODEL], "a proliferation model"),
        ([CELLS, "--model", CELLS], "a histogram"),
    ):
        given = ["proliferation", "simulate", *map(str, words)]
        assert f"{words[0]}: this is {what} (use: " in refused(given, tmp_path, monkeypatch)


def test_mistakes_of_the_right_kind_keep_their_places(tmp_path, monkeypatch):
    cells = tmp_path / "cells.lsn"  # a suffix of nets
    cells.write_text("# fluorescence cells\n1 2\n2 x\n")
    given = ["proliferation", "expected", f"{cells}", "--model", f"{MODEL}"]
    assert refused(given, tmp_path, monkeypatch).startswith(
        f"{cells}:3:3: count 'x' is not a number (correct the number)"
    )


@pytest.mark.parametrize("command", OF_SYSTEM + OF_BOTH + [["formats", "explain"]], ids=" ".join)
def test_every_command_reads_a_system_of_a_named_format(command, tmp_path, monkeypatch):
    shutil.copy(PLI, tmp_path / "system.txt")
    found = answer(on(command, "system.txt", "--from", "plingua"), tmp_path, monkeypatch)
    assert found.exit_code in (0, 1, 3) and not found.stderr.startswith("error"), found.stderr
    wrong = answer(on(command, "system.txt", "--from", "svg"), tmp_path, monkeypatch)
    assert wrong.exit_code == 2 and "there is no format 'svg' that is read here" in wrong.stderr
    alone = refused(on(command, "system.txt"), tmp_path, monkeypatch)
    assert "unknown suffix '.txt'" in alone and alone.endswith("; or give --from)")


@pytest.mark.parametrize("command", OF_NET + OF_BOTH, ids=" ".join)
def test_every_command_reads_a_net_of_a_named_format(command, tmp_path, monkeypatch):
    shutil.copy(NET, tmp_path / "net.dat")
    found = answer(on(command, "net.dat", "--from", "lsn"), tmp_path, monkeypatch)
    assert found.exit_code in (0, 1, 3) and not found.stderr.startswith("error"), found.stderr


def test_proliferation_reads_a_model_of_a_named_format(tmp_path, monkeypatch):
    shutil.copy(MODEL, tmp_path / "model.txt")
    (tmp_path / "types.json").write_text(COLUMNS)
    base = ["proliferation", "expected", f"{CELLS}", "--time-max", "10", "--model"]
    for words in (["model.txt", "--from", "json"], ["types.json", "--from", "types"]):
        assert answer(base + words, tmp_path, monkeypatch).exit_code == 0
        assert answer(base + words[:1], tmp_path, monkeypatch).exit_code == 2
    wrong = answer([*base, "model.txt", "--from", "lsn"], tmp_path, monkeypatch)
    assert wrong.exit_code == 2 and "(write one of json, yaml, types)" in wrong.stderr
