"""Build the page of benchmarks: plots and tables of the results in bench/measured.

    python docs/make_benchmarks.py     # writes docs/benchmarks, which is not committed

mkdocs runs it as a hook before it builds the site.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt


ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "bench" / "measured"
FOLDER = ROOT / "docs" / "benchmarks"
DEVICES = {"cpu": "two CPU cores", "gpu": "one NVIDIA H200"}
#: Kinds of results that are of snpjax itself; any other is another tool.
OURS = ("cold", "warm", "kept")

INTRODUCTION = """\
# Benchmarks

This page shows how long public calls take, and compares them with other tools that do the same
work. Its plots and tables are generated from the results in `bench/measured`. `bench/README.md`
lists the question behind each script, and how to repeat the measurements:

```sh
PYTHONPATH=.:formats python bench/run.py -o new.jsonl
```

*Cold* is the first call in a new process, compilation included. *Warm* is the least time of the
calls after it. Every answer is checked before the clock starts.
"""


LEARNING = """\
Accuracies on test samples, in percent: the mean over seeds. *Exact* is an integer SN P system,
trained by `snpjax.learn`; its export is run on all test samples and gives the same counts as the
trained model. The GRU and the leaky integrate-and-fire neurons (LIF) are float networks with
equally many hidden neurons, trained by equally many updates on the same samples. For the digits,
the exact network first collects the image in a register of 64 more neurons and fixed delays, which
are not trained; the other two have to learn what to remember. Spikes are those that neurons other
than inputs send for one sample. Bits are those of all trained numbers.
`bench/tasks.py` describes the tasks and the networks.
"""


def results(device: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The results of a device: by figure, then by kind. The last one in the file counts."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in (MEASURED / f"{device}.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault(one["name"], {})[one["kind"]] = one
    return found


def is_rate(result: Mapping[str, Any]) -> bool:
    """Whether more is better: steps or configurations a second."""
    return result["unit"].endswith("/s")


def times_as_fast(kinds: Mapping[str, Mapping[str, Any]], tool: str) -> float:
    """How many times as fast the warm call is as the tool."""
    ratio = kinds[tool]["value"] / kinds["warm"]["value"]
    return 1 / ratio if is_rate(kinds["warm"]) else ratio


def against(device: str) -> list[tuple[str, str, float]]:
    """Figure, tool and how many times as fast, for all that were timed together with a tool."""
    return [
        (name, tool, times_as_fast(kinds, tool))
        for name, kinds in results(device).items()
        if "warm" in kinds
        for tool in kinds
        if tool not in OURS
    ]


def draw_against(device: str, path: Path) -> None:
    rows = sorted(against(device), key=lambda row: row[2])
    figure, axes = plt.subplots(figsize=(8, 1 + 0.28 * len(rows)), layout="constrained")
    axes.barh(
        [f"{name} ({tool})" for name, tool, _ in rows], [x for *_, x in rows], color="#0072B2"
    )
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times as fast as the other tool")
    axes.set_title(DEVICES[device])
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_sorting(path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for device, colour, marker in (("cpu", "#D55E00", "s"), ("gpu", "#0072B2", "o")):
        points = sorted(
            (int(name.removeprefix("sort ").replace(",", "")), kinds["warm"]["value"])
            for name, kinds in results(device).items()
            if name.startswith("sort ")
        )
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=DEVICES[device])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("numbers sorted (3n neurons, n steps)")
    axes.set_ylabel("milliseconds, a warm call")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def table(device: str) -> Iterable[str]:
    yield "| figure | unit | cold | warm | other tools |"
    yield "|---|---|---|---|---|"
    for name, kinds in results(device).items():
        unit = next(iter(kinds.values()))["unit"]
        cold, warm = (number(kinds[k]["value"]) if k in kinds else "" for k in ("cold", "warm"))
        others = [f"{x} {number(kinds[x]['value'])}" for x in kinds if x not in OURS]
        yield f"| {name} | {unit} | {cold} | {warm} | {', '.join(others)} |"


def learning() -> Iterable[str]:
    """The section on tasks in time."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in (MEASURED / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault(one["task"], {})[one["model"]] = one
    models = ("exact", "GRU", "LIF")
    yield from ("## Learning", "", LEARNING)
    yield "| task | hidden | exact | GRU | LIF | spikes: exact, LIF | bits: exact, GRU, LIF |"
    yield "|---|---|---|---|---|---|---|"
    for name, own in found.items():
        accuracies = (f"{100 * own[x]['accuracy']:.1f}" if x in own else "" for x in models)
        spikes = (f"{own[x]['spikes']:,.0f}" for x in ("exact", "LIF") if x in own)
        bits = (f"{own[x]['bits']:,}" for x in models if x in own)
        hidden = next(iter(own.values()))["hidden"]
        cells = name, f"{hidden}", *accuracies, ", ".join(spikes), ", ".join(bits)
        yield f"| {' | '.join(cells)} |"
    every = [one for own in found.values() for one in own.values()]
    yield ""
    where = {f"{x['device']}, {x['date']}, {len(x['seeds'])} seeds" for x in every}
    yield f"{'; '.join(sorted(where))}."
    yield ""


def number(value: float) -> str:
    """Three digits, without an exponent below a million."""
    return f"{value:.2e}" if value >= 1e6 else f"{float(f'{value:.3g}'):,.10g}"


def sources(device: str) -> str:
    """When and by what the results of a device were measured."""
    every = [one for kinds in results(device).values() for one in kinds.values()]
    names = sorted({f"{x['device']}, {x['date']}, jax {x['versions']['jax']}" for x in every})
    return "; ".join(names)


def main(folder: Path = FOLDER) -> None:
    """Write the page and its plots."""
    folder.mkdir(exist_ok=True)
    lines = [INTRODUCTION, "## Sorting", ""]
    draw_sorting(folder / "sorting.svg")
    lines += ["![Time to sort n numbers on two devices](sorting.svg)", ""]
    for device, words in DEVICES.items():
        lines += [f"## On {words}", "", f"{sources(device)}.", ""]
        if against(device):
            draw_against(device, folder / f"against_{device}.svg")
            lines += [f"![snpjax and other tools on {words}](against_{device}.svg)", ""]
        lines += [*table(device), ""]
    lines += learning()
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def on_pre_build(config: object) -> None:
    """Called by mkdocs before it collects the files of the site."""
    del config
    main()


if __name__ == "__main__":
    main()
