"""Online learning by eligibility traces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from snpjax_formats import Dense, Sum

from ..choice import FirstChoice
from .attached import attached
from .relaxed import Constants, RelaxedSystem, constants_of, nameless
from .response import Response
from .run import arriving_in, begun
from .step import RelaxedState, initial_state, step
from .truncated import checked_rows, full_length


def eprop_loss(
    model: RelaxedSystem,
    loss: Callable[..., Float[Array, ""]],
    /,
    *,
    steps: int,
    rows: Sequence[Shaped[Array, "steps ..."]] = (),
    spikes: Float[Array, "neurons *paths"] | None = None,
    input: Mapping[str, Float[Array, "train *paths"]]
    | Float[Array, "train neurons *paths"]
    | None = None,
    feedback: Float[Array, "outputs neurons"] | None = None,
) -> Float[Array, ""]:
    """The loss of a run, with a gradient of the weights by eligibility propagation (e-prop).

    The value is exact: the sum of the losses of all steps of one run. The gradient is computed
    forwards in time, together with the value. Its memory does not grow with the steps: the traces
    are two numbers for each synapse and path, or three if rules have delays. Use it as any loss: in
    `jax.value_and_grad`, `eqx.filter_grad` or `fit`. Only synaptic weights get a gradient.
    Neurons take the first applicable rule. Call it under `jit`, as `fit` does; outside, every call
    compiles.

    In each step let k_j be the spikes of neuron j before it and z_j what the neuron emits. If rule
    r consumes c_r spikes, produces p_r and has the surrogate's slope s_r, then the spikes that the
    neuron keeps have the derivative d_j = 1 - sum of c_r s_r in k_j, and z_j has psi_j = sum of p_r
    s_r. The synapse from i to j has the trace E <- d_j E + z_i, the eligibility e = psi_j E with
    the trace from before the step, and the sum S of its eligibilities so far. Let a_k and b_k be
    the derivatives of the loss of the step in the spikes left in output k and in what it emits.
    Then the gradient of the synapse is the sum over all steps of

        a_j E + b_j e + sum over outputs k of W_kj (a_k S + b_k psi_k S'),

    with E and S after the step, and S' before it. A second trace follows the pending emission of
    rules with delays; spikes that a closed neuron loses do not count.

    **Where it is exact.** It equals backpropagation through time for synapses onto outputs that
    send to no neuron, and for synapses onto neurons that send only to outputs without rules. So it
    is exact for a single layer, and for a hidden layer without recurrence whose outputs only count.

    **Elsewhere** it ignores the influence of a neuron through neurons that are not outputs, such as
    those of its own recurrent population, and it treats outputs as if their rules consumed none of
    the spikes that hidden neurons sent. Neurons without a synapse onto an output get no gradient,
    unless `feedback` gives them one.

    **Arguments:**

    - `model`: a relaxed system, such as `network.model`.
    - `loss`: `loss(response, *rows)` returns the loss of one step as a scalar, from a `Response`
      with what left the output neurons in this step, `(1, outputs, *paths)`, and what is left in
      them after it, `(outputs, *paths)`.
    - `steps`: the number of steps of the run.
    - `rows`: arrays with an entry for each step, such as targets; each call gets one entry, with
      the axis of steps.
    - `spikes`, `input`: as in `run`; they get no gradient.
    - `feedback`: `(outputs, neurons)` numbers that replace the weights W_kj in the sum over
      outputs, such as random ones; by default the weights themselves (symmetric feedback).

    **Returns:** the sum of the losses of all steps.

    **Raises:** `ValueError` for `rows` of another length and `feedback` of another shape, and as
    `run` does.

    ??? cite "Source"
        Bellec et al. 2020. This differs from it in: 1. The state is a count without a constant
        leak, so traces decay by d_j. 2. Outputs accumulate what they receive, without a leak. 3.
        Neurons may have several rules, and delays.
    """
    rows, num = checked_rows(rows, steps), len(model.names)
    frozen, spikes, input = lax.stop_gradient((model, spikes, input))
    constants, start, trains = begun(frozen, steps, spikes, input)
    trains = full_length(input, steps) if isinstance(input, Mapping) else trains
    if feedback is not None and feedback.shape != (model.num_outputs, num):
        raise ValueError(
            f"`feedback` has the shape {feedback.shape}. Pass (outputs, neurons), here "
            f"({model.num_outputs}, {num})."
        )
    learner = _Eligibility(frozen, constants, feedback, *_ends(constants))

    def body(carry: Any, own: Any) -> tuple[Any, None]:
        total, slopes, state, traces = carry
        arriving, rows = jax.tree.map(lambda x: x[None], own)
        if isinstance(arriving, dict):
            arriving = arriving_in(frozen, 1, arriving)[0]
        if arriving is not None:  # with an axis of paths
            arriving = arriving[0].reshape(start.shape[0], -1)

        def loss_of(sent: Array, left: Array) -> Float[Array, ""]:
            if start.ndim == 1:
                sent, left = sent[:, 0], left[:, 0]
            return loss(Response(sent[None], left), *rows)

        value, state, traces, more = learner.step(state, traces, arriving, loss_of)
        slopes = [x + y for x, y in zip(slopes, more, strict=True)]
        return (total + value, slopes, state, traces), None

    state = initial_state(start.reshape(len(start), -1))
    slopes = [jnp.zeros_like(x) for x in _weights(constants)]
    carry = jnp.zeros(()), slopes, state, learner.no_traces(state)
    (total, slopes, *_), _ = lax.scan(body, carry, (trains, rows), steps)
    return attached(total, _weights(constants_of(model)), slopes)


class _Traces(NamedTuple):
    """Of each synapse, in the arrays of the weights with an axis of paths behind.

    - `spikes`, `pending`: the derivatives of the spikes and of the pending emission of its target;
      the latter is `None` without delays.
    - `emitted`: the sum of its eligibilities so far.
    """

    spikes: list[Float[Array, "... paths"]]
    pending: list[Float[Array, "... paths"]] | None
    emitted: list[Float[Array, "... paths"]]


class _Eligibility(eqx.Module):
    """The steps of a system, with the traces of its synapses.

    - `sources`, `targets`: of each synapse, in the arrays of the weights.
    """

    model: RelaxedSystem
    constants: Constants
    feedback: Float[Array, "outputs neurons"] | None
    sources: list[Int[Array, "..."]]
    targets: list[Int[Array, "..."]]

    def no_traces(self, state: RelaxedState) -> _Traces:
        paths = state.spikes.shape[1]
        zeros = [jnp.zeros((*x.shape, paths)) for x in _weights(self.constants)]
        return _Traces(zeros, None if self.model.program.delay is None else zeros, zeros)

    def step(
        self,
        state: RelaxedState,
        traces: _Traces,
        arriving: Float[Array, "neurons paths"] | None,
        loss: Callable[[Array, Array], Float[Array, ""]],
    ) -> tuple[Float[Array, ""], RelaxedState, _Traces, list[Float[Array, "..."]]]:
        """The loss of a step, the state and the traces after it, and its part of the gradient."""
        outputs = self.model.program.outputs[: self.model.num_outputs]
        new, sent, by_spikes, by_pending = self._of_neurons(state)
        received = self.constants.synapses.deliver(sent, accumulate=jnp.float32)
        if arriving is not None:
            received = received + arriving
        is_open = (new.timers == 0).astype(jnp.float32)
        new = replace(new, spikes=new.spikes + is_open * received)
        value, (of_sent, of_left) = jax.value_and_grad(loss, argnums=(0, 1))(
            sent[outputs], new.spikes[outputs]
        )
        of_sent, of_left = (jnp.zeros_like(sent).at[outputs].set(x) for x in (of_sent, of_left))

        # How a synapse changes what its target emits now, and what stays in it.
        eligible = _sum(self._at_targets(by_spikes.sent), traces.spikes)
        pending = None
        if traces.pending is not None and by_pending is not None:
            eligible = _sum(self._at_targets(by_pending.sent), traces.pending, eligible)
            pending = _sum(self._at_targets(by_spikes.pending), traces.spikes)
            pending = _sum(self._at_targets(by_pending.pending), traces.pending, pending)
        spikes = _sum(self._at_targets(by_spikes.spikes), traces.spikes)
        arrived = [sent[at] for at in self.sources]
        spikes = _sum(self._at_targets(is_open), arrived, spikes)
        emitted = [x + y for x, y in zip(traces.emitted, eligible, strict=True)]

        back_now = self._fed_back(is_open * of_left)
        back_before = self._fed_back(by_spikes.sent * of_sent)
        # The sum of eligibilities before the step is the one after it, less that of the step.
        parts = [
            (of_left, spikes),
            (of_sent - back_before, eligible),
            (back_now + back_before, emitted),
        ]
        slopes = [jnp.zeros(x.shape) for x in emitted]
        for signal, trace in parts:
            slopes = _sum(self._at_targets(signal), trace, slopes)
        traces = _Traces(spikes, pending, emitted)
        return value, new, traces, [jnp.sum(x, axis=-1) for x in slopes]

    def _of_neurons(
        self, state: RelaxedState
    ) -> tuple[RelaxedState, Array, "_Derivatives", "_Derivatives | None"]:
        """A step in which nothing is delivered, and its derivatives in the state of each neuron."""
        size = self.model.program.num_neurons
        nothing = {"num_sources": size, "num_targets": size}
        synapses = Sum(parts=(), source_starts=(), target_starts=(), **nothing)
        constants = self.constants._replace(synapses=synapses)

        def of_state(spikes: Array, pending: Array) -> tuple["_Derivatives", RelaxedState]:
            given = replace(state, spikes=spikes, pending=pending)
            new, found = step(nameless(self.model), constants, given, FirstChoice(), None)
            return _Derivatives(new.spikes, new.pending, found.emissions), new

        point, zeros = (state.spikes, state.pending), jnp.zeros_like(state.spikes)
        # Neurons do not depend on each other here, so one direction has the derivatives of all.
        ones = jnp.ones_like(zeros)
        values, by_spikes, new = jax.jvp(of_state, point, (ones, zeros), has_aux=True)
        if self.model.program.delay is None:
            return new, values.sent, by_spikes, None
        _, by_pending, _ = jax.jvp(of_state, point, (zeros, ones), has_aux=True)
        return new, values.sent, by_spikes, by_pending

    def _fed_back(self, signal: Float[Array, "neurons paths"]) -> Float[Array, "neurons paths"]:
        """Signals of outputs at the neurons that send to them."""
        if self.feedback is None:
            return self.constants.synapses.deliver_transposed(signal, accumulate=jnp.float32)
        outputs = self.model.program.outputs[: self.model.num_outputs]
        found = jnp.matmul(self.feedback.T, signal[outputs], precision="highest")
        return jnp.pad(found, ((0, len(signal) - len(found)), (0, 0)))

    def _at_targets(self, x: Float[Array, "neurons paths"]) -> list[Float[Array, "... paths"]]:
        """For each synapse, the number of its target."""
        return [x[at] for at in self.targets]


class _Derivatives(NamedTuple):
    """What a step leaves of the spikes and the pending emission of each neuron, and what is sent;
    or their derivatives."""

    spikes: Float[Array, "neurons paths"]
    pending: Float[Array, "neurons paths"]
    sent: Float[Array, "neurons paths"]


def _weights(constants: Constants) -> list[Float[Array, "..."]]:
    return jax.tree.leaves(eqx.filter(constants.synapses, eqx.is_inexact_array))


def _ends(constants: Constants) -> tuple[list[Int[Array, "..."]], list[Int[Array, "..."]]]:
    """The source and the target of each synapse, in arrays that broadcast to those of weights."""
    synapses = constants.synapses
    parts = [(synapses, 0, 0)]
    if isinstance(synapses, Sum):
        starts = synapses.source_starts, synapses.target_starts
        parts = list(zip(synapses.parts, *starts, strict=True))
    sources, targets = [], []
    for part, source, target in parts:
        froms, tos = jnp.arange(part.num_sources), jnp.arange(part.num_targets)
        if isinstance(part, Dense):
            sources.append(source + froms[None])
            targets.append(target + tos[:, None])
        elif jax.tree.leaves(eqx.filter(part, eqx.is_inexact_array)):
            ends = [
                part.edge_products(x.astype(jnp.float32), y.astype(jnp.float32))
                for x, y in ((froms, jnp.ones_like(tos)), (jnp.ones_like(froms), tos))
            ]
            found = [[x.astype(jnp.int32) for x in jax.tree.leaves(end)] for end in ends]
            sources += [source + x for x in found[0]]
            targets += [target + x for x in found[1]]
    return sources, targets


def _sum(
    factors: list[Array], traces: list[Array], added: list[Array] | None = None
) -> list[Array]:
    """Products of arrays, and another array added to each."""
    products = [x * y for x, y in zip(factors, traces, strict=True)]
    return products if added is None else [x + y for x, y in zip(products, added, strict=True)]
