"""Files of cell proliferation, and the command that reads and writes them."""

import json

import numpy as np
import pytest

from snpjax import proliferation as pr
from snpjax.io import ReadError
from snpjax.io.proliferation import (
    ModelFile,
    read_histogram,
    read_model,
    read_types,
    write_histogram,
    write_model,
    write_types,
)
from tests.proliferation.test_calibrate import BINS, BOUNDS, on_axis, population
from tests.proliferation.test_proliferation import CASES
from tests.support import command
from tests.support.helpers import needs_shared


FORMATS = CASES / "formats"


@needs_shared
def test_published_files_are_read_and_refused_as_they_should_be():
    wanted = json.loads((FORMATS / "expect.json").read_text())
    for name, histogram in wanted["histogram"].items():
        found = read_histogram(FORMATS / name)
        held = found.occupied
        assert found.cells == histogram["cells"] and found.lowest == histogram["phi_min_default"]
        pairs = zip(held.fluorescence.tolist(), held.counts.tolist(), strict=True)
        assert [list(pair) for pair in pairs] == histogram["channels"], name
    for name, types in wanted["types"].items():
        assert [described(x) for x in read_types(FORMATS / name)] == types
    for name, model in wanted["model"].items():
        found = read_model(FORMATS / name)
        assert found.start.value == model["start"] and found.phi_min == model["phi_min"]
        assert found.duration == model["tmax"] and found.initial == "toy_initial.txt"
        for ours, theirs in zip(found.types, model["types"], strict=True):
            bounds = {f"{k}_bounds": list(v) for k, v in found.bounds.get(ours.name, {}).items()}
            assert {"name": ours.name, **described(ours), **bounds} == theirs
    readers = {"histogram": read_histogram, "types": read_types, "model": read_model}
    for kind, reader in readers.items():
        for name, fragments in wanted[f"{kind}_errors"].items():
            with pytest.raises(ReadError) as error:
                reader(FORMATS / name)
            said = str(error.value).lower()
            assert all(fragment.lower() in said for fragment in fragments), (name, said)


def described(cell_type: pr.CellType) -> dict:
    law = cell_type.law
    assert law is None or isinstance(law, pr.Normal)
    rest = {"quiescent": True} if law is None else {"mean": law.mean, "sd": law.sd}
    return {"proportion": cell_type.proportion, **rest}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "1 2\n4 -1\n1 2\n",
            ["t:2:3: line 2: negative count -1", "t:3:1: line 3: fluoresc"],
        ),
        ("1 2 3\nx 1\n2 inf\n", ["line 1: 3 columns", "line 2: fluorescence 'x'", "line 3: count"]),
        ("-1 3\n2 2.5\n", ["fluorescence -1 is not positive but holds 3 cells", "2.5 is not an"]),
        ("# only\n1 0\n", ["there are no cells"]),
    ],
)
def test_every_error_of_a_histogram_is_told_at_its_place(tmp_path, text, said):
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(ReadError) as error:
        read_histogram(path)
    assert all(fragment in str(error.value) for fragment in said), str(error.value)


def test_what_is_written_is_read_again(tmp_path):
    histogram = pr.Histogram([1.5, 3.25, 1e4], [0, 3, 10**9])
    write_histogram(histogram, tmp_path / "h.txt")
    assert read_histogram(tmp_path / "h.txt") == histogram
    types = (
        pr.CellType("a", 0.25),
        pr.CellType("b", 0.5, pr.Normal(40.0, 1 / 3)),
        pr.CellType("c", 0.125, pr.Gamma(7.0, 6.5)),
        pr.CellType("d", 0.125, pr.Fixed(30.0)),
    )
    file = ModelFile(
        types,
        "name",
        duration=100.0,
        phi_min=2.5,
        start=pr.Start.STRETCH,
        bins=pr.Bins(1.0, 100.0, 12),
        initial="h.txt",
        bounds={"c": {"shape": (2.0, 9.0)}, "b": {"sd": (1.0, 2.0)}},
        others={"swarm_size": 50},
        folder=tmp_path,
    )
    for name in ("m.json", "m.yaml"):
        write_model(file, tmp_path / name)
        assert read_model(tmp_path / name) == file
    model = read_model(tmp_path / "m.json").model(duration=7.0)
    assert model.initial == histogram and model.duration == 7.0
    write_types((types[0], pr.CellType("x", 0.75, types[1].law)), tmp_path / "t.txt")
    assert [x.law for x in read_types(tmp_path / "t.txt")] == [None, types[1].law]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"simulation_time": -1}, "simulation_time is -1 (write 0 or more)"),
        ({"fluorescence_threshold": 0}, "the threshold is 0 (write a positive fluorescence"),
        ({"start": "late"}, "start is 'late' (write one of async, sync, residual, stretch)"),
        ({"populations": 3}, '"populations" is 3 (write a list in brackets)'),
        ({"bins": 1}, "there are 1 bins"),
    ],
)
def test_wrong_models_are_told_at_their_place(tmp_path, changes, said):
    top = {"populations": [{"name": "a", "proportion": 1, "mean": 40, "std": 9}]}
    top |= {"bins": 20, "lowest_bin": 1, "highest_bin": 100, **changes}
    path = tmp_path / "m.json"
    path.write_text(json.dumps(top))
    with pytest.raises(ReadError) as error:
        read_model(path)
    assert said in str(error.value)


def test_a_pickle_is_never_opened(tmp_path):
    path = tmp_path / "m.prc"
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(ReadError, match=r"is a Python pickle"):
        read_model(path)


# ---- the command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of known parameters, and its histograms."""
    folder = tmp_path_factory.mktemp("files")
    model = population()
    write_histogram(model.initial, folder / "a.txt")
    write_histogram(on_axis(pr.expected(model).table(), 10**6), folder / "b.txt")
    write_model(
        ModelFile(
            model.types,
            duration=model.duration,
            phi_min=model.phi_min,
            bins=BINS,
            initial="a.txt",
            target="b.txt",
            bounds=BOUNDS,
        ),
        folder / "m.yaml",
    )
    return folder / "a.txt", folder / "m.yaml"


def invoke(*arguments: object):
    return command.invoke("proliferation", *arguments)


def numbers(text: str) -> np.ndarray:
    return np.array([[float(x) for x in line.split()] for line in text.splitlines()])


def test_simulated_and_expected_rows(tmp_path, files):
    initial, model = files
    shown = invoke("expected", initial, "--model", model, "-r")
    assert shown.exit_code == 0, shown.output
    rows = numbers(shown.stdout)
    assert rows.shape[1] == 5 and np.all(np.diff(rows[:, 0]) >= 0)  # of ten digits
    assert np.allclose(rows[:, 1], rows[:, 2:4].sum(1), rtol=1e-8)
    total = rows[:, 1].sum()
    assert f"cells become {total:,.10g}"[:22] in shown.stderr
    path = tmp_path / "s.csv"
    for seed in (1, 1, 2):
        done = invoke("simulate", initial, "-c", model, "--seed", seed, "-o", path)
        assert done.exit_code == 0, done.output
        lines = path.read_text().splitlines()
        assert lines[0] == "fluorescence,cells"
        cells = sum(int(line.split(",")[1]) for line in lines[1:])
        assert abs(cells / total - 1) < 0.03
    same = invoke("simulate", initial, "-c", model, "--expectation", "-r")
    assert same.stdout == shown.stdout
    record = json.loads(invoke("expected", initial, "-c", model, "-r", "--json").stdout)
    assert np.allclose(record["cells"], rows[:, 1]) and list(record["types"]) == ["rest", "go"]


def test_calibrated_numbers(tmp_path, files):
    record, fitted = tmp_path / "c.json", tmp_path / "m.json"
    shown = invoke("calibrate", files[1], "--starts", 1, "-o", record, "--save-model", fitted)
    assert shown.exit_code == 0, shown.output
    found = json.loads(record.read_text())
    low, high = found["intervals_95"]["go mean"]
    assert low < 38 < high and f"go mean {found['values']['go mean']:.4f}" in shown.stdout
    law = read_model(fitted).types[1].law
    assert isinstance(law, pr.Normal) and law.mean == found["values"]["go mean"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("simulate INITIAL -c no.json", 2, "there is no such file"),
        ("simulate INITIAL -c MODEL --start late", 2, "there is no start rule 'late'"),
        ("expected INITIAL -c MODEL --phi-min 1e9", 2, "is above every cell"),
        ("expected MODEL -c MODEL", 2, "this is a proliferation model"),
        ("calibrate MODEL --objective best", 2, "there is no objective 'best'"),
    ],
)
def test_mistakes_are_messages(arguments, status, said, files):
    names = {"INITIAL": files[0], "MODEL": files[1]}
    result = invoke(*(names.get(word, word) for word in arguments.split()))
    assert result.exit_code == status and said in result.stderr, result.output


def test_pictures(tmp_path, files):
    try:
        import matplotlib
    except ImportError:
        result = invoke("plot", files[1], "-o", tmp_path / "p.png")
        assert result.exit_code == 2 and "pip install '.[viz]'" in result.stderr
        return
    matplotlib.use("agg")
    assert invoke("plot", files[1], "-o", tmp_path / "p.svg").exit_code == 0
    assert (tmp_path / "p.svg").read_text().count("<path") > 50
