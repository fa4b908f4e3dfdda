"""`snpjax info FILE`: what a system is made of, its level, and what storing it costs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from jaxtyping import Int

from .._text.counts import bytes_text
from .._text.quoting import printable
from .ending import orderly
from .models import SystemOptions
from .options import AsJson, File, From, flag, format_from, grouped


if TYPE_CHECKING:
    from ..spiking import Problem, SpikingSystem
    from ..spiking.model.population import AnySystem
    from ..spiking.model.rule import AnyRule

_MAX_GUARDS = 10
_MAX_REASONS = 10
_MAX_NAMES = 20
_MAX_GUARD_TEXT = 60  # characters


@orderly("snpjax sleptsov info {}")
@grouped
def info(
    *,
    file: File,
    systems: SystemOptions,
    source_format: From = None,
    layouts: Annotated[
        bool, flag("--layouts", "List what each layout of the synapses would cost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a spiking neural P system without running it."""
    import snpjax as snp

    from . import data

    reads = format_from(source_format, "system")
    system = systems.read(file, reads)
    if isinstance(system, snp.PopulationSystem):
        from .info_populations import describe_populations

        description = describe_populations(system, f"{file}")
    else:
        description = describe(system, f"{file}")
    if as_json:
        data.print_json(description)
    else:
        _print(system, description, layouts=layouts)


def describe(system: "SpikingSystem", file: str) -> dict[str, Any]:
    """All that `info` says of a system of single neurons, as plain values."""
    from ..spiking import Rule
    from ..spiking.lower.host_program import edges_of, horizon_of
    from .info_behaviour import described_behaviour

    reasons = reasons_not_strict(system)
    rules = [rule for n in system.neurons for rule in n.rules if not isinstance(rule, str)]
    rules += [r for of in system.rules_by_label.values() for r in of if not isinstance(r, str)]
    guards = Counter(rule.guard for rule in rules)
    edges = edges_of(system)
    degrees = (np.bincount(x, minlength=len(system.neurons)) for x in (edges.target, edges.source))
    return {
        "file": file,
        "name": system.name,
        "neurons": len(system.neurons),
        "rules": {"all": len(rules), **Counter(map(_kind, rules))},
        "guards": {str(guard): uses for guard, uses in guards.most_common()},
        "num_guards": len(guards),
        "delays": span([r.delay for r in rules if isinstance(r, Rule) and r.delay]),
        "synapses": len(system.synapses),
        "weights": span([weight for _, _, weight in system.synapses]),
        **described_degrees(*degrees),
        "inputs": {name: horizon_of(train) for name, train in system.input.items()},
        "outputs": list(system.output),
        **described_behaviour(system),
        "level": "extended" if reasons else "strict",
        "reasons": [{"code": p.code, "message": p.message} for p in reasons],
        **(_growth(system) if system.is_growing else _storage(system)),
    }


def span(values: Sequence[int]) -> dict[str, int] | None:
    """The least and the largest of some numbers, and how many they are; `None` for none."""
    if len(values) == 0:
        return None
    return {"min": int(min(values)), "max": int(max(values)), "count": len(values)}


def described_degrees(
    entering: Int[np.ndarray, " neurons"], leaving: Int[np.ndarray, " neurons"]
) -> dict[str, dict[str, float] | None]:
    """The numbers of synapses that enter and leave a neuron."""
    return {
        name: None
        if len(degree) == 0
        else {"min": int(degree.min()), "mean": float(degree.mean()), "max": int(degree.max())}
        for name, degree in (("in_degree", entering), ("out_degree", leaving))
    }


def _growth(system: "SpikingSystem") -> dict[str, Any]:
    """What there is only where neurons divide or bud, whose synapses are always a list."""
    from ..spiking.model.validity import possible_labels

    return {
        "labels": list(possible_labels(system.neurons, system.rules_by_label)),
        "dictionary": [list(pair) for pair in system.dictionary],
    }


def _storage(system: "SpikingSystem") -> dict[str, Any]:
    """The layout that a run takes by itself and why, and the bytes that each layout would need."""
    from ..spiking import chosen_layout
    from .options import layouts

    decision = chosen_layout(system)
    names = {layout: name for name, layout in layouts().items()}
    auto = {"layout": names[decision.layout], "reason": decision.reason}
    return {"auto": auto, "layouts": layout_bytes(system)}


def reasons_not_strict(system: "SpikingSystem") -> "tuple[Problem, ...]":
    """What level strict refuses; empty for a system that it accepts."""
    import warnings
    from dataclasses import replace

    from ..spiking import InvalidSystem

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            replace(system, level="strict")
        except InvalidSystem as error:
            return error.problems
    return ()


def layout_bytes(system: "SpikingSystem") -> dict[str, int]:
    """Bytes that each layout would need, in a run with 32-bit counts."""
    from ..spiking import Transition, bytes_needed
    from .options import layouts

    forms = layouts().items()
    if not system.is_static:  # no transition matrix
        forms = [(name, form) for name, form in forms if not isinstance(form, Transition)]
    sizes = {}
    for name, form in forms:
        with suppress(ValueError):  # a layout that cannot store these synapses
            sizes[name] = bytes_needed(system, form)
    return sizes


def _kind(rule: "AnyRule") -> str:
    from ..spiking import BuddingRule, DivisionRule, PlasticityRule, RequestRule

    match rule:
        case DivisionRule():
            return "division"
        case BuddingRule():
            return "budding"
        case PlasticityRule():
            return "plasticity"
        case RequestRule():
            return "request"
    return "forgetting" if rule.is_forgetting else "firing"


def _print(system: "AnySystem", description: dict[str, Any], *, layouts: bool) -> None:
    from rich.table import Table

    from .text import headline, plural, print_table, to_stdout

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(description, layouts=layouts):
        table.add_row(name, text)
    with to_stdout() as console:
        console.out(headline(system, description["file"]))
        print_table(console, table)
        reasons = description["reasons"]
        for reason in reasons[:_MAX_REASONS]:
            console.out(f"  {reason['message']}")
        if len(reasons) > _MAX_REASONS:
            console.out(f"  and {plural(len(reasons) - _MAX_REASONS, 'more reason')}")


def _lines(description: dict[str, Any], *, layouts: bool) -> "list[tuple[str, str]]":
    from .text import plural, shortened

    kinds = [f"{n:,} {kind}" for kind, n in description["rules"].items() if kind != "all"]
    guards, num_guards = description["guards"], description["num_guards"]
    delays, weights = description["delays"], description["weights"]
    delayed = plural(delays["count"], "rule") if delays else ""
    lines = [
        ("neurons", f"{description['neurons']:,}"),
        ("rules", ", ".join(kinds) or "none"),
        ("synapses", f"{description['synapses']:,}"),
        ("inputs", _named([f"{n} (horizon {h})" for n, h in description["inputs"].items()])),
        ("outputs", _named(description["outputs"])),
        *_behaviour(description),
        ("rule delays", f"{_range(delays)} in {delayed}" if delays else "none"),
        ("weights", _range(weights) if weights else "none"),
        ("in-degree", _degree(description["in_degree"])),
        ("out-degree", _degree(description["out_degree"])),
        ("guards", f"{num_guards:,} distinct" if guards else "none"),
    ]
    lines += [
        ("", f"{shortened(guard, _MAX_GUARD_TEXT)}  in {plural(uses, 'rule')}")
        for guard, uses in list(guards.items())[:_MAX_GUARDS]
    ]
    if num_guards > _MAX_GUARDS:
        lines.append(("", f"and {num_guards - _MAX_GUARDS:,} more"))
    if layouts and "auto" in description:
        auto = description["auto"]
        lines.append(("layout auto", f"{auto['layout']} ({auto['reason']})"))
    if "labels" in description:
        pairs = [f"({x}, {y})" for x, y in description["dictionary"]]
        lines += [("labels", _named(description["labels"])), ("dictionary", _named(pairs))]
    sizes = description.get("layouts", {}).items() if layouts else ()
    if layouts and not sizes:
        lines.append(("layouts", "none: neurons that divide have a storage of their own"))
    lines += [(f"layout {name}", bytes_text(size)) for name, size in sizes]
    only = description["level"] == "extended"
    lines.append(("level", "extended only; strict refuses:" if only else "strict"))
    return lines


def _behaviour(description: dict[str, Any]) -> "Iterator[tuple[str, str]]":
    """The variant, and what is known of spikes and choices."""
    spikes, bounds = description["initial_spikes"], description["bounds"]
    unknown = description["neurons"] - len(bounds)
    known = _named([f"{name} <= {most:,}" for name, most in bounds.items()]) if bounds else ""
    left = f"not known of {unknown:,}; `snpjax explore` finds them" if unknown else ""
    yield "initial spikes", _named([f"{name} {n:,}" for name, n in spikes.items()])
    yield "spike bounds", "; ".join(text for text in (known, left) if text) or "none"
    yield "deterministic", _determinism(description)
    variant = description["variant"]
    if variant is not None:
        yield "variant", variant["kind"]
        entries = variant["entries"]
        yield from (("", printable(entry)) for entry in entries[:_MAX_NAMES])
        if len(entries) > _MAX_NAMES:
            yield "", f"and {len(entries) - _MAX_NAMES:,} more"


def _determinism(description: dict[str, Any]) -> str:
    if description["deterministic"] is None:
        return "not decided without running it; see `snpjax explore`"
    if description["deterministic"]:
        return "yes: no two rules of a neuron apply at once"
    return f"perhaps not: two rules can apply at once in {_named(description['choosing'])}"


def _range(values: dict[str, int]) -> str:
    low, high = values["min"], values["max"]
    return f"all {low:,}" if low == high else f"{low:,} to {high:,}"


def _degree(degree: dict[str, float] | None) -> str:
    if degree is None:
        return "none"
    return f"min {degree['min']:,}, mean {degree['mean']:,.2f}, max {degree['max']:,}"


def _named(names: list[str]) -> str:
    from .text import listed

    return listed(names[:_MAX_NAMES], len(names))
