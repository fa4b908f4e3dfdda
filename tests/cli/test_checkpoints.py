"""`--checkpoint FOLDER`: the same command goes on, and another one is refused in one line."""

import importlib.util

import pytest

from tests.support.command import invoke
from tests.support.helpers import REPOSITORY


EXAMPLES = REPOSITORY / "examples"
NUMBERS = EXAMPLES / "natural_numbers.pli"
INITIAL, CELLS = EXAMPLES / "proliferation_initial.txt", EXAMPLES / "proliferation.model.json"
COMMANDS = {
    "run": ("run", NUMBERS, "--steps", 9),
    "paths": ("run", NUMBERS, "--steps", 9, "--paths", 4),
    "estimate": ("estimate", NUMBERS, "eventually output >= 3", "--paths", 64),
    "explore": ("explore", NUMBERS, "--numbers", 5),
    "check": ("check", NUMBERS, "always output <= 9", "eventually output = 2"),
    "cells": ("proliferation", "simulate", INITIAL, "--model", CELLS, "--time-max", 24),
    "fit": ("proliferation", "calibrate", CELLS, "--starts", 2),
    "net": ("sleptsov", "run", EXAMPLES / "half.lsn", "--seed", 1),
}


#: Fitting compiles 39 programs.
SLOW = {"fit"}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow if x in SLOW else []) for x in COMMANDS]
)
def test_a_command_with_checkpoints(name, tmp_path):
    command = COMMANDS[name]
    expected = invoke(*command)
    for _ in range(2):  # the second one begins at the end
        found = invoke(*command, "--checkpoint", tmp_path / "new")
        assert (found.exit_code, found.stdout, found.stderr) == (
            0,
            expected.stdout,
            expected.stderr,
        )
    is_search = name in ("explore", "check")
    changed = ("--max-depth", 7) if is_search else ("--seed", 7)
    other = invoke(*command, *changed, "--checkpoint", tmp_path / "new")
    assert other.exit_code == 2 and other.stdout == ""
    assert "Give the same arguments to go on from there" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_folders_that_are_not_of_checkpoints(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    found = invoke(*COMMANDS["run"], "--checkpoint", tmp_path)
    assert found.exit_code == 2 and "holds no checkpoints but other files" in found.stderr
    found = invoke(*COMMANDS["run"], "--checkpoint", tmp_path / "notes.txt")
    assert found.exit_code == 2 and "notes.txt is a file" in found.stderr
    assert [x.name for x in tmp_path.iterdir()] == ["notes.txt"]


def test_without_orbax(tmp_path, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "orbax" else real(name)
    )
    found = invoke(*COMMANDS["run"], "--checkpoint", tmp_path)
    assert found.exit_code == 2
    assert "Checkpoints need orbax-checkpoint" in found.stderr
    assert "pip install '.[scale]'" in found.stderr


def test_a_damaged_checkpoint_is_a_line(tmp_path):
    invoke(*COMMANDS["run"], "--checkpoint", tmp_path)
    manifest = next(tmp_path.glob("checkpoint-*.json"))
    manifest.write_text("{")
    found = invoke(*COMMANDS["run"], "--checkpoint", tmp_path)
    assert found.exit_code == 2 and len(found.stderr.splitlines()) == 1
    assert "No checkpoint in" in found.stderr
