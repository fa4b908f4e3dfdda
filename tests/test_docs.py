"""What the documentation states is so."""

from .format_table import table
from .helpers import REPOSITORY


def test_what_each_format_holds():
    """After a change: `python -m tests.format_table`."""
    assert table() in (REPOSITORY / "docs" / "files.md").read_text()
