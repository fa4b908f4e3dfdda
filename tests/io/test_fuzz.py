"""Readers raise nothing but `ReadError`. Coverage-guided fuzzing: tests/support/fuzz/readers.py."""

import random
import warnings

import pytest

import snpjax as snp
from snpjax.io.read import read_source
from snpjax.io.source import decoded
from tests.support.fuzz_seeds import SEEDS


NUM_MUTATIONS = 400
#: What stands in files by mistake, or on purpose.
PIECES = [
    *"{}[]()<>/\\'\"`;:,.*+-^#&@!%|=~_$?\t\n\r\x00 \u00e9\u2028\U0001d4d0\ufeff",
    *("0", "1", "-1", "9" * 30, "1e9", "NaN", "null", "true", "0x10", "2.5"),
    *("a", "b", "aa", "a*", "a{3", "(a|", "a{2,1}", "lambda", "\\to", "-->", "->", "::", "[]'"),
    *("let x = x;", "call main();", ": 1<=i<=10^9", "i{i{i}}", "//0", "^-1", "/*", "*/", "#\n"),
    *("<!DOCTYPE x>", "&amp;", "&x;", "<![CDATA[", "]]>", "<?xml?>", "<p>", "</p>", "<a b='c'/>"),
    *("<value>", "<text>", "</text>", "<net>", "<page>", "</page>", " id='p'", " weight='2'"),
    *("<timed><value>true</value></timed>", "<rate><value>2</value></rate>", "Red,1,", "[0,5]"),
    *("&x", "*x", "!!python/name:os.system", "---", "<<: *x", "? ", "- ", "|\n", "'", '"'),
]


def mutated(text: str, choose: random.Random) -> bytes:
    """The text with a few pieces put in, taken out, repeated or moved, or bytes changed."""
    for _ in range(choose.randint(1, 4)):
        start = choose.randint(0, len(text))
        end = min(len(text), start + choose.choice([0, 1, 1, 2, 5, 40]))
        piece = choose.choice([choose.choice(PIECES), "", text[start:end] * 2, text[-end:][:20]])
        text = text[:start] + piece + text[end:]
    data = bytearray(text.encode())
    if data and choose.randint(0, 9) == 0:
        data[choose.randrange(len(data))] = choose.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("format", SEEDS)
def test_seeds_are_read(format):
    for seed in SEEDS[format]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snp.ModelWarning)
            assert read_source(decoded("seed", seed.encode()), format, "extended").neurons


@pytest.mark.parametrize("format", SEEDS)
def test_mutations_raise_nothing_but_read_errors(format):
    choose = random.Random(format)
    num_read = 0
    for _ in range(NUM_MUTATIONS):
        data = mutated(choose.choice(SEEDS[format]), choose)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snp.ModelWarning)
            try:
                read_source(decoded("mutated", data), format, choose.choice(["strict", "extended"]))
                num_read += 1
            except snp.ReadError as error:
                assert all(found.line is None or found.column for found in error.diagnostics), data
    assert 0 < num_read < NUM_MUTATIONS
