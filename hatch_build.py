"""Metadata for a package index, whose pages show the README outside the repository.

`SNPJAX_REPOSITORY` is the address of the repository, which the release workflow knows. With it the
links of the README become absolute and the project gets its addresses; otherwise links stay as they
are.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


_RELATIVE = re.compile(r"(!?\[[^]]*\])\((?![a-z]+:|#)([^)]*)\)")


class Links(MetadataHookInterface):
    """Writes `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        home = os.environ.get("SNPJAX_REPOSITORY", "").rstrip("/")
        if home:
            tag = f"v{metadata['version']}"
            text = _RELATIVE.sub(lambda x: f"{x[1]}({_address(home, tag, x)})", text)
            metadata["urls"] = {
                "Repository": home,
                "Documentation": f"{home}/blob/{tag}/docs/index.md",
                "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _address(home: str, tag: str, link: re.Match[str]) -> str:
    """The address of a file, and for a picture of its content."""
    kind = "raw" if link[1].startswith("!") else "blob"
    return f"{home}/{kind}/{tag}/{link[2]}"
