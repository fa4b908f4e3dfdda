"""What native files of neurons and of populations have in common: options of the system."""

import json
from typing import Any, NamedTuple

from ...spiking.model.compatibility import CHOICES, TEXTBOOK, Compatibility
from ...spiking.model.validity import Level
from ..json_checks import Entries, abbreviated


_OPTIONS = (*CHOICES, "guard_modulo")


class Header(NamedTuple):
    """The options; `level` is the stricter one of that in the file and that of the reader."""

    name: str
    signed: bool
    level: Level
    compatibility: Compatibility


def read_header(top: Entries, level: Level) -> Header:
    """The options of the file, with the defaults after a mistake."""
    name = top.text("name", "the name", "") or ""
    signed = bool(top.take("signed", top.findings.truth, default=False))
    return Header(name, signed, _level(top, level), _compatibility(top))


def _level(top: Entries, level: Level) -> Level:
    value = top.values.get("level", "extended")
    if value not in ("strict", "extended"):
        top.findings.wrong(value, ("level",), "the level", 'write "strict" or "extended"')
    return "strict" if "strict" in (value, level) else "extended"


def _compatibility(top: Entries) -> Compatibility:
    findings, path = top.findings, ("compatibility",)
    options: dict[str, Any] = {}
    value = top.values.get("compatibility", {})
    entries = findings.mapping(value, path, '"compatibility"', _OPTIONS) or {}
    for name, option in entries.items():
        where, what = (*path, name), f"the option {abbreviated(name)}"
        if name == "guard_modulo":
            number = findings.integer(option, where, what)
            if number is not None and number < 1:
                findings.error(where, f"{what} is {number} (write an integer from 1)")
            elif number is not None:
                options[name] = number
        elif name in CHOICES:
            if any(type(option) is type(x) and option == x for x in CHOICES[name]):
                options[name] = option
            else:
                listed = " or ".join(json.dumps(x) for x in CHOICES[name])
                findings.wrong(option, where, what, f"write {listed}")
    if len(options) < len(entries):
        return TEXTBOOK
    try:
        return Compatibility(**options)
    except ValueError as error:  # a combination without a meaning
        findings.error(path, str(error))
        return TEXTBOOK
