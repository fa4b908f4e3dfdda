"""Networks of the reference interpreter as `Configurations` have them."""

from typing import Any

import numpy as np

from snpjax_formats.arguments import explain_arguments

from ..spiking.model.system import SpikingSystem
from ..spiking.step.division import GrownState
from ..spiking.step.plasticity import PlasticState
from .reference_network import ReferenceNetwork


def state_of(system: SpikingSystem, network: ReferenceNetwork | None) -> Any:
    """Convert a reference network to the network state that `Configurations` hold.

    **Arguments:**

    - `system`: a system.
    - `network`: its network, or `None`.

    **Returns:** the state, with an axis of one configuration last; `None` if the network never
    changes.
    """
    if network is None or not system.changes_network:
        return None
    if system.is_growing:
        numbers = system.label_numbers
        synapses = sorted(network.synapses, key=lambda synapse: (synapse[1], synapse[0]))
        source, target, weights = np.reshape(np.asarray(synapses, int), (-1, 3)).T[..., None]
        columns: dict[str, Any] = dict(
            labels=np.asarray([[numbers[label]] for label in network.labels]),
            source=source,
            target=target,
            weights=weights,
            starts=np.searchsorted(target[:, 0], np.arange(len(network.labels) + 1))[:, None],
            num=np.asarray([len(network.labels)]),
        )
        return GrownState(**columns)
    plastic = system.plastic_columns
    assert plastic is not None
    pairs = {(source, target) for source, target, _ in network.synapses}
    exists = [
        [[(source, target) in pairs] for source, target in zip(plastic.neurons, row, strict=True)]
        for row in plastic.targets
    ]
    # Whether a second turn is due; which slot it is of is a matter of the compiled program.
    second = [[int(network.second[neuron] is not None)] for neuron in plastic.neurons]
    return PlasticState(np.asarray(exists), np.asarray(second))  # pyright: ignore[reportArgumentType]


explain_arguments(__name__)
