"""Syntax errors of queries in plain words."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from .errors import QueryError


_WORD = re.compile(r"[^\W\d]\w*|[0-9]+|==|=>|->|<=|>=|!=|<>|&&|\|\||.", re.DOTALL)
_HINTS = {
    "==": "equality is written =",
    "<>": "inequality is written !=",
    "!": "negation is written not",
    "&&": "write and",
    "&": "write and",
    "||": "write or",
    "|": "write or",
    "->": "write implies",
    "=>": "write implies, or >= for at least",
    "/": "only integers, sums and multiples can be compared",
    "%": "a remainder is written with mod: n1 mod 2 = 1",
    ".": "numbers of spikes are integers",
    "{": 'quote the names of neurons that are not plain words: "in{7}"',
    "[": 'quote the names of neurons that are not plain words: "in[7]"',
    '"': "the quote is not closed",
    "'": "the quote is not closed",
}
_QUOTES = ("'", '"')
_HINTS_IN_SYMBOLS = {**_HINTS, "&": "write &", "|": "write |", "!": "write !"}
_CALLS = frozenset({"TIMER", "PENDING", "IN_FLIGHT", "EMITS", "OPEN", "FIRES"})
_OPERAND = frozenset({"NUMBER", "NAME", "LPAR", "MINUS"})
_COMPARE = frozenset({"EQUAL", "LESS", "MORE"})
_JOIN = frozenset({"AND", "OR", "IMPLIES"})
_IN_ORDER = frozenset({"UNTIL", "WEAK", "FOLLOWED", "PRECEDED"})
#: The words of `grammar.lark` and `conditions.lark`.
KEYWORDS = (
    *("on", "all", "some", "paths", "path", "implies", "until", "weak", "followed", "preceded"),
    *("by", "or", "and", "not", "always", "never", "eventually", "next", "steady", "infinitely"),
    *("often", "mod", "timer", "pending", "emits", "open", "fires", "in_flight"),
    *("halted", "final", "step", "true", "false", "within", "for", "steps"),
)
#: The words of `symbols.lark`: neurons of these names are quoted in symbols.
LETTERS = ("G", "F", "X", "U", "W", "R", "V", "A", "E", "AG", "AF", "AX", "EG", "EF", "EX")
_SIGNS = re.compile(rf"(?<!&)&(?!&)|(?<!\|)\|(?!\|)|!(?!=)|->|\[|\b({'|'.join(LETTERS)})\b")
#: What other tools and people call it.
_SYNONYMS: Mapping[str, str] = {
    x: "halted" for x in ("deadlock", "deadlocked", "terminated", "terminates", "halting", "stuck")
}
_QUESTION = re.compile(
    r"\s*(?:[PES](?:min|max)?\s*(?:=\s*\?|[<>]=?[^\[\]]*\[)"
    r"|(?:least\s+|largest\s+)?(?:(?:steady\s+)?probability|expected\s+value)\b.*\bof\b)"
)
_LONGEST = 30  # letters of a word that is compared with these
_WORDS = {
    "ALL": "'all'",
    "SOME": "'some'",
    "PATHS": "'paths'",
    "PATH": "'path'",
    "STEPS": "'steps'",
    "OFTEN": "'often'",
    "BY": "'by'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "LPAR": "'('",
    "RPAR": "')'",
    "COMMA": "','",
    "NUMBER": "a number",
    "NAME": "the name of a neuron",
}


def syntax_error(query: str, error: UnexpectedInput, *, in_symbols: bool = False) -> QueryError:
    """What was expected where a query does not parse, in words or in symbols."""
    expected = frozenset(error.interactive_parser.accepts())  # pyright: ignore
    at, kind = len(query.rstrip()), "$END"
    if isinstance(error, UnexpectedCharacters):
        at, kind = error.pos_in_stream, ""
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        at, kind = error.token.start_pos or 0, error.token.type
    if kind == "$END":
        hint = meant(query[:at].split(" ")[-1].split("(")[-1])
        return QueryError(query, at, f"expected {_in_words(expected)}, but the query ends{hint}")
    match = _WORD.match(query, at)
    found = "" if match is None else match.group()
    if kind and found in _QUOTES:  # a quoted name
        found = query[at : query.find(found, at + 1) + 1]
    hints = _HINTS_IN_SYMBOLS if in_symbols else _HINTS
    hint = _hint(query[:at].rstrip(), found, kind, expected, hints)
    return QueryError(query, at, f"expected {_in_words(expected)}, not {_shown(found)}{hint}")


def _hint(
    before: str, found: str, kind: str, expected: frozenset[str], hints: Mapping[str, str]
) -> str:
    if found == "=" and before.endswith("="):
        return f" ({hints['==']})"
    if before.endswith(tuple("<>=")) and found in ("=", ">", "<"):
        return " (the relations are = != < <= > >=)"
    if found in hints and not (found == "!" and kind):
        return f" ({hints[found]})"
    last = re.search(r"\w*$", before)
    together = (last.group() if last else "") + found
    if together in LETTERS and found:
        return f" (write {together} as one word)"
    if found[0:1] in _QUOTES:
        return meant(before.split(" ")[-1].split("(")[-1])
    is_word = found[:1].isalpha()
    if is_word and kind not in ("NAME", "") and "NAME" in expected:
        return f' (a neuron of this name is quoted: "{found}")'
    word = before.split(" ")[-1].split("(")[-1]
    if "LPAR" in expected and "NAME" not in expected and word.upper() in _CALLS:
        return f' (a neuron of this name is quoted: "{word}")'
    if "$END" in expected and kind in _COMPARE | {"AT_MOST", "AT_LEAST", "UNEQUAL"}:
        return " (join two comparisons with `and`)"
    if "$END" in expected and kind in _IN_ORDER:
        return " (put one of the two in parentheses)"
    hint = meant(word) or meant(found)
    is_plain = word.isidentifier() and word not in KEYWORDS
    is_short = len(word) < 3  # too short to be a misspelt word
    if is_plain and ((kind == "NUMBER" and is_short) or (kind in ("NUMBER", "NAME") and not hint)):
        return f' (a name that is not a plain word is written in quotes: "{word} {found}")'
    return hint


def looks_symbolic(text: str) -> bool:
    """Whether a text has signs or letters that stand for operators in symbols only."""
    unquoted = re.sub(r""" "[^"]*"|'[^']*' """, "", text, flags=re.VERBOSE)
    return bool(_SIGNS.search(unquoted))


def asks_for_a_number(text: str) -> bool:
    """Whether a text begins as a question for a number does."""
    return _QUESTION.match(text) is not None


def meant(word: str) -> str:
    """The words of the language that a misspelt one is like, as a hint; empty for none."""
    if not word.replace("_", "").isalpha() or word in KEYWORDS or len(word) > _LONGEST:
        return ""
    if word.lower() in _SYNONYMS:
        return f" (did you mean '{_SYNONYMS[word.lower()]}'?)"
    near = get_close_matches(word.lower(), KEYWORDS, n=1, cutoff=0.65)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _in_words(expected: frozenset[str]) -> str:
    left, words = set(expected), []
    if _OPERAND <= left:
        return "a formula" if "ALWAYS" in left else "a number, a neuron or a formula"
    if _COMPARE <= left:
        words.append("a relation (= != < <= > >=)")
    elif "EQUAL" in left:
        words.append("'=' or '!='")
    if "EQUIVALENT" in left:
        words.append("`&`, `|`, `->`, `U`" if "UNTIL" in left else "`&`, `|`, `->`")
    elif _JOIN <= left:
        words.append("`and`, `or`, `implies`")
    elif "IMPLIES" in left:
        words.append("`implies`")
    if _IN_ORDER <= left:
        words.append("`until`")
    words += [text for kind, text in _WORDS.items() if kind in left]
    if "UNTIL" in left and "AND" not in left:
        words.append("'until'")
    if "$END" in left:
        words.append("the end of the query")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _shown(found: str) -> str:
    if not found.isprintable():
        return f"the character {ascii(found)}"
    return f"'{found[:30]}'" if "'" not in found else f'"{found[:30]}"'
