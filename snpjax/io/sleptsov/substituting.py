"""Substitutions as files tell them: sub-nets by the names of files, places by roles."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..._text.counts import plural
from ...sleptsov import AbstractRule, Sleptsov, SleptsovNet
from ...sleptsov.linking import (
    HighNet,
    NetPart,
    Substitution,
    link,
    pair_problems,
    substitution_problems,
)
from ...sleptsov.sizes import MAX_FLAT_SIZE, flat_size
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
    """What is known while files are read that name each other. Each is read once.

    - `files`: those around a sub-net, the outermost first.
    - `known`, `failed`: the sub-nets that were read, and why others could not be.
    - `max_flat_size`: how large the flat net may be.
    - `rule`: that of the main net, which all sub-nets take.
    """

    files: tuple[Path, ...]
    max_flat_size: int
    known: dict[Path, SleptsovNet | HighNet] = field(default_factory=dict)
    failed: dict[Path, str] = field(default_factory=dict)
    rule: AbstractRule = Sleptsov()  # noqa: RUF009 (a frozen object)

    @classmethod
    def of(cls, source: Source, max_flat_size: int | None) -> "Nesting":
        most = MAX_FLAT_SIZE if max_flat_size is None else max_flat_size
        return cls((Path(source.path).resolve(),), most)

    def link(self, high: HighNet | SleptsovNet) -> SleptsovNet:
        """The flat net."""
        if isinstance(high, SleptsovNet):
            return high
        return link(high, max_flat_size=self.max_flat_size)


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
    nesting = replace(nesting, rule=report.source.rule or arguments["rule"])
    substitutions, whole = [], []
    subnets: dict[str, SleptsovNet | HighNet] = {}  # by name
    for block in blocks:
        one = _substitution(block, report, nesting, subnets)
        if one is not None:
            substitutions.append(one)
            whole.append(block)
        if report.is_full:
            break
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
    high = HighNet(build_net(report, quiet=True, **arguments), tuple(substitutions))
    refusal = flat_size(high).refusal(nesting.max_flat_size)
    if refusal is not None:
        sizes = [flat_size(one.subnet).total for one in substitutions]
        report.error(whole[int(np.argmax(sizes))].name_offset, refusal)
        report.finish()
    return high


def _offset(block: PlacedSubstitution, part: NetPart) -> int:
    kind, number = part
    if kind == "subnet":
        return block.name_offset
    places = [mapped.offset for mapped in block.mapped if mapped.role == kind]
    return places[number] if places else block.offset


def _substitution(
    block: PlacedSubstitution,
    report: Report,
    nesting: Nesting,
    subnets: dict[str, SleptsovNet | HighNet],
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
    subnet = subnets.get(block.name) or _subnet(block, report.source, nesting, report)
    if subnet is None or missing:
        return None
    subnets[block.name] = subnet
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
) -> SleptsovNet | HighNet | None:
    """The sub-net of that name, beside the file or else of the library."""
    name, at = block.name, block.name_offset
    if os.path.isabs(name) or ".." in Path(name).parts:
        report.error(at, f"the sub-net {name!r} is not beside this file (move it there)")
        return None
    try:
        folder = Path(source.path).parent.resolve()
        path = (folder / name).resolve()
        is_there = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, a loop of links
        report.error(at, f"{shortened(name)!r} is not a name of a file")
        return None
    if not path.is_relative_to(folder):
        message = f"the sub-net {name!r} leads out of the folder of this file by a link"
        report.error(at, f"{message} (put the file itself there)")
        return None
    if path in nesting.files:
        report.error(at, f"the sub-net {name} contains itself (a program has no recursion)")
        return None
    if path in nesting.known:
        return nesting.known[path]
    if not is_there:
        made = LIBRARY.get(name.removesuffix(".lsn"))
        if made is not None:
            return made().net.with_rule(nesting.rule)
        known = ", ".join(LIBRARY)
        report.error(at, f"there is no sub-net {name} beside this file (the library has {known})")
        return None
    if len(nesting.files) > _MAX_DEPTH:
        report.error(at, f"sub-nets are nested more than {_MAX_DEPTH} deep")
        return None
    if path not in nesting.failed:
        subnet = _read_subnet(path, nesting)
        if subnet is not None:
            return subnet
    report.error(at, f"the sub-net {name} cannot be read: {nesting.failed[path]}")
    return None


def _read_subnet(path: Path, nesting: Nesting) -> SleptsovNet | HighNet | None:
    from .hsn import read_nested  # which needs this module

    num_failed = len(nesting.failed)
    try:
        source = replace(load(path), rule=nesting.rule)
        subnet = read_nested(source, replace(nesting, files=(*nesting.files, path)))
    except ReadError as error:
        deeper = list(nesting.failed.values())[num_failed:]
        more = len(error.diagnostics) - 1
        also = f" (and {plural(more, 'more error')})" if more else ""
        nesting.failed[path] = deeper[0] if deeper else f"{error.diagnostics[0]}{also}"
        return None
    return nesting.known.setdefault(path, subnet)
