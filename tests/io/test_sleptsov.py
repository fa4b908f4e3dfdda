"""Files of Sleptsov nets: published ones, sub-nets and commands. What holds for all formats is in
test_conformance.py."""

import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import snpjax as snp
from snpjax.io.read import model_text, read_net_source
from snpjax.io.sleptsov import numbers
from snpjax.io.sleptsov.hsn import read_nested
from snpjax.io.sleptsov.substituting import Nesting
from snpjax.io.source import Source, load
from snpjax.sleptsov import Petri, Sleptsov, SleptsovNet, flat_size, link, net_of_text
from snpjax.sleptsov.programs import matrix_product
from snpjax.sleptsov.subnets import add, mul
from snpjax.testing.reference_sleptsov import Reference
from tests.io.tables.holdable import from_zero, nets
from tests.io.tables.mistakes import quietly, read_text, reread
from tests.io.tables.nets import page
from tests.support.command import invoke
from tests.support.helpers import SHARED, needs_shared
from tests.support.sleptsov_seeds import SEEDS


CASES = SHARED / "cases" / "sleptsov"
KINDS = ("inputs", "outputs", "inhibitors", "tests")


def parse(text: str, format: str, **options: Any) -> SleptsovNet:
    return quietly(read_text, format, text, **options)


def written(net: SleptsovNet, format: str) -> str:
    return reread(format, net)[0]


def unnamed(net: SleptsovNet) -> SleptsovNet:
    return net.replace(place_names=None, transition_names=None, name="")


def by_name(net: SleptsovNet) -> dict[str, Any]:
    """All of a net but the numbers of its nodes."""
    places, transitions = tuple(net.place_names), tuple(net.transition_names)
    named = {
        kind: {(places[p], transitions[t], w) for p, t, w in getattr(net, kind).triples()}
        for kind in KINDS
    }
    pairs = {(transitions[a], transitions[b]) for a, b in net.priorities.tolist()}
    return {**named, "priorities": pairs, "marking": marked(net, net.marking.tolist())}


def marked(net: SleptsovNet, marking: Any) -> dict[str, int]:
    return {n: k for n, k in zip(net.place_names, marking, strict=True) if k}


# Published files


def cases() -> list[Any]:
    if not CASES.is_dir():
        return [pytest.param(None, marks=needs_shared, id="no-cases")]
    found = [json.loads(path.read_text()) for path in sorted((CASES / "expected").glob("*.json"))]
    return [pytest.param(c, id=c["id"]) for c in found if isinstance(c, dict) and "also" in c]


@pytest.mark.parametrize("case", cases())
def test_published_nets(case):
    net = quietly(snp.read_net, CASES / case["net"])
    assert (net.num_places, net.num_transitions) == (case["m"], case["n"])
    assert len(net.inputs) == case["regular_input_arcs"]
    assert len(net.inhibitors) == case["inhibitor_arcs"]
    assert len(net.outputs) == case["output_arcs"]
    assert len(net.priorities) == case["priority_pairs"]
    assert sum(net.marking.tolist()) == case["initial_marking_sum"]
    if case["priority_order"] is not None:
        assert net.priority_order.tolist() == case["priority_order"]
    for also in case["also"]:
        other = quietly(snp.read_net, CASES / also)
        suffix = Path(also).suffix
        is_of_petri = suffix in (".net", ".ndr", ".pnml")
        assert other.rule == (Petri() if is_of_petri else Sleptsov()), also
        other = other.with_rule(net.rule)
        if suffix == ".net":
            assert by_name(other) == by_name(from_zero(net)), also
        elif suffix == ".mcc":
            # The columns are in order of priority, and say which transitions they were.
            assert other == net.replace(
                priorities=(),
                order=net.priority_order,
                place_names=other.place_names,
                transition_names=other.transition_names,
            ), also
            assert list(other.transition_names) == [f"t{t}" for t in range(case["n"])]
        elif suffix == ".pnml":
            assert unnamed(other) == unnamed(net).replace(priorities=other.priorities), also
            assert by_name(other) == by_name(net), also
        else:
            assert unnamed(other) == unnamed(net), also
            assert suffix == ".msn" or by_name(other) == by_name(net), also


def entries(path: str) -> list[Any]:
    if not CASES.is_dir():
        return [pytest.param(None, marks=needs_shared, id="no-cases")]
    return [pytest.param(x, id=x["file"]) for x in json.loads((CASES / path).read_text())]


@pytest.mark.parametrize("entry", entries("expected/features.json"))
def test_rarer_syntax(entry):
    path = CASES / entry["file"]
    if "error" in entry:
        with pytest.raises(snp.ReadError) as caught:
            snp.read_net(path)
        assert all(piece in str(caught.value) for piece in entry["error"])
        return
    net = quietly(snp.read_net, path)
    ids = net.notes.get("ids", {})
    places = ids.get("places", list(net.place_names))
    transitions = ids.get("transitions", list(net.transition_names))
    assert (places, transitions) == (entry["places"], entry["transitions"])
    assert {p: k for p, k in zip(places, net.marking.tolist(), strict=True) if k} == entry[
        "initial"
    ]
    pairs = {(transitions[a], transitions[b]) for a, b in net.priorities.tolist()}
    assert pairs == {tuple(pair) for pair in entry["priorities"]}
    ended = Reference(net).run(rule=entry["rule"])
    assert (ended.status, ended.steps) == (entry["status"], entry["steps"])
    assert [[transitions[t], c] for _, t, c in ended.trace] == entry.get("trace", [])
    marking = dict(zip(places, ended.marking, strict=True))
    assert marking == {**dict.fromkeys(places, 0), **entry["marking"]}


@pytest.mark.parametrize("entry", entries("malformed/index.json"))
def test_published_mistakes(entry):
    with pytest.raises(snp.ReadError) as caught:
        snp.read_net(CASES / entry["file"])
    (found,) = caught.value.diagnostics
    assert found.line == entry["line"]
    assert str(found).startswith(f"{CASES / entry['file']}:{entry['line']}:")
    for piece in entry["mentions"]:
        assert piece.lower() in found.message.lower()


@needs_shared
def test_high_level_files_are_written_back():
    for path in sorted((CASES / "hsn").glob("*.hsn")):
        source = load(path)
        high = quietly(read_nested, source, Nesting.of(source, None))
        again = Source(source.path, model_text(high, "hsn")[0])
        same = quietly(read_nested, again, Nesting.of(again, None))
        assert same.net == high.net
        for one, other in zip(high.substitutions, same.substitutions, strict=True):
            assert (one.name, [*one.roles()]) == (other.name, [*other.roles()])


# Round trips


@settings(max_examples=20)
@given(net=nets(thresholds=False), data=st.data())
def test_given_orders(net, data):
    """SN-MCC keeps an order that is given; elsewhere it becomes a chain of priorities."""
    order = data.draw(st.permutations(range(net.num_transitions)))
    net = from_zero(net).replace(priorities=(), order=order)
    text = written(net, "mcc")
    assert parse(text, "mcc").order is not None
    assert parse(text, "mcc") == net
    assert written(parse(text, "mcc"), "mcc") == text
    text, losses = model_text(net, "lsn")
    assert len(losses.items) == 1
    assert parse(text, "lsn").priority_order.tolist() == order
    forward = [(a, b) for a, b in zip(order, order[1:], strict=False)][:2]
    both = net.replace(priorities=forward)
    assert parse(written(both, "mcc"), "mcc") == both


LONG = "a: 2x !y -> z\nb: z ?2x -> y\nc: !3x y -> \na > b > c"


def test_losses_are_named(tmp_path):
    net = net_of_text(LONG, {"x": 5})
    for name in ("a.lsn", "a.mcc", "a.msn"):
        path = tmp_path / name
        with pytest.raises(snp.WriteError) as caught:
            snp.write_net(net, path)
        found = caught.value.items
        assert "inhibitor arc from x to c with the threshold 3" in found[0]
        assert "test arc from x to b with the threshold 2" in found[1]
        assert len(found) == 2 and not path.exists()
        with pytest.warns(snp.WriteWarning):
            snp.write_net(net, path, lossy=True)
        kept = quietly(snp.read_net, path)
        assert len(kept.inhibitors) == 1 and len(kept.tests) == 0
    twins = quietly(net_of_text, "t: a !a -> ", {"a": 1})
    assert "beside a regular one" in quietly(model_text, twins, "msn")[1].items[0]
    shared = net_of_text("a: a -> b\na': a -> b", {"a": 1})
    text, losses = model_text(shared, "ndr")
    assert "'a'" in losses.items[0] and "one name" in losses.items[0]
    assert parse(text, "ndr").transition_names == ("a''", "a'")
    lines = shared.replace(place_names=["two\nlines", "b"])
    assert "line end" in model_text(lines, "net")[1].items[0]
    assert parse(model_text(lines, "net")[0], "net").place_names == ("two lines", "b")
    assert "'\\x00'" in model_text(shared.replace(name="\x00"), "pnml")[1].items[0]


def test_export_of_priorities_to_pnml_says_who_sees_them():
    net = net_of_text(LONG)
    with pytest.warns(snp.ModelWarning, match="2 are written .* other tools do not see"):
        model_text(net, "pnml")


def test_matrices_that_are_too_large_are_refused(tmp_path):
    net = matrix_product(np.ones((12, 12), int), np.ones((12, 12), int)).net
    for name in ("a.mcc", "a.msn"):
        with pytest.raises(ValueError, match="Write LSN"):
            snp.write_net(net, tmp_path / name)
    snp.write_net(net, tmp_path / "a.lsn")
    assert snp.read_net(tmp_path / "a.lsn") == net


@pytest.mark.slow
def test_the_largest_published_net_in_columns(tmp_path):
    net = matrix_product(np.ones((10, 10), int), np.ones((10, 10), int)).net
    snp.write_net(net, tmp_path / "mm10.mcc")
    assert snp.read_net(tmp_path / "mm10.mcc") == net


# Rarer content


PARTS = ["1", "22", "-3", "-", "x", " ", " ", "\n", "0", "9" * 18, "9" * 19, "9" * 30, "\u00e9"]


@settings(max_examples=200)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=20), block=st.integers(1, 30))
def test_integers_are_those_of_python(parts, block):
    """Whatever blocks they are read in, and with the place of each."""
    text = "".join(parts)
    words = text.split()
    with mock.patch.object(numbers, "_BLOCK", block):
        found = numbers.Words(Source("model", text), numbers.as_bytes(text))
        few = numbers.Words(Source("model", text), numbers.as_bytes(text), count=2)
    assert [text[found.offset(word) :].split()[0] for word in range(len(words))] == words
    for word, value in zip(words, found.values.tolist(), strict=True):
        is_number = re.fullmatch("-?[0-9]+", word) and abs(int(word)) < 2**63
        assert value == (int(word) if is_number else 0)
    assert {word for word in found.wrong} == {
        at for at, word in enumerate(words) if isinstance(numbers.integer(word), str)
    }
    assert few.values.tolist() == found.values.tolist()[:2]
    assert text[: few.end].split() == words[:2]


def test_what_follows_the_numbers_is_ignored():
    numbers = "1 1 1\n0 1 0 1 5"
    expected = parse(numbers, "mcc")
    for rest in (" 7 8", " and words 99999999999999999999", "\n# 1 2", "\nx # y\n1 0\n"):
        assert parse(numbers + rest, "mcc") == expected
    assert parse("\ufeff1 0 0 0 0\nwords\n".removeprefix("\ufeff"), "lsn").num_places == 1
    assert parse("1 0 0 1 0\n1 2\n1 2 3\n\n", "lsn").marking.tolist() == [2]


def test_intervals_may_be_dropped():
    text = "tr t [1,4] a -> b"
    assert parse(text, "net", drop_time=True) == parse("tr t a -> b", "net")
    with pytest.warns(
        snp.ReadWarning, match=r"1:6: .*interval \[1,4\] of transition 't' is dropped"
    ):
        read_net_source(Source("model", text), "net", drop_time=True)
    drawn = "p 0 0 a 0 n\nt 0 0 t 1 4 n\ne a t 1 n"
    assert len(parse(drawn, "ndr", drop_time=True).inputs) == 1
    with pytest.raises(ValueError, match="drop_time"):
        parse("1 0 0 0 0", "lsn", drop_time=True)


def test_drawn_substitutions_are_linked():
    text = SEEDS["ndr"][0]
    net = parse(text, "ndr")
    assert net.num_transitions == 3 + 16
    assert net.transition_names[2] == "sum" and "sum.copy1.t1" in net.transition_names


def test_dialects_of_pnml():
    """All say the same of the second input arc."""
    arc = '<arc id="b" source="q" target="t"'
    dialects = [
        arc + "><arctype><text>inhibitor</text></arctype></arc>",
        arc + '><type value="inhibitor"/></arc>',
        arc + ' type="inhibitor"/>',
        arc + ' type="tapnInhibitor" weight="1"/>',
        arc + ' type="tapnInhibitor" inscription="[0,inf)"/>',
        '<inhibitorArc id="b" source="q" target="t"/>',
    ]
    text = (
        '<place id="p"><initialMarking><value>Default,3</value></initialMarking></place>'
        '<place id="q" initialMarking="2"/><transition id="t"/>'
        '<arc id="a" source="p" target="t" inscription="[0,inf)" weight="2"/>'
    )
    found = [parse(page(text + dialect), "pnml") for dialect in dialects]
    assert found[0] == net_of_text("t: 2p !q ->", {"p": 3, "q": 2}, rule=Petri())
    assert all(net == found[0] for net in found)
    threshold = page(text + arc + ' type="tapnInhibitor" weight="4"/>')
    assert parse(threshold, "pnml").inhibitors.triples() == [(1, 0, 4)]


def test_names_of_pnml_that_are_there_twice_give_way_to_ids():
    named = "<name><text>x</text></name>"
    text = page(f'<place id="a">{named}</place><place id="b">{named}</place>')
    with pytest.warns(snp.ReadWarning, match="'x' is there twice"):
        net = read_net_source(Source("model", text), "pnml")
    assert net.place_names == ("x", "b")


# High-level files


def high(tmp_path: Path, name: str, subnet: str, **changes: str) -> Path:
    text = SEEDS["hsn"][0].replace("add.lsn", subnet)
    for old, new in changes.items():
        text = text.replace(old, new)
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_subnets_are_found_beside_the_file_then_in_the_library(tmp_path):
    path = high(tmp_path, "a.hsn", "add.lsn")
    linked = snp.read_net(path)
    assert Reference(linked).run().marking[4] == 12
    assert snp.read_net(high(tmp_path, "b.hsn", "add")) == linked
    snp.write_net(mul().net, tmp_path / "add.lsn")
    with pytest.raises(snp.ReadError):  # places 1 2 -3 4 -5 of mul mean other things, but exist
        snp.read_net(high(tmp_path, "c.hsn", "nothing.lsn"))
    assert snp.read_net(path).num_transitions == 1 + 29


def test_nested_subnets(tmp_path):
    """p5 := p3 + p4 by a sub-net that is the whole of another file."""
    high(tmp_path, "inner.hsn", "add.lsn")
    (tmp_path / "outer.hsn").write_text(
        "5 1 3 3 1\n1 1 -1\n-1 1 1\n2 1 1\n2 1\n3 20\n4 22\n"
        "1 5 inner.hsn\n3 3\n4 4\n5 -5\n-1 1\n-2 -2\n"
    )
    # At rest the start of the inner program holds a token, and its inputs are empty.
    inner = (tmp_path / "inner.hsn").read_text()
    inner = inner.replace("2 1\n3 7\n4 5", "1 1\n2 1\n3 0")
    (tmp_path / "inner.hsn").write_text(inner)
    net = snp.read_net(tmp_path / "outer.hsn")
    ended = Reference(net).run()
    assert ended.status == "halted" and ended.marking[:5] == (1, 0, 20, 22, 42)


def test_mistakes_of_high_level_files(tmp_path):
    def found(path: Path) -> str:
        with pytest.raises(snp.ReadError) as caught:
            snp.read_net(path)
        return str(caught.value)

    high(tmp_path, "a.hsn", "b.hsn")
    high(tmp_path, "b.hsn", "a.hsn")
    assert "a.hsn contains itself" in found(tmp_path / "a.hsn")
    assert "not beside this file" in found(high(tmp_path, "c.hsn", "../add.lsn"))
    (tmp_path / "bad.lsn").write_text("1 1 1 0 0\n2 1 1\n1 1 1\n")
    message = found(high(tmp_path, "d.hsn", "bad.lsn"))
    assert "d.hsn:12:5: the sub-net bad.lsn cannot be read" in message and "bad.lsn:2:1" in message
    (tmp_path / "empty.lsn").write_text("5 0 0 0 0\n")
    assert "no transition" in found(high(tmp_path, "e.hsn", "empty.lsn"))
    both = found(high(tmp_path, "f.hsn", "add.lsn", **{"-1 4": "-1 4 4", "3 1\n4 2": "3 -1\n9 2"}))
    assert re.search(r"f\.hsn:14:1: input: place 9", both) is None  # it has no start: not looked at
    assert "f.hsn:15:1: a second output" in both and "f.hsn:16:1: '-1 4 4' maps no place" in both
    assert "f.hsn:12:1: the substitution of transition 1 has no start" in both
    assert "no input" in found(
        high(tmp_path, "g.hsn", "add.lsn", **{"1 5 add": "1 3 add", "3 1\n4 2\n": ""})
    )
    pair = {"5 1 6": "5 2 7", "-5 1 1": "-5 1 1\n-1 -2 0"}
    assert "h.hsn:9:1: a priority names transition 1" in found(
        high(tmp_path, "h.hsn", "add", **pair)
    )
    assert "begins no substitution" in found(high(tmp_path, "i.hsn", "add", **{"1 5 add": "1 add"}))
    cut = high(tmp_path, "j.hsn", "add", **{"5 1 6 3 1": "5 1 6 3 2"})
    assert "after 1 of 2 substitutions" in found(cut)


def test_one_place_as_two_inputs_is_told(tmp_path):
    path = high(tmp_path, "a.hsn", "add.lsn", **{"\n4 2\n5 -3": "\n3 2\n5 -3"})
    with pytest.warns(snp.ReadWarning, match="place 3 is an input twice"):
        snp.read_net(path)


def test_subnets_do_not_leave_the_folder_of_their_file(tmp_path):
    """A link beside the file may name another one there, and no other."""
    (tmp_path / "nets" / "below").mkdir(parents=True)
    snp.write_net(add().net, tmp_path / "outside.lsn")
    snp.write_net(add().net, tmp_path / "nets" / "below" / "inside.lsn")
    for name, goal in {
        "file.lsn": Path("..", "outside.lsn"),
        "absolute.lsn": tmp_path / "outside.lsn",
        "folder": tmp_path,
        "good.lsn": Path("below", "inside.lsn"),
        "loop.lsn": "loop.lsn",
    }.items():
        (tmp_path / "nets" / name).symlink_to(goal)
    fix = r"a\.hsn:12:5: .* leads out of the folder of this file by a link \(put the file itself"
    for name in ("file.lsn", "absolute.lsn", "folder/outside.lsn"):
        with pytest.raises(snp.ReadError, match=fix):
            snp.read_net(high(tmp_path / "nets", "a.hsn", name))
    with pytest.raises(snp.ReadError, match="not a name of a file|no sub-net"):
        snp.read_net(high(tmp_path / "nets", "a.hsn", "loop.lsn"))
    linked = snp.read_net(high(tmp_path / "nets", "a.hsn", "good.lsn"))
    # The folder may be reached by a link, and so may the file.
    (tmp_path / "other").symlink_to("nets")
    assert snp.read_net(tmp_path / "other" / "a.hsn") == linked
    # A sub-net in a folder of its own does not leave that.
    high(tmp_path / "nets" / "below", "inner.hsn", "up.lsn")
    (tmp_path / "nets" / "below" / "up.lsn").symlink_to(Path("..", "good.lsn"))
    assert snp.read_net(tmp_path / "nets" / "below" / "inner.hsn") == linked
    (tmp_path / "nets" / "below" / "up.lsn").unlink()
    (tmp_path / "nets" / "here.lsn").write_bytes((tmp_path / "outside.lsn").read_bytes())
    (tmp_path / "nets" / "below" / "up.lsn").symlink_to(Path("..", "here.lsn"))
    with pytest.raises(snp.ReadError, match=r"inner\.hsn:12:5: .*leads out"):
        snp.read_net(high(tmp_path / "nets", "a.hsn", "below/inner.hsn"))


NDR_PLACES = "".join(f"p 1 2 p{number} 0 n\n" for number in range(1, 5))


def doubling(folder: Path, levels: int) -> Path:
    """Files of some 110 bytes, each of which names the one before twice."""
    (folder / "n0.lsn").write_text("4 1 2 0 0\n1 1 1\n-2 1 1\n")
    block = "{0} 4 {1}\n1 1\n2 -2\n-3 3\n-4 -4\n"
    for level in range(1, levels + 1):
        name = f"n{level - 1}.{'hsn' if level > 1 else 'lsn'}"
        blocks = block.format(1, name) + block.format(2, name)
        text = f"4 2 4 0 2\n1 1 1\n-2 1 1\n1 2 1\n-2 2 1\n{blocks}"
        (folder / f"n{level}.hsn").write_text(text)
    return folder / f"n{levels}.hsn"


def test_the_size_of_a_flat_net_is_known_before_it_is_linked(tmp_path):
    path = doubling(tmp_path, 5)
    for source in (path, high(tmp_path, "a.hsn", "add.lsn"), high(tmp_path, "b.hsn", "mul.lsn")):
        made = quietly(read_nested, load(source), Nesting.of(load(source), None))
        net = quietly(link, made)
        arcs = sum(len(getattr(net, kind)) for kind in KINDS)
        size = flat_size(made)
        assert size == (net.num_places, net.num_transitions, arcs, len(net.priorities))
        assert flat_size(net) == size and link(made, max_flat_size=size.total) == net
        with pytest.raises(ValueError, match=f"{size.total:,} in all.*max_flat_size="):
            link(made, max_flat_size=size.total - 1)
    total = flat_size(snp.read_net(path)).total
    assert flat_size(snp.read_net(path, max_flat_size=total)).total == total
    with pytest.raises(snp.ReadError, match=rf"n5\.hsn:6:5: linked, .*: {total:,} in all, of"):
        snp.read_net(path, max_flat_size=total - 1)
    labels = " ".join(f"{role} p{p} {p}" for role, p in zip("iosf", range(1, 5), strict=True))
    drawing = tmp_path / "a.ndr"
    drawing.write_text(f"{NDR_PLACES}t 1 2 t c 0 w n {{*HSN(n5.hsn {labels})}} s\n")
    with pytest.raises(snp.ReadError, match=r"a\.ndr:5:17: linked"):
        snp.read_net(drawing, max_flat_size=total)
    assert snp.read_net(drawing, max_flat_size=2 * total).num_places
    with pytest.raises(ValueError, match="LSN has no option `max_flat_size`"):
        snp.read_net(tmp_path / "n0.lsn", max_flat_size=5)


def test_what_is_too_large_is_refused_at_once(tmp_path):
    """It would be 2^40 nets; and of files that cannot be read, each is opened once."""
    path = doubling(tmp_path, 40)
    with pytest.raises(snp.ReadError, match="n19.hsn:6:5: linked, the net has .*, of which 33,554"):
        snp.read_net(path)
    result = run("info", tmp_path / "n5.hsn", "--max-flat-size", 1000)
    assert result.exit_code == 2 and "n4.hsn:6:5: linked" in result.stderr
    (tmp_path / "n0.lsn").write_text("4 1 2 0 0\n1 1 1\n-2 1 x\n")
    with pytest.raises(snp.ReadError) as caught:
        snp.read_net(path)
    assert str(caught.value).splitlines() == [
        f"{path}:{line}:5: the sub-net n39.hsn cannot be read: {tmp_path / 'n0.lsn'}:3:6: 'x' is "
        "not an integer (write one)"
        for line in (6, 11)
    ]


# Files of every kind


def test_formats_by_suffix(tmp_path):
    path = tmp_path / "a.lsn"
    path.write_text("1 0 0 0 0\n")
    with pytest.raises(snp.ReadError, match="snp.read_net"):
        snp.read(path)
    other = path.rename(tmp_path / "a.txt")
    with pytest.raises(snp.ReadError, match="unknown suffix '.txt'"):
        snp.read_net(other)
    net = snp.read_net(other, format="lsn")
    with pytest.raises(ValueError, match="cannot be written"):
        snp.write_net(net, tmp_path / "b.txt")
    with pytest.raises(ValueError, match="the format is 'lns'"):
        snp.read_net(other, format="lns")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="HighNet"):
        snp.write_net(net, tmp_path / "b.hsn")
    with pytest.raises(snp.ReadError, match="there is no such file"):
        snp.read_net(tmp_path / "missing.lsn")


# The commands


def run(*arguments: object) -> Any:
    return invoke("sleptsov", *arguments)


def test_generate_and_convert(tmp_path):
    result = run("generate", "mmul", tmp_path / "a.hsn", 1, 2, 3, 4, 5, 6, 7, 8)
    assert result.exit_code == 0, result.output
    assert "places p13, p24, p35, p46: 46 places, 14 transitions" in result.stdout
    result = run("convert", tmp_path / "a.hsn", tmp_path / "a.mcc", "--json")
    assert json.loads(result.stdout)["places"] == 294
    net = snp.read_net(tmp_path / "a.mcc")
    assert net == matrix_product([[1, 2], [3, 4]], [[5, 6], [7, 8]]).net
    result = run("generate", "pol", tmp_path / "b.lsn", "--size", 2, "--seed", 5, "--json")
    told = json.loads(result.stdout)
    ended = Reference(snp.read_net(tmp_path / "b.lsn")).run()
    x, *coefficients = told["numbers"]
    assert ended.marking[told["answers"]] == sum(c * x**i for i, c in enumerate(coefficients))
    assert ended.marking[told["done"]["place"]] == told["done"]["tokens"]
    assert "22 places" not in run("generate", "d", tmp_path / "d.net", 1).stdout
    assert snp.read_net(tmp_path / "d.net").num_places == 24


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["generate", "div", "a.lsn", 1], 2, "there is no program 'div'"),
        (["generate", "add", "a.lsn"], 2, "give either NUMBERS"),
        (["generate", "add", "a.lsn", 1], 2, "at least two"),
        (["generate", "mmul", "a.lsn", 1, 2], 2, "2 or more"),
        (["generate", "mmul", "a.lsn", 1, 2, 3], 2, "two square matrices"),
        (["generate", "d", "a.lsn", 1, 2], 2, "number of levels"),
        (["generate", "d", "a.hsn", 1], 2, "no sub-nets"),
        (["generate", "add", "a.txt", 1, 2], 2, "cannot be written"),
        (["generate", "add", "no/a.lsn", 1, 2], 2, "there is no folder no"),
        (["generate", "mmul", "a.mcc", "--size", 13], 1, "Write LSN"),
        (["convert", "bad.lsn", "a.lsn"], 2, "bad.lsn:1:1"),
        (["convert", "good.net", "a.lsn"], 1, "test arc from x to b"),
        (["convert", "good.net", "a.lsn", "--net", "n"], 2, "no option --net"),
        (["convert", "good.net", "a.lsn", "--from", "nte"], 2, "there is no format 'nte'"),
        (["convert", "timed.net", "a.lsn"], 2, "--drop-time"),
        (["convert", "timed.net", "a.lsn", "--drop-time"], 0, ""),
        (["convert", "good.net", "a.lsn", "--lossy"], 0, "lost in LSN: the test arc"),
    ],
)
def test_how_the_commands_end(arguments, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.lsn").write_text("1 1 1\n")
    Path("good.net").write_text(written(net_of_text(LONG), "net"))
    Path("timed.net").write_text("tr t [1,2] a -> b\n")
    result = run(*arguments)
    assert result.exit_code == status, result.output
    assert message in result.output
    assert Path("a.lsn").exists() == (status == 0)
