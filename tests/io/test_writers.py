"""Every writer of a file: what a failing disk leaves, and links."""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import snpjax as snp
from snpjax import proliferation as pr
from snpjax.io import formats_of
from snpjax.io.proliferation import (
    ModelFile,
    write_histogram,
    write_model,
    write_table,
    write_types,
)
from snpjax.viz import page
from tests.support.command import invoke
from tests.support.faulty_disk import FaultyDisk, content, on, plain
from tests.support.file_readers import cost_model
from tests.support.helpers import PAIR


SYSTEM = snp.SpikingSystem(
    [snp.Neuron("p", 1, ["a -> a"]), snp.Neuron("q")], [("p", "q")], output=["q"]
)
NET = snp.SleptsovNet(
    [1, 0], inputs=snp.sleptsov.Arcs.of([(0, 0, 1)]), outputs=snp.sleptsov.Arcs.of([(1, 0, 1)])
)
GRAPH = snp.explore(SYSTEM)
HISTOGRAM = pr.Histogram(np.array([1.0, 2.0]), np.array([3, 4]))
TYPES = (pr.CellType("x", 1.0, pr.Normal(20.0, 2.0)),)
TABLE = pr.SparseHistogram(np.array([1.0, 2.0]), np.array([3, 4]))


def command(folder: Path, *arguments: object) -> None:
    (folder.parent / "pair.pli").write_text(PAIR)
    result = invoke(*(folder.parent / "pair.pli" if x == "PAIR" else x for x in arguments))
    if result.exit_code:
        assert "Traceback" not in result.output and result.exit_code == 2, result.output
        raise OSError(result.stderr)


#: By the names of the files: what writes them into a folder.
WRITERS: Mapping[str, Callable[[Path], object]] = {
    "x.snp.json": lambda folder: snp.write(SYSTEM, folder / "x.snp.json"),
    "x.lsn": lambda folder: snp.write_net(NET, folder / "x.lsn"),
    "x.aut": lambda folder: snp.write_graph(GRAPH, folder / "x.aut"),
    "x.tra x.sta x.lab": lambda folder: snp.write_graph(GRAPH, folder / "x.tra"),
    "x.txt": lambda folder: write_histogram(HISTOGRAM, folder / "x.txt"),
    "x.model.json": lambda folder: write_model(ModelFile(TYPES), folder / "x.model.json"),
    "x.types": lambda folder: write_types(TYPES, folder / "x.types"),
    "x.csv": lambda folder: write_table(TABLE, folder / "x.csv"),
    "x.html": lambda folder: page.export(SYSTEM, folder / "x.html", max_steps=2),
    "x.svg": lambda folder: command(folder, "draw", "PAIR", "-o", folder / "x.svg"),
    "m.npz r.json": lambda folder: command(
        folder,
        "formats",
        "train",
        "times",
        "-o",
        folder / "m.npz",
        "--report",
        folder / "r.json",
        "--json",
    ),
    "x.in names": lambda folder: command(
        folder, "convert", "PAIR", folder / "x.in", "--names", folder / "names", "--lossy"
    ),
}


@pytest.fixture
def _trained(monkeypatch):
    """Training takes a while, and needs timings."""
    made = lambda files, **_: (cost_model(), {"files": len(files)})  # noqa: E731
    monkeypatch.setattr("snpjax_formats.select.training.train", made)


def without_repetitions(operations: list[str]) -> list[int]:
    """The numbers of the operations, of a run of writes only the first and the last."""
    around = ["", *operations, ""]
    triples = zip(around, operations, around[2:], strict=False)
    return [n for n, triple in enumerate(triples) if set(triple) != {"write"}]


@pytest.mark.usefixtures("_trained")
@pytest.mark.parametrize("names", WRITERS)
def test_each_operation_of_a_writer_fails_once(names, tmp_path, monkeypatch):
    """The old files or the new ones are there, and no other after the next write."""
    write, folder = WRITERS[names], tmp_path / "folder"
    folder.mkdir()
    before = {name: f"the old {name}".encode() for name in names.split()}
    probe = FaultyDisk()
    with monkeypatch.context() as patch:
        on(probe, patch)
        write(folder)
    after = content(folder)
    assert after.keys() == before.keys() and probe.number >= 10
    num_failed = 0
    for number in without_repetitions(probe.operations):
        for name, data in before.items():
            (folder / name).write_bytes(data)
        with monkeypatch.context() as patch:
            on(FaultyDisk(number), patch)
            try:
                write(folder)
            except OSError:
                num_failed += 1
                assert plain(content(folder)) in (before, after), number
            else:
                assert plain(content(folder)) == after, number
        write(folder)
        assert content(folder) == after, number
    assert num_failed >= 3


def test_every_format_is_written_through_a_link(tmp_path):
    """The link stays, and so do the permissions of the file."""
    models = {"system": (SYSTEM, snp.write), "net": (NET, snp.write_net)}
    for holds, (model, write) in models.items():
        for format in formats_of(holds).values():
            if format.writer is None or "sub-nets" in format.keeps:
                continue
            file, link = (tmp_path / f"{x}{format.suffixes[0]}" for x in ("file", "link"))
            file.write_text("old")
            file.chmod(0o600)
            link.symlink_to(file.name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", snp.ModelWarning)
                write(model, link, format=format, lossy=True)
            assert link.is_symlink() and file.read_text() != "old"
            assert os.name == "nt" or file.stat().st_mode & 0o777 == 0o600
            link.unlink()
            file.unlink()
    assert not list(tmp_path.iterdir())
