"""HSN, high-level nets: an LSN with transitions that stand for the nets of other files."""

import re

from ..._text.counts import plural
from ...sleptsov import SleptsovNet
from ...sleptsov.linking import HighNet
from ..losses import Losses
from ..source import Report, Source, shortened
from .build_net import build_net
from .comment_data import remark
from .lsn import LowLevel, lsn_parts
from .numbers import integer
from .substituting import Mapped, Nesting, PlacedSubstitution, Role, build_high_net


#: The role that the signs of a mapping `hp lp` say.
_ROLES: dict[tuple[bool, bool], Role] = {
    (True, True): "input",
    (True, False): "output",
    (False, True): "start",
    (False, False): "finish",
}
_SIGNS = {role: signs for signs, role in _ROLES.items()}
_NUMBER = "[1-9][0-9]{0,17}"
_PLAIN_BLOCK = re.compile(rf"({_NUMBER}) ({_NUMBER}) (\S+)\n((?:-?{_NUMBER} -?{_NUMBER}\n)++)")
_BLOCK = "`t np file`"
_MAPPING = "`hp lp`"


def read_hsn(source: Source, *, max_flat_size: int | None = None) -> SleptsovNet:
    """The flat net that an HSN file and the files of its sub-nets make.

    Sub-nets are looked up beside the file, then in `snpjax.sleptsov.subnets.LIBRARY`.

    - `max_flat_size`: as in `link`; `None` is its default.

    **Raises:** `ReadError` with every error of the file, those of a sub-net where it is named.
    """
    nesting = Nesting.of(source, max_flat_size)
    return nesting.link(read_nested(source, nesting))


def read_nested(source: Source, nesting: Nesting) -> HighNet | SleptsovNet:
    """The net of an HSN file as it is, not linked; a plain one where nothing is substituted."""
    report = Report(source)
    low = LowLevel(source, report)
    if low.num_substitutions == 0 or not low.is_whole:
        return build_net(report, **low.arguments())
    blocks = _blocks(low, report)
    return build_high_net(report, blocks, nesting, low.arguments(), low.pair_offset)


def write_hsn(high: HighNet, losses: Losses) -> str:
    """The text of an HSN file; the sub-nets are named, not written."""
    head, arcs, tokens = lsn_parts(high.net)
    parts = ["; m n k l nst\n", f"{head} {len(high.substitutions)}\n", arcs, tokens]
    for number, one in enumerate(high.substitutions, start=1):
        name = one.name
        if not name or name != name.strip() or "\n" in name:
            name = f"sub_net_{number}.lsn"
            losses.add(f"the sub-net of substitution {number}, which has no file name", name)
        parts.append(f"{one.transition + 1} {len(one.inputs) + 3} {name}\n")
        for (role, _), (hp, lp) in one.roles():
            signs = _SIGNS[role]  # type: ignore[index]
            parts.append(f"{hp + 1 if signs[0] else -hp - 1} {lp + 1 if signs[1] else -lp - 1}\n")
    return "".join([*parts, remark(high.net, ";", 1)])


def _blocks(low: LowLevel, report: Report) -> list[PlacedSubstitution]:
    """The substitutions; what is wrong with the lines is reported."""
    blocks = []
    line = low.end
    for number in range(low.num_substitutions):
        if line >= len(low.lines):
            message = (
                f"unexpected end of file after {number} of {low.num_substitutions} substitutions "
                f"({_BLOCK} is expected)"
            )
            report.error(low.end_offset, message)
            break
        at = low.offset(line)
        plain = _plain_block(low.source.text, at)
        if plain is not None:
            blocks.append(plain)
            line += 1 + len(plain.mapped)
            continue
        words = low.text(line).split(None, 2)
        numbers = [integer(word) for word in words[:2]]
        if len(words) != 3 or any(isinstance(n, str) for n in numbers):
            message = f"{shortened(low.text(line))!r} begins no substitution ({_BLOCK} is expected)"
            report.error(at, message)
            break
        transition, count = numbers
        assert isinstance(transition, int) and isinstance(count, int)
        block = PlacedSubstitution(
            transition - 1, at, words[2], at + low.text(line).rfind(words[2])
        )
        for at_line in range(line + 1, line + 1 + max(count, 0)):
            if at_line >= len(low.lines):
                message = (
                    f"unexpected end of file after {at_line - line - 1} of "
                    f"{plural(count, 'place')} of a substitution ({_MAPPING} is expected)"
                )
                report.error(low.end_offset, message)
                return blocks
            mapped = _mapped(low.text(at_line), low.offset(at_line), report)
            if mapped is not None:
                block.mapped.append(mapped)
        blocks.append(block)
        if report.is_full:
            break
        line += 1 + max(count, 0)
    low.end = min(line, len(low.lines))
    return blocks


def _plain_block(text: str, at: int) -> PlacedSubstitution | None:
    """The substitution at an offset, if it is written as programs write it."""
    found = _PLAIN_BLOCK.match(text, at)
    lines = "" if found is None else found[4].split("\n")[:-1]
    if found is None or len(lines) != int(found[2]):
        return None
    block = PlacedSubstitution(int(found[1]) - 1, at, found[3], found.start(3))
    offset = found.start(4)
    for line in lines:
        hp, lp = map(int, line.split(" "))
        mapped = Mapped(_ROLES[hp > 0, lp > 0], (abs(hp) - 1, abs(lp) - 1), offset)
        block.mapped.append(mapped)
        offset += len(line) + 1
    return block


def _mapped(text: str, at: int, report: Report) -> Mapped | None:
    numbers = [integer(word) for word in text.split()]
    if len(numbers) != 2 or any(isinstance(number, str) or number == 0 for number in numbers):
        message = (
            f"{shortened(text)!r} maps no place ({_MAPPING} is expected: integers from 1, the "
            "signs of which say the role)"
        )
        report.error(at, message)
        return None
    hp, lp = numbers
    assert isinstance(hp, int) and isinstance(lp, int)
    return Mapped(_ROLES[hp > 0, lp > 0], (abs(hp) - 1, abs(lp) - 1), at)
