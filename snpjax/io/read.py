"""Reading and writing model files, whatever their format."""

import os
import re
import secrets
import shutil
import warnings
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ..spiking.population import PopulationSystem
from ..spiking.system import SpikingSystem
from ..spiking.validity import Level
from .errors import file_error
from .losses import Losses, WriteError, WriteWarning, expanded
from .source import Source, load


Format: TypeAlias = Literal[
    "plingua",
    "esnp",
    "websnapse",
    "xmp",
    "factory-xml",
    "factory-yaml",
    "cusnp",
    "native",
    "dot",
    "graphml",
]

#: What people call the formats.
TITLES: dict[Format, str] = {
    "plingua": "P-Lingua 4",
    "esnp": "the ESNP line dialect",
    "websnapse": "WebSnapse JSON",
    "xmp": "WebSnapse .xmp",
    "factory-xml": "the XML of sn-p-factory",
    "factory-yaml": "the YAML of sn-p-factory",
    "cusnp": "cuSNP",
    "native": "snpjax native",
    "dot": "DOT",
    "graphml": "GraphML",
}
#: Formats without a writer, and those without a reader.
READ_ONLY: tuple[Format, ...] = ("esnp", "xmp", "factory-xml")
WRITE_ONLY: tuple[Format, ...] = ("dot", "graphml")
_BY_SUFFIX: dict[str, Format] = {
    ".xmp": "xmp",
    ".yaml": "factory-yaml",
    ".yml": "factory-yaml",
    ".in": "cusnp",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
}
_ACCEPTED = (
    "read are .pli (P-Lingua 4, ESNP), .json (snpjax native, WebSnapse), .xmp and .xml (WebSnapse, "
    "sn-p-factory), .yaml (sn-p-factory) and .in (cuSNP)"
)
_MODEL = re.compile("@model", re.IGNORECASE)
_NATIVE = re.compile(r'"schema"\s*:')
_JSON = re.compile(
    r"\s*(\{|\[\s*[\[{\"\]])"
)  # a rule of the ESNP dialect begins with a bracket, too


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
        _check_suffix(path)
    source = load(path)
    return read_source(source, format or _format_of(source), level)


def read_source(source: Source, format: Format, level: Level) -> SpikingSystem | PopulationSystem:
    """The system that a text describes. **Raises:** `ReadError`, whatever the text."""
    match format:  # each reader brings libraries that take a while to import
        case "plingua":
            if not _MODEL.search(source.text):
                raise file_error(source.path, _without_model(source))
            from .plingua import read_plingua

            return read_plingua(source, level)
        case "esnp":
            from .esnp import read_esnp

            return read_esnp(source, level)
        case "websnapse":
            from .websnapse import read_websnapse

            return read_websnapse(source, level)
        case "factory-yaml":
            from .websnapse import read_factory_yaml

            return read_factory_yaml(source, level)
        case "xmp":
            from .xmp import read_xmp

            return read_xmp(source, level)
        case "factory-xml":
            from .xmp import read_factory_xml

            return read_factory_xml(source, level)
        case "cusnp":
            from .cusnp import read_cusnp

            return read_cusnp(source, level)
        case "native":
            from .native import read_native

            return read_native(source, level)
        case "dot" | "graphml":
            raise file_error(source.path, f"{TITLES[format]} is written, not read ({_ACCEPTED})")


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
    format = format or format_to_write(target)
    losses = Losses(TITLES[format])
    if format != "native" and not system.compatibility.is_textbook:
        losses.add(f"compatibility {system.compatibility}", "written without these options")
    text = _text(system, format, losses)
    if losses.items and not lossy:
        raise WriteError(losses.format_name, losses.items)
    write_whole(target, text)
    if losses.items:
        warnings.warn(WriteWarning(losses.format_name, losses.items), stacklevel=2)


def _text(system: SpikingSystem | PopulationSystem, format: Format, losses: Losses) -> str:
    if format == "plingua":
        from .plingua import write_plingua

        return write_plingua(system, losses)
    if isinstance(system, PopulationSystem):
        system = expanded(system, losses)
    match format:
        case "websnapse":
            from .websnapse import write_websnapse

            return write_websnapse(system, losses)
        case "factory-yaml":
            from .websnapse import write_factory_yaml

            return write_factory_yaml(system, losses)
        case "cusnp":
            from .cusnp import write_cusnp

            return write_cusnp(system, losses)
        case "native":
            from .native import write_native

            return write_native(system)
        case "dot":
            from .graph_export import write_dot

            return write_dot(system, losses)
        case "graphml":
            from .graph_export import write_graphml

            return write_graphml(system, losses)
    raise ValueError(
        f"{TITLES[format]} is read, not written (write P-Lingua, WebSnapse JSON, sn-p-factory "
        "YAML, cuSNP, DOT, GraphML or the native format)"
    )


def write_whole(target: Path, text: str) -> None:
    """Write the text to a temporary name in the same folder, and rename it."""
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


def _check_format(format: str | None) -> None:
    if format is not None and format not in get_args(Format):
        raise ValueError(f"the format is {format!r} (write one of {', '.join(get_args(Format))})")


def _check_suffix(path: str | os.PathLike[str]) -> None:
    suffix = Path(path).suffix.lower()
    if suffix in (".pli", ".json", ".xml") or suffix in _BY_SUFFIX:
        return
    if os.path.isdir(path):
        raise file_error(os.fspath(path), "this is a folder (name a file in it)")
    raise file_error(os.fspath(path), f"unknown suffix {suffix!r} ({_ACCEPTED}; or give format=)")


def _format_of(source: Source) -> Format:
    suffix = Path(source.path).suffix.lower()
    if suffix == ".pli":
        if _MODEL.search(source.text) or _JSON.match(source.text):
            return "plingua"
        return "esnp"
    if suffix == ".json":
        is_native = source.path.lower().endswith(".snp.json") or _NATIVE.search(source.text)
        return "native" if is_native else "websnapse"
    if suffix in (".xml", ".xmp"):
        return "xmp" if "<startingSpikes" in source.text else "factory-xml"
    return _BY_SUFFIX[suffix]


def format_to_write(target: Path) -> Format:
    """The format that the suffix says. **Raises:** `ValueError` when it says none."""
    suffix = target.suffix.lower()
    if suffix == ".json":
        return "native"
    if suffix == ".pli":
        return "plingua"
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    raise ValueError(
        f"{os.fspath(target)}: the suffix {suffix!r} cannot be written (write .snp.json, .pli, "
        ".yaml, .in, .dot or .graphml, or give format=)"
    )


def _without_model(source: Source) -> str:
    if _JSON.match(source.text):
        return "this is JSON, not P-Lingua (name it .json, or give format=)"
    return (
        "there is no @model<spiking_psystems>, so this is no P-Lingua 4 file (begin the file with "
        '@model<spiking_psystems>, or give format="esnp")'
    )
