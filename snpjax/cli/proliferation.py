"""`snpjax proliferation ...`: predict, simulate, calibrate and draw fluorescence histograms."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from .ending import orderly, refusals
from .options import (
    AsJson,
    CheckpointFolder,
    checkpoint_in,
    flag,
    grouped,
    number,
    one_of,
    refuse_given,
    value,
)


if TYPE_CHECKING:
    from ..io.proliferation import ModelFile
    from ..proliferation import Bins, Calibration, Histogram, ProliferationModel, SparseHistogram

proliferation = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Cell proliferation, measured by the dilution of a fluorescent label.",
)

#: The formats of models by suffix; `.prc` projects are refused by the reader of JSON.
_SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".prc": "json", ".txt": "types"}

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
AnyAxis: TypeAlias = Annotated[bool, flag("--any-axis", "Compare histograms of different axes.")]
NumBins: TypeAlias = Annotated[
    int | None, typer.Option("--bins", min=2, help="Default: the model's, or 100.")
]
Output: TypeAlias = Annotated[
    Path | None, value("-o/--output", "FILE", "Default: the standard output.")
]


@dataclass(frozen=True)
class ModelOptions:
    """Options of the model, in place of what its file says."""

    time_max: Annotated[
        float | None,
        typer.Option("--time-max", "-t", metavar="HOURS", help="Default: the model's.", min=0.0),
    ] = None
    phi_min: Annotated[
        float | None,
        value(
            "--phi-min/-p",
            "X",
            "Cells that would fall to this fluorescence or below vanish. Default: the model's, or "
            "the smallest that a cell has.",
        ),
    ] = None
    start: Annotated[
        str | None,
        value(
            "--start",
            "RULE",
            "When families divide first: async (the default: a random part of one division time, "
            "and then a whole one, so it delays), sync, residual, stretch.",
        ),
    ] = None
    source_format: Annotated[
        str | None,
        value(
            "--from",
            "FORMAT",
            "The format of the model: json, yaml or types.  [default: "
            "the suffix says it; types for others]",
        ),
    ] = None
    law: Annotated[
        str, value("--law", "LAW", "normal (redrawn until positive), or gamma: shape and scale.")
    ] = "normal"

    def read(
        self, path: Path, initial: Path | None, *, validates: bool = False
    ) -> "tuple[ModelFile, ProliferationModel]":
        """What a file of a model or of types says, and the model with these options; `validates`:
        at the time of the validation file."""
        from ..io.proliferation import ModelFile, read_model, read_types
        from ..proliferation import Start

        is_gamma = one_of({"normal": False, "gamma": True}, self.law, "law", "--law")
        starts = {x.value: x for x in Start}
        rule = None if self.start is None else one_of(starts, self.start, "start rule", "--start")
        format = self.source_format or _SUFFIXES.get(path.suffix.lower(), "types")
        one_of(dict.fromkeys(_SUFFIXES.values()), format, "format", "--from", that=" of a model")
        if format == "types":
            file = ModelFile(read_types(path, gamma=is_gamma), folder=path.parent)
        else:
            file = read_model(path, gamma=is_gamma, is_yaml=format == "yaml")
        first = _histogram(initial, file, "initial")
        duration = self.time_max
        if duration is None and validates:
            duration = file.validation_duration
            if duration is None:
                raise ValueError("the model has no simulation_validation_time (pass --time-max)")
        model = file.model(first, duration=duration, phi_min=self.phi_min, start=rule)
        return file, model


@dataclass(frozen=True)
class TableOptions:
    """Options of commands that write the histogram after a time."""

    track_types: Annotated[
        bool, typer.Option("--track-types", "-r", help="A column for each cell type.")
    ] = False
    output: Output = None
    as_json: AsJson = False

    def write(self, table: "SparseHistogram", model: "ProliferationModel", total: str) -> None:
        """Write the rows; what they are stands beside them and not among them."""
        from ..io.proliferation import table_text, write_table
        from . import data

        names = model.names if self.track_types else None
        if self.output is not None:
            write_table(table, self.output, names=names)
        if self.as_json:
            record = {"fluorescence": table.fluorescence.tolist(), "cells": table.total.tolist()}
            if names is not None and table.by_type is not None:
                record["types"] = dict(zip(names, table.by_type.tolist(), strict=True))
            if table.sd is not None:
                record["sd"] = table.sd.tolist()
            data.print_json(record)
        elif self.output is None:
            typer.echo(table_text(table, names=names), nl=False)
        place = "" if self.output is None else f"{self.output}: "
        cells, hours = f"{model.initial.cells:,}", f"{model.duration:g}"
        typer.echo(f"{place}{cells} cells become {total} in {hours} h", err=True)

    def write_expected(self, model: "ProliferationModel") -> None:
        from ..proliferation import expected

        found = expected(model)
        total = f"{found.total:,.10g} (sd {found.total_sd:,.4g})"
        self.write(found.table(), model, total)


@proliferation.command()
@orderly()
@grouped
def simulate(
    *,
    initial: Initial,
    model: ModelPath,
    options: ModelOptions,
    expectation: Annotated[
        bool, flag("--expectation", "Exact means and standard deviations instead.")
    ] = False,
    runs: Annotated[
        int, typer.Option(min=1, help="This many runs; rows are the mean over them.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same histogram.")] = 0,
    checkpoint: CheckpointFolder = None,
    table: TableOptions,
) -> None:
    """Simulate the histogram after a time, cell by cell.

    Rows are value and cells, ascending, without empty ones; a .csv file has a header.
    """
    from ..proliferation import SampleFailed

    with refusals(failures=(SampleFailed,)):
        _, found = options.read(model, initial)
        if expectation:
            refuse_given({"--checkpoint": checkpoint}, "it cannot be combined with --expectation")
            table.write_expected(found)
            return
        import jax

        from ..proliferation import simulate
        from ..proliferation.table import merged

        sample = simulate(
            found,
            jax.random.key(seed),
            runs=runs,
            by_type=table.track_types,
            checkpoint=checkpoint_in(checkpoint),
        )
        counts = sample.counts[0] if runs == 1 else sample.counts.mean(0)
        by_type = sample.by_type
        if by_type is not None:
            by_type = by_type[0] if runs == 1 else by_type.mean(0)
        rows = merged(sample.fluorescence, counts, by_type)
        table.write(rows, found, f"{sample.total.mean():,.10g}")


@proliferation.command()
@orderly()
@grouped
def expected(
    *,
    initial: Initial,
    model: ModelPath,
    options: ModelOptions,
    table: TableOptions,
) -> None:
    """Compute the exact mean and standard deviation of the histogram after a time."""
    with refusals():
        _, found = options.read(model, initial)
        table.write_expected(found)


@proliferation.command()
@orderly()
@grouped
def calibrate(
    *,
    model: ModelArgument,
    initial: NamedInitial = None,
    target: NamedTarget = None,
    options: ModelOptions,
    bins: NumBins = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="hellinger, multinomial or gaussian.")
    ] = "hellinger",
    starts: Annotated[int, typer.Option(min=1, help="Searches.")] = 6,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
    checkpoint: CheckpointFolder = None,
    any_axis: AnyAxis = False,
    save_model: Annotated[
        Path | None, value("--save-model", "FILE", "Write the fitted model.")
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Fit proportions and division times to the histogram measured after a time.

    The keys min_mean, max_mean, min_std and max_std of the model bound the search. By default a
    mean is between 0.125 and 2.1 times the duration, and an sd up to 0.125 times; a bound that
    excludes the model's own value is half or twice that value instead.
    """
    import dataclasses
    import warnings

    from snpjax_formats.atomic import atomic_write_all

    from .. import proliferation as pr
    from ..io.proliferation import calibration_json, calibration_record, model_json
    from . import data

    with refusals():
        file, found = options.read(model, initial)
        objectives = {x.value: x for x in pr.Objective}
        best = pr.calibrate(
            found,
            _histogram(target, file, "target"),
            bins=_bins(file, bins),
            objective=one_of(objectives, objective, "objective", "--objective"),
            bounds=file.bounds,
            starts=starts,
            seed=seed,
            same_axis=not any_axis,
            checkpoint=checkpoint_in(checkpoint),
        )
        with warnings.catch_warnings():
            if not as_json:  # the first line of the summary says it
                warnings.simplefilter("ignore", pr.PoorFit)
            errors = pr.uncertainty(best)
        goodness = errors.goodness
        written = {}
        if save_model is not None:
            fitted = dataclasses.replace(file, types=best.model.types)
            written[save_model] = (model_json(fitted).encode(),)
        if output is not None:
            written[output] = (calibration_json(best, errors, goodness).encode(),)
        atomic_write_all(written)
    if as_json:
        data.print_json(calibration_record(best, errors, goodness))
    else:
        _show_calibration(best, errors, goodness)


@proliferation.command()
@orderly()
@grouped
def validate(
    *,
    model: ModelArgument,
    initial: NamedInitial = None,
    validation: Annotated[
        Path | None, typer.Option("--validation", help="Default: the file that the model names.")
    ] = None,
    options: ModelOptions,
    bins: NumBins = None,
    any_axis: AnyAxis = False,
    as_json: AsJson = False,
) -> None:
    """Compare a model with its validation file, a histogram that it was not fitted to.

    The time is the validation time of the model.
    """
    from .. import proliferation as pr
    from . import data

    with refusals():
        file, found = options.read(model, initial, validates=True)
        observed = _histogram(validation, file, "validation")
        distance, normalised = pr.validate(
            found, observed, bins=_bins(file, bins), same_axis=not any_axis
        )
    if as_json:
        record = {"duration": found.duration, "cells": observed.cells}
        data.print_json({**record, "hellinger": distance, "hellinger_normalised": normalised})
    else:
        typer.echo(f"after {found.duration:g} h, {observed.cells:,} cells")
        typer.echo(_distance_text(distance, normalised))


@proliferation.command()
@orderly()
@grouped
def plot(
    *,
    model: ModelArgument,
    output: Annotated[Path, value("-o/--output", "FILE", "A .png, .svg or .pdf file.")],
    initial: NamedInitial = None,
    target: NamedTarget = None,
    options: ModelOptions,
    bins: Annotated[
        int | None,
        number(
            "--bins",
            "Draw N bins of equal width in the logarithm, not bins that follow the channels.",
            least=2,
        ),
    ] = None,
) -> None:
    """Draw the measured and the expected histogram with a 95 % band, by type and by generation, and
    the residuals."""
    from ..viz.proliferation import draw

    with refusals():
        file, found = options.read(model, initial)
        measured = _histogram(target, file, "target")
        draw(found, measured, output, bins=None if bins is None else _bins(file, bins))
        typer.echo(f"{output}: written")


def _bins(file: "ModelFile", num: int | None) -> "Bins":
    from ..proliferation import Bins

    usual = file.bins or Bins()
    return Bins(usual.lowest, usual.highest, num or usual.num)


def _distance_text(distance: float, normalised: float) -> str:
    return f"Hellinger distance {distance:.4f} ({normalised:.5f} of 1)"


def _histogram(path: Path | None, file: "ModelFile", which: str) -> "Histogram":
    from ..io.proliferation import read_histogram

    return file.histogram(which) if path is None else read_histogram(path)


def bound_text(best: "Calibration", name: str) -> str:
    """The bound that a fitted number is on, and the key of a model file that sets it."""
    from ..proliferation.search import SD_FLOOR

    i = best.search.names.index(name)
    low, high = best.search.lower[i], best.search.upper[i]
    is_low = best.point[i] < 0.5
    text = f"on its {'lower' if is_low else 'upper'} bound, {low if is_low else high:.4g}"
    field = name.rpartition(" ")[2]
    column = {"mean": "mean", "shape": "mean", "sd": "std", "scale": "std"}.get(field)
    is_floor = is_low and field == "sd" and low <= SD_FLOOR * best.model.duration
    if column is None or is_floor:  # no key sets a share, or a smaller sd than the least
        return text
    return f"{text}; set {'min' if is_low else 'max'}_{column} to change it"


def _show_calibration(best, errors, goodness) -> None:
    from .text import printable

    if goodness.advice is not None:
        typer.echo(goodness.advice)
    typer.echo(_distance_text(best.distance, best.normalised))
    for cell_type, error in zip(best.model.types, errors.proportion_errors, strict=True):
        typer.echo(
            printable(f"  {cell_type.name}: proportion {cell_type.proportion:.4f} +- {error:.4f}")
        )
    intervals = errors.intervals()
    for name, found in best.values.items():
        ends = intervals[name]
        text = bound_text(best, name) if ends is None else "95 %: {:.4g} to {:.4g}".format(*ends)
        typer.echo(printable(f"  {name} {found:.4f}  ({text})"))
    for name in errors.undetermined_types:
        typer.echo(printable(f"  the data say nothing about how {name} divides"))
    typer.echo(
        f"goodness of fit: {goodness.statistic:.1f} with {goodness.degrees} degrees of freedom, "
        f"{goodness.p_text}"
    )
    typer.echo(f"{best.evaluations} evaluations from {len(best.starts)} starts")
