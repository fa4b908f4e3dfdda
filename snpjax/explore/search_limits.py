"""How much a search may find and keep."""

from typing import NamedTuple

from .memory_limits import MemoryLimits
from .patience import Patience


class SearchLimits(NamedTuple):
    """How much a search may find and keep, see `explore`.

    - `seed`: of the fingerprints; `begins_on_host`: have the words there from the beginning.
    """

    most: int
    edges: bool
    memory: MemoryLimits
    patience: Patience
    is_exact: bool = True
    seed: int = 0
    begins_on_host: bool = False
