"""Names inside the texts of other languages."""

import re
from html import escape


_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """`text` in one line: what cannot be seen, or what a terminal would obey, as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def dot_escaped(text: str) -> str:
    """A text between the quotes of a DOT label: Graphviz finds no escapes or entities of its own,
    and characters that cannot be seen are escapes."""
    return printable(text).replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")


def dot_quoted(*lines: str) -> str:
    """A DOT label of these lines."""
    return '"' + r"\n".join(map(dot_escaped, lines)) + '"'


def without_controls(text: str) -> str:
    """A text with escapes for the characters that XML cannot hold."""
    return _NOT_XML.sub(lambda match: ascii(match.group())[1:-1], text)


def table_html(title: str, heads: list[str], rows: list[list[str]], left: int, what: str) -> str:
    """A table, and how many rows are left out."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    more = f"<p>... and {left} more {what}</p>" if left > 0 else ""
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}"
    )
