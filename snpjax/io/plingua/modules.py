"""The frame of a P-Lingua file: model line, global definitions, and modules cut out by their
braces.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from ..._text.nearest import nearest
from ..kinds import is_json
from ..source import Report, Unreadable, shortened
from . import tree
from .scan import end_of_previous, marks, skip_gap
from .syntax import MAX_STATEMENT, Syntax, WordBudget


MODEL = "spiking_psystems"
_MODEL_LINE = re.compile(r"@model\s*<\s*([^<>\n]*?)\s*>", re.IGNORECASE)
#: What P-Lingua 5 may have before it: the definition of a model, which can take its place, by
#: patterns of the rules that are allowed.
_DEFINITION = re.compile(r"@model\s*\(\s*([A-Za-z_]\w*)\s*\)\s*=([^;{}]*);", re.IGNORECASE)
_PATTERN = re.compile(r"!\s*([A-Za-z_]\w*)\s*\{[^{}]*\}")
_NEXT_MODULE = re.compile(r"def\s+[A-Za-z_][A-Za-z_0-9]*\s*\(", re.IGNORECASE)

#: Statements without which others make no sense: definitions, calls, blocks, inputs and what is not
#: known; and those that make neurons.
_NEEDED = re.compile(
    r"\s*\{|.*?(?:@(?!(?:mu|ms|marcs|mdict|mout\w*)\b)|\b(?:let|call)\b)", re.DOTALL | re.I
)
_CREATING = re.compile(r".*?(?:@mu\b|\[\s*\])", re.DOTALL | re.I)


@dataclass(frozen=True)
class Module:
    """A module by its place: the offsets of its name and of its body between the braces."""

    name: str
    offset: int
    parameters: tuple[str, ...]
    start: int
    end: int
    syntax: Syntax

    @cached_property
    def body(self) -> tuple[tree.Statement, ...]:
        """The statements, parsed when they are first needed."""
        return self.syntax.body(self.start, self.end)

    def check_if_uncalled(self) -> None:
        """Warn of what does not parse in a module that was never called."""
        if "body" in vars(self):
            return
        report = self.syntax.report
        scratch = Report(report.source)
        with suppress(Unreadable):
            Syntax(scratch, self.syntax.budget).body(self.start, self.end)
        for offset, message in scratch.errors():
            here = f"in the module {self.name}, which is never called"
            report.warning(offset, f"{here}: {message}")


@dataclass(slots=True)
class Frame:
    """What stands outside the braces. Module names are lower-case keys, since they ignore case."""

    offset: int = 0
    globals: list[tree.Let] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)

    def parse(self) -> None:
        """Parse the bodies of `main` and of all that it may call."""
        names = ["main"]
        for name in names:
            module = self.modules.get(name)
            if module is not None and "body" not in vars(module):
                names += _called(module.body)

    def tell_unknown_calls(self, report: Report) -> None:
        """Report calls of unknown modules that are certainly run: before the ranges of the other
        statements, which may take long for nothing."""
        names = ["main"]
        for name in names:
            module = self.modules.get(name)
            for call in () if module is None else _certain_calls(module.body):
                if (called := call.name.lower()) not in self.modules:
                    report.error(call.offset, self.unknown_module(call))
                elif called not in names:
                    names.append(called)

    def unknown_module(self, call: tree.Call) -> str:
        """The message about a call of a module that is not there."""
        names = [known.name for known in self.modules.values()]
        return f"there is no module {call.name} ({nearest(call.name, names, 'modules')})"

    def is_plain_without(self, report: Report) -> bool:
        """Whether mistakes in the statements of `main` that parse are not due to those that do not,
        the only errors so far, and are found quickly: there are no calls, blocks or ranges."""
        main = self.modules.get("main")
        if main is None or len(report.source.text) > MAX_STATEMENT:
            return False
        unparsed = main.syntax.unparsed_texts()
        if len(unparsed) < report.num_errors or any(map(_NEEDED.match, unparsed)):
            return False
        return all(
            not statement.bounds and not isinstance(statement.instruction, tree.Call | tree.Block)
            for statement in main.body
        )

    def may_lack_neurons(self) -> bool:
        """Whether a statement of `main` that does not parse may create neurons."""
        main = self.modules.get("main")
        return main is not None and any(map(_CREATING.match, main.syntax.unparsed_texts()))


def _certain_calls(statements: Iterable[tree.Statement]) -> Iterator[tree.Call]:
    """The calls without ranges and conditions."""
    for statement in statements:
        if not statement.bounds and not statement.filters:
            match statement.instruction:
                case tree.Call() as call:
                    yield call
                case tree.Block(statements=inner):
                    yield from _certain_calls(inner)
                case _:
                    pass


def _called(statements: Iterable[tree.Statement]) -> Iterator[str]:
    for statement in statements:
        match statement.instruction:
            case tree.Call(name=name):
                yield name.lower()
            case tree.Block(statements=inner):
                yield from _called(inner)
            case _:
                pass


def split_modules(report: Report) -> Frame:
    """The frame of the file. Bodies are only checked for balanced braces here."""
    text = report.source.text
    frame = Frame()
    start, defined = _definitions(report, 0)
    model = _MODEL_LINE.match(text, start) or defined
    if model is None or model.group(1).lower() != MODEL:
        report.error(*_found_model(text, model))
        return frame
    frame.offset = model.start()
    start, syntax = max(start, model.end()), Syntax(report, WordBudget())
    while (start := _definitions(report, start)[0]) < len(text):
        model = _MODEL_LINE.match(text, start)  # of an included file
        if model is not None and model.group(1).lower() == MODEL:
            start = model.end()
            continue
        if model is not None:
            report.error(*_found_model(text, model))
            break
        end = _next_piece(syntax, frame, start)
        if end is None:
            break
        start = end
    return frame


def _definitions(report: Report, start: int) -> tuple[int, re.Match[str] | None]:
    """Where patterns and model definitions of P-Lingua 5 from `start` on end, and the last of these
    definitions, that of the model read here if there is one. They are reported: what they allow or
    forbid is not checked."""
    text, defined = report.source.text, None
    start = skip_gap(text, start, len(text))
    while True:
        found = _PATTERN.match(text, start) or _DEFINITION.match(text, start)
        if found is None:
            return start, defined
        if found.re is _DEFINITION:
            if defined is None or found.group(1).lower() == MODEL:
                defined = found
            message = f"the definition of the model {shortened(found.group(1))!r} is not applied"
            report.warning(start, f"{message}: rules are read as those of {MODEL}")
        start = skip_gap(text, found.end(), len(text))


def _found_model(text: str, model: re.Match[str] | None) -> tuple[int, str]:
    """Why a text is no P-Lingua 4 file of this model, and where."""
    fix = f"the model language read here is @model<{MODEL}>"
    if model is not None:
        found = shortened(model.group(1) or "nothing")
        return model.start(1), f"this is a model of {found!r} ({fix})"
    start = skip_gap(text, 0, len(text))
    later = re.search("@model", text, re.IGNORECASE)
    if later is not None and later.start() == start:
        return start, f"the model line is not complete ({fix})"
    if later is not None:
        return start, f"the file does not begin with a model line ({fix})"
    if is_json(text):
        return start, "this is JSON, not P-Lingua (name it .json, or give format=)"
    message = f"there is no @model<{MODEL}>, so this is no P-Lingua 4 file"
    return start, f'{message} (begin the file with it, or give format="esnp")'


def _next_piece(syntax: Syntax, frame: Frame, start: int) -> int | None:
    """Read a definition; the offset after it, or `None` when the rest makes no sense."""
    text, report = syntax.text, syntax.report
    for offset, mark in marks(text, start, min(len(text), start + MAX_STATEMENT)):
        if mark in ("/*", '"'):
            return _report_unclosed(report, offset, mark)
        if mark == "}":
            message = "this brace closes nothing (remove it, or open a module with def)"
            report.error(offset, message)
            return None
        if mark == ";":
            if _NEXT_MODULE.match(text, start):  # a module without its opening brace
                syntax.head(start, offset)
                return None
            _read_global(syntax, frame, start, offset + 1)
            return offset + 1
        if mark == "{":
            return _read_module(syntax, frame, start, offset + 1)
        if mark[0] in "dD" and offset > start:  # a definition without its semicolon
            _read_global(syntax, frame, start, offset)
            return offset
    parse = syntax.head if text[start : start + 3].lower() == "def" else syntax.definition
    parse(start, len(text))  # always an error: neither is complete
    return None


def _read_global(syntax: Syntax, frame: Frame, start: int, end: int) -> None:
    definition = syntax.definition(start, end)
    if definition is not None:
        frame.globals.append(definition)


def _read_module(syntax: Syntax, frame: Frame, start: int, body: int) -> int | None:
    report = syntax.report
    head = syntax.head(start, body)
    end = _closing_brace(report, body)
    if head is not None and end is not None:
        module = Module(*head, body, end, syntax)
        first = frame.modules.setdefault(module.name.lower(), module)
        if first is not module:
            at = report.at(first.offset)
            message = f"the module {module.name} is defined twice, first at {at} (rename one)"
            report.error(module.offset, message)
    return None if end is None else end + 1


def _closing_brace(report: Report, body: int) -> int | None:
    text = report.source.text
    open_braces = [body - 1]
    for offset, mark in marks(text, body, len(text), only_braces=True):
        if mark in ("/*", '"'):
            return _report_unclosed(report, offset, mark)
        if mark == "{":
            open_braces.append(offset)
        elif mark == "}":
            open_braces.pop()
            if not open_braces:
                return offset
        elif mark[0] in "dD" and _NEXT_MODULE.match(text, offset):
            return _report_open_brace(report, open_braces[-1], offset, "before the next module")
    end = end_of_previous(text, 0, len(text))
    return _report_open_brace(report, open_braces[-1], end, "before the file ends")


def _report_open_brace(report: Report, brace: int, offset: int, where: str) -> None:
    message = f"expected '}}' {where} (close the brace opened at {report.at(brace)})"
    report.error(offset, message)


def _report_unclosed(report: Report, offset: int, mark: str) -> None:
    if mark == '"':
        report.error(offset, 'this text is not closed on its line (write " at its end)')
    else:
        report.error(offset, "this comment is not closed (write */ at its end)")
