"""Help texts list the choices of options, and colours are left out where that is asked for."""

import re

import pytest
import typer
from rich.table import Table
from typer.testing import CliRunner

from snpjax.cli.app import app
from snpjax.cli.options import (
    LAYOUT_NAMES,
    NET_FORMATS,
    SIMULATOR_NAMES,
    SYSTEM_FORMATS,
    compatibility_named,
    format_from,
    layout_named,
)
from snpjax.cli.text import color_system, print_table, to_stdout


def help_of(*command: str) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    return " ".join(result.stdout.split()).replace("- ", "-")  # names are broken at hyphens


def choices(named, *given) -> tuple[str, ...]:
    """The names that a refusal of an unknown one lists."""
    with pytest.raises(typer.BadParameter) as refused:
        named("unknown", *given)
    listed = re.search(r"write one of (.*)\)", refused.value.message)
    assert listed is not None
    return tuple(listed[1].split(", "))


def test_lists_of_choices_are_complete():
    assert choices(layout_named) == LAYOUT_NAMES
    assert choices(compatibility_named) == SIMULATOR_NAMES
    assert choices(format_from, "system") == SYSTEM_FORMATS
    assert choices(format_from, "net") == NET_FORMATS


@pytest.mark.parametrize(
    "command, names",
    [
        (["run"], (*LAYOUT_NAMES, *SIMULATOR_NAMES, *SYSTEM_FORMATS)),
        (["explore"], (*LAYOUT_NAMES, *SYSTEM_FORMATS, *NET_FORMATS, "rules", "emissions")),
        (["sleptsov", "run"], (*NET_FORMATS, "petri", "disjoint", "event", "scan")),
        (["convert"], (*SYSTEM_FORMATS, "dot", "graphml")),
        (["sleptsov", "convert"], ("lsn", "hsn", "pnml")),
    ],
)
def test_choices_are_in_the_help(command, names):
    words = set(re.findall(r"[\w-]+", help_of(*command)))
    assert not {*names} - words


@pytest.mark.parametrize("value", [None, "", "1"])
def test_no_color(monkeypatch, capsys, value):
    """Where NO_COLOR is set, and not empty, a terminal gets plain text."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    with to_stdout() as console:
        table = Table("[b]head", header_style="bold red")
        table.add_row("cell")
        print_table(console, table)
    assert ("\x1b[" in capsys.readouterr().out) == (not value)
    assert (color_system() is None) == bool(value)
