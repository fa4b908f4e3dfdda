"""Compiled programs on disk: a second process compiles nothing, and nothing can break it."""

import json
import os
import signal
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from snpjax import compilation, use_compilation_cache
from tests.support.command import invoke
from tests.support.processes import (
    Ended,
    all_finished,
    environment,
    finished,
    forking,
)


#: Runs code with the folder `sys.argv[1]`, and prints what JAX found, compiled and wrote.
_COUNTED = """
import collections, sys
import jax
import snpjax as snp

events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.split("/")[-1]]))
durations = collections.Counter()
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: durations.update([event.split("/")[-1]])
)
place = snp.use_compilation_cache(*sys.argv[1:])
{}
asked = durations["backend_compile_duration"]
print("counts", events["cache_hits"], asked - events["cache_hits"], events["cache_misses"])
"""

_ADD = "assert int(jax.jit(lambda x: x + 1)(1)) == 2"


class Counts(NamedTuple):
    """Programs found on disk, compiled, and written."""

    found: int
    compiled: int
    written: int


def environ(**changed: str) -> dict[str, str]:
    """The environment without what concerns the cache."""
    names = "SNPJAX_COMPILATION_CACHE", "JAX_COMPILATION_CACHE_DIR"
    return environment(without=names, JAX_DISABLE_MOST_OPTIMIZATIONS="true", **changed)


_IMPORTS = "import collections, jax; from snpjax import explore, io, run, sleptsov"


@pytest.fixture(scope="module")
def fork():
    with forking(_IMPORTS, environ()) as run:
        yield run


@pytest.fixture
def counted(fork):
    """What a new process finds and compiles that runs code."""
    return lambda code, *folder: counts_of(fork(_COUNTED.format(code), *folder))


@pytest.fixture
def forked_with(fork):
    """The same with variables of the environment that JAX does not read when it is imported."""

    def call(code: str, *folder: object, **changed: str) -> Counts:
        changes = f"import os; os.environ.update({changed})\n"
        return counts_of(fork(changes + _COUNTED.format(code), *folder))

    return call


def counted_with(code: str, *folder: object, **changed: str) -> Counts:
    """The same in a process that begins with other variables of the environment."""
    command = sys.executable, "-c", _COUNTED.format(code), *folder
    return counts_of(finished(*command, env=environ(**changed)))


def counts_of(done: Ended) -> Counts:
    """What a process found and compiled; it says nothing on stderr."""
    assert (done.returncode, done.stderr) == (0, "")
    return Counts(*map(int, done.stdout.splitlines()[-1].split()[1:]))


def programs(folder: Path) -> list[Path]:
    return sorted(entry.path for entry in compilation.entries(folder))


@pytest.mark.slow
def test_a_second_process_compiles_nothing(counted, tmp_path):
    code = """
from snpjax._tiered import programs
programs.PATIENCE = 0  # nothing is evaluated instead
system = snp.read("examples/natural_numbers.pli")
choice = snp.UniformChoice(jax.random.key(0))
assert snp.run(system, max_steps=100, choice=choice).halted
assert snp.explore(system).is_complete
assert snp.run(snp.read_net("examples/half.lsn")).halted
"""
    first = counted(code, tmp_path)
    assert first.found == 0 and first.compiled == first.written == len(programs(tmp_path)) > 5
    assert counted(code, tmp_path) == (first.compiled, 0, 0)


def test_a_second_command_compiles_nothing_and_neither_says_so(fork, tmp_path):
    code = """
import os, sys
from snpjax._tiered import programs
from snpjax.cli import main
programs.PATIENCE = 0
os.environ["SNPJAX_COMPILATION_CACHE"] = sys.argv.pop(1)
main()
"""
    seen = []
    for _ in range(2):
        done = fork(code, tmp_path, "run", "examples/natural_numbers.pli")
        assert (done.returncode, done.stderr) == (0, "")
        seen.append((done.stdout, [(path, path.stat().st_mtime) for path in programs(tmp_path)]))
    assert seen[0] == seen[1] and seen[0][1]


def test_nothing_is_unpickled_from_the_folder(counted, tmp_path):
    """Tables of parsers are not kept: Lark stores them as pickles."""
    code = """
import pickle
from snpjax.check.query.parse import parse_query

pickle.load = pickle.loads = pickle.Unpickler = None
for path in [place / "snpjax.check.lark", place / "snpjax.io.plingua.lark"]:
    path.write_bytes(b"poison")
parse_query("always x <= 2")
snp.read("examples/natural_numbers.pli")
"""
    counted(code, tmp_path)
    compilation.clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_may_write_to_is_not_used(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("SNPJAX_COMPILATION_CACHE", str(folder))
    setting = compilation.setting()
    assert not setting.is_on
    assert (
        setting.reason == f"it is not used: others may write to {folder} (run: chmod go-w {folder})"
    )
    assert "state: off (it is not used: others may write" in invoke("cache", "info").output
    assert use_compilation_cache() is None
    with pytest.raises(ValueError, match="Compiled programs are not kept in .*: others may write"):
        use_compilation_cache(folder)
    assert list(folder.iterdir()) == []


def test_programs_behind_links_are_not_used(tmp_path):
    place = tmp_path / _HERE
    outside = stored(tmp_path, "outside", "one", 1000, 0)
    place.mkdir()
    (place / "one-cache").symlink_to(outside)
    (tmp_path / _ELSEWHERE).symlink_to(outside.parent)
    compilation.tidy(place, 10**6)
    assert programs(tmp_path) == [] and outside.exists()
    compilation.clear(tmp_path)
    assert outside.exists()


@pytest.mark.slow
def test_processes_share_an_empty_folder(counted, tmp_path):
    command = sys.executable, "-c", _COUNTED.format(_ADD), tmp_path
    together = [counts_of(done) for done in all_finished(command, envs=[environ()] * 3)]
    assert all(
        one.found + one.compiled == together[0].found + together[0].compiled for one in together
    )
    assert counted(_ADD, tmp_path).compiled == 0


def test_a_program_that_breaks_meanwhile_is_compiled_without_a_word(counted, tmp_path):
    counted(_ADD, tmp_path)
    breaking = "path = next(place.iterdir()); path.unlink(); path.touch()\n"
    assert counted(breaking + _ADD, tmp_path).compiled == 1


#: Files hold a few bytes only. A process that writes more is killed, or told so.
_FULL = """
import resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
signal.signal(signal.SIGXFSZ, signal.{})
"""


def test_a_writer_that_is_killed_harms_nobody(counted, fork, tmp_path):
    killed = fork(_COUNTED.format(_FULL.format("SIG_DFL") + _ADD), tmp_path)
    assert killed.returncode == -signal.SIGXFSZ
    (half,) = programs(tmp_path)
    assert half.stat().st_size == 100
    # Truncated, so that the next process removes and rewrites it.
    assert counted(_ADD, tmp_path).compiled == 1
    assert counted(_ADD, tmp_path).compiled == 0


def test_a_full_disk_harms_nobody(counted, tmp_path):
    assert counted(_FULL.format("SIG_IGN") + _ADD, tmp_path).compiled == 1
    assert counted(_ADD, tmp_path).compiled == 1


def test_a_process_bounds_what_it_writes(counted, tmp_path):
    code = """
snp.use_compilation_cache(place.parent, max_bytes=9_000)
for shift in range(64):
    jax.jit(lambda x: x + shift)(1)
assert sum(path.stat().st_size for path in place.iterdir()) < 12_000
"""
    assert counted(code, tmp_path).written == 64


_UNUSED = "assert place is None\n" + _ADD


def test_the_environment_switches_it_off(forked_with, tmp_path):
    counts = forked_with(_UNUSED, tmp_path, SNPJAX_COMPILATION_CACHE="off")
    assert counts == (0, 1, 0) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_environment_of_jax_switches_it_off(tmp_path):
    counts = counted_with(_UNUSED, tmp_path, JAX_ENABLE_COMPILATION_CACHE="off")
    assert counts == (0, 1, 0) and list(tmp_path.iterdir()) == []


def test_a_folder_of_the_user_is_left_alone(tmp_path):
    own, ours = str(tmp_path / "own"), str(tmp_path / "ours")
    code = f"assert place is None and jax.config.jax_compilation_cache_dir == {own!r}\n{_ADD}"
    both = {"JAX_COMPILATION_CACHE_DIR": own, "SNPJAX_COMPILATION_CACHE": ours}
    assert counted_with(code, **both).compiled == 1
    assert not Path(ours).exists()


@pytest.mark.slow
def test_a_folder_that_a_program_names_comes_before_that_of_the_user(tmp_path):
    own, ours = tmp_path / "own", tmp_path / "ours"
    both = {"JAX_COMPILATION_CACHE_DIR": str(own), "SNPJAX_COMPILATION_CACHE": str(ours)}
    assert counted_with(_ADD, ours, **both).written == len(programs(ours)) == 1


def test_a_folder_that_cannot_be_made(counted, forked_with, tmp_path):
    (tmp_path / "file").touch()
    inside = str(tmp_path / "file" / "inside")
    assert counted(_UNUSED, inside) == (0, 1, 0)
    assert forked_with(_UNUSED, SNPJAX_COMPILATION_CACHE=inside) == (0, 1, 0)


def test_a_size_below_zero():
    with pytest.raises(ValueError, match="max_bytes is -1"):
        use_compilation_cache(max_bytes=-1)


def stored(root: Path, machine: str, name: str, size: int, age: float) -> Path:
    """A program of this size that was last used at the time `-age`."""
    path = root / machine / f"{name}-cache"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(os.urandom(size)))
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


_HERE, _ELSEWHERE = "0" * 16, "a" * 16


def test_programs_are_removed_that_were_not_used_for_longest(tmp_path):
    paths = [stored(tmp_path, _HERE, f"{age}", 1000, age) for age in range(3)]
    oldest = stored(tmp_path, _ELSEWHERE, "other", 1000, 9)
    read = stored(tmp_path, _ELSEWHERE, "read", 1000, 8)
    os.utime(read, (2e9, read.stat().st_mtime))
    compilation.tidy(tmp_path / _HERE, 3 * 1100)
    assert not oldest.exists() and not paths[2].exists()
    assert programs(tmp_path) == sorted([*paths[:2], read])
    compilation.tidy(tmp_path / _HERE, 0)
    assert programs(tmp_path) == []


def test_a_program_is_verified_once(tmp_path, monkeypatch):
    path, broken = (stored(tmp_path, _HERE, name, 1000, 0) for name in ("whole", "broken"))
    other = stored(tmp_path, _ELSEWHERE, "other", 1000, 0)  # its processes look at it
    for one in (broken, other):
        one.write_bytes(one.read_bytes()[:-1])
    compilation.tidy(tmp_path / _HERE, 10**6)
    assert programs(tmp_path) == sorted([path, other])
    assert not path.stat().st_mode & 0o222 and other.stat().st_mode & 0o200
    monkeypatch.setattr(zlib, "decompress", None)
    compilation.tidy(tmp_path / _HERE, 10**6)
    assert path.exists()


def test_only_programs_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("SNPJAX_COMPILATION_CACHE", str(tmp_path))
    for machine in (_HERE, _ELSEWHERE):
        stored(tmp_path, machine, "one", 1000, 0)
    notes, own = tmp_path / "notes-cache", tmp_path / _HERE / "notes"
    notes.touch()
    own.touch()
    done = invoke("cache", "clear")
    assert (done.exit_code, done.output.split(",")[0]) == (0, "removed 2 programs")
    assert programs(tmp_path) == [] and notes.exists() and own.exists()
    assert not (tmp_path / _ELSEWHERE).exists()


def test_what_the_command_says(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("SNPJAX_COMPILATION_CACHE", str(tmp_path))
    size = stored(tmp_path, _HERE, "one", 1000, 0).stat().st_size
    expected = {
        "folder": str(tmp_path),
        "on": True,
        "reason": "SNPJAX_COMPILATION_CACHE names the folder",
        "programs": 1,
        "bytes": size,
        "max_bytes": compilation.MAX_BYTES,
    }
    assert json.loads(invoke("cache", "info", "--json").output) == expected
    text = invoke("cache", "info").output
    assert f"folder: {tmp_path}\nstate: on (SNPJAX" in text and "programs: 1\n" in text


@pytest.mark.parametrize(
    "environ, is_on, reason",
    [
        ({}, True, "by default"),
        ({"SNPJAX_COMPILATION_CACHE": "on"}, True, "by default"),
        ({"SNPJAX_COMPILATION_CACHE": "OFF"}, False, "SNPJAX_COMPILATION_CACHE is OFF"),
        ({"JAX_COMPILATION_CACHE_DIR": "/own"}, False, "a folder of your own"),
        ({"JAX_ENABLE_COMPILATION_CACHE": "0"}, False, "JAX_ENABLE_COMPILATION_CACHE is false"),
    ],
)
def test_why_it_is_on_or_off(tmp_path, monkeypatch, environ, is_on, reason):
    for name in ("SNPJAX_COMPILATION_CACHE", "JAX_COMPILATION_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = compilation.setting()
    assert found.folder == tmp_path / "snpjax" / "compiled"
    assert found.is_on == is_on and reason in found.reason


def test_nobody_is_at_home(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("SNPJAX_COMPILATION_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", home)
    value = json.loads(invoke("cache", "info", "--json").output)
    assert value["folder"] is None and not value["on"]
    assert invoke("cache", "info").exit_code == invoke("cache", "clear").exit_code == 0


def test_the_folder_is_of_processors_that_can_do_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "open", lambda *_, **__: lines.open(), raising=False)
    lines, names = tmp_path / "cpuinfo", []
    for flags, hertz in (("sse avx", 1), ("sse avx", 2), ("sse", 1)):
        lines.write_text(f"processor: 0\nmodel: 1\nflags: {flags}\ncpu MHz: {hertz}\n\nflags: x")
        names.append(compilation.machine_name())
    assert names[0] == names[1] != names[2]
    lines.write_text("processor: 0\n")  # nothing about it: every machine has a folder of its own
    monkeypatch.setattr("platform.node", lambda: "one")
    one = compilation.machine_name()
    monkeypatch.setattr("platform.node", lambda: "two")
    assert compilation.machine_name() != one
