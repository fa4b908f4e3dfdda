"""Hypothesis strategies: guards, rules, systems, inputs and runs, small first and including the odd
ones.

```python
from hypothesis import given
from snpjax.testing import systems

@given(systems(max_neurons=6))
def test_mine(system): ...
```
"""

import warnings
from collections.abc import Sequence
from typing import Any

from ..spiking.guard import Guard
from ..spiking.rule import Rule
from ..spiking.system import Neuron, SpikingSystem
from ..spiking.validity import Level, ModelWarning
from .reference import Choice, Computation, Configuration, applicable, run


try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'Drawing systems needs Hypothesis. Install it with: pip install "snpjax[testing]"'
    ) from error


@st.composite
def guards(draw: Any, *, max_count: int = 6) -> Guard:
    """Guards: exact counts, intervals, arithmetic progressions, sets and unions, all with constants
    up to `max_count`.

    ```python
    @given(guards())
    def test_complement(guard):
        assert guard.isdisjoint(~guard)
    ```
    """
    counts = st.integers(0, max_count)
    kind = draw(st.sampled_from(["exactly", "interval", "from", "progression", "set", "union"]))
    if kind == "exactly":
        return Guard.exactly(draw(counts))
    if kind == "interval":
        low, high = sorted([draw(counts), draw(counts)])
        return Guard.interval(low, high)
    if kind == "from":
        return Guard.interval(draw(counts))
    if kind == "progression":
        period = draw(st.integers(1, max_count))
        return Guard.exactly(draw(counts)).concatenate(Guard.exactly(period).star())
    if kind == "set":
        return Guard.from_lengths(draw(st.sets(counts, min_size=1)))
    return draw(guards(max_count=max_count)) | draw(guards(max_count=max_count))


@st.composite
def rules(draw: Any, *, level: Level = "extended", max_count: int = 4, max_delay: int = 3) -> Rule:
    """Spiking and forgetting rules, each valid at `level` by itself; some can never apply.

    ```python
    @given(rules(max_delay=0))
    def test_text(rule):
        assert snp.Rule.parse(str(rule)) == rule
    ```
    """
    consume = draw(st.integers(1, max_count))
    is_forgetting = draw(st.integers(0, 3)) == 0
    if is_forgetting:
        guard = None if level == "strict" else draw(st.none() | guards())
        return Rule(guard, consume)
    guard = draw(st.none() | guards())
    produce = draw(st.integers(1, consume if level == "strict" else max_count))
    return Rule(guard, consume, produce, draw(st.sampled_from([0, 0, *range(max_delay + 1)])))


@st.composite
def systems(
    draw: Any,
    *,
    level: Level = "extended",
    min_neurons: int = 0,
    max_neurons: int = 6,
    max_rules: int = 4,
    max_spikes: int = 5,
    max_delay: int = 3,
    inputs: bool = True,
    weights: bool = True,
    signed: bool | None = False,
    min_outputs: int = 0,
    max_outputs: int = 2,
) -> SpikingSystem:
    """Static systems, valid at `level`.

    **Arguments:**

    - `inputs`: some neurons may get an input train.
    - `weights`: synapses may weigh more than 1 (level *extended*).
    - `signed`: negative weights and counts too; `None` draws whether.
    - `min_outputs`, `max_outputs`: how many neurons are outputs, as far as there are neurons.

    ```python
    @given(systems(max_neurons=4, min_neurons=1, min_outputs=1, max_outputs=1))
    def test_itself(system):
        assert_equivalent(system, system, max_depth=5, bounded=True)
    ```
    """
    is_signed = draw(st.booleans()) if signed is None else signed
    names = [f"n{i}" for i in range(draw(st.integers(min_neurons, max_neurons)))]
    neurons = []
    for name in names:
        drawn = draw(st.lists(rules(level=level, max_delay=max_delay), max_size=max_rules))
        if level == "strict":
            drawn = _without_overlap(drawn)
        lowest = -2 if is_signed else 0
        neurons.append(Neuron(name, draw(st.integers(lowest, max_spikes)), drawn))
    pairs = [(x, y) for x in names for y in names if x != y or level == "extended"]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    weight = st.just(1)
    if weights and level == "extended":
        weight = st.sampled_from([1, 1, 2, 3])
        if is_signed:
            weight = st.sampled_from([1, 2, -1, -2])
    synapses = [(x, y, draw(weight)) for x, y in chosen]
    input: dict[str, list[int]] = {}
    if inputs and names:
        fed = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        input = {name: draw(st.lists(st.integers(0, 3), max_size=6)) for name in fed}
    least, most = min(min_outputs, len(names)), min(max_outputs, len(names))
    output = []
    if names:
        output = draw(st.lists(st.sampled_from(names), unique=True, min_size=least, max_size=most))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # dead and repeated rules are wanted here
        return SpikingSystem(
            neurons, synapses, input=input, output=output, level=level, signed=is_signed
        )


def _without_overlap(drawn: list[Rule]) -> list[Rule]:
    """Drop forgetting rules at whose count a firing rule applies too."""
    firing = [rule for rule in drawn if not rule.is_forgetting]
    return [
        rule
        for rule in drawn
        if not rule.is_forgetting or not any(rule.consume in other.guard for other in firing)
    ]


@st.composite
def inputs(
    draw: Any,
    system: SpikingSystem,
    length: int,
    *,
    most: int = 1,
    neurons: Sequence[str] | None = None,
) -> dict[str, list[int]]:
    """Input trains of exactly `length` steps, for `system.with_input`.

    **Arguments:**

    - `most`: spikes a step.
    - `neurons`: those that get input; by default those that have a train in the system.

    ```python
    @given(st.data())
    def test_sum(data):
        trains = data.draw(inputs(adder, 6))
        assert total(snp.run(adder.with_input(trains))) == expected(trains)
    ```
    """
    train = st.lists(st.integers(0, most), min_size=length, max_size=length)
    return {name: draw(train) for name in (system.input if neurons is None else neurons)}


@st.composite
def runs(draw: Any, system: SpikingSystem, *, max_steps: int = 10) -> Computation:
    """Computations of at most `max_steps` steps, every choice drawn, by the reference interpreter.
    `snpjax.GivenChoices(run.choices)` makes the same run elsewhere.

    ```python
    @given(st.data())
    def test_bound(data):
        run = data.draw(runs(system))
        assert all(sum(c.spikes) <= 5 for c in run.configurations)
    ```
    """

    def choose(system: SpikingSystem, configuration: Configuration) -> Choice:
        options = applicable(system, configuration)
        return tuple(draw(st.sampled_from(rules)) if rules else None for rules in options)

    return run(system, choose, max_steps=draw(st.integers(0, max_steps)))
