"""The formats of Sleptsov nets, a record each.

A new format is a record here, its reader and writer in a module of its own, seeds in
tests/sleptsov_seeds.py and a row in docs/sleptsov_files.md.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias


NetFormat: TypeAlias = Literal[
    "mcc", "msn", "lsn", "hsn", "net", "ndr", "pnml", "tapn", "pipe", "greatspn"
]


class NetFileFormat(NamedTuple):
    """What people call a format, its suffixes, the functions that read and write it (`module:
    name`), and the options of the reader."""

    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str | None = None
    options: tuple[str, ...] = ()
    holds_final_markings: bool = False


_BEGINNING = 2**16  # characters
#: The root element of PNML, after declarations and comments.
_PNML = re.compile(r"(?:\s|<\?[^>]*>|(?><!--.*?-->))*+<(?:\w+:)?pnml\b", re.DOTALL)
_OF_PNML = ("net", "drop_time", "ignore_unknown")

#: Where formats share a suffix, the first is written, and the text says which is read.
NET_FORMATS: dict[NetFormat, NetFileFormat] = {
    "lsn": NetFileFormat("LSN", (".lsn",), "lsn:read_lsn", "lsn:write_lsn"),
    "hsn": NetFileFormat("HSN", (".hsn",), "hsn:read_hsn", "hsn:write_hsn"),
    "mcc": NetFileFormat("SN-MCC", (".mcc",), "mcc:read_mcc", "mcc:write_mcc"),
    "msn": NetFileFormat("MSN", (".msn",), "msn:read_msn", "msn:write_msn"),
    "net": NetFileFormat(
        "Tina .net",
        (".net",),
        "tina_net:read_net_format",
        "tina_net:write_net_format",
        ("drop_time",),
    ),
    "ndr": NetFileFormat(
        "Tina .ndr", (".ndr",), "tina_ndr:read_ndr", "tina_ndr:write_ndr", ("drop_time",)
    ),
    "pnml": NetFileFormat(
        "PNML",
        (".pnml",),
        "pnml:read_pnml",
        "pnml_write:write_pnml",
        _OF_PNML,
        holds_final_markings=True,
    ),
    "tapn": NetFileFormat("TAPAAL", (".tapn",), "pnml:read_pnml", options=_OF_PNML),
    "pipe": NetFileFormat("PIPE", (".xml",), "pnml:read_pnml", options=_OF_PNML),
    "greatspn": NetFileFormat(
        "GreatSPN .net", (".net",), "greatspn:read_greatspn", options=("drop_time",)
    ),
}


def net_format_of(path: Path, text: str | None = None) -> NetFormat | None:
    """The format in which a file is read: its suffix says it, and where other files have the same
    suffix, the beginning of the text; by default that of the file."""
    suffix = path.suffix.lower()
    formats: list[NetFormat] = [name for name, f in NET_FORMATS.items() if suffix in f.suffixes]
    found = formats[0] if formats else None
    if found not in ("net", "pipe"):
        return found
    start = _beginning(path) if text is None else text[:_BEGINNING].lstrip("\ufeff")
    if found == "net":
        return "greatspn" if start.startswith("|") else "net"
    return "pipe" if _PNML.match(start) else None


def net_format_to_write(path: Path) -> NetFormat | None:
    """The format in which a file of this name is written."""
    suffix = path.suffix.lower()
    for name, record in NET_FORMATS.items():
        if record.writer and suffix in record.suffixes:
            return name
    return None


def _beginning(path: Path) -> str:
    """The first characters of a file; none if there is no such file."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_BEGINNING)
    except (OSError, ValueError):
        return ""


def function(place: str) -> Any:
    """The reader or writer that a record names."""
    module, name = place.split(":")
    return getattr(import_module(f".{module}", __package__), name)


def suffixes_are(*, written: bool = False) -> str:
    """What can be read, or written, in a message."""
    records = [f for f in NET_FORMATS.values() if f.writer or not written]
    return ", ".join(f"{', '.join(f.suffixes)} ({f.title})" for f in records)
