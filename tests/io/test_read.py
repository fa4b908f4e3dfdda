"""`read` and `write`: which reader, which bytes, and files that are not models."""

import os
import stat
import warnings

import numpy as np
import pytest

from snpjax import ALL, ModelWarning, Population, PopulationSystem, Projection, RuleTemplate
from snpjax.io import ReadError, ReadWarning, WriteError, read, source, write
from snpjax.io.source import guard_or_error
from tests.io.tables.pairs import PAIRS, SYSTEM
from tests.support.helpers import PAIR


@pytest.fixture
def file(tmp_path):
    """Writes a file and returns its path."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def refused(path, **options):
    with pytest.raises(ReadError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path) + ":")
    return message.removeprefix(str(path))


def test_format_overrides_the_suffix(file):
    assert read(file("pair.txt", PAIR), format="plingua") == SYSTEM
    assert read(file("pair.pli", PAIRS["native"]), format="native") == SYSTEM
    assert read(file("pair.json", PAIRS["native"])) == SYSTEM


def test_arguments_are_checked(file):
    path = file("pair.pli", PAIR)
    with pytest.raises(ValueError, match="the level is 'loose'"):
        read(path, level="loose")
    with pytest.raises(ValueError, match="the format is 'xml'"):
        read(path, format="xml")


def test_positions_count_characters(file):
    text = "@model<spiking_psystems>\r\ndef main() {\r\n\t/* \u00e9\U0001f600 */ @mu x; }"
    assert refused(file("a.pli", b"\xef\xbb\xbf" + text.encode())).startswith(":3:15: expected '='")


def test_files_that_cannot_be_read(tmp_path, file):
    assert refused(tmp_path / "none.pli").startswith(": there is no such file")
    assert refused(tmp_path).startswith(": this is a folder")
    (tmp_path / "folder.pli").mkdir()
    assert refused(tmp_path / "folder.pli").startswith(": this is a folder")
    assert refused(file("a.txt", "x")).startswith(
        ": unknown suffix '.txt' (snpjax reads .snp.json (snpjax native)"
    )
    for content in ("", " \n\t\n", "\ufeff"):
        assert refused(file("empty.pli", content)).startswith(": the file is empty")
        assert refused(file("empty.json", content)).startswith(": the file is empty")
    said = refused(file("esnp.pli", "@mu = p, q\n"), format="plingua")
    assert said.startswith(":1:1: there is no @model<spiking_psys") and 'format="esnp"' in said
    assert "this is JSON" in refused(file("json.pli", PAIRS["native"]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.pli")
    assert refused(tmp_path / "pipe.pli").startswith(": this is not a plain file")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_not_utf8(file, mark):
    path = file("a.pli", mark + "@model\r\n \u00e9".encode() + b"\xff\n")
    assert refused(path).startswith(":2:3: not UTF-8: byte 0xff")


def test_large_files_are_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "large.pli"
    with path.open("wb") as large:
        large.truncate(100 * 2**20)  # a hole: no disk space
    assert refused(path).startswith(": the file has 104857600 bytes, more than the 67108864")
    path.write_text(PAIR)
    monkeypatch.setattr(source, "MAX_FILE_BYTES", 100)
    assert "more than the 100" in refused(path)


def test_at_most_twenty_errors_are_shown(file):
    statements = "".join(f"@ms(y{i}) = a;\n" for i in range(30))
    path = file("a.pli", "@model<spiking_psystems>\ndef main() {\n" + statements + "@mu = x; }")
    with pytest.raises(ReadError) as caught:
        read(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21 and lines[-1] == "and 10 more"
    assert len(caught.value.diagnostics) == 30


TWO_DIGITS = r"""{"neurons": [
{"id": "x", "type": "regular", "content": 0, "rules": ["a^12/a\\to a;0"]}
], "synapses": []}"""


def test_warnings_name_the_line_of_the_caller(file):
    path = file("a.pli", PAIR.replace("[a --> a]'q;", "[a --> a]'q; [a --> a]'q;"))
    with pytest.warns(ReadWarning) as caught:
        read(path)
    (warning,) = caught
    assert warning.filename == __file__
    assert isinstance(warning.message, ModelWarning)
    with warnings.catch_warnings(record=True) as more:
        warnings.simplefilter("always")
        read(file("digits.json", TWO_DIGITS))
    assert [one.filename for one in more] == [__file__] * len(more) and more
    assert str(warning.message).startswith(f"{path}:9:16: neuron 'q', rule 2 repeats a -> a")


def test_write_then_read(tmp_path):
    path = tmp_path / "pair.snp.json"
    write(SYSTEM, path)
    assert read(path) == SYSTEM
    first = path.read_bytes()
    path.chmod(0o640)
    write(SYSTEM, str(path))
    assert path.read_bytes() == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["pair.snp.json"]


def test_write_refuses_before_it_touches_the_file(tmp_path):
    path = tmp_path / "pair.xyz"
    path.write_text("kept")
    with pytest.raises(ValueError, match=r"pair.xyz: the suffix '.xyz' cannot be written"):
        write(SYSTEM, path)
    with pytest.raises(ValueError, match=r"WebSnapse .xmp is read, not written"):
        write(SYSTEM, path, format="xmp")
    with pytest.raises(WriteError, match=r"cuSNP cannot hold:\n.*output"):
        write(SYSTEM, path, format="cusnp")
    assert path.read_text() == "kept"
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(OSError):
        write(SYSTEM, tmp_path / "folder.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.json", "pair.xyz"]


@pytest.mark.parametrize("format", ["websnapse", "factory-yaml", "plingua"])
def test_populations_are_written(tmp_path, format):
    """As their neurons, each with the rules that it has; reading gives those again."""
    low, high = np.array([1, 2, 3]), np.array([0, 2, 5])
    some = RuleTemplate([(low, high)], 1, 1)
    system = PopulationSystem([Population("x", 3, 1, [some, "a -> a; 2"])], [Projection("x", "x")])
    write(system, tmp_path / "model", format=format)
    again = read(tmp_path / "model", format=format)
    expanded = system.expand()
    assert [(n.spikes, n.rules) for n in again.neurons] == [
        (n.spikes, n.rules) for n in expanded.neurons
    ]
    assert again.num_synapses == 9


@pytest.mark.parametrize("format", ["websnapse", "factory-yaml", "cusnp", "plingua"])
def test_a_rule_that_consumes_all_without_end_is_no_list(tmp_path, format):
    endless = RuleTemplate([(2, None)], ALL)
    system = PopulationSystem([Population("x", 3, 0, [endless])])
    with pytest.raises(WriteError, match="no end"):
        write(system, tmp_path / "model", format=format)
    assert not (tmp_path / "model").exists()


def test_a_guard_that_does_not_parse_keeps_no_reader_alive():
    """It is kept for the next file; its traceback would keep the reader and all it has read."""
    found = guard_or_error("a{77")
    assert found.__traceback__ is None and found.__context__ is None
