"""Reading and writing model files, whatever their format."""

import os
import warnings
from pathlib import Path
from typing import get_args

from ..spiking.population import PopulationSystem
from ..spiking.system import SpikingSystem
from ..spiking.validity import Level
from ..whole import write_whole
from .errors import file_error
from .formats import (
    FORMATS,
    Format,
    check_suffix,
    format_to_read,
    format_to_write,
    function,
    read_are,
)
from .losses import Losses, WriteError, WriteWarning, expanded
from .source import Source, load


def read(
    path: str | os.PathLike[str], *, format: Format | None = None, level: Level = "extended"
) -> SpikingSystem | PopulationSystem:
    """Read a spiking neural P system from a model file.

    **Arguments:**

    - `path`: a model file in UTF-8. The suffix says the format, and where formats share one
      (`.pli`, `.json`, `.xml`) the content does.
    - `format`: the format, when neither does.
    - `level`: the validity level. A native file that says `"strict"` is strict in any case.

    **Returns:** the system; one of populations where a P-Lingua file makes more than 100,000
    instances of regular families. What is accepted but probably not meant is told in one
    `ReadWarning`.

    **Raises:** `ReadError` with every independent error of the file, each `path:line:column:
    problem (fix)`.
    """
    if level not in get_args(Level):
        raise ValueError(f'the level is {level!r} (write "strict" or "extended")')
    _check_format(format)
    if format is None:
        check_suffix(path)
    source = load(path)
    return read_source(source, format or format_to_read(source), level)


def read_source(source: Source, format: Format, level: Level) -> SpikingSystem | PopulationSystem:
    """The system that a text describes. **Raises:** `ReadError`, whatever the text."""
    record = FORMATS[format]
    if record.reader is None:
        raise file_error(source.path, f"{record.title} is written, not read ({read_are()})")
    return function(record.reader)(source, level)


def write(
    system: SpikingSystem | PopulationSystem,
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    lossy: bool = False,
) -> None:
    """Write a system to a model file.

    The text is written to a temporary name in the same folder and renamed, so a file is whole or
    not there.

    **Arguments:**

    - `format`: by default the suffix says it: `.pli` P-Lingua 4, `.json` snpjax native, `.yaml`
      sn-p-factory, `.in` cuSNP, `.dot` and `.graphml` graphs. WebSnapse JSON is
      `format="websnapse"`.
    - `lossy`: leave out what the format cannot hold; each loss is named in one `WriteWarning`.

    **Raises:** `WriteError`, before the file is touched, with every item that the format cannot
    hold; `ValueError` when the suffix is none that can be written.
    """
    _check_format(format)
    target = Path(path)
    record = FORMATS[format or format_to_write(target)]
    if record.writer is None:
        writers = ", ".join(name for name, other in FORMATS.items() if other.writer)
        raise ValueError(f"{record.title} is read, not written (write {writers})")
    losses = Losses(record.title)
    variant = system.variant if isinstance(system, SpikingSystem) else None
    if variant is not None and not record.holds_variants:
        kind = type(variant).__name__
        losses.add(f"the variant {kind}", "written without it and what only it gives to rules")
    if not record.holds_compatibility and not system.compatibility.is_textbook:
        losses.add(f"compatibility {system.compatibility}", "written without these options")
    if isinstance(system, PopulationSystem) and not record.holds_populations:
        system = expanded(system, losses)
    text = function(record.writer)(system, losses)
    if losses.items and not lossy:
        raise WriteError(losses.format_name, losses.items)
    write_whole(target, text)
    if losses.items:
        warnings.warn(WriteWarning(losses.format_name, losses.items), stacklevel=2)


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ValueError(f"the format is {format!r} (write one of {', '.join(FORMATS)})")
