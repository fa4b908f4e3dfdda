"""What native files of neurons and of populations have in common: options of the system."""

import json
from typing import Any

from ...spiking.model.compatibility import CHOICES, TEXTBOOK, Compatibility
from ...spiking.model.validity import Level
from ..json_checks import Findings, abbreviated


_OPTIONS = (*CHOICES, "guard_modulo")


def read_name(findings: Findings, top: dict[str, object]) -> str:
    """The name of the system."""
    return findings.text(top.get("name", ""), ("name",), "the name") or ""


def read_signed(findings: Findings, top: dict[str, object]) -> bool:
    """Whether counts may become negative."""
    return bool(findings.truth(top.get("signed", False), ("signed",), '"signed"'))


def read_level(findings: Findings, top: dict[str, object], level: Level) -> Level:
    """The stricter of `level` and the one in the file."""
    value = top.get("level", "extended")
    if value not in ("strict", "extended"):
        message = f'the level is {abbreviated(value)} (write "strict" or "extended")'
        findings.error(("level",), message)
    return "strict" if "strict" in (value, level) else "extended"


def read_compatibility(findings: Findings, top: dict[str, object]) -> Compatibility:
    """The options of a simulator; none after a mistake in them."""
    path = ("compatibility",)
    options: dict[str, Any] = {}
    value = top.get("compatibility", {})
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
                findings.error(where, f"{what} is {abbreviated(option)} (write {listed})")
    if len(options) < len(entries):
        return TEXTBOOK
    try:
        return Compatibility(**options)
    except ValueError as error:  # a combination without a meaning
        findings.error(path, str(error))
        return TEXTBOOK
