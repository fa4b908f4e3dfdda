"""Every reader of a file, with seeds: of models, nets, cell proliferation, and what layouts are
selected by."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

import snpjax as snp
from snpjax.io import decoded, formats_of
from snpjax.io.errors import Diagnostic
from snpjax.io.proliferation import read_histogram, read_model, read_types
from snpjax.io.read import read_net_source, read_source
from snpjax_formats.select import cache
from snpjax_formats.select.features import features_of
from snpjax_formats.select.gathering import TimingCase, TimingRecord, line_of, read_timings
from snpjax_formats.select.inputs import NUM_OWN, input_names
from snpjax_formats.select.model import CostModel, UnusableModel
from snpjax_formats.select.timing import Timing
from tests.support.fuzz_seeds import SEEDS
from tests.support.sleptsov_seeds import SEEDS as NET_SEEDS


HISTOGRAM = "# fluorescence and cells\n0.5 3\n1\t0\n2.5e0 4.0\n-1 0\n"
TYPES = "0.25 20 2.5\n0.5 30 0\n0.25 -1 -1\n"
PROLIFERATION_MODEL = """{"project_name": "fuzzed", "initial_file": "C:\\\\data\\\\a.txt",
 "target_file": "", "simulation_time": 72, "fluorescence_threshold": 1.5, "asynchronous": true,
 "bins": 50, "lowest_bin": 1, "highest_bin": 1000.0, "populations": [
 {"name": "fast", "proportion": 0.25, "mean": 20, "std": 2.5, "min_mean": 10, "max_mean": 30},
 {"name": "slow", "proportion": 0.5, "mean": 3, "std": 9.5, "law": "gamma"},
 {"name": "quiet", "proportion": 0.25, "mean": "-", "std": "-"}]}
"""
PROLIFERATION_YAML = """project_name: fuzzed
simulation_time: 7.2e1
start: sync
populations:
- {name: fast, proportion: 0.5, mean: 20, std: 2}
- name: "quiet"
  proportion: 0.5
  mean: '-'
  std: '-'
"""
NUMERICAL = json.dumps(
    {
        "nodes": [
            {"id": id, "data": {"type": kind, "label": label, "x": 0, "y": 1, **parts}}
            for id, kind, label, parts in (
                ("a", "reg", "p", {"var_": [["x", "1"], ["y", 2]], "prf": [], "train": []}),
                (
                    "b",
                    "reg",
                    "q",
                    {"var_": [["x", -0.5]], "prf": [["f", "1", [["x", "1/3"]]]], "train": []},
                ),
                ("c", "in", "in", {"var_": [], "prf": [], "train": ["1", 0, "1/2"]}),
                ("d", "out", "out", {"var_": [], "prf": [], "train": []}),
            )
        ],
        "edges": [
            {"id": source + target, "source": source, "target": target}
            for source, target in ("ab", "ba", "ca", "bd")
        ],
    }
)
KEY = {"device": "cpu", "workload": "1 int32"}
MEASURED = json.dumps({"key": KEY, "seconds": {"ELL pull": 1e-5, "CSR pull": 2e-5}}, indent=1)


@dataclass(frozen=True)
class FileReader:
    """A reader and small files that it reads.

    - `read`: reads a file; raising anything but the `refusals` is a bug, and `None` is one, too.
    """

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = (snp.ReadError,)

    def outcome(self, data: bytes) -> bool:
        """Whether a file was read; `False` where it was refused."""
        with warnings.catch_warnings():
            for category in (snp.ModelWarning, cache.CacheIgnored, UnusableModel):
                warnings.simplefilter("ignore", category)
            try:
                return self.read(data) is not None
            except self.refusals as error:
                if isinstance(error, snp.ReadError):
                    assert error.diagnostics
                    lines = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
                    for found in error.diagnostics:
                        _check_place(found, lines)
                assert str(error) and len(str(error)) < 100_000
                return False


def _check_place(found: Diagnostic, lines: list[str]) -> None:
    """The place of an error is in the text, or at its end."""
    assert (found.line is None) == (found.column is None), found
    if found.line is not None and found.column is not None:
        assert 1 <= found.line <= len(lines), found
        assert 1 <= found.column <= len(lines[found.line - 1]) + 1, found


def file_readers(folder: Path) -> dict[str, FileReader]:
    """All readers, by name. Those that open files themselves read them in this folder."""
    found = {}
    for name, format in formats_of("system").items():
        if format.reader is not None:
            found[name] = FileReader(name, _bytes(SEEDS[name]), _of_system(name))
    for name, format in formats_of("net").items():
        if format.reader is not None:
            found[name] = FileReader(name, _bytes(NET_SEEDS[name]), _of_net(name))
    numbers = count()

    def put(data: bytes, suffix: str) -> Path:
        path = folder / f"{next(numbers)}{suffix}"  # models are kept by their names
        path.write_bytes(data)
        return path

    def via(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def read_data(data: bytes) -> object:
            path = put(data, suffix)
            try:
                return read(path)
            finally:
                path.unlink(missing_ok=True)

        return read_data

    def measured(path: Path) -> object:
        cache.write(folder / "cache", KEY, {"ELL pull": 1.0})
        (entry,) = (folder / "cache").iterdir()
        entry.write_bytes(path.read_bytes())
        return cache.read(folder / "cache", KEY)

    others = [
        FileReader("histogram", _bytes([HISTOGRAM]), via(".txt", read_histogram)),
        FileReader("types", _bytes([TYPES]), via(".txt", read_types)),
        FileReader("proliferation", _bytes([PROLIFERATION_MODEL]), via(".json", read_model)),
        FileReader("proliferation-yaml", _bytes([PROLIFERATION_YAML]), via(".yaml", read_model)),
        FileReader("numerical", _bytes([NUMERICAL]), via(".json", snp.io.read_numerical)),
        FileReader("measured", _bytes([MEASURED]), via(".json", measured)),
        FileReader(
            "timings",
            (_timings(),),
            via(".jsonl", lambda path: list(read_timings(path)) or None),
            (ValueError,),
        ),
        FileReader("cost-model", (cost_model().to_bytes(),), via(".npz", CostModel.read)),
    ]
    return found | {reader.name: reader for reader in others}


def _bytes(texts: list[str]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


def _of_system(name: str) -> Callable[[bytes], object]:
    return lambda data: read_source(decoded("fuzzed", data), name, "extended")  # pyright: ignore


def _of_net(name: str) -> Callable[[bytes], object]:
    return lambda data: read_net_source(
        decoded("fuzzed", data, may_be_empty=True),
        name,  # pyright: ignore[reportArgumentType]
    )


def _timings() -> bytes:
    cases = [TimingCase(0, 0, "random", "binary", 9, 9, 2.0, "poisson", 0, 1, 0.5)]
    cases.append(TimingCase(1, 0, "window", "rates", 9, 5, 2.0, "constant", 8, 2, 1.0))
    times = {"ELL pull": Timing((1e-5, 2e-5)), "CSR pull": Timing((3e-5,), is_hopeless=True)}
    records = [TimingRecord(case, features_of(case.edges()), times) for case in cases]
    return "".join(map(line_of, records)).encode()


def cost_model() -> CostModel:
    num = len(input_names())
    zero = np.zeros((2, num))
    return CostModel(
        title="tiny",
        names=("ELL pull", "CSR pull"),
        low=np.full(num, -100.0),
        high=np.full(num, 100.0),
        center=zero,
        scale=zero + 1,
        offset=np.array([-3.0, -4.0]),
        slope=zero,
        length=zero + 1,
        weight=np.eye(2, 1),
        shared=np.zeros((1, num - NUM_OWN), np.float32),
        own=np.zeros((2, 1, NUM_OWN), np.float32),
    )
