"""The notation of tables of mistakes: texts, the places of what is wrong, and the messages."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import snpjax as snp
from snpjax.io import Source
from snpjax.io.formats import formats_of
from snpjax.io.read import model_text, read_net_source, read_source


def read_text(format: str, text: str, level: str = "extended", **options: Any) -> Any:
    """The model that a text of a format describes."""
    source = Source("model", text)
    if format in formats_of("net"):
        return read_net_source(source, format, **options)  # pyright: ignore
    return read_source(source, format, level, **options)  # pyright: ignore


def quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function whose warnings about a model do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return function(*arguments, **options)


def read_silently(format: str, text: str, level: str = "extended", **options: Any) -> Any:
    """The model of a text that is read without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_text(format, text, level, **options)


def reread(format: str, model: Any, level: str = "extended") -> tuple[str, Any]:
    """The text of a model in a format, without losses, and the model that is read from it."""
    text, losses = quietly(model_text, model, format)
    assert losses.items == []
    return text, quietly(read_text, format, text, level)


def findings(
    format: str, text: str, level: str = "extended", *, of: str = "errors", **options: Any
) -> dict[str, str]:
    """`line:column` and messages of every error of a text, or of every warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            read_text(format, text, level, **options)
            told = [w.message for w in caught if isinstance(w.message, snp.ReadWarning)]
            found = [d for warning in told for d in warning.diagnostics]
            assert of == "warnings" or not found, f"warnings, no errors: {found}"
        except snp.ReadError as error:
            found = [*error.diagnostics]
            assert of == "errors" and found, str(error)
    assert len({(d.line, d.column, d.message) for d in found}) == len(found)
    messages: dict[str, str] = {}
    for d in found:
        place = f"{d.line}:{d.column}"
        messages[place] = messages[place] + "\n" + d.message if place in messages else d.message
    return messages


def marked(text: str) -> tuple[str, list[str]]:
    """The text without its marks §, and their places as `line:column`."""
    first, *others = text.split("§")
    places = []
    for part in others:
        line = first.count("\n") + 1
        places.append(f"{line}:{len(first) - (first.rfind(chr(10)) + 1) + 1}")
        first += part
    return first, places


def line_of(text: str) -> Callable[[str], str]:
    """A function of rows `number: line`, which gives the text with another line of that number."""

    def change(row: str) -> str:
        number, _, line = row.partition(": ")
        lines = text.split("\n")
        lines[int(number) - 1] = line
        return "\n".join(lines)

    return change


def _unfolded(text: str, names: Mapping[str, str]) -> str:
    for name, its_text in names.items():
        text = text.replace(f"⟨{name}⟩", its_text)
    text = text.replace("⏎", "\n")
    text = re.sub(r"⟨(\\[xu]\w+)⟩", lambda match: match[1].encode().decode("unicode_escape"), text)
    return re.sub(r"⟨([^⟩]*)\*(\d+)⟩", lambda match: match[1] * int(match[2]), text)


@dataclass(frozen=True)
class Mistakes:
    """Texts that a reader refuses, or reads with warnings.

    - `rows`: a line for each text: the text with § at each place, and after ` ⇒ ` a part of each
      message in the order of the places, or nothing; `^` stands for the beginning of a message. In
      texts ⏎ is a line end, ⟨9*500⟩ repeats and ⟨\\x00⟩ is a character. Rows may also be tuples.
    - `inside`: the file around a text, in which ¤ stands for it, or a function that makes it.
    - `of`: `"errors"`, or `"warnings"` of files that are read.
    - `names`: what ⟨name⟩ stands for.
    - `options`: of the reader.
    - `level`: of validity; texts of level strict have fewer errors at level extended, or none.
    """

    rows: str | Sequence[tuple[str, ...]]
    inside: str | Callable[[str], str] = "¤"
    of: str = "errors"
    level: str = "extended"
    options: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> list[tuple[str, list[str]]]:
        """Each text with its marks, and the parts of messages."""
        rows = self.rows
        if isinstance(rows, str):
            rows = [tuple(row.split(" ⇒")) for row in rows.strip("\n").split("\n")]
        around = self.inside
        wrap = around if callable(around) else lambda text: around.replace("¤", text)
        return [
            (wrap(_unfolded(text, self.names)), [m.strip() for m in parts]) for text, *parts in rows
        ]

    def failures(self, format: str) -> list[str]:
        """What the reader of a format says other than the table, for each text that fails."""
        failures = []
        for text, parts in self.texts():
            text, places = marked(text)
            try:
                found = findings(format, text, self.level, of=self.of, **self.options)
                assert [*found] == places, f"at {places}, not at {found}"
                for part, message in zip(parts, found.values(), strict=bool(parts)):
                    assert _is_in(part, message), f"{message!r} says nothing of {part!r}"
                if self.level == "strict":
                    assert _num_errors(format, text) < len(places), "wrong at level extended, too"
            except Exception as error:
                failures.append(f"{text[:300]!r}: {type(error).__name__}: {error}")
        return failures


def _num_errors(format: str, text: str) -> int:
    try:
        quietly(read_text, format, text)
    except snp.ReadError as error:
        return len(error.diagnostics)
    return 0


def _is_in(part: str, message: str) -> bool:
    if part.startswith("^"):
        return message.startswith(part[1:])
    return part in message


@dataclass(frozen=True)
class Limit:
    """A limit, lowered so that small texts pass it.

    - `name`: of the limit in `snpjax.io`.
    - `value`: what it is lowered to.
    - `mistakes`: the texts, or the rows of a table.
    """

    name: str
    value: object
    mistakes: Mistakes | Sequence[tuple[str, ...]]
