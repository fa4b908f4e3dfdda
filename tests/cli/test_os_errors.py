"""Advice on errors of the operating system."""

import errno
import os

import pytest
import typer

import snpjax as snp
from snpjax.cli.ending import write_failure


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "(free space on the disk, or write to another one)"),
        (errno.EACCES, "(check the permissions)"),
        (10**6, "(check the name and the permissions)"),
        (errno.EROFS, "(write to another folder)"),
    ],
)
def test_the_advice_of_the_command_matches_the_error(number, advice, tmp_path, capsys):
    end = write_failure(tmp_path / "x", OSError(number, os.strerror(number)))
    assert isinstance(end, typer.Exit)
    shown = capsys.readouterr().err
    assert os.strerror(number) in shown and advice in shown


def test_the_advice_of_readers_matches_the_error(tmp_path):
    with pytest.raises(ValueError, match="choose a shorter name"):
        snp.read(tmp_path / ("x" * 1000 + ".pli"))
