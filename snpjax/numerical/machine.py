"""A numerical SN P system as arrays: a machine whose step is a pure function."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float64, Int

from snpjax_formats import AbstractLayout
from snpjax_formats.ell import expanded

from ..choice import NO_RULE, AbstractChoice, Ways, answer_of, is_valid
from ..machine import AbstractMachine, Record, fresh_state, select_result
from ..results import RESULTS


class NumericalState(NamedTuple):
    """The state between two steps; with many paths every array has `paths` last.

    - `step`: steps made.
    - `values`: of each neuron's variables, in their order, 0 where it has fewer.
    - `is_refused`: a given choice was not applicable.
    - `is_infinite`: a value, a variable or an output of the next step is too large for float64.
    """

    step: Int[Array, "*paths"]
    values: Float64[Array, "variables neurons *paths"]
    is_refused: Bool[Array, "*paths"]
    is_infinite: Bool[Array, "*paths"]


class NumericalMachine(AbstractMachine):
    """A system to be stepped. Initial values, coefficients, thresholds and inputs are leaves of
    floats: what `equinox.filter_grad` differentiates by, at every point where no threshold is met.

    - `reads`: which variables of its neuron a production function has.
    - `threshold`: -inf where a function has none.
    - `has`: which production functions a neuron has.
    - `train`: what each input sends, with a row of zeros at the end.
    - `synapses`: from neurons and then inputs, to neurons and then outputs.
    """

    initial: Float64[Array, "variables neurons"]
    coefficients: Float64[Array, "productions variables neurons"]
    threshold: Float64[Array, "productions neurons"]
    train: Float64[Array, "steps inputs"]
    reads: Bool[Array, "productions variables neurons"]
    has: Bool[Array, "productions neurons"]
    is_variable: Bool[Array, "variables neurons"]
    synapses: AbstractLayout

    def init(self) -> NumericalState:
        never = jnp.zeros((), bool)
        step = jnp.zeros((), jnp.int32)
        return fresh_state(NumericalState(step, self.initial, never, never))

    def alternatives(self, state: NumericalState) -> Ways:
        """Which production functions each neuron can use."""
        rank = state.values.ndim + 1
        fits = state.values[None] >= expanded(self.threshold[:, None], rank)
        fits = jnp.all(fits | ~expanded(self.reads, rank), axis=1)
        return fits & expanded(self.has, rank - 1)

    def step(self, state: NumericalState, choice: AbstractChoice) -> tuple[NumericalState, Record]:
        can = self.alternatives(state)
        chosen = answer_of(choice, can, state.step, state)
        is_live = ~self._is_done(state, can) & ~state.is_refused & ~state.is_infinite
        is_refused = is_live & False
        if choice.may_be_invalid:
            is_refused = is_live & ~jnp.all(is_valid(can, chosen), axis=0)

        rank = state.values.ndim
        one_of = jnp.maximum(chosen, 0)[None, None]
        is_used = (chosen != NO_RULE)[None]

        def of_chosen(table: Array) -> Array:
            table = expanded(table, rank + 1)
            return jnp.take_along_axis(table, one_of, axis=0, mode="clip")[0]

        factors = jnp.where(is_used, of_chosen(self.coefficients), 0)
        produced = jnp.sum(factors * state.values, axis=0)
        row = self.train.at[state.step].get(mode="fill", fill_value=0)
        arriving = jnp.concatenate([produced, jnp.moveaxis(row, -1, 0)])
        delivered = self.synapses.deliver(arriving, accumulate=jnp.float64)
        received, output = jnp.split(delivered, [len(produced)])
        kept = jnp.where(is_used & of_chosen(self.reads), 0, state.values)
        values = jnp.where(expanded(self.is_variable, rank), kept + received[None], 0)

        is_finite = jnp.all(jnp.isfinite(values), axis=(0, 1))
        # An infinite value that nothing receives spreads in some layouts only: 0 times it is NaN.
        is_finite &= jnp.all(jnp.isfinite(produced), axis=0)
        is_finite &= jnp.all(jnp.isfinite(output), axis=0)
        is_infinite = is_live & ~is_refused & ~is_finite
        made = is_live & ~is_refused & is_finite
        new = NumericalState(
            step=state.step + made.astype(jnp.int32),
            values=jnp.where(made[None, None], values, state.values),
            is_refused=state.is_refused | is_refused,
            is_infinite=state.is_infinite | is_infinite,
        )
        detail = jnp.where(made[None], chosen, NO_RULE)
        return new, Record(jnp.where(made[None], output, 0), detail, made)

    def halted(self, state: NumericalState) -> Bool[Array, "*paths"]:
        return self._is_done(state, self.alternatives(state))

    def status(self, state: NumericalState) -> Any:
        status = select_result(state.is_infinite, RESULTS.value_overflow, RESULTS.halted)
        return select_result(state.is_refused, RESULTS.choice_refused, status)

    def _is_done(self, state: NumericalState, can: Ways) -> Bool[Array, "*paths"]:
        return ~jnp.any(can, axis=(0, 1)) & (state.step >= self.train.shape[0] - 1)
