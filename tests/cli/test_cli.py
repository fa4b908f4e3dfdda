"""The command line: what it prints, and how it ends."""

import csv
import functools
import io
import json
import re
import sys
import warnings
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner, Result

import snpjax as snp
from snpjax.cli import app as app_module
from snpjax.cli.app import app
from snpjax.cli.choices import offers_choice
from snpjax.cli.options import layouts
from tests.support.helpers import PAIR
from tests.support.processes import environment, finished, python, started


#: Generates the natural numbers from 2 on, in the manner of Ionescu, Paun, Yokomori 2006.
NATURALS: dict[str, Any] = {
    "name": "naturals",
    "neurons": [
        {"id": "1", "spikes": 2, "rules": ["a^2/a -> a", "a -> lambda"]},
        {"id": "2", "spikes": 1, "rules": ["a -> a", "a -> a; 1"]},
        {"id": "3", "spikes": 3, "rules": ["a^3 -> a", "a -> a; 1", "a^2 -> lambda"]},
    ],
    "synapses": [["1", "2"], ["2", "1"], ["1", "3"], ["2", "3"]],
    "output": ["3"],
}

#: Passes spikes round for ever. It is deterministic.
RING: dict[str, Any] = {
    "neurons": [
        {"id": f"n{i}", "spikes": int(i % 3 == 0), "rules": ["a+/a -> a"]} for i in range(40)
    ],
    "synapses": [[f"n{i}", f"n{(i + 1) % 40}"] for i in range(40)],
    "output": ["n0"],
}

#: `q` gets 2^29 spikes in every step.
OVERFLOW: dict[str, Any] = {
    "neurons": [{"id": "p", "spikes": 1, "rules": ["a+/a -> a"]}, {"id": "q"}],
    "synapses": [["p", "p"], ["p", "q", 2**29]],
}

#: The spike of d is lost, for c divides then.
GROWTH: dict[str, Any] = {
    "neurons": [
        {"id": "c", "spikes": 1, "rules": ["[a]_c -> []_l || []_r"]},
        {"id": "d", "spikes": 1, "rules": ["a -> a"]},
    ],
    "synapses": [["d", "c"]],
    "rules_by_label": {"r": ["a -> a"]},
    "dictionary": [["r", "d"]],
    "input": {"r": [0, 1]},
    "output": ["r"],
}

WIRING: dict[str, Any] = {
    "neurons": [
        {"id": "i", "spikes": 1, "rules": ["a -> +-1(i, {j, k})"]},
        {"id": "j"},
        {"id": "k"},
    ],
}


@pytest.fixture
def native(tmp_path):
    """Writes a native model file."""

    def write(model: dict[str, Any], name: str = "model.snp.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"schema": "snpjax/1", **model}))
        return str(path)

    return write


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair.pli"
    path.write_text(PAIR)
    return str(path)


def invoke(*arguments: object, width: int = 100) -> Result:
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def succeed(*arguments: object, width: int = 100) -> str:
    result = invoke(*arguments, width=width)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def cells(text: str) -> dict[str, list[str]]:
    """The rows of the table by step, cut where two blanks or more are."""
    rows = (re.split(r"\s{2,}", line.strip()) for line in text.splitlines())
    return {row[0]: row[1:] for row in rows if row[0].isdigit()}


# ---- a single run ----


def test_table(pair):
    text = succeed("run", pair)
    assert text.splitlines()[0] == f"{pair}: 2 neurons, 4 rules, 2 synapses"
    assert cells(text) == {
        "0": ["2", "1"],
        "1": ["1 (1)", "0", "p: a^2/a -> a; 1, q: a -> a", "1"],
        "2": ["1", "1", "0"],
        "3": ["1", "0", "p: a -> lambda, q: a -> a", "1"],
        "4": ["0", "0", "p: a -> lambda", "0"],
    }
    assert text.splitlines()[-5:] == [
        "2 (1): 2 spikes, closed, opens in 1 step",
        "halted after 4 steps",
        "spike train: 1 0 1 0",
        "number: 2 (first two spikes in steps 1 and 3)",
        "spikes sent: 2",
    ]
    assert "choices" not in text


def test_choices_are_told_where_they_arise(native):
    file = native(NATURALS)
    assert "choices: uniform, seed 0" in succeed("run", file)
    assert "choices: uniform, seed 7" in succeed("run", file, "--seed", 7)
    assert "choices: first applicable rule" in succeed("run", file, "--first")


@pytest.mark.parametrize(
    "rules, expected",
    [
        (["a -> a", "a^2 -> a"], False),
        (["a+/a -> a", "a^2 -> a"], True),
        (["a*/a^5 -> a", "a{1,4}/a -> a"], False),  # the guards overlap, the rules do not
        (["a(aa)*/a -> a", "(aa)*/a -> a"], False),
        ([f"a(a{{{n}}})*/a -> a" for n in (4099, 4111, 4127)], True),
    ],
)
def test_offers_choice(rules, expected):
    system = snp.SpikingSystem([snp.Neuron("n", 1, rules)])
    assert offers_choice(system) == expected


@pytest.mark.parametrize(
    "rules, expected",
    [
        (["[a]_n -> []_x || []_y", "a^2 -> a"], False),
        (["[a+]_n -> []_x || []_y", "a^2 -> a"], True),
        (["a -> +1(n, {m})"], True),
    ],
)
def test_networks_that_change_offer_choices(rules, expected):
    system = snp.SpikingSystem([snp.Neuron("n", 1, rules), snp.Neuron("m")])
    assert offers_choice(system) == expected


@pytest.mark.parametrize("width", [40, 60, 100])
def test_wide_system_shows_what_fits(native, width):
    text = succeed("run", native(RING), "--steps", 5, width=width)
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("step"))
    remark = next(i for i, line in enumerate(lines) if "not shown" in line)
    assert max(map(len, lines[head:remark])) <= width
    neurons = [name for name in lines[head].split() if re.fullmatch(r"n\d+", name)]
    assert neurons == [f"n{i}" for i in range(len(neurons))]
    assert lines[remark] == (
        f"{40 - len(neurons)} of 40 neurons not shown; --csv or --json gives all"
    )
    # 14 spikes go round, each in a neuron of its own.
    rows = re.split(r"\n +\d+ ", "\n".join(lines[head:remark]))[2:]
    assert len(rows) == 5
    for row in rows:
        others = re.findall(r"(?:and )?(\d+) (?:more|fired)", row)
        assert len(re.findall(r"n\d+: a\+/a -> a", row)) + int(others[0]) == 14


def test_long_run_is_abridged(native):
    text = succeed("run", native(RING), "--steps", 200)
    assert list(map(int, cells(text))) == [*range(40), *range(186, 201)]
    assert "... 146 steps ..." in text
    assert "not halted after 200 steps; --steps 2000 runs longer" in text
    assert "... (the first 40 of 200 steps)" in text


def test_no_steps(pair):
    text = succeed("run", pair, "--steps", 0)
    assert cells(text) == {"0": ["2", "1"]}
    assert "not halted after 0 steps" in text
    assert "number: none (the train has fewer than two spikes)" in text


def test_names_are_text_and_not_commands(native):
    text = succeed("run", native({"neurons": [{"id": "[red]\x1b[31mx\ny", "spikes": 1}]}))
    assert r"[red]\x1b[31mx\ny" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("layout", ["auto", "csr", "sliced-ell", "transition-dense"])
@pytest.mark.parametrize("options", [("--seed", 5), ("--first",), ()])
def test_json_is_the_solution(native, options, layout):
    file = native(NATURALS)
    data = json.loads(succeed("run", file, "--json", "--steps", 20, "--layout", layout, *options))
    key = jax.random.key(5 if options[:1] == ("--seed",) else 0)
    choice = snp.FirstChoice() if options == ("--first",) else snp.UniformChoice(key)
    solution = snp.run(snp.read(file), max_steps=20, choice=choice)

    assert data["file"] == file and data["name"] == "naturals"
    assert data["neurons"] == ["1", "2", "3"]
    assert data["steps"] == solution.steps
    assert data["halted"] == solution.halted
    assert data["result"] == ("halted" if solution.halted else "max_steps_reached")
    assert data["spikes"] == solution.spikes.tolist()
    assert data["configurations"] == solution.configurations.tolist()
    assert data["timers"] == solution.timer_history.tolist()
    assert data["emissions"] == solution.emissions.tolist()
    rules = [[snp.NO_RULE if rule is None else rule for rule in row] for row in data["rules"]]
    assert rules == solution.rules.tolist()
    assert data["spike_trains"] == {"3": solution.spike_train.tolist()}
    assert data["numbers"] == {"3": solution.interval()}
    assert data["counts"] == {"3": solution.count()}
    expected = {"method": "uniform", "seed": 5 if options else 0}
    assert data["choice"] == ({"method": "first"} if options == ("--first",) else expected)


def test_csv_of_a_run(pair):
    rows = list(csv.DictReader(io.StringIO(succeed("run", pair, "--csv"))))
    assert list(rows[0]) == ["step", "p", "q", "timer:p", "rule:p", "rule:q", "out:q"]
    assert [row["step"] for row in rows] == list("01234")
    assert [row["p"] + row["q"] for row in rows] == ["21", "10", "11", "10", "00"]
    assert [row["timer:p"] for row in rows] == list("01000")
    assert [row["rule:p"] for row in rows] == [
        "",
        "a^2/a -> a; 1",
        "",
        "a -> lambda",
        "a -> lambda",
    ]
    assert [row["out:q"] for row in rows] == ["", "1", "0", "1", "0"]


def test_spikes_under_way_are_shown(tmp_path):
    neurons = [snp.Neuron("s", 1, ["a -> a"]), snp.Neuron("t")]
    variant = snp.SynapseDelays({("s", "t"): 2})
    file = tmp_path / "delays.snp.json"
    snp.write(snp.SpikingSystem(neurons, [("s", "t", 2)], variant=variant), file)
    shown = succeed("run", file)
    assert "0 (2 in 2)" in shown and "0 (2 in 1)" in shown
    assert "2 (1 in 3): 2 spikes, and 1 under way" in shown and "closed" not in shown
    flights = [[[0, 0], own] for own in ([0, 0], [0, 2], [2, 0], [0, 0])]
    assert json.loads(succeed("run", file, "--json"))["in_flight"] == flights
    rows = list(csv.DictReader(io.StringIO(succeed("run", file, "--csv"))))
    assert [row["due_in_1:t"] + row["due_in_2:t"] for row in rows] == ["00", "02", "20", "00"]


def test_history_that_is_not_kept(native, monkeypatch):
    file = native(RING)
    final = snp.run(snp.read(file), max_steps=9).spikes.tolist()
    monkeypatch.setattr(snp, "run", functools.partial(snp.run, save=snp.Save(budget=0)))
    outputs = []
    for option in ((), ("--json",), ("--csv",), ("--paths", 2), ("--paths", 2, "--json")):
        result = invoke("run", file, "--steps", 9, *option)
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("warning: the history is too large to be kept")
        outputs.append(result.stdout)
    assert cells(outputs[0])["9"][:5] == [str(n) for n in final[:5]]
    data = json.loads(outputs[1])
    assert data["spikes"] == final
    assert data["configurations"] is None and data["numbers"] is None
    (row,) = csv.DictReader(io.StringIO(outputs[2]))
    assert row["step"] == "9" and [int(row[f"n{i}"]) for i in range(40)] == final
    assert "2 paths: 0 halted, 2 not halted after at most 9 steps" in outputs[3]
    assert json.loads(outputs[4])["paths"][1]["numbers"] == {"n0": None}


# ---- a batch ----


def test_batch(native):
    file = native(NATURALS)
    arguments = ("run", file, "--paths", 50, "--steps", 12, "--seed", 3)
    choice = snp.UniformChoice(jax.random.key(3))
    solution = snp.run(snp.read(file), max_steps=12, choice=choice, paths=50)
    numbers = solution.intervals()
    halted = int(np.sum(solution.halted))

    text = succeed(*arguments)
    assert "choices: uniform, seed 3" in text
    assert f"50 paths: {halted} halted, {50 - halted} not halted after at most 12 steps" in text
    least, median, most = (f(solution.steps) for f in (np.min, np.median, np.max))
    assert f"steps: min {least}, median {median:g}, max {most}" in text
    for number in set(numbers.compressed().tolist()):
        count = int(np.sum(numbers == number))
        assert re.search(rf"^ *{number} +{count}  [█#]+$", text, re.MULTILINE)

    data = json.loads(succeed(*arguments, "--json"))
    assert [path["path"] for path in data["paths"]] == list(range(50))
    assert [path["halted"] for path in data["paths"]] == solution.halted.tolist()
    assert [path["steps"] for path in data["paths"]] == solution.steps.tolist()
    assert [path["spikes"] for path in data["paths"]] == solution.spikes.T.tolist()
    expected = numbers.tolist()
    assert [path["numbers"]["3"] for path in data["paths"]] == expected
    assert [path["counts"]["3"] for path in data["paths"]] == solution.counts().tolist()

    rows = list(csv.DictReader(io.StringIO(succeed(*arguments, "--csv"))))
    assert list(rows[0]) == ["path", "halted", "steps", "number:3", "count:3"]
    assert [row["number:3"] for row in rows] == ["" if n is None else str(n) for n in expected]
    assert [int(row["steps"]) for row in rows] == solution.steps.tolist()
    assert [row["halted"] == "true" for row in rows] == solution.halted.tolist()


def test_batch_without_numbers(native):
    model = {"neurons": [{"id": "n", "spikes": 1, "rules": ["a -> a"]}], "output": ["n"]}
    text = succeed("run", native(model), "--paths", 3)
    assert re.search(r"^no number +3  ", text, re.MULTILINE)
    assert "choices" not in text


# ---- info ----


def test_info(native):
    model = {
        "neurons": [
            {"id": "x", "spikes": 2, "rules": ["a^2/a -> a; 3", "a -> lambda"]},
            {"id": "y", "rules": ["a^2/a -> a", "a^2/a^2 -> a"]},
            {"id": "z"},
        ],
        "synapses": [["x", "y", 4], ["x", "z"], ["y", "z"]],
        "input": {"x": [0, 1, 0, 1, 0]},
        "output": ["z"],
    }
    file = native(model)
    data = json.loads(succeed("info", file, "--json"))
    assert data["neurons"] == 3 and data["synapses"] == 3
    assert data["rules"] == {"all": 4, "firing": 3, "forgetting": 1}
    assert data["guards"] == {"a{2}": 3, "a": 1}
    assert data["delays"] == {"min": 3, "max": 3, "count": 1}
    assert data["weights"] == {"min": 1, "max": 4, "count": 3}
    assert data["in_degree"] == {"min": 0, "mean": 1.0, "max": 2}
    assert data["out_degree"] == {"min": 0, "mean": 1.0, "max": 2}
    assert data["inputs"] == {"x": 4} and data["outputs"] == ["z"]
    assert data["level"] == "extended"
    assert [reason["code"] for reason in data["reasons"]] == ["weighted_synapse"]
    system = snp.read(file)
    for name, layout in layouts().items():
        if name not in data["layouts"]:  # has no weights
            assert name in ("bit-dense", "bit-gather", "interval")
            with pytest.raises(ValueError, match="Use ELL"):
                snp.lower(system, layout=layout)
            continue
        program = snp.lower(system, layout=layout).machine.program
        stored = [program.synapses, program.rows and program.rows.matrix]
        assert data["layouts"][name] == sum(form.nbytes for form in stored if form is not None)

    text = succeed("info", file)
    for line in (
        r"rules +3 firing, 1 forgetting",
        r"rule delays +all 3 in 1 rule",
        r"weights +1 to 4",
        r"in-degree +min 0, mean 1.00, max 2",
        r"neurons +3",
        r"inputs +x \(horizon 4\)",
        r"initial spikes +x 2",
        r"spike bounds +not known of 3; `snpjax explore` finds them",
        r"deterministic +perhaps not: two rules can apply at once in y",
        r" +a\{2\}  in 3 rules",
        r"level +extended only; strict refuses:",
        r"  synapse \(x, y\) has weight 4 .*",
    ):
        assert re.search(f"^{line}$", text, re.MULTILINE), line

    assert "layout" not in text and text.splitlines()[1].split() == ["neurons", "3"]
    text = succeed("info", file, "--layouts")
    assert re.search(r"^layout auto +ell \(a small graph\)$", text, re.MULTILINE)
    assert re.search(r"^layout csr +\d+ bytes$", text, re.MULTILINE)


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_info_bounds(native):
    """Of neurons without synapses to them, and of conserved sums."""
    ring = {
        "neurons": [
            {"id": "x", "spikes": 2, "rules": ["a -> a"]},
            {"id": "y", "spikes": 1, "rules": ["a -> a"]},
            {"id": "z", "spikes": 5, "rules": ["a^5/a^2 -> lambda"]},
        ],
        "synapses": [["x", "y"], ["y", "x"]],
    }
    file = native(ring)
    found = json.loads(succeed("info", file, "--json"))
    assert found["bounds"] == {"x": 3, "y": 3, "z": 5}
    assert found["initial_spikes"] == {"x": 2, "y": 1, "z": 5}
    assert found["deterministic"] is True and found["choosing"] == []
    graph = snp.explore(snp.read(file))
    assert all(graph.bounds()[name][1] <= most for name, most in found["bounds"].items())
    lines = lines_of(succeed("info", file))
    assert "spike bounds x <= 3, y <= 3, z <= 5" in lines
    assert "deterministic yes: no two rules of a neuron apply at once" in lines


VARIANTS = [
    (
        snp.SynapseDelays({("x", "y"): 3, ("y", "x"): 1}),
        ["variant synapse-delays", "x to y: 3 steps", "y to x: 1 step"],
    ),
    (snp.DendriticDelays({"y": 2}), ["variant dendritic-delays", "y: 2 steps"]),
    (
        snp.ScheduledSynapses([("x", "y", 2, 5), ("y", "x", 0, None, "x")]),
        [
            "variant scheduled-synapses",
            "x to y: steps 2 to 4",
            "y to x: from step 0 after x emits",
        ],
    ),
    (
        snp.Channels([("1", [("x", "y")]), ("2", [("y", "x")])]),
        ["variant channels", "1: x to y", "2: y to x"],
    ),
    (
        snp.Astrocytes([snp.Astrocyte([("x", "y"), ("y", "x")], 4)]),
        ["variant astrocytes", "x to y, y to x: threshold 4"],
    ),
    (
        snp.SynapseRules({("x", "y"): ["a -> a"], ("y", None): ["a -> a"]}),
        ["variant synapse-rules", "x to y: a -> a", "y to the environment: a -> a"],
    ),
    (snp.Exhaustive(), ["variant exhaustive"]),
    (snp.AntiSpikes(), ["variant anti-spikes"]),
]


@pytest.mark.parametrize("variant, lines", VARIANTS, ids=lambda x: type(x).__name__)
def test_info_of_variants(tmp_path, variant, lines):
    rules = {"x": ["a -> a"], "y": ["a -> a"]}
    if isinstance(variant, snp.Channels):
        rules = {"x": ["a -> a(1)"], "y": ["a -> a(2)"]}
    if isinstance(variant, snp.SynapseRules):
        rules = {"x": [], "y": []}
    neurons = [snp.Neuron(name, 1, own) for name, own in rules.items()]
    synapses = [] if isinstance(variant, snp.SynapseRules) else [("x", "y"), ("y", "x")]
    file = tmp_path / "model.snp.json"
    snp.write(snp.SpikingSystem(neurons, synapses, variant=variant), file)
    shown = lines_of(succeed("info", file))
    first = shown.index(lines[0])
    assert shown[first : first + len(lines)] == lines
    described = json.loads(succeed("info", file, "--json"))["variant"]
    assert described == {"kind": lines[0].split()[1], "entries": lines[1:]}


def test_info_of_other_systems(native, pair):
    assert re.search("^level +strict$", succeed("info", pair), re.MULTILINE)
    assert json.loads(succeed("info", native(GROWTH), "--json"))["rules"]["division"] == 1
    empty = json.loads(succeed("info", native({"neurons": []}), "--json"))
    assert empty["rules"] == {"all": 0} and empty["in_degree"] is None


# ---- how it ends ----


def fail(*arguments: object, status: int = 2) -> str:
    result = invoke(*arguments)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("command", ["run", "info"])
def test_bad_files(command, tmp_path):
    assert "missing.pli: " in fail(command, tmp_path / "missing.pli")
    assert f"{tmp_path}: " in fail(command, tmp_path)
    empty = tmp_path / "empty.pli"
    empty.write_text("")
    assert f"{empty}" in fail(command, empty)
    bad = tmp_path / "bad.pli"
    bad.write_text(PAIR.replace("a{2}", "a{2").replace("(q,p)", "(q,r)"))
    lines = fail(command, bad).splitlines()
    assert lines and all(re.match(rf"{re.escape(str(bad))}:\d+:\d+: ", line) for line in lines)


def test_a_name_without_suffix_is_no_file(tmp_path):
    for command in (["run"], ["info"], ["explore"], ["sleptsov", "run"], ["view"]):
        assert "nofile: there is no such file" in fail(*command, tmp_path / "nofile")


@pytest.mark.parametrize("command", ["run", "info", "convert"])
def test_a_file_of_the_other_kind_names_its_command(command, pair, tmp_path):
    net = tmp_path / "my net.lsn"
    net.write_text("1 1 1 0 1\n1 1 1\n1 1\n")
    second = ["x.dot"] if command == "convert" else []
    out = " OUT" if second else ""
    said = fail(command, net, *second)
    assert f"a file of a net (use: snpjax sleptsov {command} '{net}'{out})" in said
    said = fail("sleptsov", command, pair, *(["x.lsn"] if second else []))
    assert f"a file of a spiking system (use: snpjax {command} {pair}{out})" in said


def test_only_options_of_the_command_are_advised(pair, tmp_path):
    other = tmp_path / "pair.exe"
    other.write_text(PAIR)
    for command in (["run", other], ["convert", other, "x.dot"]):
        assert "; or give --from)" in fail(*command)
    use = f"(use: snpjax run {other} --from plingua)"
    assert use in fail("sleptsov", "run", other)
    table = tmp_path / "table.pli"
    table.write_text('[{"id": 1}]')
    assert "not P-Lingua (name it .json, or give --from)" in fail("run", table)
    lines = tmp_path / "lines.pli"
    lines.write_text("@mu = p, q\n")
    assert "or give --from esnp)" in fail("convert", lines, "x.dot", "--from", "plingua")


def test_too_many_paths_for_the_memory(pair, monkeypatch):
    def run(*_, **__):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating")

    monkeypatch.setattr(snp, "run", run)
    result = invoke("run", pair, "--paths", 10**9)
    assert result.exit_code == 1 and "memory ran out (try" in result.stderr
    assert "Traceback" not in result.stderr
    assert "--paths" in fail("run", pair, "--paths", 2**33)


@pytest.mark.parametrize(
    "options, message",
    [
        (("--layout", "foo"), "there is no layout 'foo' (write one of auto, dense, int8-dense"),
        (("--json", "--csv"), "--csv"),
        (("--first", "--seed", 0), "--first"),
        (("--paths", 0), "--paths"),
        (("--steps", -1), "--steps"),
        (("--seed", -1), "--seed"),
        (("--unknown",), "--unknown"),
        (("--as", "snapse"), "textbook"),
    ],
)
def test_usage(pair, options, message):
    assert message in fail("run", pair, *options)


def test_no_arguments():
    assert invoke().exit_code == 2
    assert "FILE" in fail("run")


def test_overflow(native):
    result = invoke("run", native(OVERFLOW))
    assert result.exit_code == 1
    assert "failed after 3 steps" in result.stdout, "what there is of the computation comes first"
    assert result.stderr.startswith("error: neuron 'q', step 4: ")
    assert result.stderr.count("\n") == 1 and "--int64" in result.stderr
    result = invoke("run", native(OVERFLOW), "--paths", 2, "--json")
    assert result.exit_code == 1 and "(2 of 2 paths failed)" in result.stderr
    assert len(json.loads(result.stdout)["paths"]) == 2


def test_as_another_simulator(native):
    model = {
        "neurons": [{"id": "x", "spikes": 2, "rules": ["a+/a -> a; 1"]}, {"id": "y"}],
        "synapses": [["x", "y"]],
    }
    file = native(model)
    text = succeed("run", file, "--as", "sparse-snp-ell")
    assert text.splitlines()[0].endswith(
        "1 synapse; early_reopen=accumulate, unchecked_consumption=negative, guard_modulo=256"
    )
    assert [row[:2] for row in cells(text).values()] == [
        *(["2", "0"], ["1 (1)", "0"], ["0 (1)", "0"], ["0", "2"])
    ]
    late = json.loads(succeed("run", file, "--as", "websnapse-v2", "--json", "--steps", 3))
    assert late["configurations"] == [[2, 0], [2, 0], [1, 1], [1, 1]]
    assert late["spikes"] == [1, 1]
    assert late["compatibility"] == {"closed_receives": True, "late_consumption": True}
    of_file = native({**model, "compatibility": {"early_reopen": "accumulate"}}, "own.snp.json")
    assert len(cells(succeed("run", of_file))) == 4
    assert succeed("run", of_file, "--as", "textbook", "--csv") == succeed("run", file, "--csv")
    periodic = native({"neurons": [{"id": "x", "rules": ["a^300(aa)*/a -> a"]}]}, "p.snp.json")
    assert "as sparse-snp: neuron 'x', rule 1: `guard_modulo`" in fail(
        "run", periodic, "--as", "sparse-snp"
    )


def test_strict(native):
    file = native(OVERFLOW)
    for command in ("run", "info"):
        assert "has weight 536870912" in fail(command, file, "--strict")
    assert invoke("info", file).exit_code == 0
    assert "halted after" in succeed("run", native(NATURALS, "ok.snp.json"), "--strict")


def test_neurons_that_divide(native):
    """A column appears with its neuron, and names are those of the end."""
    file = native(GROWTH)
    text = succeed("run", file, "--steps", 6)
    assert "choices:" not in text  # there are none
    head, _, *rows = text.splitlines()[1:6]
    assert head.split()[:4] == ["step", "l", "d", "r"]
    assert rows[0].split() == ["0", "1", "1"]
    assert rows[1].split()[:4] == ["1", "0", "0", "0"]
    assert "c: [a]_c -> []_l || []_r, d: a -> a" in rows[1]
    assert "a column has the name of its neuron in the end" in text
    data = json.loads(succeed("run", file, "--steps", 6, "--json"))
    solution = snp.run(snp.read(file), max_steps=6)
    assert data["neurons"] == ["l", "d", "r"]
    assert data["configurations"] == solution.configurations.tolist()
    networks = [solution.network(row) for row in range(solution.steps + 1)]
    assert [tuple(x["neurons"]) for x in data["networks"]] == [x.names for x in networks]
    assert data["networks"][-1]["synapses"] == [list(x) for x in networks[-1].synapses]
    rows = list(csv.DictReader(io.StringIO(succeed("run", file, "--steps", 6, "--csv"))))
    assert [row["r"] for row in rows] == ["", *(str(x) for x in solution.configurations[1:, 2])]
    assert rows[1]["rule:l"] == "[a]_c -> []_l || []_r" and rows[1]["rule:r"] == ""


@pytest.mark.slow
def test_room_for_neurons_that_divide(native, pair):
    file = native(GROWTH)
    assert succeed("run", file, "--neurons", 2) == succeed("run", file)
    batch = json.loads(succeed("run", file, "--paths", 2, "--json"))["paths"]
    assert [path["neurons"] for path in batch] == [["l", "d", "r"]] * 2
    refused = invoke("run", file, "--neurons", 2, "--no-grow")
    assert refused.exit_code == 1 and "failed after 0 steps" in refused.stdout
    assert refused.stderr == (
        "error: neuron 'c', step 1: More neurons are created than there is room for. Leave "
        "--no-grow out, or give a larger --neurons.\n"
    )
    assert "room for 1. Give a larger --neurons." in fail("run", file, "--neurons", 1)
    assert "no neuron of this system divides" in fail("run", pair, "--synapses", 9)
    assert "are a list (leave it out)" in fail("run", file, "--layout", "ell")
    refused = invoke("explore", file, "--neurons", 2, "--max-depth", 4)
    assert refused.exit_code == 1 and "NOT COMPLETE" in refused.stdout
    assert "--neurons and --synapses make more" in refused.stderr
    assert "Capacity" not in refused.output
    whole = succeed("explore", file, "--max-depth", 4)
    assert succeed("explore", file, "--max-depth", 4, "--neurons", 3, "--synapses", 9) == whole
    assert "proved" in succeed("check", file, "always d <= 1")
    refused = invoke("check", file, "always d <= 1", "--neurons", 2)
    assert refused.exit_code == 3 and "--neurons and --synapses make more" in refused.stdout
    assert "Capacity" not in refused.output
    assert "room for 1. Give a larger --neurons." in fail("check", file, "halted", "--neurons", 1)
    assert "no neuron of this system divides" in fail("check", pair, "halted", "--neurons", 9)


@pytest.mark.slow
def test_a_witness_of_neurons_that_divide(native):
    file = native(GROWTH)
    result = invoke("check", file, "never r >= 1", "--json")
    (found,) = json.loads(result.stdout)["queries"]
    assert result.exit_code == 1 and found["status"] == "refuted"
    assert [x["neurons"] for x in found["networks"]] == [
        ["c", "d"],
        ["l", "d", "r"],
        ["l", "d", "r"],
    ]
    assert found["witness"] == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert "no label 'e'" in fail("check", file, "always e = 1")


@pytest.mark.slow
def test_synapses_that_plasticity_makes(native):
    file = native(WIRING)
    text = succeed("run", file, "--first")
    assert "choices: first applicable rule" in text
    assert "i: a -> +-1(i, {j, k}), new (i, j)" in text and "deleted (i, j)" in text
    networks = json.loads(succeed("run", file, "--first", "--json"))["networks"]
    assert [x["synapses"] for x in networks] == [[], [[0, 1, 1]], []]
    assert "complete: 5 configurations" in succeed("explore", file)


def test_info_of_networks_that_change(native):
    data = json.loads(succeed("info", native(GROWTH), "--json"))
    assert data["rules"] == {"all": 3, "division": 1, "firing": 2}
    assert data["labels"] == ["c", "d", "l", "r"] and data["dictionary"] == [["r", "d"]]
    assert "layouts" not in data
    text = succeed("info", native(GROWTH))
    assert re.search(r"^dictionary +\(r, d\)$", text, re.MULTILINE)
    data = json.loads(succeed("info", native(WIRING), "--json"))
    assert data["rules"] == {"all": 1, "plasticity": 1}
    assert "ell" in data["layouts"] and not any("transition" in x for x in data["layouts"])


def test_warnings_are_lines(native):
    file = native({"neurons": [{"id": "n", "spikes": 2, "rules": ["a -> a", "a -> a"]}]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the command decides for itself
        result = invoke("run", file)
    assert result.exit_code == 0
    assert re.fullmatch(rf"{re.escape(file)}:\d+:\d+: warning: .* repeats .*\n", result.stderr)


def test_bug_shows_its_traceback(pair, monkeypatch):
    def break_down(*arguments, **keywords):
        raise RuntimeError("a bug")

    monkeypatch.setattr(snp, "run", break_down)
    with pytest.raises(RuntimeError, match="a bug"):
        invoke("run", pair)


def test_version_and_help():
    assert succeed("--version") == f"snpjax {snp.__version__}\n"
    assert "--layout" in succeed("run", "--help")
    assert "info" in succeed("-h")


def test_a_process_of_which_nobody_reads_the_rest(native):
    command = "-m", "snpjax", "run", native(RING), "--csv", "--steps", "2000"
    with started(sys.executable, *command) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("step,n0,")
        assert process.stdout.readline().startswith("0,1,0,0,1,")
        process.stdout.close()  # far more than a pipe holds is left
        said = process.stderr.read()  # a GPU's driver may have said something of its own
        assert "Traceback" not in said and "BrokenPipe" not in said
        assert process.wait() == 141


def test_64_bit_counts(tmp_path):
    file = tmp_path / "big.snp.json"
    neurons = [
        {"id": "x", "spikes": 2, "rules": ["a+/a -> a"]},
        {"id": "y", "spikes": 2**31 - 1, "rules": []},
    ]
    document = {"schema": "snpjax/1", "neurons": neurons, "synapses": [["x", "y", 1]]}
    file.write_text(json.dumps(document))
    assert invoke("run", file).exit_code == 1
    result = invoke("run", file, "--int64", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["spikes"] == [0, 2**31 + 1]


def test_wide_systems_end_with_the_final_spikes(tmp_path):
    file = tmp_path / "wide.snp.json"
    neurons = [{"id": f"neuron{i}", "spikes": i, "rules": []} for i in range(60)]
    file.write_text(json.dumps({"schema": "snpjax/1", "neurons": neurons, "synapses": []}))
    result = invoke("run", file)
    assert "final spikes: neuron1=1, neuron2=2" in result.stdout
    assert "and 19 more neurons" in result.stdout


def completion(words: str) -> dict[str, str]:
    """Variables that a shell sets before it calls the command for the ends of a line."""
    count = str(len(words.split()))
    return {
        "_SNPJAX_COMPLETE": "complete_bash",
        "COMP_WORDS": f"snpjax {words}",
        "COMP_CWORD": count,
    }


@pytest.mark.parametrize(
    "words, wanted", [("ru", "run"), ("run --st", "--steps"), ("sleptsov r", "run")]
)
def test_a_shell_completes(words, wanted):
    done = CliRunner(env=completion(words)).invoke(app, [], prog_name="snpjax")
    assert wanted in done.stdout.split()


def test_the_command_completes():
    shell = environment(**completion("ru"))
    done = finished(sys.executable, "-c", "from snpjax.cli import main; main()", env=shell)
    assert "run" in done.stdout.split()


@pytest.mark.parametrize("name", app_module._COMMANDS)
def test_help_says_of_each_command_what_it_says_itself(name):
    own = app_module._imported(name).help
    assert " ".join(own.split("\n\n")[0].split()) == app_module._COMMANDS[name]


def test_the_package_imports_little_before_a_command_handles_signals():
    code = (
        "import sys, snpjax.cli; print({'dis', 'importlib.metadata', 'inspect'} & {*sys.modules})"
    )
    assert python("-S", "-c", code) == "set()\n"
