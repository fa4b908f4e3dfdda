"""What the page does with a spiking neural P system and with a Sleptsov net alike."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...io.errors import MAX_SHOWN, ReadError
from ...sleptsov import SleptsovNet
from ...spiking import InvalidSystem, ModelWarning, SpikingSystem
from .arguments import Operation, Refused
from .described import system_json
from .edits import Edit, Finding, edited
from .net_operations import changed_net
from .nets import NetStepper, edited_net, net_json
from .operations import changed
from .queries import Condition
from .stepping import AbstractStepper, Rest, Stepper
from .subsets import ChosenSubset
from .texts import OpenedModel, check_size, diagnostics_json


#: Steps of one computation, and numbers of all its configurations.
_MOST_STEPS, _MOST_NUMBERS = 20_000, 10_000_000

PageModel: TypeAlias = SpikingSystem | SleptsovNet


def stepper_of(model: PageModel) -> AbstractStepper[Any]:
    """The computation of a model, at its beginning.

    **Raises:** `Refused` for one that cannot be run.
    """
    try:
        return NetStepper(model) if isinstance(model, SleptsovNet) else Stepper(model)
    except (NotImplementedError, ValueError) as error:
        raise Refused(f"{error}") from None


def model_json(model: PageModel) -> dict[str, Any]:
    """A model as the page draws it."""
    return net_json(model) if isinstance(model, SleptsovNet) else system_json(model)


def opened_json(found: OpenedModel) -> dict[str, Any]:
    """A model that was read: its text, its description and what was remarked."""
    return {
        "read": True,
        "name": found.name,
        "text": found.text,
        "findings": diagnostics_json(found.warnings[:MAX_SHOWN]),
        "more": max(len(found.warnings) - MAX_SHOWN, 0),
        "system": model_json(found.system),
    }


def next_rows(
    model: PageModel,
    stepper: AbstractStepper[Any],
    at: int,
    count: int,
    chosen: Mapping[int, int],
    rest: Rest,
    stops: Condition | None = None,
    subsets: Mapping[int, ChosenSubset] | None = None,
) -> tuple[list[dict[str, Any]], Refused | None]:
    """Up to `count` steps after number `at`, the first one by the rules `chosen` and the `subsets`,
    to the first one in which `stops` holds, and why there are not more where a step was refused."""
    rows: list[dict[str, Any]] = []
    most = min(_MOST_STEPS, _MOST_NUMBERS // max(num_counts(model), 1))
    for step in range(at, at + count):
        if step > at and stepper.moments[step].is_halted:
            break
        try:
            if step >= most:
                raise Refused(f"The page keeps {most:,} steps. Use `snpjax run` for longer runs.")
            own = (chosen, subsets) if step == at else ({}, None)
            moment = stepper.step(step, own[0], rest, own[1])
        except Refused as error:
            return rows, error
        rows.append(stepper.row_json(moment, stepper.moments[step]))
        if stops is not None and stops([moment])[0]:
            break
    return rows, None


def edited_model(model: PageModel, edit: Edit) -> tuple[PageModel | None, list[Finding]]:
    """A model with an edit, or `None`, and what is wrong with it."""
    return edited_net(model, edit) if isinstance(model, SleptsovNet) else edited(model, edit)


def changed_model(
    model: PageModel, operations: Sequence[Operation]
) -> tuple[PageModel | None, list[Finding]]:
    """A model after operations, one after the other, or `None`, and what is wrong with it.

    **Raises:** `Refused` for operations that make no sense.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            for operation in operations:
                if isinstance(model, SleptsovNet):
                    model = changed_net(model, operation)
                else:
                    model = changed(model, operation)
    except Refused:
        raise
    except InvalidSystem as error:
        twice = [problem for problem in error.problems if problem.code == "duplicate_neuron"]
        # Synapses of two neurons with one name are repetitions, too.
        problems = twice or error.problems
        return None, [Finding("system", None, None, problem.message) for problem in problems]
    except ValueError as error:  # a rule that cannot be read, or an invalid net
        return None, [Finding("system", None, None, line) for line in f"{error}".splitlines()]
    try:
        check_size("the change", model)
    except ReadError as error:
        return None, [Finding("system", None, None, x.message) for x in error.diagnostics]
    return model, []


def num_counts(model: PageModel) -> int:
    """How many numbers a configuration or marking has."""
    return model.num_places if isinstance(model, SleptsovNet) else model.num_neurons
