"""Reading and writing files of Sleptsov nets, whatever their format."""

import os
import warnings
from pathlib import Path

from ...sleptsov import SleptsovNet
from ...sleptsov.linking import HighNet
from ...whole import write_whole
from ..errors import file_error
from ..losses import Losses, WriteError, WriteWarning
from ..source import Source, load
from .formats import (
    NET_FORMATS,
    NetFormat,
    function,
    net_format_of,
    net_format_to_write,
    suffixes_are,
)


def read_net(
    path: str | os.PathLike[str],
    *,
    format: NetFormat | None = None,
    drop_time: bool = False,
    net: str | None = None,
    ignore_unknown: bool = False,
) -> SleptsovNet:
    """Read a Sleptsov net from a file.

    **Arguments:**

    - `path`: a file in UTF-8. The suffix says the format: `.lsn`, `.hsn` (which is linked), `.mcc`,
      `.msn`, `.net` and `.ndr` of Tina, `.pnml`, `.tapn` of TAPAAL; the text tells `.net` of
      GreatSPN and `.xml` of PIPE.
    - `format`: the format, when the suffix does not say it.
    - `drop_time`: read a net without its times, rates and weights, which are errors by default. All
      that is dropped is named in a warning.
    - `net`: PNML: the id of the net, in a file of several.
    - `ignore_unknown`: PNML: read a net without the elements and attributes that are not known,
      which are errors by default. All that is ignored is named in a warning.

    **Returns:** the net. What is accepted but probably not meant is told in one `ReadWarning`.

    **Raises:** `ReadError` with every error of the file, each `path:line:column: problem (fix)`.
    """
    _check_format(format)
    format = format or net_format_of(Path(path))
    if format is None:
        suffix = Path(path).suffix.lower()
        message = f"unknown suffix {suffix!r} (read are {suffixes_are()}; or give format=)"
        raise file_error(os.fspath(path), message)
    return read_net_source(
        load(path, may_be_empty=True),
        format,
        drop_time=drop_time,
        net=net,
        ignore_unknown=ignore_unknown,
    )


def read_net_source(
    source: Source,
    format: NetFormat,
    *,
    drop_time: bool = False,
    net: str | None = None,
    ignore_unknown: bool = False,
) -> SleptsovNet:
    """The net that a text describes. **Raises:** `ReadError`, whatever the text."""
    record = NET_FORMATS[format]
    options = {"drop_time": drop_time, "net": net, "ignore_unknown": ignore_unknown}
    for option, value in options.items():
        if value and option not in record.options:
            raise ValueError(f"{record.title} has nothing that `{option}` could choose.")
    given = {option: options[option] for option in record.options}
    return function(record.reader)(source, **given)


def write_net(
    net: SleptsovNet | HighNet,
    path: str | os.PathLike[str],
    *,
    format: NetFormat | None = None,
    lossy: bool = False,
) -> None:
    """Write a Sleptsov net to a file, which is whole or not there.

    **Arguments:**

    - `net`: a net; a `HighNet` is written as HSN, which names the files of its sub-nets.
    - `format`: by default the suffix says it.
    - `lossy`: leave out what the format cannot hold; each loss is named in one `WriteWarning`.

    **Raises:** `WriteError`, before the file is touched, with every item that the format cannot
    hold; `ValueError` when the suffix is none that can be written, or the net too large for tables.
    """
    _check_format(format)
    target = Path(path)
    format = format or net_format_to_write(target)
    if format is None:
        suffix = target.suffix.lower()
        raise ValueError(
            f"{os.fspath(path)}: the suffix {suffix!r} cannot be written (write "
            f"{suffixes_are(written=True)}, or give format=)"
        )
    text, losses = net_text(net, format)
    if losses.items and not lossy:
        raise WriteError(losses.format_name, losses.items)
    write_whole(target, text)
    if losses.items:
        warnings.warn(WriteWarning(losses.format_name, losses.items), stacklevel=2)


def net_text(net: SleptsovNet | HighNet, format: NetFormat) -> tuple[str, Losses]:
    """The text of a file, and what it cannot hold."""
    record = NET_FORMATS[format]
    if record.writer is None:
        raise ValueError(f"{record.title} is only read (write {suffixes_are(written=True)}).")
    losses = Losses(record.title)
    if (format == "hsn") != isinstance(net, HighNet):
        raise ValueError(
            "HSN is written of a `HighNet`, a net with sub-nets, and nothing else is (link it for "
            "another format; write .lsn for a flat net)."
        )
    if isinstance(net, SleptsovNet) and len(net.final_markings):
        if not record.holds_final_markings:
            losses.add(f"final markings, {len(net.final_markings)} of them", "left out")
    return function(record.writer)(net, losses), losses


def _check_format(format: str | None) -> None:
    if format is not None and format not in NET_FORMATS:
        raise ValueError(f"the format is {format!r} (write one of {', '.join(NET_FORMATS)})")
