"""`--set NAME=VALUE`: the member of a P-Lingua family, in every command that reads a system."""

import json

import pytest

import snpjax as snp
from tests.support.command import invoke


RING = """@model<spiking_psystems>
def main(n)
{
  @mu = cell{i} : 1<=i<=n;
  @ms(cell{1}) = a;
  @marcs = (cell{i}, cell{i % n + 1}) : 1<=i<=n;
  [a --> a]'cell{i} : 1<=i<=n;
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ring.pli"
    path.write_text(RING)
    return path


def test_every_command_takes_it(file, tmp_path):
    found = json.loads(invoke("run", file, "--set", "n=3", "--steps", 2, "--json").stdout)
    assert len(found["neurons"]) == 3
    assert "complete: 3 configurations" in invoke("explore", file, "--set", "n=3").stdout
    query = 'always "cell{3}" <= 1'
    assert invoke("check", file, query, "--set", "n=3").exit_code == 0
    assert json.loads(invoke("info", file, "--set", "n=3", "--json").stdout)["neurons"] == 3
    assert invoke("convert", file, tmp_path / "x.json", "--set", "n=3").exit_code == 0
    assert snp.read(tmp_path / "x.json") == snp.read(file, parameters={"n": 3})
    assert invoke("draw", file, "-o", tmp_path / "x.svg", "--set", "n=3").exit_code == 0
    assert "cell{3}" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize(
    "options, message",
    [
        ([], ":2:5: main has no value for n (give --set n=8)"),
        (["--set", "m=3", "--set", "n=3"], ":2:5: there is no parameter 'm' (the only one is 'n')"),
        (["--set", "n"], "--set: 'n' is no NAME=VALUE (write a parameter and its value)"),
        (["--set", "n=3", "--set", "n=4"], "--set: 'n' is set twice (leave one out)"),
        (["--set", "n=3.5"], "n is the text '3.5' (a number is needed here)"),
    ],
)
def test_mistakes(file, options, message):
    found = invoke("info", file, *options)
    assert found.exit_code == 2 and message in found.stderr


def test_other_files_have_no_parameters(tmp_path):
    snp.write(snp.SpikingSystem([snp.Neuron("x", 1)]), tmp_path / "x.json")
    (tmp_path / "x.lsn").write_text("2 1 2 1\n1 -1 1\n2 1 1\n1 1\n")
    for command in (["run"], ["info"], ["explore"]):
        found = invoke(*command, tmp_path / "x.json", "--set", "n=8")
        message = "error: snpjax native has no option --set (leave it out)"
        assert found.exit_code == 2 and message in found.stderr
    found = invoke("explore", tmp_path / "x.lsn", "--set", "n=8")
    assert found.exit_code == 2 and "--set: this is a file of a net (leave it out)" in found.stderr


def test_options_of_other_nets_are_refused_by_name(tmp_path):
    (tmp_path / "x.lsn").write_text("2 1 2 1\n1 -1 1\n2 1 1\n1 1\n")
    found = invoke("explore", tmp_path / "x.lsn", "--drop-time")
    message = "error: LSN has no option --drop-time (leave it out)"
    assert found.exit_code == 2 and message in found.stderr
