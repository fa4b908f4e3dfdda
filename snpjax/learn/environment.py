"""A system as an environment for reinforcement learning: an agent chooses its rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from .._text.optional import installing
from ..choice import NumberedChoice, num_alternatives
from ..machine import Enumerable, Record
from ..results import RESULTS
from ..spiking.lower.enumerable import SearchedMachine
from ..spiking.model.lookup import near_neuron
from ..spiking.model.population import AnySystem
from ..spiking.model.system import is_growing
from ..spiking.step.step import SpikingState
from .arguments import check_system


#: In place of the spikes of a neuron: any number is fine.
ANY = -(2**31)

#: A reward by the configurations before and after a step, and what the output neurons emitted.
Reward: TypeAlias = Callable[[SpikingState, SpikingState, Int[Array, " outputs"]], Array]
#: What `Environment.step_env` and `step` say besides.
Info: TypeAlias = dict[str, Array]

_MAX_ACTIONS = 4096


class EnvironmentState(eqx.Module):
    """A configuration, and what an agent may do in it.

    - `configuration`: spikes, timers and so on.
    - `time`: the number of steps made in this episode.
    - `num_choices`: in how many ways the neurons can choose here, up to 2^30; 1 where nothing is to
      be chosen.
    - `action_mask`: which actions are valid.
    """

    configuration: SpikingState
    time: Int[Array, ""]
    num_choices: Int[Array, ""]
    action_mask: Bool[Array, " actions"]


class EnvironmentParams(eqx.Module):
    """The parameters of episodes; every number may be traced.

    - `target`: the spikes to reach, `ANY` for any number. In a target all neurons are open.
    - `has_target`: whether reaching it ends an episode.
    - `max_steps_in_episode`: an episode ends after this many steps.
    - `target_reward`, `step_reward`, `invalid_reward`: for reaching the target, for each step, and
      for each invalid action.
    """

    target: Int[Array, " neurons"]
    has_target: Bool[Array, ""]
    max_steps_in_episode: Int[Array, ""]
    target_reward: Float[Array, ""]
    step_reward: Float[Array, ""]
    invalid_reward: Float[Array, ""]


@dataclass(frozen=True, eq=False, repr=False)
class Environment:
    """A system whose choices an agent makes. All methods are pure functions, to be compiled, mapped
    and scanned; `step` and `reset` have the signatures of gymnax.

    - Actions are the choices of a configuration, numbered from 0 in the order of the edges of
      `snpjax.explore`; without a choice there is only action 0. An invalid action
      makes choice 0, gets `invalid_reward`, and is reported.
    - An observation is a vector that determines the future: the spikes of the neurons, the timers
      and then the pending spikes of those with delays, the position in the input if there is any,
      and the synapses that plasticity may change.
    - An episode is *terminated* in the target, by a halt, or if a count overflows, and *truncated*
      after `max_steps_in_episode`.

    Make it with `environment`.
    """

    system: AnySystem
    machine: SearchedMachine
    choosers: Int[np.ndarray, " choosers"]
    num_actions: int
    reward: Reward | None
    initial: EnvironmentState
    fields: Int[np.ndarray, " fields"]

    @property
    def name(self) -> str:
        return self.system.name or "SpikingSystem"

    @property
    def observation_size(self) -> int:
        """The length of an observation."""
        return len(self.fields)

    @property
    def default_params(self) -> EnvironmentParams:
        """No target, 100 steps, and a reward of 0 for all but invalid actions, which cost 1."""
        return self.params()

    def params(
        self,
        *,
        target: Mapping[str, int] | Int[np.ndarray | Array, " neurons"] | None = None,
        max_steps_in_episode: int = 100,
        target_reward: float = 1.0,
        step_reward: float = 0.0,
        invalid_reward: float = -1.0,
    ) -> EnvironmentParams:
        """Make the parameters of episodes.

        **Arguments:**

        - `target`: the configuration to reach, in which all neurons are open: spikes by neuron, the
          others with any number, or `(neurons,)` spikes of all, `ANY` for any number; `None`
          for no target.
        - `max_steps_in_episode`: after this many steps an episode is truncated.
        - `target_reward`: for reaching the target.
        - `step_reward`: for each step.
        - `invalid_reward`: for each invalid action, besides what its step earns.

        **Returns:** `EnvironmentParams`.

        **Raises:** `ValueError` for an unknown neuron or another shape, and for spikes that no
        neuron can have: fractions, and negative numbers unless the system is `signed`.
        """
        size, num = self.machine.program.num_neurons, self.system.num_neurons
        spikes = np.full(size, ANY)
        if isinstance(target, Mapping):
            for name, count in target.items():
                if not self.system.has(name):
                    near = near_neuron(self.system, name)
                    raise ValueError(f"There is no neuron {name!r} to be in the target ({near}).")
                spikes[self.system.position_of(name)] = self._wanted(repr(name), count)
        elif target is not None:
            if np.shape(target) != (num,):
                raise ValueError(
                    f"`target` has the shape {np.shape(target)}. Give the spikes of {num} neurons."
                )
            given = np.asarray(target).tolist()
            spikes[:num] = [self._wanted(f"neuron {i}", x) for i, x in enumerate(given)]
        bounds = np.iinfo(np.int32)
        if any(not bounds.min <= int(count) <= bounds.max for count in spikes):
            raise ValueError("A number of `target` does not fit into 32 bits. Give a smaller one.")
        numbers = (target_reward, step_reward, invalid_reward)
        return EnvironmentParams(
            jnp.asarray(np.asarray(spikes, np.int32)),
            jnp.asarray(target is not None),
            jnp.asarray(max_steps_in_episode, jnp.int32),
            *(jnp.asarray(x, jnp.float32) for x in numbers),
        )

    def _wanted(self, name: str, count: float) -> int:
        """The spikes to reach in a neuron, if they are a number that it can have."""
        is_count = float(count).is_integer() and (count >= 0 or self.system.signed)
        if count != ANY and not is_count:
            raise ValueError(f"The target of {name} is {count}. Give an integer, 0 or more.")
        return int(count)

    def reset(
        self, key: Key[Array, ""] | None = None, params: EnvironmentParams | None = None
    ) -> tuple[Float[Array, " fields"], EnvironmentState]:
        """Begin an episode.

        **Arguments:**

        - `key`: unused, since a system has one initial configuration.
        - `params`: by default `default_params`.

        **Returns:** the observation, and the state.
        """
        del key, params
        return self.observation(self.initial), self.initial

    reset_env = reset

    def step(
        self,
        key: Key[Array, ""] | None,
        state: EnvironmentState,
        action: Int[ArrayLike, ""],
        params: EnvironmentParams | None = None,
    ) -> tuple[Float[Array, " fields"], EnvironmentState, Float[Array, ""], Bool[Array, ""], Info]:
        """Make a step, and begin another episode where it ends one.

        **Arguments:**

        - `key`: unused: chance is left to the agent.
        - `state`: what `reset` or `step` returned.
        - `action`: the number of a choice, below `num_actions`.
        - `params`: by default `default_params`.

        **Returns:** observation, state, reward, whether the episode is done, and a dictionary:
        `terminated`, `truncated`, `invalid` (whether the action was), `failed` (whether a count
        overflowed), `action_mask` (of the returned state), `final_observation` (before another
        episode began) and `discount` (0 where terminated).
        """
        observation, after, reward, done, info = self.step_env(key, state, action, params)
        first, initial = self.reset(key, params)
        after = jax.tree.map(lambda x, y: lax.select(done, x, y), initial, after)
        info = {**info, "final_observation": observation, "action_mask": after.action_mask}
        return jnp.where(done, first, observation), after, reward, done, info

    def step_env(
        self,
        key: Key[Array, ""] | None,
        state: EnvironmentState,
        action: Int[ArrayLike, ""],
        params: EnvironmentParams | None = None,
    ) -> tuple[Float[Array, " fields"], EnvironmentState, Float[Array, ""], Bool[Array, ""], Info]:
        """Make a step without beginning another episode, as planning needs it: a halted
        configuration, or one that failed, stays as it is.

        **Arguments:**

        - `key`, `state`, `action`, `params`: as for `step`.

        **Returns:** as `step` does.

        **Raises:** `TypeError` for an action that is not an integer.
        """
        del key
        params = self.default_params if params is None else params
        kind = jnp.result_type(action)
        if not jnp.issubdtype(kind, np.integer):
            raise TypeError(f"`action` is of {kind}. Give the number of a choice, an integer.")
        action = jnp.asarray(action, jnp.int32)
        clipped = jnp.clip(action, 0, self.num_actions - 1)
        invalid = (clipped != action) | ~state.action_mask[clipped]
        before = state.configuration
        number = jnp.where(invalid, 0, clipped).astype(jnp.uint32)
        choice = NumberedChoice(number, jnp.asarray(self.choosers))
        configuration, record = self.machine.step(before, choice)
        after = self._with_mask(configuration, state.time + 1)
        failed = configuration.status != RESULTS.halted
        reached = self.is_target(after, params)
        terminated = reached | self.machine.halted(configuration) | failed
        truncated = ~terminated & (after.time >= params.max_steps_in_episode)
        reward = params.step_reward + jnp.where(reached, params.target_reward, 0)
        reward = reward + jnp.where(invalid, params.invalid_reward, 0)
        if self.reward is not None:
            own = self.reward(before, configuration, self._outputs(record))
            reward = reward + jnp.asarray(own).astype(jnp.float32)
        observation = self.observation(after)
        info = {
            "terminated": terminated,
            "truncated": truncated,
            "invalid": invalid,
            "failed": failed,
            "discount": jnp.where(terminated, 0.0, 1.0),
            "action_mask": after.action_mask,
            "final_observation": observation,
        }
        return observation, after, reward, terminated | truncated, info

    def observation(self, state: EnvironmentState) -> Float[Array, " fields"]:
        """Observe a state.

        **Arguments:**

        - `state`: a state of an episode.

        **Returns:** `(observation_size,)` numbers; counts from 2^24 on are rounded.
        """
        fields = self.machine.encode(state.configuration)[self.fields]
        return lax.bitcast_convert_type(fields, self.machine.count_dtype).astype(jnp.float32)

    def is_target(self, state: EnvironmentState, params: EnvironmentParams) -> Bool[Array, ""]:
        """Whether a state is the target.

        **Arguments:**

        - `state`: a state of an episode.
        - `params`: with the target.

        **Returns:** whether all neurons are open and have the spikes of the target.
        """
        configuration = state.configuration
        agrees = (params.target == ANY) | (params.target == configuration.spikes)
        is_open = configuration.timers == 0
        return params.has_target & jnp.all(agrees & is_open)

    def _outputs(self, record: Record) -> Int[Array, " outputs"]:
        program = self.machine.program
        return record.output[: int(np.sum(np.asarray(program.outputs) < program.num_neurons))]

    def _with_mask(self, configuration: SpikingState, time: Int[Array, ""]) -> EnvironmentState:
        return _with_mask(self.machine, self.choosers, self.num_actions, configuration, time)

    def __repr__(self) -> str:
        return f"Environment({self.name!r}, {self.num_actions} actions)"


def environment(
    system: AnySystem, /, *, num_actions: int | None = None, reward: Reward | None = None
) -> Environment:
    """Turn a system into an environment, in which an agent makes the choices.

    **Arguments:**

    - `system`: a system of neurons or of populations without division and budding. With
      `system.with_input(snp.AnyInput(n))` the agent chooses the input, too.
    - `num_actions`: the largest number of choices of a configuration, such as
      `max(numpy.diff(graph.first_edge))`; choices from this number on are never made. By default
      the product of the numbers of rules of the neurons that can choose.
    - `reward`: `reward(before, after, outputs)` adds to the reward of a step: configurations as
      `SpikingState`, and the spikes that left the output neurons.

    **Returns:** an `Environment`.

    **Raises:** `ValueError` for a system that divides or buds, whose neurons have no fixed
    numbers; and where `num_actions` is not given and would be more than 4,096, or where rules
    choose subsets of synapses. `TypeError` for what is not a system.
    """
    check_system(system)
    if is_growing(system):
        raise ValueError(
            "A system that divides or buds has no fixed set of actions. Use `snpjax.explore`."
        )
    machine = system.enumerable(saturate={}, clock=0, at_least=np.dtype(np.int32))
    choosers = machine.choosers()
    if num_actions is None:
        num_actions = _num_actions(machine, choosers)
    if num_actions < 1:
        raise ValueError(f"`num_actions` is {num_actions}. Give 1 or more.")
    start = machine.init()
    initial = _with_mask(machine, choosers, num_actions, start, jnp.zeros((), jnp.int32))
    fields = _fields(machine, system.num_neurons)
    return Environment(system, machine, choosers, num_actions, reward, initial, fields)


def _fields(machine: SearchedMachine, num_neurons: int) -> Int[np.ndarray, " fields"]:
    """The fields of configurations without those of padding."""
    size, delayed = machine.program.num_neurons, np.asarray(machine.delayed)
    is_own = np.arange(size) < num_neurons
    if machine.program.delay is not None:
        is_own = np.concatenate([is_own, delayed < size, delayed < size])
    num_fields = jax.eval_shape(lambda: machine.encode(machine.init())).shape[0]
    rest = np.ones(num_fields - len(is_own), bool)
    rest[0] = int(machine.last_step) > 0  # otherwise it is always 0
    return np.flatnonzero(np.concatenate([is_own, rest]))


def _num_actions(machine: SearchedMachine, choosers: Int[np.ndarray, " choosers"]) -> int:
    """The product of the numbers of rules of all choosers."""
    program = machine.program
    if program.network is not None:
        raise ValueError(
            "Rules of this system choose synapses, so that the number of actions depends on the "
            "configuration. Give `num_actions`, such as `max(numpy.diff(graph.first_edge))` of "
            "`graph = snpjax.explore(system)`."
        )
    low = np.asarray(program.of_neurons(program.low))
    is_rule = low <= np.asarray(program.of_neurons(program.high))
    own = choosers[choosers < low.shape[1]]
    product = float(np.prod(np.sum(is_rule, axis=0)[own].astype(float)))
    if product > _MAX_ACTIONS:
        raise ValueError(
            f"The neurons may choose in {product:.3g} ways. Give `num_actions`, the largest number "
            "that a configuration has, such as `max(numpy.diff(graph.first_edge))`."
        )
    return max(int(product), 1)


def _with_mask(
    machine: Enumerable,
    choosers: Int[np.ndarray, " choosers"],
    num_actions: int,
    configuration: SpikingState,
    time: Int[Array, ""],
) -> EnvironmentState:
    ways = num_alternatives(machine.alternatives(configuration), jnp.asarray(choosers))
    about = jnp.minimum(jnp.prod(ways.astype(jnp.float32)), 2.0**30)
    num_choices = about.astype(jnp.int32)  # exact up to 2^24
    mask = jnp.arange(num_actions, dtype=jnp.int32) < num_choices
    return EnvironmentState(configuration, time, num_choices, mask)


def gymnax_environment(environment: Environment) -> Any:
    """An environment as a gymnax environment, for the wrappers and spaces of gymnax.

    **Arguments:**

    - `environment`: an `Environment`.

    **Returns:** a `gymnax.environments.environment.Environment` with the six results of gymnax
    1.0, whose `step` returns `terminated` and `truncated` in place of `done`.

    **Raises:** `ImportError` without gymnax.
    """
    return _gymnax_class()(environment)


def _gymnax_class() -> Any:
    try:
        from gymnax.environments import (  # pyright: ignore[reportMissingImports]
            environment as base,
            spaces,
        )
    except ImportError:
        raise ImportError(f"gymnax is not installed ({installing('policies')})") from None

    class Wrapped(base.Environment):
        def __init__(self, own: Environment):
            self.own = own

        @property
        def name(self) -> str:
            return self.own.name

        @property
        def default_params(self) -> Any:
            return self.own.default_params

        @property
        def num_actions(self) -> int:
            return self.own.num_actions

        def reset_env(self, key: Any, params: Any) -> Any:
            return self.own.reset(key, params)

        def step_env(self, key: Any, state: Any, action: Any, params: Any) -> Any:
            observation, state, reward, _, info = self.own.step_env(key, state, action, params)
            return observation, state, reward, info["terminated"], info

        def is_truncated(self, state: Any, params: Any) -> Any:
            return state.time >= params.max_steps_in_episode

        def action_space(self, params: Any = None) -> Any:
            return spaces.Discrete(self.own.num_actions)

        def observation_space(self, params: Any = None) -> Any:
            return spaces.Box(-jnp.inf, jnp.inf, (self.own.observation_size,), jnp.float32)

    return Wrapped
