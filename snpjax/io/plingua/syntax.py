"""From the text of a piece of P-Lingua to its statements, and from lark's errors to words."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NoReturn, TypeVar

from lark import Token, Tree
from lark.exceptions import UnexpectedInput
from lark.visitors import Transformer_NonRecursive

from ..source import Report, Unreadable
from . import expression, tree
from .expression import Expression
from .literals import Literals
from .messages import explain, parser
from .scan import marks, skip_gap


NodeT = TypeVar("NodeT")

MAX_DEPTH = 50  # of braces, brackets and parentheses in one statement
# Words of what is not literal in a file, for which the grammar takes some 10 us each (lark 1.3,
# CPython 3.11, 2026-11); a piece that it is called for takes as long as 10 words.
MAX_WORDS = 100_000
_WORDS_OF_PIECE = 10
_WORD = re.compile(r"/\*.*?\*/|\w+|[^\w\s]", re.DOTALL)
MAX_STATEMENT = 2**20  # characters
_MAX_ERRORS = 100
_PIECE = 2**16  # about so much is parsed at once


@dataclass(slots=True)
class WordBudget:
    """How many words may still be parsed."""

    words: int = field(default_factory=lambda: MAX_WORDS)


@dataclass(frozen=True, slots=True)
class Syntax:
    """Parses pieces of one source, and reports what does not parse. `unparsed` has the offsets of
    such statements.

    **Raises:** `Unreadable` after many mistakes, or when the budget is spent.
    """

    report: Report
    budget: WordBudget
    unparsed: list[tuple[int, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.report.source.text

    def unparsed_texts(self) -> list[str]:
        """The statements that do not parse."""
        return [self.text[start:end] for start, end in self.unparsed]

    def head(self, start: int, end: int) -> tuple[str, int, tuple[str, ...]] | None:
        """Name, offset and parameters of a module, from `def` up to its opening brace."""
        parsed = self._parse(start, end, "head")
        if parsed is None:
            return None
        tokens = [node for node in parsed.children if isinstance(node, Token)]
        _, name, _, *parameters, _, _ = tokens
        known: set[str] = set()
        for parameter in parameters:
            if parameter in known:
                message = f"the parameter {parameter} is named twice (rename one)"
                self.report.error(start + (parameter.start_pos or 0), message)
            known.add(parameter)
        return name.value, start + (name.start_pos or 0), tuple(p.value for p in parameters)

    def definition(self, start: int, end: int) -> tree.Let | None:
        """A definition before or between the modules, up to its semicolon."""
        if end - start > MAX_STATEMENT:
            self._refuse(start, end)
        if self._is_too_deep(start, end):
            return None
        parsed = self._parse(start, end, "global_let")
        return None if parsed is None else _Builder(start, self._number).transform(parsed)

    def body(self, start: int, end: int) -> tuple[tree.Statement, ...]:
        """The statements between two braces, without those that do not parse."""
        literals = Literals(self.text)
        statements: list[tree.Statement] = []
        others: list[tuple[int, int]] = []  # for the grammar, in pieces that hold whole statements
        while start < end:
            literal = literals.read(start, end)
            if literal is not None:
                statements += self._statements(others)
                statements.append(tree.Statement(literal[0], (), ()))
                start = literal[1]
                continue
            last = self._end_of_statement(start, end)
            if others and others[-1][1] - others[0][0] > _PIECE:
                statements += self._statements(others)
            others.append((start, last))
            start = last
        return (*statements, *self._statements(others))

    def _statements(self, pieces: list[tuple[int, int]]) -> list[tree.Statement]:
        """Parse statements that follow each other, and forget the pieces."""
        if not pieces:
            return []
        (start, _), (_, end) = pieces[0], pieces[-1]
        statements: list[tree.Statement] = []
        self._spend(start, end)
        if not self._is_too_deep(start, end):
            try:
                parsed = parser().parse(self.text[start:end], start="body")
                statements += _Builder(start, self._number).transform(parsed)
            except UnexpectedInput:
                # One statement at a time: a mistake in one does not hide those in the others.
                for first, last in pieces:
                    parsed = self._parse(first, last, "body")
                    if parsed is None:
                        self.unparsed.append((first, last))
                    else:
                        statements += _Builder(first, self._number).transform(parsed)
        pieces.clear()
        return statements

    def _parse(self, start: int, end: int, rule: str) -> Tree | None:
        """The tree of a piece of the source; `None` after a syntax error, which is reported."""
        self._spend(start, end)
        try:
            return parser().parse(self.text[start:end], start=rule)
        except UnexpectedInput as error:
            self.report.error(*explain(error, self.text, start, end))
        if self.report.num_errors >= _MAX_ERRORS:
            raise Unreadable
        return None

    def _number(self, start: int, end: int) -> Expression:
        """The expression in a part of the braces of a text."""
        parsed = None if self._is_too_deep(start, end) else self._parse(start, end, "count")
        if parsed is None:
            return expression.unreadable(start)
        return _Builder(start, self._number).transform(parsed)

    def _spend(self, start: int, end: int) -> None:
        num_words = len(_WORD.findall(self.text, start, end)) + _WORDS_OF_PIECE
        if num_words > self.budget.words:
            self._refuse(start, end)
        self.budget.words -= num_words

    def _refuse(self, start: int, end: int) -> NoReturn:
        message = (
            f"up to here there are more than {MAX_WORDS:,} words of statements with expressions, "
            f"ranges or blocks, or one of them has more than {MAX_STATEMENT:,} characters (use "
            "ranges, or write numbers for expressions)"
        )
        self.report.fail(skip_gap(self.text, start, end), message)

    def _end_of_statement(self, start: int, end: int) -> int:
        """The offset after the first semicolon outside braces."""
        depth, most = 0, min(end, start + MAX_STATEMENT)
        for offset, mark in marks(self.text, start, most):
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
            elif mark == ";" and depth == 0:
                return offset + 1
        if most < end:
            self._refuse(start, end)
        return end

    def _is_too_deep(self, start: int, end: int) -> bool:
        braces = others = 0
        for offset, mark in marks(self.text, start, end):
            if mark in "{}":
                braces += 1 if mark == "{" else -1
            elif mark in "([":
                others += 1
            elif mark in ")]":
                others -= 1
            elif mark == ";":
                others = 0  # an open parenthesis is an error of its own statement
            if braces + others > MAX_DEPTH:
                message = f"this is nested more than {MAX_DEPTH} deep (write it in steps, with let)"
                self.report.error(offset, message)
                return True
        return False


def _those(kind: type[NodeT], nodes: list) -> tuple[NodeT, ...]:
    return tuple(node for node in nodes if isinstance(node, kind))


class _Builder(Transformer_NonRecursive):
    """Statements from lark's tree; `base` is the offset of the piece in the file, and `number`
    parses the expression between two offsets in a quoted text."""

    def __init__(self, base: int, number: Callable[[int, int], Expression]):
        super().__init__(visit_tokens=False)
        self._base, self._number = base, number

    def _at(self, token: Token) -> int:
        return self._base + (token.start_pos or 0)

    def _operand(self, node: Expression | Token) -> Expression:
        if isinstance(node, Expression):
            return node
        if node.type == "NUMBER":
            return expression.number(self._at(node), node.value)
        return expression.variable(self._at(node), node.value)

    # Expressions

    def sum(self, nodes: list) -> Expression:
        signs, operands = nodes[1::2], nodes[2::2]
        operations = [
            (str(sign), self._operand(operand))
            for sign, operand in zip(signs, operands, strict=True)
        ]
        return expression.chain(self._operand(nodes[0]), operations)

    product = power = sum

    def signed(self, nodes: list) -> Expression:
        *signs, operand = nodes
        negative = [str(sign) for sign in signs].count("-") % 2 == 1
        return expression.signed(self._at(signs[0]), negative, self._operand(operand))

    exponent = signed

    def group(self, nodes: list) -> Expression:
        return expression.group(self._at(nodes[0]), self._operand(nodes[1]))

    def count(self, nodes: list) -> Expression:
        return self._operand(nodes[0])

    # Pieces

    def label(self, nodes: list) -> tree.Label:
        first, *rest = nodes
        offset = self._at(first)
        if first.type == "LBRACE":
            return tree.computed_label(offset, self._operand(rest[0]))
        if first.type == "NUMBER":
            return tree.computed_label(offset, self._operand(first))
        if not rest:
            return tree.plain_label(offset, first.value)
        indices = tuple(self._operand(node) for node in rest[1:-1])
        return tree.indexed_label(offset, first.value, indices)

    def spikes(self, nodes: list) -> tree.Spikes:
        count = self._operand(nodes[2]) if len(nodes) == 3 else None
        return tree.Spikes(self._at(nodes[0]), count, nodes[0].type == "ANTISPIKE")

    def arc(self, nodes: list) -> tree.Arc:
        opening, source, target, _ = nodes
        return tree.Arc(self._at(opening), source, target)

    def entry(self, nodes: list) -> tuple[Expression, Expression]:
        return self._operand(nodes[1]), self._operand(nodes[2])

    def delay(self, nodes: list) -> Expression:
        return self._operand(nodes[1])

    def _text(self, token: Token) -> tree.Text:
        if token.type == "STRING":
            offset, value = self._at(token) + 1, token.value[1:-1]
            numbers = tuple(
                (start, end, self._number(offset + start, offset + end))
                for start, end in tree.expressions_in(value)
            )
            return tree.Text(offset, value, numbers=numbers)
        return tree.Text(self._at(token), token.value, is_variable=True)

    def bounds(self, nodes: list) -> tree.Bounds:
        low, below, name, above, high = nodes
        low, high = self._operand(low), self._operand(high)
        shifts = int(below.type == "LT"), -int(above.type == "LT")
        return tree.Bounds(low.offset, name.value, low, high, *shifts)

    def filter(self, nodes: list) -> tree.Filter:
        return tree.Filter(self._operand(nodes[0]), self._operand(nodes[2]))

    # Instructions

    def mu(self, nodes: list) -> tree.NewNeurons:
        return tree.NewNeurons(_those(tree.Label, nodes))

    def mout(self, nodes: list) -> tree.Outputs:
        return tree.Outputs(_those(tree.Label, nodes))

    def min(self, nodes: list) -> tree.Input:
        return tree.Input(nodes[-1])

    def ms(self, nodes: list) -> tree.Contents:
        _, _, label, _, assign, spikes = nodes
        return tree.Contents(label, spikes, assign.type == "PLUSEQ")

    def marcs(self, nodes: list) -> tree.Synapses:
        return tree.Synapses(_those(tree.Arc, nodes))

    def mdict(self, nodes: list) -> tree.Dictionary:
        return tree.Dictionary(_those(tree.Arc, nodes))

    def minst(self, nodes: list) -> tree.Train:
        return tree.Train(self._at(nodes[0]), _those(tuple, nodes))

    def moutres(self, nodes: list) -> tree.OutputHint:
        keyword, *arguments = nodes
        given = [n for n in arguments if isinstance(n, Expression) or n.type in ("NUMBER", "ID")]
        form = keyword.value.lower().removeprefix("@moutres_")
        return tree.OutputHint(self._at(keyword), form, tuple(map(self._operand, given)))

    def mode(self, nodes: list) -> tree.Unsupported:
        keyword, _, value = nodes
        return tree.Unsupported(self._at(keyword), keyword.value.lower(), self._operand(value))

    def unsupported(self, nodes: list) -> tree.Unsupported:
        (text,) = nodes
        keyword = "@" + "".join(takewhile(str.isalpha, text[1:]))
        return tree.Unsupported(self._at(text), keyword.lower())

    def let(self, nodes: list) -> tree.Let:
        return tree.Let(nodes[1].value, self._operand(nodes[3]))

    def call(self, nodes: list) -> tree.Call:
        keyword, name, _, *arguments, _ = nodes
        values = tuple(
            self._text(node)
            if isinstance(node, Token) and node.type == "STRING"
            else self._operand(node)
            for node in arguments
        )
        return tree.Call(self._at(keyword), name.value, values)

    def spiking(self, nodes: list) -> tree.SpikingRule:
        opening, consume, _, produce, _, _, label, *rest = nodes
        guard = delay = None
        for node in rest:
            if isinstance(node, Token):
                guard = self._text(node)
            else:
                delay = node
        produce = produce if isinstance(produce, tree.Spikes) else None
        return tree.SpikingRule(self._at(opening), label, consume, produce, guard, delay)

    def division(self, nodes: list, is_budding: bool = False) -> tree.GrowthRule:
        label, first, second = _those(tree.Label, nodes)
        guard = self._text(nodes[-1])
        return tree.GrowthRule(self._at(nodes[0]), label, guard, first, second, is_budding)

    def budding(self, nodes: list) -> tree.GrowthRule:
        return self.division(nodes, is_budding=True)

    def block(self, nodes: list) -> tree.Block:
        return tree.Block(tuple(nodes[1:-1]))

    def statement(self, nodes: list) -> tree.Statement:
        return tree.Statement(nodes[0], _those(tree.Bounds, nodes), _those(tree.Filter, nodes))

    def body(self, nodes: list) -> tuple[tree.Statement, ...]:
        return tuple(nodes)

    def global_let(self, nodes: list) -> tree.Let:
        *_, name, _, value, _ = nodes
        return tree.Let(name.value, self._operand(value))
