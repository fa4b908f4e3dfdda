"""The queries of a system as columns, of the variant `Requests`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64, Int

from snpjax_formats import bucket, device_array

from ..model.rule import RequestRule
from ..model.rule_table import SlotTable, as_int64
from ..step.requests import ALL_SPIKES, RequestedSpikes


if TYPE_CHECKING:
    from ..model.system import SpikingSystem


@dataclass(frozen=True, eq=False)
class RequestColumns:
    """What lowering needs of queries. Axes as in `RequestedSpikes`, before padding."""

    asking: Int[np.ndarray, " pairs"]
    asked: Int[np.ndarray, " pairs"]
    counts: Int[np.ndarray, "slots pairs"]
    largest: int

    @classmethod
    def of(cls, system: "SpikingSystem", table: SlotTable) -> "RequestColumns":
        pairs: dict[tuple[int, int], int] = {}
        entries: list[tuple[int, int, int]] = []  # slot, pair, count
        for index, neuron in enumerate(system.neurons):
            column = table.type_of[index]
            for slot in np.flatnonzero(table.low[:, column] <= table.high[:, column]).tolist():
                rule = neuron.rules[table.number[slot, column]]
                assert isinstance(rule, RequestRule)
                for count, name in rule.queries:
                    pair = pairs.setdefault((index, system.names[name]), len(pairs))
                    entries.append((slot, pair, ALL_SPIKES if count is None else count))
        slots, places, wanted = zip(*entries, strict=True) if entries else ((), (), ())
        counts = np.zeros((table.num_slots, len(pairs)), np.int64)
        counts[list(slots), list(places)] = as_int64(wanted)
        asking, asked = np.asarray(list(pairs), np.int64).reshape(-1, 2).T
        return cls(asking, asked, counts, max(wanted, default=0))

    def arrivals(self, num_neurons: int) -> Float64[np.ndarray, " neurons"]:
        """A bound on what arrives at each neuron by queries for numbers of spikes; queries for all
        are watched as they are made."""
        most = self.counts.max(axis=0, initial=0).astype(float)
        return np.bincount(self.asking, weights=most, minlength=num_neurons).astype(float)

    def lowered(self, num_neurons: int, num_slots: int, dtype: np.dtype) -> RequestedSpikes:
        """As arrays for a program of that many neurons and slots."""
        slots, pairs = self.counts.shape
        missing = bucket(pairs, at_least=4) - pairs
        ends = (
            np.pad(end, (0, missing), constant_values=num_neurons)
            for end in (self.asking, self.asked)
        )
        counts = np.pad(self.counts, ((0, num_slots - slots), (0, missing)))
        most = int(np.bincount(self.asking, minlength=1).max())
        return RequestedSpikes(
            *(device_array(end, jnp.int32) for end in ends),
            counts=device_array(counts, dtype),
            most_asked=bucket(max(most, 1)),
        )
