"""Many devices and many hosts, by the distributed runtime of JAX; and sums over many paths."""

from typing import TYPE_CHECKING

from snpjax_formats.lazy import lazily


if TYPE_CHECKING:
    from .checkpoint import CheckpointWarning as CheckpointWarning
    from .hosts import ProcessLost as ProcessLost, initialize as initialize
    from .paths import gather as gather
    from .plan import Bandwidths as Bandwidths, Plan as Plan, plan as plan
    from .statistics import (
        AbstractStatistic as AbstractStatistic,
        Bin as Bin,
        ComputedNumbers as ComputedNumbers,
        Distribution as Distribution,
        PathEnd as PathEnd,
        Summary as Summary,
        Total as Total,
    )
    from .store import CheckpointError as CheckpointError

lazily(
    __name__,
    {
        ".checkpoint": "CheckpointWarning",
        ".hosts": "ProcessLost initialize",
        ".paths": "gather",
        ".plan": "Bandwidths Plan plan",
        ".statistics": """
            AbstractStatistic Bin ComputedNumbers Distribution PathEnd Summary Total
        """,
        ".store": "CheckpointError",
    },
)
