"""Net files of other tools: each construct is read as it is meant, or refused at its place."""

import json
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import snpjax as snp
from snpjax.io.formats import format_to_read, is_of_net
from snpjax.io.read import read_net_source
from snpjax.io.source import Source
from snpjax.sleptsov import Petri, SleptsovNet, net_of_text
from tests.io.tables.mistakes import findings, quietly
from tests.io.tables.nets import NODES, page
from tests.io.test_sleptsov import parse, unnamed, written
from tests.support.command import invoke
from tests.support.sleptsov_seeds import GREATSPN, NET, PIPE, PM4PY, TAPN


petri_net = partial(net_of_text, rule=Petri())


def remarks(text: str, format: Any, **options: Any) -> tuple[SleptsovNet, list[str]]:
    """The net, and what was remarked with `line:column`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = read_net_source(Source("model", text), format, **options)
    found = [w.message for w in caught if isinstance(w.message, snp.ReadWarning)]
    return net, [
        f"{d.line}:{d.column}: {d.message}" for w in found for d in w.diagnostics if d.line
    ]


def errors(text: str, format: str, **options: Any) -> dict[str, str]:
    return findings(format, text, **options)


# Strict PNML

ARC = '<arc id="a" source="p" target="t"{}>{}</arc>'


def place(inside: str = "", attributes: str = "") -> str:
    return f'<place id="p"{attributes}>{inside}</place><transition id="t"/>' + ARC.format("", "")


def transition(inside: str = "", attributes: str = "") -> str:
    start = f'<place id="p"/><transition id="t"{attributes}>{inside}</transition>'
    return start + ARC.format("", "")


def arc(inside: str = "", attributes: str = "") -> str:
    return NODES + ARC.format(attributes, inside)


@pytest.mark.parametrize(
    "inside",
    [
        place("<graphics><position x='1' y='2'/><fill color='red'/></graphics>"),
        place("<toolspecific tool='other' version='1'><initialMarking>5</initialMarking>"
              "<place id='p'/></toolspecific>"),
        place("<name><text>p</text><graphics><offset x='1'/></graphics></name>"),
        place("<initialMarking><text>0</text><toolspecific tool='x'/></initialMarking>"),
        place("<initialMarking><value/></initialMarking>"),
        place("<capacity><value>0</value></capacity><tagged><value>false</value></tagged>"),
        place(attributes=' xml:lang="en" invariant="&lt; inf" initialMarking="0" name="p"'),
        place(attributes=' displayName="true" positionX="1" positionY="1" nameOffsetX="2"'),
        transition("<orientation><value>90</value></orientation><rate><value>1.00</value></rate>"),
        transition("<infiniteServer><value>false</value></infiniteServer>"),
        transition("<timed><value>true</value></timed>"),
        transition("<timed><value>false</value></timed><priority><value>7</value></priority>"),
        transition("<priority><value>3</value></priority>"),
        transition(attributes=' urgent="false" player="0" priority="1" timed="true" angle="90"'),
        arc("<name><text>1</text></name><arcpath id='0' x='1' y='2' curvePoint='false'/>"),
        arc("<inscription><text>1</text><graphics/></inscription><type value='normal'/>"),
        arc("<arctype><text>normal</text></arctype><tagged><value>false</value></tagged>"),
        arc(attributes=' inscription="[0,inf)" weight="1" type="timed"'),
        arc(attributes=' inscription="[ 0 , inf )"'),
        arc(attributes=' inscription="1" weight="1" type="normal"'),
        arc(attributes=' inscription="" type="normal"'),
        NODES + '<inputArc source="p" target="t" inscription="1"/>',
        NODES + '<inputArc source="p" target="t"><inscription><value>1</value></inscription>'
        "</inputArc>",
    ],
)  # fmt: skip
def test_decoration_and_neutral_values_change_nothing(inside):
    net, remarked = remarks(page(inside), "pnml")
    assert unnamed(net) == unnamed(petri_net("t: p ->"))
    assert remarked == []


def _at(x: object, y: object) -> str:
    return f"<graphics><position x='{x}' y='{y}'/></graphics>"


@pytest.mark.parametrize(
    "inside, positions",
    [
        (
            f'<place id="p"><name><text>a</text></name>{_at(1, -2.5)}</place>'
            f'<transition id="t">{_at("3e1", 4)}</transition>',
            {"a": [1, -2.5], "t": [30, 4]},
        ),
        (
            '<place id="p" positionX="5" positionY="6"/><transition id="t" positionX="7" '
            'positionY="8.0"/>',
            {"p": [5, 6], "t": [7, 8]},
        ),
        (f'<place id="p">{_at(1, 2)}</place><transition id="t"/>', None),  # not all
        (f'<place id="p">{_at(1, "far")}</place>', None),
        (f'<place id="p">{_at(1, "1e999")}</place>', None),
        (f'<place id="p"><name><text>a</text>{_at(1, 2)}</name></place>', None),  # of its name
        (f'<place id="p"><toolspecific tool="x">{_at(1, 2)}</toolspecific></place>', None),
        (
            f'<place id="p">{_at(1, 2)}</place><page id="q">'
            f'<place id="r">{_at(3, 4)}</place></page>',
            None,
        ),
        (
            f'<place id="p"><name><text>a</text></name>{_at(1, 2)}</place>'
            f'<transition id="t"><name><text>a</text></name>{_at(3, 4)}</transition>',
            None,  # two nodes of one name
        ),
    ],
)
def test_positions_of_nodes(inside, positions):
    net = parse(page(inside), "pnml")
    assert net.notes.get("positions") == positions
    again = parse(written(net, "pnml"), "pnml")
    assert again.notes.get("positions") == positions


def test_what_is_ignored_on_request_is_listed():
    text = page(f"\n{place('<bound><place/></bound>', ' colour=chr')}\n<post-it/>").replace(
        "=chr", '="red"'
    )
    assert len(errors(text, "pnml")) == 3
    net, remarked = remarks(text, "pnml", ignore_unknown=True)
    assert net == petri_net("t: p ->")
    assert [line.partition(" (")[0] for line in remarked] == [
        "2:15: the attribute 'colour' of <place> is not known, and ignored",
        "2:28: <bound> in <place> is not known, and ignored",
        "3:1: <post-it> in <page> is not known, and ignored",
    ]
    # Of other elements it is known that they change the net.
    for inside in (place("<hlinitialMarking/>"), "<transportArc/>", transition("<readVariable/>")):
        assert errors(page(inside), "pnml", ignore_unknown=True)


def test_what_is_dropped_on_request_is_listed():
    inside = (
        '<place id="p" invariant="&lt;= 3"/><transition id="t" urgent="true"><rate><text>2</text>'
        "</rate><delay/></transition>" + ARC.format(' inscription="[1,4]" weight="2"', "")
    )
    assert len(errors(page(inside), "pnml")) == 5
    net, remarked = remarks(page(inside), "pnml", drop_time=True)
    assert net == petri_net("t: 2p ->")
    assert [line.partition(": ")[2] for line in remarked] == [
        "the invariant '<= 3' of place 'p' is dropped",
        "the urgent 'true' of transition 't' is dropped",
        "the rate '2' of transition 't' is dropped",
        "<delay> in <transition> is dropped",
        "the interval [1,4] of arc 'a' is dropped",
    ]


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        (' inscription="3"', 3),
        (' weight="3"', 3),
        (' inscription="1" weight="3"', 3),  # TAPAAL: a 1 stands in all arcs without an interval
        (' inscription="[0,inf)" weight="3"', 3),
        (' inscription="3" weight="3"', 3),
    ],
)
def test_weights_of_tapaal(text, weight):
    net = parse(page(arc(attributes=text)), "pnml")
    assert net.inputs.triples() == [(0, 0, weight)]


def test_arcs_of_verifypn():
    text = page(
        '<place id="p" initialMarking="4"/><place id="q"/><transition id="t"/>'
        '<inputArc source="p" target="t"><inscription><value>2</value></inscription></inputArc>'
        '<outputArc source="t" target="q" inscription="3"/>'
        '<inhibitorArc source="q" target="t"><inscription><value>5</value></inscription>'
        "</inhibitorArc>"
    )
    assert parse(text, "pnml") == petri_net("t: 2p !5q -> 3q", {"p": 4})


def test_types_of_nets():
    core = page(NODES).replace("ptnet", "http://www.pnml.org/version-2009/grammar/{}")
    assert parse(core.format("pnmlcoremodel"), "pnml").num_places == 1
    coloured = core.format("pnmlcoremodel").replace('<place id="p"/>', place("<type/>"))
    assert "coloured content" in "".join(errors(coloured, "pnml").values())
    (message,) = errors(core.format("symmetricnet"), "pnml").values()
    assert "high-level net" in message
    assert list(errors(core.format("symmetricnet"), "pnml")) == ["1:19"]


def test_several_nets():
    """What is wrong with others does not matter; those that TAPAAL composes are refused."""
    other = '<net id="m" type="symmetricnet"><declaration/></net>'
    text = page(NODES).replace("</pnml>", f"{other}</pnml>")
    (message,) = errors(text, "pnml").values()
    assert "the file has 2 nets (choose one by net=, --net: n, m)" in message
    assert parse(text, "pnml", net="n").num_places == 1
    assert len(errors(text, "pnml", net="m")) == 2
    assert parse(text.replace('id="m"', 'id="m" active="false"'), "pnml").num_places == 1
    shared = text.replace("<pnml>", '<pnml><shared-place name="p" initialMarking="1"/>')
    for net in (None, "n"):
        (message,) = errors(shared, "pnml", net=net).values()
        assert "components that share nodes (compose them in TAPAAL" in message


def test_shared_nodes_and_constants_of_tapaal():
    net = parse(TAPN[0], "tapn")
    assert net == petri_net("take: stock !4done -> 2done", {"stock": 2})
    text = TAPN[0].replace('<shared-place initialMarking="2"', '<shared-place initialMarking="3"')
    (message,) = errors(text, "tapn").values()
    assert "the marking of 'stock' is declared twice, 2 and 3 tokens" in message
    text = TAPN[0].replace('value="2"', 'value="two"')
    assert "the inscription of arc 'o': 'two' is not an integer" in next(
        iter(errors(text, "tapn").values())
    )
    text = TAPN[0].replace("<constant", '<shared-transition name="take" urgent="true"/><constant')
    assert list(errors(text, "tapn")) == ["4:34"]


# Final markings


def test_final_markings_are_read_written_and_asked_for():
    net = parse(PM4PY, "pnml")
    assert (net.place_names, net.transition_names) == (("start", "end"), ("hidden",))
    assert net.final_markings.tolist() == [[0, 2]]
    assert net.replace(final_markings=()) != net
    again = parse(written(net, "pnml"), "pnml")
    assert again == net and again.final_markings.tolist() == [[0, 2]]
    graph = snp.explore(net)
    assert snp.check(graph, "eventually (final and halted)")
    assert snp.check(graph, "on all paths next final").is_proved
    assert snp.check(graph, "always not final").is_refuted
    assert snp.check(net, lambda markings: markings.is_final == (markings["end"] == 2))
    several = net.replace(final_markings=[[1, 0], [0, 2]])
    assert snp.check(several, "always final")


@pytest.mark.parametrize(
    ("query", "message"),
    [("eventually final", "the net has no final markings"), ("final > 0", "is a condition")],
)
def test_nets_without_final_markings(query, message):
    with pytest.raises(snp.QueryError, match=message):
        snp.check(net_of_text("t: a -> b", {"a": 1}), query)


def test_only_nets_have_final_markings():
    system = snp.SpikingSystem([snp.Neuron("final", 1, ["a -> a"])], [])
    with pytest.raises(snp.QueryError, match='only nets .* write "final"'):
        snp.check(system, "eventually final")
    assert snp.check(system, 'eventually "final" = 1')


def test_final_markings_are_bounded():
    nodes = "".join(f'<place id="p{n}"/>' for n in range(2**13))
    text = page(nodes).replace(
        "</net>", f"<finalmarkings>{'<marking/>' * (2**12 + 1)}</finalmarkings></net>"
    )
    (message,) = errors(text, "pnml").values()
    assert "4097 final markings of 8192 places are more than" in message


def test_invalid_final_markings():
    with pytest.raises(ValueError, match="number 1 has 1 number. Give one for each of the 2 plac"):
        net_of_text("t: a -> b").replace(final_markings=[[1, 2], [3]])
    with pytest.raises(snp.sleptsov.InvalidNet, match="place b holds -2 tokens in final marking 0"):
        net_of_text("t: a -> b").replace(final_markings=[[1, -2]])


# Priorities of timed nets


def pairs(net: SleptsovNet) -> set[tuple[str, str]]:
    return {(net.transition_name(a), net.transition_name(b)) for a, b in net.priorities.tolist()}


def test_immediate_transitions_of_pipe_beat_timed_ones():
    net = parse(PIPE[0], "pipe")
    assert pairs(net) == {("T2", "T1"), ("T1", "T0")}
    assert net.replace(priorities=()) == petri_net(
        "T0: P0 ->\nT1: P0 -> 2P1\nT2: 2P0 !P1 ->", {"P0": 2}, places=["P0", "P1"]
    )
    timed = PIPE[0].replace("<value>false</value></timed>", "<value>true</value></timed>")
    assert pairs(parse(timed, "pipe")) == set()
    # Of the two tokens of P0, T2 takes both; without its priority T0 and T1 take one each.
    graph = snp.explore(snp.sleptsov.Execution(net, rule=snp.sleptsov.Petri()))
    assert [s["P0"].tolist() for s in [graph.configurations()]] == [[2, 0]]


def test_groups_of_greatspn():
    net = parse(GREATSPN[0], "greatspn")
    plain = petri_net(
        "slow: 2idle -> done\nfast: busy !3done ->\nweak: idle -> busy\nstrong: 3busy ->",
        {"idle": 3, "busy": 2},
        places=["idle", "busy", "done"],
    )
    assert net.replace(priorities=()) == plain
    assert pairs(net) == {("strong", "weak"), ("weak", "slow"), ("weak", "fast")}


def test_rates_of_greatspn_are_dropped_on_request():
    text = GREATSPN[0].replace("R 1.0", "R 2.0").replace("slow    1.0 1 ", "slow    0.5 4 ")
    text = text.replace("weak    1.0 1 1", "weak    * 0 127")
    text = text.replace("1.5 0.9 0\n   1 1 0 0", "1.5 0.9 0\nmin(#busy, 2)\n   1 1 0 0")
    net, remarked = remarks(text, "greatspn", drop_time=True)
    assert [line.partition(": ")[2] for line in remarked] == [
        "the rate 0.5 of transition 'slow' is dropped",
        "4 as the number of servers of transition 'slow' is dropped",
        "the rate 2 of transition 'fast' is dropped",
        "the function of the marking as the rate of transition 'weak' is dropped",
        "the distribution of transition 'weak' is dropped",
    ]
    plain = parse(GREATSPN[0], "greatspn")
    assert net.replace(priorities=()) == plain.replace(priorities=())
    assert pairs(net) == {("strong", name) for name in ("slow", "fast", "weak")}


def test_levels_of_many_transitions_are_bounded():
    members = "".join(
        f'<transition id="t{n}"><timed><text>{str(n % 2 == 0).lower()}</text></timed></transition>'
        for n in range(2 * 2049)
    )
    (message,) = errors(page(members), "pnml").values()
    assert "more than 4194304 priorities between transitions" in message


# Formats by content


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.net", NET[0], "net"),
        ("a.net", GREATSPN[0], "greatspn"),
        ("a.xml", PIPE[0], "pipe"),
        ("a.xml", "<?xml version='1.0'?>\n<!-- <content> -->\n<x:pnml xmlns:x='u'/>", "pipe"),
        ("a.xml", "<content><pnml/></content>", None),
        ("a.tapn", TAPN[0], "tapn"),
    ],
)
def test_formats_that_the_text_tells(name, text, format, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    assert is_of_net(path) == is_of_net(name, Source(name, text)) == (format is not None)
    if format:
        assert format_to_read(Source(name, text), "net").name == format
    if format and "u'" not in text:
        assert quietly(snp.read_net, path) == parse(text, format)
    if name == "a.xml" and format:
        with pytest.raises(snp.ReadError, match="this is a file of a net"):
            snp.read(path)


def test_formats_that_are_only_read(tmp_path):
    net = parse(GREATSPN[0], "greatspn")
    for name in ("a.tapn", "a.xml"):
        with pytest.raises(ValueError, match="is read, not written"):
            snp.write_net(net, tmp_path / name)
    with pytest.raises(ValueError, match="GreatSPN .net is read, not written"):
        snp.write_net(net, tmp_path / "a.net", format="greatspn")
    path = tmp_path / "a.net"
    path.write_text(GREATSPN[0])
    snp.write_net(net, path)  # as Tina's
    assert format_to_read(Source("a.net", path.read_text()), "net").name == "net"
    assert by_numbers(snp.read_net(path)) == by_numbers(net)


def by_numbers(net: SleptsovNet) -> list[Any]:
    return [net.marking.tolist(), net.inputs.triples(), np.unique(net.priorities, axis=0).tolist()]


def test_the_commands(tmp_path):
    def run(*arguments: object) -> Any:
        return invoke(*arguments)

    odd = tmp_path / "odd.pnml"
    odd.write_text(page(place("<bound/>", ' initialMarking="1"')))
    timed = tmp_path / "timed.xml"
    timed.write_text(PIPE[0].replace("<value>1.0</value>", "<value>0.5</value>"))
    for *command, extra in (
        ("sleptsov", "run", []),
        ("sleptsov", "info", []),
        ("sleptsov", "convert", [tmp_path / "out.net"]),
        ("check", ["eventually halted"]),
        ("explore", []),
        ("draw", ["--output", tmp_path / "out.svg"]),
    ):
        for file, option, message in (
            (odd, "--ignore-unknown", "<bound> in <place> is not known, and ignored"),
            (timed, "--drop-time", "the rate '0.5' of transition 'T0' is dropped"),
        ):
            result = run(*command, file, *extra)
            assert result.exit_code == 2 and f"{option})" in result.output, result.output
            result = run(*command, file, *extra, option)
            assert result.exit_code == 0 and message in result.output, (command, result.output)
    final = tmp_path / "final.pnml"
    final.write_text(PM4PY)
    assert "final markings   1" in run("sleptsov", "info", final).stdout
    assert json.loads(run("sleptsov", "info", final, "--json").stdout)["final_markings"] == 1
    assert run("check", final, "eventually final", "--rule", "petri").exit_code == 0
    result = run("sleptsov", "convert", odd, tmp_path / "a.tapn")
    assert result.exit_code == 2 and "TAPAAL is read, not written" in result.output
    result = run("sleptsov", "convert", odd, tmp_path / "a.net", "--to", "greatspn")
    assert result.exit_code == 2 and "no format 'greatspn' that is written" in result.output
    lsn = tmp_path / "a.lsn"
    lsn.write_text("1 0 0 0 0\n")
    result = run("sleptsov", "convert", lsn, tmp_path / "b.net", "--ignore-unknown")
    assert result.exit_code == 2 and "no option --ignore-unknown" in result.output


# Files of other tools that users sent


def count(net: SleptsovNet) -> tuple[int, int]:
    return net.num_places, len(net.inputs) + len(net.outputs)


def test_the_type_and_the_default_delay_of_tina():
    delay = (
        '<delay><interval xmlns="http://www.w3.org/1998/Math/MathML" closure="{}"><cn>{}</cn>'
        "<ci>infty</ci></interval></delay>"
    )
    start = (
        '<pnml><net id="n" type="http://www.laas.fr/tina/tpn"><place id="p"/><transition id="t">'
    )
    end = '</transition><arc id="a" source="p" target="t"/></net></pnml>'
    assert parse(start + delay.format("closed-open", 0) + end, "pnml") == petri_net("t: p ->")
    for timed in (delay.format("closed-open", 1), delay.format("open", 0)):
        with pytest.raises(snp.ReadError, match="<delay> in <transition>"):
            parse(start + timed + end, "pnml")
        net, dropped = remarks(start + timed + end, "pnml", drop_time=True)
        assert net == petri_net("t: p ->") and len(dropped) == 1


def test_tapaal_may_repeat_ids_of_arcs():
    arcs = '<arc id="{}" source="p" target="t"/><arc id="{}" source="t" target="p"/>'
    for ids in (("a", "a"), ("p", "page")):
        assert count(parse(page(NODES + arcs.format(*ids)), "tapn")) == (1, 2)
    for text, format in ((arcs.format("a", "a"), "pnml"), ('<place id="p"/>', "tapn")):
        with pytest.raises(snp.ReadError, match="the id '[ap]' is there twice"):
            parse(page(NODES + text), format)


@pytest.mark.parametrize(
    "text",
    [
        "tr go p*2 -> q  pl p (4)  pl q\n",
        "tr go\n  p*2\n  -> q\npl p\n\t(4)\npl q",
        "pl p (4) # pl r\npl q lb q {a b} tr go p*2 # of two\n -> q",
        "tr go p*2 -> q nt n 0 {tr x y -> z} pl p (4)",
    ],
)
def test_line_ends_of_tina_are_blanks(text):
    net = parse(text, "net")
    places = {name: net.place(name) for name in net.place_names}
    assert set(places) == {"p", "q"} and net.marking[places["p"]] == 4
    assert net.inputs.triples() == [(places["p"], 0, 2)]
    assert net.outputs.triples() == [(places["q"], 0, 1)]


def test_nodes_of_tina_may_be_called_like_keywords():
    net = petri_net("tr: pl -> net\nlb: net -> nt pl", {"pl": 1})
    assert parse(written(net, "net"), "net") == net
    assert parse("pl net (2)\ntr tr net -> pl\n", "net").place_names == ("net", "pl")


@pytest.mark.parametrize("suffix", [".PNPRO", ".tpn", ".lola", ".spn", ".andl", ".pnt", ".apnn"])
def test_formats_of_other_tools_are_named_with_a_way(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    path.write_text("PLACE p; MARKING p: 1;")
    with pytest.raises(snp.ReadError, match=r"is not read \(.*PNML"):
        snp.read_net(path)
    result = invoke("check", path, "always p = 1")
    assert result.exit_code == 2 and "PNML" in result.stderr
