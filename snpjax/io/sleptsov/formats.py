"""The formats of Sleptsov nets, a record each.

A new format is a record here, its reader and writer in a module of its own, seeds in
tests/sleptsov_seeds.py and a row in docs/sleptsov_files.md.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias


NetFormat: TypeAlias = Literal["mcc", "msn", "lsn", "hsn", "net", "ndr", "pnml"]


class NetFileFormat(NamedTuple):
    """What people call a format, its suffixes, the functions that read and write it (`module:
    name`), and the options of the reader."""

    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str
    options: tuple[str, ...] = ()
    holds_final_markings: bool = False


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
        ("net", "drop_time", "ignore_unknown"),
        holds_final_markings=True,
    ),
}


def net_format_of(path: Path) -> NetFormat | None:
    """The format that the suffix of a path says."""
    suffix = path.suffix.lower()
    return next((name for name, f in NET_FORMATS.items() if suffix in f.suffixes), None)


def function(place: str) -> Any:
    """The reader or writer that a record names."""
    module, name = place.split(":")
    return getattr(import_module(f".{module}", __package__), name)


def suffixes_are() -> str:
    """What can be read, in a message."""
    return ", ".join(f"{', '.join(f.suffixes)} ({f.title})" for f in NET_FORMATS.values())
