"""Parameters of a P-Lingua file that are given from outside: those of `main`, and the variables
that are defined before the modules.
"""

import operator
import re
from collections.abc import Mapping
from typing import TypeAlias

from ..._text.nearest import nearest
from ..source import Report
from .expression import MAX_DIGITS
from .modules import Frame, Module
from .tree import expressions_in


#: Values by name: integers, or texts such as a guard.
Parameters: TypeAlias = Mapping[str, int | str]


def checked(parameters: object) -> dict[str, int | str]:
    """The parameters as plain values.

    **Raises:** `TypeError` for what maps no names to integers or texts, `ValueError` for an integer
    that no file could hold.
    """
    if not isinstance(parameters, Mapping):
        raise TypeError(f'`parameters` is {parameters!r:.60}. Give a mapping, such as {{"n": 8}}.')
    return {f"{name}": _checked(name, value) for name, value in parameters.items()}


def _checked(name: object, value: object) -> int | str:
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        message = f"The parameter {name!r} is {value!r:.60}. Give an integer or a text."
        raise TypeError(message) from None
    if abs(number) >= 10**MAX_DIGITS:
        raise ValueError(f"The parameter {name!r} has more than {MAX_DIGITS} digits.")
    return number


def check_use(report: Report, frame: Frame, parameters: Parameters) -> None:
    """Report parameters that the file does not have or does not use, and those of `main` that have
    no value. The bodies of the modules that are called have been parsed."""
    main = frame.modules.get("main")
    if main is None:  # which is reported elsewhere
        return
    missing = [name for name in main.parameters if name not in parameters]
    if missing:
        example = ", ".join(f'"{name}": 8' for name in missing)
        message = f"main has no value for {', '.join(missing)} (give parameters={{{example}}})"
        report.error(main.offset, message)
    places = {let.name: let.value.offset for let in frame.globals}
    places |= dict.fromkeys(main.parameters, main.offset)
    for name in parameters:
        if name not in places:
            near = nearest(name, places, "parameters") if places else _how_to_declare(name)
            report.error(main.offset, f"there is no parameter {name!r} ({near})")
        elif not _is_read(name, frame, main):
            message = f"the parameter {name} is not used in the file (leave it out)"
            report.error(places[name], message)


def _how_to_declare(name: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", name):
        return "the file has none"
    return f"the file has none; write def main({name}), or define {name} before the modules"


def _is_read(name: str, frame: Frame, main: Module) -> bool:
    """Whether the name stands anywhere but where it is defined or a parameter of a call."""
    if any(name in let.value.names for let in frame.globals):
        return True
    this = re.compile(rf"\b{re.escape(name)}\b")
    word = re.compile(rf'/\*.*?\*/|"[^"\n]*"|{this.pattern}', re.DOTALL)

    def is_read_in(text: str) -> bool:
        if text[0] != '"':
            return text == name
        return any(this.search(text, *place) for place in expressions_in(text))

    return any(
        is_read_in(found.group())
        for module in frame.modules.values()
        if "body" in vars(module) and (module is main or name not in module.parameters)
        for found in word.finditer(module.syntax.text, module.start, module.end)
    )
