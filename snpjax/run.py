"""`run`: lower a model, run its machine chunk by chunk until it halts, and save its history."""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, Unpack, overload

import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from snpjax_formats.arguments import as_integer
from snpjax_formats.articles import kind_of

from ._text.pickling import PickledError
from ._xla import precision
from .advance import paths_of
from .choice import AbstractChoice, FirstChoice, WeightedChoice, knows_numbers
from .driver import Driver
from .lowering import check_choice, check_model, lowering_of, refuse_tracers
from .machine import (
    AnyMachine,
    AnySolution,
    Lowered,
    LoweringOptions,
    Model,
    Settling,
    Sparing,
    Stacked,
    Startable,
    follows,
)
from .scale import hosts
from .scale.checkpoint import Checkpoint, checkpoints_of
from .scale.mesh import NEURONS, PATHS, placement, replicated
from .scale.placement import Placement
from .scale.statistics import AbstractStatistic, Summary
from .trajectory import (
    MAX_STEPS,
    SAVE_ALL,
    SAVE_OUTPUTS,
    AbstractSavedRun,
    Save,
    nbytes_of,
)


#: Paths have numbers of 32 bits, unsigned.
_MAX_PATHS = 2**32


S = TypeVar("S", bound=AnySolution)  # of one path
B = TypeVar("B", bound=AnySolution)  # of many
V = TypeVar("V")  # the value of a statistic


class RunFailed(PickledError, RuntimeError):
    """A run that ended in a failure; `solution` holds the run up to it."""

    def __init__(self, message: str, solution: AnySolution):
        super().__init__(message)
        self.solution = solution


class RunOptions(LoweringOptions, total=False):
    """The arguments of `run` except the model and `paths`."""

    max_steps: int
    choice: AbstractChoice
    initial: PyTree
    inputs: PyTree
    save: Save | None
    grow: bool
    throw: bool
    unroll: int | None
    progress: Callable[[int, int], None] | None
    mesh: Mesh | None
    checkpoint: Checkpoint | None


@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: None = None,
    **options: Unpack[RunOptions],
) -> S: ...
@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: int,
    **options: Unpack[RunOptions],
) -> B: ...
@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: int | None,
    **options: Unpack[RunOptions],
) -> S | B: ...
@overload
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    paths: int,
    observe: AbstractStatistic[V],
    **options: Unpack[RunOptions],
) -> Summary[V]: ...
def run(
    model: Model[S, B] | Lowered[S, B],
    /,
    *,
    max_steps: int = 4096,
    choice: AbstractChoice = FirstChoice(),  # noqa: B008 (a frozen object)
    paths: int | None = None,
    initial: PyTree = None,
    inputs: PyTree = None,
    save: Save | None = None,
    grow: bool = True,
    throw: bool = True,
    unroll: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
    observe: AbstractStatistic[V] | None = None,
    **options: Unpack[LoweringOptions],
) -> S | B | Summary[V]:
    """Run `model` until it halts or `max_steps` steps are made.

    **Arguments:**

    - `model`: a `SpikingSystem`, any other `snpjax.machine.Model`, or the `Lowered` that
      `snpjax.lower` returned. The last lowerings of a model are kept, so a second run does not
      lower again.
    - `max_steps`: reaching it is not a failure; `solution.result` says so.
    - `choice`: `FirstChoice()`, `UniformChoice(key)`, `WeightedChoice(logits, key)` or
      `GivenChoices(rules)`. A key is consumed.
    - `paths`: run that many paths as one batch; path p uses `choice.for_path(p)`. `None` is path 0
      alone. Required where `initial` or `inputs` have paths.
    - `initial`: where to begin. `solution.state` continues an earlier run, to the same bits as one
      long run. Otherwise pass the spikes (tokens) by name, or as an array `(neurons,)` or
      `(neurons, paths)`.
    - `inputs`: trains of the input neurons, `(steps, inputs)` or `(steps, inputs, paths)`, instead
      of the model's own: row t arrives at the end of step t + 1, counted from the beginning of the
      first run.
    - `save`: see `Save`. By default one path keeps everything, a batch its outputs and the final
      configuration.
    - `grow`: if a system that divides outgrows its capacity, enlarge it, recompile and continue
      from the same state; otherwise that is a failure. The configurations do not depend on it.
    - `throw`: raise `RunFailed` for a failure (overflow, a refused choice); otherwise it is in
      `solution.result`.
    - `unroll`: steps per loop iteration, for tuning; never changes a result.
    - `progress`: called about twice a second with the number of steps made, and the number of
      finished paths where not all run at the same time.
    - `mesh`: the devices that share the work, `jax.make_mesh((4,), ("paths",))`. It never changes a
      result. See `snpjax.scale`.
    - `checkpoint`: where to save the progress of the run, `snpjax.Checkpoint(folder)`. If the
      process is killed, the same call continues from there, to the same bits.
    - `observe`: a statistic, such as `snpjax.scale.ComputedNumbers(most=64)`, that is summed over
      all paths. Nothing else is kept of them: 10^9 paths run in the memory of a few thousand.
    - `options`: `layout`, `count_dtype`, `faithful`, `capacity`, `engine`: how the model is stored,
      see `LoweringOptions`. They never change a result.

    **Returns:** what the model makes of the trajectory: a `Solution` for an SN P system, or a
    `SolutionBatch` with `paths`; a `NetSolution` or `NetSolutionBatch` for a net; `Solutions` for a
    `SystemBatch`; a `snpjax.scale.Summary` with `observe`.

    **Raises:** `RunFailed`, whose `solution` holds the run up to the failure; `TypeError` and
    `ValueError` for an argument of the wrong type or out of range.
    """
    check_model(model)
    max_steps, paths = _check_arguments(max_steps, choice, paths, initial, inputs, save, unroll)
    is_numbered = knows_numbers(choice)
    place: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    given: dict[str, Any] = dict(options)
    if mesh is not None:
        mesh, place = placement("run", mesh, (PATHS, NEURONS))
    if mesh is not None and NEURONS in mesh.axis_names:
        given["mesh"] = mesh
    lowered = lowering_of(model, given, numbered=is_numbered, paths=paths or 1)
    if isinstance(choice, WeightedChoice) and lowered.alternatives is not None:
        choice.check(*lowered.alternatives)
    own = model.model if isinstance(model, Lowered) else model
    machine = lowered.machine_for(max_steps)
    with precision(lowered.widest), place:
        state = lowered.initial
        if initial is not None or inputs is not None:
            if not follows(own, Startable):
                raise TypeError(f"{kind_of(own, 'A')} takes neither `initial` nor `inputs`.")
            machine, state = own.start(lowered.machine, initial, inputs)
        size = _num_paths(machine, state, paths, initial, inputs)
        if save is None:
            usual = SAVE_ALL if size is None else SAVE_OUTPUTS
            save = own.default_save(size) if follows(own, Sparing) else usual
        settled = own.settled if follows(own, Settling) else None
        if mesh is not None:
            if size is None and NEURONS not in mesh.axis_names:
                raise ValueError(
                    "`mesh` splits paths, and this is a run of one path. Give `paths=`, or leave "
                    "out `mesh`."
                )
            hosts.check_agreement(
                "run",
                model=machine,
                choice=choice,
                max_steps=max_steps,
                paths=paths,
                initial=state,
                save=save,
                observe=observe,
            )
            choice = replicated(choice, mesh)
        where = None if mesh is None else Placement(mesh)
        checkpoints = (
            contextlib.nullcontext()
            if checkpoint is None
            else checkpoints_of(
                checkpoint,
                "run",
                model=own,
                choice=choice,
                max_steps=max_steps,
                paths=paths,
                initial=initial,
                inputs=inputs,
                save=save,
                grow=grow,
                observe=observe,
                **options,
            )
        )
        with checkpoints as held:
            resume = partial(_resumed, own)
            driver = Driver(
                machine,
                choice,
                max_steps,
                save,
                grow,
                unroll,
                progress,
                settled=settled,
                placement=where,
                checkpoints=held,
                resume=resume,
            )
            if observe is not None:
                return _observed(driver, observe, state, size, throw)
            nbytes = lowered.initial_nbytes if state is lowered.initial else nbytes_of(state)
            if not driver.is_small(nbytes, size):
                from .footprint import check_run

                check_run(driver, state, size, tiled=inputs is None)
            trajectory = driver.run(state, size, tiled=inputs is None)
        solution = own.solution(trajectory) if paths is None else own.solutions(trajectory)
        failure = solution.failure
        if mesh is not None:
            failure = hosts.first_failure(failure)
    if throw and failure is not None:
        raise RunFailed(failure, solution)
    return solution


def _resumed(model: object, machine: AnyMachine, state: PyTree) -> tuple[AnyMachine, PyTree]:
    """The machine and the state in which a run continues from a checkpoint's state."""
    return model.start(machine, state, None) if isinstance(model, Startable) else (machine, state)


def _observed(
    driver: Driver,
    statistic: AbstractStatistic[V],
    start: PyTree,
    paths: int | None,
    throw: bool,
) -> Summary[V]:
    from .scale.streams import observe

    if not isinstance(statistic, AbstractStatistic):
        raise TypeError(
            f"`observe` is {statistic!r:.60}. Give a statistic, such as "
            "`snpjax.scale.ComputedNumbers(most=64)`."
        )
    if paths is None:
        raise ValueError("`observe` sums over paths. Give `paths=`.")
    found = observe(driver, statistic, start, paths)
    if throw and found.failure is not None:
        raise RunFailed(found.failure, found)
    return found


def _check_arguments(
    max_steps: int,
    choice: AbstractChoice,
    paths: int | None,
    initial: PyTree,
    inputs: PyTree,
    save: Save | None,
    unroll: int | None,
) -> tuple[int, int | None]:
    """**Raises:** `TypeError` and `ValueError` with the fix."""
    given = (max_steps, choice, paths, initial, inputs)
    refuse_tracers("run", "simulate(lowered.machine, state, choice, max_steps=...)", given)
    max_steps = as_integer("max_steps", max_steps)
    paths = None if paths is None else as_integer("paths", paths)
    unroll = None if unroll is None else as_integer("unroll", unroll)
    if not 0 <= max_steps <= MAX_STEPS:
        raise ValueError(f"`max_steps` is {max_steps}. Give 0 to {MAX_STEPS} steps.")
    if paths is not None and paths < 1:
        raise ValueError(f"`paths` is {paths}. Give 1 or more paths, or None for a single run.")
    if paths is not None and paths > _MAX_PATHS:
        raise ValueError(
            f"`paths` is {paths}, but numbers of paths have 32 bits. Give up to {_MAX_PATHS:,}; "
            "for more, run again with another key."
        )
    if unroll is not None and unroll < 1:
        raise ValueError(f"`unroll` is {unroll}. Give 1 or more steps.")
    check_choice(choice)
    if isinstance(initial, AbstractSavedRun):
        raise TypeError(f"`initial` is {kind_of(initial)}. Give its state, `solution.state`.")
    if save is not None and not isinstance(save, Save):
        raise TypeError(
            f"`save` is {save!r}. Give snpjax.SAVE_ALL, SAVE_OUTPUTS, SAVE_FINAL or a Save(...)."
        )
    return max_steps, paths


def _num_paths(
    machine: AnyMachine, state: PyTree, paths: int | None, initial: PyTree, inputs: PyTree
) -> int | None:
    """The number of paths; for stacked machines, the number of machines."""
    if isinstance(machine, Stacked):
        if paths is not None:
            raise ValueError(
                "Each system of a batch is one path. Leave `paths` out, and list a system several "
                "times for several paths of it."
            )
        return machine.num_paths
    if initial is None and inputs is None:
        return paths
    shape = paths_of(machine, state)
    if shape and paths != shape[0]:
        given = {"initial": initial, "inputs": inputs}
        names = " or ".join(f"`{name}`" for name, x in given.items() if x is not None)
        axes = f"the last axis of {names} is read as paths"
        if not isinstance(inputs, Mapping) and np.ndim(inputs) == 3:
            axes = "`inputs` is read as (steps, inputs, paths)"
        raise ValueError(
            f"`paths` is {paths}, but {axes}: it has {shape[0]} paths. Give `paths={shape[0]}`."
        )
    return paths
