"""Systems and solutions in notebooks."""

from html import escape
from typing import TYPE_CHECKING

from .solution import Solution, describe_end, rule_name


if TYPE_CHECKING:
    from .system import SpikingSystem

_MAX_ROWS = 60
_MAX_COLUMNS = 30


def system_html(system: "SpikingSystem") -> str:
    """A table of neurons with their spikes, rules and synapses."""
    targets: dict[str, list[str]] = {}
    for source, target, weight in system.synapses:
        text = target if weight == 1 else f"{target} (x{weight})"
        targets.setdefault(source, []).append(text)
    rows = [
        [
            neuron.name + (" (output)" if neuron.name in system.output else ""),
            str(neuron.spikes),
            "; ".join(f"{rule}" for rule in neuron.rules[:20])
            + (" ..." if len(neuron.rules) > 20 else ""),
            ", ".join(targets.get(neuron.name, [])[:20])
            + (" ..." if len(targets.get(neuron.name, [])) > 20 else ""),
        ]
        for neuron in system.neurons[:_MAX_ROWS]
    ]
    return table_html(
        repr(system),
        ["neuron", "spikes", "rules", "synapses to"],
        rows,
        len(system.neurons) - len(rows),
        "neurons",
    )


def solution_html(solution: Solution) -> str:
    """The computation step by step; the final configuration where no history was saved."""
    system = solution.system
    if solution.paths is not None or solution.configurations is None or solution.rules is None:
        return f"<pre>{escape(repr(solution))}</pre>"
    assert solution.timer_history is not None
    every = solution.every or 1
    names = [system.name_of(i) for i in range(min(system.num_neurons, _MAX_COLUMNS))]
    rows = []
    for row, (spikes, timers) in enumerate(
        zip(solution.configurations[:_MAX_ROWS], solution.timer_history, strict=False)
    ):
        step = row * every
        fired = (
            [
                f"{name}: {rule_name(system, index, int(solution.rules[step - 1, index]))}"
                for index, name in enumerate(names)
                if solution.rules[step - 1, index] >= 0
            ]
            if step
            else []
        )
        cells = [
            f"{spikes[i]}" + (f" (closed {timers[i]})" if timers[i] else "")
            for i in range(len(names))
        ]
        rows.append([str(step), *cells, "; ".join(fired)])
    title = f"{system!r}: {describe_end(solution)}"
    if system.num_neurons > len(names):
        title += f"; the first {len(names)} of {system.num_neurons} neurons"
    heads = ["step", *names, "rules"]
    return table_html(title, heads, rows, len(solution.configurations) - len(rows), "rows")


def table_html(title: str, heads: list[str], rows: list[list[str]], left: int, what: str) -> str:
    """A table, and how many rows are left out."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    more = f"<p>... and {left} more {what}</p>" if left > 0 else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}"
    )
