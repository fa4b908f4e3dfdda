"""Counts with their nouns, and sizes in bytes."""


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """`1 neuron`, `2,000 neurons`; `nouns` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def bytes_text(size: int) -> str:
    """`512 bytes`, `1.5 KiB (1,536 bytes)`."""
    if size < 1024:
        return f"{size} bytes"
    amount, unit = float(size), ""
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit} ({size:,} bytes)"
