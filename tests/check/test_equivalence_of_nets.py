"""Equivalence of nets is that of brute force, and what tells them apart can be replayed."""

import itertools

import numpy as np
import pytest

import snpjax as snp
from snpjax import Agreement, Bisimilar, SameMarkings, SameTraces
from snpjax.sleptsov import Arcs, Execution, Petri, Sleptsov
from snpjax.testing.reference_sleptsov import Reference
from tests.support.helpers import many
from tests.support.reduced_models import random_net
from tests.support.tiny_search import TooLarge, graph_of_net


STEPS = 4
MOST = 60  # markings of a net


# ---- brute force ----


class Moves:
    """What a net can do in every reachable marking: a name, and the marking after it."""

    def __init__(self, model):
        self.net, self.own = model.net, Reference(model.net)
        self.is_petri = isinstance(model.rule, Petri)
        self.start, self.of, todo = self.own.initial, {}, [self.own.initial]
        while todo:
            now = todo.pop()
            if now not in self.of:
                self.of[now] = {self.after(now, t) for t in self.own.candidates(now)}
                todo += [marking for _, marking in self.of[now]]

    def after(self, now, t):
        copies = 1 if self.is_petri else self.own.multiplicity(now, t)
        return (self.net.transition_name(t), copies), self.own.fired(now, t, copies)

    def traces(self, length, *, halting):
        """All sequences of at most this many firings; with `halting`, where a halt is a step."""
        found, ends = {()}, {((), self.start)}
        for _ in range(length):
            after = {((*w, x), m) for w, now in ends for x, m in self.of[now]}
            if halting:
                after |= {((*w, "halt"), now) for w, now in ends if not self.of[now]}
            ends, found = after, found | {word for word, _ in after}
        return found


def are_bisimilar(first, second):
    """The greatest bisimulation: all pairs, less those with a step that has no answer."""
    pairs = set(itertools.product(first.of, second.of))
    while True:
        kept = {
            (x, y)
            for x, y in pairs
            if all(any(a == b and (p, q) in pairs for b, q in second.of[y]) for a, p in first.of[x])
            and all(
                any(a == b and (p, q) in pairs for a, p in first.of[x]) for b, q in second.of[y]
            )
        }
        if kept == pairs:
            return (first.start, second.start) in pairs
        pairs = kept


def markings(moves, *, halting=False, places=None):
    own = [m for m, after in moves.of.items() if not (halting and after)]
    places = range(len(moves.start)) if places is None else places
    return {tuple(m[p] for p in places) for m in own}


# ---- pairs of nets ----


def pair_of(seed):
    """A net, and one that differs from it a little, or only in one place that changes nothing."""
    rng = np.random.default_rng([seed, 7])
    first = random_net(rng)
    net, kind = first.net, seed % 4
    marking, outputs = net.marking.copy(), net.outputs.triples()
    if kind == 1:
        marking[rng.integers(len(marking))] += 1
    elif kind == 2:
        outputs.pop(int(rng.integers(len(outputs))))
    elif kind == 3:
        place, transition, weight = outputs[at := int(rng.integers(len(outputs)))]
        taken = {p for p, t, _ in outputs if t == transition}
        free = [p for p in range(net.num_places) if p not in taken]
        outputs[at] = (free[place % len(free)], transition, weight)
    second = net.replace(marking=marking, outputs=Arcs.of(outputs))
    return first, first.replace(net=second)


def compare(seed):
    """Whether a pair was compared: by all senses."""
    pair = pair_of(seed)
    try:
        graphs = [graph_of_net(model, most=MOST) for model in pair]
    except TooLarge:
        return set()
    first, second = (Moves(model) for model in pair)
    found = set()

    def agree(by, same):
        answer = snp.equivalent(*graphs, by=by)
        assert answer.verdict is (Agreement.EQUAL if same else Agreement.DIFFERENT), (by, seed)
        found.add((type(by), same))
        return answer

    for halting in (False, True):
        wanted = [moves.traces(STEPS, halting=halting) for moves in (first, second)]
        answer = agree(SameTraces(steps=STEPS, halting=halting), wanted[0] == wanted[1])
        if wanted[0] != wanted[1]:
            run, side = answer.difference.run, answer.difference.shown_by
            assert words(run, pair[side]) in wanted[side] - wanted[1 - side]
            shorter = [{w for w in some if len(w) < run.steps} for some in wanted]
            assert shorter[0] == shorter[1]
    agree(Bisimilar(), are_bisimilar(first, second))
    for halting, places in ((False, None), (True, None), (False, [0, 2])):
        wanted = [markings(x, halting=halting, places=places) for x in (first, second)]
        names = None if places is None else [pair[0].net.place_names[p] for p in places]
        answer = agree(SameMarkings(names, halting), wanted[0] == wanted[1])
        if wanted[0] != wanted[1]:
            side = answer.difference.shown_by
            assert (answer.difference.runs[1 - side] is None) and answer.difference.noun == "net"
            end = followed(answer.difference.run, pair[side])
            end = tuple(end[p] for p in (range(len(end)) if places is None else places))
            assert end in wanted[side] - wanted[1 - side]
    return found


def words(run, model):
    """What fires in a run, and that it halts where it makes no step."""
    names = [(name, 1) for name in run.firings]
    return (*names, *["halt"] * (run.steps - len(names)))


def followed(run, model):
    """The last marking of a run, by the reference."""
    own = Reference(model.net)
    now = own.initial
    for t in np.asarray(run.choice.rules)[: run.steps, 0].tolist():
        assert t in own.candidates(now)
        now = own.fired(now, t, 1)
    return now


def test_equivalence_equals_brute_force():
    found = set().union(*map(compare, range(24)))
    assert len(found) == 6  # each sense, equal and different


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_equivalence_of_many_nets(part):
    for seed in range(100 + part, 100 + many(400, part=5), 2):
        compare(seed)


# ---- by hand ----

#: One firing takes all tokens, or one of them.
TAKING = snp.SleptsovNet(
    [3, 0], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(1, 0, 1)]), transition_names=("t",)
)


def test_a_multiplicity_is_seen():
    one, many = Execution(TAKING, Petri()), Execution(TAKING, Sleptsov())
    found = snp.equivalent(many, one)
    assert found.verdict is Agreement.DIFFERENT
    assert "In step 1 the second net can fire t, the first can only fire t x 3." in str(found)
    assert "the second net:\n  fires t" in str(found)
    assert [run.replay().marking.tolist() for run in found.difference.runs] == [[0, 3], [2, 1]]
    assert snp.equivalent(TAKING, many, by=Bisimilar())  # the rule of a net alone
    assert snp.equivalent(many, one, by=SameMarkings(halting=True))
    found = snp.equivalent(many, one, by=SameMarkings())
    assert "The second net reaches p1 = 2, p2 = 1, the first never does." in str(found)


def test_a_halt_is_seen_where_it_is_asked_for():
    """Both fire a, then b; the first may also choose a halt."""
    arcs = [(0, 0, 1), (1, 1, 1), (0, 2, 1)]
    first = snp.SleptsovNet(
        [1, 0],
        inputs=Arcs.of(arcs),
        outputs=Arcs.of([(1, 0, 1)]),
        transition_names=("a", "b", "c"),
    )
    second = first.replace(outputs=Arcs.of([(1, 0, 1), (1, 2, 1)]))
    pair = Execution(first, Petri()), Execution(second, Petri())
    found = snp.equivalent(*pair, by=SameTraces(halting=True))
    assert "In step 2 the first net can halt, the second can only fire b." in str(found)
    found = snp.equivalent(*pair)
    assert "In step 2 the second net can fire b, the first can only do nothing." in str(found)


def test_what_is_cut_is_never_called_equal():
    growing = snp.SleptsovNet([1], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([(0, 0, 2)]))
    pair = [Execution(growing, Petri())] * 2
    found = snp.equivalent(*pair, by=SameMarkings(), max_depth=3)
    assert found.verdict is Agreement.EQUAL_UP_TO and "within 3 steps" in found.reason
    assert snp.equivalent(*pair, by=Bisimilar(), max_depth=3).verdict is Agreement.EQUAL_UP_TO
    still = Execution(growing.replace(outputs=Arcs.of([(0, 0, 1)])), Petri())
    found = snp.equivalent(pair[0], still, by=SameMarkings(), max_depth=3)
    assert found.verdict is Agreement.DIFFERENT and found.difference.shown_by == 0


@pytest.mark.parametrize(
    ("models", "by", "error", "message"),
    [
        ("net net", snp.SameNumbers(3), NotImplementedError, "SameMarkings(places=[...], halting"),
        ("net net", SameTraces(inputs=snp.AnyInput(2)), ValueError, "A net has no inputs"),
        ("net system", SameTraces(), ValueError, "Compare two nets, or two systems"),
        ("system system", SameMarkings(), NotImplementedError, "have no markings"),
        ("net net", SameMarkings(["p9"]), ValueError, "first net has no place 'p9'"),
    ],
)
def test_what_has_no_meaning(models, by, error, message):
    system = snp.SpikingSystem([snp.Neuron("o", 1, ["a -> a"])], output="o")
    of = {"net": Execution(TAKING, Petri()), "system": system}
    with pytest.raises(error, match=message.replace("[", r"\[").replace("(", r"\(")):
        snp.equivalent(*(of[word] for word in models.split()), by=by)
