"""Reading and writing model files, whatever their format."""

import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Literal, TypeAlias

from ..spiking.system import SpikingSystem
from ..spiking.validity import Level
from .errors import file_error
from .native import read_native, write_native
from .source import Source, load


Format: TypeAlias = Literal["plingua", "native"]

_ACCEPTED = "read are .pli (P-Lingua 4) and .snp.json or .json (snpjax native)"
_MODEL = re.compile("@model", re.IGNORECASE)


def read(
    path: str | os.PathLike[str], *, format: Format | None = None, level: Level = "extended"
) -> SpikingSystem:
    """Read a spiking neural P system from a model file.

    **Arguments:**

    - `path`: a P-Lingua 4 file (`.pli`) or a native one (`.snp.json`, `.json`); UTF-8.
    - `format`: `"plingua"` or `"native"`, when the suffix does not say it.
    - `level`: the validity level. A native file that says `"strict"` is strict in any case.

    **Returns:** the system. What is accepted but probably not meant is told in one `ReadWarning`.

    **Raises:** `ReadError` with every independent error of the file, each `path:line:column:
    problem (fix)`.
    """
    if level not in ("strict", "extended"):
        raise ValueError(f'the level is {level!r} (write "strict" or "extended")')
    if format not in (None, "plingua", "native"):
        raise ValueError(f'the format is {format!r} (write "plingua" or "native")')
    format = format or _format_of(path)
    source = load(path)
    if format == "native":
        return read_native(source, level)
    if not _MODEL.search(source.text):
        raise file_error(source.path, _without_model(source))
    from .plingua import read_plingua  # lark takes a while to import

    return read_plingua(source, level)


def write(system: SpikingSystem, path: str | os.PathLike[str]) -> None:
    """Write a system to a model file; the suffix says the format (`.snp.json` or `.json`: native).

    The text is written to a temporary name in the same folder and renamed, so a file is whole or
    not there.

    **Raises:** `ValueError` when the suffix is none that can be written, before the file is
    touched.
    """
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise ValueError(
            f"{os.fspath(path)}: the suffix {target.suffix!r} cannot be written "
            "(write .snp.json, the snpjax native format)"
        )
    text = write_native(system)
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _format_of(path: str | os.PathLike[str]) -> Format:
    suffix = Path(path).suffix.lower()
    if suffix == ".pli":
        return "plingua"
    if suffix == ".json":
        return "native"
    if os.path.isdir(path):
        raise file_error(os.fspath(path), "this is a folder (name a file in it)")
    raise file_error(os.fspath(path), f"unknown suffix {suffix!r} ({_ACCEPTED}; or give format=)")


def _without_model(source: Source) -> str:
    if source.text.lstrip()[:1] in ("{", "["):
        return "this is JSON, not P-Lingua (name it .snp.json, or give format=)"
    return (
        "there is no @model<spiking_psystems>, so this is no P-Lingua 4 file; the ESNP line "
        "dialect is not read yet (begin the file with @model<spiking_psystems>)"
    )
