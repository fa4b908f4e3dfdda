"""The command `snpjax`."""

from .signals import ended_at_once


def main() -> None:
    """Run the command line of this process, see `snpjax.cli.app.main`. Ctrl-C ends it with one line
    while it is imported, too."""
    with ended_at_once():
        from .app import main as run_command

        run_command()
