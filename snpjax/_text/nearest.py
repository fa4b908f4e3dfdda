"""What an unknown name may have meant."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice


_MAX_SEARCHED = 2000
_MAX_LENGTH = 100  # of names that are compared
_MAX_LISTED = 3


def nearest(name: str, known: Iterable[str], plural: str) -> str:
    """The known names that are like it, `did you mean 'x'?`, else some of them, `the neurons are
    'p' and 'q'`.

    **Arguments:**

    - `plural`: what they are names of.
    """
    first = list(islice(known, _MAX_SEARCHED))
    near = near_match(name, first)
    if near is not None:
        return near
    shown = ", ".join(map(repr, first[:_MAX_LISTED]))
    if len(first) == 1:
        return f"the only one is {shown}"
    if len(first) > _MAX_LISTED:
        return f"the first {plural} are {shown}"
    return f"the {plural} are {shown}" if shown else f"there are no {plural}"


def near_match(name: str, known: Iterable[str]) -> str | None:
    """Ask for the known names that resemble an unknown one, `did you mean 'x'?`; `None` if none
    does."""
    near = near_names(name, known)
    return did_you_mean(near) if near else None


def did_you_mean(near: Iterable[str]) -> str:
    """Ask for names that were probably meant."""
    return f"did you mean {' or '.join(map(repr, near))}?"


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that resemble an unknown one, the most similar first."""
    from difflib import get_close_matches  # only on the way to an error

    # Comparing with every name of a large system, or long names, would take minutes: the nearest
    # among the first short ones will do.
    short = [other for other in islice(known, _MAX_SEARCHED) if len(other) <= _MAX_LENGTH]
    near = [other for other in short if other.casefold() == name.casefold()]
    if not near and len(name) <= _MAX_LENGTH:
        near = get_close_matches(name, short, n=_MAX_LISTED)
    return near


def misspelt_positions(noted: object, names: Iterable[str], kind: str) -> Iterator[tuple[str, str]]:
    """Yield the names without a position to which an unknown name among the positions of a drawing
    is similar, with a message.

    Other unknown names are kept: files have nodes that are no part of the model.

    **Arguments:**

    - `noted`: the note `"positions"`, `[x, y]` by name, or any other value.
    - `names`: those of the model.
    - `kind`: what they name, such as `neuron`.
    """
    if not isinstance(noted, Mapping):
        return
    known = dict.fromkeys(names)
    missing = [name for name in known if name not in noted]
    for name in noted if missing else ():
        if name not in known and (near := near_names(str(name), missing)):
            hint = did_you_mean(near)
            yield near[0], f'notes["positions"]: there is no {kind} {name!r} ({hint})'
