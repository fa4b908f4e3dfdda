"""What formats of numbers have no place for: one comment after the data, which other tools skip.

It is `{comment sign} snpjax {...}` with a JSON object of `name`, `places` and `transitions`, each
only where it says more than the numbers do, of `positions` in a drawing, `[x, y]` for each place
and then for each transition, in SN-MCC of `priorities`, and of the `rule`
of the steps where it is not that of the format. Names are a list, or an object of the
`prefix` and the `first` number.
"""

import json
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

from snpjax_formats.strict_json import JsonError, parse_json

from ..._text.counts import plural
from ..._text.surrogates import HALF, lone_escape
from ...drawing.coordinates import is_coordinate
from ...sleptsov import AbstractRule, Numbered, Petri, Sleptsov, SleptsovNet
from ...sleptsov.model.names import Names, same_names
from ...sleptsov.model.rules import RULES
from ...sleptsov.view.positions import given_positions
from ..json_checks import out_of_range
from ..source import Report, Source


_MARK = "snpjax "
_LISTS = ("places", "transitions")
#: For formats whose comments list no nodes.
NO_SIZES: Mapping[str, int] = dict.fromkeys(_LISTS, 0)


def remark(net: SleptsovNet, sign: str, first: int, **more: Any) -> str:
    """The comment line, or nothing where numbers from `first` say it all and there is no `more`."""
    told: dict[str, Any] = {"name": net.name} if net.name else {}
    for key, names, prefix in (
        ("places", net.place_names, "p"),
        ("transitions", net.transition_names, "t"),
    ):
        if isinstance(names, Numbered):
            if not same_names(names, Numbered(prefix, len(names), first)):
                told[key] = {"prefix": names.prefix, "first": names.first}
        else:
            told[key] = list(names)
    positions = given_positions(net)
    if positions is not None:
        told["positions"] = positions.tolist()
    if not isinstance(net.rule, Sleptsov):
        told["rule"] = net.rule.name
    told |= more
    text = json.dumps(told)
    half = lone_escape(text)
    if half is not None:
        raise ValueError(f"{text[max(half - 20, 0) : half + 6]} ends with {HALF} (rename it)")
    return f"{sign} {_MARK}{text}\n" if told else ""


def rule_remark(net: SleptsovNet) -> str:
    """The comment line of a format of Petri nets, or nothing for one."""
    if isinstance(net.rule, Petri):
        return ""
    return f"# {_MARK}{json.dumps({'rule': net.rule.name})}\n"


class Remark:
    """The comment in a source from `start` on, or an empty one; what is wrong with it is reported.

    **Arguments:**

    - `sizes`: how many `places` and `transitions` there are.
    - `first`: the number of the first one, where no names are listed.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        sign: str,
        sizes: Mapping[str, int],
        first: int,
        report: Report,
    ):
        self.sizes, self.first, self.report = sizes, first, report
        # A bracket tells data from a sentence such as `# snpjax reads this file`.
        line = re.compile(rf"^{sign} {_MARK}[{{[]", re.MULTILINE).search(source.text, start)
        self.offset = 0 if line is None else line.start()
        self.told: dict[str, Any] = {}
        if line is not None:
            end = source.text.find("\n", self.offset)
            begin = self.offset + len(sign) + 1 + len(_MARK)
            text = source.text[begin : end if end >= 0 else None]
            try:
                value = parse_json(text)
            except JsonError as error:
                self.error(error.problem, begin + error.offset)
                return
            if problem := _problem(value, sizes):
                self.error(problem)
            else:
                self.told = value

    def error(self, problem: str, at: int | None = None) -> None:
        message = f"remark of snpjax: {problem} (correct the line, or remove it)"
        self.report.error(self.offset if at is None else at, message)

    def names(self) -> dict[str, Any]:
        """The names, the positions and the rule, as arguments of `SleptsovNet`."""
        names = self._names("places", "p"), self._names("transitions", "t")
        return {
            "name": self.told.get("name", ""),
            "place_names": names[0],
            "transition_names": names[1],
            "rule": self.rule(Sleptsov()),
            "notes": self._positions(names),
        }

    def rule(self, usual: AbstractRule) -> AbstractRule:
        """The rule of the steps, by default the `usual` one."""
        name = self.told.get("rule", usual.name)
        if name not in RULES:
            self.error(f"the rule is {name!r:.60}, not one of {', '.join(RULES)}")
        return RULES.get(name, usual)

    def _positions(self, names_of_kinds: tuple[Names, Names]) -> dict[str, Any]:
        positions = self.told.get("positions")
        if positions is None:
            return {}
        names = list(chain(*names_of_kinds))
        is_right = isinstance(positions, list) and all(
            isinstance(place, list)
            and len(place) == 2
            and all(type(x) in (int, float) for x in place)
            for place in positions
        )
        if not is_right or len(positions) != len(names):
            self.error(f"`positions` is not a list of {plural(len(names), 'pair')} of numbers")
            return {}
        for name, place in zip(names, positions, strict=True):
            for part in place:
                if not is_coordinate(part):
                    self.error(out_of_range(part, name))
                    return {}
        return {"positions": dict(zip(names, positions, strict=True))}

    def _names(self, key: str, prefix: str) -> Names:
        given = self.told.get(key, {})
        if isinstance(given, list):
            return tuple(given)
        count = self.sizes[key]
        return Numbered(given.get("prefix", prefix), count, given.get("first", self.first))

    def pairs(self) -> list[tuple[int, int]] | None:
        """The `priorities`, where they are listed."""
        pairs = self.told.get("priorities")
        if pairs is None:
            return None
        count = self.sizes["transitions"]
        numbers = range(count)
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(type(x) is int and x in numbers for x in pair)
            for pair in pairs
        ):
            self.error(f"`priorities` is not a list of pairs of transitions from 0 to {count - 1}")
            return None
        return [(a, b) for a, b in pairs]


def _problem(value: Any, sizes: Mapping[str, int]) -> str:
    """Say what is wrong with what the comment says; empty if nothing is."""
    if not isinstance(value, dict) or not all(
        isinstance(value.get(key, ""), str) for key in ("name", "rule")
    ):
        return "an object with the texts `name` and `rule` and lists is expected"
    for key in _LISTS:
        names = value.get(key, {})
        if isinstance(names, dict):
            if not (
                type(names.get("first", 0)) is int and isinstance(names.get("prefix", ""), str)
            ):
                return f"`{key}` are not numbered by a `prefix` and the `first` number"
            continue
        if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
            return f"`{key}` is not a list of texts"
        if len(names) != sizes[key]:
            return f"`{key}` has {len(names)} names for {sizes[key]}"
        if len(set(names)) < len(names):
            return f"`{key}` has a name twice"
    return ""
