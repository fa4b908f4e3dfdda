"""The command `snpjax`, called without a process."""

from typer.testing import CliRunner, Result

from snpjax.cli.app import app


def invoke(*arguments: object, columns: int | None = None) -> Result:
    """`snpjax` with these arguments, in a terminal that wide; what it raised is in the result."""
    env = None if columns is None else {"COLUMNS": str(columns)}
    return CliRunner(env=env).invoke(app, [str(argument) for argument in arguments])
