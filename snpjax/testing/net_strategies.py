"""Hypothesis strategies for Sleptsov nets, small first, with all that is odd: transitions without
arcs, self-loops, inhibitors and outputs on one place, chains of priorities."""

import warnings
from typing import Any

from hypothesis import strategies as st

from .._text.model_warning import ModelWarning
from ..sleptsov import Arcs, SleptsovNet


def _arcs(places: int, transitions: int, most: int, largest: int) -> st.SearchStrategy[Arcs]:
    if places == 0 or transitions == 0:
        return st.just(Arcs.none())
    ends = st.tuples(st.integers(0, places - 1), st.integers(0, transitions - 1))
    weights = st.integers(1, largest)
    return st.dictionaries(ends, weights, max_size=most).map(
        lambda drawn: Arcs.of((p, t, w) for (p, t), w in drawn.items())
    )


@st.composite
def nets(
    draw: Any,
    max_places: int = 4,
    max_transitions: int = 5,
    max_tokens: int = 6,
    bounded: bool = False,
) -> SleptsovNet:
    """A strategy of Sleptsov nets.

    **Arguments:**

    - `max_places`, `max_transitions`: the largest numbers of places and transitions.
    - `max_tokens`: the largest number of initial tokens of a place.
    - `bounded`: whether every transition has a regular input arc and produces at most as many
      tokens as it consumes, so that finitely many markings are reachable.

    **Returns:** a Hypothesis strategy of `SleptsovNet`s.

    ```python
    @given(nets(max_transitions=4, bounded=True))
    def test_tokens_never_grow(net):
        assert snp.run(net, max_steps=20).marking.sum() <= net.marking.sum()
    ```
    """
    places = draw(st.integers(1 if bounded else 0, max_places))
    transitions = draw(st.integers(0, max_transitions))
    marking = draw(st.lists(st.integers(0, max_tokens), min_size=places, max_size=places))
    most = 2 * transitions
    inhibitors = draw(_arcs(places, transitions, most, 3))
    tests = draw(_arcs(places, transitions, most, 3))
    if bounded:
        moves = st.tuples(*[st.integers(0, places - 1)] * 2, *[st.integers(1, 3)] * 2)
        drawn = draw(st.lists(moves, min_size=transitions, max_size=transitions))
        inputs = Arcs.of((p, t, max(b, d)) for t, (p, _, b, d) in enumerate(drawn))
        outputs = Arcs.of((q, t, min(b, d)) for t, (_, q, b, d) in enumerate(drawn))
    else:
        inputs = draw(_arcs(places, transitions, most, 3))
        outputs = draw(_arcs(places, transitions, most, 3))
    rank = draw(st.permutations(range(transitions)))
    pairs = st.tuples(*[st.integers(0, max(transitions - 1, 0))] * 2)
    listed = draw(st.lists(pairs, max_size=transitions)) if transitions > 1 else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return SleptsovNet(
            marking,
            inputs=inputs,
            outputs=outputs,
            inhibitors=inhibitors,
            tests=tests,
            priorities=[(rank[min(x, y)], rank[max(x, y)]) for x, y in listed if x != y],
            num_transitions=transitions,
        )
