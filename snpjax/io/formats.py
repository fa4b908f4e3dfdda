"""The file formats of systems, nets and configuration graphs: one table.

A new built-in format is an entry of `FORMATS`, its reader and writer in a module or folder of its
own, seeds in tests/support/fuzz_seeds.py or tests/support/sleptsov_seeds.py, a table of mistakes in
tests/io/tables, and the tables of the documentation, which `python -m tests.support.format_tables`
prints. Help texts of commands are made from the table.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from .._text.nearest import nearest
from .errors import ReadError, file_error
from .kinds import Holds, Kind, Told, WrongKind, is_greatspn, is_json, is_pnml, told_by_text
from .source import Source, load


#: What a format of models may hold besides the plainest ones.
Feature: TypeAlias = Literal[
    "name", "populations", "compatibility", "variants", "sub-nets", "final markings", "positions"
]

SystemFormat: TypeAlias = Literal[
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
NetFormat: TypeAlias = Literal[
    "lsn", "hsn", "mcc", "msn", "greatspn", "net", "ndr", "pnml", "tapn", "pipe"
]
GraphFormat: TypeAlias = Literal["aut", "prism", "drn", "nusmv", "dot", "graphml", "json", "svg"]


@dataclass(frozen=True)
class Format:
    """A file format, which `read`, `write`, `read_net`, `write_net` and `write_graph` take as
    `format=`. Your own need not be registered anywhere.

    **Arguments:**

    - `name`: what `format=`, `--from` and `--to` call it.
    - `title`: what messages call it.
    - `holds`: `"system"`, `"net"` or `"graph"`.
    - `suffixes`: of file names, in lower case, the preferred one first.
    - `reader`: makes a model from a `Source`, and of systems the validity level; raises `ReadError`
      with all mistakes in the text, of its form as well as of the model.
    - `writer`: makes the text from a model and a `Losses`, where it notes what the format cannot
      hold. That of a graph takes the graph and the `ExportOptions` of `write_graph`, and makes the
      bytes of its files by suffix, in blocks.
    - `recognises`: whether a `Source` is of this format, asked where several formats share its
      suffix; `None` recognises every text.
    - `options`: which keyword arguments of `read` or `read_net` the reader takes, or of
      `write_graph` the writer.
    - `keeps`: what the format can hold: the `"name"` of a system (formats of nets keep theirs),
      `"populations"` as such, the `"compatibility"` with other simulators, `"variants"`, the
      `"positions"` of a drawing; the `"final markings"` of a net, the `"sub-nets"` of a `HighNet`.
    - `rule`: the name of the rule by which other tools fire the transitions of a net in such a
      file, `"petri"` or `"sleptsov"`. Writing a net of another rule tells that.
    - `help`: what it is, in a line of the documentation.
    - `appends`: adds the statements of a changed model to a file: takes the text of the file, and
      what the writer makes of the model before and after the change, and returns candidates. The
      caller checks that one of them reads as the changed model.

    **Raises:** `ValueError` for a format that is neither read nor written, and for a suffix without
    its dot or not in lower case.
    """

    name: str
    title: str
    holds: Holds
    suffixes: tuple[str, ...] = ()
    reader: Callable[..., Any] | None = None
    writer: Callable[..., Any] | None = None
    recognises: Callable[[Source], bool] | None = None
    options: tuple[str, ...] = ()
    keeps: tuple[Feature, ...] = ()
    rule: str = ""
    help: str = ""
    appends: Callable[[str, str, str], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        if self.reader is None and self.writer is None:
            raise ValueError(f"The format {self.name!r} has no `reader` and no `writer`. Give one.")
        if self.holds not in get_args(Holds):
            near = nearest(f"{self.holds}", get_args(Holds), "kinds")
            raise ValueError(f"`holds` is {self.holds!r}: {near}")
        for suffix in self.suffixes:
            if not suffix.startswith(".") or suffix != suffix.lower():
                raise ValueError(f"The suffix is {suffix!r}. Write it in lower case, with its dot.")


_MODEL = re.compile("@model|@include", re.IGNORECASE)
_NATIVE = re.compile(r'"schema"\s*:')
#: Suffixes that files of other kinds have, too.
_SHARED = (".json", ".yaml", ".yml")
_OF_PNML = ("net", "drop_time", "ignore_unknown")


def _later(place: str) -> Callable[..., Any]:
    """A reader or writer, `module:name`, imported when it is first called: some take a while."""
    module, name = place.split(":")

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module, __package__), name)(*arguments, **options)

    return call


def _in(module: str, reader: str, writer: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The reader and the writer of one module."""
    return _later(f"{module}:{reader}"), _later(f"{module}:{writer}")


#: Where formats share a suffix, a text is of the first that recognises it, and the first with a
#: writer is written.
FORMATS: tuple[Format, ...] = (
    Format(
        "native",
        "snpjax native",
        "system",
        (".snp.json", ".json"),
        *_in(".native", "read_native", "write_native"),
        lambda s: s.path.lower().endswith(".snp.json") or bool(_NATIVE.search(s.text)),
        keeps=("name", "populations", "compatibility", "variants", "positions"),
        help="holds every part of a system; see [Native](#native)",
    ),
    Format(
        "plingua",
        "P-Lingua 4",
        "system",
        (".pli",),
        *_in(".plingua", "read_plingua", "write_plingua"),
        lambda s: bool(_MODEL.search(s.text)) or is_json(s.text),
        options=("parameters", "allow_includes_outside"),
        keeps=("populations",),
        appends=_later(".plingua.append:appended"),
        help="the spiking model; other modes, anti-spikes and astrocytes are refused by name, and "
        "families are written as ranges",
    ),
    Format(
        "esnp",
        "the ESNP line dialect",
        "system",
        (".pli",),
        _later(".esnp:read_esnp"),
        help="a line for each rule; a `.pli` file without `@model`",
    ),
    Format(
        "websnapse",
        "WebSnapse JSON",
        "system",
        (".json",),
        *_in(".websnapse", "read_websnapse", "write_websnapse"),
        keeps=("positions",),
        help="Reloaded, v3 and dynamic, the old schema with a warning; written as Reloaded",
    ),
    Format(
        "xmp",
        "WebSnapse .xmp",
        "system",
        (".xmp", ".xml"),
        _later(".xmp:read_xmp"),
        recognises=lambda source: "<startingSpikes" in source.text,
        help="WebSnapse v1 and v2",
    ),
    Format(
        "factory-xml",
        "the XML of sn-p-factory",
        "system",
        (".xml", ".xmp"),
        _later(".xmp:read_factory_xml"),
        help="sn-p-factory",
    ),
    Format(
        "factory-yaml",
        "the YAML of sn-p-factory",
        "system",
        (".yaml", ".yml"),
        *_in(".websnapse", "read_factory_yaml", "write_factory_yaml"),
        keeps=("positions",),
        help="sn-p-factory; needs `pip install '.[io]'`",
    ),
    Format(
        "cusnp",
        "cuSNP",
        "system",
        (".in",),
        *_in(".cusnp", "read_cusnp", "write_cusnp"),
        help="numbers; neurons have no names",
    ),
    Format(
        "dot",
        "DOT",
        "system",
        (".dot", ".gv"),
        writer=_later(".graph_export:write_dot"),
        keeps=("name",),
        help="a picture, not a model",
    ),
    Format(
        "graphml",
        "GraphML",
        "system",
        (".graphml",),
        writer=_later(".graph_export:write_graphml"),
        keeps=("name",),
        help="a graph, not a model; needs `pip install '.[io]'`",
    ),
    Format(
        "lsn",
        "LSN",
        "net",
        (".lsn",),
        *_in(".sleptsov.lsn", "read_lsn", "write_lsn"),
        keeps=("positions",),
        rule="sleptsov",
        help="a line for each arc, numbers from 1; the format for large nets",
    ),
    Format(
        "hsn",
        "HSN",
        "net",
        (".hsn",),
        *_in(".sleptsov.hsn", "read_hsn", "write_hsn"),
        options=("max_flat_size",),
        keeps=("sub-nets",),
        rule="sleptsov",
        help="an LSN whose transitions stand for the nets of other files; linked when it is read",
    ),
    Format(
        "mcc",
        "SN-MCC",
        "net",
        (".mcc",),
        *_in(".sleptsov.mcc", "read_mcc", "write_mcc"),
        keeps=("positions",),
        rule="sleptsov",
        help="tables of condensed columns in order of priority, numbers from 0",
    ),
    Format(
        "msn",
        "MSN",
        "net",
        (".msn",),
        *_in(".sleptsov.msn", "read_msn", "write_msn"),
        keeps=("positions",),
        rule="sleptsov",
        help="dense matrices, numbers from 0",
    ),
    Format(
        "greatspn",
        "GreatSPN .net",
        "net",
        (".net",),
        _later(".sleptsov.greatspn:read_greatspn"),
        recognises=is_greatspn,
        options=("drop_time",),
        rule="petri",
        help="nets with plain tokens; a `.net` file whose first line is `\\|0\\|`",
    ),
    Format(
        "net",
        "Tina .net",
        "net",
        (".net",),
        *_in(".sleptsov.tina_net", "read_net_format", "write_net_format"),
        options=("drop_time",),
        rule="petri",
        help="declarations with names",
    ),
    Format(
        "ndr",
        "Tina .ndr",
        "net",
        (".ndr",),
        *_in(".sleptsov.tina_ndr", "read_ndr", "write_ndr"),
        options=("drop_time", "max_flat_size"),
        keeps=("positions",),
        rule="petri",
        help="a drawing, with coordinates; labels `{*HSN(...)}` are linked",
    ),
    Format(
        "pnml",
        "PNML",
        "net",
        (".pnml",),
        _later(".sleptsov.pnml:read_pnml"),
        _later(".sleptsov.pnml_write:write_pnml"),
        options=_OF_PNML,
        keeps=("final markings", "positions"),
        rule="petri",
        help="place/transition nets of the standard, also as pm4py, ProM, GreatSPN, Tina and WoPeD "
        "write them",
    ),
    Format(
        "tapn",
        "TAPAAL",
        "net",
        (".tapn",),
        _later(".sleptsov.pnml:read_tapn"),
        options=_OF_PNML,
        rule="petri",
        help="one net without times",
    ),
    Format(
        "pipe",
        "PIPE",
        "net",
        (".xml",),
        _later(".sleptsov.pnml:read_pnml"),
        recognises=is_pnml,
        options=_OF_PNML,
        rule="petri",
        help="a `.xml` file whose root element is `<pnml>`",
    ),
    Format(
        "aut",
        "Aldebaran",
        "graph",
        (".aut",),
        writer=_later("snpjax.check.exports.aut:aut_files"),
        options=("labels",),
        help='CADP and mCRL2: edges with `labels="rules"` (`n1:0, n2:1`; `n1:0.2` takes subset 2 '
        'of synapses) or `"emissions"` (`n3=1`, `silent`); no configurations',
    ),
    Format(
        "prism",
        "PRISM explicit",
        "graph",
        (".tra", ".sta", ".lab"),
        writer=_later("snpjax.check.exports.prism:prism_files"),
        options=("labels", "predicates", "chain"),
        help="three files: configurations as variables, labels, and choices as actions of a "
        "decision process; with `chain=True` a Markov chain of uniform choices",
    ),
    Format(
        "drn",
        "Storm DRN",
        "graph",
        (".drn",),
        writer=_later("snpjax.check.exports.drn:drn_files"),
        options=("labels", "predicates", "chain"),
        help="Storm's direct encoding, with the states, labels and actions of PRISM explicit",
    ),
    Format(
        "nusmv",
        "NuSMV",
        "graph",
        (".smv",),
        writer=_later("snpjax.check.exports.nusmv:nusmv_files"),
        options=("bounds",),
        help="NuSMV and nuXmv: the *system* as a symbolic model, one step a transition, counts "
        "within bounds",
    ),
    Format(
        "json",
        "JSON",
        "graph",
        (".json",),
        writer=_later("snpjax.check.exports.json_graph:json_files"),
        help="everything, see [below](#json)",
    ),
    Format(
        "graphml",
        "GraphML",
        "graph",
        (".graphml",),
        writer=_later("snpjax.check.exports.graphml:graphml_files"),
        help="everything, lists as texts",
    ),
    Format(
        "dot",
        "DOT",
        "graph",
        (".dot", ".gv"),
        writer=_later("snpjax.check.exports.pictures:dot_files"),
        options=("labels",),
        help="a picture of a graph of any size",
    ),
    Format(
        "svg",
        "SVG",
        "graph",
        (".svg",),
        writer=_later("snpjax.check.exports.pictures:svg_files"),
        options=("labels",),
        help="a picture of a small graph",
    ),
)

_EXPORT = "export the net as PNML there, and read that file"
_CONVERT = "convert it to PNML with a tool that imports it, such as"
#: Suffixes of nets of other tools: what such a file is, and how to get a file that is read.
_OF_OTHER_TOOLS: dict[str, tuple[str, str]] = {
    ".pnpro": ("a project of GreatSPN's editor", "export its net there as PNML or GreatSPN .net"),
    ".tpn": ("the format TPN of Woflan, ProM or Tina", f"{_CONVERT} ProM or Tina's ndrio"),
    **dict.fromkeys((".lola", ".llnet", ".owfn"), ("a net of LoLA", f"{_CONVERT} PNAPI's petri")),
    **dict.fromkeys(
        (".spn", ".spped", ".spept", ".spstochpn", ".spcontped", ".sptpt", ".andl", ".cpn_andl"),
        ("a net of Snoopy or Marcie", f"{_EXPORT} (Snoopy imports ANDL)"),
    ),
    **dict.fromkeys(
        (".colextpn", ".colpn", ".colstochpn", ".candl"),
        ("a coloured net of Snoopy", "unfold it in Snoopy, and export that net as PNML"),
    ),
    ".pnt": ("a net of INA", f"{_CONVERT} Snoopy"),
    ".apnn": ("a net in APNN", f"{_CONVERT} Snoopy"),
    ".cpn": (
        "a coloured net of CPN Tools",
        "unfold it, and save the net with plain tokens as PNML",
    ),
    ".work": ("a model of Workcraft", _EXPORT),
    ".yasper": ("a net of Yasper", _EXPORT),
}

#: Where the files of each kind of model are read and written.
_FUNCTIONS: dict[Holds, str] = {
    "system": "snp.read and snp.write, snpjax convert",
    "net": "snp.read_net and snp.write_net, snpjax sleptsov",
    "graph": "snp.write_graph, snpjax explore",
}


def formats_of(holds: Holds) -> dict[str, Format]:
    """The built-in formats of one kind of model.

    **Arguments:**

    - `holds`: the kind of model, such as `"system"` or `"net"`.

    **Returns:** the formats by name.
    """
    return {format.name: format for format in FORMATS if format.holds == holds}


def format_named(format: str | Format, holds: Holds) -> Format:
    """The format of that name, or the one that is given.

    **Raises:** `ValueError` for a name that no format of this kind of model has.
    """
    if isinstance(format, Format):
        if format.holds == holds:
            return format
        raise ValueError(
            f"{format.title} is a format of a {format.holds}, not of a {holds} (use: "
            f"{_FUNCTIONS[format.holds]})"
        )
    if not isinstance(format, str):
        raise TypeError(f"`format` is {format!r:.60}. Give a Format object, or the name of one.")
    known = formats_of(holds)
    if format not in known:
        raise ValueError(f"the format is {format!r} (write one of {', '.join(known)})")
    return known[format]


def format_to_read(source: Source, holds: Holds) -> Format:
    """The format that the suffix selects, and the text where formats share one.

    **Raises:** `ReadError` when neither says it.
    """
    found = _of_suffix(source.path, holds)
    format = next((f for f in found if not f.recognises or f.recognises(source)), None)
    if format is None:
        raise file_error(source.path, f"no format is recognised ({read_are(holds)})")
    return format


def format_to_write(target: Path, holds: Holds) -> Format:
    """The format that the suffix selects. **Raises:** `ValueError` when it says none."""
    found = _of_suffix(target, holds)
    if found:
        return next((format for format in found if format.writer), found[0])
    suffixes = dict.fromkeys(s for f in formats_of(holds).values() if f.writer for s in f.suffixes)
    raise ValueError(
        f"{os.fspath(target)}: the suffix {target.suffix.lower()!r} cannot be written (write "
        f"{', '.join(suffixes)}, or give format=)"
    )


def check_suffix(path: str | os.PathLike[str], holds: Holds, source: Source | None = None) -> None:
    """Refuse a path whose suffix, or text, no format of this kind of model has.

    **Raises:** `ReadError`.
    """
    name, suffix = os.fspath(path), Path(path).suffix.lower()
    if source is None and os.path.isdir(path):
        raise file_error(name, "this is a folder (name a file in it)")
    told = Told("net") if is_of_net(path, source) else None
    if told is None and (suffix in _SHARED or not _of_suffix(path, holds)):
        told = _told(path, source)
    if told is None and holds == "net" and _of_suffix(path, "system"):
        told = Told("system")
    if told is not None and told.kind != holds:
        raise WrongKind(name, *told)
    if not _of_suffix(path, holds):
        if suffix in _OF_OTHER_TOOLS:
            tool, fix = _OF_OTHER_TOOLS[suffix]
            raise file_error(name, f"{tool} is not read ({fix})")
        raise file_error(name, f"unknown suffix {suffix!r} ({read_are(holds)}; or give format=)")


def refuse_other_kind(source: Source, kind: Kind) -> None:
    """Refuse a text that is not read as this kind, if it is of another.

    **Raises:** `WrongKind`.
    """
    told = told_by_text(source) or _told(source.path, source)
    if told is not None and told.kind != kind:
        shown = _told(source.path, source) or told
        raise WrongKind(source.path, *(shown if shown.kind == told.kind else told))


def _told(path: str | os.PathLike[str], source: Source | None) -> Told | None:
    """What a file holds, by its suffix, and where that is of no kind or of several by its text;
    `None` if neither says it, or the text cannot be read."""
    kinds = [holds for holds in get_args(Holds) if _of_suffix(path, holds)]
    is_shared = Path(path).suffix.lower() in _SHARED
    if len(kinds) == 1 and not is_shared:
        return Told(kinds[0])
    try:
        told = told_by_text(source or load(path))
    except ReadError:
        return None
    return Told(told.kind) if told is not None and is_shared else told


def is_of_net(path: str | os.PathLike[str], source: Source | None = None) -> bool:
    """Whether a file holds a net, by its suffix, and by its text where systems share that suffix.

    **Raises:** `ReadError` if the text is needed, not given and cannot be read.
    """
    nets = _of_suffix(path, "net")
    if not nets or not _of_suffix(path, "system"):
        return bool(nets)
    source = source or load(path)
    return any(format.recognises is not None and format.recognises(source) for format in nets)


def kind_to_open(path: str, source: Source) -> Holds:
    """Which of a system and a net a file is to be opened as; a system if nothing shows a net."""
    told = Told("net") if is_of_net(path, source) else _told(path, source)
    return "net" if told is not None and told.kind == "net" else "system"


def read_are(holds: Holds) -> str:
    """What can be read, in a message."""
    titles: dict[str, list[str]] = {}
    for format in formats_of(holds).values():
        for suffix in format.suffixes if format.reader else ():
            titles.setdefault(suffix, []).append(format.title)
    return "snpjax reads " + ", ".join(
        f"{suffix} ({', '.join(of)})" for suffix, of in titles.items()
    )


def names_text(holds: Holds) -> str:
    """The names of the formats by what can be done with them, in a help text."""
    some = formats_of(holds).values()
    by_use = {
        "read and written": [f.name for f in some if f.reader and f.writer],
        "only read": [f.name for f in some if not f.writer],
        "only written": [f.name for f in some if not f.reader],
    }
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in by_use.items() if names)


def suffixes_text(holds: Holds) -> str:
    """The suffixes that can be written, in a help text."""
    written = [format for format in formats_of(holds).values() if format.writer]
    return ", ".join(f"{' '.join(format.suffixes)} ({format.title})" for format in written)


def _of_suffix(path: str | os.PathLike[str], holds: Holds) -> list[Format]:
    suffix = Path(path).suffix.lower()
    return [format for format in formats_of(holds).values() if suffix in format.suffixes]
