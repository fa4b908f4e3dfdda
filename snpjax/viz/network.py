"""Networks of neurons on paper."""

from typing import TYPE_CHECKING

from ..spiking.model.population import PopulationSystem
from ..spiking.model.system import SpikingSystem
from ..spiking.view.picture import network_scene
from ..spiking.view.summary import MAX_NEURONS
from .canvas import draw_scene


if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]


def network(
    system: SpikingSystem | PopulationSystem,
    *,
    ax: "Axes | None" = None,
    max_neurons: int = MAX_NEURONS,
) -> "Axes":
    """Draw the network of a system: neurons with spikes and rules, synapses with weights, input and
    output, see `snpjax.spiking.view.picture.network_scene`.

    **Arguments:**

    - `ax`: where to draw; by default a figure of a size in which texts have 7 points.
    - `max_neurons`: of more neurons, those of one family or with the same rules are one box.

    **Returns:** the axes.

    **Raises:** `ImportError` without matplotlib.
    """
    return draw_scene(network_scene(system, max_neurons=max_neurons), ax)
