"""`snpjax convert`: one format into another, and what the other cannot hold."""

import json
import re
import sys

import networkx
import pytest

import snpjax as snp
from snpjax.io import formats_of
from snpjax.sleptsov import Petri, net_of_text
from tests.cli.test_cli import invoke, succeed
from tests.support.helpers import PAIR


CHAIN = "2\n2\n7\n3 0\n1 1\n0\n0 a* 1 1 0\n1 a1 1 1 2\n"


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair.pli"
    path.write_text(PAIR)
    return path


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain.in"
    path.write_text(CHAIN)
    return path


def test_to_native(chain, tmp_path):
    target = tmp_path / "chain.json"
    assert succeed("convert", chain, target).splitlines() == [
        f"{chain}: 2 neurons, 2 rules, 1 synapse",
        f"{target}: written as snpjax native",
    ]
    assert snp.read(target) == snp.read(chain)
    assert json.loads(target.read_text())["schema"] == "snpjax/1"


def test_there_and_back(chain, tmp_path):
    succeed("convert", chain, tmp_path / "chain.snp.json")
    succeed("convert", tmp_path / "chain.snp.json", tmp_path / "again.in")
    assert (tmp_path / "again.in").read_text() == CHAIN


def test_the_file_that_is_read_may_be_written(chain):
    succeed("convert", chain, chain)
    assert chain.read_text() == CHAIN


def test_formats_may_be_named(pair, chain, tmp_path):
    text = tmp_path / "model.txt"
    chain.rename(text)
    target = tmp_path / "drawing"
    output = succeed("convert", text, target, "--from", "cusnp", "--to", "dot")
    assert output.splitlines()[1] == f"{target}: written as DOT"
    assert target.read_text() == snp.to_dot(snp.read(text, format="cusnp"))


def test_losses_are_refused(pair, tmp_path):
    target = tmp_path / "pair.in"
    target.write_text("kept")
    result = invoke("convert", pair, target)
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.splitlines() == [
        f"error: {target}: cuSNP cannot hold:",
        "  output neuron 'q' (left out)",
        "Write a .snp.json file, which holds every part of a system, or write with these losses "
        "(lossy=True, --lossy).",
    ]
    assert target.read_text() == "kept"


def test_losses_are_named(pair, tmp_path):
    target = tmp_path / "pair.in"
    result = invoke("convert", pair, target, "--lossy")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        f"warning: {target}: lost in cuSNP: output neuron 'q' (left out)",
        f"note: {target}: not kept in cuSNP: the names of 2 neurons (they are numbered from 0)",
    ]
    assert result.stdout.splitlines()[1] == f"{target}: written as cuSNP"
    assert snp.read(target).num_rules == 4


def test_a_refusal_tells_losses_by_kind_and_every_loss_has_its_line(tmp_path):
    source, target = tmp_path / "many.snp.json", tmp_path / "many.in"
    neurons = [snp.Neuron(f"n{i}", 1, ["a(aa)+/a -> a"]) for i in range(50)]
    snp.write(snp.SpikingSystem(neurons), source)
    refused = invoke("convert", source, target).stderr.splitlines()
    assert len(refused) == 3
    one = "  guard a{3}(aa)* of neuron 'n0', rule 1 (the rule is left out)"
    assert refused[1] == f"{one}; and 49 more like it"
    report = json.loads(invoke("convert", source, target, "--json").stdout)
    assert len(report["losses"]) == 50
    lost = invoke("convert", source, target, "--lossy").stderr.splitlines()
    assert len(lost) == 51 and lost.pop().startswith(f"note: {target}: not kept in cuSNP: ")
    assert all(line.startswith(f"warning: {target}: lost in cuSNP: guard") for line in lost)


def test_names_that_a_format_does_not_keep_are_notes(tmp_path):
    source, target = tmp_path / "named.snp.json", tmp_path / "named.in"
    neurons = [snp.Neuron(name, 1, ["a* / a -> a"]) for name in ("in 1", "1")]
    system = snp.SpikingSystem(neurons, name="a pair")
    snp.write(system, source)
    names = ["name 'a pair' of the system (left out)"]
    names.append("the names of 1 neuron (they are numbered from 0)")
    result = invoke("convert", source, target)
    assert result.exit_code == 0 and result.stdout.splitlines()[1].endswith("written as cuSNP")
    notes = [f"note: {target}: not kept in cuSNP: {name}" for name in names]
    assert result.stderr.splitlines() == notes
    result = invoke("convert", source, target, "--json")
    data = json.loads(result.stdout)
    assert data["written"] and data["losses"] == [] and data["renamed"] == names
    assert result.stderr.splitlines() == notes
    # A file that is not written has no notes.
    snp.write(system.replace(output="1"), source)
    result = invoke("convert", source, target, "--json")
    assert json.loads(result.stdout)["renamed"] == names and "note:" not in result.stderr
    snp.write(system, target)  # without a warning
    assert snp.read(target).names.keys() == {"0", "1"}


def test_notes_that_are_no_json_are_losses(tmp_path):
    """A file cannot hold such notes, but a program may have made the system."""
    circle: list = []
    circle.append(circle)
    notes = {"expected": float("nan"), "who": object(), "again": circle, 7: "kept"}
    system = snp.SpikingSystem([snp.Neuron("x")], notes=notes)  # pyright: ignore[reportArgumentType]
    for name, lost in (("m.snp.json", ["expected", "who", "again"]), ("m.yaml", ["expected"])):
        with pytest.raises(snp.WriteError) as caught:
            snp.write(system, tmp_path / name)
        assert [item.split(",")[0] for item in caught.value.items] == [f"note {n!r}" for n in lost]
        with pytest.warns(snp.ModelWarning):
            snp.write(system, tmp_path / name, lossy=True)
        assert snp.read(tmp_path / name) == system
    assert snp.read(tmp_path / "m.snp.json").notes == {"7": "kept"}


def test_json(pair, chain, tmp_path):
    target = tmp_path / "out.in"
    assert json.loads(succeed("convert", chain, target, "--json")) == {
        "file": f"{chain}",
        "output": f"{target}",
        "format": "cusnp",
        "neurons": 2,
        "rules": 2,
        "synapses": 1,
        "losses": [],
        "renamed": [],
        "written": True,
    }
    for options, status, written in (((), 1, False), (("--lossy",), 0, True)):
        result = invoke("convert", pair, target, "--json", *options)
        data = json.loads(result.stdout)
        assert result.exit_code == status and data["written"] == written
        assert data["losses"] == ["output neuron 'q' (left out)"]
        assert "output neuron 'q' (left out)" in result.stderr


def test_names_beside_a_cusnp_file(pair, tmp_path):
    target, names = tmp_path / "pair.in", tmp_path / "names.txt"
    assert invoke("convert", pair, target, "--names", names).exit_code == 1
    assert not names.exists()
    assert invoke("convert", pair, target, "--names", names, "--lossy").exit_code == 0
    assert names.read_text() == '0 "p"\n1 "q"\n'
    result = invoke("convert", pair, tmp_path / "pair.dot", "--names", names)
    assert result.exit_code == 2 and "only cuSNP files have no names" in result.stderr


def test_strict(tmp_path):
    source = tmp_path / "model.in"
    source.write_text(CHAIN.replace("a1 1 1 2", "a1 1 2 2"))
    succeed("convert", source, tmp_path / "model.json")
    result = invoke("convert", source, tmp_path / "strict.json", "--strict")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{source}:8:8: neuron '1', rule 1 produces 2 but consumes 1")
    assert not (tmp_path / "strict.json").exists()


def test_warnings_about_the_file_that_is_read(tmp_path):
    source = tmp_path / "model.in"
    source.write_text(CHAIN.replace("0 a* 1", "0 a1 2"))
    result = invoke("convert", source, tmp_path / "model.json")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"{source}:7:3: warning: neuron '0', rule 1: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.in", "x.dot"], "none.in: there is no such file"),
        (["chain.in", "x.txt"], "the suffix '.txt' cannot be written (write .snp.json, .json,"),
        (["chain.in", "x"], "the suffix '' cannot be written"),
        (["chain.in", "x.xmp"], "WebSnapse .xmp is read, not written"),
        (["chain.in", "x.in", "--to", "esnp"], "there is no format 'esnp' that is written"),
        (["chain.in", "x.in", "--from", "dot"], "there is no format 'dot' that is read"),
        (["chain.in", "x.in", "--from", "CUSNP"], "there is no format 'CUSNP' that is read"),
        (["chain.in", "none/x.in"], "none/x.in: there is no folder none (create it first)"),
        (["chain.in", "folder.in"], "folder.in: Is a directory"),
        (["chain.in"], "Missing argument 'OUT'"),
        (["bad.in", "x.dot"], "bad.in:1:1: the number of neurons is 'bad'"),
    ],
)  # fmt: skip
def test_mistakes(chain, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.in").mkdir()
    (tmp_path / "bad.in").write_text("bad")
    before = sorted(path.name for path in tmp_path.iterdir())
    result = invoke("convert", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in result.stderr.replace("\n", " ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_without_networkx(chain, tmp_path, monkeypatch):
    succeed("convert", chain, tmp_path / "chain.graphml")
    assert len(networkx.read_graphml(tmp_path / "chain.graphml")) == 2
    monkeypatch.setitem(sys.modules, "networkx", None)
    result = invoke("convert", chain, tmp_path / "other.graphml")
    assert result.exit_code == 2
    assert (
        result.stderr
        == "error: networkx is not installed (pip install '.[io]' in a clone of snpjax)\n"
    )


def test_the_help_names_every_format():
    text = " ".join(succeed("convert", "--help").split())
    match = re.search(r"read and written: (.*?); only read: (.*?); only written: (.*?)\.", text)
    assert match is not None
    both, read, written = (set(names.split(", ")) for names in match.groups())
    formats = formats_of("system")
    assert both == {name for name, x in formats.items() if x.reader and x.writer}
    assert read == {name for name, x in formats.items() if not x.writer}
    assert written == {name for name, x in formats.items() if not x.reader}
    text = " ".join(succeed("sleptsov", "convert", "--help").split())
    assert "Formats: read and written: lsn, hsn, " in text
    assert "; only read: greatspn, tapn, pipe. " in text
    text = " ".join(succeed("explore", "--help").split())
    assert ".tra .sta .lab (PRISM explicit)" in text


def test_a_rule_in_a_comment_is_no_loss(tmp_path):
    source, target = tmp_path / "a.net", tmp_path / "a.lsn"
    snp.write_net(net_of_text("t: p1 -> p2", {"p1": 2}, rule=Petri()), source)
    result = invoke("sleptsov", "convert", source, target)
    assert result.stderr == (
        f"note: {target}: the Petri rule is stored in a comment that only snpjax reads; other "
        "tools fire a transition in its maximal multiplicity\n"
    )
