"""Sleptsov nets: the published cases, and what a step must and must not do."""

import json
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax.sleptsov import (
    Arcs,
    Disjoint,
    EventDriven,
    Execution,
    FullScan,
    InvalidNet,
    Numbered,
    Petri,
    Sleptsov,
    SleptsovNet,
    net_of_text,
)
from tests.support.helpers import SHARED, needs_shared
from tests.support.nets import TRACE, filled


CASES = SHARED / "cases" / "sleptsov"
RULES = {"sleptsov": Sleptsov(), "petri": Petri(), "disjoint": Disjoint()}
DTYPES = {"int32": np.int32, "int64": np.int64}

# Larger ones, and longer runs, are left to the sweep.
_MOST_TRANSITIONS, _MOST_STEPS = 100, 10_000
_MOST_SCANNED = 20
# The same for all, so that they share their compilations.
_MORE_STEPS = 2**22


def runs() -> list[Any]:
    """(case, run) of all published runs."""
    if not CASES.is_dir():
        return [pytest.param(None, None, marks=needs_shared, id="no-cases")]
    found = []
    for path in sorted((CASES / "expected").glob("*.json")):
        case = json.loads(path.read_text())
        if isinstance(case, list) or "runs" not in case:
            continue
        for number, run in enumerate(case["runs"]):
            is_long = case["n"] > _MOST_TRANSITIONS or run["steps"] > _MOST_STEPS
            marks = [pytest.mark.slow] if is_long else []
            found.append(pytest.param(case, run, id=f"{case['id']}-{number}", marks=marks))
    return found


def read_net(path: Path) -> SleptsovNet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return _read(path)


def _read(path: Path) -> SleptsovNet:
    lines = [line for line in path.read_text().splitlines() if not line.startswith(";")]
    places, transitions, num_arcs, num_marked, _ = map(int, lines[0].split())
    arcs = [tuple(map(int, line.split()[:3])) for line in lines[1 : 1 + num_arcs]]
    marking = [0] * places
    for line in lines[1 + num_arcs : 1 + num_arcs + num_marked]:
        place, tokens = map(int, line.split()[:2])
        marking[place - 1] = tokens
    into = [(p - 1, t - 1, w) for p, t, w in arcs if p > 0]
    return SleptsovNet(
        marking,
        inputs=Arcs.of(arc for arc in into if arc[2] > 0),
        inhibitors=Arcs.of((p, t, 1) for p, t, w in into if w < 0),
        outputs=Arcs.of((-p - 1, t - 1, w) for p, t, w in arcs if p < 0 < t),
        priorities=[(-t - 1, -u - 1) for t, u, _ in arcs if t < 0 and u < 0],
        num_transitions=transitions,
    )


@pytest.mark.parametrize("case, run", runs())
def test_published_runs(case, run):
    net = read_net(CASES / case["net"])
    if case["priority_order"] is not None:
        assert net.priority_order.tolist() == case["priority_order"]
    if run["rule"] == "disjoint":
        check_run(case, run, FullScan())
        return
    check_run(case, run, EventDriven())
    if case["n"] <= _MOST_SCANNED and run["steps"] <= _MOST_STEPS:
        check_run(case, run, FullScan())


def check_run(case, run, engine) -> None:
    net = read_net(CASES / case["net"])
    steps = run["max_steps"]
    is_long = run["steps"] > _MOST_STEPS
    found = snp.run(
        Execution(filled(net), rule=RULES[run["rule"]], counts=True),
        max_steps=_MORE_STEPS if steps is None else steps,
        engine=engine,
        count_dtype=DTYPES[run["dtype"]],
        save=None if is_long else TRACE,
        throw=False,
    )
    assert found.result == getattr(snp.RESULTS, run["status"])
    assert found.steps == run["steps"]
    assert found.marking[: case["m"]].tolist() == run["final_marking"]
    assert not found.marking[case["m"] :].any()
    assert found.marking.dtype == DTYPES[run["dtype"]]
    if "trace" in run:
        lines = (CASES / run["trace"]).read_text().split("\n")
        assert found.trace == [tuple(map(int, line.split())) for line in lines if line]
    if run["rule"] == "disjoint":
        assert (found.firings, found.widest) == (run["firings"], run["widest"])
    assert found.counts.sum() == found.firings
    for place in case["answer"] if run is case["runs"][0] else ():
        assert found.tokens_in(place["place"]) == place["value"]
    if "overflow" in run:
        assert vars(found.culprit) == run["overflow"]
        name = net.transition_name(found.culprit.transition)
        assert f"transition '{name}', step {run['steps'] + 1}" in found.failure


@needs_shared
def test_published_markings_on_the_way():
    """Of runs that list some: the marking after exactly this many steps."""
    num_checked = 0
    for path in sorted((CASES / "expected").glob("*.json")):
        case = json.loads(path.read_text())
        for run in case["runs"] if isinstance(case, dict) and "runs" in case else ():
            listed = {int(step): marking for step, marking in run.get("markings_at", {}).items()}
            if not listed or case["n"] > _MOST_TRANSITIONS or max(listed) > _MOST_STEPS:
                continue
            net = filled(read_net(CASES / case["net"]))
            for step, marking in sorted(listed.items())[:4]:
                execution = Execution(net, rule=RULES[run["rule"]], counts=True)
                layout = FullScan() if run["rule"] == "disjoint" else EventDriven()
                found = snp.run(execution, max_steps=step, engine=layout, save=TRACE, throw=False)
                assert found.marking[: case["m"]].tolist() == marking
                num_checked += 1
    assert num_checked


@needs_shared
@pytest.mark.parametrize("engine", [EventDriven(), FullScan()], ids=repr)
def test_published_batch(engine):
    """256 products at once, each halting in its own time."""
    case = json.loads((CASES / "expected/batch_mul.json").read_text())
    rows = np.asarray(case["rows"])
    net = read_net(CASES / case["net"])
    markings = np.repeat(net.marking[:, None], len(rows), axis=1)
    markings[:2] = rows[:, :2].T
    markings[2] = 0
    found = snp.run(net, paths=len(rows), initial=markings, max_steps=500, engine=engine)
    assert found.halted.all()
    assert found.steps.tolist() == rows[:, 2].tolist()
    assert found.marking[3].tolist() == rows[:, 3].tolist()


# ---- the model ----


def small(**changes: Any) -> SleptsovNet:
    """p1 and p2 go to p3 while p4 is empty."""
    arguments: dict[str, Any] = {
        "inputs": Arcs.of([(0, 0, 1), (1, 1, 1)]),
        "outputs": Arcs.of([(2, 0, 1), (2, 1, 1)]),
        "inhibitors": Arcs.of([(3, 0, 1), (3, 1, 1)]),
    }
    return SleptsovNet(changes.pop("marking", [7, 5, 0, 0]), **{**arguments, **changes})


def test_every_problem_of_a_net_is_told_at_once():
    with pytest.raises(InvalidNet) as told:
        SleptsovNet(
            [-1, 2],
            inputs=Arcs.of([(0, 0, 1), (0, 0, 2), (5, 1, 1), (1, 2, 0)]),
            outputs=Arcs.of([(-1, 7, 1)]),
            priorities=[(0, 1), (1, 2), (2, 0)],
            num_transitions=3,
            place_names=["a", "a"],
        )
    text = str(told.value)
    for part in (
        "place a holds -1 tokens initially",
        "input arc (5, 1, 1) names place 5",
        "input arc from place a to transition t1 is there twice",
        "has multiplicity 0",
        "names place -1",
        "names transition 7",
        "2 places are named 'a' (give each its own name)",
        "transitions t1, t2, t3 form a cycle of priorities",
    ):
        assert part in text
    assert len(told.value.problems) == len(text.splitlines())


@pytest.mark.parametrize(
    "pairs, part",
    [
        ([(0, 0)], "transition t1 has priority over itself"),
        ([(0, 9)], "names an unknown transition"),
    ],
)
def test_priorities_that_are_none(pairs, part):
    with pytest.raises(InvalidNet, match=part):
        small(priorities=pairs, num_transitions=2)


def test_only_members_of_a_cycle_are_named():
    arcs = Arcs.of([(0, t, 1) for t in range(6)])
    with pytest.raises(InvalidNet) as told:
        SleptsovNet(
            [1],
            inputs=arcs,
            outputs=Arcs.none(),
            priorities=[(0, 1), (1, 2), (2, 1), (2, 3), (4, 5), (5, 4)],
        )
    assert told.value.problems == (
        "transitions t2, t3 form a cycle of priorities (drop one of its pairs)",
        "transitions t5, t6 form a cycle of priorities (drop one of its pairs)",
    )


def test_a_given_order_must_extend_the_priorities():
    assert small(order=[1, 0]).priority_order.tolist() == [1, 0]
    with pytest.raises(InvalidNet, match="`order` has t2 before t1"):
        small(order=[1, 0], priorities=[(0, 1)])
    with pytest.raises(InvalidNet, match="does not list each of the 2 transitions once"):
        small(order=[1, 1])


def test_warnings_of_nets():
    with pytest.warns(snp.ModelWarning, match="t1 can never fire"):
        small(inhibitors=Arcs.of([(0, 0, 1)]))
    with pytest.warns(snp.ModelWarning, match="t2 consumes nothing"):
        small(inputs=Arcs.of([(0, 0, 1)]))
    with pytest.warns(snp.ModelWarning, match="no place or transition 'P1' .did you mean 'p1'"):
        small(notes={"positions": {"P1": [0, 0], "note": [1, 1]}})
    small(inhibitors=Arcs.of([(0, 0, 2)]))  # one token is enough, and not too many


def test_nets_are_equal_by_value():
    net = small()
    shuffled = small(inputs=Arcs.of([(1, 1, 1), (0, 0, 1)]), place_names=["p1", "p2", "p3", "p4"])
    assert net == shuffled and hash(net) == hash(shuffled)
    assert net == net.replace(notes={"x": 1})
    assert net != small(order=[0, 1]), "an order that was given is another relation"
    for changes in ({"marking": [7, 5, 0, 1]}, {"name": "x"}, {"tests": Arcs.of([(0, 1, 2)])}):
        assert net != net.replace(**changes)
    assert net != net.replace(place_names=Numbered("q", 4))


def test_names_are_made_when_they_are_asked_for():
    names = Numbered("p", 10**9, first=0)
    assert (names[3], names.find("p12"), names.find("p012"), names.find("q1")) == (
        "p3",
        12,
        *[None] * 2,
    )
    net = small(place_names=Numbered("p", 4, first=0))
    assert net.place("p0") == 0 and net.place_name(3) == "p3"
    with pytest.raises(ValueError, match="no place 'p4'"):
        net.place("p4")


def test_numbers_that_do_not_fit():
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        small(marking=[2**63, 0, 0, 0])
    net = small(marking=[2**31, 0, 0, 0], inputs=Arcs.of([(0, 0, 2**40), (1, 1, 1)]))
    with pytest.raises(ValueError) as told:
        snp.run(net, count_dtype=np.int32)
    assert "place p1 holds 2147483648 tokens" in str(told.value)
    assert "multiplicity 1099511627776" in str(told.value)


def test_large_nets_are_built_and_lowered_by_arrays():
    """369,202 transitions: no loop over them, and nothing of their number times the widest."""
    size, places = 369_202, 300_000
    each = np.arange(size)
    one = np.ones(size, np.int64)
    wide = np.arange(400)
    inputs = Arcs(each % places, each, one)
    tests = Arcs(wide + 1000, np.full(400, 7), one[:400])
    marking = np.zeros(places, np.int64)
    marking[5] = 3
    net = SleptsovNet(
        marking, inputs=inputs, outputs=Arcs((each + 1) % places, each, one), tests=tests
    )
    found = snp.run(net, max_steps=20, save=TRACE)
    assert found.steps == 20
    assert found.marking.sum() == 3 and found.fired[0] == 5


# ---- runs ----


@pytest.mark.parametrize("engine", [EventDriven(), FullScan()], ids=repr)
def test_failures_are_raised_with_the_run_so_far(engine):
    """The first step fills a place with the largest number, the second passes it."""
    net = filled(small(marking=[2**31 - 1, 5, 0, 0]))
    with pytest.raises(snp.RunFailed, match="transition 't2', step 2.*place 'p3'") as failed:
        snp.run(Execution(net, counts=True), count_dtype=np.int32, save=TRACE, engine=engine)
    found = failed.value.solution
    assert found.marking[:3].tolist() == [0, 5, 2**31 - 1]
    assert found.result == snp.RESULTS.token_overflow and found.steps == 1
    assert "Run with `count_dtype=numpy.int64`" in found.failure
    wide = snp.run(Execution(net, counts=True), save=TRACE)
    assert wide.halted and wide.tokens_in("p3") == 2**31 + 4


def test_arguments_that_make_no_sense():
    net = small()
    with pytest.raises(ValueError, match="Only FullScan"):
        snp.run(Execution(net, rule=Disjoint()), engine=EventDriven())
    with pytest.raises(TypeError, match="Give FullScan"):
        snp.run(net, engine="dense")
    with pytest.raises(TypeError, match="takes no `layout`"):
        snp.run(net, layout="dense")
    with pytest.raises(ValueError, match="no more than 2 rules and 1 neuron"):
        snp.run(net, choice=snp.WeightedChoice(np.zeros((1, 2)), jax.random.key(0)))
    with pytest.raises(ValueError, match=r"Give \(4,\) or \(4, paths\)"):
        snp.run(net, initial=[[1, 2]])
    with pytest.raises(ValueError, match="p2 of path 1 holds -3"):
        snp.run(net, initial=[[1, 2], [0, -3], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="count_dtype"):
        snp.run(net, count_dtype=np.int16)
    with pytest.raises(TypeError, match="Give Sleptsov"):
        Execution(net, rule="petri")


def test_a_solution_reads_by_name():
    found = snp.run(small(), max_steps=10)
    assert found.tokens == {"p3": 12}
    assert found.tokens_in("p3") == 12 and found.tokens_in(0) == 0
    assert "halted after 2 steps" in repr(found) and "p3=12" in repr(found)
    with pytest.raises(ValueError, match="Traces were not saved"):
        found.trace  # noqa: B018
    with pytest.raises(ValueError, match="no place 'x'"):
        found.tokens_in("x")


def test_the_text_of_a_net_is_read_again():
    text = "add: 2x y !3stop ?4go -> 2x sum\nclear: sum ->\nadd > clear"
    net = net_of_text(text, {"x": 1_000, "y": 4})
    headline, add, clear, priorities, marking = str(net).splitlines()
    assert headline == repr(net)
    assert (priorities, marking) == ("  priorities: add > clear", "  marking: x 1,000, y 4")
    assert net_of_text(f"{add}\n{clear}\nadd > clear", {"x": 1_000, "y": 4}) == net


def test_the_text_of_a_large_net_is_short():
    every = np.arange(110)
    dense = Arcs(np.repeat(every, 110), np.tile(every, 110), np.ones(110**2, int))
    lines = str(SleptsovNet(every, inputs=dense, outputs=dense)).splitlines()
    assert len(lines) < 30 and max(map(len, lines)) < 200
    assert "  ... and 90 more transitions" in lines
