"""The command `snpjax`, called without a process."""

from typer.testing import CliRunner, Result

from snpjax.cli.app import app


def invoke(*arguments: object) -> Result:
    """`snpjax` with these arguments; what it raised is in the result."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])
