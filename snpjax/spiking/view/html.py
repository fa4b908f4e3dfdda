"""Systems and solutions in notebooks."""

from html import escape

from ..._text.quoting import table_html
from ..model.population import AnySystem
from ..model.rule import rule_text
from ..model.system import SpikingSystem
from .run_text import Shown
from .solution import Solution
from .timing import in_words


_MAX_ROWS = 60
_MAX_COLUMNS = 30


def system_html(system: AnySystem) -> str:
    """A picture of the system, below a table of its neurons where these are single ones."""
    # What places boxes takes 0.3 s to import: only where something is drawn.
    from .picture import system_svg

    is_single = isinstance(system, SpikingSystem)
    head = _neuron_table(system) if is_single else f"<p>{escape(repr(system))}</p>"
    return head + system_svg(system)


def _neuron_table(system: SpikingSystem) -> str:
    """Neurons with their spikes, rules and synapses."""
    called = [neuron.label if system.is_growing else neuron.name for neuron in system.neurons]
    targets: dict[str, list[str]] = {}
    for source, target, weight in system.synapses:
        text = target if weight == 1 else f"{target} (x{weight})"
        targets.setdefault(source, []).append(text)
    rows = [
        [
            neuron.name
            + (f" (label {neuron.label})" if neuron.label != neuron.name else "")
            + (" (output)" if called[i] in system.output else ""),
            str(neuron.spikes),
            "; ".join(system.rule_text(i, r) for r in range(min(len(neuron.rules), 20)))
            + (" ..." if len(neuron.rules) > 20 else ""),
            ", ".join(targets.get(neuron.name, [])[:20])
            + (" ..." if len(targets.get(neuron.name, [])) > 20 else ""),
        ]
        for i, neuron in enumerate(system.neurons[:_MAX_ROWS])
    ]
    for label, rules in list(system.rules_by_label.items())[: _MAX_ROWS - len(rows)]:
        texts = [rule if isinstance(rule, str) else rule_text(rule, label) for rule in rules[:20]]
        is_output = " (output)" if label in system.output else ""
        rows.append([f"label {label}{is_output}", "", "; ".join(texts), ""])
    return table_html(
        repr(system),
        ["neuron", "spikes", "rules", "synapses to"],
        rows,
        len(system.neurons) + len(system.rules_by_label) - len(rows),
        "neurons",
    )


def solution_html(solution: Solution) -> str:
    """The computation step by step; the final configuration where no history was saved."""
    system = solution.system
    saved = solution.saved
    if saved.every is None or not saved.details:
        return f"<pre>{escape(repr(solution))}</pre>"
    every = saved.every
    shown = Shown(solution)
    names = shown.names(most=_MAX_COLUMNS)
    rows = []
    for row, (spikes, timers) in enumerate(
        zip(solution.configurations[:_MAX_ROWS], solution.timer_history, strict=False)
    ):
        step = row * every
        fired = []
        # Of a network that changes what it was before is known where every step was kept.
        if step and (every == 1 or not (shown.is_growing or shown.is_plastic)):
            fired = shown.fired(step - 1, solution.rules[step - 1].tolist(), range(len(names)))
        there = len(shown.names(row, len(names)))
        remarks = in_words(timers[: len(names)], solution.in_flight(row)[:, : len(names)])
        cells = [f"{spikes[i]}{x}" if i < there else "" for i, x in enumerate(remarks)]
        rows.append([str(step), *cells, "; ".join(fired)])
    title = f"{system!r}: {solution.ending}"
    if len(solution.spikes) > len(names):
        title += f"; the first {len(names)} of {len(solution.spikes)} neurons"
    heads = ["step", *names, "rules"]
    return table_html(title, heads, rows, len(solution.configurations) - len(rows), "rows")
