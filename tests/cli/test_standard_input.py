"""`-` in place of a file is the standard input, in the commands that read a model."""

import pytest
from typer.testing import CliRunner

from snpjax.cli.app import app
from tests.support.helpers import REPOSITORY


SYSTEM = (REPOSITORY / "examples" / "natural_numbers.pli").read_bytes()
NET = b"1 1 2 0 0\n1 1 1\n-1 1 1\n1 1\n"


def with_input(text, *arguments):
    return CliRunner().invoke(app, arguments, input=text)


@pytest.mark.parametrize("command", [["info", "-"], ["sleptsov", "info", "-"]])
def test_a_model_is_read_from_the_standard_input(command):
    is_net = command[0] == "sleptsov"
    text, name = (NET, "lsn") if is_net else (SYSTEM, "plingua")
    result = with_input(text, *command, "--from", name)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("-: 1 place" if is_net else "-: 3 neurons")


@pytest.mark.parametrize("command", [["run"], ["explore"], ["check"], ["convert"], ["estimate"]])
def test_the_format_of_the_standard_input_is_named(command):
    more = {"check": ["always halted"], "convert": ["out.json"], "estimate": ["eventually halted"]}
    result = with_input(SYSTEM, *command, "-", *more.get(command[0], []))
    assert result.exit_code == 2
    text = " ".join(result.output.split())
    assert "the standard input has no suffix (write --from FORMAT: one of native, plingua" in text
    assert "lsn" in text and "pnml" in text


def test_errors_name_the_standard_input():
    result = with_input(b"@model<spiking_psystems>\ndef main( {}", "info", "-", "--from", "plingua")
    assert result.exit_code == 2 and result.output.startswith("-:2:")


def test_the_standard_input_is_converted(tmp_path):
    target = tmp_path / "out.json"
    result = with_input(SYSTEM, "convert", "-", f"{target}", "--from", "plingua")
    assert result.exit_code == 0, result.output
    assert target.exists()


def test_a_text_of_the_standard_input_includes_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.pli").write_text("def main() { @mu = x; }")
    text = b'@model<spiking_psystems>\n@include "secret.pli"\n'
    result = with_input(text, "convert", "-", "out.json", "--from", "plingua")
    assert result.exit_code == 2 and "a text that is not read from a file" in result.output
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("more", [[], ["--from", "plingua"], ["--export", "page.html"]])
def test_the_page_needs_a_file(more):
    result = with_input(SYSTEM, "view", "-", *more)
    assert result.exit_code == 2
    assert "the page shows a file, not the standard input" in " ".join(result.output.split())
