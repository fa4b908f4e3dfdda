"""Scripts that run in several processes on one machine, which talk over its loopback."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


ROOT = Path(__file__).parents[2]


def start_processes(
    *arguments: Path | str, processes: int = 2, devices: int = 2
) -> list["subprocess.Popen[str]"]:
    """Start Python processes with so many CPU devices each, in whose environment is what
    `snpjax.scale.initialize()` needs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    environment |= {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_NUM_PROCESSES": str(processes),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "formats")]),
    }
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=environment | {"JAX_PROCESS_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]


def run_processes(
    *arguments: Path | str,
    processes: int = 2,
    devices: int = 2,
    timeout: float = 300,
) -> list["subprocess.CompletedProcess[str]"]:
    """Run them to their ends, however they end."""
    started = start_processes(*arguments, processes=processes, devices=devices)
    return ended(started, timeout)


def ended(
    started: Sequence["subprocess.Popen[str]"], timeout: float
) -> list["subprocess.CompletedProcess[str]"]:
    """How processes end. **Raises:** `subprocess.TimeoutExpired`, having killed them all."""
    try:
        # All at once: a process whose output nobody reads would wait, and the others for it.
        with ThreadPoolExecutor(len(started)) as pool:
            texts = list(pool.map(lambda process: process.communicate(timeout=timeout), started))
    finally:
        for process in started:
            process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *text)
        for process, text in zip(started, texts, strict=True)
    ]
