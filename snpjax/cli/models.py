"""Files of any kind of model, for the commands that look at all computations."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .sleptsov import DropTime as DropTime, IgnoreUnknown as IgnoreUnknown, NetId as NetId


if TYPE_CHECKING:
    from ..sleptsov import Execution
    from ..spiking import PopulationSystem, SpikingSystem

    ReadableModel: TypeAlias = SpikingSystem | PopulationSystem | Execution

NetRule: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rule",
        metavar="RULE",
        help="Of a net: sleptsov (in maximal multiplicity) or petri (once).  [default: sleptsov]",
        show_default=False,
    ),
]


def read_model(
    file: Path,
    *,
    strict: bool,
    rule: str | None,
    drop_time: bool,
    net_id: str | None,
    ignore_unknown: bool,
    of_systems: Mapping[str, Any],
) -> "ReadableModel":
    """The system or the net of a file. An option that the other kind has is a usage error; those
    `of_systems` were given where they are neither `None`, empty nor false."""
    import snpjax as snp

    from ..io.formats import is_of_net
    from ..sleptsov import Execution, Petri, Sleptsov

    if not is_of_net(file):
        of_nets = {"--rule": rule, "--drop-time": drop_time, "--net": net_id}
        of_nets["--ignore-unknown"] = ignore_unknown
        _refuse(of_nets, "this is a file of a spiking system (leave it out)")
        return snp.read(file, level="strict" if strict else "extended")
    _refuse({"--strict": strict, **of_systems}, "this is a file of a net (leave it out)")
    rules = {"sleptsov": Sleptsov(), "petri": Petri()}
    if rule is not None and rule not in rules:
        raise typer.BadParameter(f"give one of {', '.join(rules)}", param_hint="--rule")
    net = snp.read_net(file, drop_time=drop_time, net=net_id, ignore_unknown=ignore_unknown)
    return Execution(net, rule=rules[rule or "sleptsov"])


def _refuse(options: Mapping[str, Any], why: str) -> None:
    for option, value in options.items():
        if value is not None and value is not False and value != []:
            raise typer.BadParameter(why, param_hint=option)


def is_net(model: object) -> bool:
    from ..sleptsov import Execution

    return isinstance(model, Execution)


def headline(model: "ReadableModel", file: str) -> str:
    """The file, the name of the model and its size."""
    from . import text

    if not is_net(model):
        return text.headline(model, file)  # pyright: ignore[reportArgumentType]
    net = model.net  # pyright: ignore[reportAttributeAccessIssue]
    sizes = text.plural(net.num_places, "place"), text.plural(net.num_transitions, "transition")
    return text.printable(f"{file}: {', '.join([net.name, *sizes] if net.name else sizes)}")


def model_json(model: "ReadableModel", file: str) -> dict[str, Any]:
    """What every answer begins with."""
    from . import data

    if not is_net(model):
        return data.model_json(model, file)  # pyright: ignore[reportArgumentType]
    net = model.net  # pyright: ignore[reportAttributeAccessIssue]
    names = {"places": list(net.place_names), "transition_names": list(net.transition_names)}
    return {"file": file, "name": net.name, **names}


def advised(message: str) -> str:
    """A message of Python with the advice of the command."""
    from . import options

    message = message.replace(options.NAME_INPUTS, "--inputs needs one.")
    return options.advised(message).replace("under Petri()", "with --rule petri")
