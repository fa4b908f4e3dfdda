"""Options of commands whose searches may be larger than memory."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import flag, value


if TYPE_CHECKING:
    from ..explore import MemoryLimits

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class MemoryOptions:
    """See `MemoryLimits`."""

    memory: Annotated[
        str | None,
        value("--memory", "SIZE", "Use at most SIZE of the device's memory: 4G, 512M."),
    ] = None
    host_memory: Annotated[
        str | None,
        value(
            "--host-memory", "SIZE", "Use at most SIZE of main memory for data that does not fit."
        ),
    ] = None
    spill_folder: Annotated[
        Path | None,
        value("--spill-folder", "FOLDER", "Folder for data that does not fit in memory."),
    ] = None
    fingerprints: Annotated[
        bool,
        flag(
            "--fingerprints",
            "Distinguish configurations by 64 bits each. A few may be missed, with a probability "
            "that is printed.",
        ),
    ] = False

    def limits(self) -> "MemoryLimits":
        from ..explore import MemoryLimits

        device, host = (
            None if text is None else _bytes_of(text, option)
            for option, text in (("--memory", self.memory), ("--host-memory", self.host_memory))
        )
        try:
            return MemoryLimits(device, host, folder=self.spill_folder)
        except ValueError:
            message = f"{self.spill_folder} is not a folder"
            raise typer.BadParameter(message, param_hint="--spill-folder") from None


def _bytes_of(text: str, option: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        message = f"{text!r} is not a size (write a number of bytes, or 512M, 4G, 1.5T)"
        raise typer.BadParameter(message, param_hint=option)
    return int(float(found[1]) * 1024 ** _POWERS[found[2].upper()])
