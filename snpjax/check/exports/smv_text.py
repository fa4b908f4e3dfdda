"""Pieces of the language of NuSMV."""


def case(cases: list[tuple[str, str]], otherwise: str) -> str:
    """The first value whose condition holds."""
    if not cases:
        return otherwise
    return (
        "case "
        + " ".join(f"{when} : {what};" for when, what in cases)
        + f" TRUE : {otherwise}; esac"
    )


def number_range(low: int, high: int) -> str:
    """The type of the numbers from `low` to `high`; a range has two values or more."""
    return f"{low}..{max(high, low + 1)}"
