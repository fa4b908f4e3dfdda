"""Sleptsov nets on paper."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from ..sleptsov.model.net import SleptsovNet
from ..sleptsov.view.picture import MAX_NODES, net_scene
from .canvas import draw_scene


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]


def net(
    drawn: SleptsovNet,
    *,
    marking: "Sequence[int] | Int[np.ndarray, ' places'] | None" = None,
    ax: "Axes | None" = None,
    max_nodes: int = MAX_NODES,
) -> "Axes":
    """Draw a net in the usual notation, see `snpjax.sleptsov.view.picture.net_scene`.

    **Arguments:**

    - `marking`: `(places,)` tokens to be shown, by default the initial ones.
    - `ax`: where to draw; by default a figure of a size in which texts have 6 points.
    - `max_nodes`: a net of more places and transitions is refused.

    **Returns:** the axes.

    **Raises:** `ValueError` for a larger net, or another number of places; `ImportError` without
    matplotlib.
    """
    return draw_scene(net_scene(drawn, marking=marking, max_nodes=max_nodes), ax)
