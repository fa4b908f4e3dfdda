"""Counts with their nouns."""


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """`1 neuron`, `2,000 neurons`; `nouns` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"
