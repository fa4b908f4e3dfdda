"""The code of Markdown pages, and the outputs printed under it.

A `python` block runs after those before it. A `text` block that follows it, with only a blank line
between, is exactly what it prints. It may also follow a `sh` block, whose lines call `snpjax`. All
runs in the folder of the repository. After a change, update the outputs by
`python -m tests.support.code_blocks docs/PAGE.md`.
"""

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.command import invoke
from tests.support.helpers import REPOSITORY


_BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def outputs(page: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Each block that runs, and what it prints. Python blocks share their names."""
    names: dict[str, object] = {}
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["kind"] == "python":
            code = compile(block["code"], page.name, "exec")
            yield block, _printed(lambda code=code: exec(code, names))
        elif block["output"] is not None:
            yield block, "".join(_of_command(line) for line in block["code"].splitlines())


def _printed(run: Callable[[], object]) -> str:
    with contextlib.chdir(REPOSITORY), contextlib.redirect_stdout(io.StringIO()) as stream:
        run()
    return _trimmed(stream.getvalue())


def _of_command(line: str) -> str:
    name, *arguments = shlex.split(line)
    assert name == "snpjax", line
    with contextlib.chdir(REPOSITORY):
        return _trimmed(invoke(*arguments, columns=100).output)


def _trimmed(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def differing(page: Path) -> list[tuple[str, str]]:
    """Outputs that a page states, and what is printed instead."""
    found = [(block["output"], printed) for block, printed in outputs(page)]
    return [(told, printed) for told, printed in found if told is not None and told != printed]


def rewritten(page: Path) -> str:
    """The page with the outputs that are printed now."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed([*outputs(page)]):
        if block["output"] is not None:
            text = text[: block.start("output")] + printed + text[block.end("output") :]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewritten(Path(name)), encoding="utf-8")
