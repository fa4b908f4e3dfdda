"""Processes that tests start end with their test, and have the signals of a shell's child."""

import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support import processes


_WITH_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print(child.pid, flush=True)
"""


@pytest.mark.parametrize("more", ["", "time.sleep(3600)"], ids=["an orphan", "a child"])
def test_processes_of_tests_end_with_their_group(more):
    with processes.started(sys.executable, "-c", _WITH_A_CHILD + more) as process:
        assert process.stdout is not None
        child = Path("/proc", process.stdout.readline().strip(), "stat")
        assert child.exists()
        if not more:
            process.wait()
    assert process.returncode == (-signal.SIGKILL if more else 0)
    while _is_running(child):
        time.sleep(0.01)


def _is_running(stat: Path) -> bool:
    """Not if it only waits for who adopted it to see that it has ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_processes_of_tests_have_default_signals():
    """Also in a suite that `nohup` or a shell in the background started, where they are ignored."""
    code = "import signal; print(*(signal.getsignal(x) is signal.SIG_IGN for x in (1, 2, 15)))"
    before = {x: signal.signal(x, signal.SIG_IGN) for x in (signal.SIGHUP, signal.SIGINT)}
    try:
        assert processes.python("-c", code) == "False False False\n"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        for x, handler in before.items():
            signal.signal(x, handler)
