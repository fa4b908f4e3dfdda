"""What the page does with a spiking neural P system and with a Sleptsov net alike."""

from typing import Any, TypeAlias, cast

from ...sleptsov import SleptsovNet
from ...spiking import SpikingSystem
from .described import moment_json, system_json
from .edits import Edit, Finding, edited
from .nets import NetMoment, NetStepper, edited_net, net_json, net_moment_json
from .stepping import Moment, Refused, Stepper


#: Steps of one computation, and numbers of all its configurations.
_MOST_STEPS, _MOST_NUMBERS = 20_000, 10_000_000

PageModel: TypeAlias = SpikingSystem | SleptsovNet
AnyStepper: TypeAlias = Stepper | NetStepper
AnyMoment: TypeAlias = Moment | NetMoment


def stepper_of(model: PageModel) -> AnyStepper:
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


def row_json(model: PageModel, moment: AnyMoment, before: AnyMoment | None) -> dict[str, Any]:
    """A configuration or marking, and the step that led to it."""
    if isinstance(model, SleptsovNet):
        return net_moment_json(model, cast(NetMoment, moment), cast(NetMoment | None, before))
    return moment_json(model, cast(Moment, moment), cast(Moment | None, before))


def edited_model(model: PageModel, edit: Edit) -> tuple[PageModel | None, list[Finding]]:
    """A model with an edit, or `None`, and what is wrong with it."""
    return edited_net(model, edit) if isinstance(model, SleptsovNet) else edited(model, edit)


def refuse_beyond(model: PageModel, step: int) -> None:
    """**Raises:** `Refused` for a step after those that the page keeps."""
    most = min(_MOST_STEPS, _MOST_NUMBERS // max(num_counts(model), 1))
    if step >= most:
        raise Refused(f"The page keeps {most:,} steps. Use `snpjax run` for longer runs.")


def num_counts(model: PageModel) -> int:
    """How many numbers a configuration or marking has."""
    return model.num_places if isinstance(model, SleptsovNet) else model.num_neurons
