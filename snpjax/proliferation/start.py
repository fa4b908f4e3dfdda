"""When the first cell of a family divides for the first time."""

import enum


class Start(enum.Enum):
    """The start rule: the time S of a family's first division, from the beginning on.

    U is uniform on (0, 1); T and T' are independent draws of the division time of the cell's type.

    - `ASYNC` (default): S = U T' + T. The offset *delays* the first division, to 1.5 mean division
      times on average; it does not put cells somewhere inside their cycle, as the name suggests.
      All descendants share it. It is what ProCell simulates, and what its parameters were fitted
      with.
    - `SYNC`: S = T. Every cell has just divided.
    - `RESIDUAL`: S = (1 - U) T, what is left of a cycle in progress.
    - `STRETCH`: S = (1 + U) T, the rule of cuda-pro-cell, whose offset uses the first timer again.
    """

    ASYNC = "async"
    SYNC = "sync"
    RESIDUAL = "residual"
    STRETCH = "stretch"
