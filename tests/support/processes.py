"""Processes that tests start, of which none outlives its test."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeAlias

from tests.support.helpers import REPOSITORY


Process: TypeAlias = "subprocess.Popen[str]"
Ended: TypeAlias = "subprocess.CompletedProcess[str]"

PIPE = subprocess.PIPE

#: A process is killed after this time, before the time limit of a test would end all tests.
_SECONDS = 240
_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@contextlib.contextmanager
def started(
    *command: object,
    cwd: Path = REPOSITORY,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = PIPE,
    stderr: int | IO[Any] | None = PIPE,
    seconds: float = _SECONDS,
) -> Iterator[Process]:
    """Start a process in a session of its own, and kill its process group in the end.

    **Arguments:**

    - `command`: the program and its arguments; the first one is usually `sys.executable`.
    - `env`: by default that of `environment()`.
    - `seconds`: until it is killed, whatever waits for it.
    """
    with _default_signals():
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=cwd,
            env=environment() if env is None else env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    with process:
        try:
            with _killed_after(process, seconds):
                yield process
        finally:
            _kill_group(process)


def finished(*command: object, given: str | None = None, **options: Any) -> Ended:
    """How a process ends, having read `given`; `options` are those of `started`."""
    if given is not None:
        options["stdin"] = PIPE
    with started(*command, **options) as process:
        output = process.communicate(given)
    return subprocess.CompletedProcess(process.args, process.returncode, *output)


def python(*arguments: object, **options: Any) -> str:
    """The standard output of a Python process that ends well."""
    done = finished(sys.executable, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(*, without: tuple[str, ...] = (), **changed: str) -> dict[str, str]:
    """Our environment, in which a process imports this repository.

    **Arguments:**

    - `without`: the first characters of variables that are left out.
    """
    kept = {name: x for name, x in os.environ.items() if not name.startswith(without)}
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "formats")])
    return {**kept, "PYTHONPATH": paths, **changed}


#: Runs code in forks, one for each line of the standard input: the code and its `sys.argv`.
_FORKING = """
import json, os, sys, tempfile, traceback
exec(sys.argv[1])
for line in sys.stdin:
    code, arguments = json.loads(line)
    files = [tempfile.TemporaryFile() for _ in range(2)]
    child = os.fork()
    if child == 0:
        for descriptor, file in enumerate(files, 1):
            os.dup2(file.fileno(), descriptor)
        sys.argv[1:] = arguments
        try:
            exec(code, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for file in files:
        file.seek(0)
    print(json.dumps([status, *(file.read().decode() for file in files)]), flush=True)
"""


@contextlib.contextmanager
def forking(imports: str, env: Mapping[str, str] | None = None) -> Iterator[Callable[..., Ended]]:
    """A function that runs Python code, with its arguments, in a new process, which finds some
    modules imported. No device may have been used by then."""
    command, no_limit = (sys.executable, "-c", _FORKING, imports), threading.TIMEOUT_MAX
    with started(*command, env=env, stdin=PIPE, stderr=None, seconds=no_limit) as server:

        def run(code: str, *arguments: object) -> Ended:
            assert server.stdin is not None and server.stdout is not None
            with _killed_after(server, _SECONDS):
                print(json.dumps([code, [*map(str, arguments)]]), file=server.stdin, flush=True)
                answer = server.stdout.readline()
            return subprocess.CompletedProcess(code, *json.loads(answer))

        yield run


def run_processes(
    *arguments: Path | str, processes: int = 2, devices: int = 2, seconds: float = _SECONDS
) -> list[Ended]:
    """How Python processes end that run together, on some CPU devices each, in whose environment is
    what `snpjax.scale.initialize()` needs. They talk over the loopback of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    environ = environment(
        without=("JAX_", "XLA_"),
        JAX_PLATFORMS="cpu",
        JAX_NUM_CPU_DEVICES=str(devices),
        JAX_COORDINATOR_ADDRESS=address,
        JAX_NUM_PROCESSES=str(processes),
    )
    envs = [{**environ, "JAX_PROCESS_ID": str(number)} for number in range(processes)]
    return all_finished((sys.executable, *arguments), envs=envs, seconds=seconds)


def all_finished(
    command: Sequence[object], *, envs: Sequence[Mapping[str, str]], seconds: float = _SECONDS
) -> list[Ended]:
    """How processes end that run together, one in each environment."""
    with contextlib.ExitStack() as stack:
        together = [
            stack.enter_context(started(*command, env=env, seconds=seconds)) for env in envs
        ]
        # All at once: a process whose output nobody reads would wait, and the others for it.
        with ThreadPoolExecutor(len(envs)) as pool:
            outputs = list(pool.map(lambda process: process.communicate(), together))
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *output)
        for process, output in zip(together, outputs, strict=True)
    ]


@contextlib.contextmanager
def _default_signals() -> Iterator[None]:
    """A child inherits signals that are ignored here (by `nohup`, in a background job), but not
    those that have a handler."""
    ignored = [x for x in _SIGNALS if signal.getsignal(x) is signal.SIG_IGN]
    for x in ignored:
        signal.signal(x, lambda *_: None)
    try:
        yield
    finally:
        for x in ignored:
            signal.signal(x, signal.SIG_IGN)


@contextlib.contextmanager
def _killed_after(process: Process, seconds: float) -> Iterator[None]:
    limit = threading.Timer(seconds, _kill_group, [process])
    limit.daemon = True
    limit.start()
    try:
        yield
    finally:
        limit.cancel()


def _kill_group(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
