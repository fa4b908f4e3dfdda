"""Reductions of `check` against full graphs, and preconditions that switch them off."""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import snpjax as snp
from snpjax.check import reach_probability
from snpjax.check.query.names import needs_of
from snpjax.check.query.parse import parse_query
from snpjax.check.reduction import ConeOfInfluence, StubbornSets, Symmetry, decide
from snpjax.check.reduction.automorphisms import ColouredGraph
from snpjax.check.reduction.canonical_machine import CanonicalMachine, sorted_fields
from snpjax.check.reduction.cone import places_in_cone
from snpjax.check.reduction.net_relations import NetRelations, breakers_of_cycles
from snpjax.check.reduction.plan import reduced
from snpjax.check.reduction.stubborn_machine import StubbornNet
from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet
from tests.cli.test_cli import invoke
from tests.support.helpers import many, script
from tests.support.reduced_models import (
    PLACES,
    random_net,
    random_query,
    random_system,
    replicated_net,
)
from tests.support.tiny_search import TooLarge, graph_of_net, graph_of_system


contest = script("bench/contest_nets.py")

STUBBORN, SYMMETRY, CONE = StubbornSets(), Symmetry(), ConeOfInfluence()

DEADLOCKS = [
    "never halted",
    "on some path eventually (halted and p1 + p2 <= 1)",
    "always (halted implies p3 = 0)",
    "eventually halted",
    "on some path never halted",
]
_TOGETHER = 64


@cache
def _of_set():
    return jax.jit(lambda machine, fields: machine.alternatives(machine.decode(fields))[:, 0])


def followed_by(machine: StubbornNet | CanonicalMachine):
    """What the machine follows in some markings, 64 at a time so that nets share a program."""
    machine = machine.machine if isinstance(machine, CanonicalMachine) else machine

    def followed(rows, enabled):
        found = np.zeros_like(enabled)
        for start in range(0, len(rows), _TOGETHER):
            own = rows[start : start + _TOGETHER]
            fields = np.zeros((machine.net.machine.program.num_places + 1, _TOGETHER), np.uint32)
            fields[: own.shape[1], : len(own)] = own.T
            some = _of_set()(machine, fields)
            found[start : start + _TOGETHER] = np.asarray(some)[: enabled.shape[1], : len(own)].T
        assert np.all(found <= enabled) and np.array_equal(found.any(axis=1), enabled.any(axis=1))
        return found

    return followed


def plan_of(model, query, *reductions):
    parsed = parse_query(query)
    needs = needs_of(parsed, model, saturate=None, max_depth=None)
    return reduced(model, parsed, reductions, saturate=needs.saturate)


def reduced_graph(plan):
    """The graph of a reduced model, by a search in Python."""
    if isinstance(plan.model, snp.SpikingSystem):
        return graph_of_system(plan.model, families=plan.families)
    followed = None if plan.watched is None else followed_by(plan.enumerable(saturate={}, clock=0))
    return graph_of_net(plan.model, followed=followed, families=plan.families)


class Sweep:
    """Queries of random models, decided in full and in reduced graphs; how often reductions were
    used, and how often there were fewer configurations."""

    def __init__(self, *reductions):
        self.reductions, self.used, self.fewer = reductions, 0, 0

    def compare(self, model, queries):
        is_system = isinstance(model, snp.SpikingSystem)
        try:
            full = graph_of_system(model) if is_system else graph_of_net(model)
        except TooLarge:
            return
        for query in queries:
            plan = plan_of(model, query, *self.reductions)
            if plan.used:
                small = reduced_graph(plan)
                wanted, found = snp.check(full, query), snp.check(small, query)
                assert found.status is wanted.status, (query, plan.used, model)
                self.used += 1
                self.fewer += small.num_configurations < full.num_configurations


def of_places(rng):
    a, b, c = (f"p{i + 1}" for i in rng.choice(PLACES, 3, replace=False))
    return [f"{a} >= 1", f"{b} = 0", f"{a} + {c} <= 2", f"{c} = 1", f"{b} > {c}"]


def stubborn_sweep(seeds):
    sweep = Sweep(STUBBORN)
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        model, conditions = random_net(rng), of_places(rng)
        queries = [random_query(rng, conditions, has_next=False) for _ in range(2)]
        sweep.compare(model, [DEADLOCKS[seed % 5], *queries])
    return sweep


def symmetric_nets_sweep(seeds):
    sweep = Sweep(SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        sums = ["p1 + p3 + p5", "p2 + p4 + p6", "p7 - p8", "p1 + p2 + p3 + p4 + p5 + p6"]
        conditions = [f"{x} {rng.choice(['<=', '=', '>='])} {rng.integers(0, 4)}" for x in sums]
        conditions += ["p1 >= 1 or p3 >= 1 or p5 >= 1", "p7 = 0 and (p2 = 1 and p4 = 1 and p6 = 1)"]
        query = random_query(rng, conditions, has_next=True)
        # The last one tells the components apart.
        sweep.compare(replicated_net(rng), [query, "never halted", "always p1 + p2 <= p3 + 1"])
    return sweep


def symmetric_systems_sweep(seeds):
    sweep = Sweep(SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 3])
        conditions = [
            "n00 + n10 + n20 <= 2",
            "n01 + n11 + n21 >= 1",
            "timer(n00) = 1 or timer(n10) = 1 or timer(n20) = 1",
            "n00 = 0 and n10 = 0 and n20 = 0",
            "halted",
        ]
        queries = [random_query(rng, conditions, has_next=True), "eventually n00 >= 1"]
        sweep.compare(random_system(rng, copies=3), queries)
    return sweep


def cone_sweep(seeds):
    sweep = Sweep(CONE)
    for seed in seeds:
        rng = np.random.default_rng([seed, 4])
        a, b = rng.choice(6, 2, replace=False).tolist()
        conditions = [f"n0{a} >= 1", f"n0{a} + n0{b} <= 2", f"timer(n0{b}) = 1", f"emits(n0{a})"]
        sweep.compare(random_system(rng), [random_query(rng, conditions, has_next=True)])
        some = of_places(rng)
        queries = [f"never ({some[0]} and {some[1]})", f"always {some[2]}"]
        sweep.compare(random_net(rng), queries)
    return sweep


def all_at_once_sweep(seeds):
    sweep = Sweep(CONE, STUBBORN, SYMMETRY)
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        conditions = ["p1 + p3 + p5 >= 1", "p2 + p4 + p6 <= 1", "p7 = 0"]
        query = random_query(rng, conditions, has_next=False)
        sweep.compare(replicated_net(rng), [query, "never halted"])
    return sweep


SWEEPS = {
    "stubborn sets": stubborn_sweep,
    "symmetry of nets": symmetric_nets_sweep,
    "symmetry of systems": symmetric_systems_sweep,
    "cone of influence": cone_sweep,
    "all at once": all_at_once_sweep,
}


@pytest.mark.parametrize("name", SWEEPS)
def test_same_verdicts(name):
    sweep = SWEEPS[name](range(12))
    assert sweep.used >= 5 and sweep.fewer >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEPS)
def test_same_verdicts_of_many(name):
    num = many(500, part=10)
    sweep = SWEEPS[name](range(100, 100 + num))
    assert sweep.used >= num // 4 and sweep.fewer >= num // 12


# ---- preconditions that switch a reduction off ----


def petri(inputs, outputs, marking, rule=None, **more):
    net = SleptsovNet(marking, inputs=Arcs.of(inputs), outputs=Arcs.of(outputs), **more)
    return Execution(net, rule or Petri())


#: Two tokens that walk along p1, p2 and p3, p4, independently of each other.
TWO_WALKS = [(0, 0, 1), (2, 1, 1)], [(1, 0, 1), (3, 1, 1)], [1, 0, 1, 0]

RING = snp.SpikingSystem(
    [
        snp.Neuron("n1", 1, ["a -> a"]),
        snp.Neuron("n2", 0, ["a -> a", "a -> lambda"]),
        snp.Neuron("far", 1, ["a -> a"]),
    ],
    [("n1", "n2"), ("n2", "n1"), ("n1", "far")],
)


@pytest.mark.parametrize(
    ("model", "query", "reduction", "why"),
    [
        (petri(*TWO_WALKS), "always (p2 = 0 implies next p2 = 0)", STUBBORN, "`next`"),
        (petri(*TWO_WALKS), "always step <= 9", STUBBORN, "`step`"),
        (petri(*TWO_WALKS), "always (halted or p1 + p3 >= 1)", STUBBORN, "more than tokens"),
        (petri(*TWO_WALKS, rule=snp.sleptsov.Sleptsov()), "never halted", STUBBORN, "as often"),
        (petri(*TWO_WALKS, priorities=[(0, 1)]), "never halted", STUBBORN, "priorities"),
        (RING, "never halted", STUBBORN, "synchronous"),
        (petri(*TWO_WALKS), "always p1 + p3 >= 0", STUBBORN, "every transition"),
        (petri(*TWO_WALKS), "never halted", CONE, "halted"),
        (petri(*TWO_WALKS), "eventually p2 = 1", CONE, "ever true"),
        (petri(*TWO_WALKS, priorities=[(0, 1)]), "always p4 <= 1", CONE, "priorities"),
        (petri(*TWO_WALKS), "always p2 + p4 <= 2", CONE, "all places"),
        (RING, "always step <= 3", CONE, "step"),
        (RING, "always far <= 1", CONE, "all neurons"),
        (RING, "never emits(n1)", SYMMETRY, "emissions"),
        (RING, "always n1 + n2 <= 1", SYMMETRY, "no components"),
        (petri(*TWO_WALKS), "never (p2 = 1 and p4 = 0)", SYMMETRY, "no components"),
        (RING.replace(signed=True), "always n1 <= 1", SYMMETRY, "variants"),
        (RING.replace(signed=True), "always n1 <= 1", CONE, "variants"),
    ],
)
def test_switched_off(model, query, reduction, why):
    plan = plan_of(model, query, reduction)
    assert plan.used == () and plan.watched is None and not plan.families and plan.kept is None
    (unused,) = plan.unused
    assert why in unused


def test_the_answer_would_be_wrong():
    """Each of these preconditions matters: without it the answer is another one."""
    # Cone of influence of a net: the other transition may fire for ever.
    starved = petri([(0, 0, 1), (2, 1, 1)], [(1, 0, 1), (2, 1, 1)], [1, 0, 1])
    assert snp.check(starved, "eventually p2 = 1").is_refuted
    assert snp.check(petri([(0, 0, 1)], [(1, 0, 1)], [1, 0]), "eventually p2 = 1")
    # Stubborn sets and `next`: the other token may walk first.
    assert snp.check(petri(*TWO_WALKS), "on some path next p3 = 0")
    assert snp.check(petri(*TWO_WALKS), "on some path next p1 = 0")
    # Symmetry: a condition that tells the two walks apart.
    assert snp.check(petri(*TWO_WALKS), "on some path eventually (p2 = 1 and p4 = 0)")
    assert plan_of(petri(*TWO_WALKS), "never (p2 = 1 and p4 = 1)", SYMMETRY).families


def test_cycles_are_not_ignored():
    """A transition that turns for ever may not put off what the query reads for ever."""
    model = petri(
        [(0, 0, 1), (1, 1, 1), (2, 2, 1)], [(1, 0, 1), (0, 1, 1), (3, 2, 1)], [1, 0, 1, 0]
    )
    query = "always p4 = 0"
    plan = plan_of(model, query, STUBBORN)
    assert plan.watched is not None and plan.watched.tolist().count(True) == 2
    assert snp.check(reduced_graph(plan), query).is_refuted
    everything = reduced(model, parse_query(query), [STUBBORN], saturate={})
    assert everything.used == ("stubborn sets (for linear time without next)",)


def test_breakers_of_cycles():
    effect = np.asarray([[-1, 1, 0], [1, -1, 0], [0, -1, 1], [0, 0, 0]])
    none = np.zeros(4, bool)
    chosen = breakers_of_cycles(effect, none)
    assert chosen[3] and chosen[:2].sum() == 1 and not chosen[2]
    assert breakers_of_cycles(effect, np.asarray([True, False, False, True])).sum() == 2


@pytest.mark.parametrize("seed", range(5))
def test_every_cycle_is_broken(seed):
    """Every cycle of the markings of random nets fires a chosen transition."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    model = random_net(np.random.default_rng([seed, 6]))
    chosen = breakers_of_cycles(NetRelations.of(model.net).effect, np.zeros(PLACES, bool))
    graph = graph_of_net(model)
    left = ~chosen[graph.transitions().transition]
    pairs = np.unique(np.stack([graph.sources[left], graph.edge_targets[left]], axis=1), axis=0)
    size = graph.num_configurations
    ones = np.ones(len(pairs), bool)
    parts, _ = connected_components(
        csr_array((ones, pairs.T), shape=(size, size)), connection="strong"
    )
    assert parts == size and not np.any(pairs[:, 0] == pairs[:, 1])


# ---- the parts ----


def test_components_of_a_star():
    """Three rays of two vertices around a centre; one of four has another colour."""
    arcs = {(0, 1 + 2 * i): "in" for i in range(4)} | {
        (1 + 2 * i, 2 + 2 * i): "out" for i in range(4)
    }
    colours = ["centre", *["a", "b"] * 3, "a", "c"]
    (family,) = ColouredGraph(9, colours, arcs).components()
    assert family.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_wrong_exchange_is_none():
    """A path of four vertices looks the same from both ends, but no two of them are
    interchangeable by themselves."""
    path = ColouredGraph(4, ["x"] * 4, {(0, 1): 1, (1, 2): 1, (2, 3): 1})
    assert path.components() == [] and not path.is_automorphism({0: 3, 3: 0})
    both = {(0, 1): 1, (1, 2): 1, (2, 3): 1, (3, 2): 1, (2, 1): 1, (1, 0): 1}
    (family,) = ColouredGraph(4, ["x"] * 4, both).components()
    assert family.tolist() == [[0, 1], [3, 2]]


def test_sorted_on_the_device_as_on_the_host():
    model = replicated_net(np.random.default_rng(0))
    plan = plan_of(model, "never halted", SYMMETRY)
    machine = plan.enumerable(saturate={}, clock=0)
    assert isinstance(machine, CanonicalMachine)
    places = machine.machine.machine.program.num_places
    fields = np.zeros((places + 1, 200), np.uint32)
    fields[:PLACES] = np.random.default_rng(1).integers(0, 3, (PLACES, 200))
    found = machine.encode(machine.decode(jnp.asarray(fields)))
    wanted = sorted_fields(fields.astype(np.int64), tuple(plan.families_of(machine)))
    assert np.array_equal(np.asarray(found), wanted)
    assert not np.array_equal(wanted, fields)


@pytest.mark.parametrize("kind", ["inputs", "tests", "inhibitors"])
def test_the_cone_of_a_net_follows_arcs_of_every_kind(kind):
    """p3 decides whether p2 gets a token, and p4 nothing."""
    arcs = {"inputs": [(0, 0, 1), (3, 1, 1)], "tests": [], "inhibitors": []}
    arcs[kind] = [*arcs[kind], (2, 0, 1)]
    net = SleptsovNet(
        [1, 0, 1, 1],
        outputs=Arcs.of([(1, 0, 1)]),
        **{name: Arcs.of(triples) for name, triples in arcs.items()},
    )
    assert places_in_cone(net, {"p2"}).tolist() == [True, True, True, False]


# ---- through `check` ----


@pytest.mark.parametrize("num", [3, 4, 5])
def test_philosophers(num):
    model = contest.philosophers(num)
    assert graph_of_net(model).num_configurations == 3**num
    assert len(graph_of_net(model).halting()) == 2
    small = reduced_graph(plan_of(model, "never halted", STUBBORN))
    assert small.num_configurations == {3: 27, 4: 79, 5: 223}[num] and len(small.halting()) == 2


@pytest.mark.parametrize(("cards", "num"), [(1, 160), (2, 4600)])
def test_kanban(cards, num):
    model = contest.kanban(cards)
    assert graph_of_net(model, most=5000).num_configurations == num
    small = reduced_graph(plan_of(model, "never halted", STUBBORN))
    assert small.num_configurations < num // 6 and len(small.halting()) == 0


@pytest.mark.slow
def test_philosophers_20_and_kanban_10():
    """Their graphs have 3.5 * 10^9 and 1.0 * 10^9 markings."""
    found = snp.check(contest.philosophers(20), "on some path eventually halted")
    assert found.is_proved and found.replay().halted
    found = snp.check(contest.kanban(10), "on some path eventually halted")
    assert found.is_refuted and found.reductions[0] == "stubborn sets (for deadlocks)"
    assert found.num_configurations == 210


def test_witness_of_a_reduced_net():
    model = contest.philosophers(3)
    found = snp.check(model, "never halted", reductions=[STUBBORN, SYMMETRY, CONE])
    mirrored = "symmetry (2 components of 6 places)"
    assert found.is_refuted and found.reductions == ("stubborn sets (for deadlocks)", mirrored)
    assert "reduced by stubborn sets (for deadlocks)" in str(found)
    assert "not reduced by cone of influence: the query reads `halted`" in str(found)
    run = found.replay()
    assert run.halted and np.array_equal(run.marking, found.spikes[-1])


def test_a_loop_is_closed_in_the_original_model():
    """Two components that take turns: sorted, they repeat after one turn; in fact after two."""
    inputs = [(0, 0, 1), (4, 0, 1), (1, 1, 1), (2, 2, 1), (5, 2, 1), (3, 3, 1)]
    outputs = [(1, 0, 1), (0, 1, 1), (5, 1, 1), (3, 2, 1), (2, 3, 1), (4, 3, 1)]
    model = petri(inputs, outputs, [1, 0, 1, 0, 1, 0])
    found = snp.check(model, "on some path infinitely often p1 + p3 <= 1", reductions=[SYMMETRY])
    assert found.is_proved and not found.reductions  # a token tells them apart
    free = petri(
        [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 0, 1), (4, 2, 1)],
        [(1, 0, 1), (0, 1, 1), (3, 2, 1), (2, 3, 1), (4, 1, 1), (4, 3, 1)],
        [1, 0, 1, 0, 1],
    )
    found = snp.check(free, "on some path infinitely often p1 + p3 = 1", reductions=[SYMMETRY])
    assert found.is_proved and found.reductions and found.loop is not None
    assert np.array_equal(found.spikes[-1], found.spikes[found.loop])
    found.replay()


def test_symmetry_of_a_system():
    """Each client has a part of two neurons, one of which closes for a step."""
    pairs = [(f"c{i}", f"d{i}") for i in range(3)]
    system = snp.SpikingSystem(
        [snp.Neuron(c, 1, ["a -> a", "a -> lambda"]) for c, _ in pairs]
        + [snp.Neuron(d, 0, ["a -> a; 1"]) for _, d in pairs],
        [*pairs, *((d, c) for c, d in pairs)],
    )
    query = "on some path infinitely often d0 + d1 + d2 = 2"
    full = snp.check(system, query, reductions=())
    found = snp.check(system, query, reductions=[SYMMETRY, STUBBORN])
    assert found.is_proved and full.is_proved
    assert found.reductions == ("symmetry (3 components of 2 neurons)",)
    assert "synchronous" in found.not_reduced[0]
    assert found.num_configurations < full.num_configurations
    assert np.array_equal(found.spikes[-1], found.spikes[found.loop])
    found.replay()


NET = """<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n"
 type="http://www.pnml.org/version-2009/grammar/ptnet">
<page id="g">
<place id="p"><initialMarking><text>1</text></initialMarking></place><place id="q"/>
<place id="r"><initialMarking><text>1</text></initialMarking></place><place id="s"/>
<transition id="t"/><transition id="u"/>
<arc id="a" source="p" target="t"/><arc id="b" source="t" target="q"/>
<arc id="c" source="r" target="u"/><arc id="d" source="u" target="s"/>
</page></net></pnml>"""


def test_the_command(tmp_path):
    file = tmp_path / "walks.pnml"
    file.write_text(NET)
    call = ["check", f"{file}", "never halted", "--rule", "petri"]
    result = invoke(*call, "--reduce", "stubborn-sets", "--reduce", "cone", "--json")
    (found,) = json.loads(result.stdout)["queries"]
    assert found["status"] == "refuted" and found["configurations"] == 3
    assert found["reductions"] == ["stubborn sets (for deadlocks)"]
    assert found["not_reduced"][0].startswith("cone of influence: the query reads `halted`")
    (found,) = json.loads(invoke(*call, "--json").stdout)["queries"]
    assert found["configurations"] == 4 and found["reductions"] == []
    (found,) = json.loads(
        invoke(*call, "--json", "--max-configurations", "2", "--no-induction").stdout
    )["queries"]
    assert found["status"] == "refuted" and found["configurations"] == 2  # by a random run
    few = [*call, "--json", "--max-configurations", "2", "--reduce", "none", "--no-induction"]
    (found,) = json.loads(invoke(*few).stdout)["queries"]
    assert found["status"] == "bounded"
    wrong = invoke(*call, "--reduce", "symetry")
    assert wrong.exit_code == 2 and "is not a reduction (write symmetry" in wrong.stderr


def test_by_default_only_where_the_graph_is_too_large(monkeypatch):
    model = contest.kanban(1)
    found = snp.check(model, "never halted")
    assert found.num_configurations == 160 and found.reductions == ()
    monkeypatch.setattr(decide, "_FEW", 20)
    monkeypatch.setattr(decide, "_FIRST", 50)
    found = snp.check(model, "never halted")
    assert found.is_proved and found.num_configurations == 23 and len(found.reductions) == 2
    found = snp.check(model, "never halted", reductions=(), max_configurations=50, induction=False)
    assert found.status is snp.Status.BOUNDED and found.reductions == ()
    # A random run shows a deadlock, and is none of the graph.
    found = snp.check(contest.philosophers(3), "never halted", max_configurations=9)
    assert found.is_refuted and found.num_configurations == 9 and not found.reductions
    assert found.replay().halted


@pytest.mark.slow
def test_random_runs_come_before_a_large_graph(monkeypatch):
    """They find what is reachable, not only halts, where a small graph does not show it."""
    monkeypatch.setattr(decide, "_FEW", 9)
    model = contest.philosophers(3)
    forks = " + ".join(f'"{name}"' for name in model.net.place_names if "Fork" in name)
    full = snp.explore(model)
    for query in (
        "never halted",
        f"on some path eventually ({forks} <= 0 and halted)",
        f"always {forks} >= 1",
    ):
        found = snp.check(model, query)
        assert found.is_decided and found.status is snp.check(full, query).status
        assert found.num_configurations == 9 and found.found_by == "random runs"
        assert "found by random runs" in found.summary and found.replay() is not None
        again = snp.check(model, query)
        assert again.summary == found.summary and np.array_equal(again.spikes, found.spikes)
    # What no run can reach is left to the graph; so is what is not about single configurations.
    assert snp.check(model, f"never {forks} > 3").num_configurations == full.num_configurations
    assert not snp.check(model, "on some path infinitely often not halted").found_by
    # Halts of long runs that end after others have begun again.
    only = snp.check(model, f"never (halted and {forks} > 0)")
    assert only.is_proved and not only.found_by


def test_a_reduced_graph_that_is_cut_short_proves_nothing():
    options = {"max_configurations": 9, "induction": False}
    found = snp.check(contest.kanban(1), "never halted", reductions=[STUBBORN], **options)
    assert found.status is snp.Status.BOUNDED and found.depth == 0


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["symmetry"], TypeError, "has 'symmetry'. Give Symmetry()"),
        ([STUBBORN], ValueError, "is not reduced"),
    ],
)
def test_bad_reductions(given, error, message, tmp_path):
    more = {"checkpoint": snp.Checkpoint(tmp_path)} if error is ValueError else {}
    with pytest.raises(error, match=message.replace("(", r"\(").replace(")", r"\)")):
        snp.check(contest.kanban(1), "never halted", reductions=given, **more)
    with pytest.raises(ValueError, match="What a function reads is unknown"):
        snp.check(contest.kanban(1), lambda c: c["P1"] >= 0, reductions=[STUBBORN])


def test_a_reduced_graph_answers_no_other_query():
    neurons = [snp.Neuron(name, 2, ["a^2 -> a", "a^2 -> lambda"]) for name in "cd"]
    neurons += [snp.Neuron(name, 0, ["a^5 -> a"]) for name in "xy"]
    system = snp.SpikingSystem(neurons, [("c", "x"), ("d", "y")])
    found = snp.check(system, "always x + y <= 2", reductions=[snp.Symmetry()])
    assert found.is_proved and found.reductions
    for query in ("always x <= y", "P=? [ F x > y ]"):
        with pytest.raises(ValueError, match="not the full one"):
            snp.check(found.graph, query)
    with pytest.raises(ValueError, match="was reduced for a query"):
        reach_probability(found.graph, lambda c: c["x"] > 0)
    shown = snp.check(system, "always x + y <= 1", reductions=[snp.Symmetry()])
    assert shown.is_refuted and shown.replay().spikes_of("x") == 1
    with pytest.raises(ValueError, match="not the full one"):
        snp.check(shown.computation, "eventually x + y >= 1")
