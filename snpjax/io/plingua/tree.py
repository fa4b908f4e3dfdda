"""The statements of a P-Lingua module as lark's parse tree gives them, with their character offsets
in the file.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..source import Mistake
from .expression import Expression, FollowUp, Scope, Unknown


_BRACES = re.compile(r"\{([^{}]*)\}")
_PART = re.compile(r"[^,]+")
# `Guard` reads "a^{*}" as LaTeX does.
_NUMBERS = re.compile(r"[-0-9,\s]*|\s*(?:[*+]|\\ast)\s*")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\{-?[0-9]+(,-?[0-9]+)*\})?")


@dataclass(frozen=True, slots=True)
class Label:
    """The label of neurons; `name{e1,e2}` is known once the variables are.

    `name` is `None` where the whole label is computed.
    """

    offset: int
    resolve: Callable[[Scope], str]
    name: str | None = None
    indices: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Spikes:
    """`a*count`; one spike when `count` is `None`."""

    offset: int
    count: Expression | None
    is_anti: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text, or the name of a parameter that holds one, from its first character.

    `numbers` are expressions in the braces of a quoted text, such as `"a{2*i}a*"`, with the place
    of the first character and of the one after the last in `value`.
    """

    offset: int
    value: str
    is_variable: bool = False
    numbers: tuple[tuple[int, int, Expression], ...] = ()

    def resolve(self, scope: Scope) -> str:
        if not self.is_variable:
            return "".join(text for _, text, _ in self._pieces(scope))
        value = scope.get(self.value)
        if isinstance(value, str):
            return value
        if isinstance(value, Unknown):
            raise FollowUp
        message = f'{self.value} holds no guard (write the guard in quotes: "a+")'
        raise Mistake(self.offset, message)

    def place(self, scope: Scope, position: int) -> int:
        """The offset in the file of a character of the resolved text."""
        for offset, text, is_number in () if self.is_variable else self._pieces(scope):
            if position <= len(text):
                return offset if is_number else offset + position
            position -= len(text)
        return self.offset

    def _pieces(self, scope: Scope) -> Iterator[tuple[int, str, bool]]:
        """Offset, text and whether it is the number that an expression gives."""
        at = 0
        for start, end, expression in self.numbers:
            yield self.offset + at, self.value[at:start], False
            yield self.offset + start, f"{expression.count(scope, 'the number in braces')}", True
            at = end
        yield self.offset + at, self.value[at:], False


def expressions_in(text: str) -> Iterator[tuple[int, int]]:
    """Where expressions stand in the braces of a text, instead of numbers only."""
    for braces in _BRACES.finditer(text):
        if not _NUMBERS.fullmatch(braces[1]):
            for part in _PART.finditer(text, *braces.span(1)):
                if part[0].strip():
                    yield part.span()


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low <= variable <= high`, strict where `+ 1` or `- 1` is added to a bound."""

    offset: int
    variable: str
    low: Expression
    high: Expression
    low_shift: int
    high_shift: int


@dataclass(frozen=True, slots=True)
class Filter:
    """`left <> right`."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Arc:
    offset: int
    source: Label
    target: Label


class Instruction:
    """What a statement does."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class NewNeurons(Instruction):
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Contents(Instruction):
    label: Label
    spikes: Spikes
    adds: bool


@dataclass(frozen=True, slots=True)
class Synapses(Instruction):
    arcs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True)
class Dictionary(Instruction):
    arcs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True)
class Outputs(Instruction):
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Input(Instruction):
    label: Label


@dataclass(frozen=True, slots=True)
class Train(Instruction):
    offset: int
    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class OutputHint(Instruction):
    """`@moutres_<form>(...)`: how another program prints its output."""

    offset: int
    form: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Unsupported(Instruction):
    """What is refused by its keyword; a mode only where its value is not 0."""

    offset: int
    keyword: str
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Let(Instruction):
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Call(Instruction):
    offset: int
    name: str
    arguments: tuple[Expression | Text, ...]


@dataclass(frozen=True, slots=True)
class SpikingRule(Instruction):
    """`produce` is `None` in a forgetting rule."""

    offset: int
    label: Label
    consume: Spikes
    produce: Spikes | None
    guard: Text | None
    delay: Expression | None


@dataclass(frozen=True, slots=True)
class GrowthRule(Instruction):
    """A division or budding rule; `first` is the left neuron, or the parent of the bud."""

    offset: int
    label: Label
    guard: Text
    first: Label
    second: Label
    is_budding: bool


@dataclass(frozen=True, slots=True)
class Block(Instruction):
    statements: tuple["Statement", ...]


#: Guard text, consume, produce and delay of a literal rule.
RuleKey: TypeAlias = tuple[str | None, int, int, int]


@dataclass(frozen=True, slots=True)
class Literal(Instruction):
    """What statements without variables and ranges do, those of each kind in order.

    - `neurons`: labels and their offsets.
    - `contents`: the offset of the label, the label, spikes, and whether they are added.
    - `sources`, `targets`, `offsets`: of the synapses.
    - `rules`: offset, label and what they do, `None` where neurons divide or bud.
    """

    neurons: list[tuple[str, int]] = field(default_factory=list)
    contents: list[tuple[int, str, int, bool]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    rules: list[tuple[int, str, RuleKey | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction or block with its ranges, the innermost loop first."""

    instruction: Instruction
    bounds: tuple[Bounds, ...]
    filters: tuple[Filter, ...]


def plain_label(offset: int, name: str) -> Label:
    return Label(offset, lambda scope: name, name)


def indexed_label(offset: int, name: str, indices: tuple[Expression, ...]) -> Label:
    if len(indices) == 1:
        (index,) = indices
        value, known = index.value, {}  # one text per neuron, however many synapses it has

        def resolve_one(scope: Scope) -> str:
            number = value(scope)
            label = known.get(number)
            if label is None:
                number = index.integer(scope, "the index of the label")
                label = known[number] = f"{name}{{{number}}}"
            return label

        return Label(offset, resolve_one, name, indices)

    def resolve(scope: Scope) -> str:
        numbers = [str(index.integer(scope, "an index of the label")) for index in indices]
        return f"{name}{{{','.join(numbers)}}}"

    return Label(offset, resolve, name, indices)


def computed_label(offset: int, value: Expression) -> Label:
    def resolve(scope: Scope) -> str:
        label = value.text_or_number(scope)
        if isinstance(label, str):
            if _LABEL.fullmatch(label):
                return label
            message = f"{label!r} is not a label (write a name, such as in{{1}})"
            raise Mistake(value.offset, message)
        if type(label) is int and label >= 0:
            return str(label)
        message = f"the label is {label} (write a name or an integer, 0 or more)"
        raise Mistake(value.offset, message)

    return Label(offset, resolve)
