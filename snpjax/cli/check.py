"""`snpjax check FILE QUERY...`: what holds of all computations of a model."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from .devices import DeviceOptions
from .ending import BAD_INPUT, FAILED, NOT_DECIDED, ended, orderly, refusals
from .memory_options import MemoryOptions
from .models import AllPathsOptions, NetOptions, SystemOptions
from .options import (
    AsJson,
    CheckpointFolder,
    File,
    advised,
    checkpoint_in,
    grouped,
    number,
    stored_in,
    value,
)
from .signals import first_interrupt_ends_search


if TYPE_CHECKING:
    from ..check import Verdict
    from ..machine import Explorable


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
    fair: Annotated[
        list[str] | None,
        value(
            "--fair",
            "CONDITION",
            "Consider only paths on which this holds infinitely often; may be repeated.",
        ),
    ] = None,
    choosers: Annotated[
        list[str] | None,
        value(
            "--chosen",
            "NEURON",
            "For P, E: somebody chooses the rules of this neuron, or of all; may be repeated.",
        ),
    ] = None,
    search: AllPathsOptions,
    systems: SystemOptions,
    nets: NetOptions,
    kept: MemoryOptions,
    checkpoint: CheckpointFolder = None,
    on: DeviceOptions,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Prove by induction at once, without exploring; needs the extra prove."
        ),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            help="The time for the search of each graph, or for each proof.  [default: no limit; "
            "10 with --prove]",
            min=0.001,
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        value(
            "--certificate",
            "FILE",
            "Write the certificate of a proof by induction to this file, for `snpjax certify`.",
        ),
    ] = None,
    induction: Annotated[
        bool,
        typer.Option(
            "--induction/--no-induction",
            help="Try a proof by induction where a limit ends the search.",
        ),
    ] = True,
    reduce: Annotated[
        list[str] | None,
        value(
            "--reduce",
            "NAME",
            "Look at fewer configurations by symmetry, stubborn-sets or cone; may be repeated. "
            "none: never.  [default: all of them where the graph is too large]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove or refute properties of all computations of a system or a net.

    A query is made of comparisons of spikes (n1 + 2*n2 <= 4, n1 mod 2 = 1), timer(n), open(n),
    pending(n), emits(n), fires(n, rule), halted and step with not, and, or, implies, always,
    never, eventually, next, until, "weak until", "followed by", "preceded by", "infinitely often"
    and steady, "always for 5 steps", "eventually within 5 steps"; of a net, of comparisons of
    tokens (p1 + p2 = 4), halted, final and step. It is to hold on all paths, or after "on some
    path" on one; both may stand inside. The symbols of nuXmv and PRISM are read as well: AG EF p,
    A [ F<=5 p ]. Questions for numbers are P >= 0.9 [ F p ], P=? [ p U q ], E=? [ steps to p ],
    E <= 12 [ n1 until p ] and S=? [ p ]; Pmin=?, Pmax=?, Emin=? and Emax=? with --chosen. The exit
    status is 0 if all are proved, 1 if one is refuted, 3 if one is not decided, also after the
    first Ctrl-C, which ends the search.
    """
    caps = search.saturation()
    if certificate is not None and len(queries) > 1:
        message = "a file holds the certificate of one query (give one query)"
        raise typer.BadParameter(message, param_hint="--certificate")
    if prove and fair:
        message = "a proof by induction is about all paths (leave out --prove)"
        raise typer.BadParameter(message, param_hint="--fair")
    used = _used(reduce)

    import snpjax as snp

    from ..check import reduction
    from ..sleptsov import SleptsovNet
    from . import data, progress
    from .text import headline, printable

    system = search.read(file, systems, nets)
    options = stored_in(system, "auto", search.neurons, search.synapses)
    if len(queries) > 1:
        _check_each(cast("Explorable[Any, Any]", system), queries, fair or [])
    searching = progress.of_search(hidden=as_json)
    with first_interrupt_ends_search(), refusals(), searching as found:
        if search.inputs is not None:
            assert not isinstance(system, SleptsovNet)
            system = system.with_input(snp.AnyInput(search.inputs))
        model = cast("Explorable[Any, Any]", system)
        if prove:
            verdicts = tuple(snp.prove(model, text, seconds=seconds or 10.0) for text in queries)
        else:
            try:
                verdicts = snp.check(
                    model,
                    queries,
                    fair=fair or (),
                    chosen="all" if choosers == ["all"] else choosers or (),
                    max_configurations=max_configurations,
                    max_depth=max_depth,
                    saturate=caps,
                    layout=options.get("layout"),
                    capacity=options.get("capacity"),
                    mesh=on.mesh("configurations"),
                    memory=kept.limits(),
                    exact=not kept.fingerprints,
                    checkpoint=checkpoint_in(checkpoint),
                    progress=found,
                    induction=induction,
                    reductions=None if used is None else [getattr(reduction, x)() for x in used],
                    seconds=seconds,
                )
            except KeyError as error:  # an unknown neuron to be saturated
                raise ended(f"error: --saturate: {error.args[0]}", BAD_INPUT) from None
    if as_json:
        data.print_json({"file": f"{file}", "queries": [_json(v) for v in verdicts]})
    else:
        typer.echo(headline(system, f"{file}"))
        for line in (line for verdict in verdicts for line in verdict.lines()):
            typer.echo(printable(advised(line)))
    if certificate is not None and verdicts[0].is_decided:
        if verdicts[0].certificate is None:
            why = "the verdict has none, for it is not by induction (use --prove)"
            raise ended(f"error: --certificate: {why}", BAD_INPUT)
        with refusals(certificate):
            verdicts[0].certificate.write(certificate)
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


def _used(names: list[str] | None) -> tuple[str, ...] | None:
    """The classes of the reductions to use; `None` for those that are needed. Another name is a
    usage error."""
    if not names:
        return None
    if names == ["none"]:
        return ()
    for name in names:
        if name not in _REDUCTIONS:
            known = f"write {', '.join(_REDUCTIONS)}, or none alone"
            message = f"{name!r} is not a reduction ({known})"
            raise typer.BadParameter(message, param_hint="--reduce")
    return tuple(_REDUCTIONS[name] for name in names)


def _check_each(system: "Explorable[Any, Any]", queries: list[str], fair: list[str]) -> None:
    """Report the mistakes of all queries together, each with the number of its query."""
    from ..check import NumberQuery, QueryError, parse_property
    from ..check.query.names import check_names

    problems = []
    for place, text in enumerate(queries, start=1):
        try:
            asked = parse_property(text, fair=fair)
            query = asked.query if isinstance(asked, NumberQuery) else asked
            check_names(query, system.schema())
        except QueryError as error:
            if error.query != text:  # a condition of fair paths, reported later
                break
            problems.append(f"error: query {place}{f'{error}'.removeprefix('query')}")
    if problems:
        raise ended("\n".join(problems), BAD_INPUT)


def _json(verdict: "Verdict") -> dict[str, Any]:
    trace: dict[str, Any] = {"witness": None}
    if verdict.graph is not None or verdict.computation is not None:
        trace = verdict.trace.as_json()
    certificate = verdict.certificate
    return {
        "query": verdict.query,
        "status": verdict.status.value,
        "rule": verdict.rule or None,
        "configurations": verdict.num_configurations,
        "depth": verdict.depth,
        "reason": advised(verdict.reason) or None,
        "missed": 0.0 if verdict.graph is None else verdict.graph.missed,
        "certificate": None if certificate is None else certificate.to_dict(),
        "vacuous": list(verdict.vacuous),
        "reductions": list(verdict.reductions),
        "not_reduced": list(verdict.not_reduced),
        **(trace if verdict.witness is not None else dict.fromkeys(trace)),
        "loop": verdict.loop,
        "found_by": verdict.found_by or None,
        "unseen": list(verdict.unseen),
        "value": None if verdict.value is None else list(map(_number, verdict.value)),
        "choices": verdict.choices_are or None,
    }


def _number(x: float) -> float | str:
    """JSON has no infinite numbers."""
    return x if math.isfinite(x) else f"{x}"
