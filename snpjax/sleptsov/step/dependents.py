"""What the engine `EventDriven` knows of a net: who watches which place, and the tree of words."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from snpjax_formats import bucket

from ...precision import precision
from ..lower.lower import Conditions, NetProgram, padded
from ..model.arcs import Compressed
from .state import Watched


_WORD = 32


class Watch(eqx.Module):
    """The conditions of all transitions by place, and what holds of the initial marking.

    Entry k of a place is satisfied where (tokens ^ flip[k]) >= bound[k].
    """

    starts: Int[Array, " places_and_one"]
    transition: Int[Array, " entries"]
    flip: Int[Array, " entries"]
    bound: Int[Array, " entries"]
    initial: Watched


def watch_of(conditions: Conditions, program: NetProgram) -> Watch:
    arcs = np.arange(len(conditions.place))
    by = Compressed.of(conditions.place, arcs, arcs, program.num_places)
    length = bucket(len(arcs))

    def entries(values: np.ndarray, dtype: np.dtype | type) -> Array:
        return jnp.asarray(padded(values[by.others], length, 0), dtype)

    marking = np.asarray(program.initial)[: conditions.num_places].astype(np.int64)
    with precision(program.dtype):
        return Watch(
            starts=jnp.asarray(by.starts, jnp.int32),
            transition=entries(conditions.transition, np.int32),
            flip=entries(conditions.flip, program.dtype),
            bound=entries(conditions.bound, program.dtype),
            initial=watched_of(conditions, marking, program.num_transitions),
        )


def watched_of(
    conditions: Conditions, marking: Int[np.ndarray, "places *paths"], size: int
) -> Watched:
    """What is to be known of a marking, counted anew."""
    unsatisfied = np.zeros((size, *marking.shape[1:]), np.int32)
    np.add.at(unsatisfied, conditions.transition, ~conditions.is_satisfied(marking))
    unsatisfied[conditions.num_transitions :] = 1  # padding never fires
    words, is_set = [], unsatisfied == 0
    while True:
        num = -(-len(is_set) // _WORD)
        missing = [(0, num * _WORD - len(is_set))] + [(0, 0)] * (marking.ndim - 1)
        bits = np.pad(is_set, missing).reshape(num, _WORD, *marking.shape[1:])
        place = np.uint32(1) << np.arange(_WORD, dtype=np.uint32)
        word = np.sum(bits * place.reshape(-1, *[1] * (marking.ndim - 1)), axis=1, dtype=np.uint32)
        words.append(word.view(np.int32))
        is_set = word != 0
        if num == 1:
            break
    return Watched(jnp.asarray(unsatisfied), jnp.asarray(np.concatenate(words)))


def level_starts(num_transitions: int) -> list[int]:
    """Where each level of the tree begins among its words; the last one is a single word."""
    starts, size, total = [], num_transitions, 0
    while True:
        size = -(-size // _WORD)
        starts.append(total)
        total += size
        if size == 1:
            return starts
