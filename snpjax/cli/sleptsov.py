"""`snpjax sleptsov ...`: Sleptsov nets are run, described, converted and generated."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .._text.rule_text import under_rule
from .ending import FAILED, ended, orderly, refusals
from .models import NetOptions
from .options import (
    MOST,
    MOST_SEED,
    AsJson,
    CheckpointFolder,
    advised,
    checkpoint_in,
    choice_of,
    flag,
    grouped,
    number,
    one_of,
    value,
)
from .sleptsov_files import CONVERT_HELP, convert, generate


if TYPE_CHECKING:
    from ..sleptsov import NetSolution, SleptsovNet

sleptsov = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Sleptsov nets: places and transitions as a concurrent program.",
)
sleptsov.command(help=CONVERT_HELP)(convert)
sleptsov.command()(generate)

_MAX_SHOWN = 40  # places or firings, where all are not asked for

NetFile: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The file of a net.")]


@sleptsov.command()
@orderly("snpjax run {}")
@grouped
def run(
    *,
    file: NetFile,
    steps: Annotated[
        int, number("--steps", "Stop after this many steps.", most=MOST)
    ] = 100_000_000,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            "Choose uniformly among the fireable transitions that none of them beats.  [default: "
            "the first in order of priority]",
            most=MOST_SEED,
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        value("--start", "PLACE=N", "Tokens of a place at the start; may be repeated."),
    ] = None,
    trace: Annotated[bool, flag("--trace", "Show every firing.")] = False,
    counts: Annotated[bool, flag("--counts", "Show how often each transition fired.")] = False,
    engine: Annotated[
        str, value("--engine", "NAME", "auto, event or scan; changes no result.")
    ] = "auto",
    checkpoint: CheckpointFolder = None,
    int32: Annotated[bool, flag("--int32", "Count tokens in 32 bits, not 64.")] = False,
    nets: NetOptions,
    as_json: AsJson = False,
) -> None:
    """Run a net and show its final marking."""
    import numpy as np

    import snpjax as snp

    from ..sleptsov import EventDriven, Execution, FullScan
    from . import progress
    from .data import print_json

    engines = {"auto": None, "event": EventDriven(), "scan": FullScan()}
    way_to_run = one_of(engines, engine, "engine", "--engine")
    with refusals():
        net = _started(nets.read(file), start or [])
    with progress.of_run(steps, hidden=as_json) as made, refusals():
        found = snp.run(
            Execution(net, counts=counts),
            max_steps=steps,
            choice=choice_of(seed),
            engine=way_to_run,
            count_dtype=np.int32 if int32 else np.int64,
            save=snp.Save(every=None, outputs=False, details=True) if trace else None,
            progress=made,
            throw=False,
            checkpoint=checkpoint_in(checkpoint),
        )
    if as_json:
        print_json(_as_json(found, f"{file}", seed, counts))
    else:
        _print(found, f"{file}", trace, counts)
    if found.failure is not None:  # after the run up to the failure
        failure = advised(found.failure, count_dtype="Leave --int32 out.")
        raise ended(f"error: {failure}", FAILED)


@sleptsov.command()
@orderly("snpjax info {}")
@grouped
def info(
    *,
    file: NetFile,
    nets: NetOptions,
    as_json: AsJson = False,
) -> None:
    """Describe a net without running it."""
    from .data import print_json
    from .text import headline, plural, printable, to_stdout

    with refusals():
        net = nets.read(file)
    found = describe(net, f"{file}")
    if as_json:
        return print_json(found)
    with to_stdout() as console:
        console.out(headline(net, f"{file}"))
        kinds = ("input_arcs", "output_arcs", "inhibitor_arcs", "test_arcs")
        rows = {key.replace("_", " "): f"{found[key]:,}" for key in kinds}
        rows["priorities"] = f"{found['priorities']:,}, in {plural(found['layers'], 'layer')}"
        if found["has_order"]:
            rows["order"] = "given by the file, so that no choice is known"
        rows["widest"] = f"{plural(found['widest'], 'condition')} of one transition"
        rows["most watched"] = f"place of {plural(found['most_watched'], 'condition')}"
        rows["tokens"] = f"{found['tokens']:,} in {plural(found['marked'], 'place')}"
        if found["final_markings"]:
            rows["final markings"] = f"{found['final_markings']:,}"
        for name, text in rows.items():
            console.out(f"  {name:16} {text}")
        for key, what in (("dead", "can never fire"), ("unbounded", "consume nothing")):
            if found[key]:
                console.out(
                    f"  {plural(len(found[key]), 'transition')} {what}: "
                    f"{printable(', '.join(found[key][:_MAX_SHOWN]))}"
                )


def describe(net: "SleptsovNet", file: str) -> dict[str, Any]:
    """All that `info` says, as plain values."""
    import numpy as np

    from ..sleptsov.model.priority import num_layers
    from ..sleptsov.model.validity import is_dead, is_unbounded

    conditions = (net.inputs, net.inhibitors, net.tests)

    def most(end: str, size: int) -> int:
        of = np.concatenate([getattr(arcs, end) for arcs in conditions])
        return int(np.bincount(of, minlength=size).max(initial=0))

    def named(which: np.ndarray) -> list[str]:
        return [net.transition_name(t) for t in np.flatnonzero(which).tolist()]

    return {
        "file": file,
        "name": net.name,
        "rule": net.rule.name,
        "places": net.num_places,
        "transitions": net.num_transitions,
        "input_arcs": len(net.inputs),
        "output_arcs": len(net.outputs),
        "inhibitor_arcs": len(net.inhibitors),
        "test_arcs": len(net.tests),
        "priorities": len(net.priorities),
        "layers": num_layers(net.priorities, net.num_transitions),
        "has_order": net.order is not None,
        "widest": most("transition", net.num_transitions),
        "most_watched": most("place", net.num_places),
        "tokens": sum(net.marking.tolist()),
        "marked": int(np.count_nonzero(net.marking)),
        "final_markings": len(net.final_markings),
        "dead": named(is_dead(net)),
        "unbounded": named(is_unbounded(net)),
    }


def _started(net: "SleptsovNet", texts: list[str]) -> "SleptsovNet":
    """The net with other tokens in some places."""
    if not texts:
        return net
    marking = net.marking.tolist()
    for text in texts:
        name, is_given, tokens = text.rpartition("=")
        if not is_given or not tokens.isdecimal():
            raise typer.BadParameter(f"{text!r} is not PLACE=N", param_hint="--start")
        try:
            marking[net.place(name)] = int(tokens)
        except ValueError as error:
            raise typer.BadParameter(f"{error}", param_hint="--start") from None
    return net.replace(marking=marking)


def _as_json(found: "NetSolution", file: str, seed: int | None, counts: bool) -> dict[str, Any]:
    from ..results import name_of
    from ..sleptsov import Disjoint

    net = found.net
    culprit = found.culprit
    failure: dict[str, Any] | None = None
    if culprit is not None:
        failure = {
            "transition": net.transition_name(culprit.transition),
            "multiplicity": culprit.multiplicity,
            "place": None if culprit.place is None else net.place_name(culprit.place),
        }
    result: dict[str, Any] = {
        "file": file,
        "rule": found.rule.name,
        "choice": "first" if seed is None else {"method": "uniform", "seed": seed},
        "status": name_of(found.result),
        "steps": found.steps,
        "marking": found.marking.tolist(),
        "tokens": dict(found.tokens),
        "failure": failure,
    }
    is_parallel = isinstance(found.rule, Disjoint)
    if is_parallel:
        result |= {"firings": found.firings, "widest": found.widest}
    if found.saved.details:
        result["trace"] = [[s, net.transition_name(t), c] for s, t, c in found.trace]
    if counts or is_parallel:
        names = map(net.transition_name, range(net.num_transitions))
        result["counts"] = {n: c for n, c in zip(names, found.counts.tolist(), strict=True) if c}
    return result


def _print(found: "NetSolution", file: str, trace: bool, counts: bool) -> None:
    from ..sleptsov import Disjoint
    from .text import printable, to_stdout

    net = found.net
    with to_stdout() as console:
        console.out(printable(f"{file}: {found.ending}{under_rule(found.rule.name)}"))
        if trace and found.saved.details:
            for step, t, copies in found.trace:
                times = f" x {copies:,}" if copies != 1 else ""
                console.out(printable(f"  step {step + 1}: {net.transition_name(t)}{times}"))
        if isinstance(found.rule, Disjoint):
            console.out(f"  firings: {found.firings:,}, at most {found.widest:,} together")
        elif counts:
            console.out("  fired:")
            for t in found.counts.nonzero()[0].tolist():
                console.out(printable(f"    {net.transition_name(t)}: {found.counts[t]:,}"))
        held = list(found.tokens.items())
        console.out("  marking:" if held else "  marking: empty")
        for name, tokens in held[:_MAX_SHOWN]:
            console.out(printable(f"    {name} = {tokens}"))
        if len(held) > _MAX_SHOWN:
            console.out(f"    and {len(held) - _MAX_SHOWN:,} more places (--json shows all)")
