"""Models as texts: what a browser opens and saves."""

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from ...io import Losses, ReadError, WriteError
from ...io.errors import MAX_SHOWN, Diagnostic, ReadWarning, file_error
from ...io.formats import Format, check_suffix, format_to_read, formats_of, kind_to_open
from ...io.read import model_text, read_net_source, read_source
from ...io.revise import revisions
from ...io.source import Source, decoded
from ...sleptsov import AbstractRule, Arcs, SleptsovNet
from ...spiking import ModelWarning, PopulationSystem, SpikingSystem
from ...spiking.model.population import AnySystem
from ...spiking.model.validity import Level
from .described import Json


#: What a file may hold.
FileModel: TypeAlias = AnySystem | SleptsovNet

#: A larger system is not drawn.
MAX_NEURONS, MAX_SYNAPSES = 20_000, 100_000

#: Those of systems and nets, by name.
MODEL_FORMATS = formats_of("system") | formats_of("net")


@dataclass(frozen=True)
class OpenedModel:
    """A text that was read: the system, also as it was in the file, and what was remarked."""

    name: str
    text: str
    format: Format
    system: SpikingSystem | SleptsovNet
    original: FileModel
    warnings: tuple[Diagnostic, ...]


def open_model(name: str, text: str, *, format: str | None, level: Level) -> OpenedModel:
    """Read the system or net in a text; populations are expanded to neurons.

    **Arguments:**

    - `name`: the name of the file, whose suffix selects the format unless `format` names one.
    - `text`: its contents.
    - `format`: the name of a format, or `None`.
    - `level`: the level of validity that is required.

    **Returns:** the model with its text, format and warnings.

    **Raises:** `ReadError` with every located error, also for a system that is too large to be
    drawn.
    """
    name = file_name(name)
    known = None if format is None else MODEL_FORMATS[format]
    own = Source(name, text)
    holds = known.holds if known else kind_to_open(name, own)
    if known is None:
        check_suffix(name, holds, own)
    data = text.encode("utf-8", "surrogatepass")
    source = decoded(name, data, may_be_empty=holds == "net")
    known = known or format_to_read(source, holds)
    if not is_alone(known):
        message = (
            "an HSN file names the files of its sub-nets (link it first: snpjax sleptsov link)"
        )
        raise file_error(name, message)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        original = (
            read_net_source(source, known) if holds == "net" else read_source(source, known, level)
        )
        system = _expanded(name, original)
    found = tuple(d for warning in caught for d in _diagnostics(name, warning.message))
    return OpenedModel(name, source.text, known, system, original, found)


def opened_system(system: FileModel) -> OpenedModel:
    """A system that is in no file, with the text of `_fallback`.

    **Raises:** `ReadError` for one that is too large to be drawn.
    """
    stem = system.name or "model"
    own = _expanded(stem, system)
    text, own_format, lost = _fallback(stem, system, lossy=isinstance(system, SleptsovNet))
    return OpenedModel(f"{stem}{own_format.suffixes[0]}", text, own_format, own, system, lost)


def empty_json(level: Level) -> dict[str, Json]:
    """An empty system and an empty net, by their kinds, as `open` reads them."""
    net = SleptsovNet([], inputs=Arcs.of([]), outputs=Arcs.of([]))
    found = {"system": opened_system(SpikingSystem([], level=level)), "net": opened_system(net)}
    return {
        kind: {"name": x.name, "text": x.text, "format": x.format.name} for kind, x in found.items()
    }


class ModelText(NamedTuple):
    """The text of a model, its format, and warnings of what the text leaves out."""

    text: str
    format: Format
    warnings: tuple[Diagnostic, ...] = ()


def _fallback(name: str, system: FileModel, *, lossy: bool) -> ModelText:
    """The text of what is in no file, or cannot be written in its own format.

    Systems are native and nets LSN; those with a total order are SN-MCC, which keeps it, unless
    its tables are too large.
    """

    def written(format: Format) -> ModelText:
        text, losses = serialize(system, format, lossy=lossy)
        return ModelText(text, format, _left_out(name, format, losses))

    if not isinstance(system, SleptsovNet):
        return written(MODEL_FORMATS["native"])
    if system.order is not None:
        with suppress(ValueError):
            return written(MODEL_FORMATS["mcc"])
    return written(MODEL_FORMATS["lsn"])


def _left_out(name: str, format: Format, losses: Sequence[str]) -> tuple[Diagnostic, ...]:
    """A warning of what a text lacks; none if it lacks nothing."""
    if not losses:
        return ()
    some = "; ".join([*losses[:MAX_SHOWN], *(["..."] if len(losses) > MAX_SHOWN else [])])
    return _diagnostics(name, f"the text leaves out what {format.title} cannot hold: {some}")


def file_name(path: str) -> str:
    """What of a path the page knows: its last part."""
    return PurePath(path).name or "model"


def check_size(name: str, system: FileModel) -> None:
    """Refuse what is too large to be drawn.

    **Raises:** `ReadError` with both sizes.
    """
    if isinstance(system, SleptsovNet):
        kinds = (system.inputs, system.outputs, system.inhibitors, system.tests)
        sizes = system.num_places + system.num_transitions, sum(map(len, kinds))
        what = "the net has {:,} places and transitions and {:,} arcs", "snpjax sleptsov"
    else:
        sizes = system.num_neurons, system.num_synapses
        what = "the system has {:,} neurons and {:,} synapses", "snpjax run and snpjax info"
    if sizes[0] > MAX_NEURONS or sizes[1] > MAX_SYNAPSES:
        message = (
            f"{what[0].format(*sizes)}, more than the {MAX_NEURONS:,} and {MAX_SYNAPSES:,} that "
            f"are drawn (use {what[1]})"
        )
        raise file_error(name, message)


def _expanded(name: str, system: FileModel) -> SpikingSystem | SleptsovNet:
    """What is drawn. **Raises:** `ReadError` where it is too large."""
    check_size(name, system)
    if not isinstance(system, PopulationSystem):
        return system
    try:
        return system.expand()
    except ValueError as error:
        raise file_error(name, f"the populations cannot be drawn: {error}") from None


def _diagnostics(name: str, warning: Warning | str) -> tuple[Diagnostic, ...]:
    if isinstance(warning, ReadWarning):
        return warning.diagnostics
    return (Diagnostic(name, None, None, f"{warning}", "warning"),)


_FORMAT = re.compile(r'give format=(?:"(\w+)")?')  # advice in Python


def diagnostics_json(found: tuple[Diagnostic, ...]) -> list[Json]:
    """Findings with their places, which are 1-based, and the advice of the page."""

    def chosen(advice: re.Match[str]) -> str:
        return f"choose the format{f' {MODEL_FORMATS[advice[1]].title}' if advice[1] else ''}"

    return [
        {
            "line": d.line,
            "column": d.column,
            "message": _FORMAT.sub(chosen, d.message),
            "severity": d.severity,
        }
        for d in found
    ]


def text_and_losses(system: FileModel, format: Format) -> tuple[str, Losses]:
    """The text of a model file, what it lacks, and the names that it replaces.

    **Raises:** `ValueError` for a model that is too large for the format.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return model_text(system, format)


def serialize(system: FileModel, format: Format, *, lossy: bool) -> tuple[str, tuple[str, ...]]:
    """The text of a model file, and what it lacks.

    **Raises:** `WriteError` with all that would be lost, unless that is allowed.
    """
    text, losses = text_and_losses(system, format)
    if losses.items and not lossy:
        raise WriteError(losses)
    return text, tuple(losses.items)


def with_rule(found: OpenedModel, rule: AbstractRule, *, level: Level) -> OpenedModel:
    """A model that was read, with another rule of the steps if it is a net; its text says so."""
    net = found.system
    if not isinstance(net, SleptsovNet) or net.rule.name == rule.name:
        return found
    text, format, _ = edited_text(found, net.with_rule(rule), level=level)
    name = found.name
    if format is not found.format:
        name = f"{PurePath(name).stem}{format.suffixes[0]}"
    return open_model(name, text, format=format.name, level=level)


def edited_text(
    found: OpenedModel, model: SpikingSystem | SleptsovNet, *, level: Level
) -> ModelText:
    """The text of a file with an edited model.

    Comments and formatting stay where nothing changed, as far as the text has a place for the
    change (`revisions`). A format that cannot hold the model gives way to that of `_fallback`; one
    that replaces names is kept, with a warning.
    """
    format, text, renamed = found.format, None, []
    if format.writer is not None:
        with suppress(ValueError):  # it may also be too large for the format
            text, losses = text_and_losses(model, format)
            text, renamed = None if losses.items else text, losses.renamed
    if text is None:
        return _fallback(found.name, model, lossy=True)

    def model_in(candidate: str) -> SpikingSystem | SleptsovNet | None:
        try:
            return open_model(found.name, candidate, format=format.name, level=level).system
        except ReadError:
            return None

    wanted = model_in(text)  # without the notes that a format has no place for

    def is_right(candidate: str) -> bool:
        read = model_in(candidate)
        if read is None or wanted is None:
            return False
        return read == wanted and read.notes == wanted.notes

    before, _ = serialize(found.system, format, lossy=True)
    candidates = revisions(found.text, before, text)
    if format.appends is not None:
        candidates = chain(candidates, format.appends(found.text, before, text))
    text = next(filter(is_right, candidates), text)
    return ModelText(text, format, _left_out(found.name, format, renamed))


def is_alone(format: Format) -> bool:
    """Whether a text holds all of a model: HSN names other files, which the page does not have."""
    return "sub-nets" not in format.keeps


def formats_json() -> list[Json]:
    """All formats of models."""
    return [
        {
            "name": name,
            "title": format.title,
            "suffixes": list(format.suffixes),
            "read": format.reader is not None and is_alone(format),
            "written": format.writer is not None and is_alone(format),
            "kind": format.holds,
            "positions": "positions" in format.keeps,
        }
        for name, format in MODEL_FORMATS.items()
    ]
