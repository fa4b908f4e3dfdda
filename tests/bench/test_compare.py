"""Files of figures, compared: what is listed, and what is refused."""

import json
import sys

import compare
import pytest


def line(name="sort", kind="warm", value=1.0, unit="ms", device="a CPU", **fields) -> str:
    own = {"name": name, "kind": kind, "value": value, "cpu": value, "unit": unit}
    return json.dumps({**own, "device": device, **fields})


@pytest.fixture
def compared(tmp_path, monkeypatch, capsys):
    """The lines that the command prints about two files with these lines."""

    def compare_files(old, new, *options):
        paths = [tmp_path / "old.jsonl", tmp_path / "new.jsonl"]
        for path, lines in zip(paths, (old, new), strict=True):
            path.write_text("\n".join(lines) + "\n")
        monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, paths), *options])
        compare.main()
        return capsys.readouterr().out.splitlines()

    return compare_files


def test_lists_what_changed_slower_first(compared):
    old = [
        line("faster", value=2.0),
        line("slower", value=1.0),
        line("rate", value=100.0, unit="steps/s"),
        line("same", value=1.0),
        line("gone"),
    ]
    new = [
        line("faster", value=1.0),
        line("slower", value=1.2),
        line("rate", value=50.0, unit="steps/s"),
        line("same", value=1.09),
    ]
    assert compared(old, new) == [
        "rate, warm: 100 -> 50 steps/s, 2.00 times slower",
        "slower, warm: 1 -> 1.2 ms, 1.20 times slower",
        "faster, warm: 2 -> 1 ms, 2.00 times faster",
        "3 of 4 figures changed by more than 10 %",
        "not compared, 1 of the old file: gone (warm)",
    ]
    assert compared(old, new, "--limit", "30")[-2] == "2 of 4 figures changed by more than 30 %"


def test_takes_the_best_of_repeated_lines_and_tells_kinds_apart(compared):
    old = [line(value=3.0), line(value=1.0), line(kind="cold", value=9.0)]
    new = [line(value=1.0), line(value=5.0), line(kind="cold", value=9.0)]
    assert compared(old, new) == ["0 of 2 figures changed by more than 10 %"]


def test_compares_cpu_times_if_told(compared):
    assert compared([line(cpu=1.0)], [line(cpu=2.0)]) == [
        "0 of 1 figures changed by more than 10 %"
    ]
    assert compared([line(cpu=1.0)], [line(cpu=2.0)], "--cpu")[0].endswith("2.00 times slower")


def test_says_that_devices_differ(compared):
    assert compared([line()], [line(device="another")])[0] == "other devices: a CPU and another"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "old.jsonl: the file holds no figure"),
        ("name,value\n", "old.jsonl:1:1: this is no JSON"),
        (line() + "\n[1]\n", "old.jsonl:2: expected an object"),
        ('{"name": "x"}\n', "old.jsonl:1: the figure has no valid `kind`"),
        (line(value=True), "old.jsonl:1: the figure has no valid `value`"),
        (line(value=0.0), "old.jsonl:1: `value` is 0.0; expected more than 0"),
        (line() + "\n" + line(unit="s"), "old.jsonl:2: 'sort' has another unit"),
        (b"\xff\xfe\x00", "old.jsonl: this is not a text"),
    ],
)
def test_refuses_other_files(text, message, tmp_path, monkeypatch):
    path = tmp_path / "old.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.setattr(sys, "argv", ["compare.py", str(path), str(path)])
    with pytest.raises(SystemExit) as end:
        compare.main()
    assert str(end.value.code).startswith("error: ") and message in str(end.value.code)


def test_names_a_missing_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(SystemExit, match="No such file"):
        compare.main()


@pytest.mark.parametrize("module", ["compare", "paired", "run"])
def test_has_help(module, monkeypatch, capsys):
    script = pytest.importorskip(module)
    monkeypatch.setattr(sys, "argv", [f"{module}.py", "--help"])
    with pytest.raises(SystemExit) as end:
        script.main()
    assert end.value.code == 0 and f"python bench/{module}.py" in capsys.readouterr().out
