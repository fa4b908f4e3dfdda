"""`snpjax formats ...`: layouts are timed here, a model is trained, a choice is explained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from .ending import BAD_INPUT, ended, orderly, refusals
from .models import SystemOptions
from .options import AsJson, File, From, format_from, grouped, number, value


if TYPE_CHECKING:
    from snpjax_formats import AbstractChooser, Decision

    from ..spiking.model.population import AnySystem

formats = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Sparse layouts: which is fastest here, and why it was chosen.",
)

Timings: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Files that `time` wrote.")
]


@formats.command()
@orderly()
def time(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Timings are appended to it, a line each.")
    ],
    cells: Annotated[
        int, number("--cells", "The number of sizes, two graphs each.", least=1)
    ] = 400,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="S", min=0, help="Start no new graph after S seconds."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the graphs.")] = 0,
    again: Annotated[
        Path | None,
        value(
            "--again",
            "FILE",
            "Time the graphs of this file once more, with the fastest layouts only.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Time every layout on random graphs, as a data set for `train`.

    Answers are checked against the coordinate list. Stopped and started again with the same file,
    it continues where it was.
    """
    from . import data, progress

    with refusals():
        from snpjax_formats.select.gathering import gather

        with progress.of_run(2 * cells, hidden=as_json) as update:
            made = 0

            def one(_: object) -> None:
                nonlocal made
                made += 1
                if update is not None:
                    update(made, 0)

            total = gather(file, seed=seed, cells=cells, seconds=seconds, again=again, progress=one)
    if as_json:
        data.print_json({"file": f"{file}", "timed": made, "configurations": total})
    else:
        typer.echo(f"{file}: {total:,} configurations, {made:,} of them timed now")


@formats.command()
@orderly()
def train(
    files: Timings,
    output: Annotated[Path, value("--output/-o", "FILE", "Where the model is written.")],
    report: Annotated[
        Path | None, value("--report", "FILE", "Where the report is written, as JSON.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="What decisions call it.")] = "own",
    folds: Annotated[
        int, typer.Option("--folds", min=2, max=20, help="Parts of the cross-validation.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Train a cost model on timings, and report how well it chooses on graphs that it has not seen.

    Needs scikit-learn (`pip install '.[select]'`).
    """
    import json

    from . import data
    from .lossy import check_folder

    for path in (output, report):
        if path is not None:
            check_folder(path)
    if report == output:
        raise ended(f"error: --report: {report} is the model's file (name another)", BAD_INPUT)
    with refusals():
        from snpjax_formats.atomic import atomic_write_all
        from snpjax_formats.select.training import train as train_on

        model, found = train_on(files, title=title, folds=folds)
        written = {output: (model.to_bytes(),)}
        if report is not None:
            written[report] = ((json.dumps(found, indent=1) + "\n").encode(),)
        atomic_write_all(written)
    if as_json:
        data.print_json(found)
    else:
        from snpjax_formats.select.evaluation import table_of

        typer.echo(table_of(found))


@formats.command()
@orderly()
@grouped
def explain(
    *,
    file: File,
    systems: SystemOptions,
    source_format: From = None,
    model: Annotated[
        Path | None, value("--model", "FILE", "A model of `train`, not the shipped one.")
    ] = None,
    measure: Annotated[
        float | None,
        typer.Option("--measure", metavar="S", min=0.001, help="Time layouts for S seconds."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which layout stores the synapses of a system, why, and what others would cost."""
    from snpjax_formats.select import Learned, Measured

    from . import data

    reads = format_from(source_format, "system")
    if model is not None and measure is not None:
        raise ended("error: give --model or --measure, not both", BAD_INPUT)
    if model is not None and not model.exists():
        raise ended(f"error: there is no file {model}", BAD_INPUT)
    chooser = None if model is None else Learned(model)
    if measure is not None:
        chooser = Measured(budget=measure)
    decisions = _decisions(systems.read(file, reads), chooser)
    if as_json:
        data.print_json(
            {
                place: {
                    "layout": d.layout.__name__,
                    "direction": d.direction,
                    "reason": d.reason,
                    "chooser": d.chooser,
                    "predicted_us": d.predicted,
                    "measured_us": d.measured,
                    "refused": dict(d.refused),
                }
                for place, d in decisions.items()
            }
        )
        return
    for place, decision in decisions.items():
        typer.echo(f"{place}\n{decision.explanation()}")


def _decisions(system: "AnySystem", chooser: "AbstractChooser | None") -> "dict[str, Decision]":
    """The decision for all synapses, or for those of each projection."""
    from snpjax_formats import choose

    from ..spiking import PopulationSystem, chosen_layout

    if not isinstance(system, PopulationSystem):
        return {"synapses": chosen_layout(system, chooser)}
    columns = system.columns()
    most = int(columns.table.produce.max(initial=0))
    return {
        f"projection {i}": choose(part.edges.canonical(), max_input=most, chooser=chooser)
        for i, part in enumerate(columns.parts)
    }
