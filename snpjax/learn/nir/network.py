"""The networks that NIR graphs describe, as exact systems with gradients."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from snpjax_formats import Dense, Sum

from ..arguments import check_sent, relayed
from ..relaxed import RelaxedSystem
from ..response import Response
from ..run import RelaxedSolution, run
from ..surrogate import rounded, within
from .wiring import BIAS, Arriving, NirWiring, arriving_at


class NirNetwork(eqx.Module):
    """A network read from a NIR graph: an exact SN P system whose synapses are made of the weights
    of the graph, so that all copies of the kernel of a convolution are one parameter.

    Call it with a spike train of its inputs. `from_nir` says what a step is.

    - `weights`, `biases`: of the nodes, by name, as NIR has them; rounded in runs.
    - `neurons`: the neurons and their rules; the synapses are not in it, but in `model`.
    - `gains`: what a node of neurons multiplies its input by.
    - `wiring`: the nodes and edges; `dt`: the length of a step in the unit of time of the graph.
    - `weight_range`: the smallest and the largest weight and bias.
    """

    weights: dict[str, Float[Array, "..."]]
    biases: dict[str, Float[Array, "..."]]
    neurons: RelaxedSystem
    gains: dict[str, Int[Array, " neurons"]]
    wiring: NirWiring = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    weight_range: tuple[float, float] = eqx.field(static=True)

    @property
    def model(self) -> RelaxedSystem:
        """The relaxed system, whose synapses are made of the rounded weights.

        `to_system(network.model)` is the exact system.
        """
        size = self.neurons.program.num_neurons
        # Without the rest of the model, so that networks of one shape share what is compiled.
        operators = eqx.tree_at(lambda network: network.neurons, self, None)
        return eqx.tree_at(
            lambda model: (model.synapses, model.is_synapse),
            self.neurons,
            _synapses(operators, size),
        )

    def arriving(self) -> list[Arriving]:
        """The matrices to each unit, of the rounded weights."""
        return _arriving(eqx.tree_at(lambda network: network.neurons, self, None))

    def run(
        self,
        train: Float[Array, "train inputs *paths"],
        *,
        steps: int | None = None,
        keep_configurations: bool = False,
    ) -> RelaxedSolution:
        """Run the network.

        **Arguments:**

        - `train`: `(train, inputs)` or `(train, inputs, paths)` spikes that the inputs receive in
          each step, and send in the next one; axes of an image are flattened.
        - `steps`: how many steps to make; by default as many as `train` has.
        - `keep_configurations`: as in `snpjax.learn.run`.

        **Returns:** a `RelaxedSolution`.

        **Raises:** `ValueError` for a train of another number of inputs, or longer than `steps`;
        and, unless it is traced, for NaN and for more spikes in a step than the `max_input` of
        `from_nir`, which would be lost.
        """
        train = jnp.asarray(train, jnp.float32)
        size = self.wiring.units[0].size
        steps = len(train) if steps is None else steps
        if not 2 <= train.ndim <= 3 or train.shape[1] != size or len(train) > steps:
            raise ValueError(
                f"`train` has the shape {train.shape}. Give up to {steps} steps of {size} inputs, "
                "and `paths` as a third axis if there are several."
            )
        check_sent(train, "train", lambda: relayed(self.neurons, slice(0, size)))
        others = len(self.neurons.names) - size
        given = jnp.pad(train, ((0, 0), (0, others), *((0, 0),) * (train.ndim - 2)))
        return run(self.model, steps=steps, input=given, keep_configurations=keep_configurations)

    def response(
        self, train: Float[Array, "train inputs *paths"], *, steps: int | None = None
    ) -> Response:
        """Run the network and return what the neurons that the output reads did.

        **Arguments:**

        - `train`, `steps`: as in `run`.

        **Returns:** a `Response`: spikes that left these neurons, and that remain in them.
        """
        found = self.run(train, steps=steps)
        start = sum(unit.size for unit in self.wiring.units[: self.wiring.read])
        size = self.wiring.units[self.wiring.read].size
        return Response(found.outputs, found.spikes[start : start + size])

    def __call__(
        self, train: Float[Array, "train inputs *paths"], *, steps: int | None = None
    ) -> Float[Array, "steps outputs *paths"]:
        """What leaves the output in each step."""
        return self.response(train, steps=steps).trains


@eqx.filter_jit
def _arriving(network: NirNetwork) -> list[Arriving]:
    weights, biases = (
        {name: within(rounded(x), *network.weight_range) for name, x in table.items()}
        for table in (network.weights, network.biases)
    )
    return matrices_of(network.wiring, weights, biases, network.gains)


@eqx.filter_jit
def _synapses(network: NirNetwork, size: int) -> tuple[Sum, Sum]:
    """The synapses of a network, and which of the weights that their layout stores there are."""
    synapses = synapses_of(network.wiring, _arriving(network), size)
    return synapses, jax.tree.map(lambda x: jnp.ones(x.shape, bool), synapses)


@eqx.filter_jit
def matrices_of(
    wiring: NirWiring,
    weights: Mapping[str, Float[Array | np.ndarray, "..."]],
    biases: Mapping[str, Float[Array | np.ndarray, "..."]],
    gains: Mapping[str, Int[Array | np.ndarray, " neurons"]],
) -> list[Arriving]:
    """The matrices to each unit, compiled in one piece.

    **Arguments:**

    - `wiring`: the graph.
    - `weights`, `biases`: of its operators, by name; `gains`: of its nodes of neurons.
    """
    numbers = ({name: jnp.asarray(x) for name, x in table.items()} for table in (weights, biases))
    return with_gains(
        wiring,
        arriving_at(wiring, *numbers),
        {name: jnp.asarray(x) for name, x in gains.items()},
    )


def with_gains(
    wiring: NirWiring, arriving: list[Arriving], gains: Mapping[str, Int[Array, " neurons"]]
) -> list[Arriving]:
    """What the potentials of each unit increase by."""
    found: list[Arriving] = []
    for unit, own in zip(wiring.units, arriving, strict=True):
        gain = gains.get(unit.name)
        if gain is None:
            found.append(own)
            continue
        column = gain.astype(jnp.float32)[:, None]
        sizes = {s: 1 if s == BIAS else wiring.units[s].size for s in own}
        found.append({s: column * (jnp.eye(sizes[s]) if x is None else x) for s, x in own.items()})
    return found


def synapses_of(wiring: NirWiring, arriving: list[Arriving], size: int) -> Sum:
    """The synapses between the neurons of all units. The first of two neurons behind them sends
    the bias."""
    starts = np.cumsum([0, *(unit.size for unit in wiring.units)]).tolist()
    bias = starts[-1]
    parts, source_starts, target_starts = [], [], []
    for target, own in enumerate(arriving):
        for source, matrix in sorted(own.items()):
            assert matrix is not None
            parts.append(_dense(matrix))
            source_starts.append(bias if source == BIAS else starts[source])
            target_starts.append(starts[target])
    if wiring.has_bias:  # two neurons that wake each other in every step
        parts.append(_dense(jnp.asarray([[0.0, 1.0], [1.0, 0.0]])))
        source_starts.append(bias)
        target_starts.append(bias)
    return Sum(
        parts=tuple(parts),
        source_starts=tuple(source_starts),
        target_starts=tuple(target_starts),
        num_sources=size,
        num_targets=size,
    )


def _dense(matrix: Float[Array, "targets sources"]) -> Dense:
    return Dense(values=matrix, num_sources=matrix.shape[1], num_targets=matrix.shape[0])
