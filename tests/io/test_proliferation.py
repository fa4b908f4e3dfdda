"""Files of cell proliferation, and the command that reads and writes them."""

import json
import re
import sys

import numpy as np
import pytest

from snpjax import proliferation as pr
from snpjax.io import ReadError
from snpjax.io.proliferation import (
    ModelFile,
    model as model_file,
    read_histogram,
    read_model,
    read_types,
    write_histogram,
    write_model,
    write_table,
    write_types,
)
from tests.io.tables.mistakes import Mistakes
from tests.proliferation.test_calibrate import BINS, BOUNDS, on_axis, population
from tests.proliferation.test_proliferation import CASES
from tests.support import command
from tests.support.helpers import REPOSITORY, needs_shared


FORMATS = REPOSITORY / "tests" / "cases" / "proliferation" / "formats"


def test_files_are_read_and_refused_as_they_should_be():
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


#: The notation is that of tests/io/tables/mistakes.py.
OF_OTHER_INSTRUMENTS = """
1.5,5⏎20,7⏎
1.5 , 5⏎20, 7⏎
FITC-A,count⏎1.5,5⏎20,7⏎
"FITC-A","count"⏎1.5,5⏎20,7⏎
FITC A;count⏎1.5;5⏎20;7⏎
1,5;5⏎20;7⏎
FITC A⟨\\x09⟩count⏎1.5⟨\\x09⟩5⏎20⟨\\x09⟩7⏎
1,5⟨\\x09⟩5⏎20⟨\\x09⟩7⏎
# of an instrument⏎1,5 5,0⏎20 7⏎
1,50;5⏎20,000;7⏎
fluorescence,cells,rest,go,sd⏎1.5,5,4,1,0.5⏎20,7,7,0,1.5⏎
"""
NO_HISTOGRAMS = """
1 2⏎4 -1⏎1 2⏎ ⇒ h:2:3: negative count -1 ⇒ h:3:1: fluorescence 1 appears twice, first in line 1
1 2 3⏎x 1⏎2 inf⏎ ⇒ h:1:1: 3 columns ⇒ h:2:1: fluorescence 'x' is not a number (correct ⇒ h:3:3: count inf
-1 3⏎2 2.5⏎ ⇒ fluorescence -1 is not positive but holds 3 cells ⇒ 2.5 is not an
# only⏎1 0⏎ ⇒ there are no cells
"10","5"⏎ ⇒ h:1:1: fluorescence '"10"' is not a number (remove the quotes)
"10","5"⏎20,7⏎ ⇒ h:1:1: fluorescence '"10"' is not a number (remove the quotes)
nan;inf⏎20;7⏎ ⇒ h:1:1: fluorescence nan is not finite
'-inf'⟨\\x09⟩'nan'⏎20⟨\\x09⟩7⏎ ⇒ h:1:1: fluorescence "'-inf'" is not a number
-;-⏎20;7⏎ ⇒ h:1:1: fluorescence '-' is not a number (remove a header
1,234;5⏎20;7⏎ ⇒ h:1:1: the comma of '1,234' is ambiguous (write decimals
1,5;1,000⏎ ⇒ h:1:5: the comma of '1,000' is ambiguous
1,5;5⏎2.5;7⏎ ⇒ h:1:1: the comma of '1,5' is ambiguous
1,5,7⏎2,5,7⏎ ⇒ 3 columns, expected 2 (write fluorescence and count; commas separate
count,FITC-A⏎5,1⏎ ⇒ h:1:1: the first column is 'count' (write fluorescence first
phi,count⏎5,1⏎7,x⏎ ⇒ h:3:3: count 'x' is not a number (correct the number)
FITC count⏎5 1⏎ ⇒ 'FITC' is not a number (remove a header, or begin it with #)
FCS3.1          58 ⇒ h: this is an FCS file, the events of a cytometer, not text
⟨\\x1f⟩⟨\\x8b⟩⟨\\x08⟩ ⇒ this is compressed with gzip, not text (decompress it)
PK⟨\\x03⟩⟨\\x04⟩ xl/book.xml ⇒ this is an Excel workbook, not text (save the sheet as .csv)
PK⟨\\x03⟩⟨\\x04⟩ other ⇒ this is a zip archive, not text
⟨\\x89⟩HDF⟨\\x0d⟩⏎⟨\\x1a⟩⏎ ⇒ this is an HDF5 file, not text
 ⏎ ⇒ h: the file is empty, and a histogram is missing (write fluorescence and count
"""  # noqa: E501


def test_columns_of_other_instruments(tmp_path):
    path = tmp_path / "h.csv"
    for text, _ in Mistakes(OF_OTHER_INSTRUMENTS).texts():
        path.write_text(text)
        assert read_histogram(path) == pr.Histogram([1.5, 20.0], [5, 7]), text


def test_every_error_of_a_histogram_is_told_at_its_place(tmp_path):
    path = tmp_path / "h"
    for text, parts in Mistakes(NO_HISTOGRAMS).texts():
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(ReadError) as error:
            read_histogram(path)
        assert all(part in str(error.value) for part in parts), str(error.value)
        lines = str(error.value).splitlines()
        assert all(line.startswith(f"{path}:") for line in lines)
        assert ":1:1:" not in parts[0] or parts[0] in lines[0]


def test_a_table_is_read_again(tmp_path):
    table = pr.SparseHistogram(np.array([1.5, 20.0]), np.array([5, 7]), np.array([[4, 7], [1, 0]]))
    for name, names in (("t.csv", None), ("t.csv", ("rest", "go")), ("t.txt", None)):
        write_table(table, tmp_path / name, names=names)
        assert read_histogram(tmp_path / name) == pr.Histogram([1.5, 20.0], [5, 7])


@pytest.mark.parametrize("suffix", [".txt", ".csv"])
def test_channels_that_ten_digits_do_not_distinguish_share_a_row(tmp_path, suffix):
    """Halves of one channel and another channel may differ by less than what is written."""
    phi = np.array([[430.53896460, 215.2694823], [215.2694823 * (1 + 1e-11), 107.6]])
    counts = np.array([[3, 4], [5, 0]])
    by_type = np.stack([counts - 1, np.ones_like(counts)]) * (counts > 0)
    model = population((pr.CellType("rest", 0.5), pr.CellType("go", 0.5)))
    sample = pr.Sample(model, counts, by_type.sum(1), by_type, phi, 12, "cells")
    path = tmp_path / f"t{suffix}"
    write_table(sample.table(), path)
    assert read_histogram(path) == pr.Histogram([215.2694823, 430.5389646], [9, 3])
    assert read_histogram(path).cells == sample.total
    separator = "," if suffix == ".csv" else "\t"
    table = pr.SparseHistogram(
        phi.ravel()[[1, 2]],
        counts.ravel()[[1, 2]],
        by_type[:, [0, 1], [1, 0]],
        np.array([3.0, 4.0]),
    )
    write_table(table, path, names=model.names)
    assert path.read_text().splitlines()[-1].split(separator) == ["215.2694823", "9", "7", "2", "5"]
    histogram = pr.Histogram(table.fluorescence, table.total)
    write_histogram(histogram, path)
    assert read_histogram(path) == histogram


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
        others={"swarm_size": 50, "algorithm": "PSO"},
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
        ({"bins": 1}, "give 2 or more bins"),
        ({"bins": 20.5}, "bins is 20.5 (write an integer)"),
        ({"asynchronus": False}, "unknown key 'asynchronus' (did you mean 'asynchronous'?)"),
        ({"flourescence_threshold": 2}, "(did you mean 'fluorescence_threshold'?)"),
        ({"comment": "x"}, "the model has the unknown key 'comment' (known: project_name,"),
        ({"a": {"laws": "gamma"}}, "population 1 has the unknown key 'laws' (did you mean 'law'?)"),
        ({"a": {"maxmean": 5}}, "unknown key 'maxmean' (did you mean 'max_mean'"),
        ({"a": {"law": "lognormal"}}, "law 'lognormal' (normal or gamma)"),
        ({"a": {"min_mean": 5}}, "min_mean and max_mean are to be given both, or neither"),
        (
            {"asynchronous": True, "start": "sync"},
            "start is 'sync', which contradicts asynchronous",
        ),
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_wrong_models_are_told_at_their_place(tmp_path, changes, said, suffix):
    top = {"bins": 20, "lowest_bin": 1, "highest_bin": 100, **changes}
    one = {"name": "a", "proportion": 1, "mean": 40, "std": 9, **top.pop("a", {})}
    path = tmp_path / f"m{suffix}"
    path.write_text(json.dumps({"populations": [one], **top}))
    with pytest.raises(ReadError) as error:
        read_model(path)
    assert said in str(error.value)


def test_bins_that_are_left_out_have_their_defaults(tmp_path):
    path = tmp_path / "m.json"
    path.write_text('{"populations": [{"name": "a", "proportion": 1}], "bins": 20}')
    assert read_model(path).bins == pr.Bins(num=20)


#: A value that is not of the type, as the documentation calls it.
WRONG = {"text": 7, "number": True, "integer": 2.5, "boolean": 1, "list": 1}


def documented_keys():
    """Key, type and default of each row of the tables, top level first."""
    page = (REPOSITORY / "docs" / "proliferation.md").read_text()
    for level, head in enumerate(("| key | type", "| key of a population | type")):
        (table,) = re.findall(rf"^{re.escape(head)}.*\n\|---.*\n((?:\|.*\n)+)", page, re.M)
        for row in table.splitlines():
            keys, kind, _, default, _ = (cell.strip() for cell in row.strip("|").split("|"))
            for key in re.findall(r"`(\w+)`", keys):
                yield level, key, kind, default


def test_documented_keys_are_those_that_are_read(tmp_path):
    path = tmp_path / "m.json"
    quiescent = {"name": "a", "proportion": 1}
    rows = list(documented_keys())
    top = [key for level, key, _, _ in rows if level == 0]
    assert sorted(top) == sorted((*model_file.KEYS, *model_file.UNUSED_KEYS))
    assert sorted(key for level, key, _, _ in rows if level) == sorted(model_file.POPULATION_KEYS)
    for level, key, kind, _ in rows:
        if kind == "any" or (level, key) == (1, "name"):
            continue
        population = {**quiescent, "mean": 40, "std": 9} if level else quiescent
        if "_" in key and level:
            other = key.replace("min", "max") if "min" in key else key.replace("max", "min")
            population[other] = 1
        whole = {"populations": [population]}
        (population if level else whole)[key] = WRONG[kind]
        path.write_text(json.dumps(whole))
        with pytest.raises(ReadError, match=key):
            read_model(path)
    path.write_text(json.dumps({"populations": [quiescent]}))
    file = read_model(path)
    defaults = {key: default.strip("`") for level, key, _, default in rows if not level}
    read = {
        **{"project_name": json.dumps(file.name), "start": json.dumps(file.start.value)},
        **{"initial_file": file.initial, "target_file": file.target},
        **{"validation_file": file.validation, "simulation_time": file.duration},
        "simulation_validation_time": file.validation_duration,
        "asynchronous": json.dumps(file.start is pr.Start.ASYNC),
        "bins": pr.Bins().num,
        "lowest_bin": f"{pr.Bins().lowest:g}",
        "highest_bin": f"{pr.Bins().highest:g}",
    }
    for key, value in read.items():
        assert defaults[key] == ("none" if value is None else f"{value}"), key


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("folder/x.txt", "folder/x.txt"),
        ("folder\\x.txt", "folder/x.txt"),
        ("C:\\data\\x.txt", "x.txt"),
        ("/data/x.txt", "x.txt"),
        ("../x.txt", "../x.txt"),
        ("", None),
    ],
)
def test_a_histogram_keeps_its_folder(tmp_path, name, kept):
    top = {"populations": [{"name": "a", "proportion": 1}], "initial_file": name}
    path = tmp_path / "m.json"
    path.write_text(json.dumps(top))
    file = read_model(path)
    assert file.initial == kept
    write_model(file, path)
    assert read_model(path).initial == kept
    (tmp_path / "folder").mkdir()
    for place in (tmp_path, tmp_path / "folder", tmp_path.parent):
        write_histogram(pr.Histogram([1.0], [3]), place / "x.txt")
    if kept is not None and ".." not in kept:
        assert file.histogram("initial").cells == 3
    else:
        with pytest.raises(ValueError, match="is outside its folder|names no initial file"):
            file.histogram("initial")


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
    assert rows.shape[1] == 5 and np.all(np.diff(rows[:, 0]) > 0)
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
    cells = dict.fromkeys((f"{phi:.10g}" for phi in record["fluorescence"]), 0.0)
    for phi, number in zip(record["fluorescence"], record["cells"], strict=True):
        cells[f"{phi:.10g}"] += number
    assert np.allclose(list(cells.values()), rows[:, 1])
    assert list(record["types"]) == ["rest", "go"]


def test_calibrated_numbers(tmp_path, files, monkeypatch):
    record, fitted = tmp_path / "c.json", tmp_path / "m.json"
    shown = invoke("calibrate", files[1], "--starts", 1, "-o", record, "--save-model", fitted)
    assert shown.exit_code == 0, shown.output
    found = json.loads(record.read_text())
    low, high = found["intervals_95"]["go mean"]
    assert low < 38 < high and f"go mean {found['values']['go mean']:.4f}" in shown.stdout
    law = read_model(fitted).types[1].law
    assert isinstance(law, pr.Normal) and law.mean == found["values"]["go mean"]
    assert shown.stdout.startswith("Hellinger distance") and "warning" not in found
    monkeypatch.setattr(sys.modules["snpjax.proliferation.uncertainty"], "REJECTED", 2.0)
    first, *rest = invoke("calibrate", files[1], "--starts", 1).stdout.splitlines()
    assert first.startswith("The model does not fit (p = ") and "not to be trusted" in first
    assert rest[0].startswith("Hellinger distance")


@needs_shared
@pytest.mark.slow
def test_a_published_model_is_validated(tmp_path):
    (wanted,) = [
        row["validation"]
        for row in json.loads((CASES / "calibration.json").read_text())["shipped_models_hd"]
        if (row["model"], row["bins"], row["start"]) == ("model4", 100, "async")
    ]
    for name in (*CASES.glob("histograms/*BM_GFPpos.txt"), CASES / "models" / "model4.json"):
        (tmp_path / name.name).symlink_to(name)
    shown = invoke("validate", tmp_path / "model4.json", "--json")
    assert shown.exit_code == 0, shown.output
    record = json.loads(shown.stdout)
    assert record["duration"] == 504.0
    assert [record["hellinger"], record["hellinger_normalised"]] == pytest.approx(wanted, abs=2e-4)


def test_a_validation_needs_its_file_and_its_time(files):
    fits = invoke("validate", files[1], "--validation", files[0].parent / "b.txt", "-t", 120)
    assert fits.exit_code == 0 and "after 120 h" in fits.stdout, fits.output
    assert "Hellinger distance 0.0" in fits.stdout
    without = invoke("validate", files[1])
    assert "no simulation_validation_time (pass --time-max)" in without.stderr
    assert "names no validation file" in invoke("validate", files[1], "-t", 120).stderr


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
    from snpjax.viz.proliferation import Compared

    assert invoke("plot", files[1], "-o", tmp_path / "p.svg").exit_code == 0
    assert (tmp_path / "p.svg").read_text().count("<path") > 50
    file = read_model(files[1])
    for duration, said in ((120.0, ""), (100.0, "does not fit, p = ")):
        compared = Compared(file.model(duration=duration), file.histogram("target"), BINS)
        assert said in compared.rejection and bool(said) == bool(compared.rejection)
