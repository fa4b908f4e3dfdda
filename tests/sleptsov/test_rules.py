"""The rule of a net: from its file, in every answer, and in the files that are written."""

import json
import warnings
from dataclasses import replace

import pytest

import snpjax as snp
from snpjax.io import model_text
from snpjax.sleptsov import Disjoint, Execution, Petri, Sleptsov, net_of_text
from snpjax.sleptsov.linking import HighNet, Substitution, link
from snpjax.sleptsov.subnets import add
from snpjax.testing.reference_sleptsov import Reference
from tests.support.command import invoke


#: p1 = 2, t: p1 -> p2, where the rules differ: under Petri's p2 = 1 in between.
TEXTS = {
    "two.pnml": '<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet">'
    '<place id="p1"><initialMarking><text>2</text></initialMarking></place><place id="p2"/>'
    '<transition id="t"/><arc id="a" source="p1" target="t"/><arc id="b" source="t" target="p2"/>'
    "</net></pnml>",
    "two.net": "pl p1 (2)\npl p2\ntr t p1 -> p2\n",
    "two.ndr": "p 0 0 p1 2 n\np 9 0 p2 0 n\nt 5 0 t 0 w n\ne p1 t 1 n\ne t p2 1 n\nh two\n",
    "two.lsn": "2 1 2 1 0\n1 1 1\n-2 1 1\n1 2\n",
    "two.mcc": "2 1 1\n0\n1\n1\n1\n2 0\n",
    "two.msn": "2 1\n1\n0\n0\n1\n0\n2 0\n",
}


@pytest.fixture(params=TEXTS)
def path(request, tmp_path):
    file = tmp_path / request.param
    file.write_text(TEXTS[request.param])
    return file


def test_files_have_the_rule_of_their_format(path):
    net = snp.read_net(path)
    usual, other = (Petri(), Sleptsov())[:: 1 if path.suffix in (".pnml", ".net", ".ndr") else -1]
    assert net.rule == usual and snp.read_net(path, rule=other).rule == other
    with pytest.raises(TypeError, match=r"`rule` is 'petri'. Give Sleptsov\(\), Petri\(\)"):
        snp.read_net(path, rule="petri")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [Petri(), Sleptsov(), Disjoint()])
@pytest.mark.parametrize("format", ["lsn", "mcc", "msn", "net", "ndr", "pnml"])
def test_files_keep_the_rule(rule, format, tmp_path):
    net = net_of_text("t: p1 -> p2", {"p1": 2}, rule=rule)
    snp.write_net(net, tmp_path / "a", format=format)
    assert snp.read_net(tmp_path / "a", format=format).rule == rule
    usual = Sleptsov() if format in ("lsn", "mcc", "msn") else Petri()
    noted = any(f"the {rule.name.capitalize()} rule" in x for x in model_text(net, format)[1].notes)
    assert noted == (rule != usual)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.lsn",
            TEXTS["two.lsn"] + '; snpjax {"rule": "petry"}\n',
            "the rule is 'petry', not one",
        ),
        ("a.net", TEXTS["two.net"] + '# snpjax {"rule": 3}\n', "the texts `name` and `rule`"),
        (
            "a.pnml",
            TEXTS["two.pnml"].replace(
                "<place",
                '<toolspecific tool="snpjax" version="1.0"><rule name="x"/></toolspecific><place',
                1,
            ),
            "the rule is 'x' (write sleptsov, petri, disjoint)",
        ),
    ],
)
def test_unknown_rules_in_files(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(snp.ReadError) as caught:
        snp.read_net(tmp_path / name)
    assert message in f"{caught.value}"


def test_a_net_and_its_execution_agree():
    net = net_of_text("t: p1 -> p2", {"p1": 2}, rule=Petri())
    assert Execution(net).rule == Petri() and Execution(net).net is net
    other = Execution(net, Sleptsov())
    assert other.net.rule == Sleptsov() and other.net != net and other.net.with_rule(Petri()) == net
    assert other.replace(net=net).rule == Sleptsov()
    assert repr(net).endswith("0 priorities, the Petri rule)")
    assert snp.run(net).steps == 2 and snp.run(other).steps == 1


def test_every_answer_names_the_rule(tmp_path):
    file = tmp_path / "two.pnml"
    file.write_text(TEXTS["two.pnml"])
    found = invoke("check", file, "never p2 = 1")
    assert found.exit_code == 1 and "refuted under the Petri rule (shown by 1 step)" in found.stdout
    found = invoke("check", file, "never p2 = 1", "--rule", "sleptsov", "--json")
    assert found.exit_code == 0 and json.loads(found.stdout)["queries"][0]["rule"] == "sleptsov"
    graph = snp.explore(snp.read_net(file))
    assert "under the Petri rule: " in repr(graph) and "under the Petri rule" in graph.to_dot()
    written = tmp_path / "g"
    for suffix, text in {
        "json": '"rule": "petri"',
        "graphml": '<data key="rule">petri</data>',
        "smv": "-- Steps are those of the Petri rule.",
        "drn": "state 0 init rule_petri\n",
        "svg": "under the Petri rule",
    }.items():
        (path,) = snp.io.write_graph(graph, f"{written}.{suffix}")
        assert text in path.read_text(), suffix
    snp.io.write_graph(graph, f"{written}.tra")
    assert '4="rule_petri"' in (tmp_path / "g.lab").read_text()


def test_certificates_name_the_rule():
    pytest.importorskip("z3")
    net = net_of_text("t: p1 -> p2", {"p1": 2}, rule=Petri())
    verdict = snp.prove(net, "always p1 + p2 = 2")
    assert "proved under the Petri rule (by induction" in f"{verdict}"
    certificate = verdict.certificate
    assert certificate is not None and certificate.to_dict()["rule"] == "petri"
    found = snp.certify(net.with_rule(Sleptsov()), certificate)
    assert found.reason == "it is about the Petri rule, and the net is under the Sleptsov rule"
    earlier = snp.certify(net.with_rule(Sleptsov()), replace(certificate, rule=""))
    assert earlier.reason == found.reason


def test_the_reference_has_the_rule_of_the_net():
    net = net_of_text("t: p1 -> p2", {"p1": 2}, rule=Petri())
    reference = Reference(net)
    assert reference.reachable() == ({(2, 0), (1, 1), (0, 2)}, {(0, 2)})
    assert reference.successors((2, 0)) == [(1, 1)] and reference.run().steps == 2
    assert reference.successors((2, 0), "sleptsov") == [(0, 2)]


def test_no_predicate_has_the_label_of_the_rule(tmp_path):
    graph = snp.explore(net_of_text("t: p1 -> p2", {"p1": 2}, rule=Petri()))
    every = {"rule_petri": lambda some: some.is_halting | True}
    for suffix in ("drn", "tra"):
        with pytest.raises(ValueError, match="'rule_petri' can be no label of PRISM"):
            snp.write_graph(graph, tmp_path / f"o.{suffix}", predicates=every)


@pytest.mark.parametrize("name", ["two.net", "two.ndr"])
def test_a_comment_that_mentions_snpjax_is_no_data(name, tmp_path):
    (tmp_path / name).write_text(TEXTS[name] + "# snpjax reads this file, too\n")
    assert snp.read_net(tmp_path / name).num_places == 2


def test_a_net_warns_under_the_rule_of_the_call(tmp_path):
    (tmp_path / "a.net").write_text("pl q\ntr t -> q\n")
    with pytest.warns(snp.ReadWarning, match="has no bound"):
        net = snp.read_net(tmp_path / "a.net", rule=Sleptsov())
    snp.write_net(net, tmp_path / "a.lsn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert snp.read_net(tmp_path / "a.lsn", rule=Petri()).rule == Petri()


def test_sub_nets_have_the_rule_of_the_net(tmp_path):
    inner = add().net
    outer = net_of_text("t: a -> b", {"a": 1}, rule=Petri())
    one = Substitution(0, inner, ((0, 0),), (1, 2), (0, 3), (1, 4))
    with pytest.raises(ValueError, match=r"under the Sleptsov rule, .* under the Petri rule \(use"):
        HighNet(outer, (one,))
    high = HighNet(outer, (replace(one, subnet=inner.with_rule(Petri()), name="add.lsn"),))
    snp.write_net(high, tmp_path / "a.hsn")
    assert snp.read_net(tmp_path / "a.hsn") == link(high)  # the sub-net is that of the library
    snp.write_net(inner, tmp_path / "add.lsn")
    assert snp.read_net(tmp_path / "a.hsn") == link(high)
    assert snp.read_net(tmp_path / "a.hsn", rule=Sleptsov()).rule == Sleptsov()
