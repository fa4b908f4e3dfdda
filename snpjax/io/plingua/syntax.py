"""From the text of a piece of P-Lingua to its statements, and from lark's errors to words."""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from lark import Token, Tree
from lark.exceptions import UnexpectedInput
from lark.visitors import Transformer_NonRecursive

from ..source import Report
from . import expression, tree
from .expression import Expression
from .literals import Literals
from .messages import explain, parser
from .scan import marks, skip_gap


NodeT = TypeVar("NodeT")

MAX_DEPTH = 50  # of braces, brackets and parentheses in one statement
# Characters of one statement that is not literal, and of all: the grammar needs some hundred bytes
# for each, and a second for a quarter of a million.
MAX_STATEMENT = 2**20
MAX_STATEMENTS = 2**23
_PIECE = 2**16  # about so much is parsed at once


def _parse(report: Report, start: int, end: int, rule: str) -> Tree | None:
    """The tree of a piece of the source; `None` after a syntax error, which is reported."""
    text = report.source.text
    try:
        return parser().parse(text[start:end], start=rule)
    except UnexpectedInput as error:
        offset, message = explain(error, text, start, end)
        report.error(offset, message)
        return None


def parse_head(report: Report, start: int, end: int) -> tuple[str, int, tuple[str, ...]] | None:
    """Name, offset and parameters of a module, from `def` up to its opening brace."""
    parsed = _parse(report, start, end, "head")
    if parsed is None:
        return None
    tokens = [node for node in parsed.children if isinstance(node, Token)]
    _, name, _, *parameters, _, _ = tokens
    for number, parameter in enumerate(parameters):
        if parameter in parameters[:number]:
            message = f"the parameter {parameter} is named twice (rename one)"
            report.error(start + (parameter.start_pos or 0), message)
    return name.value, start + (name.start_pos or 0), tuple(p.value for p in parameters)


def parse_global(report: Report, start: int, end: int) -> tree.Let | None:
    """A definition before or between the modules, up to its semicolon."""
    if _too_deep(report, start, end):
        return None
    parsed = _parse(report, start, end, "global_let")
    return None if parsed is None else _Builder(start).transform(parsed)


def parse_body(report: Report, start: int, end: int) -> "Body":
    """The statements between two braces. Those that do not parse are reported."""
    text = report.source.text
    literals = Literals(text)
    body = Body()
    others: list[tuple[int, int]] = []  # left to the grammar, in pieces that hold whole statements
    long, size = None, 0
    while start < end:
        literal = literals.read(start, end)
        if literal is not None:
            _parse_others(report, others, body)
            body.statements.append(tree.Statement(literal[0], (), ()))
            start = literal[1]
            continue
        last = _end_of_statement(text, start, end)
        size += last - start
        if last - start > MAX_STATEMENT or size > MAX_STATEMENTS:
            long = start if long is None else long
        elif others and others[-1][1] - others[0][0] > _PIECE:
            _parse_others(report, others, body)
        if long is None:
            others.append((start, last))
        start = last
    _parse_others(report, others, body)
    if long is not None:
        message = (
            f"a statement with expressions, ranges or blocks has more than {MAX_STATEMENT:,} "
            f"characters, or all of them more than {MAX_STATEMENTS:,} (use ranges, or split it)"
        )
        report.error(skip_gap(text, long, end), message)
        body.failed.append("")
    return body


@dataclass(slots=True)
class Body:
    """The statements of a module, and the texts of those that do not parse."""

    statements: list[tree.Statement] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def _parse_others(report: Report, pieces: list[tuple[int, int]], body: Body) -> None:
    """Parse statements that follow each other, and forget the pieces."""
    if not pieces:
        return
    start, end = pieces[0][0], pieces[-1][1]
    text = report.source.text
    if _too_deep(report, start, end):
        body.failed.append("")
        pieces.clear()
        return
    try:
        parsed = parser().parse(text[start:end], start="body")
        body.statements += _Builder(start).transform(parsed)
    except UnexpectedInput:
        # One statement at a time: a mistake in one does not hide those in the others.
        for first, last in pieces:
            parsed = _parse(report, first, last, "body")
            if parsed is None:
                body.failed.append(text[first:last])
            else:
                body.statements += _Builder(first).transform(parsed)
    pieces.clear()


def _end_of_statement(text: str, start: int, end: int) -> int:
    """The offset after the first semicolon outside braces."""
    depth = 0
    for offset, mark in marks(text, start, end):
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
        elif mark == ";" and depth == 0:
            return offset + 1
    return end


def _too_deep(report: Report, start: int, end: int) -> bool:
    braces = others = 0
    for offset, mark in marks(report.source.text, start, end):
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
            report.error(offset, message)
            return True
    return False


def _those(kind: type[NodeT], nodes: list) -> tuple[NodeT, ...]:
    return tuple(node for node in nodes if isinstance(node, kind))


class _Builder(Transformer_NonRecursive):
    """Statements from lark's tree; `base` is the offset of the piece in the file."""

    def __init__(self, base: int):
        super().__init__(visit_tokens=False)
        self._base = base

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
            return tree.Text(self._at(token) + 1, token.value[1:-1])
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
