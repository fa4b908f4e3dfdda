"""A text with the changes between two others, and its own comments and formatting elsewhere.

A model that was read, changed and written comes out in the writer's own style: comments and the
layout of the file are gone. But the writer also has a text of the model as it was before the
change. What differs between its two texts is carried over to the file: a merge of three texts, in
tokens. Nothing of it knows a format; whoever merges reads the result again and compares the models.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple


#: Comments and quoted texts are one token each; blanks lie between tokens.
_TOKEN = re.compile(
    r'/\*.*?\*/|<!--.*?-->|"(?:\\.|[^"\\\n])*"|[^\W_]\w*|@\w+|-->|->|:=|\+=|<=|>=|==|\S', re.DOTALL
)
_COMMENT = re.compile(r"/\*|<!--")
_CHUNK_END = frozenset(";}],>")
#: Longer stretches without a common chunk are not compared token by token.
_MAX_STRETCH = 4_000


class _Tokens(NamedTuple):
    """The tokens of a text, and where each starts and ends."""

    text: str
    words: list[str]
    starts: list[int]
    ends: list[int]


def revisions(text: str, before: str, after: str) -> Iterator[str]:
    """Carry the changes between two texts over to a third one.

    **Arguments:**

    - `text`: the file of a user.
    - `before`, `after`: what the writer of its format makes of the model in it, and of the changed
      model.

    **Returns:** texts with the changes, the same elsewhere to the character: first one where single
    tokens changed, then one where whole lines of the writer did; none where the changed places have
    no counterpart, as in a loop that stands for many neurons. Whether a text says what `after` says
    is for the caller to check.
    """
    own, old, new = _tokens(text), _tokens(before), _tokens(after)
    place_of = _places(old, own)
    for by_lines in (False, True):
        found = _revised(own, place_of, old, new, by_lines)
        if found is not None:
            yield found


def _revised(
    own: _Tokens, place_of: dict[int, int], old: _Tokens, new: _Tokens, by_lines: bool
) -> str | None:
    edits: list[tuple[int, int, str]] = []
    for old_start, old_end, new_start, new_end in _changes(old, new, by_lines):
        span = _span(own, place_of, old_start, old_end, is_filled=new_start < new_end)
        if span is None:
            return None
        piece = _piece(new, new_start, new_end, is_insertion=old_start == old_end)
        edits.append((*span, piece))
    found, at = [], 0
    for start, end, piece in sorted(edits):
        if start < at:
            return None
        found += [own.text[at:start], piece]
        at = end
    return "".join([*found, own.text[at:]])


def _tokens(text: str) -> _Tokens:
    found = list(_TOKEN.finditer(text))
    return _Tokens(
        text, [m[0] for m in found], [m.start() for m in found], [m.end() for m in found]
    )


def _chunks(tokens: _Tokens, by_lines: bool) -> tuple[list[tuple[str, ...]], list[int]]:
    """Lines, or statements and the like, and the index of the first token of each; then the end."""
    words, chunks, starts = tokens.words, [], [0]
    for index, word in enumerate(words, start=1):
        if index == len(words):
            is_end = True
        elif by_lines:
            is_end = "\n" in tokens.text[tokens.ends[index - 1] : tokens.starts[index]]
        else:
            is_end = word in _CHUNK_END or _COMMENT.match(word) is not None
        if is_end:
            chunks.append(tuple(words[starts[-1] : index]))
            starts.append(index)
    return chunks, starts


def _matches(a: _Tokens, b: _Tokens, by_lines: bool) -> Iterator[tuple[int, int, int]]:
    """Stretches of equal tokens, `(first in a, first in b, number)`, in order: those of equal
    lines, or of equal statements, which are rarely equal by chance, and between these of tokens."""
    (chunks_a, starts_a), (chunks_b, starts_b) = _chunks(a, by_lines), _chunks(b, by_lines)
    for tag, i1, i2, j1, j2 in _opcodes(chunks_a, chunks_b):
        a1, a2, b1, b2 = starts_a[i1], starts_a[i2], starts_b[j1], starts_b[j2]
        if tag == "equal":
            yield a1, b1, a2 - a1
        elif tag == "replace" and not by_lines and max(a2 - a1, b2 - b1) <= _MAX_STRETCH:
            for tag, s1, s2, t1, _ in _opcodes(a.words[a1:a2], b.words[b1:b2]):
                if tag == "equal":
                    yield a1 + s1, b1 + t1, s2 - s1


def _opcodes(a: Sequence[object], b: Sequence[object]) -> Iterator[tuple[str, int, int, int, int]]:
    """Those of `SequenceMatcher`, which is slow where much is equal: only the middle is given."""
    first, shorter = 0, min(len(a), len(b))
    while first < shorter and a[first] == b[first]:
        first += 1
    last = 0
    while last < shorter - first and a[-1 - last] == b[-1 - last]:
        last += 1
    if first:
        yield "equal", 0, first, 0, first
    middle_a, middle_b = a[first : len(a) - last], b[first : len(b) - last]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, middle_a, middle_b, False).get_opcodes():
        yield tag, i1 + first, i2 + first, j1 + first, j2 + first
    if last:
        yield "equal", len(a) - last, len(a), len(b) - last, len(b)


def _places(old: _Tokens, own: _Tokens) -> dict[int, int]:
    """Which token of the file each token of the writer's text is."""
    matches = _matches(old, own, by_lines=False)
    return {first + i: other + i for first, other, count in matches for i in range(count)}


def _changes(old: _Tokens, new: _Tokens, by_lines: bool) -> Iterator[tuple[int, int, int, int]]:
    """What is between equal stretches: `(first, end)` of the old tokens, and of the new ones."""
    i = j = 0
    matches = _matches(old, new, by_lines)
    for first, other, count in chain(matches, [(len(old.words), len(new.words), 0)]):
        if i < first or j < other:
            yield i, first, j, other
        i, j = first + count, other + count


def _span(
    own: _Tokens, place_of: dict[int, int], start: int, end: int, *, is_filled: bool
) -> tuple[int, int] | None:
    """The characters of the file that a change replaces; `None` where they are not found."""
    if start == end:  # after what stands before it, or else before what comes after it
        if (before := place_of.get(start - 1)) is not None:
            return _after(own, before)
        after = place_of.get(end)
        return None if after is None else (own.starts[after], own.starts[after])
    first, last = place_of.get(start), place_of.get(end - 1)
    if first is None or last is None:  # what stands between the neighbours
        before, behind = place_of.get(start - 1), place_of.get(end)
        if before is None or behind is None or behind - before < 2:
            return None
        first, last = before + 1, behind - 1
    if is_filled:
        return own.starts[first], own.ends[last]
    # What is deleted takes the blanks before it along.
    begin = own.ends[first - 1] if first else 0
    return begin, own.ends[last]


def _after(own: _Tokens, token: int) -> tuple[int, int]:
    """The end of a token, or of the comments behind it on its line."""
    end = own.ends[token]
    while token + 1 < len(own.words) and _COMMENT.match(own.words[token + 1]):
        if "\n" in own.text[end : own.starts[token + 1]]:
            break
        token += 1
        end = own.ends[token]
    return end, end


def _piece(new: _Tokens, start: int, end: int, *, is_insertion: bool) -> str:
    """The text of tokens; of an insertion with the blanks before it."""
    if start == end:
        return ""
    begin = new.starts[start]
    if is_insertion:
        begin = new.ends[start - 1] if start else 0
    return new.text[begin : new.ends[end - 1]]
