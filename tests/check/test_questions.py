"""Questions for numbers in the query language: their answers, and their mistakes."""

import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.check import QueryError, Status, reach_probability
from snpjax.check.probability import enclosure, exact, mdp
from snpjax.check.query.number_query import parse_question
from snpjax.explore import explore
from snpjax.sleptsov import Arcs, Execution, Petri
from snpjax.testing import reference_graph, systems
from tests.support.exact_chains import exact_expected, exact_long_run, exact_probability
from tests.support.helpers import many, with_ballast


CHUNKS = (64,)
LIMIT = 40


def explored(system, **limits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return explore(with_ballast(system), chunks=CHUNKS, **limits)


def assert_answer(graph, question, exact):
    """On a graph and, by thresholds, what is compared."""
    verdict = snp.check(graph, f"{question[0]}=? [{question[1:]}]")
    low, high = verdict.value
    assert low <= exact <= high, (question, low, exact, high)
    assert verdict.is_proved and (low == high or high - low < 1e-9 * max(1.0, high))
    for relation, more in (("<=", 1e-6), (">=", -1e-6), ("<", -1e-6), (">", 1e-6)):
        number = float(exact) + more
        if exact != float("inf") and 0 <= number <= (1 if question[0] != "E" else number):
            query = f"{question[0]} {relation} {number:.17f} [{question[1:]}]"
            assert snp.check(graph, query).is_proved == (relation in ("<=", ">="))


def check_system(system):
    graph = explored(system, max_configurations=LIMIT)
    if not graph.is_complete:
        return
    expected = reference_graph.explore(graph.system, max_configurations=LIMIT)
    chain = [[] for _ in expected.configurations]
    for source, _, _, target in expected.edges:
        chain[source].append(target)
    spikes = graph.map(lambda c: c["n0"]).tolist()
    some, every = [x == 1 for x in spikes], [True] * len(chain)
    few = [x <= 1 for x in spikes]
    halting = [not own for own in chain]
    assert_answer(graph, "PF halted", exact_probability(chain, halting, every)[0])
    assert_answer(graph, "PF n0 = 1", exact_probability(chain, some, every)[0])
    assert_answer(graph, "Pn0 <= 1 U halted", exact_probability(chain, halting, few)[0])
    never = [not x for x in few]
    assert_answer(graph, "PG n0 <= 1", 1 - exact_probability(chain, never, every)[0])
    stuck = [x and not y for x, y in zip(never, halting, strict=True)]
    weak = 1 - exact_probability(chain, stuck, [not x for x in halting])[0]
    assert_answer(graph, "Pn0 <= 1 W halted", weak)
    own = chain[0] or [0]
    assert_answer(graph, "PX n0 = 1", Fraction(sum(some[i] for i in own), len(own)))
    assert_answer(graph, "Esteps to halted", exact_expected(chain, halting, [1] * len(chain))[0])
    rewards = [2 * x + 1 for x in spikes]
    assert_answer(graph, "E2 * n0 + 1 U halted", exact_expected(chain, halting, rewards)[0])
    assert_answer(graph, "Sn0 = 1", exact_long_run(chain, some)[0])


@settings(max_examples=10)
@given(systems(min_neurons=1, max_neurons=4, max_delay=1))
def test_answers_are_those_of_the_reference(system):
    check_system(system)


@pytest.mark.slow
@settings(max_examples=many(400, part=16))
@given(systems(min_neurons=1, max_neurons=5))
def test_answers_of_many_systems(system):
    check_system(system)


PATHS = (
    "PF halted",
    "PG n0 <= 1",
    "Pn0 <= 1 U halted",
    "PX n0 = 1",
    "PF<=3 n0 = 1",
    "PG<=3 n0 = 1",
)
OTHERS = ("Esteps to halted", "En0 + 1 U halted", "Sn0 = 1", "PF emits(n0)")


def check_parts(system, depth):
    """Bounds on a part of a graph hold for all that the other parts turn out to be."""
    graph = explored(system, max_configurations=LIMIT)
    part = explored(system, max_depth=depth)
    if not graph.is_complete:
        return
    for question in (*PATHS, *OTHERS):
        query = f"{question[0]}=? [{question[1:]}]"
        all_of_it, some = snp.check(graph, query), snp.check(part, query)
        assert some.value[0] - 1e-9 <= all_of_it.value[0]
        assert all_of_it.value[1] <= some.value[1] + 1e-9
        assert some.is_decided or some.status is Status.BOUNDED
        if part.is_complete:
            assert some.value == all_of_it.value


@settings(max_examples=8)
@given(systems(min_neurons=1, max_neurons=4, max_delay=1), st.integers(0, 3))
def test_bounds_on_a_part_of_a_graph(system, depth):
    check_parts(system, depth)


@pytest.fixture(scope="module")
def coin():
    """In each step the coin stays, counted or not, or it stops."""
    return snp.SpikingSystem(
        [snp.Neuron("coin", 1, ["a -> a", "a+/a -> a", "a -> lambda"]), snp.Neuron("counter")],
        [("coin", "coin"), ("coin", "counter")],
        output="coin",
    )


@pytest.fixture(scope="module")
def coins_up_to_3(coin):
    return snp.explore(coin, saturate={"counter": 4})


@pytest.mark.parametrize(
    ("words", "symbols", "exact"),
    [
        ("probability of eventually counter >= 3", "P=? [F counter >= 3]", Fraction(8, 27)),
        ("probability of eventually within 2 steps halted", "P=? [F<=2 halted]", Fraction(5, 9)),
        ("probability of always for 2 steps coin = 1", "P=? [G<=2 coin = 1]", Fraction(4, 9)),
        ("probability of next halted", "P=?[X halted]", Fraction(1, 3)),
        ("probability of steady counter >= 3", "P=? [F G counter >= 3]", Fraction(8, 27)),
        ("probability of infinitely often emits(coin)", "P=? [G F emits(coin)]", 0),
        ("probability of never emits(coin)", "P=? [G !emits(coin)]", Fraction(1, 3)),
        ("expected value of steps to halted", "E=? [ steps to halted ]", 3),
        ("expected value of 2*coin + 1 until halted", "E=? [2*coin + 1 U halted]", 9),
        ("steady probability of halted", "S = ? [halted]", 1),
    ],
)
def test_words_and_symbols(coin, words, symbols, exact):
    for query in (words, symbols):
        low, high = snp.check(coin, query).value
        assert low <= exact <= high and high - low < 1e-9


def test_who_chooses(coin):
    random = snp.check(coin, "P > 0.2 [ F counter >= 3 ]")
    assert random.is_proved and "all choices uniform" in str(random)
    forall = snp.check(coin, "P > 0.2 [ F counter >= 3 ]", chosen="all")
    assert forall.is_refuted and "least with all choices open" in str(forall)
    assert snp.check(coin, "P <= 1 [ F counter >= 3 ]", chosen="all").value == (1, 1)
    assert snp.check(coin, "Pmin=? [ F counter >= 3 ]", chosen="all").value == (0, 0)
    largest = snp.check(coin, "largest expected value of steps to halted", chosen=["coin"])
    assert largest.value == (float("inf"), float("inf"))
    assert "largest with choices of coin open, all others uniform" in str(largest)
    assert snp.check(coin, "Smin=? [ coin = 0 ]", chosen=["coin"]).value == (0, 0)
    assert snp.check(coin, "largest steady probability of coin = 0", chosen="all").value == (1, 1)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("P{} [ F counter >= 3 ]", "8/27"),
        ("P{} [ G counter < 3 ]", "19/27"),
        ("P{} [ F<=2 halted ]", "5/9"),
        ("P{} [ X halted ]", "1/3"),
        ("E{} [ steps to halted ]", "3"),
        ("E{} [ 2 * coin U halted ]", "6"),
        ("P{} [ F G halted ]", "1"),
        ("P{} [ F (counter = 1 & X halted) ]", "2/9"),
        ("P{} [ (F counter = 1) & X X halted ]", "2/9"),
    ],
)
def test_a_threshold_that_is_the_number(coins_up_to_3, question, number):
    for relation in ("<=", ">="):
        assert snp.check(coins_up_to_3, question.format(f" {relation} {number} ")).is_proved
    for relation in ("<", ">"):
        assert snp.check(coins_up_to_3, question.format(f" {relation} {number} ")).is_refuted
    low, high = snp.check(coins_up_to_3, question.format(f" >= {number} ")).value
    assert low <= Fraction(number) <= high and high - low <= 1e-15 * high


def test_a_threshold_that_is_the_long_run_share():
    neurons = [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y", 0, ["a -> a", "a -> a;1"])]
    ring = snp.explore(snp.SpikingSystem(neurons, [("x", "y"), ("y", "x")]))
    assert snp.check(ring, "S >= 0.4 [ x = 1 ]").is_proved  # 1 step of 2 or of 3
    assert snp.check(ring, "S > 0.4 [ x = 1 ]").is_refuted


def test_a_threshold_of_open_choices_that_is_the_number():
    relay = snp.Neuron("relay", 1, ["a -> a", "a -> lambda"])
    end = snp.Neuron("end", 0, ["a -> a", "a -> lambda"])
    system = snp.SpikingSystem(
        [relay, end, snp.Neuron("sink")], [("relay", "end"), ("end", "sink")]
    )
    assert snp.check(system, "P <= 1/2 [ F sink = 1 ]", chosen=["relay"]).is_proved
    assert snp.check(system, "P < 1/2 [ F sink = 1 ]", chosen=["relay"]).is_refuted


def test_a_threshold_inside_of_the_gap_is_unknown(coins_up_to_3, monkeypatch):
    """Where fractions take too long."""
    monkeypatch.setattr(exact, "_MAX_WORK", 0)
    for relation in ("<", "<=", ">", ">="):
        verdict = snp.check(coins_up_to_3, f"P {relation} 8/27 [ F counter >= 3 ]")
        assert verdict.status is Status.UNKNOWN and "threshold" in verdict.reason
    assert snp.check(coins_up_to_3, "P >= 0.2962962962 [ F counter >= 3 ]").is_proved
    assert snp.check(coins_up_to_3, "P < 296296297e-9 [ F counter >= 3 ]").is_proved


def test_policy_iteration_that_does_not_settle_is_unknown(coins_up_to_3, monkeypatch):
    monkeypatch.setattr(exact, "_MAX_WORK", 0)
    monkeypatch.setattr(mdp, "_MAX_ROUNDS", 0)
    monkeypatch.setattr(enclosure, "_MAX_ITERATIONS", 3)
    verdict = snp.check(coins_up_to_3, "P >= 8/27 [ F counter >= 3 ]")
    assert verdict.status is Status.UNKNOWN and "did not settle" in str(verdict)
    low, high = verdict.value
    assert 0 < low <= 8 / 27 <= high <= 1
    found = reach_probability(coins_up_to_3, lambda c: c["counter"] >= 3)
    assert found.error == float("inf")


def test_a_limit_leaves_an_interval(coin):
    verdict = snp.check(coin, "P=? [F counter >= 3]", max_depth=2)
    assert verdict.status is Status.BOUNDED and verdict.value[0] == 0 < verdict.value[1] < 1
    assert snp.check(coin, "P <= 0.7 [F counter >= 3]", max_depth=2).is_proved
    endless = snp.check(coin, "E=? [counter U halted]", max_depth=5)
    assert endless.status is Status.BOUNDED and endless.value[1] == float("inf")
    below = snp.check(coin, "E=? [5 - counter U halted]", max_depth=3)
    assert below.value == (-float("inf"), float("inf"))


def test_a_cut_number_leaves_an_interval(coin):
    graph = snp.explore(coin, saturate={"counter": 2})
    verdict = snp.check(graph, "P=? [F counter = 3]")
    assert verdict.status is Status.UNKNOWN and "cut off" in verdict.reason
    low, high = verdict.value
    assert low == 0 and Fraction(8, 27) <= high
    low, high = snp.check(graph, "E=? [counter U halted]").value
    assert low <= 6 and high == float("inf")


@pytest.mark.parametrize(
    ("query", "column", "problem"),
    [
        ("P >= 1.5 [F halted]", 6, "a probability is between 0 and 1, not 1.5"),
        ("P >= 1/0 [F halted]", 6, "nothing is divided by 0"),
        ("P >= 1e-999 [F halted]", 6, "the exponent is at most 300"),
        ("P = 0.5 [F halted]", 3, "compared with < <= > >= (ask with =?)"),
        ("probability = 0.5 of next halted", 13, "(leave out the number)"),
        ("P=? F halted", 5, "expected '[' (write P=? [ ... ])"),
        ("P > 0.5 F halted", 9, "expected '[' (write P > 0.5 [ ... ])"),
        ("P=? [F halted", 14, "expected ']', but the query ends"),
        ("P=? [F halted] & coin = 1", 16, "expected the end of the query"),
        ("Pmin >= 0.5 [F halted]", 1, "least and largest are asked for without a number"),
        ("Pmin=? [F halted]", 1, "all choices are random"),
        ("Smax=? [halted]", 1, "all choices are random"),
        ("E=? [steps to eventually halted]", 15, "where a condition is needed"),
        ("P=? [F (A [G halted])]", 9, "a path quantifier does not stand"),
        ("P=? [F coin=0 & counter=0]", 6, "differently inside of [ ] (use parentheses)"),
        ("P=? [halted U coin=0 & counter=0]", 6, "differently inside of [ ] (use parentheses)"),
        ("P=? [F coin >]", 14, "but the query ends"),
        ("P=? [F nix = 1]", 8, "there is no neuron 'nix'"),
        ("E=? [halted]", 6, 'expected "steps to" and a condition'),
        ("E=? [coin U<=3 halted]", 12, "an expected value has no number of steps"),
        ("E=? [halted U halted]", 6, "a number is needed"),
        ("E=? [emits(coin) U halted]", 12, "`emits` and `fires` are of steps"),
        ("E=? [2 - 5 * coin U halted]", 6, "below 0 in a configuration"),
        ("steady probability of always halted", 23, "where a condition is needed"),
    ],
)
def test_mistakes_have_a_place(coin, query, column, problem):
    with pytest.raises(QueryError) as error:
        snp.check(coin, query)
    assert error.value.column == column and problem in error.value.problem
    assert error.value.query == query


def test_mistakes_of_arguments(coin):
    with pytest.raises(QueryError, match="depends on the choices"):
        snp.check(coin, "P=? [F halted]", chosen="all")
    with pytest.raises(QueryError, match="fair paths are not asked about"):
        snp.check(coin, "P=? [F halted]", fair=["coin = 1"])
    with pytest.raises(ValueError, match="for questions for a number"):
        snp.check(coin, "always coin <= 1", chosen="all")
    with pytest.raises(ValueError, match="names of neurons in a list"):
        snp.check(coin, "Pmin=? [F halted]", chosen="coin")
    with pytest.raises(
        ValueError, match="`chosen`: there is no neuron 'coins' .did you mean 'coin'"
    ):
        snp.check(coin, "Pmin=? [F halted]", chosen=["coins"])


def test_true_in_questions(coin):
    (low, high) = snp.check(coin, "P=? [ true U halted ]").value
    assert (low, high) == snp.check(coin, "P=? [ F halted ]").value


def test_neurons_with_the_names_of_questions():
    assert parse_question("P >= 3") is None and parse_question("E = 1 and S = 2") is None
    assert parse_question("probability >= 1 or P = 0") is None
    system = snp.SpikingSystem([snp.Neuron("P", 3)], [])
    assert snp.check(system, "P >= 3")


def test_a_net():
    """One transition returns the token, another ends; each is as likely as the other."""
    net = snp.SleptsovNet(
        [1, 0], inputs=Arcs.of([(0, 0, 1), (0, 1, 1)]), outputs=Arcs.of([(0, 0, 1), (1, 1, 1)])
    )
    graph = snp.explore(Execution(net, rule=Petri()), max_configurations=10)
    low, high = snp.check(graph, "E=? [steps to p2 = 1]").value
    assert low <= 2 <= high and high - low < 1e-9
    assert snp.check(graph, "E > 2 [steps to p2 = 1]", chosen="all").is_refuted
    for model in (graph, graph.system, net):
        with pytest.raises(ValueError, match="'t1', but .* has no neurons. In a net one choice"):
            snp.check(model, "Pmin=? [F p2 = 1]", chosen=["t1"])


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("P=? [ eventually (y = 1 and not emits(x)) ]", 1),
        ("P=? [ eventually (halted and emits(x)) ]", 1),
        ("P=? [ always (halted implies emits(x)) ]", 0),
        ("P=? [ eventually within 1 step (halted and not emits(x)) ]", 0),
        ("P=? [ eventually within 2 steps (halted and not emits(x)) ]", 1),
        ("P=? [ next emits(x) ]", 1),
        ("S=? [ emits(x) ]", 0),
        ("E=? [ steps to (halted and not emits(x)) ]", 2),
    ],
)
def test_nothing_is_emitted_after_a_halt(text, exact):
    system = snp.SpikingSystem([snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")], [("x", "y")])
    low, high = snp.check(system, text).value
    assert low <= exact <= high and high - low < 1e-9


def test_rewards_below_0_behind_a_cut_number_are_refused():
    system = snp.SpikingSystem([snp.Neuron("x", 2, ["a+/a -> a^5"]), snp.Neuron("y")], [("x", "y")])
    with pytest.raises(snp.QueryError, match="below 0"):
        snp.check(system, "E=? [ 2 - y until x = 0 ]", saturate={"y": 2})


def test_misspelt_names_in_mappings_are_refused_with_near_matches(tmp_path):
    system = snp.SpikingSystem(
        [snp.Neuron("sender", 1, ["a -> a"]), snp.Neuron("sink")], [("sender", "sink")]
    )
    graph = snp.explore(system)
    calls = {
        "Sender": lambda: snp.run(system, max_steps=3, initial={"Sender": 2}),
        "Sink": lambda: snp.explore(system, saturate={"Sink": 2}),
        "sinc": lambda: snp.write_graph(
            graph, tmp_path / "g.smv", bounds={"sender": 1, "sink": 1, "sinc": 4}
        ),
    }
    for name, call in calls.items():
        with pytest.raises((ValueError, KeyError), match=f"{name}.*did you mean 's"):
            call()
