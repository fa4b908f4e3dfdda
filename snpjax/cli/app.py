"""The command `snpjax` and its subcommands."""

import gc
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from .ending import interruptible
from .signals import stoppable
from .streams import standard_streams


# What `snpjax --help` says about the commands: the first paragraph of their own help.
_COMMANDS = {
    "run": "Run a spiking neural P system and show its computation.",
    "explore": "Find all reachable configurations of a system, or markings of a net.",
    "check": "Prove or refute properties of all computations of a system or a net.",
    "certify": "Accept or reject the certificate of a proof by induction, without the search that "
    "found it.",
    "estimate": "Estimate the probability that something happens, when every neuron chooses "
    "uniformly among its applicable rules.",
    "info": "Describe a spiking neural P system without running it.",
    "convert": "Write a model file in another format.",
    "draw": "Draw a spiking neural P system or a Sleptsov net.",
    "view": "Draw a system or net in a browser, step it, follow its branches, and change it.",
    "proliferation": "Cell proliferation, measured by the dilution of a fluorescent label.",
    "sleptsov": "Sleptsov nets: places and transitions as a concurrent program.",
    "formats": "Sparse layouts: which is fastest here, and why it was chosen.",
    "cache": "Compiled programs that are kept on disk for later commands.",
}


class _Commands(TyperGroup):
    """Each command is imported when it is called, from the module of its name, so that listing them
    needs no JAX."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else _imported(name), rest


def _imported(name: str) -> Any:
    module = import_module(f".{name}", __package__)
    command = getattr(module, name)
    if isinstance(command, typer.Typer):
        found = get_group(command)
        found.name = name
        return found
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, help=getattr(module, "HELP", None))(command)
    return get_command(alone)


# Plain text: a message in a box is broken where the box ends, and cannot be searched for.
app = typer.Typer(
    name="snpjax",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _help in _COMMANDS.items():
    app.command(_name, help=_help)(
        lambda: None
    )  # a placeholder: `_Commands` imports the command itself


def main() -> None:
    """Run the command line of this process, and end it.

    The exit status is 0 when all is done, 1 when a run failed (an overflow), a format cannot hold a
    model or a property was refuted, 2 for bad input or usage and for an output that cannot be
    written, 3 when a property was neither proved nor refuted, 129 when the terminal is gone, 130
    after Ctrl-C, 141 when nobody reads the output any more, and 143 after SIGTERM.
    """
    # Looking for garbage among all that an import of JAX makes is a fifth of its time. Commands
    # begin to look when they have imported what they need.
    gc.disable()
    if os.name == "posix":  # a terminal of which nothing is known can do nothing but show text
        os.environ.setdefault("TERM", "dumb")
    with standard_streams(), stoppable():
        status = _status()
        # JAX may still be computing or compiling what nobody waits for; where Python shuts down
        # meanwhile that is often a segmentation fault (jax 0.10.2, CPU). And to take everything
        # down would take a tenth of a short command's time.
        os._exit(status)


def _status() -> int:
    """Run the command line; the exit status."""
    try:
        with interruptible():
            try:
                app(prog_name="snpjax")
            except SystemExit as ending:
                if isinstance(ending.code, str):
                    raise
                sys.stdout.flush()
                return int(ending.code or 0)
    except typer.Exit as ending:
        return ending.exit_code
    return 0


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
