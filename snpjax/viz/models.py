"""Models on paper: systems of neurons, and Sleptsov nets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from ..sleptsov.model.net import SleptsovNet
from ..sleptsov.view.picture import MAX_NODES, net_scene
from ..spiking.model.population import AnySystem
from ..spiking.model.system import SpikingSystem
from ..spiking.view.picture import arrange, network_scene
from ..spiking.view.summary import MAX_NEURONS
from .canvas import draw_scene


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]


def network(
    system: AnySystem,
    *,
    ax: "Axes | None" = None,
    max_neurons: int = MAX_NEURONS,
) -> "Axes":
    """Draw the network of a system: neurons with spikes and rules, synapses with weights, input and
    output, see `snpjax.spiking.view.picture.network_scene`.

    **Arguments:**

    - `system`: a system of neurons or of populations.
    - `ax`: where to draw; by default a figure of a size in which texts have 7 points.
    - `max_neurons`: in a larger system, neurons of one family or with the same rules share a box.

    **Returns:** the axes.

    **Raises:** `ImportError` without matplotlib.
    """
    return draw_scene(network_scene(system, max_neurons=max_neurons), ax)


def positions(system: SpikingSystem) -> dict[str, tuple[float, float]]:
    """Place the neurons of a picture of a system.

    If the file of the model gives all positions (`system.notes["positions"]`), they are used. If
    not, a network without a cycle is placed in layers from left to right, and any other one by
    springs. The same system has the same positions everywhere, and boxes of `snpjax.viz.network` do
    not overlap.

    **Arguments:**

    - `system`: the system. Labels that no neuron bears have no position.

    **Returns:** the centre `(x, y)` of each neuron's box by its name, in pixels, with y downwards.
    """
    arranged = arrange(system, max_neurons=max(len(system.neurons), 1))
    middles = arranged.middles.tolist()
    return {neuron.name: (x, y) for neuron, (x, y) in zip(system.neurons, middles, strict=False)}


def net(
    drawn: SleptsovNet,
    *,
    marking: "Sequence[int] | Int[np.ndarray, ' places'] | None" = None,
    ax: "Axes | None" = None,
    max_nodes: int = MAX_NODES,
) -> "Axes":
    """Draw a net in the usual notation, see `snpjax.sleptsov.view.picture.net_scene`.

    **Arguments:**

    - `drawn`: the net.
    - `marking`: `(places,)` tokens to show, by default the initial ones.
    - `ax`: where to draw; by default a figure of a size in which texts have 6 points.
    - `max_nodes`: the largest number of places and transitions; larger nets are refused.

    **Returns:** the axes.

    **Raises:** `ValueError` for a larger net, or another number of places; `ImportError` without
    matplotlib.
    """
    return draw_scene(net_scene(drawn, marking=marking, max_nodes=max_nodes), ax)
