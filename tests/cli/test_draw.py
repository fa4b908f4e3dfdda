"""`snpjax draw`, the page of the documentation, and the script that makes its pictures."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from typer.testing import Result

from tests.support.command import invoke
from tests.support.helpers import PAIR, REPOSITORY, script


NET = """; p2 := p1 div 2
; m n k l nst
4 3 10 2 0
1 1 2
3 1 -1
-2 1 1
1 2 1
3 2 -1
4 3 1
1 3 -1
3 3 -1
-3 3 1
-1 -2 0
3 1
4 1
"""
STARTS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "pair.pli").write_text(PAIR)
    (tmp_path / "half.lsn").write_text(NET)
    return tmp_path


@pytest.fixture
def figures():
    """matplotlib, on no screen."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")


def draw(*arguments: object) -> Result:
    return invoke("draw", *arguments)


def test_svg_needs_nothing_else(files, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for model, said in (("pair.pli", "the network"), ("half.lsn", "the net")):
        result = draw(files / model, "-o", files / "out.svg")
        assert result.exit_code == 0 and f": {said} of" in result.stdout, result.output
        text = (files / "out.svg").read_text()
        assert ElementTree.fromstring(text).tag.endswith("svg")
    before = sorted(files.iterdir())
    result = draw(files / "pair.pli", "-o", files / "out.png")
    assert result.exit_code == 2 and "pip install '.[viz]'" in result.stderr
    assert sorted(files.iterdir()) == before


def test_network_as_every_format(files, figures):
    for suffix in (".png", ".pdf"):
        for model in ("pair.pli", "half.lsn"):
            out = files / f"out{suffix}"
            assert draw(files / model, "-o", out).exit_code == 0
            first = out.read_bytes()
            assert first.startswith(STARTS[suffix])
            # The same picture is the same file.
            assert draw(files / model, "-o", out).exit_code == 0 and out.read_bytes() == first


def test_a_run(files, figures):
    result = draw(files / "pair.pli", "--run", 5, "-o", files / "run.png", "--json")
    assert result.exit_code == 0 and '"picture": "a run of 4 steps"' in result.stdout
    assert (files / "run.png").read_bytes().startswith(STARTS[".png"])


@pytest.mark.slow
def test_batches_graphs_and_nets_that_ran(files, figures):
    for arguments, said in (
        ((files / "pair.pli", "--run", 5, "--paths", 50), "50 paths"),
        ((files / "pair.pli", "--graph", "--witness", 1), "the graph of"),
        ((files / "half.lsn", "--run", 5), "the net after"),
        ((files / "half.lsn", "--graph"), "the graph of"),
    ):
        for suffix in (".svg", ".pdf"):
            result = draw(*arguments, "-o", files / f"out{suffix}")
            assert result.exit_code == 0 and said in result.stdout, result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("pair.pli -o out.gif", "not one of a picture (write one of .svg, .png, .pdf;"),
        ("pair.pli -o out", "the suffix '' is not one of a picture"),
        ("pair.pli -o missing/out.svg", "there is no folder"),
        ("pair.pli -o folder.svg", "folder.svg: Is a directory"),
        ("pair.pli", "Missing option '-o'"),
        ("none.pli -o out.svg", "there is no such file"),
        ("bad.pli -o out.svg", "bad.pli:"),
        ("pair.pli -o out.svg --paths 3", "it needs --run"),
        ("pair.pli -o out.svg --seed 3", "it needs --run"),
        ("pair.pli -o out.svg --witness 3", "it needs --graph"),
        ("pair.pli -o out.svg --max-depth 3", "it needs --graph"),
        ("pair.pli -o out.svg --graph --run 3", "use either --graph or --run"),
        ("pair.pli -o out.svg --drop-time", "this is a file of a spiking system"),
        ("half.lsn -o out.svg --strict", "this is a file of a net"),
        ("half.lsn -o out.svg --run 3 --paths 2", "this is a file of a net"),
    ],
)
def test_mistakes_are_messages_and_leave_nothing(files, arguments, said):
    (files / "bad.pli").write_text("@model<spiking_psystems>\ndef main() { @mu = ; }\n")
    (files / "folder.svg").mkdir()
    before = sorted(files.iterdir())
    words = [f"{files}/{w}" if re.match(r"[a-z/]+\.?[a-z]*$", w) else w for w in arguments.split()]
    result = draw(*words)
    assert result.exit_code == 2 and said in result.stderr, result.output
    assert result.stdout == "" and sorted(files.iterdir()) == before


def test_a_picture_is_written_whole_or_not_at_all(files, monkeypatch):
    out = files / "out.svg"
    out.write_text("the old one")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    result = draw(files / "pair.pli", "-o", out)
    assert result.exit_code == 2 and "No space left on device" in result.stderr
    assert out.read_text() == "the old one"
    assert {path.name for path in files.iterdir()} == {"pair.pli", "half.lsn", "out.svg"}


def test_pictures_of_the_page_are_there():
    text = (REPOSITORY / "docs" / "drawing.md").read_text()
    text_of_script = (REPOSITORY / "docs" / "make_pictures.py").read_text()
    named = re.findall(r"!\[.+?\]\((pictures/.*?)\)", text)
    assert len(named) > 5
    for name in named:
        path = REPOSITORY / "docs" / name
        assert path.stat().st_size < 100_000 and path.stem in text_of_script, name


def test_a_picture_of_the_page_is_that_of_its_script(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    made = script("docs/make_pictures.py")
    monkeypatch.setattr(made, "PICTURES", tmp_path)
    made.networks()
    number = re.compile(r"-?\d+\.\d+")
    for path in tmp_path.iterdir():
        one, other = path.read_text(), (REPOSITORY / "docs" / "pictures" / path.name).read_text()
        assert number.sub("x", one) == number.sub("x", other), path.name
        apart = [
            float(a) - float(b) for a, b in zip(*map(number.findall, (one, other)), strict=True)
        ]
        assert max(map(abs, apart)) < 1, path.name  # which rounding makes
