"""Files of other projects are those that their table lists."""

import hashlib
import re
from pathlib import Path

import snpjax


FOLDER = Path(snpjax.__file__).parent / "viz" / "page" / "vendor"


def test_vendored_files_have_the_listed_hashes():
    table = (FOLDER / "README.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", table, re.MULTILINE))
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.iterdir()
        if path.name != "README.md"
    }
    assert found == listed
