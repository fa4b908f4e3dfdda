"""`snpjax proliferation ...`: predict, simulate, calibrate and draw fluorescence histograms."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from .ending import BAD_INPUT, FAILED, ended, orderly
from .options import AsJson, flag, one_of, value


if TYPE_CHECKING:
    from ..io.proliferation import ModelFile
    from ..proliferation import Histogram, ProliferationModel, SparseHistogram

proliferation = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Cell proliferation read through the dilution of a fluorescent label.",
)

Initial: TypeAlias = Annotated[
    Path, typer.Argument(metavar="HISTOGRAM", help="Two columns: fluorescence and cells.")
]
ModelPath: TypeAlias = Annotated[
    Path, value("--model/-c", "FILE", "JSON, YAML, or lines `proportion mean sd` (hours).")
]
ModelArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="JSON, YAML, or type file.")
]
NamedInitial: TypeAlias = Annotated[
    Path | None, typer.Option("--initial", help="Default: the file that the model names.")
]
NamedTarget: TypeAlias = Annotated[
    Path | None, typer.Option("--target", help="Default: the file that the model names.")
]
Duration: TypeAlias = Annotated[
    float | None,
    typer.Option("--time-max", "-t", metavar="HOURS", help="Default: the model's.", min=0.0),
]
PhiMin: TypeAlias = Annotated[
    float | None,
    value(
        "--phi-min/-p",
        "X",
        "Cells that would fall to this fluorescence or below vanish. Default: the model's, or the "
        "smallest that a cell has.",
    ),
]
StartRule: TypeAlias = Annotated[
    str | None,
    value(
        "--start",
        "RULE",
        "When families divide first: async (the default: a random part of one division time, and "
        "then a whole one, so it delays), sync, residual, stretch.",
    ),
]
LawName: TypeAlias = Annotated[
    str, value("--law", "LAW", "normal (redrawn until positive), or gamma: shape and scale.")
]
Output: TypeAlias = Annotated[
    Path | None, value("-o/--output", "FILE", "Default: the standard output.")
]
TrackTypes: TypeAlias = Annotated[
    bool, typer.Option("--track-types", "-r", help="A column for each cell type.")
]


@proliferation.command()
@orderly()
def simulate(
    initial: Initial,
    model: ModelPath,
    time_max: Duration = None,
    phi_min: PhiMin = None,
    start: StartRule = None,
    law: LawName = "normal",
    expectation: Annotated[
        bool, flag("--expectation", "Exact means and standard deviations instead.")
    ] = False,
    runs: Annotated[
        int, typer.Option(min=1, help="This many runs; rows are the mean over them.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same histogram.")] = 0,
    track_types: TrackTypes = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Simulate the histogram after a time, cell by cell.

    Rows are value and cells, ascending, without empty ones; a .csv file has a header.
    """
    with _mistakes():
        _, found = _model(model, law, initial, time_max, phi_min, start)
        if expectation:
            _write_expected(found, track_types, output, as_json)
            return
        import jax

        from ..proliferation import simulate
        from ..proliferation.table import merged

        sample = simulate(found, jax.random.key(seed), runs=runs, by_type=track_types)
        counts = sample.counts[0] if runs == 1 else sample.counts.mean(0)
        by_type = sample.by_type
        if by_type is not None:
            by_type = by_type[0] if runs == 1 else by_type.mean(0)
        table = merged(sample.fluorescence, counts, by_type)
        _write(table, found, track_types, output, as_json)
        _say_total(found, f"{sample.total.mean():,.10g}", output)


@proliferation.command()
@orderly()
def expected(
    initial: Initial,
    model: ModelPath,
    time_max: Duration = None,
    phi_min: PhiMin = None,
    start: StartRule = None,
    law: LawName = "normal",
    track_types: TrackTypes = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Compute the exact mean and standard deviation of the histogram after a time."""
    with _mistakes():
        _, found = _model(model, law, initial, time_max, phi_min, start)
        _write_expected(found, track_types, output, as_json)


@proliferation.command()
@orderly()
def calibrate(
    model: ModelArgument,
    initial: NamedInitial = None,
    target: NamedTarget = None,
    time_max: Duration = None,
    phi_min: PhiMin = None,
    start: StartRule = None,
    law: LawName = "normal",
    bins: Annotated[int | None, typer.Option(min=2, help="Default: the model's, or 100.")] = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="hellinger, multinomial or gaussian.")
    ] = "hellinger",
    starts: Annotated[int, typer.Option(min=1, help="Searches.")] = 6,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
    any_axis: Annotated[bool, flag("--any-axis", "Compare histograms of different axes.")] = False,
    save_model: Annotated[
        Path | None, value("--save-model", "FILE", "Write the fitted model.")
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Fit proportions and division times to the histogram measured after a time."""
    from .. import proliferation as pr
    from ..io.proliferation import calibration_record, write_calibration, write_model
    from . import data

    with _mistakes():
        file, found = _model(model, law, initial, time_max, phi_min, start)
        usual = file.bins or pr.Bins()
        objectives = {x.value: x for x in pr.Objective}
        best = pr.calibrate(
            found,
            _histogram(target, file, "target"),
            bins=pr.Bins(usual.lowest, usual.highest, bins or usual.num),
            objective=one_of(objectives, objective, "objective", "--objective"),
            bounds=file.bounds,
            starts=starts,
            seed=seed,
            same_axis=not any_axis,
        )
        errors, goodness = pr.uncertainty(best), pr.goodness_of_fit(best)
        if save_model is not None:
            import dataclasses

            write_model(dataclasses.replace(file, types=best.model.types), save_model)
        if output is not None:
            write_calibration(best, output, errors, goodness)
    if as_json:
        data.print_json(calibration_record(best, errors, goodness))
    else:
        _show_calibration(best, errors, goodness)


@proliferation.command()
@orderly()
def plot(
    model: ModelArgument,
    output: Annotated[Path, value("-o/--output", "FILE", "A .png, .svg or .pdf file.")],
    initial: NamedInitial = None,
    target: NamedTarget = None,
    time_max: Duration = None,
    phi_min: PhiMin = None,
    start: StartRule = None,
    law: LawName = "normal",
    bins: Annotated[int, typer.Option(min=2)] = 100,
) -> None:
    """Draw the measured and the expected histogram with a 95 % band, by type and by generation, and
    the residuals."""
    from ..proliferation import Bins
    from ..viz.proliferation import draw

    with _mistakes():
        file, found = _model(model, law, initial, time_max, phi_min, start)
        usual = file.bins or Bins()
        measured = _histogram(target, file, "target")
        draw(found, measured, output, bins=Bins(usual.lowest, usual.highest, bins))
        typer.echo(f"{output}: written")


@contextlib.contextmanager
def _mistakes() -> Iterator[None]:
    """What users can cause becomes a message."""
    from ..io import ReadError
    from ..proliferation import SampleFailed

    try:
        yield
    except ReadError:
        raise
    except (ValueError, ImportError) as error:
        message = f"{error}".replace("same_axis=False", "--any-axis")
        raise ended(f"error: {message}", BAD_INPUT) from None
    except SampleFailed as error:
        raise ended(f"error: {error}", FAILED) from None
    except OSError as error:
        reason = f"{error.filename}: {error.strerror} (check the name and the permissions)"
        raise ended(f"error: {reason}", BAD_INPUT) from None


def _model(
    path: Path,
    law: str,
    initial: Path | None,
    time_max: float | None,
    phi_min: float | None,
    start: str | None,
) -> "tuple[ModelFile, ProliferationModel]":
    """What a file of a model or of types says, and the model with the options that were given."""
    from ..io.proliferation import ModelFile, read_model, read_types
    from ..proliferation import Start

    is_gamma = one_of({"normal": False, "gamma": True}, law, "law", "--law")
    starts = {x.value: x for x in Start}
    rule = None if start is None else one_of(starts, start, "start rule", "--start")
    if path.suffix.lower() in (".json", ".yaml", ".yml", ".prc"):
        file = read_model(path, gamma=is_gamma)
    else:
        file = ModelFile(read_types(path, gamma=is_gamma), folder=path.parent)
    first = _histogram(initial, file, "initial")
    return file, file.model(first, duration=time_max, phi_min=phi_min, start=rule)


def _histogram(path: Path | None, file: "ModelFile", which: str) -> "Histogram":
    from ..io.proliferation import read_histogram

    return file.histogram(which) if path is None else read_histogram(path)


def _write_expected(
    model: "ProliferationModel", track_types: bool, output: Path | None, as_json: bool
) -> None:
    from ..proliferation import expected

    found = expected(model)
    _write(found.table(), model, track_types, output, as_json)
    _say_total(model, f"{found.total:,.10g} (sd {found.total_sd:,.4g})", output)


def _write(
    table: "SparseHistogram",
    model: "ProliferationModel",
    track_types: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    from ..io.proliferation import table_text, write_table
    from . import data

    names = model.names if track_types else None
    if output is not None:
        write_table(table, output, names=names)
    if as_json:
        record = {"fluorescence": table.fluorescence.tolist(), "cells": table.total.tolist()}
        if names is not None and table.by_type is not None:
            record["types"] = dict(zip(names, table.by_type.tolist(), strict=True))
        if table.sd is not None:
            record["sd"] = table.sd.tolist()
        data.print_json(record)
    elif output is None:
        typer.echo(table_text(table, names=names), nl=False)


def _say_total(model: "ProliferationModel", total: str, output: Path | None) -> None:
    """What the rows are, beside them and not among them."""
    place = "" if output is None else f"{output}: "
    typer.echo(
        f"{place}{model.initial.cells:,} cells become {total} in {model.duration:g} h", err=True
    )


def _show_calibration(best, errors, goodness) -> None:
    from .text import printable

    on_bound = set(best.active)
    typer.echo(f"Hellinger distance {best.distance:.4f} ({best.normalised:.5f} of 1)")
    for cell_type, error in zip(best.model.types, errors.proportion_errors, strict=True):
        typer.echo(
            printable(f"  {cell_type.name}: proportion {cell_type.proportion:.4f} +- {error:.4f}")
        )
    intervals = errors.intervals()
    for name, found in best.values.items():
        low, high = intervals[name]
        between = "on its bound" if name in on_bound else f"95 %: {low:.4g} to {high:.4g}"
        typer.echo(printable(f"  {name} {found:.4f}  ({between})"))
    typer.echo(
        f"goodness of fit: {goodness.statistic:.1f} with {goodness.degrees} degrees of freedom, "
        f"p = {goodness.p_value:.3g}"
    )
    typer.echo(f"{best.evaluations} evaluations from {len(best.starts)} starts")
