"""Allocations that fail although there seemed to be memory."""

import errno

from ..memory import is_of_memory


class Lost(Exception):
    """The device failed and took the configurations with it."""

    def __init__(self, num: int) -> None:
        super().__init__(num)
        self.num = num


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that there is no memory, or no room on a disk."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
    return is_of_memory(error)
