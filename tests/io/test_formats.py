"""The table of formats, those that are written outside the package, and what a text tells."""

from typing import get_args

import pytest

import snpjax as snp
from snpjax.io import (
    Format,
    GraphFormat,
    Level,
    Losses,
    NetFormat,
    Report,
    Source,
    SystemFormat,
    formats,
    model_text,
)
from snpjax.io.formats import FORMATS
from snpjax.io.kinds import told_by_text
from snpjax.io.read import read_net_source, read_source
from snpjax.sleptsov import SleptsovNet, net_of_text
from tests.support.helpers import REPOSITORY


def read_chain(source: Source, level: Level) -> snp.SpikingSystem:
    """Spikes of neurons in a row, one on each line."""
    report = Report(source)
    spikes, at = [], 0
    for line in source.text.splitlines():
        if not line.isdecimal():
            report.error(at, f"{line!r} is not a number of spikes (write digits)")
        spikes.append(line)
        at += len(line) + 1
    report.finish()
    neurons = [snp.Neuron(f"n{i}", int(s), ["a+/a -> a"]) for i, s in enumerate(spikes)]
    synapses = [(f"n{i}", f"n{i + 1}") for i in range(len(neurons) - 1)]
    return snp.SpikingSystem(neurons, synapses, level=level)


def write_chain(system: snp.SpikingSystem, losses: Losses) -> str:
    for neuron in system.output:
        losses.add(f"output neuron {neuron!r}", "left out")
    return "".join(f"{neuron.spikes}\n" for neuron in system.neurons)


CHAIN = Format("chain", "chains", "system", (".chain",), read_chain, write_chain)


def test_a_format_of_systems_from_outside(tmp_path):
    path = tmp_path / "model.pli"  # whatever its suffix says
    path.write_text("2\n0\n1\n")
    system = snp.read(path, format=CHAIN)
    assert [neuron.spikes for neuron in system.neurons] == [2, 0, 1]
    snp.write(system, path, format=CHAIN)
    assert path.read_text() == "2\n0\n1\n" and snp.read(path, format=CHAIN) == system
    path.write_text("2\nx\n")
    with pytest.raises(snp.ReadError, match=r"model.pli:2:1: 'x' is not a number of spikes"):
        snp.read(path, format=CHAIN)
    with_output = snp.SpikingSystem(system.neurons, system.synapses, output="n1")
    with pytest.raises(snp.WriteError, match=r"chains cannot hold:\n  output neuron 'n1'"):
        snp.write(with_output, path, format=CHAIN)
    variant = snp.SpikingSystem([snp.Neuron("p", 1, ["a -> -a"])], variant=snp.AntiSpikes())
    with pytest.warns(snp.WriteWarning, match="the variant AntiSpikes"):
        snp.write(variant, path, format=CHAIN, lossy=True)
    with pytest.raises(
        ValueError, match=r"chains is a format of a system, not of a net \(use: snp"
    ):
        snp.read_net(path, format=CHAIN)


def test_formats_of_nets_and_graphs_from_outside(tmp_path):
    def reader(source: Source, *, net: str | None) -> SleptsovNet:
        return net_of_text(source.text, {net or "a": 5})

    path = tmp_path / "net"
    path.write_text("t: a -> b")
    arrows = Format("arrows", "arrows", "net", reader=reader, options=("net",))
    assert snp.read_net(path, format=arrows, net="b").marking.tolist() == [0, 5]
    with pytest.raises(ValueError, match="arrows has no option `drop_time`"):
        snp.read_net(path, format=arrows, drop_time=True)
    with pytest.raises(ValueError, match="arrows is read, not written"):
        snp.write_net(snp.read_net(path, format=arrows), path, format=arrows)
    wrong = Format("wrong", "wrong", "net", reader=lambda source: source.text)
    with pytest.raises(TypeError, match="gave 't: a -> b', not a net"):
        snp.read_net(path, format=wrong)

    sizes = Format(
        "sizes", "sizes", "graph", writer=lambda g, o: {"": [b"%d" % g.num_configurations]}
    )
    graph = snp.explore(snp.SpikingSystem([snp.Neuron("p", 2, ["a+/a -> a"])]))
    assert snp.write_graph(graph, path, format=sizes) == (path,) and path.read_bytes() == b"3"
    with pytest.raises(ValueError, match="sizes has no option `chain`"):
        snp.write_graph(graph, path, format=sizes, chain=True)


def test_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'x' has no `reader` and no `writer`"):
        Format("x", "X", "system")
    with pytest.raises(ValueError, match="The suffix is 'X'. Write it in lower case, with its dot"):
        Format("x", "X", "system", ("X",), read_chain)
    with pytest.raises(ValueError, match="`holds` is 'sytem': did you mean 'system'?"):
        Format("x", "X", "sytem", (".x",), read_chain)  # pyright: ignore
    system = snp.SpikingSystem([snp.Neuron("x")])
    silent = Format("x", "X", "system", (".x",), writer=lambda system, losses: None)
    with pytest.raises(TypeError, match="The writer of X gave None. Return the text."):
        snp.write(system, tmp_path / "a.x", format=silent)
    assert not (tmp_path / "a.x").exists()
    for wrong in (write_chain, Format):
        with pytest.raises(TypeError, match="Give a Format object"):
            snp.write(system, tmp_path / "a.x", format=wrong)  # pyright: ignore


def test_names_are_those_of_the_table():
    for holds, names in (("system", SystemFormat), ("net", NetFormat), ("graph", GraphFormat)):
        assert set(formats.formats_of(holds)) == set(get_args(names))
    assert not formats.formats_of("system").keys() & formats.formats_of("net").keys()
    assert len(formats.FORMATS) == sum(
        len(get_args(x)) for x in (SystemFormat, NetFormat, GraphFormat)
    )


def test_a_shared_suffix_is_decided_by_the_text(tmp_path, monkeypatch):
    net = Format(
        "own", "own", "net", (".chain",), read_chain, recognises=lambda s: s.text.startswith("net")
    )
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, CHAIN, net))
    path = tmp_path / "a.chain"
    path.write_text("net")
    assert formats.is_of_net(path)
    assert formats.format_to_read(Source("a.chain", "net"), "net") == net
    with pytest.raises(snp.ReadError, match=r"this is a file of a net \(use: snp.read_net"):
        snp.read(path)
    path.write_text("1")
    assert not formats.is_of_net(path)
    assert formats.format_to_read(Source("a.chain", "1"), "system") == CHAIN
    with pytest.raises(snp.ReadError, match=r"a file of a spiking system \(use: snp.read\)"):
        snp.read_net(path)
    with pytest.raises(snp.ReadError, match="a.chain: no format is recognised"):
        formats.format_to_read(Source("a.chain", "1"), "net")


def test_a_trained_system_is_refused_in_few_lines(tmp_path):
    """Weights are losses of one kind, and the message names the format that holds them."""
    neurons = [snp.Neuron(f"x{i}", 0, ["a -> a"]) for i in range(20)]
    synapses = [("x0", f"x{i}", (-1) ** i * (i + 1)) for i in range(1, 20)]
    system = snp.SpikingSystem(neurons, synapses, signed=True)
    with pytest.raises(snp.WriteError) as caught:
        snp.write(system, tmp_path / "x.pli")
    assert len(caught.value.items) == 20
    assert str(caught.value).splitlines() == [
        "P-Lingua 4 cannot hold:",
        "  the declaration that counts may be negative (written without it)",
        "  weight -2 of synapse (x0, x1) (written with weight 1); and 18 more like it",
        "Write a .snp.json file, which holds every part of a system, or write with these losses "
        "(lossy=True, --lossy).",
    ]
    snp.write(system, tmp_path / "x.snp.json")
    assert snp.read(tmp_path / "x.snp.json") == system


# HSN names the files of its sub-nets.
READ_AND_WRITTEN = [x for x in FORMATS if x.reader and x.writer and "sub-nets" not in x.keeps]


@pytest.mark.parametrize("format", READ_AND_WRITTEN, ids=lambda format: format.name)
def test_a_format_says_whether_it_keeps_positions(format):
    """As the dialog of the page does before a model is saved."""
    pair, net = [snp.Neuron("0", 1, ["a -> a"]), snp.Neuron("1")], net_of_text("t1: p1 -> p2")
    of_pair = {"0": [30.0, 40.5], "1": [-50.0, 60.0]}
    of_net = {"p1": [1.0, 2.5], "p2": [3.0, -4.0], "t1": [5.0, 6.0]}
    path, is_net = f"model{format.suffixes[0]}", format.holds == "net"
    if is_net:
        text, losses = model_text(net.replace(notes={"positions": of_net}), format)
        again = read_net_source(Source(path, text), format)
    else:
        system = snp.SpikingSystem(pair, [("0", "1")], notes={"positions": of_pair})
        text, losses = model_text(system, format)
        again = read_source(Source(path, text), format, "extended")
    assert losses.items == []
    are_kept = again.notes.get("positions") == (of_net if is_net else of_pair)
    assert are_kept == ("positions" in format.keeps)


@pytest.mark.parametrize("name", ["", "größe"])
@pytest.mark.parametrize("names", [("0", "1"), ("p", "q"), ("größe 2", "1"), ("gr_e", "größe")])
@pytest.mark.parametrize(
    "format", [x for x in READ_AND_WRITTEN if x.holds == "system"], ids=lambda format: format.name
)
def test_names_that_a_format_replaces_are_noted(format, names, name):
    """And are no reason to refuse a file."""
    neurons = [snp.Neuron(names[0], 1, ["a -> a"]), snp.Neuron(names[1])]
    system = snp.SpikingSystem(neurons, [names], name=name)
    text, losses = model_text(system, format)
    again = read_source(Source("model", text), format, "extended")
    assert losses.items == []
    assert (losses.renamed == []) == (tuple(again.names) == names and again.name == name)
    assert (f"name {name!r} of the system (left out)" in losses.renamed) == (again.name != name)


@pytest.mark.parametrize(
    "text, kind",
    [
        ("@model<spiking_psystems>\n", "plingua"),
        ('{"neurons": []}', "websnapse"),
        ("neurons:\n- id: n\n", "factory-yaml"),
        ("<?xml version='1.0'?><pnml/>", "pnml"),
        ("|0|\n|\nf 0 0 0 0 0 0 0\n", "greatspn"),
        ('{"populations": []}', "json"),
        ("populations:\n- name: a\n", "yaml"),
        ("1 2\n3 4\n", "histogram"),
        ("# a comment\n\n1 2 3\n", "cell types"),
        ("1 2\n1 2 3\n", None),
        ("1 2 3 4\n", None),
        ("1 2\n# @model\n", "histogram"),
        ("p cnf 3 2\n", None),
        ("", None),
    ],
)
def test_kinds_that_the_text_tells(text, kind):
    told = told_by_text(Source("file", text))
    assert (told and (told.format or told.kind)) == kind


def test_python_names_its_functions():
    with pytest.raises(snp.ReadError, match=r"this is a file of a net \(use: snp.read_net\)"):
        snp.read(REPOSITORY / "examples" / "half.lsn")
    with pytest.raises(snp.ReadError, match=r"a histogram \(use: snpjax.io.proliferation"):
        snp.read_net(REPOSITORY / "examples" / "proliferation_initial.txt")
