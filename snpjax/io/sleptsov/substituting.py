"""Substitutions as files tell them: sub-nets by the names of files, places by roles."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from ...sleptsov import SleptsovNet
from ...sleptsov.linking import (
    HighNet,
    NetPart,
    Substitution,
    pair_problems,
    substitution_problems,
)
from ...sleptsov.subnets import LIBRARY
from ..errors import ReadError
from ..source import Report, Source, load, shortened
from .build_net import build_net


Role: TypeAlias = Literal["input", "output", "start", "finish"]

_MAX_DEPTH = 50  # sub-nets within sub-nets
_ONCE: tuple[Role, ...] = ("output", "start", "finish")


class Mapped(NamedTuple):
    """A pair of 0-based places, of the net and of the sub-net, and where it stands."""

    role: Role
    pair: tuple[int, int]
    offset: int


@dataclass
class PlacedSubstitution:
    """A substitution in a file: its 0-based transition, the sub-net, and where they stand."""

    transition: int
    offset: int
    name: str
    name_offset: int
    mapped: list[Mapped] = field(default_factory=list)


@dataclass(frozen=True)
class Nesting:
    """The files around a sub-net, the outermost first, and the sub-nets that are known by now."""

    files: tuple[Path, ...]
    known: dict[Path, "SleptsovNet | HighNet"]

    @classmethod
    def of(cls, source: Source) -> "Nesting":
        return cls((Path(source.path).resolve(),), {})


def build_high_net(
    report: Report,
    blocks: Sequence[PlacedSubstitution],
    nesting: Nesting,
    arguments: Mapping[str, Any],
    pair_offset: Callable[[int], int],
) -> HighNet:
    """The net of these arguments with its substitutions.

    **Arguments:**

    - `arguments`: those of `SleptsovNet`, priorities in the order of the file.
    - `pair_offset`: where a priority stands.

    **Raises:** `ReadError` with every error, those of the blocks too.
    """
    substitutions, whole = [], []
    for block in blocks:
        one = _substitution(block, report.source, nesting, report)
        if one is not None:
            substitutions.append(one)
            whole.append(block)
    sizes = len(arguments["marking"]), arguments["num_transitions"]
    for problem in substitution_problems(substitutions, *sizes):
        block, message = whole[problem.number], problem.message
        if problem.first is not None:
            line, _ = report.source.position(whole[problem.first].offset)
            message += f": first in line {line}"
        report.error(_offset(block, problem.part), message)
    for pair, message in pair_problems(substitutions, np.asarray(arguments["priorities"])):
        report.error(pair_offset(pair), message)
    # A transition that is substituted may look odd: it need not consume anything, say.
    return HighNet(build_net(report, quiet=True, **arguments), tuple(substitutions))


def _offset(block: PlacedSubstitution, part: NetPart) -> int:
    kind, number = part
    if kind == "subnet":
        return block.name_offset
    places = [mapped.offset for mapped in block.mapped if mapped.role == kind]
    return places[number] if places else block.offset


def _substitution(
    block: PlacedSubstitution, source: Source, nesting: Nesting, report: Report
) -> Substitution | None:
    """The substitution, if all that it needs is there."""
    roles: dict[str, list[tuple[int, int]]] = {"input": [], **{role: [] for role in _ONCE}}
    for mapped in block.mapped:
        if mapped.role != "input" and roles[mapped.role]:
            message = f"a second {mapped.role} in this substitution (exactly one is expected)"
            report.error(mapped.offset, message)
        roles[mapped.role].append(mapped.pair)
    _warn_of_shared_inputs(block, report)
    missing = [role for role in _ONCE if not roles[role]]
    if missing:
        message = (
            f"the substitution of transition {block.transition + 1} has no "
            f"{' and no '.join(missing)} (exactly one is expected)"
        )
        report.error(block.offset, message)
    subnet = _subnet(block, source, nesting, report)
    if subnet is None or missing:
        return None
    return Substitution(
        block.transition,
        subnet,
        tuple(roles["input"]),
        *(roles[role][0] for role in _ONCE),
        name=block.name,
    )


def _warn_of_shared_inputs(block: PlacedSubstitution, report: Report) -> None:
    seen: dict[int, Mapped] = {}
    for mapped in block.mapped:
        if mapped.role == "input" and seen.setdefault(mapped.pair[0], mapped) is not mapped:
            message = (
                f"place {mapped.pair[0] + 1} is an input twice: its two copies run at once and "
                "take tokens from each other (give each input a place of its own)"
            )
            report.warning(mapped.offset, message)


def _subnet(
    block: PlacedSubstitution, source: Source, nesting: Nesting, report: Report
) -> "SleptsovNet | HighNet | None":
    """The sub-net of that name, beside the file or else of the library."""
    name, at = block.name, block.name_offset
    if os.path.isabs(name) or ".." in Path(name).parts:
        report.error(at, f"the sub-net {name!r} is not beside this file (move it there)")
        return None
    try:
        path = (Path(source.path).parent / name).resolve()
        is_there = path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        report.error(at, f"{shortened(name)!r} is no name of a file")
        return None
    if path in nesting.files:
        report.error(at, f"the sub-net {name} contains itself (a program has no recursion)")
        return None
    if path in nesting.known:
        return nesting.known[path]
    if not is_there:
        made = LIBRARY.get(name.removesuffix(".lsn"))
        if made is not None:
            return made().net
        known = ", ".join(LIBRARY)
        report.error(at, f"there is no sub-net {name} beside this file (the library has {known})")
        return None
    if len(nesting.files) > _MAX_DEPTH:
        report.error(at, f"sub-nets are nested more than {_MAX_DEPTH} deep")
        return None
    from .hsn import read_nested  # which needs this module

    try:
        subnet = read_nested(load(path), Nesting((*nesting.files, path), nesting.known))
    except ReadError as error:
        more = len(error.diagnostics) - 1
        also = f", and {more} more errors" if more else ""
        report.error(at, f"the sub-net {name} cannot be read: {error.diagnostics[0]}{also}")
        return None
    return cast(dict, nesting.known).setdefault(path, subnet)
