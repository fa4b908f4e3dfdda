"""Reading and writing model files, whatever their format."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from snpjax_formats.articles import kind_of
from snpjax_formats.atomic import atomic_write

from .._text.rule_text import rule_text
from .._text.surrogates import HALF, lone_surrogate
from .._text.warn import warn
from ..machine import export_of
from ..sleptsov import AbstractRule, SleptsovNet
from ..sleptsov.linking import HighNet
from ..sleptsov.model.rules import check_rule
from ..spiking.model.communication_variants import Channels, Requests
from ..spiking.model.population import AnySystem, PopulationSystem
from ..spiking.model.system import SpikingSystem
from ..spiking.model.timed_variants import SynapseDelays
from ..spiking.model.validity import Level
from .errors import file_error
from .formats import (
    Format,
    Holds,
    NetFormat,
    SystemFormat,
    check_suffix,
    format_named,
    format_to_read,
    format_to_write,
    formats_of,
    read_are,
)
from .losses import Losses, WriteError, WriteWarning, expanded, with_plain_rules
from .source import Report, Source, load, reading


def read(
    path: str | os.PathLike[str],
    *,
    format: SystemFormat | Format | None = None,
    level: Level = "extended",
    parameters: Mapping[str, int | str] | None = None,
    allow_includes_outside: bool = False,
) -> AnySystem:
    """Read a spiking neural P system from a model file.

    **Arguments:**

    - `path`: a model file in UTF-8. The suffix selects the format, and where formats share one
      (`.pli`, `.json`, `.xml`) the content does.
    - `format`: the format, when neither does; a name, or a `snpjax.io.Format` of your own.
    - `level`: the validity level. A native file that says `"strict"` is strict in any case.
    - `parameters`: P-Lingua: the member of a family, `{"n": 8}`. It gives the parameters of `main`
      their values, integers or texts, and variables that are defined before the modules other ones.
    - `allow_includes_outside`: P-Lingua: follow `@include` also to files outside the folder of
      `path`, which is an error by default.

    **Returns:** the system; one of populations where a P-Lingua file makes more than 100,000
    instances of regular families. What is accepted but probably not meant is reported in one
    `ReadWarning`.

    **Raises:** `ReadError` with every independent error of the file, each `path:line:column:
    problem (fix)`; a parameter that the file does not have, or does not use, is one. `ValueError`
    for `parameters` or `allow_includes_outside` of a format that has none.
    """
    if level not in get_args(Level):
        raise ValueError(f'the level is {level!r} (write "strict" or "extended")')
    source, known = _opened(path, format, "system")
    return read_source(source, known, level, parameters, allow_includes_outside)


def read_net(
    path: str | os.PathLike[str],
    *,
    format: NetFormat | Format | None = None,
    drop_time: bool = False,
    net: str | None = None,
    ignore_unknown: bool = False,
    max_flat_size: int | None = None,
    rule: AbstractRule | None = None,
) -> SleptsovNet:
    """Read a Sleptsov or Petri net from a file.

    **Arguments:**

    - `path`: a file in UTF-8. The suffix selects the format: `.lsn`, `.hsn` (which is linked),
      `.mcc`, `.msn`, `.net` and `.ndr` of Tina, `.pnml`, `.tapn` of TAPAAL; the text tells `.net`
      of GreatSPN and `.xml` of PIPE.
    - `format`: the format, if the suffix does not determine it; a name, or a `snpjax.io.Format` of
      your own.
    - `drop_time`: read a net without its times, rates and weights, which are errors by default. All
      that is dropped is named in a warning.
    - `net`: PNML: the id of the net, in a file of several.
    - `ignore_unknown`: PNML: read a net without the elements and attributes that are not known,
      which are errors by default. All that is ignored is named in a warning.
    - `max_flat_size`: HSN and `.ndr`: the most places, transitions, arcs and priorities, together,
      of the flat net; by default 2^25, some 2 GB.
    - `rule`: of the steps of the net. By default that of the format: `Petri()` for PNML, TAPAAL,
      PIPE, GreatSPN and Tina, where a transition fires once in a step, `Sleptsov()` for the others;
      files that snpjax wrote say their own.

    **Returns:** the net. What is accepted but probably not meant is reported in one `ReadWarning`.

    **Raises:** `ReadError` with every error of the file, each `path:line:column: problem (fix)`.
    """
    source, known = _opened(path, format, "net")
    if rule is not None:
        check_rule(rule)
        source = replace(source, rule=rule)  # a net warns about what is odd under its rule
    read = read_net_source(
        source,
        known,
        drop_time=drop_time,
        net=net,
        ignore_unknown=ignore_unknown,
        max_flat_size=max_flat_size,
    )
    return read if rule is None else read.with_rule(rule)


def read_source(
    source: Source,
    format: SystemFormat | Format,
    level: Level,
    parameters: Mapping[str, int | str] | None = None,
    allow_includes_outside: bool = False,
) -> AnySystem:
    """The system that a text describes. **Raises:** `ReadError`, whatever the text."""
    known = format_named(format, "system")
    options: dict[str, object] = {} if parameters is None else {"parameters": parameters}
    if allow_includes_outside:
        options["allow_includes_outside"] = True
    check_options(known, {*options})
    return _read(source, known, AnySystem, level, **options)


def read_net_source(
    source: Source,
    format: NetFormat | Format,
    *,
    drop_time: bool = False,
    net: str | None = None,
    ignore_unknown: bool = False,
    max_flat_size: int | None = None,
) -> SleptsovNet:
    """The net that a text describes. **Raises:** `ReadError`, whatever the text."""
    known = format_named(format, "net")
    options = {
        "drop_time": drop_time,
        "net": net,
        "ignore_unknown": ignore_unknown,
        "max_flat_size": max_flat_size,
    }
    check_options(known, {option for option, value in options.items() if value})
    return _read(
        source, known, SleptsovNet, **{option: options[option] for option in known.options}
    )


def write(
    system: AnySystem,
    path: str | os.PathLike[str],
    *,
    format: SystemFormat | Format | None = None,
    lossy: bool = False,
) -> None:
    """Write a system to a model file, atomically.

    **Arguments:**

    - `system`: a system of neurons or of populations.
    - `path`: the file, which is replaced if it exists.
    - `format`: the name of a format, or a `snpjax.io.Format` of your own. By default the suffix
      selects it: `.pli` P-Lingua 4, `.json` snpjax native, `.yaml` sn-p-factory, `.in` cuSNP,
      `.dot` and `.graphml` graphs. WebSnapse JSON is `format="websnapse"`.
    - `lossy`: leave out what the format cannot hold; one `WriteWarning` lists all losses.

    **Raises:** `WriteError`, before the file is touched, with every item that the format cannot
    hold; `ValueError` for a suffix that no writable format has.
    """
    _write(system, path, format, "system", lossy)


def write_net(
    net: SleptsovNet | HighNet,
    path: str | os.PathLike[str],
    *,
    format: NetFormat | Format | None = None,
    lossy: bool = False,
) -> None:
    """Write a Sleptsov net to a file, atomically.

    **Arguments:**

    - `net`: a net; a `HighNet` is written as HSN, which names the files of its sub-nets.
    - `path`: the file, which is replaced if it exists.
    - `format`: the name of a format, or a `snpjax.io.Format` of your own; by default the suffix
      selects it.
    - `lossy`: leave out what the format cannot hold; one `WriteWarning` lists all losses.

    **Raises:** `WriteError`, before the file is touched, with every item that the format cannot
    hold; `ValueError` for a suffix that no writable format has, or a net that is too large for
    tables.
    """
    _write(net, path, format, "net", lossy)


def model_text(
    model: AnySystem | SleptsovNet | HighNet, format: str | Format
) -> tuple[str, Losses]:
    """Format a model as the text of a file.

    **Arguments:**

    - `model`: a system or a net.
    - `format`: the name of a format, or a `snpjax.io.Format` of your own.

    **Returns:** the text, and what the format cannot hold, with the names that it replaces.

    **Raises:** `ValueError` for a format that cannot be written, or cannot hold this kind of model.
    """
    is_net = isinstance(model, SleptsovNet | HighNet)
    known = format_named(format, "net" if is_net else "system")
    if known.writer is None:
        writers = ", ".join(f.name for f in formats_of(known.holds).values() if f.writer)
        raise ValueError(f"{known.title} is read, not written (write {writers})")
    losses = Losses(known.title)
    if not is_net and known.name != "native":
        losses.instead = "a .snp.json file, which holds every part of a system"
    if is_net:
        if ("sub-nets" in known.keeps) != isinstance(model, HighNet):
            raise ValueError(
                "HSN is written of a `HighNet`, a net with sub-nets, and nothing else is (link it "
                "for another format; write .lsn for a flat net)."
            )
        rule = (model.net if isinstance(model, HighNet) else model).rule.name
        if known.rule and rule != known.rule:
            usual = "once" if known.rule == "petri" else "in its maximal multiplicity"
            place = "an element" if known.name == "pnml" else "a comment"
            losses.remark(
                f"{rule_text(rule)} is stored in {place} that only snpjax reads; other tools fire "
                f"a transition {usual}"
            )
        if isinstance(model, SleptsovNet) and len(model.final_markings):
            if "final markings" not in known.keeps:
                losses.add(f"final markings, {len(model.final_markings)} of them", "left out")
        return _written(known.writer, model, losses), losses
    if model.name and "name" not in known.keeps:
        losses.rename(f"name {model.name!r} of the system", "left out")
    variant = model.variant if isinstance(model, SpikingSystem) else None
    if isinstance(model, SpikingSystem) and variant and "variants" not in known.keeps:
        for item in _items(variant):
            losses.add(item, "left out, with what depends on it in the rules")
        if isinstance(variant, Channels | Requests):
            model = with_plain_rules(model)
    if not model.compatibility.is_textbook and "compatibility" not in known.keeps:
        losses.add(f"compatibility {model.compatibility}", "written without these options")
    if isinstance(model, PopulationSystem) and "populations" not in known.keeps:
        model = expanded(model, losses)
    return _written(known.writer, model, losses), losses


def _items(variant: Any) -> list[str]:
    """What a format without variants loses."""
    name = f"the variant {type(variant).__name__}"
    if not isinstance(variant, SynapseDelays) or not variant.delays:
        return [name]
    return [f"{name}: delay {delay} of ({s}, {t})" for (s, t), delay in variant.delays]


def _written(writer: Callable[..., object], model: object, losses: Losses) -> str:
    text = writer(model, losses)
    if not isinstance(text, str):
        raise TypeError(f"The writer of {losses.format_name} gave {text!r:.60}. Return the text.")
    half = lone_surrogate(text)
    if half is not None:
        place = text[max(half - 20, 0) : half + 1]
        raise ValueError(f"{place!r} ends with {HALF} (rename what contains it)")
    return text


def check_options(format: Format, given: set[str]) -> None:
    """Refuse options that a format does not have. **Raises:** `ValueError`."""
    for option in sorted(given - set(format.options)):
        raise ValueError(f"{format.title} has no option `{option}` (leave it out)")


def _opened(
    path: str | os.PathLike[str], format: str | Format | None, holds: Holds
) -> tuple[Source, Format]:
    known = None if format is None else format_named(format, holds)
    if known is None and os.path.exists(path):  # else `load` says that there is no such file
        check_suffix(path, holds)
    source = load(path, may_be_empty=holds == "net")
    return source, known or format_to_read(source, holds)


def _read(source: Source, format: Format, kind: Any, *level: Level, **options: object) -> Any:
    if format.reader is None:
        what = read_are(format.holds)
        raise file_error(source.path, f"{format.title} is written, not read ({what})")
    half = lone_surrogate(source.text)
    if half is not None:
        report = Report(source)
        report.error(half, f"this is {HALF} (write the character)")
        report.finish()
    with reading():
        model = format.reader(source, *level, **options)
    if not isinstance(model, kind):
        raise TypeError(f"The reader gave {model!r:.60}, not a {format.holds}.")
    return model


def _write(
    model: AnySystem | SleptsovNet | HighNet,
    path: str | os.PathLike[str],
    format: str | Format | None,
    holds: Holds,
    lossy: bool,
) -> None:
    target = Path(path)
    kinds = AnySystem if holds == "system" else SleptsovNet | HighNet
    if not isinstance(model, kinds):
        fix = (
            "`snpjax.write` writes SN P systems, `snpjax.write_net` nets, and "
            "`snpjax.io.write_numerical` numerical systems."
        )
        raise TypeError(f"{kind_of(model, 'A')} is not a {holds}. {export_of(model, fix)}")
    known = format_to_write(target, holds) if format is None else format_named(format, holds)
    text, losses = model_text(model, known)
    if losses.items and not lossy:
        raise WriteError(losses)
    atomic_write(target, text)
    if losses.items:
        warn(WriteWarning(losses))
