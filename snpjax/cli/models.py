"""Files of any kind of model, for the commands that look at all computations."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from .options import one_of, refuse_given, value
from .sleptsov import DropTime as DropTime, IgnoreUnknown as IgnoreUnknown, NetId as NetId


if TYPE_CHECKING:
    from ..sleptsov import Execution
    from ..spiking import PopulationSystem, SpikingSystem

    ReadableModel: TypeAlias = SpikingSystem | PopulationSystem | Execution

NetRule: TypeAlias = Annotated[
    str | None,
    value(
        "--rule",
        "RULE",
        "Of a net: sleptsov (in maximal multiplicity) or petri (once).  [default: sleptsov]",
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
        refuse_given(of_nets, "this is a file of a spiking system (leave it out)")
        return snp.read(file, level="strict" if strict else "extended")
    refuse_given({"--strict": strict, **of_systems}, "this is a file of a net (leave it out)")
    rules = {"sleptsov": Sleptsov(), "petri": Petri()}
    used = one_of(rules, rule or "sleptsov", "firing rule", "--rule")
    net = snp.read_net(file, drop_time=drop_time, net=net_id, ignore_unknown=ignore_unknown)
    return Execution(net, rule=used)


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
