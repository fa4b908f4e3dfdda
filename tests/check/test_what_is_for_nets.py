"""Calls with a net: which of them take one, and that results name its rule."""

from dataclasses import replace

import pytest

import snpjax as snp
from snpjax.check import coverability, model_digest
from snpjax.sleptsov import Execution, Petri, Sleptsov, net_of_text


NET = net_of_text("a: p -> q", {"p": 5, "q": 0})
MOVE = Execution(NET, rule=Petri())


@pytest.mark.parametrize("net", [NET, MOVE])
def test_invariants_and_growth_name_what_is_for_nets(net):
    with pytest.raises(TypeError, match="not for nets.*`prove`.*`snpjax.check.coverability`"):
        snp.invariants(net)
    with pytest.raises(TypeError, match="not for nets.*`snpjax.check.coverability`"):
        snp.growth(net)


def test_growth_of_the_graph_of_a_net():
    graph = snp.explore(MOVE, max_configurations=2)
    with pytest.raises(TypeError, match="not for nets.*`snpjax.check.coverability`"):
        snp.growth(graph)  # type: ignore


def test_certify_says_which_argument_is_which():
    certificate = snp.Certificate("always p + q <= 5", "p + q <= 5", "sha256:0")
    with pytest.raises(TypeError, match=r"Pass the model first: certify\(system, proof\)"):
        snp.certify(certificate, MOVE)  # type: ignore
    for other in (MOVE, certificate.to_json(), None):
        with pytest.raises(TypeError, match="`certificate` is of the type .*from_json"):
            snp.certify(MOVE, other)  # type: ignore


def test_certification_names_the_rule():
    certificate = snp.Certificate("always p <= 5", "p <= 5", "sha256:0")
    refused = snp.certify(MOVE, certificate)
    assert str(refused).startswith("always p <= 5: rejected under the Petri rule\n")
    accepted = snp.certify(MOVE, replace(certificate, model=model_digest(MOVE)))
    assert str(accepted).startswith("always p <= 5: accepted under the Petri rule\n")


def test_coverability_names_the_rule():
    assert repr(coverability(MOVE)) == "Coverability(6 nodes under the Petri rule: bounded)"
    system = snp.SpikingSystem([snp.Neuron("n", 1, ["a -> lambda"])], [])
    assert "rule" not in repr(coverability(system))


def test_equivalence_names_the_rules():
    assert "traces under the Petri rule: all" in str(snp.equivalent(MOVE, MOVE))
    found = snp.equivalent(MOVE, Execution(NET, rule=Sleptsov()))
    assert "traces under the Petri rule and under the Sleptsov rule: they differ" in str(found)
