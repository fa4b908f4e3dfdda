"""`snpjax estimate FILE QUERY`: how probable something is, from random computations."""

from typing import Annotated

import typer

from .devices import DeviceOptions
from .ending import orderly, refusals
from .models import SystemOptions
from .options import (
    MOST,
    MOST_SEED,
    AsJson,
    CheckpointFolder,
    File,
    From,
    MaxNeurons,
    MaxSynapses,
    advised,
    checkpoint_in,
    format_from,
    grouped,
    number,
    stored_in,
    value,
)


@orderly()
@grouped
def estimate(
    *,
    file: File,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="As 'eventually n3 >= 4' or 'eventually halted'.")
    ],
    steps: Annotated[int, number("--steps", "Of each computation.", most=MOST)] = 100,
    paths: Annotated[
        int, number("--paths", "Make N computations; with --precision N at first.", least=1)
    ] = 1024,
    precision: Annotated[
        float | None,
        value("--precision", "P", "Make more until the probability is known within P."),
    ] = None,
    confidence: Annotated[
        float, value("--confidence", "C", "How sure the interval is to hold the probability.")
    ] = 0.95,
    seed: Annotated[int, number("--seed", "Of the random choices.", most=MOST_SEED)] = 0,
    neurons: MaxNeurons = None,
    synapses: MaxSynapses = None,
    checkpoint: CheckpointFolder = None,
    on: DeviceOptions,
    systems: SystemOptions,
    source_format: From = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the probability that something happens, when every neuron chooses uniformly among
    its applicable rules.

    QUERY is "eventually" and a condition, as in `snpjax check`: a comparison of spikes, timer(n),
    open(n), halted, step with not, and, or, in parentheses; or emits(output). The interval holds
    for computations of any length.
    """
    from ..scale.mesh import PATHS

    reads = format_from(source_format, "system")
    mesh = on.mesh(PATHS)

    import snpjax as snp

    from . import progress
    from .data import print_json
    from .options import choice_of
    from .text import headline, printable

    system = systems.read(file, reads)
    options = stored_in(system, "auto", neurons, synapses)
    choice = choice_of(seed)
    assert isinstance(choice, snp.UniformChoice)
    with refusals(), progress.of_paths(hidden=as_json) as made:
        found = snp.estimate(
            system,
            query,
            key=choice.key,
            max_steps=steps,
            paths=paths,
            precision=precision,
            confidence=confidence,
            capacity=options.get("capacity"),  # pyright: ignore[reportArgumentType]
            mesh=mesh,
            checkpoint=checkpoint_in(checkpoint),
            progress=made,
        )
    if as_json:
        plain = {
            "file": f"{file}",
            "query": query,
            "low": found.low,
            "high": found.high,
            "confidence": found.confidence,
            "paths": found.paths,
            "holds": found.holds,
            "undecided": found.undecided,
            "steps": found.max_steps,
            "seed": seed,
        }
        print_json(plain)
    else:
        typer.echo(headline(system, f"{file}"))
        typer.echo(printable(advised(f"{found}")))
