"""`snpjax run FILE`: one computation, or a batch of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from .devices import DeviceOptions
from .ending import BAD_INPUT, FAILED, ended, orderly, refusals
from .models import SystemOptions
from .options import (
    MOST,
    MOST_SEED,
    SIMULATOR_NAMES,
    AsJson,
    CheckpointFolder,
    File,
    From,
    Layout,
    MaxNeurons,
    MaxSynapses,
    advised,
    checkpoint_in,
    choice_of,
    compatibility_named,
    flag,
    format_from,
    grouped,
    layout_named,
    number,
    refuse_given,
    stored_in,
    value,
)


if TYPE_CHECKING:
    from ..spiking.model.population import AnySystem


@orderly("snpjax sleptsov run {}")
@grouped
def run(
    *,
    file: File,
    steps: Annotated[int, number("--steps", "Stop after this many steps.", most=MOST)] = 100,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            "Choose uniformly among applicable rules, from this seed.  [default: 0]",
            most=MOST_SEED,
        ),
    ] = None,
    first: Annotated[bool, flag("--first", "Choose the first applicable rule instead.")] = False,
    paths: Annotated[
        int | None,
        number(
            "--paths",
            "Run N paths as one batch, each with choices of its own.",
            least=1,
            most=2**32,
        ),
    ] = None,
    layout: Layout = "auto",
    neurons: MaxNeurons = None,
    synapses: MaxSynapses = None,
    no_grow: Annotated[
        bool,
        flag(
            "--no-grow",
            "Fail instead of growing where neurons that divide or bud exceed the capacity.",
        ),
    ] = False,
    simulator: Annotated[
        str | None,
        value(
            "--as",
            "SIMULATOR",
            "Run and show as this simulator does, by its name and version: "
            f"{', '.join(SIMULATOR_NAMES)}.",
        ),
    ] = None,
    int64: Annotated[bool, flag("--int64", "Count spikes in 64 bits, not 32.")] = False,
    checkpoint: CheckpointFolder = None,
    on: DeviceOptions,
    systems: SystemOptions,
    source_format: From = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, flag("--csv", "Print a row for every step or path.")] = False,
) -> None:
    """Run a spiking neural P system and show its computation.

    A file of Numerical WebSnapse is run as a numerical system. Where several rules of a neuron are
    applicable, one is chosen at random; the seed makes it repeatable.
    """
    if as_json and as_csv:
        raise typer.BadParameter("use either --csv or --json", param_hint="--csv")
    if first and seed is not None:
        raise typer.BadParameter("use either --first or --seed", param_hint="--first")
    stored = layout_named(layout)
    reads = format_from(source_format, "system")
    compatibility = None if simulator is None else compatibility_named(simulator)
    seed = None if first else seed or 0

    mesh = on.mesh("neurons" if paths is None else "paths")

    import numpy as np

    import snpjax as snp

    from ..io.kinds import WrongKind
    from . import data, paths as batch, progress, table

    how = {"method": "first"} if seed is None else {"method": "uniform", "seed": seed}
    try:
        system = systems.read(file, reads)
    except WrongKind as wrong:
        if wrong.kind != "numerical":
            raise
        from .numerical import run_numerical

        spiking = {"--as": simulator, "--int64": int64, "--no-grow": no_grow}
        spiking |= {"--neurons": neurons, "--synapses": synapses, **systems.values()}
        refuse_given(spiking, "this is a file of a numerical system (leave it out)")
        with progress.of_run(steps, paths, hidden=as_json) as made:
            return run_numerical(
                file,
                choice=how,
                as_json=as_json,
                as_csv=as_csv,
                options={
                    "max_steps": steps,
                    "choice": choice_of(seed),
                    "paths": paths,
                    "layout": stored,
                    "progress": made,
                    "mesh": mesh,
                    "checkpoint": checkpoint_in(checkpoint),
                },
            )
    if compatibility is not None:
        try:
            system = system.with_compatibility(compatibility)
        except snp.InvalidSystem as error:
            raise ended(f"error: as {simulator}: {error}", BAD_INPUT) from None
    if isinstance(system, snp.PopulationSystem):
        system = system.with_single_outputs()
    options = stored_in(system, stored, neurons, synapses)
    if int64:
        options["count_dtype"] = np.int64
    with refusals(), progress.of_run(steps, paths, hidden=as_json) as made:
        solution = snp.run(
            system,
            max_steps=steps,
            choice=choice_of(seed),
            paths=paths,
            grow=not no_grow,
            progress=made,
            throw=False,
            mesh=mesh,
            checkpoint=checkpoint_in(checkpoint),
            **options,
        )
        if on.distributed and isinstance(solution, snp.SolutionBatch):
            solution = snp.scale.gather(solution)
    if solution.saved.every is not None and solution.saved.details:
        solution = solution.as_displayed()
    if isinstance(solution, snp.SolutionBatch):
        if as_json:
            data.print_json(data.paths_json(solution, f"{file}", how))
        elif as_csv:
            data.print_paths_csv(solution)
        else:
            batch.show(solution, f"{file}", _choice_text(system, seed), steps)
    elif as_json:
        data.print_json(data.run_json(solution, f"{file}", how))
    elif as_csv:
        data.print_csv(solution)
    else:
        table.show(solution, f"{file}", _choice_text(system, seed), steps)
    if solution.failure is not None:  # after the computation up to the failure
        raise ended(f"error: {advised(solution.failure)}", FAILED)


def _choice_text(system: "AnySystem", seed: int | None) -> str | None:
    """How choices were made, if the system offers any."""
    from .choices import offers_choice

    if not offers_choice(system):
        return None
    return "choices: first applicable rule" if seed is None else f"choices: uniform, seed {seed}"
