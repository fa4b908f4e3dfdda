"""Names of neurons as other tools take them."""

import re
from collections.abc import Sequence


_is_plain = re.compile("[A-Za-z0-9_]+").fullmatch


def identifiers(names: Sequence[str]) -> list[str]:
    """A distinct identifier for every name, of letters, digits and `_`; the name itself where it is
    one."""
    taken: set[str] = {name for name in names if _is_plain(name)}
    found = []
    for name in names:
        if not _is_plain(name):
            base = re.sub("[^A-Za-z0-9_]", "_", name) or "_"
            name, count = base, 1
            while name in taken:
                count += 1
                name = f"{base}__{count}"
            taken.add(name)
        found.append(name)
    return found
