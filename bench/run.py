"""Measure the figures, each in a fresh process, and write a JSON line for each.

    python bench/run.py                          # all CPU figures, at most 15 minutes
    python bench/run.py --device gpu -o FILE     # all GPU figures, at most 8 minutes
    python bench/run.py sorting "net d*"         # those of a module, or by name
    python bench/run.py --list

Run it from the repository, with snpjax installed or `PYTHONPATH=.:formats`. Figures that are
measured only if they are named are marked in the list. Two files are compared by `compare.py`.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path


#: In the order in which they are measured: what is left out for lack of time comes last.
MODULES = (
    "command",
    "small_runs",
    "sorting",
    "sleptsov",
    "batches",
    "exploration",
    "proliferation",
    "delivery",
    "subset_sum",
    "learning",
    "networks",
    "building",
    "rate",
)
_MINUTES = {"cpu": 15.0, "gpu": 8.0}
_SECONDS = {"cpu": 1.5, "gpu": 1.0}
_NO_DEVICE = 3


def main() -> None:
    arguments = parsed(sys.argv[1:])
    os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")  # cold means cold
    import jax

    jax.config.update("jax_platforms", "cpu" if arguments.device == "cpu" else "cuda,cpu")
    for module in MODULES:
        import_module(module)
    if arguments.alone:
        alone(arguments)
        return
    names = chosen(arguments.figures, arguments.device)
    if arguments.list:
        from figures import FIGURES

        for name in names:
            on = ", ".join(FIGURES[name].devices) or "only if named"
            print(f"{FIGURES[name].module:14} {name:55} {on}")
        return
    sys.exit(all_of(names, arguments))


def parsed(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", help="modules or names of figures; * is any text")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("-o", "--out", type=Path, help="the file to which JSON lines are added")
    parser.add_argument("--list", action="store_true", help="list the figures, measure none")
    parser.add_argument("--minutes", type=float, help="leave out what would start later")
    parser.add_argument("--seconds", type=float, help="for which each side is repeated")
    parser.add_argument("--commit", help="of snpjax, where there is no repository to ask")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    arguments.minutes = arguments.minutes or _MINUTES[arguments.device]
    if arguments.seconds is None:
        arguments.seconds = _SECONDS[arguments.device]
    if arguments.out is not None:
        try:
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.open("a").close()
        except OSError as error:
            parser.error(f"--out {arguments.out}: {error.strerror}")
    return arguments


def chosen(patterns: list[str], device: str) -> list[str]:
    """The figures that are asked for, in their order; by default those of the device."""
    from figures import FIGURES

    if not patterns:
        return [name for name, own in FIGURES.items() if device in own.devices]
    found = set()
    for pattern in patterns:
        matching = {
            name
            for name, own in FIGURES.items()
            if own.module == pattern or fnmatch.fnmatchcase(name, pattern)
        }
        if not matching:
            sys.exit(f"There is no figure {pattern!r}. See `bench/run.py --list '*'`.")
        found |= matching
    return [name for name in FIGURES if name in found]


def all_of(names: list[str], arguments: argparse.Namespace) -> int:
    """Measure each in a process of its own; 1 if a figure failed."""
    from figures import commit_of

    began, failed = time.monotonic(), 0
    commit = arguments.commit or commit_of()
    print(f"{'figure':52} {'unit':17} {'cold':>9} {'warm':>9} {'its CPU':>9} {'kept':>9}  ratios")
    for name in names:
        left = 60 * arguments.minutes - (time.monotonic() - began)
        if left <= 0:
            print(f"{name:52} left out: {arguments.minutes:g} minutes are over")
            continue
        command = [sys.executable, __file__, "--alone", name, "--device", arguments.device]
        command += ["--seconds", str(arguments.seconds), "--commit", commit]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            print(f"{name:52} stopped: {arguments.minutes:g} minutes are over", flush=True)
            continue
        lines = done.stdout.splitlines()
        if done.returncode == _NO_DEVICE:
            return 1
        if done.returncode:
            failed = 1
            print(f"{name:52} FAILED, see above", flush=True)
            continue
        report(name, lines)
        if arguments.out is not None:
            with arguments.out.open("a") as file:
                file.writelines(f"{line}\n" for line in lines if "missing" not in json.loads(line))
    print(f"all in {time.monotonic() - began:.0f} s")
    return failed


def report(name: str, lines: list[str]) -> None:
    """One row: what is measured, and the ratios of the times, warm to kept and to anchor."""
    read = [json.loads(line) for line in lines]
    kinds = {line["kind"]: line for line in read if "kind" in line}
    if kinds:
        unit = next(iter(kinds.values()))["unit"]
        values = [f"{kinds[k]['value']:9.4g}" if k in kinds else " " * 9 for k in ("cold", "warm")]
        values.append(f"{kinds['warm']['cpu']:9.4g}" if "warm" in kinds else " " * 9)
        values.append(f"{kinds['kept']['value']:9.4g}" if "kept" in kinds else " " * 9)
        ratios = []
        for kind in kinds.keys() - {"cold", "warm"}:
            pair = kinds["warm"]["value"], kinds[kind]["value"]
            times = pair[1] / pair[0] if unit.endswith("/s") else pair[0] / pair[1]
            ratios.append(f"{times:.3g} x {kind}")
        print(f"{name:52} {unit:17} {' '.join(values)}  {', '.join(sorted(ratios))}", flush=True)
    for line in read:
        if "missing" in line:
            print(f"{name:52} skipped: {line['missing']}", flush=True)


def alone(arguments: argparse.Namespace) -> None:
    """One figure in this process; JSON lines to standard output."""
    import jax
    from figures import Missing, Setup, measure

    try:
        found = jax.default_backend()
    except RuntimeError as error:
        found = str(error)
    if found != arguments.device:
        print(f"error: --device {arguments.device}: JAX finds only {found}", file=sys.stderr)
        sys.exit(_NO_DEVICE)
    setup = Setup(arguments.commit)
    try:
        for line in measure(arguments.alone, setup, arguments.seconds):
            text = json.dumps({"missing": str(line)}) if isinstance(line, Missing) else line.json()
            print(text, flush=True)
    except Missing as missing:
        print(json.dumps({"missing": str(missing)}), flush=True)


if __name__ == "__main__":
    main()
