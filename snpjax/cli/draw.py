"""`snpjax draw FILE -o OUT`: a picture of a system or a net, of its runs, or of its graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .._text.counts import plural
from .ending import BAD_INPUT, FAILED, ended, orderly
from .lossy import write_failure
from .options import AsJson, File, Strict
from .sleptsov import DropTime, IgnoreUnknown, NetId


if TYPE_CHECKING:
    from ..choice import AbstractChoice
    from ..machine import Explorable
    from ..sleptsov import SleptsovNet
    from ..spiking import PopulationSystem, SpikingSystem

    DrawableModel = SpikingSystem | PopulationSystem | SleptsovNet


@orderly()
def draw(
    file: File,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="OUT", help="A .svg, .png or .pdf file."),
    ],
    run: Annotated[
        int | None,
        typer.Option(
            "--run",
            metavar="N",
            min=0,
            max=2**30,
            help="Draw a run of at most N steps: who spikes when, and how many spikes neurons "
            "hold; of a net its marking then.",
            show_default=False,
        ),
    ] = None,
    paths: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With --run: draw the numbers that N paths compute, and when they halt.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=2**32 - 1,
            help="With --run: choose uniformly from this seed.  [default: 0; of a net, the first "
            "in order of priority]",
            show_default=False,
        ),
    ] = None,
    graph: Annotated[
        bool, typer.Option("--graph", help="Draw every configuration that can be reached.")
    ] = False,
    max_configurations: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=2**30, help="With --graph: find no more than these."),
    ] = 100_000,
    max_depth: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="With --graph: follow no path further."),
    ] = None,
    witness: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="With --graph: show the shortest path to the configuration of this number.",
            show_default=False,
        ),
    ] = None,
    neurons: Annotated[
        int,
        typer.Option(
            "--neurons", metavar="N", min=1, help="Draw more neurons than these in groups."
        ),
    ] = 60,
    drop_time: DropTime = False,
    net_id: NetId = None,
    ignore_unknown: IgnoreUnknown = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Draw a spiking neural P system or a Sleptsov net.

    Other suffixes than .svg, runs and large graphs need matplotlib: pip install 'snpjax[viz]'.
    """
    _check_options(run, paths, seed, graph, max_depth, witness)
    from ..io.formats import is_of_net
    from ..viz.axes import suffix_of

    try:
        suffix_of(output)
    except ValueError as error:
        raise typer.BadParameter(f"{error}", param_hint="--output") from None
    if not output.parent.is_dir():  # before anything is computed
        raise ended(f"error: {output}: there is no folder {output.parent}", BAD_INPUT)

    import snpjax as snp

    from . import data
    from .text import printable

    model: DrawableModel
    is_net = is_of_net(file)
    of_nets = {"--drop-time": drop_time, "--net": net_id is not None}
    of_nets["--ignore-unknown"] = ignore_unknown
    _refuse({"--strict": strict, "--paths": paths is not None} if is_net else of_nets, is_net)
    if is_net:
        model = snp.read_net(file, drop_time=drop_time, net=net_id, ignore_unknown=ignore_unknown)
    else:
        model = snp.read(file, level="strict" if strict else "extended")
    try:
        if graph:
            what = _graph(model, output, max_configurations, max_depth, witness)
        elif run is not None:
            what = _run(model, output, run, paths, seed)
        else:
            what = _model(model, output, neurons)
    except (ImportError, ValueError, NotImplementedError) as error:
        raise ended(f"error: {error}", BAD_INPUT) from None
    except snp.RunFailed as error:
        raise ended(f"error: {error}", FAILED) from None
    except OSError as error:
        raise write_failure(output, error) from None
    if as_json:
        data.print_json({"file": f"{file}", "output": f"{output}", "picture": what})
    else:
        typer.echo(printable(f"{output}: {what} of {file}"))


def _check_options(
    run: int | None,
    paths: int | None,
    seed: int | None,
    graph: bool,
    max_depth: int | None,
    witness: int | None,
) -> None:
    """Options that would do nothing are usage errors."""
    if graph and run is not None:
        raise typer.BadParameter("it excludes --run (give one of them)", param_hint="--graph")
    for option, given, needed, there in (
        ("--paths", paths, "--run", run is not None),
        ("--seed", seed, "--run", run is not None),
        ("--max-depth", max_depth, "--graph", graph),
        ("--witness", witness, "--graph", graph),
    ):
        if given is not None and not there:
            raise typer.BadParameter(f"it needs {needed}", param_hint=option)


def _refuse(options: dict[str, bool], is_net: bool) -> None:
    for option, is_given in options.items():
        if is_given:
            kind = "a net" if is_net else "a spiking system"
            raise typer.BadParameter(f"this is a file of {kind} (leave it out)", param_hint=option)


def _model(model: "DrawableModel", output: Path, max_neurons: int) -> str:
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


def _run(
    model: "DrawableModel", output: Path, steps: int, paths: int | None, seed: int | None
) -> str:
    import snpjax as snp

    from ..sleptsov import SleptsovNet
    from ..sleptsov.view.picture import net_scene
    from ..viz.axes import save
    from ..viz.canvas import save_scene

    if isinstance(model, SleptsovNet):
        net_scene(model)  # which refuses a large net before it is run
        found = snp.run(model, max_steps=steps, choice=_choice(seed, uniform=False))
        save_scene(net_scene(model, marking=found.marking), output)
        return f"the net after {plural(found.steps, 'step')}"
    from ..viz.paths import whole_batch
    from ..viz.run import whole_run

    solution = snp.run(model, max_steps=steps, choice=_choice(seed), paths=paths)
    if isinstance(solution, snp.SolutionBatch):
        save(whole_batch(solution), output)
        return f"{plural(solution.paths, 'path')}"
    if not solution.saved.details:
        raise ValueError("the history of the run is too large to be kept (try a smaller --run)")
    save(whole_run(solution), output)
    return f"a run of {plural(solution.steps, 'step')}"


def _graph(
    model: "DrawableModel",
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


def _choice(seed: int | None, *, uniform: bool = True) -> "AbstractChoice":
    import jax

    from ..choice import FirstChoice, UniformChoice

    if seed is None and not uniform:
        return FirstChoice()
    return UniformChoice(jax.random.key(seed or 0))
