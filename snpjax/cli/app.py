"""The command `snpjax` and its subcommands."""

import io
import os
import sys
from typing import Annotated

import typer

from .check import check
from .convert import HELP as CONVERT_HELP, convert
from .draw import draw
from .ending import INTERRUPTED
from .explore import explore
from .formats import formats
from .info import info
from .proliferation import proliferation
from .run import run
from .sleptsov import sleptsov
from .view import view


# Plain text: a message in a box is broken where the box ends, and cannot be searched for. No
# completion: every press of the tab key would start JAX.
app = typer.Typer(
    name="snpjax",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(explore)
app.command()(check)
app.command()(info)
app.command(help=CONVERT_HELP)(convert)
app.command()(draw)
app.command()(view)
app.add_typer(proliferation, name="proliferation")
app.add_typer(sleptsov, name="sleptsov")
app.add_typer(formats, name="formats")


def main() -> None:
    """Run the command line of this process, and end it.

    The exit status is 0 when all is done, 1 when a run failed (an overflow), a format cannot hold a
    model or a property was refuted, 2 for bad input or usage, 3 when a property was neither proved
    nor refuted, 130 after Ctrl-C, and 141 when nobody reads the output any more.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name of a file or neuron that the terminal cannot show is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="snpjax")
    except SystemExit as ending:
        if ending.code != INTERRUPTED:
            raise
        # JAX may still be computing what nobody waits for, and where the interpreter takes itself
        # down meanwhile that is often a segmentation fault (jax 0.10.2, CPU). So it does not.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"snpjax {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Spiking neural P systems, run exactly on CPUs and GPUs."""
    del version
