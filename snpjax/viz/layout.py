"""Where the neurons of a network stand in a picture."""

from ..spiking.model.system import SpikingSystem
from ..spiking.view.picture import arrange


def positions(system: SpikingSystem) -> dict[str, tuple[float, float]]:
    """The middle of the box of every neuron by its name, in pixels, y downwards.

    They are those that the model's file gives (`system.notes["positions"]`) where it gives all;
    else layers from left to right where there is no cycle, and springs otherwise. The same system
    has the same positions everywhere, and boxes of `snpjax.viz.network` do not overlap there. Of
    labels that no neuron bears there are none.
    """
    arranged = arrange(system, max_neurons=max(len(system.neurons), 1))
    middles = arranged.middles.tolist()
    return {neuron.name: (x, y) for neuron, (x, y) in zip(system.neurons, middles, strict=False)}
