"""The protocols of machines and models: what the driver, `explore` and `check` need of them."""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    runtime_checkable,
)

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Int, PyTree, UInt, UInt32

from snpjax_formats import AbstractChooser, AbstractLayout
from snpjax_formats.arguments import explain_arguments

from ._tiered import tiered
from ._xla import precision, widest_of
from .choice import AbstractChoice, Ways
from .results import select_result as select_result
from .schema import (
    Action as Action,
    ConfigurationsT as ConfigurationsT,
    EdgeLabels as EdgeLabels,
    Link as Link,
    Schema as Schema,
    SomeConfigurations as SomeConfigurations,
    SomeSteps as SomeSteps,
    StepsT as StepsT,
    Table as Table,
)
from .trajectory import Save, Trajectory, nbytes_of


if TYPE_CHECKING:
    from typing_extensions import TypeIs  # of Python 3.13

P = TypeVar("P")


class Record(NamedTuple):
    """What one step leaves: what it sent to the environment and how it was made, both to be saved,
    and whether it was made at all: not in a halting state, nor where it fails."""

    output: PyTree
    detail: PyTree
    made: Bool[Array, "*paths"]


class AbstractMachine(eqx.Module):
    """A discrete dynamical system as arrays: a pytree whose four methods are pure functions of a
    state, that of one path, or those of many with `paths` as the last axis of every array.

    A halted or failed state steps to itself and leaves an empty record, so that unrolling, batching
    and padding never change a result.
    """

    @abc.abstractmethod
    def init(self) -> PyTree:
        """The initial state, of one path: the arrays of `fresh_state`, which may be donated."""

    @abc.abstractmethod
    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        """Make one step.

        **Arguments:**

        - `state`: the state of one path, or of all paths.
        - `choice`: resolves nondeterminism.

        **Returns:** the next state, and the `Record` of the step.
        """

    @abc.abstractmethod
    def halted(self, state: PyTree) -> Bool[Array, "*paths"]:
        """Whether nothing can happen any more."""

    @abc.abstractmethod
    def status(self, state: PyTree) -> Any:
        """A failure of `RESULTS`, or `RESULTS.halted` while there is none."""

    def arrays_by_path(self) -> PyTree[bool]:
        """Which of its arrays have something of their own for each path, `paths` being their last
        axis; by default none."""
        return jax.tree.map(lambda _: False, self)


def fresh_state(state: PyTree) -> PyTree:
    """Copy the arrays of a state, so that no two of them, and none of the machine, share a buffer.

    `AbstractMachine.init` returns such a state: whoever donates it to a compiled function leaves
    the machine intact.

    **Arguments:**

    - `state`: a pytree of arrays.

    **Returns:** the same values in arrays of JAX.
    """
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(state)):
        return jax.tree.map(jnp.copy, state)  # which the interpreter of small programs knows
    # JAX takes over aligned arrays of NumPy as they are, such as a value of `RESULTS`.
    on_host = (np.ndarray, np.generic)
    state = jax.tree.map(lambda x: np.array(x) if isinstance(x, on_host) else x, state)
    return jax.device_put(state, may_alias=False)  # compiles nothing, unlike `jnp.copy`


class AbstractStorage:
    """Another way to store a model than by a layout of its edges, given as `layout=`."""


#: How edges are stored: a class of `snpjax_formats`, what suits them by default or in the eyes of a
#: chooser, or something else than edges.
LayoutLike: TypeAlias = type[AbstractLayout] | AbstractChooser | AbstractStorage | Literal["auto"]


class AbstractCapacity:
    """The capacity of a machine that grows, given as `capacity=`."""


class AbstractEngine(eqx.Module):
    """A way to compute the steps of a machine that has several, given as `engine=`."""


class LoweringOptions(TypedDict, total=False):
    """How a model is stored. Each kind of model takes the options that apply to it.

    - `layout`: how synapses are stored: a layout class of `snpjax_formats`, a chooser such as
      `snpjax_formats.select.Measured()`, or a `snpjax.spiking.Transition`; by default the
      one that is predicted to be fastest.
    - `count_dtype`: `numpy.int32` or `numpy.int64`; by default the narrowest that is safe.
    - `faithful`: keep every rule of the model as an alternative of its own, where lowering would
      merge some.
    - `capacity`: how far a system that divides or buds may grow before it is lowered again.
    - `engine`: how the steps of a Sleptsov net are computed: `FullScan()` or `EventDriven()`.

    None of them changes a result.
    """

    layout: LayoutLike
    count_dtype: np.dtype | type | None
    faithful: bool
    capacity: AbstractCapacity | None
    engine: AbstractEngine | None


class Stacked(eqx.Module):
    """Different machines of one shape, run side by side: every array has the path axis last."""

    machine: AbstractMachine
    num_paths: int = eqx.field(static=True)

    @classmethod
    def of(cls, machines: Sequence[AbstractMachine]) -> "Stacked":
        """The stack on the default device, assembled on the host.

        **Raises:** `ValueError` if the machines differ in shape.
        """
        leaves, trees = zip(*map(jax.tree.flatten, machines), strict=True)
        shapes = {tuple((x.shape, x.dtype) for x in some) for some in leaves}
        if len(set(trees)) > 1 or len(shapes) > 1:
            raise ValueError("The machines differ in shape. Store them all in `ELL`.")
        stacked = [np.stack(parts, axis=-1) for parts in zip(*leaves, strict=True)]
        return cls(jax.device_put(jax.tree.unflatten(trees[0], stacked)), len(machines))


#: One machine, or several side by side.
AnyMachine: TypeAlias = AbstractMachine | Stacked

#: The axis of the paths in the arrays of stacked machines.
_LAST = eqx.if_array(-1)


def over_paths(function: Callable, machine: AnyMachine) -> Callable:
    """Bind a function to a machine, mapped over the paths if machines are stacked.

    A single machine takes states and path numbers whose last axis is `paths` as they are.

    **Arguments:**

    - `function`: `function(machine, *rest)`; the last axis of the arrays of `rest` is `paths`.
    - `machine`: one machine, or several side by side.

    **Returns:** a function of `rest`.
    """
    if isinstance(machine, Stacked):
        mapped = eqx.filter_vmap(function, in_axes=_LAST, out_axes=-1)
        return partial(mapped, machine.machine)
    return partial(function, machine)


def arrays_by_path(machine: AnyMachine) -> PyTree[bool]:
    """Which arrays of a machine have `paths` as the last axis; those of stacked machines all do.

    **Arguments:**

    - `machine`: one machine, or several side by side.

    **Returns:** the machine with a truth value in place of each array.
    """
    if isinstance(machine, Stacked):
        return jax.tree.map(lambda _: True, machine)
    return machine.arrays_by_path()


def follows(thing: object, protocol: type[P]) -> "TypeIs[P]":
    """Whether an object follows a protocol: `isinstance`, cached by type because the check is slow.

    **Arguments:**

    - `thing`: any object.
    - `protocol`: a protocol that can be checked at run time.

    **Returns:** whether `thing` has the methods and properties of `protocol`.
    """
    key = type(thing), protocol
    found = _followed.get(key)
    if found is None:
        found = _followed[key] = isinstance(thing, protocol)
    return found


_followed: dict[tuple[type, type], bool] = {}


@runtime_checkable
class Keeping(Protocol):
    """A machine whose states have parts that follow from the rest."""

    def kept(self, state: PyTree) -> PyTree:
        """A state without these parts."""
        ...


@runtime_checkable
class Leaping(Keeping, Protocol):
    """A machine that makes many steps at once, faster than one by one."""

    def leap(
        self, state: PyTree, choice: AbstractChoice, most: Int[Array, "*paths"], *, rows: int | None
    ) -> tuple[PyTree, Int[Array, "*paths"], PyTree]:
        """Make up to `most` steps of each path, fewer where it halts or fails.

        **Arguments:**

        - `state`: the state of one path, or of all paths.
        - `choice`: resolves nondeterminism.
        - `most`: `(*paths,)` the largest number of steps of each path.
        - `rows`: the number of rows for details, at least `most`; `None` to save none.

        **Returns:** the states, `(*paths,)` the number of steps that each path made, and the
        details of the steps in `rows` rows, or `None`. The records of these steps hold details
        only.
        """
        ...


@runtime_checkable
class Partitioned(Protocol):
    """A machine of which each device of a mesh has a part, along the axis `neurons`. Its methods
    are for `shard_map`; only `init` may be called elsewhere, too."""

    def split(self) -> PyTree[PartitionSpec]:
        """How its arrays are split."""
        ...

    def split_state(self, state: PyTree) -> PyTree[PartitionSpec]:
        """How those of a state are split, that of one path, or of many if the mesh splits them."""
        ...

    def split_record(self, record: Record) -> PyTree[PartitionSpec]:
        """How those of the record of a step are split, likewise."""
        ...

    def placed_init(self) -> PyTree:
        """The initial state, split over the devices."""
        ...

    def paths_of(self, state: PyTree) -> tuple[int, ...]:
        """The shape of the paths of a state: `()` for one path."""
        ...


class PartNeeds(NamedTuple):
    """What a device needs for its part of a model: bytes of the model's arrays and of states, and
    those that it receives in a step, by the way they travel."""

    machine_nbytes: int
    state_nbytes: int
    exchanged: dict[str, int]


@runtime_checkable
class Partitionable(Protocol):
    """A model whose neurons can be split over devices."""

    def planned(self, parts: int, *, paths: int = 1, **options: Any) -> PartNeeds:
        """What each device needs if the neurons are split over several.

        **Arguments:**

        - `parts`: the number of devices.
        - `paths`: the number of paths that run at once.
        - `options`: those of `LoweringOptions` that apply to the model.
        """
        ...


class Stride(NamedTuple):
    """What a machine that is `Striding` did.

    - `state`: the last state.
    - `made`: how many steps; fewer than allowed only at a halt.
    - `saved`: of each step the states, outputs and details that were to be saved, a row each.
    """

    state: PyTree
    made: Int[Array, ""]
    saved: tuple[PyTree, PyTree, PyTree]


@runtime_checkable
class Striding(Protocol):
    """A machine that can make many steps of one path at once, as if made one by one."""

    def stride(
        self,
        state: PyTree,
        choice: AbstractChoice,
        most: Int[Array, ""],
        *,
        start: Int[Array, ""],
        rows: int,
        save: Save,
    ) -> Stride | None:
        """Make up to `most` steps of one path, or return `None` if it must make them one by one.

        **Arguments:**

        - `state`: the state of one path.
        - `choice`: resolves nondeterminism.
        - `most`: the largest number of steps.
        - `start`: the number of steps made so far, from which every n-th state to be saved is
          counted.
        - `rows`: the number of rows for saved steps.
        - `save`: what is saved.
        """
        ...


@runtime_checkable
class Growable(Protocol):
    """A machine with a limited capacity, which can be enlarged."""

    def is_full(self, state: PyTree) -> Bool[Array, "*paths"]:
        """Whether the step to this state, or from it, exceeded the capacity."""
        ...

    def refused(self, state: PyTree, failed: PyTree) -> PyTree:
        """Mark a state with a failure.

        **Arguments:**

        - `state`: the last valid state.
        - `failed`: the state that should have followed it, which holds the failure.

        **Returns:** `state` with this failure.
        """
        ...

    def grown(self, state: PyTree) -> tuple[AbstractMachine, PyTree]:
        """The machine and a refused state with more capacity, ready to continue."""
        ...


@runtime_checkable
class AnySolution(Protocol):
    """What a model makes of a trajectory."""

    @property
    def result(self) -> Any: ...

    @property
    def failure(self) -> str | None:
        """The first failure in words, with its place and the fix."""
        ...


S = TypeVar("S", bound=AnySolution, covariant=True)  # of one path
B = TypeVar("B", bound=AnySolution, covariant=True)  # of many


@dataclass(frozen=True, eq=False, repr=False)
class Lowered(Generic[S, B]):
    """A model as arrays, ready to be run any number of times: `snpjax.run(lowered)`.

    - `model`: what was lowered.
    - `machine`: its arrays, on the default device.
    - `is_numbered`: whether every alternative of the model is one of the machine, so that given
      choices and weights can distinguish them by number.
    - `safe_steps`: a run of at most this many steps from the model's own initial configuration
      cannot overflow; `unwatched` is the machine that does not check for overflow.
    - `alternatives`: the largest number of alternatives of a chooser, and the number of choosers;
      `None` if nothing is chosen.
    """

    model: "Model[S, B]"
    machine: AnyMachine
    is_numbered: bool = True
    safe_steps: int = 0
    unwatched: AnyMachine | None = None
    alternatives: tuple[int, int] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of the machine's arrays."""
        return sum(x.nbytes for x in jax.tree.leaves(self.machine))

    @cached_property
    def widest(self) -> np.dtype:
        """The type of 64 bits that the machine's arrays need, or one of 32."""
        return widest_of(self.machine)

    @cached_property
    def initial(self) -> PyTree:
        """The initial state: of one path, or of all stacked machines."""
        with precision(self.widest):
            machine = self.machine
            if follows(machine, Partitioned):
                return machine.placed_init()
            return _initial(machine)

    @cached_property
    def initial_nbytes(self) -> int:
        """The bytes of the initial state."""
        return nbytes_of(self.initial)

    def __repr__(self) -> str:
        return f"Lowered({self.model!r}, {self.nbytes:,} bytes)"

    def machine_for(self, max_steps: int) -> AnyMachine:
        """The machine for a run of at most `max_steps` from the model's initial configuration."""
        if self.unwatched is None or max_steps > self.safe_steps:
            return self.machine
        return self.unwatched


@tiered()
def _initial(machine: AnyMachine) -> PyTree:
    return over_paths(lambda m: m.init(), machine)()


def paths_told_apart() -> tuple[int, ...]:
    """The values that `Model.lower` may receive as `paths`.

    **Returns:** lower bounds of the number of paths that run at once, ascending; they depend on the
    default device.
    """
    return (1, 8, 64) if jax.default_backend() == "cpu" else (1, 1024)


@runtime_checkable
class Model(Protocol[S, B]):
    """What `run` can run: it lowers to a machine, and reads a trajectory back.

    `lower` declares the options of `run` that it takes, as keyword-only arguments with defaults.
    """

    def lower(self, *, numbered: bool = False, paths: int = 1) -> Lowered[S, B]:
        """Lower the model to arrays.

        **Arguments:**

        - `numbered`: whether the choice distinguishes alternatives by the model's numbers.
        - `paths`: at least this many paths will run at once, one of `paths_told_apart()`.
        """
        ...

    def solution(self, trajectory: Trajectory) -> S:
        """What `run` returns for one path."""
        ...

    def solutions(self, trajectory: Trajectory) -> B:
        """What `run` returns for many paths."""
        ...


@runtime_checkable
class Startable(Protocol):
    """A model whose runs may begin in any state and take inputs of their own."""

    def start(self, machine: AnyMachine, initial: Any, inputs: Any) -> tuple[AnyMachine, PyTree]:
        """Replace the inputs and the initial state of a run.

        **Arguments:**

        - `machine`: the lowered machine.
        - `initial`: the state to begin in; `None` for the model's own.
        - `inputs`: the inputs; `None` for the model's own.

        **Returns:** the machine with these inputs, and its initial state, of one path or of many.

        **Raises:** `ValueError` for what does not fit the model.
        """
        ...


@runtime_checkable
class Presents(Protocol):
    """Histories of one machine on the host as another one has them; rows are first."""

    def state(self, state: Any) -> PyTree:
        """A state, or rows of states."""
        ...

    def outputs(self, outputs: Any) -> PyTree: ...

    def details(self, details: Any) -> PyTree: ...


class Settled(NamedTuple):
    """How a run continues when its machine has stopped growing: in a simpler one from `state` on,
    whose history `presents` gives as the machine before would have it."""

    machine: AnyMachine
    state: PyTree
    presents: Presents


@runtime_checkable
class Settling(Protocol):
    """A model whose machine, which is `Growable`, may stop growing, so that a simpler one makes the
    same steps."""

    def settled(self, machine: AnyMachine, state: PyTree, choice: AbstractChoice) -> Settled | None:
        """The simpler machine, once the network has stopped growing; called between device calls.

        **Arguments:**

        - `machine`: the machine that may grow.
        - `state`: its state, of one path.
        - `choice`: the choice of the run.

        **Returns:** the simpler machine in the same state; `None` while it may still grow.
        """
        ...


@runtime_checkable
class Sparing(Protocol):
    """A model with a default of its own for what its runs, which are long, keep."""

    def default_save(self, paths: int | None) -> Save: ...


# ---- enumeration: what `explore` needs of a machine ----


@runtime_checkable
class Unexplorable(Protocol):
    """A model that says why its configurations are neither explored nor checked: a sentence."""

    @property
    def why_unexplorable(self) -> str: ...


def advice_on(model: object, default: str) -> str:
    """Why a model cannot be explored.

    **Arguments:**

    - `model`: a model that is not `Explorable`.
    - `default`: the explanation for a model that is not `Unexplorable` either.

    **Returns:** one sentence for an error message.
    """
    return model.why_unexplorable if follows(model, Unexplorable) else export_of(model, default)


def export_of(model: object, default: str) -> str:
    """How a trained model becomes a system.

    **Arguments:**

    - `model`: what was given in place of a system.
    - `default`: the advice on what is not a model of `snpjax.learn`.

    **Returns:** one sentence for an error message.
    """
    modules = [base.__module__ for base in type(model).__mro__]
    if any(name.startswith("snpjax.learn.") for name in modules):
        return "Export it first: `snpjax.learn.to_system(model)`."
    return default


class Encoding(NamedTuple):
    """How configurations are written as vectors of unsigned numbers, called fields.

    - `dtype`: the unsigned type of all fields.
    - `usual`: a value that each field is likely to reach. A good guess avoids repacking.
    - `last_step`: steps from this one on are not distinguished.
    - `wider`: the signed type to count in if this one overflows.
    - `may_conflict`: steps that fail otherwise do for queries that conflict, not for lack of room.
    """

    dtype: np.dtype
    usual: "UInt32[Array, ' fields'] | UInt32[np.ndarray, ' fields'] | None" = None
    last_step: "Int[Array, ''] | int" = 0
    wider: np.dtype | None = None
    may_conflict: bool = False


@runtime_checkable
class Enumerable(Protocol):
    """A machine whose configurations can be stored and whose choices can be numbered.

    As in `AbstractMachine`, `paths` may be the last axis of all arrays. Configurations with equal
    fields have equal futures. An overflow is `RESULTS.spike_overflow`, whatever is counted.
    """

    @property
    def encoding(self) -> Encoding: ...

    def init(self) -> PyTree: ...

    def step(self, state: PyTree, choice: AbstractChoice) -> tuple[PyTree, Record]:
        """Make one step.

        **Arguments:**

        - `state`: the state of one path, or of all paths.
        - `choice`: a `NumberedChoice`.

        **Returns:** the next state, and a `Record` whose detail is what `Schema.steps` reads.
        """
        ...

    def halted(self, state: PyTree) -> Bool[Array, "*paths"]: ...

    def status(self, state: PyTree) -> Any: ...

    def alternatives(self, state: PyTree) -> Ways:
        """Which alternatives each chooser has, or the number of ways to take each of them."""
        ...

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        """The choosers that may have several alternatives; all others have at most one."""
        ...

    def encode(self, state: PyTree) -> UInt[Array, "fields *paths"]: ...

    def decode(self, fields: UInt[Array, "fields *paths"]) -> PyTree:
        """A state with this configuration."""
        ...


@runtime_checkable
class RedundantChoices(Protocol):
    """An enumerable machine in which two choices may lead to one step."""

    @property
    def has_redundant_choices(self) -> bool: ...

    def is_redundant(self, detail: PyTree) -> Bool[Array, "*paths"]:
        """Whether an earlier choice of the same configuration makes the step with this detail."""
        ...


#: The largest number of `saturate` and `clock`: a larger count could overflow before it is cut.
LARGEST_CAP = 2**30 - 1


@runtime_checkable
class Explorable(Protocol[ConfigurationsT, StepsT]):
    """A model that `explore` and `check` take."""

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
    ) -> Enumerable:
        """The model as arrays. Besides, it takes those of `LoweringOptions` that apply to it.

        **Arguments:**

        - `saturate`, `clock`: as `explore` got them. A model refuses what it cannot do.
        - `at_least`: the narrowest type to count in, see `Encoding.wider`.
        """
        ...

    def schema(self) -> Schema[ConfigurationsT, StepsT]: ...


@runtime_checkable
class InputEnvironment(Protocol):
    """Any input for a number of steps, as `AnyInput`."""

    @property
    def length(self) -> int: ...


@runtime_checkable
class TakesInput(Protocol):
    """A model whose input may be replaced."""

    def with_input(self, input: Any) -> Any: ...


explain_arguments(__name__)
