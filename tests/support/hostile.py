"""Large texts that cost a reader as much as its rules allow, and a measure of what that is."""

import re
import time
from collections.abc import Iterator

from tests.support.file_readers import FileReader


#: What a text is filled with, between the first line of a seed and its end.
FILLERS = {
    "blank lines": "\n",
    "lines of one word": "x\n",
    "words in one line": "x ",
    "digits": "9",
    "numbers": "-9223372036854775808 ",
    "letters": "a",
    "quotes": '"',
    "single quotes": "'",
    "brackets": "[",
    "braces": "{",
    "parentheses": "(",
    "tags": "<a>",
    "comments that end": "/**/",
    "comments that do not": "/*",
    "lines of comments": "#\n;\n",
    "lists": "[],",
    "objects": '{"id": "x"}, ',
    "keys": '"a": 1, ',
    "items of YAML": "- a\n",
    "semicolons": ";\n",
}
#: By reader: further fillers of its own, beside the lines of its seeds.
OWN = {
    "plingua": ["let x = 1;\n", "call x();\n", "@mu = a{i}: 1<=i<=9;\n", "@ms(x) = a*(1+1);\n"],
    "esnp": ["@mu = p\n", "@marcs = (p,q)\n", "[a --> a]'p\n", '[a*2 --> a]\'p "a*3" :: 1\n'],
    "native": ['"(a{997}|a{991})+/a -> a", '],
    "websnapse": ['"(a^{997}\\\\cup a^{991})^*/a\\\\to a", '],
    "hsn": ["1 5 nothing.lsn\n3 1\n4 2\n5 -3\n-1 4\n-2 -5\n"],
}


def hostile_texts(reader: FileReader, size: int) -> Iterator[tuple[str, bytes]]:
    """Texts of about this size with what they are; many are refused."""
    if reader.name == "cost-model":
        return  # it is no text
    for number, seed in enumerate(seed.decode() for seed in reader.seeds[:2]):
        lines = seed.splitlines(keepends=True)
        fillers = {**FILLERS, **{filler.strip(): filler for filler in OWN.get(reader.name, ())}}
        for name, filler in fillers.items() if not number else ():
            middle = "".join(lines[:1])
            yield name, (middle + _filled(filler, size) + "\n" + seed[len(middle) :]).encode()
        for line in [line for line, text in enumerate(lines) if text.strip()]:
            filled = _filled(lines[line], size)
            text = "".join(lines[:line]) + filled + "".join(lines[line + 1 :])
            yield f"line {line + 1} of seed {number + 1}", text.encode()


def _filled(filler: str, size: int) -> str:
    return filler * (size // len(filler.encode()))


def plain_pass(size: int) -> float:
    """CPU seconds for cutting a text of this size into words of four letters: 0.3 for 10 MB where
    nothing else runs (CPython 3.11, 2026-11)."""
    text, found = "word " * (size // 5), {}
    start = time.process_time()
    for word in re.finditer(r"\S+", text):
        found[word.start()] = word.group()
    return time.process_time() - start


def passes_of(reader: FileReader, data: bytes) -> float | None:
    """How many times as long as a plain pass over 10 MB it takes to refuse a text; `None` if it is
    read."""
    before = plain_pass(_PLAIN)
    start = time.process_time()
    if reader.outcome(data):
        return None
    seconds = time.process_time() - start
    return 2 * seconds / (before + plain_pass(_PLAIN)) / (10**7 / _PLAIN)


_PLAIN = 2 * 10**6  # bytes of a plain pass, of which five are taken
