"""What the documentation states is so."""

from snpjax.io.formats import FORMATS

from .format_table import table
from .helpers import REPOSITORY


FILES = (REPOSITORY / "docs" / "files.md").read_text()


def test_what_each_format_holds():
    """After a change: `python -m tests.format_table`."""
    assert table() in FILES


def test_every_format_has_its_row():
    for name, record in FORMATS.items():
        (row,) = (line for line in FILES.splitlines() if f"`{name}`" in line and "| `" in line)
        _, _, _, suffixes, read, written, tests, _ = row.split("|")
        assert all(f"`{suffix}`" in suffixes for suffix in record.suffixes), row
        assert (read.strip() != "no") == (record.reader is not None), row
        assert (written.strip() != "no") == (record.writer is not None), row
        for pattern in tests.replace("`", "").split(","):
            assert list((REPOSITORY / "tests").glob(pattern.strip())), row
