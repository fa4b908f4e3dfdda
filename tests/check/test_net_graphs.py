"""Graphs of nets: exports read back, witnesses as runs, and the commands."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax import write_graph
from snpjax.check.exports.nusmv_net import net_to_nusmv
from snpjax.sleptsov import Arcs, Disjoint, EventDriven, Execution, Petri, Sleptsov, SleptsovNet
from snpjax.testing import nets
from snpjax.testing.reference_sleptsov import Reference
from tests.check.test_graph_exports import READERS, assert_same
from tests.cli.test_cli import invoke, succeed
from tests.cli.test_sleptsov import ADD
from tests.support.graph_readers import Smv, read_aut, read_graphml, read_json, read_prism


RULES = {"sleptsov": Sleptsov(), "petri": Petri()}


def race(place_names=None, transition_names=None):
    """Two transitions for the tokens of a place, one of which takes them by twos, a third that both
    beat, and a fourth that never has enough."""
    return SleptsovNet(
        [5, 0, 0],
        inputs=Arcs.of([(0, 0, 2), (0, 1, 1), (0, 2, 1), (1, 3, 100)]),
        outputs=Arcs.of([(1, 0, 1), (2, 1, 1)]),
        inhibitors=Arcs.of([(1, 1, 2)]),
        priorities=[(0, 2), (1, 2)],
        place_names=place_names,
        transition_names=transition_names,
        name="race",
    )


@pytest.fixture(scope="module", params=RULES)
def graph(request):
    return snp.explore(Execution(race(), rule=RULES[request.param]))


def test_every_format_read_back(graph, tmp_path):
    for name, reader in READERS.items():
        paths = write_graph(graph, tmp_path / f"graph.{'tra' if name == 'prism' else name}")
        assert_same(graph, reader(paths[0]))
    steps, marking = graph.transitions(), graph.configurations().marking
    labels = [label for _, label, _ in read_aut(tmp_path / "graph.aut").edges]
    assert labels == steps.texts() and any(" x 2" in x for x in labels) == graph_is_maximal(graph)
    for read in (read_json(tmp_path / "graph.json"), read_graphml(tmp_path / "graph.graphml")):
        assert [x[:-1] for x in read.configurations] == list(map(tuple, marking.tolist()))
        assert [label for _, label, _ in read.edges] == list(map(str, steps.transition.tolist()))
    prism = read_prism(tmp_path / "graph.tra")
    assert prism.extra["variables"][:2] == ["tokens_p1", "tokens_p2"]
    assert [label for _, label, _ in prism.edges] == steps.names
    made = graph.to_networkx()
    assert made.graph["places"] == ("p1", "p2", "p3")
    assert [own["marking"] for _, own in made.nodes(data=True)] == list(map(tuple, marking))
    found = sorted((s, t, x["transition"], x["multiplicity"]) for s, t, x in made.edges(data=True))
    columns = steps.sources, steps.targets, steps.transition, steps.multiplicity
    assert found == sorted(zip(*(x.tolist() for x in columns), strict=True))


def graph_is_maximal(graph):
    return isinstance(graph.system.rule, Sleptsov)


def test_pictures():
    graph = snp.explore(race(transition_names=["t1", 'q"\\', "t3", "t4"]))
    assert r'label="q\"\\ x 5"' in graph.to_dot() and "<5,0,0>" in graph.to_dot()
    assert "t1 x 2" in graph._repr_svg_() and "race" in graph.to_svg()
    assert graph.to_dot(labels="rules") == graph.to_dot(labels="emissions")


@settings(max_examples=12)
@given(nets(bounded=True), st.sampled_from(list(RULES)))
def test_models_of_nusmv_have_the_same_steps(net, rule):
    """Against the reference, and nothing is compiled."""
    reference = Reference(net)
    seen, final = reference.reachable(rule)
    most = {name: max(row[i] for row in seen) for i, name in enumerate(net.place_names)}
    model = Smv(net_to_nusmv(net, bounds=most, rule=RULES[rule]))
    states, transitions = model.explore()
    assert {state[:-1] for state in states} == seen and not any(state[-1] for state in states)
    halting = {states[s][:-1] for s, values, t in transitions if values["halting"] and s == t}
    assert halting == final
    edges = [(states[s][:-1], states[t][:-1]) for s, v, t in transitions if not v["halting"]]
    wanted = [(row, new) for row in seen for new in reference.successors(row, rule)]
    assert sorted(edges) == sorted(wanted)


def test_a_bound_of_nusmv_is_no_cap():
    net = SleptsovNet([3, 0], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(1, 0, 2)]))
    states, _ = Smv(net_to_nusmv(net, bounds={"p1": 3, "p2": 5}, clock=2)).explore()
    assert any(overflow for *_, overflow in states)
    with pytest.raises(ValueError, match="'p1' begins with 3 tokens and its bound is 2; 'p2'"):
        net_to_nusmv(net, bounds={"p1": 2})


def test_models_of_nusmv_have_the_rule_of_the_net():
    net = SleptsovNet([2, 0], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(1, 0, 1)]))
    assert "the Petri rule" in net_to_nusmv(net.with_rule(Petri()), bounds=2)


def test_a_witness_is_a_run():
    net = race()
    verdict = snp.check(net, "never p3 = 5")
    assert verdict.is_refuted and verdict.replay().trace == [(0, 1, 5)]
    assert verdict.spikes.tolist() == [[5, 0, 0], [0, 0, 5]] and verdict.rules.tolist() == [[1]]
    loop = snp.check(Execution(net, rule=Petri()), "eventually p3 = 5")
    assert loop.is_refuted and loop.replay().halted and loop.loop is not None
    graph = snp.explore(net)
    last = graph.num_configurations - 1
    run = snp.run(net, choice=graph.witness(last))
    assert run.halted and run.marking.tolist() == graph.configurations().marking[last].tolist()


@pytest.mark.parametrize(
    "firings, step", [([[2]], 1), ([[0], [0]], 2), ([[None]], 1), ([[9]], 1), ([[0, 1]], 1)]
)
def test_given_firings_that_cannot_be(firings, step):
    """Beaten, not fireable, none though one is, no transition, more than one."""
    with pytest.raises(snp.RunFailed, match=f"step {step}: the given transition cannot fire"):
        snp.run(race(), choice=snp.GivenChoices(firings), max_steps=len(firings))


def test_given_firings_of_a_batch():
    both = np.asarray([[[0, 1]], [[2, snp.NO_RULE]]])
    found = snp.run(race(), choice=snp.GivenChoices(both), paths=2)
    assert found.marking.tolist() == [[0, 0], [2, 0], [0, 5]] and found.steps.tolist() == [2, 1]
    for options in ({"engine": EventDriven()}, {"choice": snp.GivenChoices([[0]])}):
        net = race() if "engine" in options else Execution(race(), rule=Disjoint())
        with pytest.raises(ValueError, match="Only FullScan|nothing is chosen"):
            snp.run(net, **{"choice": snp.GivenChoices([[0]]), **options})


def test_overflow_is_of_tokens():
    net = SleptsovNet(
        [1, 2**31 - 1], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(0, 0, 1), (1, 0, 1)])
    )
    graph = snp.explore(net)
    assert graph.stop is snp.Stop.OVERFLOW
    assert graph.reason == "a number of tokens left the range of 32 bits"
    assert graph.reason in snp.check(graph, "always p2 > 0").reason


def test_what_is_read_off(graph):
    tokens = graph.configurations().marking
    assert graph.bounds()["p3"] == (0, int(tokens[:, 2].max()))
    assert graph.unused_rules() == ["t4"]
    dead = sorted(set(range(graph.num_configurations)) - set(graph.sources.tolist()))
    assert tokens[dead].any() and graph.deadlocks().tolist() == graph.halting().tolist() == dead
    assert graph.num_transitions == graph.num_choices
    with pytest.raises(ValueError, match="is not an output neuron"):
        graph.emitted()
    assert snp.equivalent(graph, graph, by=snp.Bisimilar())


@pytest.mark.parametrize("rule", RULES)
def test_nusmv_of_a_net_without_bounds(rule):
    """As with bounds that are never reached, but for the variable that tells an overflow."""
    made = {
        bounds: Smv(net_to_nusmv(race(), bounds=bounds, rule=RULES[rule]))
        for bounds in (50, "unbounded")
    }
    assert [*made["unbounded"].ranges, "overflow"] == [*made[50].ranges]
    states, transitions = made[50].explore()
    own = made["unbounded"].explore()
    assert own[0] == [state[:-1] for state in states] and len(own[1]) == len(transitions)


def test_an_unbounded_model_by_the_command(tmp_path):
    (tmp_path / "add.lsn").write_text(ADD)
    succeed("explore", tmp_path / "add.lsn", "-o", tmp_path / "add.smv", "--unbounded")
    assert " : integer;" in (tmp_path / "add.smv").read_text()
    wrong = invoke("explore", tmp_path / "add.lsn", "--unbounded")
    assert wrong.exit_code == 2 and "--unbounded: it needs an .smv file OUT" in wrong.stderr


# ---- commands ----


@pytest.fixture
def add(tmp_path):
    path = tmp_path / "add.lsn"
    path.write_text(ADD)
    return path


def test_explore(add, tmp_path):
    targets = [tmp_path / f"g.{x}" for x in ("json", "aut", "tra", "smv", "dot")]
    text = succeed("explore", add, *(x for target in targets for x in ("-o", target)))
    first, second, *_ = text.splitlines()
    assert first == f"{add}: 5 places, 3 transitions; the Sleptsov rule"
    assert second == "complete: 5 configurations up to depth 3"
    assert "\ntokens: p1 0 to 7, p2 0 to 5, p3 0 to 12, p4 0 to 1, p5 0 to 1\n" in text
    assert "\ntransitions that never fire: none\n" in text
    assert len(Smv(targets[3].read_text()).explore()[0]) == 5
    assert read_json(targets[0]).extra["transitions"] == ["t1", "t2", "t3"]
    value = json.loads(succeed("explore", add, "--rule", "petri", "--json"))
    assert value["configurations"] == 6 * 8 + 1 and value["unused_transitions"] == []
    assert value["places"][:2] == ["p1", "p2"] and value["bounds"]["p3"] == [0, 12]


def test_check(add):
    succeed("check", add, "eventually p3 = 12", "always p1 + p2 + p3 = 12")
    result = invoke("check", add, "always p3 <= 4")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "  step 1: t1 x 7 | p1 = 0, p3 = 7"
    value = json.loads(invoke("check", add, "always p3 <= 4", "--json").stdout)["queries"][0]
    assert value["witness"][1] == [0, 5, 7, 0, 1] and value["firings"] == [["t1", 7]]
    value = json.loads(succeed("check", add, "always p3 <= 12", "--json"))["queries"][0]
    assert value["witness"] is None and value["firings"] is None


@pytest.mark.parametrize(
    "command, options, message",
    [
        ("explore", ["--strict"], "--strict: this is a file of a net"),
        ("explore", ["--numbers", 3], "--numbers: this is a file of a net"),
        ("explore", ["--saturate", "p1=3"], "--saturate: this is a file of a net"),
        ("explore", ["--layout", "csr"], "--layout: this is a file of a net"),
        (
            "explore",
            ["--rule", "disjoint"],
            "cannot be explored or checked. Do so with --rule sleptsov or --rule petri.",
        ),
        (
            "check",
            ["always p1 = 0", "--rule", "disjoint"],
            "cannot be explored or checked. Do so with --rule sleptsov or --rule petri.",
        ),
        ("check", ["always p1 = 0", "--inputs", 3], "--inputs: this is a file of a net"),
        ("check", ["always p9 = 0"], "there is no 'p9'"),
        ("check", ["always timer(p1) = 0"], "only neurons have `timer`"),
    ],
)
def test_bad_usage(add, command, options, message):
    result = invoke(command, add, *options)
    assert result.exit_code == 2 and result.stdout == ""
    assert message in " ".join(result.stderr.split())


def test_what_cannot_be_explored(tmp_path):
    path = tmp_path / "source.net"
    path.write_text("net source\ntr t1 -> p1\n")
    result = invoke("explore", path, "--rule", "sleptsov")
    assert result.exit_code == 2
    assert re.search("fires without bound. Explore the net with --rule petri.", result.stderr)
    result = invoke("explore", path, "--max-depth", 3)
    assert result.exit_code == 0 and "NOT COMPLETE" in result.stdout
    system = tmp_path / "pair.pli"
    system.write_text("")
    result = invoke("check", system, "always p = 1", "--rule", "petri")
    assert result.exit_code == 2 and "this is a file of a spiking system" in result.stderr


def test_files_of_a_graph_are_whole(tmp_path):
    graph = snp.explore(race(), edges=False)
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        for suffix in ("aut", "tra", "json", "dot", "graphml"):
            with pytest.raises(ValueError, match="edges were not kept"):
                write_graph(graph, Path(folder) / f"g.{suffix}")
        assert list(Path(folder).iterdir()) == []


def test_numbers_of_more_than_32_bits_get_advice_that_exists():
    net = snp.SleptsovNet(
        [2**31], inputs=Arcs.of([(0, 0, 2**30)]), outputs=Arcs.of([]), rule=Petri()
    )
    assert snp.run(net).steps == 2
    for search in (snp.explore, lambda net: snp.check(net, "eventually halted")):
        with pytest.raises(ValueError, match=r"in which `explore` and `check` count \(scale the"):
            search(net)
    with pytest.raises(snp.QueryError, match="explored up to 2147483647; scale the model down"):
        snp.check(net, "always p1 <= 2147483648")
