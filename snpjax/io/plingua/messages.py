"""Syntax errors of P-Lingua in plain words, with a hint for the usual mistakes."""

import re
from difflib import get_close_matches
from functools import cache

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ..._text.grammar import lalr_parser
from .scan import end_of_previous


KEYWORDS = (
    "@mu @ms @marcs @mdict @mout @min @minst @moutres_binary @moutres_natural @moutres_summatories "
    "@mseq @masynch @mvalid @mboundall @mlocset @masth @mastf @mastfunc"
).split()

#: Keywords of the language that are read and refused, in words.
UNSUPPORTED = {
    "@mseq": "sequential mode",
    "@masynch": "asynchronous mode",
    "@mvalid": "the set of valid configurations",
    "@mboundall": "bounded neurons",
    "@mlocset": "local synchronization",
    "@masth": "astrocytes",
    "@mastf": "astrocytes",
    "@mastfunc": "astrocytes",
}

_GROUPS = (
    (frozenset({"MU", "MS", "LSQB", "CALL"}), "a statement (@mu, @ms, @marcs, a rule, let, call)"),
    (frozenset({"NUMBER", "ID", "PLUS", "MINUS", "LPAR"}), "a number, a variable or '('"),
    (frozenset({"PLUS", "MINUS", "STAR", "SLASH", "DSLASH", "PERCENT"}), "an operator"),
    (frozenset({"NUMBER", "ID", "LBRACE"}), "a label"),
    (frozenset({"LT", "LE", "NE"}), "'<', '<=' or '<>'"),
)
_HIDDEN = frozenset(
    "ANTISPIKE UNSUPPORTED MODE COMMENT MS MARCS MDICT MOUT MIN MINST MOUTRES CARET "
    "__IGNORE_0".split()
)
_WORDS = {
    "DEF": "'def'",
    "LET": "'let'",
    "CALL": "'call'",
    "MU": "a keyword",
    "SPIKE": "spikes (a, a*2)",
    "ID": "a name",
    "NUMBER": "a number",
    "STRING": 'a guard in quotes ("a+")',
}
_MORE = {"QUOTE": "' and a label", "COLON": "':' and ranges", "DCOLON": "':: delay'"}
WORD = re.compile(r"@?[A-Za-z_0-9]+|@|\"[^\"\n]*\"?|-+>|//|::|<>|<=|\+=|\|\||.", re.DOTALL)
_STATEMENT_START = re.compile(r"@[A-Za-z]|\[|\{|\}|(?:let|call|def)\b", re.IGNORECASE)


@cache
def parser() -> Lark:
    """The parser of the grammar, whose terminals these messages name."""
    start = ["head", "global_let", "body", "count"]
    return lalr_parser("snpjax.io.plingua", start=start, lexer="contextual")


def explain(error: UnexpectedInput, text: str, start: int, end: int) -> tuple[int, str]:
    """Offset of the mistake and what to write, for an error in `text[start:end]`."""
    offset, expected = _place(error, text, start, end)
    at_end = offset >= end
    match = WORD.match(text, offset)
    found = "" if match is None else match.group()
    if "SEMICOLON" in expected and (at_end or _STATEMENT_START.match(text, offset)):
        before = end_of_previous(text, start, offset)
        return before, "the statement is not ended: expected ';' (write ; here)"
    wanted = _in_words(expected)
    if at_end and (next_one := text[end : end + 1]) in ("}", ","):  # "," in the braces of a text
        return offset, f"expected {wanted}, not '{next_one}' (complete the statement)"
    if at_end:
        return offset, f"expected {wanted}, but the text ends (complete the statement)"
    hint = hint_for(found, expected, text[offset : offset + 80])
    if found.lower() == "@include":
        return offset, "files are included before or between modules (move @include there)"
    if found.startswith("@") and found.lower() not in KEYWORDS:
        near = get_close_matches(found.lower(), KEYWORDS, n=2, cutoff=0.4)
        meant = f"did you mean {' or '.join(near)}?" if near else "the first ones are @mu and @ms"
        return offset, f"unknown keyword {found} ({meant})"
    return offset, f"expected {wanted}, not {quoted_word(found)}{hint}"


def _place(error: UnexpectedInput, text: str, start: int, end: int) -> tuple[int, frozenset[str]]:
    expected = frozenset(error.interactive_parser.accepts())
    if isinstance(error, UnexpectedCharacters):
        return start + error.pos_in_stream, expected
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        place = start + (error.token.start_pos or 0)
    else:
        # The end of the piece: a closing brace when it is the end of a module.
        place = end if end < len(text) else end_of_previous(text, start, end)
        end = place
    return place, expected


def _in_words(expected: frozenset[str]) -> str:
    left, words = set(expected), []
    for group, name in _GROUPS:
        if group <= left:
            words.append(name)
            left -= group
    left -= _HIDDEN
    if "STRING" in left:
        left.discard("ID")  # the name of a text, which few files use
    terminals = parser().terminals
    signs = {x.name: f"'{x.pattern.value}'" for x in terminals if x.pattern.type == "str"}
    words += [word for terminal, word in (_WORDS | signs | _MORE).items() if terminal in left]
    if not words:
        return "the end of the text"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def quoted_word(found: str) -> str:
    """A word of the file in a message."""
    if not found.isprintable():
        return f"the character {ascii(found)}"
    return f"'{found[:30]}'" if "'" not in found else f'"{found[:30]}"'


def hint_for(found: str, expected: frozenset[str], ahead: str) -> str:
    """What was probably meant, where terminals of the grammar are expected; begins with a blank."""
    if found == "//":
        return " (comments are written /* ... */; // is integer division)"
    if "SPIKE" in expected:
        if re.fullmatch(r"a\d+", found):
            return f" (write a*{found[1:]})"
        if re.fullmatch(r"aa+", found):
            return f" (write a*{len(found)})"
        if re.match(r"\d+\s*\*?\s*a\b", ahead):
            return f" (write a*{found})"
        if found.lower() == "lambda" and "HASH" in expected:
            return " (write # for nothing)"
    if "HASH" in expected and found.lower() in ("lambda", "0", "empty"):
        return " (write # for nothing)"
    if "SPIKE" in expected and re.fullmatch(r"[0-9]+", found):
        return f" (write a*{found})"
    if re.fullmatch("-*>", found) or found == "→":
        return " (the arrow is written -->)"
    if "STAR" in expected and found in ("^", "{"):
        return " (spikes are written a*2)"
    if "ARROW" in expected and found in "+-*/%^//":
        return " (put the expression in parentheses: a*(n-1))"
    if "SEMICOLON" in expected and "STRING" not in expected and found in "+-*/%^//":
        return " (put the expression in parentheses: a*(n-1))"
    if "LET" in expected and re.match(r"[A-Za-z_]\w*\s*=", ahead):
        return " (variables are defined by let)"
    if found == "." and "SLASH" in expected:
        return " (there are no decimal fractions; write 3/2)"
    if found == "::":
        return " (the delay stands before the ranges)"
    if found.startswith('"') and {"PLUS", "COLON"} <= expected:
        return " (a guard stands before the delay of its rule)"
    if "DCOLON" in expected and found == '"':
        return " (close the guard with a quote)"
    return ""
