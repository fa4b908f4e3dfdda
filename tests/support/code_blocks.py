"""The code of Markdown pages, and the outputs printed under it.

A `python` block runs after those before it. A `text` block that follows it, with only a blank line
between, is exactly what it prints; without one it prints nothing. A `text` block may also follow a
`sh` block, whose lines call `snpjax`. In an output, `...` stands for what depends on the machine:
any characters of a line, or any lines where it is a line of its own. All runs in a new folder, in
which `examples` is that of the repository. After a change, update the outputs by
`python -m tests.support.code_blocks docs/PAGE.md`.
"""

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.command import invoke
from tests.support.helpers import REPOSITORY


_BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)


def outputs(
    page: Path, names: dict[str, object] | None = None
) -> Iterator[tuple[re.Match[str], str]]:
    """Each block that runs, and what it prints. Python blocks share their names."""
    names = {} if names is None else names
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(REPOSITORY / "examples")
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            with contextlib.chdir(folder):
                if block["kind"] == "python":
                    code = compile(block["code"], page.name, "exec")
                    with contextlib.redirect_stdout(io.StringIO()) as stream:
                        exec(code, names)
                    printed = stream.getvalue()
                elif block["output"] is not None:
                    printed = "".join(_of_command(line) for line in block["code"].splitlines())
                else:
                    continue
            yield block, "".join(line.rstrip() + "\n" for line in printed.splitlines())


def _of_command(line: str) -> str:
    name, *arguments = shlex.split(line, comments=True)
    assert name == "snpjax", line
    return invoke(*arguments, columns=100).output


def differing(page: Path, names: dict[str, object] | None = None) -> list[tuple[str, str]]:
    """Outputs that a page states, and what is printed instead."""
    return [
        (block["output"] or "", printed)
        for block, printed in outputs(page, names)
        if not _agrees(block["output"] or "", printed)
    ]


def _agrees(stated: str, printed: str) -> bool:
    lines = [
        "(.*\n)*" if line == "...\n" else re.escape(line).replace(r"\.\.\.", ".*")
        for line in stated.splitlines(keepends=True)
    ]
    return re.fullmatch("".join(lines), printed) is not None


def rewritten(page: Path) -> str:
    """The page with the outputs that are printed now."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed([*outputs(page)]):
        if not _agrees(block["output"] or "", printed):
            stated = f"\n```text\n{printed}```\n" if printed else ""
            text = text[: block.end("code")] + "```\n" + stated + text[block.end() :]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewritten(Path(name)), encoding="utf-8")
