"""Values of JSON as YAML in flow style, which every reader of YAML understands alike."""

import json
import re
from collections.abc import Mapping, Sequence

from ..yaml_text import UNPRINTABLE


SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: cannot stand in YAML, nor in UTF-8

_BREAKS = "\t\n\r\x85\u2028\u2029"
_WORD = re.compile("[a-z]{1,8}")
_NO_WORDS = ("yes", "no", "on", "off", "true", "false", "null")


def yaml_text(value: object) -> str:
    """A value on one line: texts in quotes, keys that are words without."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        items = [f"{_key(str(key))}: {yaml_text(item)}" for key, item in value.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(yaml_text, value))}]"
    text = json.dumps(value)
    if isinstance(value, float) and "." not in text:  # 1e-07 is a text to many readers of YAML
        text = text.replace("e", ".0e")
    return text


def _key(key: str) -> str:
    return key if _WORD.fullmatch(key) and key not in _NO_WORDS else _string(key)


def _string(text: str) -> str:
    """The text in single quotes, which need no escapes, when every character prints."""
    if UNPRINTABLE.search(text) or any(char in _BREAKS for char in text):
        return '"' + "".join(map(_character, text)) + '"'
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _character(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char not in _BREAKS and not UNPRINTABLE.search(char):
        return char
    code = 0xFFFD if SURROGATE.match(char) else ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
