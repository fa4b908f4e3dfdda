"""Sleptsov nets: both engines, all rules and batches are what the reference is."""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.sleptsov import (
    Arcs,
    Disjoint,
    EventDriven,
    Execution,
    FullScan,
    Petri,
    Sleptsov,
    SleptsovNet,
)
from snpjax.sleptsov.step.event_driven import initial_loops
from snpjax.sleptsov.step.gpu_loop import event_loop_on_gpu
from snpjax.testing import nets
from snpjax.testing.reference_sleptsov import Reference
from tests.support.helpers import many
from tests.support.nets import TRACE, filled


STEPS = 24
PATHS = 5
RULES = {"sleptsov": Sleptsov(), "petri": Petri(), "disjoint": Disjoint()}
ENGINES = {"event": EventDriven(), "scan": FullScan()}
ways = st.sampled_from([("event", "sleptsov"), ("event", "petri"), ("scan", "sleptsov")])
all_ways = st.sampled_from(
    [(e, r) for e in ENGINES for r in RULES if (e, r) != ("event", "disjoint")]
)


def run(net, way, *, choice=None, dtype=np.int64, max_steps=STEPS, markings=None, save=TRACE):
    engine, rule = way
    if markings is not None:
        extra = filled(net).num_places - net.num_places
        markings = np.pad(markings, ((0, extra), (0, 0)))
    return snp.run(
        Execution(filled(net), rule=RULES[rule], counts=True),
        paths=None if markings is None else markings.shape[1],
        initial=markings,
        max_steps=max_steps,
        engine=ENGINES[engine],
        choice=choice or snp.FirstChoice(),
        count_dtype=dtype,
        save=save,
        throw=False,
    )


def check(net, found, wanted):
    assert found.result == getattr(snp.RESULTS, wanted.status)
    assert found.steps == wanted.steps
    assert tuple(found.marking[: net.num_places].tolist()) == wanted.marking
    assert not found.marking[net.num_places :].any()
    assert found.trace == wanted.trace
    if wanted.culprit is None:
        assert found.culprit is None and found.failure is None
    else:
        culprit = found.culprit
        assert (culprit.transition, culprit.multiplicity, culprit.place) == wanted.culprit


@given(nets(), all_ways)
@settings(max_examples=many(90))
def test_runs_are_those_of_the_reference(net, way):
    assert net.priority_order.tolist() == Reference(net).order
    wanted = Reference(net).run(rule=way[1], max_steps=STEPS)
    found = run(net, way)
    check(net, found, wanted)
    counts = Counter(t for _, t, _ in wanted.trace)
    assert found.counts.tolist() == [counts[t] for t in range(len(found.counts))]
    if way[1] == "disjoint":
        assert (found.widest, found.firings) == (wanted.widest, len(wanted.trace))


@given(nets(), all_ways, st.data())
@settings(max_examples=many(75))
def test_no_overflow_is_silent(net, way, data):
    """Markings and weights near the largest number there is."""
    largest = 2**31 - 1
    near = st.integers(0, 3).map(lambda less: largest - less)
    some = st.one_of(near, st.integers(0, 4), st.integers(0, largest))
    marking = data.draw(st.lists(some, min_size=net.num_places, max_size=net.num_places))
    outputs = net.outputs
    if len(outputs):
        weights = data.draw(st.lists(some, min_size=len(outputs), max_size=len(outputs)))
        outputs = Arcs(outputs.place, outputs.transition, np.maximum(weights, 1))
    net = net.replace(marking=marking, outputs=outputs)
    wanted = Reference(net).run(rule=way[1], max_steps=STEPS, largest=largest)
    check(net, run(net, way, dtype=np.int32), wanted)


@given(nets(), ways, st.data())
@settings(max_examples=many(45))
def test_a_batch_is_its_runs(net, way, data):
    tokens = st.lists(st.integers(0, 6), min_size=net.num_places, max_size=net.num_places)
    rows = data.draw(st.lists(tokens, min_size=PATHS, max_size=PATHS))
    markings = np.asarray(rows, np.int64).reshape(PATHS, net.num_places).T
    found = run(net, way, markings=markings)
    reference = Reference(net)
    for path, row in enumerate(rows):
        wanted = reference.run(rule=way[1], max_steps=STEPS, marking=tuple(row))
        assert found.steps[path] == wanted.steps
        assert found.marking[: net.num_places, path].tolist() == list(wanted.marking)
        result = jax.tree.map(lambda x, path=path: x[path], found.result)
        assert result == getattr(snp.RESULTS, wanted.status)
        assert found[path].trace == wanted.trace
        culprit = found.culprits[path]
        assert (culprit is None) == (wanted.culprit is None)


@given(
    nets(),
    st.sampled_from([("event", "sleptsov", 1), ("event", "petri", 3), ("scan", "disjoint", 3)]),
)
@settings(max_examples=many(30))
def test_markings_on_the_way(net, way):
    *way, every = way
    found = run(net, way, save=snp.Save(every=every, outputs=False, details=True))
    wanted = Reference(net).run(rule=way[1], max_steps=STEPS, keep=True)
    rows = found.markings[:, : net.num_places].tolist()
    assert rows == [list(marking) for marking in wanted.markings[::every]]
    assert found.trace == wanted.trace


@given(nets(), ways, st.randoms(use_true_random=False))
@settings(max_examples=many(30))
def test_places_can_be_renumbered(net, way, random):
    new = list(range(net.num_places))
    random.shuffle(new)
    at = np.asarray(new, np.int64)
    moved = {
        kind: Arcs(at[arcs.place], arcs.transition, arcs.weight)
        for kind in ("inputs", "outputs", "inhibitors", "tests")
        if (arcs := getattr(net, kind)) is not None
    }
    marking = np.zeros(net.num_places, np.int64)
    marking[at] = net.marking
    other = run(net.replace(marking=marking, **moved), way)
    own = run(net, way)
    assert other.trace == own.trace and other.steps == own.steps
    assert other.marking[at].tolist() == own.marking[: net.num_places].tolist()


@given(nets(), all_ways)
@settings(max_examples=many(30))
def test_markings_follow_from_the_firings(net, way):
    """The state equation: mu = mu0 + C f, so that every place invariant holds."""
    found = run(net, way)
    marking = filled(net).marking.copy()
    for _, transition, copies in found.trace:
        for kind, sign in ((net.inputs, -1), (net.outputs, 1)):
            own = kind.transition == transition
            np.add.at(marking, kind.place[own], sign * copies * kind.weight[own])
    assert found.marking.tolist() == marking.tolist()


@given(nets(), ways, st.integers(0, STEPS))
@settings(max_examples=many(30))
def test_a_run_can_go_on_where_another_ended(net, way, first):
    whole = run(net, way)
    begun = run(net, way, max_steps=first)
    rest = run(net.replace(marking=begun.marking[: net.num_places]), way, max_steps=STEPS - first)
    assert rest.marking.tolist() == whole.marking.tolist()
    assert begun.steps + rest.steps == whole.steps


@given(nets(), ways, st.integers(0, 2**31))
@settings(max_examples=many(45))
def test_drawn_transitions_are_undominated(net, way, seed):
    """Each draw is one of those that nobody beats, and the engines draw the same."""
    found = run(net, way, choice=snp.UniformChoice(jr.key(seed)))
    drawn = {step: t for step, t, _ in found.trace}
    offered = []

    def choose(candidates, step):
        offered.append(candidates)
        # The one that failed is in no trace.
        return drawn.get(step, found.culprit and found.culprit.transition)

    wanted = Reference(net).run(rule=way[1], max_steps=STEPS, choose=choose)
    for step, candidates in enumerate(offered):
        assert drawn.get(step, candidates[0]) in candidates
    check(net, found, wanted)
    other = ("scan" if way[0] == "event" else "event", way[1])
    if other[1] == "sleptsov":
        assert run(net, other, choice=snp.UniformChoice(jr.key(seed))).trace == found.trace


def race(num: int) -> SleptsovNet:
    """One token that this many transitions want, and one more that all others beat."""
    arcs = Arcs.of([(0, t, 1) for t in range(num + 1)])
    outputs = Arcs.of([(1 + t, t, 1) for t in range(num + 1)])
    marking = [1] + [0] * (num + 1)
    pairs = [(t, num) for t in range(num)]
    return SleptsovNet(marking, inputs=arcs, outputs=outputs, priorities=pairs)


@pytest.mark.parametrize("engine", ["event", pytest.param("scan", marks=pytest.mark.slow)])
def test_draws_are_uniform_and_do_not_depend_on_the_batch(engine):
    paths, num = 3000, 3
    key = jr.key(5)
    net = filled(race(num))
    options = {"max_steps": STEPS, "choice": snp.UniformChoice(key), "engine": ENGINES[engine]}
    many_paths = snp.run(net, paths=paths, save=TRACE, **options)
    won = np.argmax(many_paths.marking[1 : num + 2], axis=0)
    counts = np.bincount(won, minlength=num + 1)
    assert counts[num] == 0, "it is beaten"
    error = np.sqrt(paths * (1 / num) * (1 - 1 / num))
    assert np.all(np.abs(counts[:num] - paths / num) < 4 * error)
    few = snp.run(net, paths=PATHS, save=TRACE, **options)
    assert few.fired.tolist() == many_paths.fired[:, :PATHS].tolist()
    # The draw that is documented: step 0 of path 3.
    words = jr.key_data(jr.fold_in(jr.fold_in(key, 3), 0))
    bits = int(words[0] ^ words[1])
    assert many_paths.fired[0, 3] == bits * num >> 32


def test_a_net_with_an_order_of_its_own_takes_no_random_choice():
    net = race(2).replace(order=[0, 1, 2], priorities=[])
    with pytest.raises(ValueError, match="comes with a total order"):
        snp.run(net, choice=snp.UniformChoice(jr.key(0)))
    with pytest.raises(ValueError, match="Give no choice"):
        snp.run(Execution(race(2), rule=Disjoint()), choice=snp.UniformChoice(jr.key(0)))


@given(nets(bounded=True))
@settings(max_examples=many(30))
def test_drawn_runs_end_where_they_may(net):
    _, final = Reference(net).reachable()
    found = snp.run(
        Execution(filled(net), counts=True),
        paths=PATHS,
        max_steps=STEPS,
        choice=snp.UniformChoice(jr.key(1)),
        save=TRACE,
    )
    ended = {tuple(m) for m in found.marking[: net.num_places, found.halted].T.tolist()}
    assert ended <= final


@pytest.mark.parametrize("paths", [pytest.param(None, marks=pytest.mark.slow), 33])
@given(nets())
@settings(max_examples=many(30))
def test_the_kernel_of_a_gpu_walks_the_same_way(paths, net):
    """Interpreted on the host: a path alone, and a program of 32 paths with one of a single one."""
    execution = Execution(filled(net), counts=True)
    machine: Any = execution.lower(engine=EventDriven(), count_dtype=np.int32).machine
    state = machine.init()
    if paths is not None:
        state = jax.tree.map(lambda x: jnp.repeat(x[..., None], paths, axis=-1), state)
        # Each path makes one step more than the one before, up to 4.
        ahead = jnp.arange(paths, dtype=jnp.int32) % 5
        state, _, _ = machine.leap(state, snp.FirstChoice(), ahead, rows=None)
    (state, made, trace), end = _both_walks(machine, state)
    assert end.made.tolist() == made.tolist()
    assert end.marking.tolist() == state.marking.tolist()
    assert end.unsatisfied.tolist() == state.events.unsatisfied.tolist()
    assert end.words.tolist() == state.events.words.tolist()
    assert end.fired.tolist() == state.fired.tolist()
    failed = np.asarray(state.status != snp.RESULTS.halted)
    was_live = np.asarray(end.failure != 0)
    assert np.all(was_live <= failed)
    is_made = np.less.outer(np.arange(5), np.asarray(made))
    for own, other in zip(end.trace, trace, strict=True):
        assert np.where(is_made, own, 0).tolist() == np.where(is_made, other, 0).tolist()


@jax.jit
def _both_walks(machine, state):
    most = jnp.full_like(state.step, 5)
    start = initial_loops(machine, state, rows=5)
    wanted = machine.leap(state, snp.FirstChoice(), most, rows=5)
    return wanted, event_loop_on_gpu(
        machine.program, machine.dependents, machine.rule, start, most, interpret=True
    )


def test_a_step_by_hand():
    """`step` is a pure function, of one path or many."""
    lowered = snp.lower(Execution(filled(race(2))), engine=EventDriven(), count_dtype=np.int32)
    machine = lowered.machine
    state = machine.init()
    assert not bool(machine.halted(state))
    new, record = machine.step(state, snp.FirstChoice())
    assert (int(record.detail.transition), int(record.detail.multiplicity)) == (0, 1)
    assert bool(record.made) and bool(machine.halted(new)) and int(new.step) == 1
    same, record = machine.step(new, snp.FirstChoice())
    assert not bool(record.made)
    assert all(
        bool(jnp.all(x == y))
        for x, y in zip(jax.tree.leaves(new), jax.tree.leaves(same), strict=True)
    )


@given(nets(bounded=True), st.sampled_from(["sleptsov", "petri"]))
@settings(max_examples=many(36))
def test_exploration_finds_all_markings_and_choices(net, rule):
    reference = Reference(net)
    seen, final = reference.reachable(rule)
    graph = snp.explore(Execution(filled(net), rule=RULES[rule]))
    found = graph.configurations()
    rows = [tuple(row) for row in found.marking[:, : net.num_places].tolist()]
    assert graph.is_complete and len(set(rows)) == len(rows) and set(rows) == seen
    assert {row for row, halts in zip(rows, found.is_halting, strict=True) if halts} == final
    if net.num_places:
        assert found["p1"].tolist() == [row[0] for row in rows]
    steps = graph.transitions()
    edges = [(rows[s], rows[t]) for s, t in zip(steps.sources, steps.targets, strict=True)]
    assert edges == [(row, new) for row in rows for new in reference.successors(row, rule)]
    for (row, new), t, copies in zip(edges, steps.transition, steps.multiplicity, strict=True):
        assert reference.fired(row, int(t), int(copies)) == new


def test_exploration_of_a_race():
    net = race(3)
    graph = snp.explore(Execution(filled(net)))
    assert graph.num_configurations == 4 and graph.is_halting.tolist() == [False, True, True, True]
    assert graph.where(lambda c: c["p3"] > 0).tolist() == [2]
    assert graph.steps_to(2).names == ["t2"]
    with pytest.raises(ValueError, match="total order"):
        snp.explore(net.replace(order=[0, 1, 2, 3], priorities=[]))
    with pytest.raises(ValueError, match="under Sleptsov"):
        snp.explore(Execution(net, rule=Disjoint()))


@pytest.mark.slow
def test_queries_about_places():
    net = SleptsovNet(
        [2, 2, 0],
        inputs=Arcs.of([(0, 0, 1), (1, 1, 1)]),
        outputs=Arcs.of([(2, 0, 1), (2, 1, 1)]),
        place_names=["x", "y", "sum"],
    )
    graph = snp.explore(Execution(net, rule=Petri()))
    assert snp.check(graph, "always x + y + sum = 4").is_proved
    assert snp.check(graph, "eventually (sum = 4 and halted)").is_proved
    verdict = snp.check(graph, "always sum != 3")
    assert verdict.is_refuted
    assert list(verdict.lines())[1:] == [
        "  step 0: x = 2, y = 2",
        "  step 1: t1 | x = 1, sum = 1",
        "  step 2: t1 | x = 0, sum = 2",
        "  step 3: t2 | y = 1, sum = 3",
    ]
    assert snp.check(graph, lambda c: c["sum"] <= 4).is_proved
    for query, part in (
        ("always z = 0", "there is no 'z'"),
        ("always fires(x, 0)", "only neurons have `fires`"),
        ("always pending(x) = 0", "only neurons have `pending`"),
    ):
        with pytest.raises(snp.QueryError, match=part):
            snp.check(graph, query)
    assert verdict.replay().trace == [(0, 0, 1), (1, 0, 1), (2, 1, 1)]


def test_a_batch_keeps_markings_and_nothing_else():
    """A kernel with an argument that nothing reads would end the process, see `one_kernel`."""
    net = filled(race(2))
    markings = np.zeros((net.num_places, PATHS), np.int64)
    markings[0] = range(PATHS)
    found = snp.run(
        net,
        paths=PATHS,
        initial=markings,
        max_steps=STEPS,
        engine=EventDriven(),
        save=snp.Save(every=1, outputs=False, details=False),
    )
    # All tokens at once go to the first transition.
    assert found.steps.tolist() == [0, 1, 1, 1, 1]
    assert found.markings[:, :2].tolist() == [
        [[0, 1, 2, 3, 4], [0] * 5],
        [[0] * 5, [0, 1, 2, 3, 4]],
    ]
