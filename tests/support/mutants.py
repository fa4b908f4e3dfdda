"""Mutants of small files."""

import io
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tests.support.file_readers import FileReader


#: What stands in files by mistake, or on purpose.
PIECES = [
    *"{}[]()<>/\\'\"`;:,.*+-^#&@!%|=~_$?\t\n\r\x00 \u00e9\u2028\U0001d4d0\ufeff",
    *("0", "1", "-1", "9" * 30, "1e9", "NaN", "null", "true", "0x10", "2.5", "-0", "1e400"),
    *("a", "b", "aa", "a*", "a{3", "(a|", "a{2,1}", "lambda", "\\to", "-->", "->", "::", "[]'"),
    *("let x = x;", "call main();", ": 1<=i<=10^9", "i{i{i}}", "//0", "^-1", "/*", "*/", "#\n"),
    *("<!DOCTYPE x>", "&amp;", "&x;", "<![CDATA[", "]]>", "<?xml?>", "<p>", "</p>", "<a b='c'/>"),
    *("<value>", "<text>", "</text>", "<net>", "<page>", "</page>", " id='p'", " weight='2'"),
    *("<timed><value>true</value></timed>", "<rate><value>2</value></rate>", "Red,1,", "[0,5]"),
    *("&x", "*x", "!!python/name:os.system", "---", "<<: *x", "? ", "- ", "|\n", "'", '"'),
    *("\\ud800", "\\ud83d\\ude00", "&#xD800;", "&#0;", "\\u0000", "-1 -1", "mean", "1_0"),
]


def mutant(reader: FileReader, choose: random.Random) -> bytes:
    """One of the seeds of a reader, changed a little."""
    seed = choose.choice(reader.seeds)
    try:
        text, encoding = seed.decode(), "utf-8"
    except UnicodeDecodeError:
        if choose.random() < 0.7:
            return _with_other_arrays(seed, choose)
        text, encoding = seed.decode("latin-1"), "latin-1"
    return mutated(text, choose, encoding)


def mutated(text: str, choose: random.Random, encoding: str = "utf-8") -> bytes:
    """The text with a few pieces put in, taken out, repeated or moved, or bytes changed."""
    for _ in range(choose.randint(1, 4)):
        start = choose.randint(0, len(text))
        end = min(len(text), start + choose.choice([0, 1, 1, 2, 5, 40]))
        piece = choose.choice([choose.choice(PIECES), "", text[start:end] * 2, text[-end:][:20]])
        text = text[:start] + piece + text[end:]
    data = bytearray(text.encode(encoding, "replace"))
    if data and choose.randint(0, 9) == 0:
        data[choose.randrange(len(data))] = choose.randrange(256)
    return bytes(data)


def _with_other_arrays(data: bytes, choose: random.Random) -> bytes:
    """A file of arrays of which one is missing, or of another type, shape or content."""
    arrays = dict(np.load(io.BytesIO(data)))
    name = choose.choice(list(arrays))
    array = arrays.pop(name)
    changes = [
        lambda: array.astype(choose.choice(["<U9", "S9", "?", "i1", "f2", "c8", "M8[s]"])),
        lambda: array[..., None],
        lambda: array.ravel()[: choose.randrange(array.size + 1)],
        lambda: np.full(array.shape, choose.choice([np.nan, np.inf, -1.0, 0.0, 1e300])),
        lambda: np.array({"a": 1}),
        lambda: np.array(choose.choice(["\ud800", "", "x" * 1000, -(2**63), 0])),
        lambda: np.concatenate([array.ravel(), array.ravel()]),
        lambda: np.zeros((0, *array.shape)),
    ]
    try:
        with np.errstate(all="ignore"):
            arrays[choose.choice([name, name, name, "other"])] = choose.choice(changes)()
    except (ValueError, TypeError, OverflowError):
        pass  # there is none of that type: the array is missing
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after so much CPU time of this process, in the main thread."""
    if sys.platform == "win32":
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def read_mutants(reader: FileReader, count: int, seed: str, *, seconds: float = 5.0) -> int:
    """How many of so many mutants are read. Each has so much CPU time.

    **Raises:** `AssertionError` with the first mutant at which a reader raises what it should not.
    """
    choose = random.Random(seed)
    num_read = 0
    for number in range(count):
        data = mutant(reader, choose)
        try:
            with limited(seconds):
                num_read += reader.outcome(data)
        except Exception as error:
            raise AssertionError(f"{reader.name}, mutant {number}: {data!r}") from error
    return num_read
