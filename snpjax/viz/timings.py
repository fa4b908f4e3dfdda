"""What layouts of synapses were measured to take, on paper."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..drawing.scene import BLUE, ORANGE, VERMILLION, YELLOW
from .axes import WIDE, drawing


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]

#: Of directions, from dark to light.
COLOURS, _HATCHES = (BLUE, ORANGE, YELLOW), ("", "///", "...")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_ROW = 0.19  # inches of a bar


def timings(
    seconds: Mapping[tuple[str, str], float | None],
    *,
    chosen: tuple[str, str] | str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what layouts take, the fastest on top, with a logarithmic axis.

    **Arguments:**

    - `seconds`: of (layout, direction); `None` for what was not measured, as it does not fit.
    - `chosen`: a layout, or one in a direction, to be marked.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` for an empty table, a time that is not a positive number, or a choice
    that is not in it, all problems at once; `ImportError` without matplotlib.
    """
    _check(seconds, chosen)
    directions = list(dict.fromkeys(direction for _, direction in seconds))
    layouts = list(dict.fromkeys(layout for layout, _ in seconds))
    best = dict.fromkeys(layouts, float("inf"))
    for (name, _), value in seconds.items():
        best[name] = best[name] if value is None else min(best[name], value)
    layouts.sort(key=lambda name: best[name])
    measured = [value for value in seconds.values() if value is not None]
    least = min(measured, default=1.0)
    unit, name_of_unit = next((u for u in _UNITS if least >= u[0]), _UNITS[-1])
    with drawing(ax, (WIDE[0] * 0.75, 0.7 + _ROW * max(len(seconds), 3))) as axes:
        height = 0.8 / len(directions)
        start = least / unit / 2
        for number, direction in enumerate(directions):
            rows = [i for i, layout in enumerate(layouts) if (layout, direction) in seconds]
            values = [seconds[layouts[i], direction] for i in rows]
            places = np.asarray(rows) + (number - (len(directions) - 1) / 2) * height
            lengths = [0.0 if value is None else value / unit - start for value in values]
            axes.barh(
                places,
                lengths,
                height * 0.9,
                left=start,
                color=COLOURS[number % len(COLOURS)],
                hatch=_HATCHES[number % len(_HATCHES)],
                edgecolor="white",
                linewidth=0,
                label=direction,
            )
            for place, i, value in zip(places.tolist(), rows, values, strict=True):
                is_chosen = chosen in (layouts[i], (layouts[i], direction))
                time = (value or 0) / unit
                text = f" {time:,.0f}" if time >= 100 else f" {time:.3g}"
                text = " does not fit" if value is None else text
                axes.annotate(
                    text + " ★ chosen" * is_chosen,
                    (start if value is None else value / unit, place),
                    va="center",
                    fontsize="small",
                    color=VERMILLION if is_chosen else "black",
                    fontweight="bold" if is_chosen else "normal",
                )
        axes.set(xscale="log", xlabel=f"time ({name_of_unit})", ylim=(len(layouts) - 0.4, -0.6))
        axes.set_xlim(start, max(measured, default=1.0) / unit * 4)
        axes.set_yticks(range(len(layouts)), [name.replace("$", r"\$") for name in layouts])
        if len(directions) > 1:
            axes.legend(
                frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(directions)
            )
        return axes


def _check(
    seconds: Mapping[tuple[str, str], float | None], chosen: tuple[str, str] | str | None
) -> None:
    problems = [] if seconds else ["the table is empty (give {(layout, direction): seconds})"]
    for pair, value in seconds.items():
        if value is not None and not (np.isfinite(value) and value > 0):
            problems.append(f"{pair}: {value!r} is not a time (give seconds above 0, or None)")
    known = {*seconds, *(layout for layout, _ in seconds)}
    if chosen is not None and chosen not in known:
        problems.append(f"{chosen!r} was chosen, but is not in the table")
    if problems:
        raise ValueError("\n".join(problems))
