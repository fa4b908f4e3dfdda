"""One run on paper: who spiked when, and how many spikes each neuron held."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Num

from .._text.quoting import printable
from ..drawing.scene import BLACK, VERMILLION, shortened
from ..spiking.model.system import is_growing
from ..spiking.view.snapshot import name_of
from ..spiking.view.solution import Solution
from .axes import WIDE, drawing, new_figure, whole_numbers
from .blocks import MAX_COLUMNS, MAX_ROWS, BlockMaxima, largest


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

_MAX_NAMED = 40  # neurons
_MAX_NAME = 18  # characters
_MAX_TICKS = 20_000  # spikes that are drawn one by one
_ROW, _LEAST = 0.14, 1.3  # inches


def raster(solution: Solution, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the spike raster of a run: a mark where a neuron emits in a step, in colour for outputs.

    For thousands of neurons or steps, a mark stands for a block in which some neuron emits. The
    label gives the size of a block.

    **Arguments:**

    - `solution`: one path with its emissions; of a batch, draw `batch[0]`.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` if emissions were not saved; `ImportError` without matplotlib.
    """
    _check_single(solution)
    table = solution.emissions.T != 0
    with drawing(ax, _size(table.shape[0])) as axes:
        is_output = _outputs(solution)[: len(table)]
        blocks = _blocks(axes, table.astype(np.int8))
        if blocks.are_single and np.count_nonzero(table) <= _MAX_TICKS:
            for own, colour in ((~is_output, BLACK), (is_output, VERMILLION)):
                rows, steps = np.nonzero(table & own[:, None])
                # So thin that marks of neighbouring steps stay apart.
                width = float(np.clip(260 / max(table.shape[1], 1), 0.5, 2.0))
                axes.vlines(steps + 1, rows - 0.4, rows + 0.4, color=colour, linewidth=width)
        else:
            shown = blocks.values.astype(float)
            outputs = _blocks(axes, (table & is_output[:, None]).astype(np.int8)).values
            image = np.ones((*shown.shape, 3))
            image[shown > 0] = 0.1
            image[outputs > 0] = [int(VERMILLION[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            axes.imshow(image, aspect="auto", interpolation="nearest", extent=_extent(blocks, 1, 1))
        axes.set(xlim=(-0.5, table.shape[1] + 0.5), xlabel="step")  # as that of the heat map
        whole_numbers(axes.xaxis)
        _name_rows(axes, solution, len(table))
        _say_blocks(axes, blocks, "a mark: some spike of", "")
        return axes


def heat_map(solution: Solution, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how many spikes each neuron holds over time, with a bar of colours.

    For thousands of neurons or steps, a pixel shows the largest number of a block, or the one
    farthest from 0 if counts may be negative. The label gives the size of a block.

    **Arguments:**

    - `solution`: one path with its configurations; of a batch, draw `batch[0]`.
    - `ax`: the axes to draw on; by default those of a new figure.

    **Returns:** the axes.

    **Raises:** `ValueError` if configurations were not saved; `ImportError` without matplotlib.
    """
    _check_single(solution)
    table, every = solution.configurations.T, solution.saved.every or 1
    with drawing(ax, _size(table.shape[0])) as axes:
        blocks = _blocks(axes, table)
        high = max(int(blocks.values.max(initial=0)), 1)
        low = int(blocks.values.min(initial=0))
        limits = {"cmap": "cividis", "vmin": 0, "vmax": high}
        if low < 0:
            limits = {"cmap": "cividis", "vmin": -max(high, -low), "vmax": max(high, -low)}
        image = axes.imshow(
            blocks.values,
            aspect="auto",
            interpolation="nearest",
            extent=_extent(blocks, 0, every),
            **limits,
        )
        bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
        whole_numbers(bar.ax.yaxis)
        bar.set_label("spikes")
        axes.set_xlim(-every / 2, every * (table.shape[1] - 0.5))
        whole_numbers(axes.xaxis)
        axes.set_xlabel("step" if every == 1 else f"step (every {every} kept)")
        _name_rows(axes, solution, len(table))
        _say_blocks(axes, blocks, "a pixel: the largest of", "" if every == 1 else " kept")
        return axes


def whole_run(solution: Solution) -> "Figure":
    """The raster of a run above its heat map, on a figure that no window shows."""
    width, height = _size(len(solution.spikes))
    with new_figure((width, 2 * height)) as figure:
        upper, lower = figure.subplots(2, 1)
        raster(solution, ax=upper)
        heat_map(solution, ax=lower)
        return figure


def _check_single(solution: object) -> None:
    if not isinstance(solution, Solution):
        raise ValueError("`solution` is not a run of one path. Of a batch, draw one: `batch[0]`.")


def _blocks(axes: "Axes", table: Num[np.ndarray, "neurons steps"]) -> BlockMaxima:
    """Blocks of at least a pixel, also beside the names, numbers and colours that axes get."""
    box = axes.get_window_extent()
    rows, columns = (max(int(0.75 * length), 1) for length in (box.height, box.width))
    return largest(table, max_rows=min(rows, MAX_ROWS), max_columns=min(columns, MAX_COLUMNS))


def _outputs(solution: Solution) -> np.ndarray:
    """Which neurons are outputs."""
    system, named = solution.system, np.zeros(len(solution.spikes), bool)
    if is_growing(system):
        labels = solution.network().labels
        return np.asarray([label in system.output for label in labels], bool)
    for name in system.output:
        named[system.position_of(name)] = True
    return named


def _size(num_neurons: int) -> tuple[float, float]:
    return WIDE[0], float(np.clip(0.6 + _ROW * num_neurons, _LEAST, 5.0))


def _extent(blocks: BlockMaxima, first: int, every: int) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of an image whose columns are steps from `first` on; a last block
    that is smaller is as wide as the others, and the limits of the axes cut it."""
    rows, columns = np.multiply(blocks.values.shape, (blocks.rows, blocks.columns)).tolist()
    return first - every / 2, first + every * (columns - 0.5), rows - 0.5, -0.5


def _name_rows(ax: "Axes", solution: Solution, num: int) -> None:
    ax.set_ylim(num - 0.5, -0.5)
    if num > _MAX_NAMED:
        ax.set_ylabel("neuron (by number)")
        return
    names = [name_of(solution.system, solution.state.network, i) for i in range(num)]
    texts = [shortened(printable(name), _MAX_NAME).replace("$", r"\$") for name in names]
    ax.set_yticks(range(num), texts)
    ax.tick_params(axis="y", length=0)


def _say_blocks(ax: "Axes", blocks: BlockMaxima, what: str, kept: str) -> None:
    if not blocks.are_single:
        neurons = f"{blocks.rows} neuron{'s' * (blocks.rows > 1)}"
        steps = f"{blocks.columns}{kept} step{'s' * (blocks.columns > 1)}"
        ax.set_title(f"{what} {neurons} in {steps}", loc="right", fontsize="small")
