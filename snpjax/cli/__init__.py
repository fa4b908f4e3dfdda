"""The command `snpjax`."""

import sys

from snpjax_formats.host_memory import address_space_left

from .signals import ended_at_once


# Importing NumPy, SciPy and JAX takes 0.43 GB of address space. With less than that and the stacks
# of its threads OpenBLAS waits for ever (NumPy 2.4, Linux, 2 cores, 2026-11).
_ADDRESSES_OF_IMPORTS = 700 * 2**20


def main() -> None:
    """Run the command line of this process, see `snpjax.cli.app.main`. Ctrl-C ends it with one line
    while it is imported, too."""
    left = address_space_left()
    if left is not None and left < _ADDRESSES_OF_IMPORTS:
        sys.exit(
            f"error: snpjax needs {_ADDRESSES_OF_IMPORTS:,} bytes of address space to start, and "
            f"the limits of this process leave {left:,} (raise them: ulimit -v)"
        )
    with ended_at_once():
        from .app import main as run_command

        run_command()
