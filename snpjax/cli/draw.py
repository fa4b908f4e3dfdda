"""`snpjax draw FILE -o OUT`: a picture of a system or a net, of its runs, or of its graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .._text.counts import plural
from .ending import orderly, refusals
from .lossy import check_folder
from .models import NetOptions, SystemOptions, read_model
from .options import (
    MOST,
    MOST_SEED,
    AsJson,
    File,
    choice_of,
    flag,
    grouped,
    number,
    refuse_given,
    value,
)


if TYPE_CHECKING:
    from ..machine import Explorable
    from .models import AnyModel


@orderly()
@grouped
def draw(
    *,
    file: File,
    output: Annotated[
        Path,
        value(
            "-o/--output",
            "OUT",
            "A .svg, .png or .pdf file; of a network, net or small graph also .tex.",
        ),
    ],
    run: Annotated[
        int | None,
        number(
            "--run",
            "Draw a run of at most N steps: which neurons spike when, and how many spikes they "
            "hold; of a net its markings.",
            most=MOST,
        ),
    ] = None,
    paths: Annotated[
        int | None,
        number(
            "--paths",
            "With --run: draw the numbers that N paths compute, and when they halt.",
            least=1,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            "With --run: choose uniformly from this seed.  [default: 0; of a net, the first in "
            "order of priority]",
            most=MOST_SEED,
        ),
    ] = None,
    graph: Annotated[bool, flag("--graph", "Draw all reachable configurations.")] = False,
    max_configurations: Annotated[
        int,
        number("--max-configurations", "With --graph: find at most N of them.", least=1, most=MOST),
    ] = 100_000,
    max_depth: Annotated[
        int | None,
        number("--max-depth", "With --graph: explore paths of at most N steps."),
    ] = None,
    witness: Annotated[
        int | None,
        number("--witness", "With --graph: show the shortest path to configuration number N."),
    ] = None,
    neurons: Annotated[
        int, number("--neurons", "Draw more than N neurons in groups.", least=1)
    ] = 60,
    systems: SystemOptions,
    nets: NetOptions,
    as_json: AsJson = False,
) -> None:
    """Draw a spiking neural P system or a Sleptsov net.

    Files .png and .pdf, runs and large graphs need matplotlib: pip install '.[viz]'. A .tex
    file is a LaTeX document with a TikZ picture.
    """
    if graph and run is not None:
        raise typer.BadParameter("use either --graph or --run", param_hint="--graph")
    if run is None:
        refuse_given({"--paths": paths, "--seed": seed}, "it needs --run")
    if not graph:
        refuse_given({"--max-depth": max_depth, "--witness": witness}, "it needs --graph")
    from ..viz.axes import suffix_of

    try:
        suffix_of(output, is_scene=paths is None)
    except ValueError as error:
        raise typer.BadParameter(f"{error}", param_hint="--output") from None
    check_folder(output)

    import snpjax as snp

    from . import data
    from .text import printable

    model = read_model(file, systems, nets, of_systems={"--paths": paths})
    with refusals(output, failures=(snp.RunFailed,)):
        if graph:
            what = _graph(model, output, max_configurations, max_depth, witness)
        elif run is not None:
            what = _run(model, output, run, paths, seed)
        else:
            what = _model(model, output, neurons)
    if as_json:
        data.print_json({"file": f"{file}", "output": f"{output}", "picture": what})
    else:
        typer.echo(printable(f"{output}: {what} of {file}"))


def _model(model: "AnyModel", output: Path, max_neurons: int) -> str:
    """The network, or the net."""
    from ..sleptsov import SleptsovNet
    from ..sleptsov.view.picture import net_scene
    from ..spiking.view.picture import network_scene
    from ..viz.canvas import save_scene

    if isinstance(model, SleptsovNet):
        save_scene(net_scene(model), output)
        return "the net"
    save_scene(network_scene(model, max_neurons=max_neurons), output)
    return "the network"


def _run(model: "AnyModel", output: Path, steps: int, paths: int | None, seed: int | None) -> str:
    import snpjax as snp

    from ..sleptsov import SleptsovNet
    from ..sleptsov.view.picture import net_scene
    from ..viz.axes import save, suffix_of
    from ..viz.canvas import save_scene

    if not isinstance(model, SleptsovNet):
        suffix_of(output)  # before the run
    else:
        net_scene(model)  # which refuses a large net before it is run
        found = snp.run(model, max_steps=steps, choice=choice_of(seed))
        save_scene(net_scene(model, marking=found.marking), output)
        return f"the net after {plural(found.steps, 'step')}"
    from ..viz.paths import whole_batch
    from ..viz.run import whole_run

    solution = snp.run(model, max_steps=steps, choice=choice_of(seed or 0), paths=paths)
    if isinstance(solution, snp.SolutionBatch):
        save(whole_batch(solution), output)
        return f"{plural(solution.paths, 'path')}"
    if not solution.saved.details:
        raise ValueError("the history of the run is too large to be kept (try a smaller --run)")
    save(whole_run(solution), output)
    return f"a run of {plural(solution.steps, 'step')}"


def _graph(
    model: "AnyModel",
    output: Path,
    max_configurations: int,
    max_depth: int | None,
    witness: int | None,
) -> str:
    import snpjax as snp

    from ..explore.drawing import graph_scene
    from ..viz.axes import WIDE, new_figure, save
    from ..viz.canvas import save_scene
    from ..viz.graph import graph, is_small

    found = snp.explore(
        cast("Explorable[Any, Any]", model),
        max_configurations=max_configurations,
        max_depth=max_depth,
    )
    if witness is not None and witness >= found.num_configurations:
        last = found.num_configurations - 1
        raise ValueError(f"--witness: there is no configuration {witness} (they are 0 to {last})")
    if is_small(found):
        save_scene(graph_scene(found, witness=witness), output)
    else:
        with new_figure(WIDE) as figure:
            graph(found, witness=witness, ax=figure.subplots())
            save(figure, output)
    return f"the graph of {found.num_configurations:,} configurations"
