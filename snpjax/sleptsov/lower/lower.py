"""From a net to arrays: transitions in order of priority, arcs in rows, sizes padded to buckets."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from snpjax_formats import bucket, device_array

from ..._xla import precision
from ..model.arcs import CompressedArcs
from ..model.net import SleptsovNet
from ..model.validity import KINDS, is_unbounded
from ..step.program import NetProgram, Rows


class Conditions:
    """All arcs into transitions as conditions: an arc is satisfied where (tokens ^ flip) >= bound.

    `flip` is 0 for regular and test arcs, -1 for inhibitors: ~k >= -w says k < w.
    """

    def __init__(self, net: SleptsovNet, position: Int[np.ndarray, " transitions"]) -> None:
        kinds = (net.inputs, net.tests, net.inhibitors)
        self.place = np.concatenate([arcs.place for arcs in kinds])
        self.transition = position[np.concatenate([arcs.transition for arcs in kinds])]
        self.flip = np.repeat([0, 0, -1], [len(arcs) for arcs in kinds])
        weight = np.concatenate([arcs.weight for arcs in kinds])
        self.bound = np.where(self.flip == 0, weight, -weight)
        self.num_transitions, self.num_places = len(position), net.num_places


def marking_dtype(
    net: SleptsovNet, dtype: np.dtype | type | None, *, fix: str = "use numpy.int64"
) -> np.dtype:
    """What counts the tokens: 64 bits unless 32 are requested.

    - `fix`: what to do about numbers that need more.

    **Raises:** `ValueError` for another type, or numbers of the net that do not fit.
    """
    of = np.dtype(np.int64 if dtype is None else dtype)
    if of not in (np.int32, np.int64):
        raise ValueError(f"`count_dtype` is {of}. Give numpy.int32 or numpy.int64.")
    most = np.iinfo(of).max
    problems = [
        f"place {net.place_name(p)} holds {net.marking[p]} tokens"
        for p in np.flatnonzero(net.marking > most)[:10]
    ]
    for kind, (name, weight) in KINDS.items():
        arcs = getattr(net, kind)
        for arc in np.flatnonzero(arcs.weight > most)[:10]:
            place, transition = arcs.place[arc], arcs.transition[arc]
            problems.append(
                f"the {name} between place {net.place_name(place)} and transition "
                f"{net.transition_name(transition)} has {weight} {arcs.weight[arc]}"
            )
    if problems:
        raise ValueError(
            f"These do not fit in {8 * of.itemsize} bits, {fix}: {'; '.join(problems)}."
        )
    return of


def positions(net: SleptsovNet) -> Int[np.ndarray, " transitions"]:
    """Where each transition stands in the order of priority."""
    position = np.empty(net.num_transitions, np.int64)
    position[net.priority_order] = np.arange(net.num_transitions)
    return position


def lower(net: SleptsovNet, dtype: np.dtype) -> NetProgram:
    """What every engine needs of a net."""
    position = positions(net)
    size, places = bucket(net.num_transitions), bucket(net.num_places)
    marking = np.zeros(places, dtype)
    marking[: net.num_places] = net.marking
    unbounded = np.zeros(size, bool)
    unbounded[position] = is_unbounded(net)
    pairs = position[net.priorities]
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    missing = ((0, bucket(len(pairs), at_least=1) - len(pairs)), (0, 0))
    pairs = np.pad(pairs, missing, constant_values=size)
    with precision(dtype):
        return NetProgram(
            rows=_rows(net, position, size, places, dtype),
            initial=device_array(marking),
            unbounded=device_array(unbounded),
            beats=device_array(pairs.T, jnp.int32),
            has_order_only=net.order is not None,
        )


def _rows(
    net: SleptsovNet,
    position: Int[np.ndarray, " transitions"],
    size: int,
    places: int,
    dtype: np.dtype,
) -> Rows:
    """Input and output arcs merged by transition and place."""
    num = net.num_places
    arcs = (net.inputs, net.outputs)
    keys = np.concatenate([position[some.transition] * num + some.place for some in arcs])
    unique, entry = np.unique(keys, return_inverse=True)
    take, gain = (np.zeros(len(unique), np.int64) for _ in range(2))
    split = len(net.inputs)
    take[entry[:split]] = net.inputs.weight
    gain[entry[split:]] = net.outputs.weight
    gain -= take  # both are at least 0, so that nothing wraps
    transition, place = np.divmod(unique, max(num, 1))
    by = CompressedArcs.of(transition, place, np.arange(len(unique)), size)
    widest = int(by.degrees.max(initial=0))
    length = bucket(len(unique))
    return Rows(
        starts=device_array(by.starts, jnp.int32),
        place=device_array(padded(place, length, places), jnp.int32),
        take=device_array(padded(take, length, 0), dtype),
        gain=device_array(padded(gain, length, 0), dtype),
        widest=bucket(widest, at_least=1),
    )


def padded(array: np.ndarray, length: int, value: int) -> np.ndarray:
    """An array of that length."""
    return np.pad(array, (0, length - len(array)), constant_values=value)
