"""The formats of model files, a record each.

A new format is a record here, its reader and writer in a module or folder of its own, seeds in
tests/fuzz_seeds.py, a file name in tests/format_table.py and a row in docs/files.md.
"""

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from .errors import file_error
from .sleptsov.formats import net_format_of
from .source import Source


Format: TypeAlias = Literal[
    "native",
    "plingua",
    "esnp",
    "websnapse",
    "xmp",
    "factory-xml",
    "factory-yaml",
    "cusnp",
    "dot",
    "graphml",
]


class FileFormat(NamedTuple):
    """What people call a format, its suffixes, and the functions that read and write it: `module:
    name`, for they bring libraries that take a while to import. Some writers take populations as
    they are, and some files hold the options of a simulator, or variants."""

    title: str
    suffixes: tuple[str, ...]
    reader: str | None = None
    writer: str | None = None
    holds_populations: bool = False
    holds_compatibility: bool = False
    holds_variants: bool = False


#: Where formats share a suffix, the first with a writer is written.
FORMATS: dict[Format, FileFormat] = {
    "native": FileFormat(
        "snpjax native",
        (".snp.json", ".json"),
        "native:read_native",
        "native:write_native",
        holds_populations=True,
        holds_compatibility=True,
        holds_variants=True,
    ),
    "plingua": FileFormat(
        "P-Lingua 4",
        (".pli",),
        "plingua:read_plingua",
        "plingua:write_plingua",
        holds_populations=True,
    ),
    "esnp": FileFormat("the ESNP line dialect", (".pli",), "esnp:read_esnp"),
    "websnapse": FileFormat(
        "WebSnapse JSON", (".json",), "websnapse:read_websnapse", "websnapse:write_websnapse"
    ),
    "xmp": FileFormat("WebSnapse .xmp", (".xmp", ".xml"), "xmp:read_xmp"),
    "factory-xml": FileFormat("the XML of sn-p-factory", (".xml", ".xmp"), "xmp:read_factory_xml"),
    "factory-yaml": FileFormat(
        "the YAML of sn-p-factory",
        (".yaml", ".yml"),
        "websnapse:read_factory_yaml",
        "websnapse:write_factory_yaml",
    ),
    "cusnp": FileFormat("cuSNP", (".in",), "cusnp:read_cusnp", "cusnp:write_cusnp"),
    "dot": FileFormat("DOT", (".dot", ".gv"), writer="graph_export:write_dot"),
    "graphml": FileFormat("GraphML", (".graphml",), writer="graph_export:write_graphml"),
}

_MODEL = re.compile("@model", re.IGNORECASE)
_NATIVE = re.compile(r'"schema"\s*:')
# A rule of the ESNP dialect begins with a bracket, too.
_JSON = re.compile(r"\s*(\{|\[\s*[\[{\"\]])")


def function(place: str) -> Callable[..., Any]:
    """The reader or writer that a record names."""
    module, name = place.split(":")
    return getattr(import_module(f".{module}", __package__), name)


def format_to_read(source: Source) -> Format:
    """The format that the suffix says, and the text where formats share one.

    **Raises:** `ReadError` when neither says it.
    """
    suffix = Path(source.path).suffix.lower()
    if suffix == ".pli":
        is_plingua = _MODEL.search(source.text) or is_json(source.text)
        return "plingua" if is_plingua else "esnp"
    if suffix == ".json":
        is_native = source.path.lower().endswith(".snp.json") or _NATIVE.search(source.text)
        return "native" if is_native else "websnapse"
    if suffix in (".xml", ".xmp"):
        return "xmp" if "<startingSpikes" in source.text else "factory-xml"
    return _of_suffix(suffix)[0]


def format_to_write(target: Path) -> Format:
    """The format that the suffix says. **Raises:** `ValueError` when it says none."""
    formats = _of_suffix(target.suffix.lower())
    if formats:
        written: list[Format] = [name for name in formats if FORMATS[name].writer]
        return (written or formats)[0]
    suffixes = {s: None for record in FORMATS.values() if record.writer for s in record.suffixes}
    raise ValueError(
        f"{os.fspath(target)}: the suffix {target.suffix.lower()!r} cannot be written (write "
        f"{', '.join(suffixes)}, or give format=)"
    )


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose suffix no format has. **Raises:** `ReadError`."""
    suffix = Path(path).suffix.lower()
    if os.path.isdir(path):
        raise file_error(os.fspath(path), "this is a folder (name a file in it)")
    if net_format_of(Path(path)):
        raise file_error(os.fspath(path), "this is a Sleptsov net (snp.read_net, snpjax sleptsov)")
    if _of_suffix(suffix):
        return
    message = f"unknown suffix {suffix!r} ({read_are()}; or give format=)"
    raise file_error(os.fspath(path), message)


def read_are() -> str:
    """What can be read, in a message."""
    titles: dict[str, list[str]] = {}
    for record in FORMATS.values():
        for suffix in record.suffixes if record.reader else ():
            titles.setdefault(suffix, []).append(record.title)
    return "read are " + ", ".join(f"{suffix} ({', '.join(of)})" for suffix, of in titles.items())


def is_json(text: str) -> bool:
    """Whether a text is JSON by its first characters."""
    return _JSON.match(text) is not None


def _of_suffix(suffix: str) -> list[Format]:
    return [name for name, record in FORMATS.items() if suffix in record.suffixes]
