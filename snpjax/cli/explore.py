"""`snpjax explore FILE`: every configuration that a system can reach."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from ..io.formats import format_to_write, suffixes_text
from .devices import DeviceOptions, is_first
from .ending import BAD_INPUT, FAILED, INTERRUPTED, ended, orderly, refusals
from .lossy import check_folder, writing
from .memory_options import MemoryOptions
from .models import AllPathsOptions, NetOptions, SystemOptions, is_net
from .options import (
    MOST,
    AsJson,
    CheckpointFolder,
    File,
    Layout,
    advised,
    checkpoint_in,
    flag,
    grouped,
    layout_named,
    number,
    one_of,
    stored_in,
    value,
)
from .signals import first_interrupt_ends_search


if TYPE_CHECKING:
    from .._text.lines import EdgeLabels
    from ..explore import Graph
    from ..machine import Explorable

# More choices than these are not examined one by one: it would take longer than finding them.
_MAX_EXAMINED = 20_000_000
_MAX_ROWS, _FIRST_ROWS, _LAST_ROWS = 30, 20, 8  # of the table by depth
_MAX_NEURONS = 24
_MAX_RULES = 12
_MAX_NUMBERS = 40
_MAX_OUTPUTS = 8

_LABELS: "dict[str, EdgeLabels]" = {"rules": "rules", "emissions": "emissions"}


@orderly()
@grouped
def explore(
    *,
    file: File,
    max_configurations: Annotated[
        int, number("--max-configurations", "Keep at most N configurations.", least=1, most=MOST)
    ] = 1_000_000,
    max_depth: Annotated[
        int | None, number("--max-depth", "Explore paths of at most N steps.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", help="The time for the search.  [default: no limit]", min=0.001, max=1e9
        ),
    ] = None,
    search: AllPathsOptions,
    clock: Annotated[
        int, number("--clock", "Distinguish configurations of the first N steps.", most=MOST - 1)
    ] = 0,
    numbers: Annotated[
        int | None, number("--numbers", "List the numbers computed, up to N.", least=1)
    ] = None,
    layout: Layout = "auto",
    output: Annotated[
        list[Path] | None,
        value(
            "-o/--output",
            "OUT",
            f"Write the graph: {suffixes_text('graph')}; may be repeated.",
        ),
    ] = None,
    labels: Annotated[
        str,
        value("--labels", "WHAT", "The labels of the edges of OUT: rules or emissions of outputs."),
    ] = "rules",
    unbounded: Annotated[
        bool, flag("--unbounded", "Counts of an .smv file OUT are integers without bounds.")
    ] = False,
    systems: SystemOptions,
    nets: NetOptions,
    kept: MemoryOptions,
    checkpoint: CheckpointFolder = None,
    on: DeviceOptions,
    as_json: AsJson = False,
) -> None:
    """Find all reachable configurations of a system, or markings of a net.

    The exit status is 0 even if a limit ended the search, which is reported; it is 130 if Ctrl-C
    did, and 1 if spikes overflowed or memory ran out.
    """
    stored = layout_named(layout)
    capped = search.saturation()
    shown = one_of(_LABELS, labels, "kind of labels", "--labels")
    memory = kept.limits()
    mesh = on.mesh("configurations")

    import snpjax as snp

    from ..check.verdict import LIMITS
    from ..explore import Patience
    from . import progress
    from .data import model_json, print_json

    for target in output or []:
        try:
            format_to_write(target, "graph")
        except ValueError as error:
            message = f"{error}".replace(", or give format=", "")
            raise typer.BadParameter(message, param_hint="--output") from None
        check_folder(target)
    if unbounded and not any(target.suffix.lower() == ".smv" for target in output or []):
        raise typer.BadParameter("it needs an .smv file OUT", param_hint="--unbounded")
    forced = None if layout == "auto" else layout
    system = search.read(file, systems, nets, numbers=numbers, layout=forced)
    options = stored_in(system, stored, search.neurons, search.synapses)
    patience, searching = Patience(seconds), progress.of_search(hidden=as_json)
    with (
        first_interrupt_ends_search(),
        refusals(),
        searching as found,
        patience.until_interrupted(),
    ):
        try:
            graph = snp.explore(
                cast("Explorable[Any, Any]", system),
                max_configurations=max_configurations,
                max_depth=max_depth,
                inputs=None if search.inputs is None else snp.AnyInput(search.inputs),
                saturate=capped,
                clock=clock,
                progress=found,
                layout=options.get("layout", "auto"),
                capacity=options.get("capacity"),
                mesh=mesh,
                memory=memory,
                exact=not kept.fingerprints,
                checkpoint=checkpoint_in(checkpoint),
                seconds=patience,
            )
        except KeyError as error:  # an unknown neuron to be saturated
            raise ended(f"error: --saturate: {error.args[0]}", BAD_INPUT) from None
    description = describe(graph, numbers)
    targets = output if output and is_first() else []
    written = [
        f"{path}" for target in targets for path in _written(graph, target, shown, unbounded)
    ]
    if as_json:
        model = model_json(graph.system, f"{file}")
        print_json({**model, **description, "written": written})
    else:
        _print(graph, f"{file}", description, numbers, written)
    if graph.stop is snp.Stop.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if graph.stop not in (snp.Stop.COMPLETE, *LIMITS):  # after the incomplete graph
        raise ended(f"error: {advised(graph.reason)}", FAILED)


def describe(graph: "Graph", numbers: int | None) -> dict[str, Any]:
    """All that the command says of a graph, as plain values; `None` for what was not examined."""
    from ..explore.picture import by_depth

    is_examined = graph.num_choices <= _MAX_EXAMINED
    uses_rules = graph.is_complete or graph.num_choices > 0
    found = {x: graph.intervals(numbers, x) for x in graph.schema.outputs if numbers is not None}
    unused = (_NET_WORDS if is_net(graph.system) else _WORDS).key
    heads = ("depth", "configurations", "choices", "halting")
    return {
        "configurations": graph.num_configurations,
        "expanded": graph.num_expanded,
        "choices": graph.num_choices,
        "transitions": graph.num_transitions if is_examined else None,
        "depth": graph.depth,
        "complete": graph.is_complete,
        "stop": graph.stop.name.lower(),
        "missed": graph.missed,
        "by_depth": [dict(zip(heads, row, strict=True)) for row in by_depth(graph).tolist()],
        "halting": len(graph.halting()),
        "deadlocks": len(graph.deadlocks()),
        "deterministic": graph.is_deterministic,
        "confluent": graph.is_confluent,
        "bounds": {name: list(bounds) for name, bounds in graph.bounds().items()},
        unused: graph.unused_rules() if is_examined and uses_rules else None,
        "numbers": {
            name: {"values": list(its.values), "complete_up_to": its.complete_up_to}
            for name, its in found.items()
        },
    }


def _written(
    graph: "Graph", target: Path, labels: "EdgeLabels", unbounded: bool
) -> tuple[Path, ...]:
    from ..io import write_graph

    format = format_to_write(target, "graph")
    with writing(target):
        return write_graph(
            graph,
            target,
            format=format,
            labels=labels if "labels" in format.options else None,
            bounds="unbounded" if unbounded and "bounds" in format.options else None,
        )


def _print(
    graph: "Graph",
    file: str,
    description: dict[str, Any],
    numbers: int | None,
    written: list[str],
) -> None:
    from .text import headline, print_table, printable, to_stdout

    with to_stdout() as console:
        console.out(headline(graph.system, file))
        console.out(_completeness(graph))
        print_table(console, _table(description["by_depth"]))
        for line in _remarks(graph, description, numbers):
            console.out(line)
        for path in written:
            console.out(printable(f"wrote {path}"))


def _completeness(graph: "Graph") -> str:
    from ..explore import Stop
    from ..explore.graph import missed_text
    from .text import plural

    sizes = f"{plural(graph.num_configurations, 'configuration')} up to depth {graph.depth:,}"
    sizes += missed_text(graph.missed)
    if graph.is_complete:
        return f"complete: {sizes}"
    options = {
        Stop.MAX_CONFIGURATIONS: "; --max-configurations allows more",
        Stop.MAX_DEPTH: "; --max-depth allows more",
        Stop.MAX_SECONDS: "; --seconds allows more",
        Stop.OUT_OF_MEMORY: "; use --memory, --host-memory and --spill-folder to keep more",
    }
    left = plural(int(graph.is_open.sum()), "configuration")
    return (
        f"NOT COMPLETE: {advised(graph.reason)}{options.get(graph.stop, '')}\n"
        f"found: {sizes}, of which {left} {'was' if left == '1 configuration' else 'were'} not "
        "followed"
    )


def _table(rows: list[dict[str, int]]) -> Any:
    from .text import new_table, plural

    table = new_table()
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    left = len(rows) - _FIRST_ROWS - _LAST_ROWS if len(rows) > _MAX_ROWS else 0
    for index, row in enumerate(rows):
        if left and index == _FIRST_ROWS:
            table.add_row("...", f"{plural(left, 'depth')} left out")
        if not left or index < _FIRST_ROWS or index >= len(rows) - _LAST_ROWS:
            table.add_row(*(f"{value:,}" for value in row.values()))
    return table


def _remarks(graph: "Graph", description: dict[str, Any], numbers: int | None) -> list[str]:
    from .text import listed, plural, printable

    so_far = "" if graph.is_complete else " so far"
    choices, transitions = description["choices"], description["transitions"]
    counted = "" if transitions is None else f", {plural(transitions, 'distinct transition')}"
    if not description["expanded"]:
        counted += " (no configuration has all its choices here)"
    stuck, words = description["deadlocks"], _NET_WORDS if is_net(graph.system) else _WORDS
    lines = [
        f"{plural(choices, 'choice')}{counted}",
        f"{words.halting}: {description['halting']:,}"
        + (f", {stuck:,} of them deadlocks with {words.stuck}" if stuck and words.stuck else ""),
        f"deterministic{so_far}: {_yes(description['deterministic'])}",
        f"confluent: {_yes(description['confluent'])}",
        f"{words.counted}{so_far}: {_bounds(description['bounds'], words.name)}",
    ]
    unused = description[words.key]
    texts = [_rule(graph, one) for one in (unused or [])[:_MAX_RULES]]
    names = "not known" if unused is None else listed(texts, len(unused))
    lines.append(f"{words.unused}{so_far}: {names}")
    for name, found in list(description["numbers"].items())[:_MAX_OUTPUTS]:
        of = "" if len(description["numbers"]) == 1 else f" of {printable(name)}"
        values = ", ".join(map(str, found["values"][:_MAX_NUMBERS])) or "none"
        more = ", ..." if len(found["values"]) > _MAX_NUMBERS else ""
        upto = found["complete_up_to"]
        known = "all of them" if upto == numbers else f"others may be missing above {upto}"
        lines.append(f"numbers computed{of} up to {numbers}: {values}{more} ({known})")
    if numbers is not None and not description["numbers"]:
        lines.append("numbers computed: none, for there is no output neuron")
    return lines


class _Words(NamedTuple):
    """What the parts of a system are called."""

    name: str = "neurons"
    counted: str = "spikes"
    halting: str = "halting configurations"
    stuck: str = "spikes left in neurons that have rules"
    unused: str = "rules never used"
    key: str = "unused_rules"


_WORDS = _Words()
_NET_WORDS = _Words(
    "places",
    "tokens",
    "dead markings",
    "",
    "transitions that never fire",
    "unused_transitions",
)


def _rule(graph: "Graph", one: Any) -> str:
    """A rule by its neuron and number, or a transition, in words."""
    from ..spiking.model.system import is_growing
    from ..spiking.view.run_text import label_rules

    if is_net(graph.system):
        return one
    name, rule = one
    if is_growing(graph.system):
        return f"{name}: {label_rules(graph.system)[name][rule]}"
    position = graph.system.position_of(name)
    neuron = position.start if isinstance(position, slice) else position
    return f"{name}: {graph.system.rule_text(neuron, rule)}"


def _bounds(bounds: dict[str, list[int]], noun: str) -> str:
    from .text import listed

    texts = [
        f"{name} {low}" if low == high else f"{name} {low} to {high}"
        for name, (low, high) in list(bounds.items())[:_MAX_NEURONS]
    ]
    return listed(texts, len(bounds), more=f"more {noun}", none=f"no {noun}")


def _yes(holds: bool | None) -> str:
    return "not known" if holds is None else "yes" if holds else "no"
