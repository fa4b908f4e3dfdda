"""`snpjax check FILE QUERY...`: what holds of all computations of a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

import typer

from .devices import DeviceOptions
from .ending import BAD_INPUT, FAILED, NOT_DECIDED, ended, orderly, refusals
from .memory_options import MemoryOptions
from .models import AllPathsOptions, NetOptions, model_of
from .options import (
    AsJson,
    CheckpointFolder,
    File,
    Strict,
    advised,
    checkpoint_in,
    grouped,
    number,
    stored_in,
    value,
)


if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.sharding import Mesh

    from ..check import Verdict
    from ..explore import Graph, MemoryLimits
    from ..machine import Explorable, LoweringOptions
    from .models import ReadableModel


class _Where(TypedDict):
    """Where a search keeps what it finds, see `snpjax.explore`."""

    memory: "MemoryLimits"
    exact: bool
    mesh: "Mesh | None"


@orderly()
@grouped
def check(
    *,
    file: File,
    queries: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...", help="The property to check, for example 'always n3 <= 4'."
        ),
    ],
    max_configurations: Annotated[
        int,
        number(
            "--max-configurations", "Explore at most N configurations.", least=1, most=2**31 - 1
        ),
    ] = 1_000_000,
    max_depth: Annotated[
        int | None, number("--max-depth", "Explore at most N steps.", most=2**29)
    ] = None,
    search: AllPathsOptions,
    nets: NetOptions,
    kept: MemoryOptions,
    checkpoint: CheckpointFolder = None,
    on: DeviceOptions,
    reduce: Annotated[
        list[str] | None,
        value(
            "--reduce",
            "NAME",
            "Look at fewer configurations by symmetry, stubborn-sets or cone; may be repeated. "
            "none: never.  [default: all of them where the graph is too large]",
        ),
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Prove or refute properties of all computations of a system or a net.

    A query is made of comparisons of spikes (n1 + 2*n2 <= 4), timer(n), open(n), emits(n),
    fires(n, rule), halted and step with not, and, or, implies, always, never, eventually, next,
    until, "weak until", "followed by", "preceded by", "infinitely often" and steady; of a net, of
    comparisons of tokens (p1 + p2 = 4), halted, final and step. It is to hold
    on all paths, or after "on some path" on one. The exit status is 0 if all are proved, 1 if one
    is refuted, 3 if one is not decided.
    """
    caps = search.saturation()
    chosen = _chosen(reduce)
    where: _Where = {
        "memory": kept.limits(),
        "exact": not kept.fingerprints,
        "mesh": on.mesh("configurations"),
    }

    import snpjax as snp

    from ..sleptsov import Execution
    from . import data, progress
    from .text import headline, printable

    system = search.read(file, nets, strict=strict)
    options = stored_in(system, "auto", search.neurons, search.synapses)
    with refusals(), progress.of_search(hidden=as_json) as found:
        if search.inputs is not None:
            assert not isinstance(system, Execution)
            system = system.with_input(snp.AnyInput(search.inputs))
        limits = {"max_configurations": max_configurations, "max_depth": max_depth}
        given = system, queries, caps, limits, options, found, where
        try:
            if chosen:
                verdicts = [_reduced(*given, classes=chosen, at=i) for i in range(len(queries))]
            else:
                verdicts = _verdicts(*given, checkpoint)
                if chosen is None and checkpoint is None and where["mesh"] is None:
                    verdicts = _decided_further(given, verdicts)
        except KeyError as error:  # an unknown neuron to be saturated
            raise ended(f"error: --saturate: {error.args[0]}", BAD_INPUT) from None
    if as_json:
        data.print_json({"file": f"{file}", "queries": [_json(v) for v in verdicts]})
    else:
        typer.echo(headline(model_of(system), f"{file}"))
        for line in (line for verdict in verdicts for line in verdict.lines()):
            typer.echo(printable(advised(line)))
    if any(verdict.is_refuted for verdict in verdicts):
        raise typer.Exit(FAILED)
    if not all(verdict.is_proved for verdict in verdicts):
        raise typer.Exit(NOT_DECIDED)


#: The names of reductions on the command line.
_REDUCTIONS = {
    "symmetry": "Symmetry",
    "stubborn-sets": "StubbornSets",
    "cone": "ConeOfInfluence",
}


def _chosen(names: list[str] | None) -> tuple[str, ...] | None:
    """The classes of the reductions to use; `None` for those that are needed. Another name is a
    usage error."""
    if not names:
        return None
    if names == ["none"]:
        return ()
    for name in names:
        if name not in _REDUCTIONS:
            known = f"write {', '.join(_REDUCTIONS)}, or none alone"
            raise typer.BadParameter(f"{name!r} is no reduction ({known})", param_hint="--reduce")
    return tuple(_REDUCTIONS[name] for name in names)


def _reduced(
    system: "ReadableModel",
    queries: list[str],
    caps: dict[str, int],
    limits: dict[str, int | None],
    options: "LoweringOptions",
    progress: "Callable[[int, int], None] | None",
    where: "_Where",
    classes: tuple[str, ...],
    at: int,
) -> "Verdict":
    """The verdict on one of the queries, with reductions."""
    from ..check import check, reduction

    return check(
        cast("Explorable[Any, Any]", system),
        queries[at],
        **limits,  # pyright: ignore[reportArgumentType]
        saturate=caps,
        layout=options.get("layout"),
        capacity=options.get("capacity"),
        progress=progress,
        reductions=[getattr(reduction, name)() for name in classes],
        **where,
    )


def _decided_further(given: tuple[Any, ...], verdicts: "list[Verdict]") -> "list[Verdict]":
    """With reductions where the graph was too large and they help."""
    from dataclasses import replace

    from ..explore import Stop

    found = []
    for at, verdict in enumerate(verdicts):
        if not verdict.is_decided and verdict.graph.stop is Stop.MAX_CONFIGURATIONS:
            again = _reduced(*given, classes=tuple(_REDUCTIONS.values()), at=at)
            verdict = replace(again, not_reduced=()) if again.is_decided else verdict
        found.append(verdict)
    return found


def _verdicts(
    system: "ReadableModel",
    queries: list[str],
    caps: dict[str, int],
    limits: dict[str, int | None],
    options: "LoweringOptions",
    progress: "Callable[[int, int], None] | None",
    where: "_Where",
    folder: Path | None,
) -> "list[Verdict]":
    """The verdict on each query. Queries that need the same graph share it."""
    from ..check import check, needs_of, parse_query
    from ..explore import explore

    plans = [
        needs_of(parse_query(text), system, saturate=caps, max_depth=limits["max_depth"])
        for text in queries
    ]
    keys = [(plan.clock, *sorted(plan.saturate.items())) for plan in plans]
    # A folder has the checkpoints of one search.
    folders = {keys[0]: folder}
    if folder is not None and len(set(keys)) > 1:
        folders = {key: folder / f"{number}" for number, key in enumerate(dict.fromkeys(keys))}
    graphs: dict[tuple[Any, ...], Graph] = {}
    verdicts = []
    for text, plan, key in zip(queries, plans, keys, strict=True):
        if key not in graphs:
            graphs[key] = explore(
                cast("Explorable[Any, Any]", system),
                **limits,  # pyright: ignore[reportArgumentType]
                saturate=plan.saturate,
                clock=plan.clock,
                layout=options.get("layout", "auto"),
                capacity=options.get("capacity"),
                progress=progress,
                checkpoint=checkpoint_in(folders.get(key)),
                **where,
            )
        verdicts.append(check(graphs[key], text))
    return verdicts


def _json(verdict: "Verdict") -> dict[str, Any]:
    trace = verdict.trace.as_json()
    return {
        "query": verdict.query,
        "status": verdict.status.value,
        "configurations": verdict.num_configurations,
        "depth": verdict.depth,
        "reason": advised(verdict.reason) or None,
        "missed": verdict.graph.missed,
        "vacuous": list(verdict.vacuous),
        "reductions": list(verdict.reductions),
        "not_reduced": list(verdict.not_reduced),
        **(trace if verdict.witness is not None else dict.fromkeys(trace)),
        "loop": verdict.loop,
    }
