"""`snpjax formats`: layouts are timed, a model is trained, a choice is explained."""

import importlib.util
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import snpjax as snp
from snpjax.cli.app import app
from snpjax_formats import graphs
from snpjax_formats.select import (  # to time nothing
    Learned,
    Question,
    Workload,
    features_of,
    gathering,
    gaussian,
)
from snpjax_formats.select.candidates import BY_NAME  # to time nothing
from snpjax_formats.select.timing import Contest, Timing  # to time nothing
from snpjax_formats.select.timing_cases import Limits  # to time nothing
from tests.support.helpers import REPOSITORY


needs_sklearn = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed"
)


@pytest.fixture(autouse=True)
def races(monkeypatch, tmp_path):
    """Times by a formula, instead of racing: what reads least is fastest, matrices are cheap."""
    monkeypatch.setenv("SNPJAX_CACHE", str(tmp_path / "cache"))

    def timing(candidate, features):
        seconds = 1e-9 * candidate.stored(features)
        seconds = 1e-6 + seconds * (0.1 if candidate.direction == "product" else 1)
        return Timing(tuple(seconds * (1 + 0.01 * turn) for turn in range(4)))

    def race(candidates, edges, workload, inputs, **_):
        features = features_of(edges)
        return {c.name: timing(c, features) for c in candidates}

    def measure(configuration, features, contest, programs):
        times = {name: timing(BY_NAME[name], features) for name in contest.layouts}
        return gathering.TimingRecord(configuration, features, times)

    monkeypatch.setattr("snpjax_formats.select.measured.race", race)
    monkeypatch.setattr(Contest, "programs", lambda _: {})
    monkeypatch.setattr(gathering, "measure", measure)
    limits = Limits(nodes=2**10, edges=2**12, products=2**14)
    monkeypatch.setattr("snpjax_formats.select.gathering.CPU_LIMITS", limits)


def invoke(*arguments):
    return CliRunner().invoke(app, ["formats", *map(str, arguments)])


def test_time_appends_and_goes_on(tmp_path):
    file = tmp_path / "times.jsonl"
    done = invoke("time", file, "--cells", 2)
    assert done.exit_code == 0, done.output
    number = len(file.read_text().splitlines())
    assert f"{number} configurations, {number} of them timed now" in done.output
    again = json.loads(invoke("time", file, "--cells", 2, "--json").output)
    assert again["timed"] == 0 and again["configurations"] == number
    done = invoke("time", tmp_path / "no" / "folder")
    assert done.exit_code == 2 and "error:" in done.output


@needs_sklearn
def test_train_writes_a_model_that_explains(tmp_path, monkeypatch):
    monkeypatch.setattr(gaussian, "_STEPS", 5)
    monkeypatch.setattr(gaussian, "_FOR_SCALES", 40)
    file, model, report = (tmp_path / name for name in ("t.jsonl", "m.npz", "r.json"))
    assert invoke("time", file, "--cells", 32).exit_code == 0
    done = invoke("train", file, "-o", model, "--report", report, "--folds", 2, "--title", "mine")
    assert done.exit_code == 0, done.output
    assert "always CSR" in done.output and "by family" in done.output
    found = json.loads(report.read_text())
    learned = found["choosers"]["learned"]["geometric mean"]
    assert 1 <= learned < found["choosers"]["always CSR"]["geometric mean"]
    # The formula is simple: nearly every choice is as good as the best.
    assert found["choosers"]["learned"]["within 10 %"] > 0.7
    done = invoke("explain", REPOSITORY / "examples" / "sorting.pli", "--model", model)
    assert done.exit_code == 0 and "synapses\n" in done.output


@needs_sklearn
@pytest.mark.slow
def test_timings_of_older_layouts_are_not_reported_on(tmp_path, monkeypatch):
    """Those of the set before are learned from, if they are of a CPU; others do not count."""
    monkeypatch.setattr(gaussian, "_STEPS", 5)
    monkeypatch.setattr(gaussian, "_FOR_SCALES", 40)
    file, model, report = (tmp_path / name for name in ("t.jsonl", "m.npz", "r.json"))
    assert invoke("time", file, "--cells", 32).exit_code == 0
    lines = file.read_text().splitlines()
    for device, layouts in (("cpu", 3), ("NVIDIA H200", 3), ("cpu", 2)):
        records = [json.loads(line) for line in lines[: len(lines) // 2]]
        older = [json.dumps({**r, "device": device, "layouts": layouts}) for r in records]
        (tmp_path / f"{device}-{layouts}.jsonl").write_text("\n".join(older))
    files = sorted(tmp_path.glob("*.jsonl"))
    done = invoke("train", *files, "-o", model, "--report", report, "--folds", 2)
    assert done.exit_code == 0 and len(files) == 4, done.output
    found = json.loads(report.read_text())
    assert found["configurations"] == len(lines)
    assert found["older layouts"] == len(lines) // 2
    assert f"and {len(lines) // 2} of older layouts" in done.output
    with np.load(model) as arrays:
        assert len(arrays["shared"]) == len(lines) + len(lines) // 2
    # Timed again, not gone on with.
    assert f"{len(lines)} of them timed now" in invoke("time", files[0], "--cells", 32).output


@needs_sklearn
@pytest.mark.slow
def test_machines_are_told_apart(tmp_path, monkeypatch):
    """On one, products of all pairs take ten times as long: a model of both knows which is which,
    and the report has a part for each."""
    monkeypatch.setattr(gaussian, "_STEPS", 5)
    monkeypatch.setattr(gaussian, "_FOR_SCALES", 40)
    file, model, report = (tmp_path / name for name in ("t.jsonl", "m.npz", "r.json"))
    assert invoke("time", file, "--cells", 32).exit_code == 0
    lines = []
    for line in file.read_text().splitlines():
        for device, factor in (("AMD cpu", 1), ("Intel cpu", 10)):
            record = json.loads(line)
            record["device"] = device
            for name, timing in record["times"].items():
                times = factor if name.endswith("product") else 1
                timing["samples"] = [times * x for x in timing["samples"]]
            lines.append(json.dumps(record))
    file.write_text("\n".join(lines))
    done = invoke("train", file, "-o", model, "--report", report, "--folds", 2)
    assert done.exit_code == 0 and "AMD cpu: " in done.output, done.output
    found = json.loads(report.read_text())
    assert found["configurations"] == len(lines)
    for device in ("AMD cpu", "Intel cpu"):
        part = found["devices"][device]
        assert part["configurations"] == len(lines) / 2
        learned, tree = (part["choosers"][who] for who in ("learned", "tree of depth 3"))
        assert learned["within 10 %"] > 0.7 and learned["geometric mean"] < tree["geometric mean"]
    edges, workload = graphs.RandomPairs(0.005, 0).edges(700, 700).canonical(), Workload()
    predicted = [
        Learned(model).decide(Question(edges, workload, "cpu", kind, None)).predicted
        for kind in ("AMD cpu", "Intel cpu")
    ]
    for name in ("Dense product", "Int8Dense product"):
        assert 5 < predicted[1][name] / predicted[0][name] < 20
    assert predicted[1]["ELL pull"] / predicted[0]["ELL pull"] == pytest.approx(1, abs=0.3)


@needs_sklearn
def test_too_few_timings(tmp_path):
    file = tmp_path / "t.jsonl"
    invoke("time", file, "--cells", 2)
    done = invoke("train", file, "-o", tmp_path / "m.npz")
    assert done.exit_code == 2 and "too few for 5 folds" in done.output


def test_explain_says_why(tmp_path):
    model = REPOSITORY / "examples" / "natural_numbers.pli"
    done = invoke("explain", model)
    assert done.exit_code == 0 and "a small graph" in done.output
    found = json.loads(invoke("explain", model, "--measure", 1, "--json").output)["synapses"]
    assert found["chooser"].startswith("timing on") and len(found["measured_us"]) > 1
    assert found["layout"] in next(iter(found["measured_us"]))
    assert "TwoWay pull" in found["refused"]
    done = invoke("explain", model, "--model", tmp_path / "none.npz")
    assert done.exit_code == 2 and "there is no file" in done.output
    done = invoke("explain", model, "--model", tmp_path / "none.npz", "--measure", 1)
    assert done.exit_code == 2 and "not both" in done.output


def test_explain_names_each_projection(tmp_path):
    system = snp.PopulationSystem(
        [snp.Population("a", 600, 1, ["a -> a"]), snp.Population("b", 600)],
        [snp.Projection("a", "b", graphs.RandomInDegree(4, 0)), snp.Projection("b", "a")],
    )
    file = tmp_path / "two.snp.json"
    snp.write(system, file)
    done = invoke("explain", file)
    assert done.exit_code == 0, done.output
    assert "projection 0\n" in done.output and "projection 1\n" in done.output
    assert "predicted, microseconds" in done.output
