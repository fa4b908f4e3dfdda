"""Which layout for which graph, and why."""

import dataclasses
import json
import platform
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import snpjax as snp
from snpjax_formats import (
    ELL,
    LAYOUTS,
    BitDense,
    BitGather,
    Dense,
    Edges,
    FixedChooser,
    Hybrid,
    Int8Dense,
    Interval,
    NotEnoughMemory,
    Ones,
    Published,
    StartingTree,
    Workload,
    choose,
    choose_for,
    graphs,
    is_best_joined,
)
from snpjax_formats._platform import caches
from snpjax_formats.select import Including, Learned, Measured, cache, features_of, gaussian
from snpjax_formats.select.candidates import BY_NAME, CANDIDATES, feasible
from snpjax_formats.select.decision import Question
from snpjax_formats.select.device import cpu_kind, device_of, is_cpu
from snpjax_formats.select.gathering import gather, read_timings
from snpjax_formats.select.gaussian import fitted
from snpjax_formats.select.inputs import NUM_OWN, input_names, input_table
from snpjax_formats.select.model import CostModel, UnusableModel
from snpjax_formats.select.timing import INPUTS, Contest, Timing, WrongAnswer, race
from snpjax_formats.select.timing_cases import CPU_LIMITS, Limits, members
from snpjax_formats.select.training import fit


def hub(n: int) -> Edges:
    """Two edges into every node, and all into the first."""
    two = graphs.RandomInDegree(2, 0).edges(n, n)
    source = np.concatenate([two.source, np.arange(n, dtype=np.int32)])
    target = np.concatenate([two.target, np.zeros(n, np.int32)])
    key = np.unique(target.astype(np.int64) * n + source)
    return Edges((key % n).astype(np.int32), (key // n).astype(np.int32), None, n, n)


RANDOM = graphs.RandomInDegree(8, 0).edges(4000, 4000)
WEIGHTED = graphs.RandomInDegree(8, 0, weight=3).edges(4000, 4000)
CROWDED = graphs.RandomPairs(0.3, 0).edges(600, 600)
STARTS = np.arange(3000)
RUNS = graphs.Intervals(STARTS, STARTS + 40, by="target").edges(3040, 3000)


@pytest.mark.parametrize(
    "edges, max_input, device, layout",
    [
        (graphs.RandomInDegree(3, 0).edges(100, 100), 1, "cpu", ELL),
        (RANDOM, 1, "cpu", BitGather),
        (RANDOM, 2, "cpu", ELL),
        (RANDOM, None, "gpu", ELL),
        (RANDOM, 1, "gpu", BitGather),
        (WEIGHTED, 1, "gpu", ELL),
        (CROWDED, 1, "cpu", BitDense),
        (CROWDED, 1, "gpu", BitDense),
        (CROWDED, 5, "cpu", Int8Dense),
        (RUNS, 7, "cpu", Interval),
        (RUNS, 1, "gpu", Interval),
        (hub(4000), 1, "gpu", Hybrid),
        (hub(4000), 3, "cpu", Hybrid),
        (Edges(np.zeros(0, int), np.zeros(0, int), None, 0, 0), None, "cpu", ELL),
    ],
)
def test_the_starting_tree(edges, max_input, device, layout):
    tree = StartingTree()
    decision = choose(edges, max_input=max_input, device=device, chooser=tree)
    assert decision.layout is layout
    assert str(decision).startswith(f"{layout.__name__}: ") and len(decision.reason) > 5
    assert choose(edges, max_input=max_input, device=device, chooser=tree) == decision
    assert layout.obstacle(edges.canonical(), max_input=max_input) is None
    assert layout in LAYOUTS


def test_features_of_a_graph():
    features = features_of(RUNS)
    assert (features.num_runs, features.max_runs, features.max_in_degree) == (3000, 1, 40)
    assert features.is_iso and features.num_edges == 120_000
    assert features.density == 120_000 / (3040 * 3000) and features.in_skew == 1
    assert features_of(WEIGHTED).max_weight == 3 and not features_of(WEIGHTED).is_iso
    assert features_of(hub(100).canonical()).max_in_degree == 100


def test_parallel_edges_are_weights():
    twice = Edges(np.zeros(2, int), np.zeros(2, int), None, 600, 600)
    assert not choose(twice).features.is_iso


def test_structure_is_kept_where_it_is_faster():
    small, large = graphs.Intervals([0], [500]), graphs.AllToAll()
    assert choose_for(small, 1, 500, max_input=1, device="cpu") is None  # bits
    assert isinstance(choose_for(small, 1, 500, max_input=1, device="gpu"), Interval)
    assert choose_for(small, 1, 500, max_input=7, device="cpu") is None  # three planes of them
    assert isinstance(choose_for(small, 1, 500, max_input=8, device="cpu"), Interval)
    assert isinstance(choose_for(small, 1, 600, max_input=2, device="cpu"), Interval)
    many = choose_for(small, 1, 500, max_input=1, device="cpu", many_paths=True)
    assert isinstance(many, Interval)
    assert isinstance(choose_for(large, 10**6, 10**6, device="cpu"), Ones)
    assert choose_for(graphs.RandomPairs(0.5, 0), 10, 10) is None
    assert is_best_joined(1000, device="gpu") and not is_best_joined(10**5, device="gpu")
    assert not is_best_joined(1000, device="cpu")


RATES = Workload(accumulate=np.float32)
WEIGHTS = Edges(
    RANDOM.source, RANDOM.target, np.ones(len(RANDOM), np.float32), 4000, 4000
).canonical()


def question(edges: Edges, workload: Workload, **options) -> Question:
    given = {"device": "cpu", "kind": "AMD cpu", "free": None, **options}
    return Question(edges.canonical(), workload, **given)


SMALL_LIMITS = Limits(nodes=2**10, edges=2**12, products=2**14)


@st.composite
def graphs_of_all_kinds(draw) -> tuple[Edges, Workload]:
    """A configuration of the data set, and sometimes nothing at all."""
    some = members(draw(st.integers(0, 10**6)), seed=draw(st.integers(0, 3)), limits=SMALL_LIMITS)
    chosen = draw(st.sampled_from(some))
    workload = dataclasses.replace(
        chosen.workload, trained=draw(st.booleans()), gradients=draw(st.booleans())
    )
    edges = chosen.edges()
    if draw(st.integers(0, 9)) == 0:
        edges = edges.subset(np.zeros(len(edges), bool))
    return edges, workload


@given(graphs_of_all_kinds())
def test_bytes_and_obstacles_are_those_of_the_layouts(drawn):
    """From features alone a candidate says what its layout says of the edges."""
    edges, workload = drawn
    features = features_of(edges)
    sampled = {BY_NAME["Interval push"], BY_NAME["BSR product"]}
    for candidate in CANDIDATES:
        layout = candidate.layout
        if candidate.needs(features, workload) is None:
            assert layout.obstacle(edges, max_input=workload.max_input) is None, candidate.name
        if layout is Interval:
            if candidate.needs(features, workload) is None:
                stored = candidate.build(edges, workload)
                assert candidate.bytes(features) == stored.nbytes or candidate in sampled
        elif candidate not in sampled:
            assert candidate.bytes(features) == layout.bytes_needed(edges), candidate.name
    found, refused = feasible(features, workload)
    assert {c.name for c in found} | set(refused) == set(BY_NAME) and found
    free = sorted(c.bytes(features) for c in found)[len(found) // 2]
    fit, refused = feasible(features, workload, free=free)
    assert all(c.bytes(features) <= free for c in fit)
    assert all(f"{free:,} are free" in refused[c.name] for c in found if c.bytes(features) > free)


@given(graphs_of_all_kinds())
def test_features_do_not_depend_on_the_order_of_edges(drawn):
    edges, _ = drawn
    order = np.random.default_rng(0).permutation(len(edges))
    value = None if edges.value is None else edges.value[order]
    mixed = Edges(edges.source[order], edges.target[order], value, *_sizes(edges))
    assert features_of(mixed.canonical()) == features_of(edges)


def _sizes(edges: Edges) -> tuple[int, int]:
    return edges.num_sources, edges.num_targets


def test_sampled_features_are_near_the_exact_ones(monkeypatch):
    edges = graphs.Intervals(STARTS, STARTS + 40, by="target").edges(3040, 3000).canonical()
    exact = features_of(edges)
    monkeypatch.setattr("snpjax_formats.select.features._SAMPLE", 1000)
    part = features_of(edges)
    for name in ("sampled_push_runs", "sampled_tiles", "sampled_gap", "sampled_distance"):
        assert getattr(part, name) == pytest.approx(getattr(exact, name), rel=0.15), name
    assert part == features_of(edges)


def test_the_heuristic_of_the_paper():
    full = graphs.RandomPairs(0.7, 0).edges(300, 300)
    many = graphs.RandomInDegree(130, 0).edges(600, 600)
    for edges, layout in ((full, "Dense"), (RANDOM, "ELLPACKR"), (many, "CSR")):
        assert choose(edges, chooser=Published()).layout.__name__ == layout
    with pytest.raises(NotEnoughMemory, match="Dense needs"):
        Published().decide(question(full, RATES, free=1000))
    assert choose(RANDOM, chooser=FixedChooser(Dense)).layout is Dense


@pytest.mark.parametrize("workload", [Workload(), RATES, Workload(trained=True, gradients=True)])
def test_a_shipped_model_decides(workload):
    edges = RANDOM if not workload.sums_floats else WEIGHTS
    decision = choose(edges, workload=workload, device="cpu")
    names = [c.name for c in feasible(decision.features, workload)[0]]
    assert decision.predicted and set(decision.predicted) <= set(names)
    assert list(decision.predicted.values()) == sorted(decision.predicted.values())
    assert decision == choose(edges, workload=workload, device="cpu")
    assert decision.layout is BY_NAME[next(iter(decision.predicted))].layout
    text = decision.explanation()
    assert "two CPU cores" in text and "times the least" in text and "4,000 sources" in text
    assert all(name in text for name in [*decision.predicted, *decision.refused])


def test_what_a_model_was_not_trained_on():
    far = question(graphs.RandomInDegree(2, 0).edges(400_000, 400_000), Workload())
    assert Learned().decide(far).chooser == "tree"
    nothing = question(Edges(np.zeros(0, int), np.zeros(0, int), None, 600, 600), Workload())
    assert Learned().decide(nothing).chooser == "tree"


def test_short_products_on_a_gpu_are_decided_by_rules_measured_in_runs():
    gpu = {"device": "gpu", "kind": "NVIDIA H200"}
    found = Learned().decide(question(CROWDED, Workload(max_input=1), **gpu))
    assert found.layout is BitDense and found.chooser == "tree"
    assert Learned().decide(question(CROWDED, Workload(max_input=2), **gpu)).predicted


def test_a_device_never_seen_gets_the_generic_model():
    own = Learned().decide(question(RANDOM, RATES, device="gpu", kind="NVIDIA H200"))
    other = Learned().decide(question(RANDOM, RATES, device="gpu", kind="Some Chip"))
    assert other.layout is own.layout and other.predicted == own.predicted
    assert "none was trained on Some Chip" in str(other) and "generic" not in str(own)
    amd, intel = (
        Learned().decide(question(RANDOM, RATES, kind=kind)) for kind in ("AMD cpu", "Intel cpu")
    )
    assert "generic" not in str(amd) + str(intel) and amd.predicted != intel.predicted
    unknown = Learned().decide(question(RANDOM, RATES, kind="arm64 cpu"))
    assert "none was trained on arm64 cpu" in str(unknown)


@pytest.mark.parametrize(
    ("described", "kind"),
    [
        ("vendor_id\t: AuthenticAMD\n", "AMD cpu"),
        ("Intel64 Family 6 Model 143 Stepping 8, GenuineIntel", "Intel cpu"),
        ("arm", f"{platform.machine()} cpu"),
        ("", f"{platform.machine()} cpu"),
    ],
)
def test_a_processor_has_a_maker(described, kind):
    assert cpu_kind(described) == kind and is_cpu(kind)


def test_a_named_device_gives_the_same_answer_everywhere(monkeypatch):
    answers: dict[str, set] = {"AMD cpu": set(), "Intel cpu": set(), "NVIDIA H200": set()}
    for here in ("AMD cpu", "Intel cpu", "arm64 cpu"):
        monkeypatch.setattr("snpjax_formats.select.device._processor", lambda here=here: here)
        for kind, decisions in answers.items():
            decision = choose(RANDOM, max_input=2, chooser=Learned(kind=kind))
            decisions.add((str(decision), *decision.predicted.items()))
            including = choose(RANDOM, max_input=2, chooser=Including((), Learned(kind=kind)))
            assert including.predicted == decision.predicted
    assert [len(decisions) for decisions in answers.values()] == [1, 1, 1]
    assert len(set.union(*answers.values())) == 3


def test_the_kind_of_a_device():
    assert device_of("cpu")[0] == "cpu" and is_cpu(device_of("cpu")[1])
    assert device_of("gpu")[0] == "gpu" and not is_cpu(device_of("gpu")[1])


def test_a_layout_that_is_ell_is_no_candidate():
    """Where all targets have as many sources; with a hub, neither is."""
    assert Hybrid.from_edges(RANDOM.canonical()).overflow is None
    for edges, is_ell in ((RANDOM, True), (hub(3_000), False)):
        kept, refused = feasible(features_of(edges.canonical()), Workload())
        names = [c.name for c in kept]
        for name in ("Hybrid pull", "SlicedELL pull"):
            assert (name in names) != is_ell
            assert ("is ELL here" in refused.get(name, "")) == is_ell


def test_no_layout_fits():
    for chooser in (Learned(), StartingTree(), Measured()):
        with pytest.raises(NotEnoughMemory, match=r"10 bytes that are free.*CSR \d+"):
            chooser.decide(question(RANDOM, Workload(), free=10))


def test_small_graphs_are_decided_without_looking(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr("snpjax_formats.select.decision.features_of", never)
    # The name of the module is also that of its function.
    monkeypatch.setattr(sys.modules["snpjax_formats.select.choose"], "_learned", never)
    edges = graphs.RandomInDegree(3, 0).edges(256, 256)
    assert str(choose(edges, device="gpu")) == "ELL: a small graph"
    for case, layout in _SMALL:
        found = choose(device="cpu", **case)
        assert found.layout is layout and "a small graph" in found.reason, found


_SPARSE = graphs.RandomInDegree(3, 0).edges(512, 512)
_CROWDED = graphs.RandomInDegree(100, 0).edges(512, 512)
_HEAVY = graphs.RandomInDegree(3, 0, weight=2).edges(100, 100)
#: What whole runs on two cores showed, see bench/small_graphs.py.
_SMALL = (
    ({"edges": graphs.RandomInDegree(3, 0).edges(8, 8), "max_input": 1}, ELL),
    ({"edges": _SPARSE, "max_input": 1}, BitDense),
    ({"edges": _CROWDED, "max_input": 7}, BitDense),
    ({"edges": _SPARSE, "max_input": 8}, ELL),
    ({"edges": _CROWDED, "max_input": 8}, Int8Dense),
    ({"edges": _HEAVY, "max_input": 1}, Int8Dense),
    ({"edges": hub(300), "max_input": 8}, Hybrid),
    ({"edges": _SPARSE, "max_input": 1, "many_paths": True}, ELL),
    ({"edges": _CROWDED, "max_input": 1, "many_paths": True}, BitDense),
    ({"edges": _CROWDED, "max_input": 8, "many_paths": True}, Int8Dense),
    ({"edges": _CROWDED, "workload": Workload(accumulate=np.float32)}, Dense),
    ({"edges": _SPARSE, "workload": Workload(accumulate=np.float32)}, ELL),
    ({"edges": _CROWDED, "workload": Workload(trained=True)}, Dense),
    ({"edges": _SPARSE, "workload": Workload(trained=True)}, ELL),
)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("size", [64, 512, 600, pytest.param(2000, marks=pytest.mark.slow)])
def test_crowded_floats_on_a_cpu_are_dense_as_published(size, trained, monkeypatch):
    edges = graphs.RandomPairs(0.7, 0).edges(size, size)
    edges = dataclasses.replace(edges, value=np.ones(len(edges), np.float32))
    workload = Workload(accumulate=np.float32, trained=trained)
    assert choose(edges, workload=workload, chooser=Published()).layout is Dense
    for kind in ("AMD cpu", "Intel cpu", "arm64 cpu"):
        monkeypatch.setattr("snpjax_formats.select.device._processor", lambda kind=kind: kind)
        assert choose(edges, workload=workload, device="cpu").layout is Dense


def test_features_and_decision_are_fast():
    edges = graphs.RandomInDegree(10, 0).edges(100_000, 100_000).canonical()
    times = []
    for _ in range(3):
        began = time.thread_time()
        asked = question(edges, Workload())
        assert asked.features.num_edges == 10**6
        Learned().decide(asked)  # reads the model once
        middle = time.thread_time()
        Learned().decide(asked)
        times.append((middle - began, time.thread_time() - middle))
    features, decision = np.min(times, axis=0)
    # The goals are 50 ms and 1 ms; a shared machine may be slower, and no test should fail for it.
    assert features < 0.5 and decision < 0.02


def tiny_model(names: tuple[str, ...], order: list[float]) -> CostModel:
    """Predicts the same for every graph, as far as all are near the one row that it was trained on:
    1 is added to the logarithm of the first candidate there."""
    num = len(input_names())
    zero = np.zeros((len(names), num))
    return CostModel(
        title="tiny",
        names=names,
        low=np.full(num, -100.0),
        high=np.full(num, 100.0),
        center=zero,
        scale=zero + 1,
        offset=np.asarray(order),
        slope=zero,
        length=zero + 1e9,
        weight=np.eye(len(names), 1),
        shared=np.zeros((1, num - NUM_OWN), np.float32),
        own=np.zeros((len(names), 1, NUM_OWN), np.float32),
    )


def test_a_model_is_a_file_of_numbers(tmp_path):
    names = ("ELL pull", "Hybrid pull", "SlicedELL pull")
    path = tmp_path / "model.npz"
    uneven = graphs.RandomPairs(0.002, 0).edges(4000, 4000)
    tiny_model(names, [-3.0, -4.0, -3.5]).write(path)
    decision = Learned(path).decide(question(uneven, RATES))
    assert decision.layout is Hybrid and list(decision.predicted) == [
        "Hybrid pull",
        "SlicedELL pull",
        "ELL pull",
    ]
    assert decision.predicted["ELL pull"] == pytest.approx(1e6 * np.exp(-2))
    assert Learned(path).decide(question(uneven, Workload(max_input=1))).layout is Hybrid


@pytest.mark.parametrize(
    "harm", ["text", "cut", "other layouts", "shapes", "rows", "scale", "pickle"]
)
def test_a_file_that_is_no_model(tmp_path, harm):
    path = tmp_path / "model.npz"
    model = tiny_model(("ELL pull",), [0.0])
    model.write(path)
    if harm == "text":
        path.write_text("nothing")
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:-300])
    else:
        held = dict(np.load(path))
        change = {
            "other layouts": {"layouts": 0},
            "shapes": {"slope": np.zeros((1, 2))},
            "rows": {"weight": np.zeros((1, 2))},
            "scale": {"scale": held["scale"] * 0},
            "pickle": {"title": np.asarray([{}], object)},
        }[harm]
        np.savez(path, **{**held, **change})
    asked = question(WEIGHTS, RATES)
    with pytest.warns(UnusableModel, match="is ignored") as caught:
        decision = Learned(path).decide(asked)
        assert Learned(path).decide(asked) == decision  # it is said once
    assert len(caught) == 1
    assert decision.layout is StartingTree().decide(asked).layout


def test_a_process_follows_what_it_was_fitted_to(monkeypatch):
    """A smooth function of two of four inputs, from values with little noise."""
    monkeypatch.setattr(gaussian, "_FOR_SCALES", 80)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(350, 4))
    y = 3 + z[:, 0] + np.sin(2 * z[:, 1])
    process = fitted(z[:300], y[:300] + 0.01 * rng.normal(size=300), np.ones(300))

    def at(row: np.ndarray) -> float:
        """The formula of `Process`, term by term."""
        total = process.offset + float(process.slope @ row)
        for weight, known in zip(process.weight, z[:300], strict=True):
            d = np.sqrt(5 * sum(((row - known) / process.length) ** 2))
            total += weight * (1 + d + d * d / 3) * np.exp(-d)
        return total

    error = np.asarray([at(row) for row in z[300:]]) - y[300:]
    assert np.sqrt(np.mean(error**2)) < 0.15 < np.std(y) / 5
    # What does not matter is measured in long lengths.
    assert process.length[1] < process.length[2:].min()


def test_a_model_says_what_its_processes_say(monkeypatch):
    """Sums over all candidates at once are those of each process alone, where it was timed."""
    monkeypatch.setattr(gaussian, "_FOR_SCALES", 30)
    monkeypatch.setattr(gaussian, "_STEPS", 3)
    rng = np.random.default_rng(0)
    num = len(input_names())
    x = np.empty((40, len(CANDIDATES), num))
    x[:, :, : num - NUM_OWN] = rng.normal(size=(40, 1, num - NUM_OWN))
    x[:, :, num - NUM_OWN :] = rng.normal(size=(40, len(CANDIDATES), NUM_OWN))
    x[:, :, 3] = 7.0  # always the same: nothing is known of another value
    seconds = x[:, :, 0] + rng.normal(size=x.shape[:2]) / 10
    seconds[:, 5:] = np.nan
    seconds[5:, 2] = np.nan  # too few to be predicted
    seconds[::3, 4] = np.nan
    model = fit(x, seconds, title="test")
    assert model.names == tuple(CANDIDATES[c].name for c in (0, 1, 3, 4))
    with pytest.raises(ValueError, match="No layout was timed on 15"):
        fit(x[:9], seconds[:9], title="test")
    new, kept, every = x[0] + 0.1, [0, 1, 3, 4], []
    for c in kept:
        of = ~np.isnan(seconds[:, c])
        center, spread = x[:, c].mean(axis=0), x[:, c].std(axis=0)
        spread[3] = np.inf
        y, best = seconds[of, c], np.nanmin(seconds, axis=1)[of]
        noise = 1 / (np.exp(2 * (best - y)) + 1 / 30)
        process = fitted((x[of, c] - center) / spread, y, noise)
        z = (new[c] - center) / spread
        d = np.sqrt(5 * np.sum((((x[of, c] - center) / spread - z) / process.length) ** 2, axis=1))
        expected = process.offset + process.slope @ z
        expected += np.sum(process.weight * (1 + d + d * d / 3) * np.exp(-d))
        every.append(expected)
    found = model.logs(new[kept], np.arange(len(kept)))
    np.testing.assert_allclose(found, every, rtol=1e-3, atol=1e-3)


def test_inputs_have_their_names():
    for edges, workload in ((RANDOM, Workload()), (hub(300), Workload(batch=8, gradients=True))):
        table = input_table(features_of(edges.canonical()), workload, "AMD cpu")
        assert table.shape == (len(CANDIDATES), len(input_names())) and np.isfinite(table).all()
    assert len(set(input_names())) == len(input_names())


def test_a_workload_says_all_that_is_wrong():
    with pytest.raises(ValueError, match=r"`batch` is 0.*`activity` is 2.*`max_input` is -1"):
        Workload(batch=0, activity=2, max_input=-1)


# Timing: one small graph, of which few candidates are compiled.
TIMED = graphs.RandomInDegree(3, 0).edges(300, 300).canonical()


def few(*names: str) -> list:
    return [BY_NAME[name] for name in names]


def test_a_race_checks_answers_and_keeps_samples(monkeypatch):
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 2, (INPUTS, 300)).astype(np.int32)
    times = race(few("ELL pull", "COO push"), TIMED, Workload(max_input=1), inputs, rounds=2)
    assert set(times) == {"ELL pull", "COO push"}
    for timing in times.values():
        assert 0 < timing.least < 1 and len(timing.samples) == (1 if timing.is_hopeless else 2)
    wrong = ELL.from_edges(TIMED.transposed())
    monkeypatch.setattr("snpjax_formats.select.candidates.Candidate.build", lambda *_: wrong)
    with pytest.raises(WrongAnswer, match="ELL pull is off by"):
        race([BY_NAME["ELL pull"]], TIMED, Workload(max_input=1), inputs, rounds=1)


def test_one_program_is_compiled_however_little_time_there_is():
    inputs = np.zeros((INPUTS, 300), np.int32)
    names = ["COO push", "ELL pull"]
    contest = Contest.of(few(*names), TIMED, Workload(max_input=1), inputs)
    assert list(contest.programs()) == names
    assert list(contest.programs(budget=1e-9)) == names[:1]


@pytest.fixture
def races(monkeypatch):
    """What was raced, instead of racing it: later candidates take less time."""
    raced = []

    def timed(self, programs, **_):
        assert not programs
        raced.append(list(self.layouts))
        return {name: Timing((round(1e-3 - i * 6e-5, 6),)) for i, name in enumerate(raced[-1])}

    monkeypatch.setattr(Contest, "programs", lambda *_, **__: {})
    monkeypatch.setattr(Contest, "timed", timed)
    return raced


def test_what_was_measured_is_remembered(tmp_path, races, monkeypatch):
    chooser = Measured(most=3, folder=tmp_path / "a" / "b")
    asked = question(RANDOM, Workload(max_input=1))
    first, again = chooser.decide(asked), chooser.decide(asked)
    assert len(races) == 1 and len(races[0]) == 3
    assert races[0] == list(first.predicted)[:3]
    assert first.layout is again.layout is BY_NAME[races[0][-1]].layout
    assert "measured now" in str(first) and "measured before" in str(again)
    assert first.measured == again.measured and "measured, microseconds" in first.explanation()
    # A graph that is alike has the same key, another workload, device or flag has not.
    chooser.decide(question(graphs.RandomInDegree(8, 1).edges(4000, 4000), Workload(max_input=1)))
    assert len(races) == 1
    chooser.decide(question(RANDOM, Workload(max_input=2)))
    chooser.decide(question(RANDOM, Workload(max_input=1), kind="another"))
    monkeypatch.setenv("XLA_FLAGS", "--new")
    chooser.decide(asked)
    monkeypatch.setattr(cache, "LAYOUT_SET", -1)
    chooser.decide(asked)
    assert len(races) == 5 and len(list((tmp_path / "a" / "b").iterdir())) == 5
    Measured(most=3, folder=None).decide(asked)
    assert len(races) == 6 and len(list((tmp_path / "a" / "b").iterdir())) == 5


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"key": 1}', "null", "\ud800".encode("utf-8", "replace").decode()],
)
def test_a_corrupt_or_foreign_cache_is_measured_again(tmp_path, races, text):
    chooser = Measured(folder=tmp_path)
    asked = question(RANDOM, Workload())
    chooser.decide(asked)
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    with pytest.warns(cache.CacheIgnored, match="is ignored") as caught:
        chooser.decide(asked)
    assert len(races) == 2 and len(caught) == 1
    chooser.decide(asked)
    assert len(races) == 2


@pytest.mark.parametrize("change", [{"key": {}}, {"seconds": {}}, {"seconds": {"ELL pull": -1}}])
def test_numbers_that_cannot_be(tmp_path, change):
    key = {"a": "b"}
    cache.write(tmp_path, key, {"ELL pull": 1.0})
    assert cache.read(tmp_path, key) == {"ELL pull": 1.0}
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.warns(cache.CacheIgnored):
        assert cache.read(tmp_path, key) is None


def test_a_candidate_that_is_no_more_is_no_choice(tmp_path, races):
    chooser, asked = Measured(folder=tmp_path), question(RANDOM, Workload())
    cache.write(tmp_path, cache.key_of(asked), {"Forgotten pull": 1e-9})
    assert chooser.decide(asked).measured.keys() <= set(BY_NAME) and len(races) == 1


def test_a_cache_that_cannot_be_written(tmp_path, races):
    (tmp_path / "file").write_text("")
    with pytest.warns(cache.CacheIgnored, match="not kept") as caught:
        decision = Measured(folder=tmp_path / "file" / "below").decide(question(RANDOM, Workload()))
    assert decision.measured and len(caught) in (1, 2)


def test_many_writers_leave_whole_files(tmp_path):
    key = {"a": "b"}

    def work(number: int) -> None:
        for turn in range(20):
            cache.write(tmp_path, key, {f"{i}": float(number + turn + 1) for i in range(50)})
            seconds = cache.read(tmp_path, key)
            assert seconds is not None and len(set(seconds.values())) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(list(tmp_path.iterdir())) == 1


def test_measurements_in_a_cache_that_others_may_write_to_are_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "cache_root", lambda: tmp_path)
    folder, key = tmp_path / "snpjax" / "layouts", {"a": "b"}
    cache.write(folder, key, {"CSR": 1.0})
    assert cache.read(folder, key) == {"CSR": 1.0}
    tmp_path.chmod(0o777)
    with pytest.warns(cache.CacheIgnored, match="others may write to"):
        assert cache.read(folder, key) is None
    with pytest.warns(cache.CacheIgnored, match="not kept"):
        cache.write(folder, key, {"CSR": 2.0})


def test_a_named_folder_of_measurements_may_be_shared(tmp_path):
    folder, key = tmp_path / "shared", {"a": "b"}
    folder.mkdir()
    folder.chmod(0o777)
    cache.write(folder, key, {"CSR": 1.0})
    assert cache.read(folder, key) == {"CSR": 1.0}
    cache.write(tmp_path / "new" / "folder", key, {"CSR": 2.0})
    assert cache.read(tmp_path / "new" / "folder", key) == {"CSR": 2.0}


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("SNPJAX_CACHE", str(tmp_path))
    assert cache.cache_folder() == tmp_path
    monkeypatch.delenv("SNPJAX_CACHE")
    assert cache.cache_folder().parts[-2:] == ("snpjax", "layouts")


def test_wrong_limits_of_measuring():
    with pytest.raises(ValueError, match="`most` is 0"):
        Measured(most=0)


def test_a_run_takes_a_chooser(races):
    synapses = snp.graphs.RandomInDegree(3, 0)
    system = snp.PopulationSystem(
        [snp.Population("a", 300, 1, ["a -> a"])], [snp.Projection("a", "a", synapses)]
    )
    machine = snp.lower(system, layout=Measured(folder=None, most=2)).machine
    assert len(races) == 1 and len(races[0]) == 2
    default = snp.lower(system).machine
    layouts = [type(m.program.synapses).__name__ for m in (machine, default)]
    assert layouts[0] == races[0][-1].split()[0]
    with pytest.raises(TypeError, match="Give a class"):
        system.lower(layout="measured")


# Data sets.
def test_configurations_are_what_they_say():
    for cell in range(40):
        some = members(cell, seed=0, limits=SMALL_LIMITS)
        assert some == members(cell, seed=0, limits=SMALL_LIMITS)
        for c in some:
            edges = c.edges()
            key = edges.target.astype(np.int64) * edges.num_sources + edges.source
            assert np.all(key[1:] > key[:-1]), c  # canonical, no parallel edges
            inputs = c.inputs(INPUTS)
            assert inputs.shape[:2] == (INPUTS, c.num_sources) and np.isfinite(inputs).all()
            assert c.workload.max_input is None or inputs.max(initial=0) <= c.workload.max_input
    everything = [c for cell in range(300) for c in members(cell, seed=0, limits=CPU_LIMITS)]
    assert len(set(everything)) == len(everything)
    families = {"random", "window", "blocks", "runs", "hubs", "sorting", "paper"}
    assert {c.family for c in everything} == families


def test_a_data_set_is_gone_on_with(tmp_path, races):
    path = tmp_path / "times.jsonl"
    seen = []
    assert gather(path, cells=3, limits=SMALL_LIMITS, seconds=0, progress=seen.append) == 0
    first = gather(path, cells=2, limits=SMALL_LIMITS, progress=seen.append)
    assert first == len(seen) == len(races) > 2
    with path.open("a") as file:
        file.write('{"layouts": 1, "conf')  # killed while it wrote
    more = gather(path, cells=4, limits=SMALL_LIMITS, progress=seen.append)
    assert more == len(seen) == len(races) > first
    kept = list(read_timings(path))
    assert [m.configuration for m in kept] == [m.configuration for m in seen]
    assert kept[0].times == seen[0].times and kept[0].features == seen[0].features
    half = gather(tmp_path / "half.jsonl", cells=4, shard=(1, 2), limits=SMALL_LIMITS)
    assert 0 < half < more
    again = tmp_path / "again.jsonl"
    assert gather(again, again=path, limits=SMALL_LIMITS) == more
    for before, after in zip(kept, read_timings(again), strict=True):
        best = min(t.least for t in before.times.values())
        assert set(after.times) == {n for n, t in before.times.items() if t.least <= 2 * best}
    joined = kept[0].joined(next(read_timings(again)))
    assert max(len(t.samples) for t in joined.times.values()) == 2


def test_shipped_models_and_their_reports():
    folder = Path(cache.__file__).with_name("models")
    for name in ("cpu", "h200"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert CostModel.read(folder / f"{name}.npz") is not None
        report = json.loads((folder / f"{name}.report.json").read_text())
        learned = report["choosers"]["learned"]
        others = [s for who, s in report["choosers"].items() if not who.startswith("learned")]
        # Every baseline was judged on the same configurations, and none chooses better.
        assert report["configurations"] >= 300
        assert len(others) == 5
        assert all(o["geometric mean"] > learned["geometric mean"] for o in others)
        assert (folder / f"{name}.npz").stat().st_size < 2**20
