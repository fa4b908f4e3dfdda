"""What a proof by induction leaves."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """An inductive invariant.

    - `property`: the query.
    - `invariant`: a condition of the query language that implies it, holds at first, and is kept by
      every step.
    - `facts`: how its parts were found.
    - `k`: 1 where the invariant is inductive by itself.
    """

    property: str
    invariant: str
    facts: tuple[str, ...] = ()
    k: int = 1
