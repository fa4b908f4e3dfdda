"""Models as texts: what a browser opens and saves."""

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ...io import Format, NetFormat, ReadError, WriteError, write, write_net
from ...io.errors import Diagnostic, ReadWarning, file_error
from ...io.formats import FORMATS, check_suffix, format_to_read
from ...io.read import read_source
from ...io.sleptsov.formats import NET_FORMATS, net_format_of
from ...io.sleptsov.read import read_net_source
from ...io.source import Source, decoded
from ...sleptsov import SleptsovNet
from ...spiking import ModelWarning, PopulationSystem, SpikingSystem
from ...spiking.validity import Level
from .described import Json


#: A larger system is not drawn.
MAX_NEURONS, MAX_SYNAPSES = 5_000, 50_000


@dataclass(frozen=True)
class Opened:
    """A text that was read: the system, also as it was in the file, and what was remarked."""

    name: str
    text: str
    system: SpikingSystem | SleptsovNet
    original: SpikingSystem | PopulationSystem | SleptsovNet
    warnings: tuple[Diagnostic, ...]


def opened(name: str, text: str, *, format: Format | NetFormat | None, level: Level) -> Opened:
    """The system, or net, that a text describes; one of populations neuron by neuron.

    **Arguments:**

    - `name`: of the file, whose suffix says the format unless `format` does.

    **Raises:** `ReadError` with every located error, also for a system that is too large to be
    drawn.
    """
    name = file_name(name)
    of_net = net_format_of(Path(name), text) if format is None else format
    if format is None and of_net is None:
        check_suffix(name)
    if of_net == "hsn":
        message = (
            "an HSN file names the files of its sub-nets (link it first: snpjax sleptsov link)"
        )
        raise file_error(name, message)
    data = text.encode("utf-8", "surrogatepass")
    source = decoded(name, data, may_be_empty=of_net in NET_FORMATS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        if of_net in NET_FORMATS:
            original = read_net_source(source, of_net)
        else:
            original = read_source(source, format or format_to_read(source), level)  # pyright: ignore[reportArgumentType]
        system = _expanded(name, original)
    found = tuple(d for warning in caught for d in _diagnostics(name, warning.message))
    return Opened(name, source.text, system, original, found)


def opened_system(system: SpikingSystem | PopulationSystem | SleptsovNet) -> Opened:
    """A system that is in no file: its text is native, and that of a net LSN.

    **Raises:** `ReadError` for one that is too large to be drawn.
    """
    is_net = isinstance(system, SleptsovNet)
    name = f"{system.name or 'model'}{'.lsn' if is_net else '.snp.json'}"
    own = _expanded(name, system)
    text, _ = written(system, format="lsn" if is_net else "native", lossy=is_net)
    return Opened(name, text, own, system, ())


def file_name(path: str) -> str:
    """What of a path the page knows: its last part."""
    return PurePath(path).name or "model"


def _expanded(
    name: str, system: SpikingSystem | PopulationSystem | SleptsovNet
) -> SpikingSystem | SleptsovNet:
    """What is drawn. **Raises:** `ReadError` where it is too large."""
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


def diagnostics_json(found: tuple[Diagnostic, ...]) -> list[Json]:
    """Findings with their places, which are 1-based."""
    return [
        {"line": d.line, "column": d.column, "message": d.message, "severity": d.severity}
        for d in found
    ]


def written(
    system: SpikingSystem | PopulationSystem | SleptsovNet, *, format: str, lossy: bool
) -> tuple[str, tuple[str, ...]]:
    """The text of a model file, and what it lacks.

    **Raises:** `WriteError` with all that would be lost, unless that is allowed.
    """
    losses: tuple[str, ...] = ()
    write_model: Any = write_net if isinstance(system, SleptsovNet) else write
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        target = Path(folder) / "model"
        try:
            write_model(system, target, format=format)
        except WriteError as error:
            if not lossy:
                raise
            losses = error.items
            write_model(system, target, format=format, lossy=True)
        return target.read_text(encoding="utf-8"), losses


def format_of(name: str, text: str) -> Format | NetFormat | None:
    """The format of a file that was read, if its name says it."""
    of_net = net_format_of(Path(name), text)
    if of_net is not None:
        return of_net
    try:
        check_suffix(name)
        return format_to_read(Source(name, text))
    except ReadError:
        return None


class Known(NamedTuple):
    """A format as the page lists it; `kind` is what it holds, "system" or "net"."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: bool
    written: bool
    kind: str


def known_formats() -> dict[str, Known]:
    """All formats by name. HSN names other files, which a page has not."""
    systems = [
        Known(name, x.title, x.suffixes, x.reader is not None, x.writer is not None, "system")
        for name, x in FORMATS.items()
    ]
    nets = [
        Known(
            name, x.title, x.suffixes, name != "hsn", name != "hsn" and x.writer is not None, "net"
        )
        for name, x in NET_FORMATS.items()
    ]
    return {known.name: known for known in (*systems, *nets)}
