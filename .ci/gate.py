"""Everything that the README promises, in new environments: `gate.py [STAGE...]`.

Stages run side by side while cores are free. All of them run to their end, so that one call shows
everything that fails; only what needs a failed stage is left out. With names, those stages run, and
what they need. At the end stand a table of the stages and the most expensive test files.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


REPOSITORY = Path(__file__).resolve().parents[1]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Stage:
    """A script of bash, run in the repository. `$WORK` is a folder that all stages share."""

    name: str
    title: str
    script: str
    needs: tuple[str, ...] = ()
    is_parallel: bool = False  # uses all cores, and so runs alone


# A test environment for the README's command; copies of it get what other stages need as well, and
# last as long as the stage (1 GB each).
PRELUDE = """
set -euo pipefail
export PATH="$WORK/test/bin:$PATH"
new() { python3 -m venv "$WORK/$1"; install "$@"; }
copy() { trap "rm -rf '$WORK/$1'" EXIT; cp -r "$WORK/test" "$WORK/$1"; }
install() { "$WORK/$1/bin/python" -m pip install --quiet "${@:2}"; }
"""

STAGES = (
    Stage("test", "a new environment", "new test '.[test]' ruff pyright build"),
    Stage(
        "packages",
        "Chromium and Graphviz",
        """
        command -v dot chromium > /dev/null && exit
        apt-get update -qq
        apt-get install -y -qq graphviz chromium > /dev/null
        """,
    ),
    Stage(
        "suite",
        "the README's test command",
        'pytest -q -rs --junit-xml="$WORK/suite.xml"',
        ("test",),
        is_parallel=True,
    ),
    Stage(
        "documentation",
        "the documentation, whose tutorials and gallery are executed",
        """
        copy docs
        install docs '.[docs]'
        NO_MKDOCS_2_WARNING=1 "$WORK/docs/bin/mkdocs" build --quiet --strict --site-dir "$WORK/site"
        SNPJAX_SITE="$WORK/site" pytest -q -n 0 tests/test_site.py
        """,
        ("test",),
    ),
    Stage(
        "browser",
        "the interactive page, in Chromium",
        """
        copy browser
        install browser '.[browser]'
        "$WORK/browser/bin/python" -m pytest -q -n 0 -rs -m browser --junit-xml="$WORK/browser.xml"
        """,
        ("test", "packages"),
    ),
    Stage(
        "wheel",
        "the wheel: only our two packages, and it runs elsewhere",
        """
        SNPJAX_REPOSITORY=https://example.org/snpjax python -m build --quiet --outdir "$WORK/dist" .
        python .ci/distributions.py "$WORK"/dist/*
        new elsewhere "$WORK"/dist/*.whl
        cp -r examples "$WORK/models"
        cd "$WORK"
        elsewhere/bin/python - <<'PYTHON'
import importlib.util

for name in ("formats", "tests", "examples", "bench"):
    assert importlib.util.find_spec(name) is None, f"{name} was installed as a top-level name"
import snpjax
import snpjax_formats

print("snpjax", snpjax.__version__, "imports from", snpjax.__file__)
PYTHON
        for model in models/*.pli models/*.snp.json models/*.in; do
          echo "$model"
          elsewhere/bin/snpjax run "$model" > output
          elsewhere/bin/snpjax info "$model" > output
        done
        elsewhere/bin/snpjax sleptsov run models/half.lsn > output
        elsewhere/bin/snpjax proliferation expected models/proliferation_initial.txt \
          --model models/proliferation.model.json > output
        """,
        ("test",),
    ),
    Stage(
        "examples",
        "every example",
        """
        cd "$WORK"
        install elsewhere "$(echo dist/*.whl)[inference,learn,policies,select]"
        for example in models/*.py models/papers/*.py; do
          echo "$example"
          elsewhere/bin/python "$example" > output 2>&1 || { cat output; exit 1; }
        done
        """,
        ("wheel",),
    ),
    Stage(
        "oldest",
        "a fast part of the suite with the oldest versions that pyproject.toml allows",
        """
        python .ci/versions.py oldest > "$WORK/oldest.txt"
        new oldest '.[test]' --constraint "$WORK/oldest.txt"
        "$WORK/oldest/bin/python" -m pytest -q -n 0 tests/choice tests/io/test_formats.py \
          tests/io/test_conformance.py tests/formats/test_arguments.py tests/formats/test_parts.py
        """,
        ("test",),
    ),
    Stage(
        "typed",
        "shapes and types checked at run time",
        """
        PYTHONPATH=tests/support pytest -q -n 0 tests/test_run.py tests/formats/test_layouts.py \
          -k "not does_not_fit and not make_no_sense and not another_length and not type_checker" \
          --jaxtyping-packages=snpjax,snpjax_formats,checked.checked
        """,
        ("test",),
    ),
    Stage(
        "tiers",
        "evaluated programs give the bits of compiled ones",
        """
        pytest -q -n 0 -p tests.support.both_tiers \
          tests/test_conformance.py tests/explore/test_explore.py
        """,
        ("test",),
    ),
    Stage(
        "tools",
        "files are read by Storm, pm4py, networkx and Graphviz",
        """
        copy tools
        for tool in "stormpy>=2" pm4py; do
          install tools "$tool" || echo "$tool cannot be installed here"
        done
        "$WORK/tools/bin/python" -m pytest -q -n 0 -rs -m tools
        """,
        ("test", "packages"),
    ),
    Stage(
        "lint",
        "style and types",
        """
        ruff check .
        ruff format --check .
        copy lint
        install lint playwright  # of bench/page.py
        pyright --pythonpath "$WORK/lint/bin/python"
        """,
        ("test",),
    ),
    Stage(
        "slow",
        "tests of more than two seconds",
        """
        [ -d "$WORK/site" ] && export SNPJAX_SITE="$WORK/site"  # what it shows need not run again
        pytest -q -m slow --junit-xml="$WORK/slow.xml"
        """,
        ("test",),
        is_parallel=True,
    ),
    Stage(
        "paired",
        "ten short public calls, at most 1.25 times the CPU time of the baseline commit",
        "python bench/paired.py",
        ("test",),
        is_parallel=True,  # so that nothing else uses the caches of the processor
    ),
)


@dataclass
class Call:
    """A stage that has started, and its figures when it has ended."""

    stage: Stage
    log: Path
    process: subprocess.Popen[bytes]
    began: float
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    largest: float = 0.0  # GB, of any one of its processes


def start(stage: Stage, work: Path) -> Call:
    log = work / f"{stage.name}.log"
    environment = {**os.environ, "WORK": str(work), "HYPOTHESIS_PROFILE": "ci"}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", PRELUDE + stage.script],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Call(stage, log, process, time.monotonic())


def wait(running: list[Call]) -> Call:
    """Wait for the next call to end, and take it out."""
    process_id, status, usage = os.wait4(-1, 0)
    [call] = [call for call in running if call.process.pid == process_id]
    running.remove(call)
    call.process.returncode = os.waitstatus_to_exitcode(status)
    call.seconds = time.monotonic() - call.began
    call.cpu_seconds = usage.ru_utime + usage.ru_stime
    call.largest = usage.ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    return call


def run(stages: Iterable[Stage], work: Path) -> list[Call]:
    """Run the stages in their order, as far as cores and what they need allow."""
    waiting, running, ended = [*stages], [], []
    passed, lost = set[str](), set[str]()
    try:
        while waiting or running:
            for stage in [*waiting]:
                if lost.intersection(stage.needs):
                    waiting.remove(stage)
                    lost.add(stage.name)
                    say(f"{stage.name}: left out, since a stage that it needs has failed")
                elif passed.issuperset(stage.needs):
                    is_alone = any(call.stage.is_parallel for call in running)
                    if running and (is_alone or stage.is_parallel or len(running) >= CORES):
                        break  # a later stage may not overtake it
                    waiting.remove(stage)
                    running.append(start(stage, work))
                    if stage.is_parallel:
                        break
            if running:
                call = wait(running)
                ended.append(call)
                (passed if call.process.returncode == 0 else lost).add(call.stage.name)
                show(call)
    finally:
        for call in running:
            os.killpg(call.process.pid, signal.SIGKILL)
    return ended


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def show(call: Call, *, lines: int = 400) -> None:
    result = "passed" if call.process.returncode == 0 else "FAILED"
    say(f"{call.stage.name}, {call.stage.title}: {result} after {call.seconds:.0f} s")
    text = call.log.read_text(encoding="utf-8", errors="replace").splitlines()
    print(*text[-lines:], sep="\n", flush=True)


def summarise(calls: list[Call], work: Path) -> None:
    say(f"stages, on {CORES} cores")
    print("seconds  CPU s  GB of the largest process")
    for call in calls:
        failed = "" if call.process.returncode == 0 else "FAILED"
        figures = f"{call.seconds:7.0f} {call.cpu_seconds:6.0f} {call.largest:4.1f}"
        print(f"{figures}  {call.stage.name:<14}{failed}")
    files = Counter[str]()
    for path in work.glob("*.xml"):
        for case in ElementTree.parse(path).iter("testcase"):
            files[case.get("classname", "").replace(".", "/")] += float(case.get("time", 0))
    say("test files of the most seconds")
    for name, seconds in files.most_common(20):
        print(f"{seconds:7.0f}  {name}.py")


def select_stages(names: list[str]) -> list[Stage]:
    """Return the named stages and those that they need; all stages if there are no names."""
    stages = {stage.name: stage for stage in STAGES}
    if unknown := {*names} - {*stages}:
        sys.exit(f"no stage {', '.join(sorted(unknown))}; the stages are {', '.join(stages)}")
    wanted, more = {*()}, [*(names or stages)]
    while more:
        wanted.add(name := more.pop())
        more += stages[name].needs
    return [stage for stage in STAGES if stage.name in wanted]


def main() -> int:
    stages = select_stages(sys.argv[1:])
    # Tests of Ctrl-C need a process that reacts to it, which a job in the background does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = Path(tempfile.mkdtemp())
    began = time.monotonic()
    try:
        calls = run(stages, work)
        summarise(calls, work)
        bad = [call for call in calls if call.process.returncode != 0]
        for call in bad:
            show(call, lines=80)
        passed = len(calls) == len(stages) and not bad
        say(f"{'all passed' if passed else 'FAILED'} after {time.monotonic() - began:.0f} s")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
