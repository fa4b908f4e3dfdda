"""A process that passes on what the runtime of another one writes, and shortens what it writes when
it ends that process, see `initialize`."""

import re
import sys


_BEGINS = re.compile(rb"coordination_service|preemption_sync_manager|distributed service detected")
_LOST = re.compile(rb"Task (\d+) heartbeat timeout|stopped sending heartbeats\):\s+(\d+)")


def main() -> None:
    lines, held = sys.stdin.buffer, []
    for line in lines:
        if held or _BEGINS.search(line):
            held.append(line)
        elif not line.startswith(b"[Gloo] Rank"):  # which only says that all is well
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
    text = b"".join(held)
    if b"Terminating process" not in text and b"terminate called" not in text:
        sys.stderr.buffer.write(text)  # it ended otherwise
        return
    found = _LOST.search(text)
    who = "Process 0" if found is None else f"Process {int(found[1] or found[2])}"
    print(f"error: {who} was lost, so all processes of the run end.", file=sys.stderr)


if __name__ == "__main__":
    main()
