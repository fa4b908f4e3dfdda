"""The code of Markdown pages, and the outputs printed under it.

A `python` block runs after those before it. A `text` block that follows it, with only a blank line
between, is exactly what it prints; without one it prints nothing. A `text` block may also follow a
`sh` block, whose lines call `snpjax`. In an output, `...` stands for what depends on the machine:
any characters of a line, or any lines where it is a line of its own. All runs in a new folder, in
which `examples` is that of the repository. A picture that the code writes, and that the page shows
from `docs/pictures` under the same name, looks like that one. After a change, update outputs and
pictures by `python -m tests.support.code_blocks docs/PAGE.md`, and look at the pictures.
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.support.command import invoke
from tests.support.helpers import REPOSITORY


_BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
#: Pixels of a block, and how far apart pictures of the same may be: training rounds differently on
#: other processors.
_PIXELS, _ALIKE = 8, 0.02
_PICTURE = re.compile(r"!\[[^]]*\]\(pictures/([^)]+\.png)\)")


def outputs(
    page: Path, names: dict[str, object] | None = None, pictures: Path | None = None
) -> Iterator[tuple[re.Match[str], str]]:
    """Each block that runs, and what it prints. Python blocks share their names. Pictures of the
    page that they have written are copied to a folder, `pictures`."""
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
        for name in _PICTURE.findall(page.read_text(encoding="utf-8")) if pictures else ():
            if Path(folder, name).exists():
                shutil.copyfile(Path(folder, name), pictures / name)


def _of_command(line: str) -> str:
    name, *arguments = shlex.split(line, comments=True)
    assert name == "snpjax", line
    return invoke(*arguments, columns=100).output


def differing(page: Path, names: dict[str, object] | None = None) -> list[tuple[str, str]]:
    """Outputs that a page states, and what is printed instead; and pictures that look different."""
    with tempfile.TemporaryDirectory() as folder:
        found = [
            (block["output"] or "", printed)
            for block, printed in outputs(page, names, Path(folder))
            if not _agrees(block["output"] or "", printed)
        ]
        made = sorted(Path(folder).iterdir())
        return found + [
            (path.name, f"a picture that differs by {apart:.3f}")
            for path in made
            if not (apart := distance(path, page.parent / "pictures" / path.name)) < _ALIKE
        ]


def distance(one: Path, other: Path) -> float:
    """The mean difference of two pictures in the means of blocks of pixels; 1 is that of black and
    white. It is infinite for pictures of different sizes."""
    from matplotlib.image import imread

    first, second = (imread(path)[..., :3].mean(axis=2) for path in (one, other))
    if first.shape != second.shape:
        return np.inf
    rows, columns = (size // _PIXELS for size in first.shape)
    apart = (first - second)[: rows * _PIXELS, : columns * _PIXELS]
    return float(np.abs(apart.reshape(rows, _PIXELS, columns, _PIXELS).mean(axis=(1, 3))).mean())


def _agrees(stated: str, printed: str) -> bool:
    lines = [
        "(.*\n)*" if line == "...\n" else re.escape(line).replace(r"\.\.\.", ".*")
        for line in stated.splitlines(keepends=True)
    ]
    return re.fullmatch("".join(lines), printed) is not None


def rewritten(page: Path, pictures: Path | None = None) -> str:
    """The page with the outputs that are printed now; its pictures are written to a folder."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed([*outputs(page, pictures=pictures)]):
        if not _agrees(block["output"] or "", printed):
            stated = f"\n```text\n{printed}```\n" if printed else ""
            text = text[: block.end("code")] + "```\n" + stated + text[block.end() :]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(rewritten(page, page.resolve().parent / "pictures"), encoding="utf-8")
