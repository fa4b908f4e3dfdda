"""One reader of JSON for everything, which refuses what Python's `json` lets pass."""

import ast
import json

import pytest

from snpjax_formats.strict_json import JsonError, JsonSyntaxError, parse_json
from tests.support.helpers import REPOSITORY


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{"a": 1,\n "b": {"x": 1, "y": [], "x": 2}}', "2:25", "the key 'x' appears twice"),
        ('{"a": "}", "\\u0061": 1}', "1:12", "the key 'a' appears twice"),
        ('["NaN", NaN]', "1:9", "NaN is not a number of JSON"),
        ("[NaN0]", "1:2", "NaN0 is not a number of JSON"),
        ("[-Infinity]", "1:2", "-Infinity is not a number of JSON"),
        ("[1e400]", "1:2", "1e400 is too large for a float"),
        ("1" * 5000, "1:1", "a number has 5000 digits (write at most 100)"),
        ("[" * 101 + "]" * 101, "1:101", "nested more than 100 deep"),
        ("[" * 100_000, "1:101", "nested more than 100 deep"),
        ('{"a": ' * 100_000, "1:601", "nested more than 100 deep"),
        (r'["\ud800"]', "1:3", r"\ud800 is half of a character"),
        ('{"a": 1', "1:8", "not well-formed JSON"),
        ("", "1:1", "not well-formed JSON"),
        ("[1] [2]", "1:5", "not well-formed JSON: Extra data"),
        (b'{"a":\n "\xff"}', "2:3", "not UTF-8: byte 0xff"),
        ("[1]".encode("utf-16"), "1:1", "not UTF-8"),
    ],
)
def test_strictness(text, place, problem):
    with pytest.raises(JsonError) as caught:
        parse_json(text, path="x.json")
    assert f"{caught.value}".startswith(f"x.json:{place}: ") and problem in caught.value.problem
    assert len(f"{caught.value}".splitlines()) == 1


def test_values():
    value = {"a": [1, -2.5, True, None, "\U0001d11e", {}], "b": {"a": {"a": 10**99}}}
    assert parse_json(json.dumps(value)) == parse_json(json.dumps(value).encode()) == value
    assert parse_json("[" * 100 + "]" * 100)[0][0]
    with pytest.raises(JsonError, match="^line 2, column 1: the key 'k'") as caught:
        parse_json('{"k": 1,\n"k": 2}')
    assert caught.value.first == 1 and not isinstance(caught.value, JsonSyntaxError)


#: Other uses of `json` that read, and why.
REVIEWED = {
    "formats/snpjax_formats/strict_json.py": "the reader",
    "snpjax/io/json_text.py": "finds places in a text that the reader has accepted",
    "snpjax/spiking/model/rule_syntax.py": "one quoted name, in which line ends may stand",
}


def test_everything_is_read_by_it():
    readers = set()
    for folder in ("snpjax", "formats"):
        texts = {path: path.read_text() for path in (REPOSITORY / folder).rglob("*.py")}
        for path, text in texts.items():
            for node in ast.walk(ast.parse(text if "json" in text else "")):
                names = {"load", "loads", "JSONDecoder"}
                is_json = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "json"
                if (is_json and node.attr in names) or (
                    isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "json"
                ):
                    readers.add(str(path.relative_to(REPOSITORY)))
    assert readers == set(REVIEWED)
