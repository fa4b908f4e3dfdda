"""Names of neurons in LaTeX: `Cx_{11}` and `Cx_11` are one."""


class NameTable:
    """The names in a file. Of spellings of one name, one that was used before is preferred."""

    def __init__(self) -> None:
        self._by_key: dict[str, str] = {}
        self._exact: set[str] = set()

    def add(self, name: str) -> str:
        """The known spelling of `name`, or `name` itself, which is known from now on."""
        known = self.find(name)
        return self.spell(name) if known is None else known

    def spell(self, name: str) -> str:
        """Make this spelling known, whatever others there are. Gives the first one of the name."""
        self._exact.add(name)
        return self._by_key.setdefault(label_key(name), name)

    def find(self, name: str) -> str | None:
        """The known spelling of `name`."""
        return name if name in self._exact else self._by_key.get(label_key(name))


def label_key(name: str) -> str:
    """What all spellings of a name have in common: no braces around subscripts."""
    if "_{" not in name:
        return name
    kept: list[str] = []
    is_subscript: list[bool] = []  # of the open braces
    for index, char in enumerate(name):
        if char == "{":
            is_subscript.append(index > 0 and name[index - 1] == "_")
        elif char == "}":
            if not is_subscript:
                return name
            if is_subscript.pop():
                continue
        if char != "{" or not is_subscript[-1]:
            kept.append(char)
    return name if is_subscript else "".join(kept)
