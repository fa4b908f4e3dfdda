"""A batch of paths on paper: the numbers that they computed, and when they halted."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from .._text.quoting import printable
from ..drawing.scene import BLUE, ORANGE
from ..sleptsov.view.solution import NetSolutionBatch
from ..spiking.view.solution import SolutionBatch
from .axes import COLUMN, drawing, new_figure, whole_numbers


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

_MAX_BARS = 60
_MAX_TICKS = 12
_MAX_OUTPUTS = 5


def numbers(
    solution: SolutionBatch, *, output: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw how often each number was computed: the steps between the first two spikes of an output.

    Paths without a number are one bar at the right. Of many different numbers a bar stands for
    several, and the label says for how many.

    **Arguments:**

    - `solution`: a batch of paths.
    - `output`: which output neuron, where there are several.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` if it was not a batch, or the output is a population of several
    neurons; `ImportError` without matplotlib.
    """
    _check_batch(solution)
    found = solution.intervals(output)
    if found.ndim != 1:
        raise ValueError("The output is a population. Name one neuron of it as the output.")
    with drawing(ax, COLUMN) as axes:
        _bars(axes, found.compressed(), int(np.ma.count_masked(found)), "no number")
        axes.set_xlabel("number computed")
        return axes


def halting_times(
    solution: SolutionBatch | NetSolutionBatch, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw after how many steps the paths of a batch halted, as a histogram.

    Paths that did not halt are one bar at the right.

    **Arguments:**

    - `solution`: a batch of paths.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` if it was not a batch; `ImportError` without matplotlib.
    """
    _check_batch(solution)
    steps, halted = solution.steps, solution.halted
    left = steps[~halted]
    others = f"not halted\nafter {left.max():,}" if len(left) else ""
    with drawing(ax, COLUMN) as axes:
        _bars(axes, steps[halted], len(left), others)
        axes.set_xlabel("steps until it halts")
        return axes


def whole_batch(solution: SolutionBatch) -> "Figure":
    """When the paths of a batch halted, and the numbers of every output (of many, the first ones),
    on a figure that no window shows."""
    outputs = solution.system.output[:_MAX_OUTPUTS] if solution.saved.outputs else ()
    panels = 1 + len(outputs)
    with new_figure((COLUMN[0] * min(panels, 2), COLUMN[1] * -(-panels // 2))) as figure:
        axes = figure.subplots(-(-panels // 2), min(panels, 2), squeeze=False).ravel()
        for name, ax in zip(outputs, axes, strict=False):
            numbers(solution, output=name, ax=ax)
            if len(outputs) > 1:
                ax.set_xlabel(f"number computed by {printable(name)}".replace("$", r"\$"))
        halting_times(solution, ax=axes[len(outputs)])
        for ax in axes[panels:]:
            ax.set_axis_off()
        return figure


def _check_batch(solution: object) -> None:
    if not isinstance(solution, SolutionBatch | NetSolutionBatch):
        raise ValueError("`solution` is not a batch of paths. Run with `paths=...`.")


def _bars(ax: "Axes", values: Int[np.ndarray, " some"], num_others: int, others: str) -> None:
    """Shares of all paths, a bar for every value or for as many as needed, and one for the rest."""
    total = max(len(values) + num_others, 1)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    width = -(-(high - low + 1) // _MAX_BARS)
    starts = np.arange(low, high + 1, width)
    counts = np.bincount((values - low) // width, minlength=len(starts))
    if len(values):
        ax.bar(starts + (width - 1) / 2, counts / total, width=0.85 * width, color=BLUE)
        whole_numbers(ax.xaxis)
        found = np.unique(values)
        if len(found) > _MAX_TICKS:  # none beyond the values
            found = [x for x in ax.get_xticks() if low <= x <= high]
        ax.set_xticks(found)
    ax.set(ylabel=f"share of {total:,} paths", ylim=(0, None))
    if width > 1:
        ax.set_title(f"a bar: {width} neighbouring numbers", loc="right", fontsize="small")
    if not num_others:
        return
    span = max(high - low + 1, 4)
    place = high + max(0.15 * span, 1.5 * width)
    own_width, height = max(0.04 * span, 0.85 * width), num_others / total
    ax.bar([place], [height], width=own_width, color="white", edgecolor=ORANGE, hatch="///")
    ticks = [*ax.get_xticks()] if len(values) else []
    ax.set_xticks([*ticks, place], [*(f"{x:.0f}" for x in ticks), others])
