"""Several processes, on one host or many, which all make the same calls."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jaxtyping import PyTree

from .digest import digest


#: Seconds after which a process that does not answer counts as lost.
_HEARTBEAT = 30

_CALL = '`snpjax.scale.initialize("host:port", processes=n, process=i)`'
_ADDRESS, _PROCESSES, _PROCESS = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"

# How the runtime says that a process was lost, where that fails a call.
_LOST = re.compile(
    r"heartbeat|task.*(unhealthy|died|failed)|connection (closed|reset|refused)|socket closed"
    r"|broken pipe|gloo|nccl",
    re.IGNORECASE,
)


class ProcessLost(RuntimeError):
    """Another process of a run ended before its end."""


def initialize(
    coordinator: str | None = None,
    *,
    processes: int | None = None,
    process: int | None = None,
    timeout: int = 60,
) -> None:
    """Join the processes of a run, before anything else: `jax.distributed.initialize` with clear
    messages. From then on `jax.devices()` are those of all processes, all of which must make the
    same calls with the same arguments; see the page "Many devices".

    **Arguments:**

    - `coordinator`: the address of process 0, with a port, as all processes reach it. It may be
      left out, with the others, where JAX finds them out (Slurm, Open MPI, Kubernetes), or in
      `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`.
    - `processes`: how many there are.
    - `process`: the number of this one, from 0.
    - `timeout`: seconds until all must have joined.

    A process that is lost ends the others, with one sentence, after half a minute.

    **Raises:** `RuntimeError` if a device was used already, or without an answer from process 0;
    `ValueError` if nothing says where that is.
    """
    coordinator = coordinator or os.environ.get(_ADDRESS)
    processes = _number(processes, _PROCESSES)
    process = _number(process, _PROCESS)
    _shorten_complaints()
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=_HEARTBEAT,
        )
    except ValueError as error:
        raise ValueError(
            f"There is no coordinator: {_first_line(error)} Start the processes by Slurm, Open MPI "
            f"or Kubernetes, or call {_CALL}."
        ) from None
    except RuntimeError as error:
        if "before any JAX" in f"{error}" or "called once" in f"{error}":
            raise RuntimeError(
                "Call `snpjax.scale.initialize()` once, and before anything else that uses a "
                f"device. {_first_line(error)}"
            ) from None
        raise RuntimeError(
            f"Process {process} of {processes} and the coordinator at {coordinator} did not find "
            f"each other within {timeout} s. Check the address, and that all {processes} processes "
            "were started."
        ) from None


def _number(given: int | None, variable: str) -> int | None:
    value = os.environ.get(variable)
    if given is not None or value is None:
        return given
    if not value.isdecimal():
        raise ValueError(f"{variable} is {value!r}. Give a number.")
    return int(value)


def _first_line(error: Exception) -> str:
    line = f"{error}".strip().splitlines()[0]
    return line if line.endswith(".") else f"{line}."


def _shorten_complaints() -> None:
    """Let another process write what the runtime says, and say in one sentence what that takes
    fifty lines for when it ends a process. (It does so itself, and cannot be told otherwise: jaxlib
    0.10 and 0.11 end over a callback in Python.) What Python writes goes where it went before."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        stream.flush()
        copy = os.fdopen(os.dup(descriptor), "w", 1, stream.encoding, stream.errors)
        setattr(sys, name, copy)
    script = Path(__file__).with_name("complaints.py")
    writer = subprocess.Popen(
        [sys.executable, "-I", "-S", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    )
    assert writer.stdin is not None
    for descriptor in (1, 2):
        os.dup2(writer.stdin.fileno(), descriptor)
    writer.stdin.close()


@contextlib.contextmanager
def together() -> Iterator[None]:
    """A context for calls of all processes. **Raises:** `ProcessLost` if one of them is lost."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if jax.process_count() == 1 or not _LOST.search(f"{error}"):
            raise
        raise ProcessLost(
            "Another process of this run was lost, so this one ends. Look at the output of the "
            "others for the reason."
        ) from None


def check_agreement(call: str, **given: PyTree) -> None:
    """Compare by their digests what all processes give to a call.

    **Raises:** `ValueError` in all of them if two differ, with the name of what does.
    """
    if jax.process_count() == 1:
        return
    from jax.experimental import multihost_utils

    import snpjax

    given = {"snpjax.__version__": snpjax.__version__, "jax.__version__": jax.__version__, **given}
    digests = [bytes.fromhex(digest(x)) for x in given.values()]
    own = np.stack([np.frombuffer(x, np.uint8).astype(np.int32) for x in digests])
    found = np.asarray(multihost_utils.process_allgather(own))
    differs = np.any(found != found[:1], axis=2)
    if not np.any(differs):
        return
    process, what = np.argwhere(differs)[0]
    raise ValueError(
        f"`{list(given)[what]}` of `{call}` differs between process 0 and process {process}. All "
        "processes must make the same call with the same model and options."
    )


def first_failure(failure: str | None) -> str | None:
    """The failure of the first process that has one, so that all processes raise."""
    if jax.process_count() == 1:
        return failure
    from jax.experimental import multihost_utils

    has_failed = np.asarray(multihost_utils.process_allgather(np.asarray(failure is not None)))
    if failure is not None or not has_failed.any():
        return failure
    return f"A path of process {int(has_failed.argmax())} failed, which says how."
