"""`snpjax explore`: what it prints and writes, and how it ends."""

import dataclasses
import json
import os
import re

import pytest

import snpjax as snp
from snpjax.cli.memory_options import MemoryOptions
from tests.cli.test_cli import NATURALS, OVERFLOW, invoke, native as native, succeed
from tests.support.graph_readers import read_aut, read_json, read_prism, read_smv
from tests.support.helpers import PAIR


@pytest.fixture
def naturals(native):
    return native(NATURALS)


def rows(text):
    """The rows of the table by depth."""
    lines = (line.replace(",", "").split() for line in text.splitlines())
    return [[int(x) for x in line] for line in lines if len(line) == 4 and line[0].isdigit()]


def test_what_is_said_of_a_graph(naturals):
    text = succeed("explore", naturals, "--numbers", 6)
    graph = snp.explore(snp.read(naturals))
    first, second, *_ = text.splitlines()
    assert first == f"{naturals}: naturals, 3 neurons, 7 rules, 4 synapses"
    assert second == (
        f"complete: {graph.num_configurations} configurations up to depth {graph.depth}"
    )
    table = rows(text)
    assert sum(row[1] for row in table) == graph.num_configurations
    assert sum(row[2] for row in table) == graph.num_choices
    assert sum(row[3] for row in table) == len(graph.halting())
    choices, transitions = graph.num_choices, graph.num_transitions
    assert f"\n{choices} choices, {transitions} distinct transitions\n" in text
    assert "\ndeterministic: no\n" in text and "\nconfluent: yes\n" in text
    low, high = graph.bounds()["3"]
    assert f", 3 {low} to {high}\n" in text
    values = ", ".join(map(str, graph.intervals(6).values))
    assert f"\nnumbers computed up to 6: {values} (all of them)" in text


def test_json(naturals):
    value = json.loads(succeed("explore", naturals, "--json", "--numbers", 6))
    graph = snp.explore(snp.read(naturals))
    assert value["file"] == naturals and value["neurons"] == ["1", "2", "3"]
    assert value["configurations"] == graph.num_configurations
    assert value["choices"] == graph.num_choices
    assert value["transitions"] == graph.num_transitions
    assert value["complete"] is True and value["stop"] == "complete"
    assert value["halting"] == len(graph.halting()) and value["deadlocks"] == len(graph.deadlocks())
    assert value["bounds"] == {name: list(x) for name, x in graph.bounds().items()}
    assert value["unused_rules"] == [list(x) for x in graph.unused_rules()]
    assert value["numbers"]["3"] == {
        "values": list(graph.intervals(6).values),
        "complete_up_to": 6,
    }


@pytest.mark.parametrize(
    "option, reason", [("--max-configurations", "configurations"), ("--max-depth", "depth")]
)
def test_a_limit_is_said_and_no_failure(naturals, option, reason):
    text = succeed("explore", naturals, option, 2)
    assert f"NOT COMPLETE: the limit of {reason} was reached; {option} allows more" in text
    assert re.search(r"of which \d+ configurations? (was|were) not followed", text)
    assert "confluent: not known" in text and "rules never used so far: " in text


def test_an_overflow_fails(native):
    result = invoke("explore", native(OVERFLOW))
    assert result.exit_code == 1 and "NOT COMPLETE: a number of spikes left" in result.stdout
    assert result.stderr == "error: a number of spikes left the range of 32 bits\n"


def test_little_memory(naturals):
    options = ["--memory", "1.5G", "--host-memory", "300k", "--spill-folder", "."]
    assert succeed("explore", naturals, *options) == succeed("explore", naturals)
    assert MemoryOptions("1.5G", "300k").limits() == snp.MemoryLimits(3 * 2**29, 300 * 2**10)


def test_fingerprints_say_what_may_be_missed(naturals):
    num = snp.explore(snp.read(naturals)).num_configurations
    text = succeed("explore", naturals, "--fingerprints")
    assert f"; one is missed with probability {num**2 / 2**65:.1e} at most" in text
    value = json.loads(succeed("explore", naturals, "--fingerprints", "--json"))
    assert value["missed"] == num**2 / 2**65
    assert json.loads(succeed("explore", naturals, "--json"))["missed"] == 0
    text = succeed("check", naturals, "always 1 <= 9", "--fingerprints")
    assert "proved" in text and "one is missed with probability" in text


def test_no_memory_is_said(naturals, monkeypatch):
    explored = snp.explore

    def explore(system, **options):
        return dataclasses.replace(explored(system, **options), stop=snp.Stop.OUT_OF_MEMORY)

    monkeypatch.setattr(snp, "explore", explore)
    result = invoke("explore", naturals)
    assert result.exit_code == 1 and result.stderr == "error: there is no memory for more\n"
    assert "NOT COMPLETE: there is no memory for more; use --memory, --host-memory" in result.stdout


@pytest.mark.slow
def test_saturated_clocked_and_with_any_input(native):
    sink = {
        "neurons": [{"id": "p", "spikes": 1, "rules": ["a+/a -> a"]}, {"id": "q=1"}],
        "synapses": [["p", "p"], ["p", "q=1"]],
        "input": {"p": [0]},
    }
    file = native(sink)
    assert "complete: 4 configurations" in succeed("explore", file, "--saturate", "q=1=3")
    assert "complete: 6 configurations" in succeed(
        "explore", file, "--saturate", "q=1=3", "--clock", 5
    )
    text = succeed("explore", file, "--saturate", "q=1=3", "--inputs", 2)
    assert "environment of p" in text


def test_written_files(naturals, tmp_path):
    targets = [tmp_path / f"g.{x}" for x in ("json", "aut", "tra", "smv", "svg", "dot", "graphml")]
    options = [x for target in targets for x in ("-o", target)]
    text = succeed("explore", naturals, *options, "--labels", "emissions")
    assert [line for line in text.splitlines() if line.startswith("wrote ")] == [
        f"wrote {tmp_path / name}"
        for name in "g.json g.aut g.sta g.lab g.tra g.smv g.svg g.dot g.graphml".split()
    ]
    graph = snp.explore(snp.read(naturals))
    for read in (read_json(targets[0]), read_aut(targets[1]), read_prism(targets[2])):
        assert read.num_configurations == graph.num_configurations
        assert len(read.edges) == graph.num_choices
    assert {label for _, label, _ in read_aut(targets[1]).edges} == {"silent", "3=1"}
    assert len(read_smv(targets[3]).explore()[0]) == graph.num_configurations


@pytest.mark.parametrize(
    "options, message",
    [
        (["-o", "x.txt"], "the suffix '.txt' cannot be written"),
        (
            ["--labels", "names"],
            "there is no kind of labels 'names' (write one of rules, emissions)",
        ),
        (["--saturate", "q"], "'q' is no NAME=N"),
        (["--saturate", "z=4"], "There is no neuron 'z'"),
        (["--saturate", "q=4"], "Neuron 'q' has rules"),
        (["--inputs", "3"], "No neuron has an input train. --inputs needs one."),
        (["--layout", "none"], "there is no layout 'none'"),
        (["--max-configurations", "0"], "--max-configurations"),
        (
            ["--memory", "4 Gb of it"],
            "'4 Gb of it' is not a size (write a number of bytes, or 512M",
        ),
        (["--host-memory", "-4"], "'-4' is not a size"),
        (["--spill-folder", "no_such_folder"], "no_such_folder is not a folder"),
        (["--fingerprints", "--devices", "2"], "or --devices."),
    ],
)
def test_bad_usage(tmp_path, options, message):
    path = tmp_path / "pair.pli"
    path.write_text(PAIR)
    result = invoke("explore", path, *options)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in " ".join(result.stderr.split())


def test_a_file_that_cannot_be_written(naturals, tmp_path):
    result = invoke("explore", naturals, "-o", tmp_path / "missing" / "g.aut")
    assert result.exit_code == 2 and result.stdout == ""
    assert f"missing{os.sep}g.aut: there is no folder" in result.stderr


def test_a_folder_is_refused_before_the_search(naturals, tmp_path, monkeypatch):
    monkeypatch.setattr(snp, "explore", lambda *_, **__: pytest.fail("it was explored"))
    assert invoke("explore", naturals, "-o", tmp_path / "missing" / "g.aut").exit_code == 2


def test_an_error_of_writing_names_the_file(naturals, tmp_path):
    target = tmp_path / "g.aut"
    target.mkdir()
    result = invoke("explore", naturals, "-o", target)
    assert result.exit_code == 2 and f"error: {target}: Is a directory" in result.stderr
    assert f".{target.name}" not in result.stderr and len(os.listdir(tmp_path)) == 2


def test_what_a_limit_cuts_is_not_called_deterministic(tmp_path):
    """The first configuration has more successors than are kept."""
    rules = ["a^2/a -> a", "a^2 -> lambda"]
    system = snp.SpikingSystem([snp.Neuron(f"n{i}", 2, rules) for i in range(8)], [])
    path = tmp_path / "a.snp.json"
    snp.write(system, path)
    graph = snp.explore(system, max_configurations=50)
    assert graph.num_choices == 0 and graph.is_deterministic is False
    text = succeed("explore", path, "--max-configurations", 50)
    assert "deterministic so far: no" in text and "rules never used so far: not known" in text
    assert "0 choices, 0 distinct transitions (no configuration has all its choices here)" in text
